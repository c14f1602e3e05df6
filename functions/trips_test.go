package functions_test

import (
	"net/http"
	"testing"
	"time"

	"growthworkspace/functions"
	"growthworkspace/shared/api"
	"growthworkspace/shared/apitest"
)

// Ensure a read takes one round trip to the table and a write two: the service checks the key in parallel with the reads,
// and only writes wait for the result. Publishing takes more, because its reads depend on each other; its numbers are
// here so that a change is noticed.
func TestRoundTrips(t *testing.T) {
	t.Parallel()
	apitest.Slow(t)
	exceptions := map[string]int{
		"update_metric_definition": 3, // the id's record; the definition; the write
		"preview_plan_publish":     1, // 2 when the board has a published snapshot to compare with
		"publish_plan_board":       5, // collect; claim and snapshot; collect again; marks; commit
	}
	waves := &apitest.Waves{}
	s := start(t, waves)
	key := s.Key(t)
	for _, op := range functions.Operations(nil) {
		s.Clock.Advance(time.Minute) // so that the rate limit bucket is full
		want, exceptional := exceptions[op.ID]
		if !exceptional {
			want = 1
			if op.Effect != api.Read {
				want = 2
			}
		}
		calls := []string{"full"}
		if op.Effect == api.Read {
			calls = append(calls, "in use") // admission works differently; a write cannot be repeated here
		}
		for _, bucket := range calls {
			waves.Reset()
			got := requestOf(t, s, op, key).send(t, s)
			if got.Status != http.StatusOK {
				t.Errorf("%s: %d %s", op.ID, got.Status, got.Body)
			}
			t.Logf("%s, bucket %s: %d round trips, %d calls", op.ID, bucket, waves.Count(), waves.Calls())
			if waves.Count() != want {
				t.Errorf("%s, bucket %s: %d round trips, want %d: save one, or add it to exceptions in functions/trips_test.go and say why", op.ID, bucket, waves.Count(), want)
			}
		}
	}
}

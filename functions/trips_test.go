package functions_test

import (
	"net/http"
	"testing"
	"time"

	"growthworkspace/functions"
	"growthworkspace/shared/api"
	"growthworkspace/shared/apitest"
)

// Ensure a read takes one round trip to the table and a write two, however many calls they make: the key is verified
// beside the reads, and only writes wait for it. Publishing and its preview take more, because what they must read is
// named by what they read first; their numbers are here to be seen when they change.
func TestRoundTrips(t *testing.T) {
	t.Parallel()
	apitest.Slow(t)
	exceptions := map[string]int{
		"preview_plan_publish": 1, // two once there is a live snapshot to compare with
		"publish_plan_board":   5, // collect; claim and snapshot; collect again; marks; commit
	}
	waves := &apitest.Waves{}
	s := start(t, waves)
	key := s.Key(t)
	for _, op := range functions.Operations(nil) {
		s.Clock.Advance(time.Minute) // so that the bucket is full, whatever another area's function took
		want, exceptional := exceptions[op.ID]
		if !exceptional {
			want = 1
			if op.Effect != api.Read {
				want = 2
			}
		}
		calls := []string{"full"}
		if op.Effect == api.Read {
			calls = append(calls, "in use") // the other path of the admission; a write cannot be repeated here
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

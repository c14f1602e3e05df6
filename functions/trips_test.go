package functions_test

import (
	"net/http"
	"testing"
	"time"

	"growthworkspace/functions"
	"growthworkspace/shared/api"
	"growthworkspace/shared/testkit/apitest"
)

// Ensure a read takes one round trip to the table and a write two: the service checks the key in parallel with the reads,
// and only writes wait for the result. Publishing takes more, because its reads depend on each other; its numbers are
// here so that a change is noticed.
func TestRoundTrips(t *testing.T) {
	t.Parallel()
	apitest.Slow(t)
	exceptions := map[string]int{
		"create_optimise_audit":    5, // draft; findings; audit; old drafts
		"update_optimise_audit":    8, // the audit; draft; findings; the audit; the write; the old findings; the draft; old drafts
		"delete_optimise_audit":    5, // the audit; the marker; the findings; they are deleted; the marker
		"get_metric_definition":    2, // the id's record; the definition
		"delete_metric_points":     3, // the definition; the points; the writes
		"delete_metric_definition": 4, // the id's record; the definition; its points; the write
		"update_metric_definition": 3, // the id's record; the definition; the write
		"delete_optimise_goal":     3, // the site and the goal; the goal, to delete it as read; the delete
		"delete_optimise_site":     4, // the site; the marker; the goals; the marker
		"delete_feedback":          3, // the record; the reference to it, if an import kept its id; the deletion of both
		"preview_plan_publish":     2, // collect; the published snapshot to compare with: 1 before the first publish
		"delete_plan_board":        6, // the board; its items; marker in its place; its versions; what else belongs to it; the marker
		"list_plan_live_items":     2, // the board, which names its snapshot; a part of that
		"publish_plan_board":       6, // collect; the published snapshot; claim and snapshot; collect again; prepare items; commit
	}
	counter := &apitest.RoundTripCounter{}
	s := start(t, counter)
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
			trips, n := counter.Count(t, func(t *testing.T) {
				if got := requestOf(t, s, op, key).send(t, s); got.Status != http.StatusOK {
					t.Errorf("%s: %d %s", op.ID, got.Status, got.Body)
				}
			})
			t.Logf("%s, bucket %s: %d round trips, %d calls", op.ID, bucket, trips, n)
			if trips != want {
				t.Errorf("%s, bucket %s: %d round trips, want %d: save one, or add it to exceptions in functions/trips_test.go and say why", op.ID, bucket, trips, want)
			}
		}
	}
}

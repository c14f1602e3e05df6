package functions_test

import (
	"net/http"
	"testing"
	"time"

	"growthworkspace/functions"
	"growthworkspace/shared/api"
	"growthworkspace/shared/testkit/apitest"
)

// Ensure a read takes one round trip to the table and a write two. The service checks the key in
// parallel with the reads, and only writes wait for the result of the check. Operations whose calls
// depend on each other take more round trips; the operation tables list how many.
func TestRoundTrips(t *testing.T) {
	t.Parallel()
	apitest.SkipIfShort(t)
	counter := &apitest.RoundTripCounter{}
	s := start(t, counter)
	key := s.IssueKey(t)
	for _, op := range functions.Operations(nil) {
		s.Clock.Advance(time.Minute) // so that the rate limit bucket is full
		o := operationRow(t, op)
		want := o.RoundTrips
		if want == 0 {
			want = 1
			if op.Effect != api.Read {
				want = 2
			}
		}
		buckets := []string{"full"}
		if op.Effect == api.Read {
			buckets = append(buckets, "in use") // the key check makes other table calls while the bucket is not full; only reads can run twice in this test
		}
		for _, bucket := range buckets {
			trips, _ := counter.Count(t, func(t *testing.T) {
				if got := newTestRequest(t, s, op, key).send(t, s); got.Status != http.StatusOK {
					t.Errorf("%s: status %d, want 200: %s", op.ID, got.Status, got.Body)
				}
			})
			if trips != want {
				t.Errorf("%s: %s, bucket %s: %d round trips, want %d: save one, or type the number and give the reason in %s", o.CellLocation("trips"), op.ID, bucket, trips, want, roundTripPage)
			}
		}
	}
}

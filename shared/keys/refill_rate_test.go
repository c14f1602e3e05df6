package keys_test

import (
	"crypto/rand"
	mathrand "math/rand/v2"
	"sync"
	"testing"
	"time"

	"growthworkspace/shared/auth"
	"growthworkspace/shared/id"
	"growthworkspace/shared/keys"
	"growthworkspace/shared/table"
	"growthworkspace/shared/testkit/apitest"
)

// Ensure callers whose combined rate is the refill rate are refused only because their quota is
// used up, and not because the bucket switches between full and in use while their calls are in
// flight.
func TestAdmitAtThePaceOfTheRefill(t *testing.T) {
	t.Parallel()
	apitest.SkipIfShort(t)
	counter := &apitest.RoundTripCounter{}
	options := apitest.Options(t, time.Now, counter) // the clock of synctest, because a bucket refills with time
	counter.Count(t, func(t *testing.T) { admitAtRefillRate(t, table.New(options).AsOperator()) })
}

func admitAtRefillRate(t *testing.T, client *table.Client) {
	s := keys.NewStore(client, time.Now)
	company := client.NewID(id.CompanyPrefix)
	for _, quota := range []auth.Quota{20_000, 100_000} {
		key, secret, err := s.Issue(t.Context(), company, keys.Grant{Scopes: auth.Scopes()}, rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.SetQuota(t.Context(), company, key.ID, auth.ClassRead, quota); err != nil {
			t.Fatal(err)
		}
		token, err := auth.Parse(secret)
		if err != nil {
			t.Fatal(err)
		}
		var wait sync.WaitGroup
		const callers = 12
		for caller := range callers {
			random := mathrand.New(mathrand.NewPCG(uint64(quota), uint64(caller)))
			wait.Go(func() {
				for range 60 {
					time.Sleep(time.Duration(random.Int64N(2 * callers * int64(quota.Interval()))))
					_, err := s.Admit(t.Context(), token, []auth.Scope{auth.PlanRead}, auth.ClassRead)
					if err != nil && !isQuotaExceeded(err) {
						t.Errorf("quota %d: %v", quota, err)
					}
				}
			})
		}
		wait.Wait()
	}
}

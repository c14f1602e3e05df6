package metrics_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"growthworkspace/functions/metrics"
	"growthworkspace/shared/apitest"
)

// once sends a push with an Idempotency-Key.
func once(t *testing.T, s *apitest.Service, key, idempotencyKey string, points ...string) apitest.Response {
	t.Helper()
	return s.Send(t, key, "POST", pointsPath, `{"points":[`+strings.Join(points, ",")+`]}`, "Idempotency-Key", idempotencyKey)
}

// metricsOf returns a push of one day of n metrics. Each of its points has the same value.
func metricsOf(n int, prefix string, value int) (points []string) {
	for i := range n {
		points = append(points, onDay(fmt.Sprintf("%s%d", prefix, i), "2026-01-01", float64(value)))
	}
	return points
}

// Ensure that of twelve different pushes with one Idempotency-Key at the same moment one is accepted, and that those that
// get 400 store nothing: no point and no definition. It does not matter whether a push fits one transaction.
func TestRefusedPushStoresNothing(t *testing.T) {
	t.Parallel()
	s, _ := start(t)
	load(t, s, s.CompanyID, "metric-definition", definition(1, "known", ""))
	key := s.Key(t)
	const pushes = 12
	for i, c := range []struct {
		name    string
		metrics func(n int) int // 0: one point of the known metric
	}{
		{"one point of a known metric", func(int) int { return 0 }},
		{"one transaction", func(int) int { return 3 }},
		{"several transactions", func(int) int { return 30 }},
		{"of every size", func(n int) int { return n % 3 * 20 }},
	} {
		t.Run(c.name, func(t *testing.T) {
			value := func(n int) int { return 100*(i+1) + n } // of all points of a push
			body := func(n int) []string {
				return append(metricsOf(c.metrics(n), fmt.Sprintf("m%d_", value(n)), value(n)), onDay("known", "2026-01-01", float64(value(n))))
			}
			var responses [pushes]apitest.Response
			var wait sync.WaitGroup
			for n := range pushes {
				wait.Go(func() { responses[n] = once(t, s, key, c.name, body(n)...) })
			}
			wait.Wait()
			accepted := 0
			for n, r := range responses {
				want := 0
				if r.Status == http.StatusOK {
					accepted++
					want = len(body(n))
				} else if r.Status != http.StatusBadRequest {
					t.Errorf("push %d: %d %s", n, r.Status, r.Body)
				}
				points := count(dump(t, s, s.CompanyID, "metric-point"), fmt.Sprintf(`"value":%d,`, value(n)))
				definitions := count(dump(t, s, s.CompanyID, "metric-definition"), fmt.Sprintf(`"custom.m%d_`, value(n)))
				if points != want || definitions != max(0, want-1) {
					t.Errorf("push %d got %d; %d points and %d definitions of it are stored", n, r.Status, points, definitions)
				}
			}
			if accepted != 1 {
				t.Errorf("%d pushes were accepted", accepted)
			}
		})
	}
}

// count returns how many lines contain a text.
func count(lines []string, text string) (n int) {
	for _, line := range lines {
		if strings.Contains(line, text) {
			n++
		}
	}
	return n
}

// Ensure a push whose process dies at any call to the table can be sent again with its Idempotency-Key: another push with
// that key is 400 and stores nothing at any time, the retry is accepted once the claim is 15 seconds old, everything is
// stored once, and a further retry gets the same response.
func TestPushThroughDeaths(t *testing.T) {
	t.Parallel()
	apitest.Slow(t)
	for name, n := range map[string]int{"one transaction": 5, "several transactions": 60} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			faults := &apitest.Mortal{}
			s := apitest.NewOver(t, metrics.Operations, faults)
			faults.Heal()
			key := s.Key(t)
			deaths := 0
			for calls := 0; ; calls++ {
				died := false
				for _, during := range []bool{false, true} {
					prefix := fmt.Sprintf("d%d%v_", calls, during)
					body := metricsOf(n, prefix, 1)
					faults.Set(calls, during)
					first := once(t, s, key, prefix, body...)
					died = died || faults.Died()
					if first.Status == http.StatusOK && faults.Died() && n > metricsPerTransaction {
						t.Errorf("%s: 200 from a process that died", prefix)
					}
					faults.Heal()
					deaths++
					other := once(t, s, key, prefix, onDay("custom.other", "2026-01-01", 9))
					if other.Status == http.StatusOK {
						// Nothing of the first push had begun, so the key was free for this one.
						if got := stored(t, s, prefix); len(got) > 0 {
							t.Errorf("%s: another push was accepted beside %d records", prefix, len(got))
						}
						continue
					}
					if other.Status != http.StatusBadRequest {
						t.Errorf("%s: another push: %d %s", prefix, other.Status, other.Body)
					}
					s.Clock.Advance(15 * time.Second)
					retry := once(t, s, key, prefix, body...)
					again := once(t, s, key, prefix, body...)
					if retry.Status != http.StatusOK || again.Status != http.StatusOK || again.Body != retry.Body || again.Header.Get("Idempotent-Replayed") != "true" {
						t.Errorf("%s: the retry: %d %s\nand again: %d %s", prefix, retry.Status, retry.Body, again.Status, again.Body)
					}
					if created := retry.JSON(t)["createdKeys"].([]any); len(created) != n { // of the push as a whole
						t.Errorf("%s: %d created keys: %v", prefix, len(created), created)
					}
					if got := stored(t, s, prefix); len(got) != 2*n {
						t.Errorf("%s: %d points and definitions, want %d of each", prefix, len(got), n)
					}
				}
				if !died {
					break
				}
			}
			t.Logf("%d deaths", deaths)
		})
	}
}

// metricsPerTransaction is how many metrics a push of one transaction has at most.
const metricsPerTransaction = 24

// stored returns the points and the definitions of the custom metrics with a prefix.
func stored(t *testing.T, s *apitest.Service, prefix string) []string {
	t.Helper()
	all := append(dump(t, s, s.CompanyID, "metric-point"), dump(t, s, s.CompanyID, "metric-definition")...)
	return slices.DeleteFunc(all, func(line string) bool { return !strings.Contains(line, `"custom.`+prefix) })
}

// Ensure a push waits for one with the same Idempotency-Key and body that is running, and is unavailable, with a
// Retry-After, when that one does not end in time.
func TestPushBesideADeadOne(t *testing.T) {
	t.Parallel()
	apitest.Slow(t)
	faults := &apitest.Mortal{}
	counter := &apitest.RoundTripCounter{Transport: faults} // so that the push waits on a fake clock
	s := apitest.NewOver(t, metrics.Operations, counter)
	faults.Heal()
	key := s.Key(t)
	body := metricsOf(30, "m", 1)
	faults.Set(4, false) // the key, the stored response, the definitions and the claim
	if r := once(t, s, key, "k", body...); r.Status < 500 {
		t.Fatalf("%d %s", r.Status, r.Body)
	}
	faults.Heal()
	var waited apitest.Response
	counter.Count(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		r := httptest.NewRequestWithContext(ctx, "POST", strings.ReplaceAll(pointsPath, "{companyId}", s.CompanyID), strings.NewReader(`{"points":[`+strings.Join(body, ",")+`]}`))
		r.Header.Set("Authorization", "Bearer "+key)
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Idempotency-Key", "k")
		waited = s.Do(r)
	})
	if code, _ := waited.Messages(t); waited.Status != http.StatusServiceUnavailable || code != "unavailable" || waited.Header.Get("Retry-After") == "" {
		t.Errorf("%d %s, Retry-After %q", waited.Status, waited.Body, waited.Header.Get("Retry-After"))
	}
	if got := stored(t, s, "m"); len(got) != 0 {
		t.Errorf("%d records are stored", len(got))
	}
	s.Clock.Advance(15 * time.Second)
	if r := once(t, s, key, "k", body...); r.Status != http.StatusOK || len(stored(t, s, "m")) != 60 {
		t.Errorf("%d %s, %d records", r.Status, r.Body, len(stored(t, s, "m")))
	}
}

// Ensure a push with an Idempotency-Key that was forgotten, after a day, does not count what it created then.
func TestCreatedKeysOfForgottenPush(t *testing.T) {
	t.Parallel()
	s, _ := start(t)
	key := s.Key(t)
	body := metricsOf(30, "m", 1)
	for day, want := range []int{30, 0, 0} {
		r := once(t, s, key, "k", body...)
		if r.Status != http.StatusOK || len(r.JSON(t)["createdKeys"].([]any)) != want || r.Header.Get("Idempotent-Replayed") != "" {
			t.Errorf("day %d: %d %s %v", day, r.Status, r.Body, r.Header)
		}
		s.Clock.Advance(24*time.Hour + time.Second)
	}
	if r := once(t, s, key, "other", metricsOf(30, "n", 1)...); len(r.JSON(t)["createdKeys"].([]any)) != 30 {
		t.Error(r.Body)
	}
	if r := once(t, s, key, "another", metricsOf(30, "n", 2)...); len(r.JSON(t)["createdKeys"].([]any)) != 0 {
		t.Errorf("keys that another push created: %s", r.Body)
	}
}

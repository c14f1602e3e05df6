package metrics_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"growthworkspace/functions/metrics"
	"growthworkspace/shared/testkit/apitest"
)

func pushWithKey(t *testing.T, s *apitest.Service, key, idempotencyKey string, points ...string) apitest.Response {
	t.Helper()
	return s.Send(t, key, "POST", pointsPath, `{"points":[`+strings.Join(points, ",")+`]}`, "Idempotency-Key", idempotencyKey)
}

// pointsOfMetrics returns points of the same day for n metrics. All of them have the same value.
func pointsOfMetrics(n int, prefix string, value int) (points []string) {
	for i := range n {
		points = append(points, pointOnDay(fmt.Sprintf("%s%d", prefix, i), "2026-01-01", float64(value)))
	}
	return points
}

// Ensure one of twelve different concurrent pushes with the same Idempotency-Key is accepted. The
// others get a 400 and must store neither points nor definitions. This holds whether or not a push
// fits in one transaction.
func TestRefusedPushStoresNothing(t *testing.T) {
	t.Parallel()
	s, _ := start(t)
	importLines(t, s, s.CompanyID, "metric-definition", definitionJSON(1, "known", ""))
	key := s.IssueKey(t)
	const pushes = 12
	for i, c := range []struct {
		name    string
		metrics func(n int) int // how many new metrics the n-th push has, in addition to one point of the known metric
	}{
		{"one point of a known metric", func(int) int { return 0 }},
		{"one transaction", func(int) int { return 3 }},
		{"several transactions", func(int) int { return 30 }},
		{"of every size", func(n int) int { return n % 3 * 20 }},
	} {
		t.Run(c.name, func(t *testing.T) {
			value := func(n int) int { return 100*(i+1) + n } // the value of all points of a push
			body := func(n int) []string {
				return append(pointsOfMetrics(c.metrics(n), fmt.Sprintf("m%d_", value(n)), value(n)), pointOnDay("known", "2026-01-01", float64(value(n))))
			}
			var responses [pushes]apitest.Response
			var wait sync.WaitGroup
			for n := range pushes {
				wait.Go(func() { responses[n] = pushWithKey(t, s, key, c.name, body(n)...) })
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
				points := countContaining(exportRecords(t, s, s.CompanyID, "metric-point"), fmt.Sprintf(`"value":%d,`, value(n)))
				definitions := countContaining(exportRecords(t, s, s.CompanyID, "metric-definition"), fmt.Sprintf(`"custom.m%d_`, value(n)))
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

func countContaining(lines []string, text string) (n int) {
	for _, line := range lines {
		if strings.Contains(line, text) {
			n++
		}
	}
	return n
}

// testPush is a push: its points, and the values that are stored once it is complete, keyed by
// metric and series.
type testPush struct {
	points  []string
	values  map[string]float64
	metrics int
}

// newTestPush returns a push to metrics that have no definition, with the same number of series for
// each metric. Each point has a different value.
func newTestPush(prefix string, metrics, series int) testPush {
	b := testPush{values: map[string]float64{}, metrics: metrics}
	for m := range metrics {
		for n := range series {
			key, dim, value := fmt.Sprintf("custom.%s%d", prefix, m), fmt.Sprint("s", n), float64(len(b.points)+1)
			b.points = append(b.points, fmt.Sprintf(`{"metricKey":%q,"ts":"2026-01-01","value":%v,"dims":{"series":%q}}`, key, value, dim))
			b.values[key+" "+dim] = value
		}
	}
	return b
}

// countStored returns how many points of the push b are stored. It fails the test if a point is
// stored twice or with a wrong value, or if its metric does not have exactly one definition.
func countStored(t *testing.T, s *apitest.Service, prefix string, b testPush) int {
	t.Helper()
	defined, found := map[string]bool{}, map[string]bool{}
	var points []string
	for _, line := range storedRecordsOf(t, s, prefix) {
		var r struct {
			Key, MetricKey string
			Dims           map[string]string
			Value          float64
		}
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatal(err)
		}
		if r.MetricKey == "" {
			if defined[r.Key] {
				t.Errorf("%s: %s is defined twice", prefix, r.Key)
			}
			defined[r.Key] = true
			continue
		}
		series := r.MetricKey + " " + r.Dims["series"]
		if want, sent := b.values[series]; !sent || r.Value != want || found[series] {
			t.Errorf("%s: %s is %v, want %v; twice: %v", prefix, series, r.Value, want, found[series])
		}
		found[series] = true
		points = append(points, r.MetricKey)
	}
	for _, key := range points {
		if !defined[key] {
			t.Errorf("%s: a point of %s has no definition", prefix, key)
		}
	}
	return len(points)
}

// Ensure a push whose process crashes at any table call can be retried with its Idempotency-Key. A
// response is stored only once every point is stored. A different push with that key always
// returns 400 and stores nothing. The retry is accepted once the crashed push has held the key for
// 15 seconds. Then everything is stored exactly once, and another retry gets the same response.
func TestPushThroughCrashes(t *testing.T) {
	t.Parallel()
	apitest.SkipIfShort(t)
	for name, size := range map[string][2]int{"one transaction": {5, 1}, "several transactions": {60, 1}, "many series of a metric": {2, 30}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			faults := &apitest.CrashingTransport{}
			s := apitest.NewWithTransport(t, metrics.Operations, faults)
			faults.StopCrashing()
			key := s.IssueKey(t)
			deaths, died := 0, true
			for calls := 0; died; calls++ {
				died = false
				for _, during := range []bool{false, true} {
					prefix := fmt.Sprintf("d%d%v_", calls, during)
					faults.CrashAfter(calls, during)
					if pushThroughCrash(t, s, key, prefix, newTestPush(prefix, size[0], size[1]), faults) {
						died, deaths = true, deaths+1
					}
				}
			}
			if deaths < 5 {
				t.Errorf("%d deaths, want at least 5", deaths)
			}
		})
	}
}

// pushThroughCrash pushes in a process that crashes, and then again in a process that does not.
func pushThroughCrash(t *testing.T, s *apitest.Service, key, prefix string, b testPush, faults *apitest.CrashingTransport) (died bool) {
	t.Helper()
	first, all := pushWithKey(t, s, key, prefix, b.points...), len(b.points)
	died = faults.Crashed()
	faults.StopCrashing()
	storedCount := countStored(t, s, prefix, b)
	if first.Status == http.StatusOK && (storedCount != all || died && all > metricsPerTransaction) || first.Status != http.StatusOK && first.Status < 500 {
		t.Errorf("%s: died %v: %d %s, and %d of %d points are stored", prefix, died, first.Status, first.Body, storedCount, all)
	}
	pushOther := func(when string, accepted bool) bool {
		r := pushWithKey(t, s, key, prefix, pointOnDay("custom.other", "2026-01-01", 9))
		if r.Status != http.StatusBadRequest && !(accepted && r.Status == http.StatusOK) {
			t.Errorf("%s, %s: another push: %d %s", prefix, when, r.Status, r.Body)
		}
		return r.Status == http.StatusOK
	}
	if pushOther("before the retry", storedCount == 0) { // no part of the first push had started, so the key was free
		return died
	}
	s.Clock.Advance(15 * time.Second)
	retry := pushWithKey(t, s, key, prefix, b.points...)
	if replayed := retry.Header.Get("Idempotent-Replayed") == "true"; replayed && storedCount != all {
		t.Errorf("%s: the response was remembered, and %d of %d points were stored", prefix, storedCount, all)
	}
	if done := countStored(t, s, prefix, b); retry.Status != http.StatusOK || first.Status == http.StatusOK && first.Body != retry.Body || done != all {
		t.Errorf("%s: the retry: %d %s, and %d of %d points are stored", prefix, retry.Status, retry.Body, done, all)
	}
	if created, _ := retry.JSON(t)["createdKeys"].([]any); len(created) != b.metrics { // the retry also returns the keys that the crashed push created
		t.Errorf("%s: %d created keys: %v", prefix, len(created), created)
	}
	again := pushWithKey(t, s, key, prefix, b.points...)
	if again.Status != http.StatusOK || again.Body != retry.Body || again.Header.Get("Idempotent-Replayed") != "true" {
		t.Errorf("%s: the retry: %d %s\nand again: %d %s", prefix, retry.Status, retry.Body, again.Status, again.Body)
	}
	if pushOther("at the end", false); countStored(t, s, prefix, b) != all {
		t.Errorf("%s: another push changed the points", prefix)
	}
	return died
}

// responseLosingTransport is a transport that sends every call, but loses the responses to some
// writes.
type responseLosingTransport struct {
	mu        sync.Mutex
	random    *rand.Rand
	engine    http.RoundTripper
	lostCount int
}

func (l *responseLosingTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	_, call, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	l.mu.Lock()
	lose := !strings.HasPrefix(call, "Get") && call != "Query" && l.random.Float64() < 0.4
	if lose {
		l.lostCount++
	}
	l.mu.Unlock()
	out, err := l.engine.RoundTrip(r)
	if err != nil || !lose {
		return out, err
	}
	_, err = io.Copy(io.Discard, out.Body) // to the end, so that the call has completed
	return nil, errors.Join(io.ErrUnexpectedEOF, err, out.Body.Close())
}

// Ensure pushes succeed and store each point once when they are retried with their Idempotency-Key,
// even if two fifths of the responses to writes are lost.
func TestPushesThroughLostResponses(t *testing.T) {
	t.Parallel()
	apitest.SkipIfShort(t)
	s, _ := start(t)
	key, sent := s.IssueKey(t), map[string]testPush{}
	synctest.Test(t, func(t *testing.T) { // on the fake clock, the pauses between attempts take no time
		transport, failures := &responseLosingTransport{random: rand.New(rand.NewPCG(1, 0)), engine: apitest.BubbleTransport()}, 0
		process := apitest.NewWithTransport(t, metrics.Operations, transport)
		process.CompanyID = s.CompanyID
		for n := range 10 {
			prefix := fmt.Sprintf("loss%d_", n)
			sent[prefix] = newTestPush(prefix, 60, 1) // 60 metrics, because a push of one metric would block on a mutex, which stops the fake clock
			r := pushWithKey(t, process, key, prefix, sent[prefix].points...)
			for ; r.Status >= 500 && failures < 100; failures++ {
				process.Clock.Advance(15 * time.Second) // so that a claim whose release failed expires
				r = pushWithKey(t, process, key, prefix, sent[prefix].points...)
			}
			if r.Status != http.StatusOK {
				t.Errorf("push of %s: status %d after %d failed attempts, want 200: %s", prefix, r.Status, failures, r.Body)
			}
		}
		if transport.lostCount < 20 {
			t.Errorf("%d responses lost, want at least 20; %d attempts failed", transport.lostCount, failures)
		}
	})
	for prefix, b := range sent {
		if done := countStored(t, s, prefix, b); done != len(b.points) {
			t.Errorf("%s: %d of %d acknowledged points are stored", prefix, done, len(b.points))
		}
	}
}

// metricsPerTransaction is the maximum number of metrics in a push that fits in one transaction.
const metricsPerTransaction = 24

// storedRecordsOf returns the points and the definitions of the metrics whose keys start with
// custom.<prefix>.
func storedRecordsOf(t *testing.T, s *apitest.Service, prefix string) []string {
	t.Helper()
	all := append(exportRecords(t, s, s.CompanyID, "metric-point"), exportRecords(t, s, s.CompanyID, "metric-definition")...)
	return slices.DeleteFunc(all, func(line string) bool { return !strings.Contains(line, `"custom.`+prefix) })
}

// Ensure a push waits for a running push with the same Idempotency-Key and body. If that one does
// not finish in time, the waiting push returns unavailable with a Retry-After.
func TestPushAfterACrashedOne(t *testing.T) {
	t.Parallel()
	apitest.SkipIfShort(t)
	faults := &apitest.CrashingTransport{}
	counter := &apitest.RoundTripCounter{Transport: faults} // its Count method makes the waiting push wait on a fake clock
	s := apitest.NewWithTransport(t, metrics.Operations, counter)
	faults.StopCrashing()
	key := s.IssueKey(t)
	body := pointsOfMetrics(30, "m", 1)
	faults.CrashAfter(4, false) // after the calls for the API key, the stored response, the definitions and the claim
	if r := pushWithKey(t, s, key, "k", body...); r.Status < 500 {
		t.Fatalf("the push that dies: status %d, want at least 500: %s", r.Status, r.Body)
	}
	faults.StopCrashing()
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
	if got := storedRecordsOf(t, s, "m"); len(got) != 0 {
		t.Errorf("%d records are stored", len(got))
	}
	s.Clock.Advance(15 * time.Second)
	if r := pushWithKey(t, s, key, "k", body...); r.Status != http.StatusOK || len(storedRecordsOf(t, s, "m")) != 60 {
		t.Errorf("%d %s, %d records", r.Status, r.Body, len(storedRecordsOf(t, s, "m")))
	}
}

// Ensure that a push repeated after a day, when its Idempotency-Key is no longer stored, does not
// count the definitions that the earlier push created.
func TestCreatedKeysOfExpiredPush(t *testing.T) {
	t.Parallel()
	s, _ := start(t)
	key := s.IssueKey(t)
	body := pointsOfMetrics(30, "m", 1)
	for day, want := range []int{30, 0, 0} {
		r := pushWithKey(t, s, key, "k", body...)
		if r.Status != http.StatusOK || len(r.JSON(t)["createdKeys"].([]any)) != want || r.Header.Get("Idempotent-Replayed") != "" {
			t.Errorf("day %d: %d %s %v", day, r.Status, r.Body, r.Header)
		}
		s.Clock.Advance(24*time.Hour + time.Second)
	}
	if r := pushWithKey(t, s, key, "other", pointsOfMetrics(30, "n", 1)...); len(r.JSON(t)["createdKeys"].([]any)) != 30 {
		t.Errorf("another key: %s, want 30 created keys", r.Body)
	}
	if r := pushWithKey(t, s, key, "another", pointsOfMetrics(30, "n", 2)...); len(r.JSON(t)["createdKeys"].([]any)) != 0 {
		t.Errorf("keys that another push created: %s", r.Body)
	}
}

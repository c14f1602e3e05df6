package apitest_test

import (
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"growthworkspace/shared/apitest"
)

// slow responds after the duration in the path of a call.
type slow struct{}

func (slow) RoundTrip(r *http.Request) (*http.Response, error) {
	d, err := time.ParseDuration(r.URL.Path[1:])
	time.Sleep(d) // fake time of synctest
	return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody, Request: r}, err
}

// Ensure the number of waves is the length of the longest chain of sequential calls; parallel calls add none.
func TestWavesCountsTheLongestChain(t *testing.T) {
	call := func(w *apitest.Waves, d string) {
		if _, err := w.RoundTrip(httptest.NewRequest(http.MethodPost, "/"+d, nil)); err != nil {
			t.Error(err)
		}
	}
	for _, test := range []struct {
		name         string
		chains       [][]string
		waves, calls int
	}{
		{"one", [][]string{{"1ms"}}, 1, 1},
		{"three in a row", [][]string{{"1ms", "1ms", "1ms"}}, 3, 3},
		{"three side by side", [][]string{{"1ms"}, {"200ms"}, {"1us"}}, 1, 3},
		{"a slow chain beside a fast one", [][]string{{"500ms", "1ms"}, {"1ms", "500ms"}, {"1us", "1us"}}, 2, 6},
		{"a long chain beside a slow call", [][]string{{"1s"}, {"1ms", "1ms", "1ms", "1ms"}}, 4, 5},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := &apitest.Waves{Transport: slow{}}
				for range 2 { // the second time after Reset
					w.Reset()
					var wait sync.WaitGroup
					for _, chain := range test.chains {
						wait.Go(func() {
							for _, d := range chain {
								call(w, d)
							}
						})
					}
					wait.Wait()
					if w.Count() != test.waves || w.Calls() != test.calls {
						t.Errorf("%d waves of %d calls, want %d of %d", w.Count(), w.Calls(), test.waves, test.calls)
					}
				}
			})
		})
	}
}

// Ensure calls within the quiet time are one wave, and a later call is another one.
func TestWavesWaitsForQuiet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &apitest.Waves{Transport: slow{}}
		var wait sync.WaitGroup
		for _, after := range []time.Duration{0, 10, 20, 30, 120} {
			wait.Go(func() {
				time.Sleep(after * time.Millisecond)
				if _, err := w.RoundTrip(httptest.NewRequest(http.MethodPost, "/1ms", nil)); err != nil {
					t.Error(err)
				}
			})
		}
		wait.Wait()
		if w.Count() != 2 || w.Calls() != 5 {
			t.Errorf("%d waves of %d calls", w.Count(), w.Calls())
		}
	})
}

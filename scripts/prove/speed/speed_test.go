//go:build linux

package speed

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"growthworkspace/functions"
	"growthworkspace/scripts/workspace/demo"
	"growthworkspace/shared/api"
)

// Ensure the prices in this package match those in infra/RUNBOOK.md.
func TestPricesAreTheRunbooks(t *testing.T) {
	text, err := os.ReadFile("../../../infra/RUNBOOK.md")
	if err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf("| price | $%.2f a million | $%.2f a million, $0.0000133334 a GB-second | $%g a million | $%g a million |", priceGateway, priceLambda, priceReadUnits, priceWriteUnits)
	if !strings.Contains(string(text), want) {
		t.Errorf("RUNBOOK.md does not say: %s", want)
	}
}

// Ensure runtimeAPI sends an event to a program and accepts the program's response. If the program
// reports an error, runtimeAPI must return it.
func TestRuntimeAPI(t *testing.T) {
	api := newRuntimeAPI()
	var programWG sync.WaitGroup
	defer programWG.Wait() // wait until the program's requests have ended
	defer api.Close()
	base := api.URL + runtimePrefix
	programWG.Go(func() {
		for _, path := range []string{"invocation/1/response", "invocation/2/error", "invocation/next"} {
			next, err := http.Get(base + "invocation/next")
			if err != nil {
				return // the test has ended
			}
			event, err := io.ReadAll(next.Body)
			if err != nil {
				t.Error(err)
			}
			_ = next.Body.Close()
			done, err := http.Post(base+path, "application/json", strings.NewReader(`{"statusCode":`+string(event)+`}`))
			if err != nil {
				return
			}
			_ = done.Body.Close()
		}
	})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := api.waitUntilReady(ctx); err != nil {
		t.Fatal(err)
	}
	if took, err := api.invoke(ctx, []byte("200")); err != nil || took <= 0 {
		t.Fatalf("invoke took %s, want a time: %v", took, err)
	}
	if _, err := api.invoke(ctx, []byte("500")); err == nil || !strings.Contains(err.Error(), `{"statusCode":500}`) {
		t.Errorf("%v, want the error that the program reported", err)
	}
}

// Ensure the table of results shows which goals are met and which are missed. A ratio of NaN counts
// as missed.
func TestReport(t *testing.T) {
	got := reportTable([]goal{{"a", 0.5, 1}, {"b", 2, 1}, {"c", math.NaN(), 1}})
	for _, want := range []string{"| a | 0.50 | ≤ 1.00 | met |", "| b | 2.00 | ≤ 1.00 | missed |", "| c | NaN | ≤ 1.00 | missed |"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	if m := median([]time.Duration{3, 1, 2, 10}); m != 2 {
		t.Errorf("the median is %s", m)
	}
}

// Ensure the error for a wrong option names the option, and DescribeModes describes every mode.
func TestOptions(t *testing.T) {
	for want, o := range map[string]Options{
		`unknown mode "hot"`: {Modes: []string{"start", "hot"}, Rounds: 1, Scale: 1}, "--rounds": {Scale: 1}, "--scale": {Rounds: 1},
		"--scale must": {Rounds: 1, Scale: math.NaN()},
	} {
		if _, err := Run(t.Context(), o, io.Discard, io.Discard); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %s", o, err, want)
		}
	}
	chosen, err := Options{Modes: []string{"start", "cost"}, Rounds: 3, Scale: 1}.selectModes()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, m := range chosen {
		names = append(names, m.name)
	}
	if diff := cmp.Diff([]string{"start", "cost"}, names); diff != "" {
		t.Errorf("chosen modes (-want +got):\n%s", diff)
	}
	for _, m := range benchModes {
		if !strings.Contains(DescribeModes(), m.description) {
			t.Errorf("no %s in\n%s", m.description, DescribeModes())
		}
	}
}

// Ensure a mode that finds no engine returns an error that names both the mode and the engine.
func TestMissingTool(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv("HOME", t.TempDir())
	for _, name := range []string{"start", "cost"} {
		var log strings.Builder
		_, err := Run(t.Context(), Options{Modes: []string{name}, Rounds: 1, Scale: 1}, io.Discard, &log)
		if err == nil || !strings.Contains(err.Error(), name+": ") || !strings.Contains(err.Error(), "engine") {
			t.Errorf("%s: error %v, want one that names the mode and the engine", name, err)
		}
	}
}

// Ensure an engineBed can be created, and its key can read the review that the "start" mode reads.
func TestEngineBed(t *testing.T) {
	t.Parallel()
	b, err := newEngineBed(t.Context(), t.Output())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.close)
	r := httptest.NewRequest(http.MethodGet, "/v1/companies/"+demo.CompanyID+"/feedback/"+firstID("feedback"), nil)
	r.Header.Set("Authorization", "Bearer "+b.secret)
	w := httptest.NewRecorder()
	functions.Handler(b.ServingTable, api.NewConfig(b.ServingTable, slog.New(slog.DiscardHandler))).ServeHTTP(w, r)
	if w.Code != http.StatusOK {
		t.Errorf("status %d: %s", w.Code, w.Body)
	}
}

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"growthworkspace/functions"
	"growthworkspace/shared/apitest"
)

// serve serves the whole service with a company that holds the records of the import, and returns what a tour needs.
func serve(t *testing.T, wrap func(http.Handler) http.Handler) (url, company, key string) {
	t.Helper()
	s := apitest.New(t, functions.Operations)
	file, err := os.Open("../../functions/testdata/company.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		var line struct {
			Type   string
			Record json.RawMessage
		}
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			t.Fatal(err)
		}
		for _, kind := range functions.Transfers(s.Table) {
			if kind.Name != line.Type {
				continue
			}
			record, problems := kind.Check(line.Record)
			if len(problems) > 0 {
				t.Fatal(problems)
			}
			if err := kind.Write(t.Context(), s.CompanyID, []any{record}); err != nil {
				t.Fatal(err)
			}
		}
	}
	server := httptest.NewServer(wrap(functions.Handler(s.Serving, slog.New(slog.DiscardHandler))))
	t.Cleanup(server.Close)
	return server.URL, s.CompanyID, s.Key(t)
}

// Ensure the tour passes on the service as it is, and that it visits every area, more than once.
func TestTour(t *testing.T) {
	t.Parallel()
	visited := map[string]int{}
	url, company, key := serve(t, func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			parts := strings.Split(r.URL.Path, "/")
			switch {
			case len(parts) > 4:
				visited[parts[4]]++
			case len(parts) > 2:
				visited["company"]++
			}
			h.ServeHTTP(w, r)
		})
	})
	for range 2 { // what it leaves behind must not be in the way of the next one
		var out, errOut bytes.Buffer
		if code := run(t.Context(), []string{"--url", url, "--company", company}, key, &out, &errOut); code != 0 {
			t.Fatalf("exit code %d\n%s%s", code, &out, &errOut)
		}
	}
	for _, area := range functions.All() {
		if visited[area.Name] < 4 {
			t.Errorf("%d visits of %s", visited[area.Name], area.Name)
		}
	}
}

// Ensure the tour can fail: it notices each way in which a deployment goes wrong.
func TestErrTour(t *testing.T) {
	t.Parallel()
	broken := func(part string, handler http.HandlerFunc) func(http.Handler) http.Handler {
		return func(h http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if strings.Contains(r.URL.Path, part) {
					handler(w, r)
					return
				}
				h.ServeHTTP(w, r)
			})
		}
	}
	bare := func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusBadGateway)
		_, _ = w.Write([]byte(`{"message": "Internal server error"}`))
	}
	for name, test := range map[string]struct {
		wrap func(http.Handler) http.Handler
		want string
	}{
		"a function that crashes":       {broken("/optimise/", bare), "optimise: GET"},
		"a gateway's own missing route": {broken("/v1/nothing", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) }), "border: GET"},
		"an empty document":             {broken("/openapi.json", func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Service-Version", version) }), "holds 0 operations"},
		"links without the stage": {func(h http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				r.Host = "elsewhere.example"
				h.ServeHTTP(w, r)
			})
		}, "which is not below"},
		"no version on the answers": {func(h http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				h.ServeHTTP(&versionless{w}, r)
			})
		}, "Service-Version is"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url, company, key := serve(t, test.wrap)
			var out, errOut bytes.Buffer
			code := run(t.Context(), []string{"--url", url, "--company", company}, key, &out, &errOut)
			if code != 1 || !strings.Contains(errOut.String(), test.want) {
				t.Errorf("exit code %d, %q does not tell of %q", code, errOut.String(), test.want)
			}
		})
	}
}

type versionless struct{ http.ResponseWriter }

func (w *versionless) WriteHeader(status int) {
	w.Header().Del("Service-Version")
	w.ResponseWriter.WriteHeader(status)
}

// Ensure a call without what it needs says what that is.
func TestErrUsage(t *testing.T) {
	t.Parallel()
	var out, errOut bytes.Buffer
	if code := run(t.Context(), []string{"--url", "http://127.0.0.1:1"}, "", &out, &errOut); code != 2 || !strings.Contains(errOut.String(), "WORKSPACE_KEY") {
		t.Errorf("exit code %d, %q", code, errOut.String())
	}
}

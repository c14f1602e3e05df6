package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// finding is one check in the report.
type finding struct{ Name, Result, Detail, Advice string }

// runDoctor runs `workspace doctor` and returns the checks in its report by name. code is the
// expected exit code.
func runDoctor(t *testing.T, code int, args ...string) map[string]finding {
	t.Helper()
	r := runCommand(t, "", append([]string{"doctor", "--json"}, args...)...)
	var report struct {
		OK     bool
		Checks []finding
	}
	if err := json.Unmarshal([]byte(r.out), &report); err != nil || r.code != code || report.OK != (code == 0) {
		t.Fatalf("%v: exit code %d, %v: %s %s", args, r.code, err, r.out, r.err)
	}
	out := map[string]finding{}
	for _, f := range report.Checks {
		out[f.Name] = f
	}
	if len(out) != 8 || len(report.Checks) != 8 {
		t.Errorf("%v: %d checks, %d of them with a name of their own; want 8: %v", args, len(report.Checks), len(out), report.Checks)
	}
	return out
}

// requireFindings fails the test unless the checks have the expected results. want alternates
// between the name of a check and its expected result.
func requireFindings(t *testing.T, got map[string]finding, want ...string) {
	t.Helper()
	for i := 0; i+1 < len(want); i += 2 {
		f := got[want[i]]
		if f.Result != want[i+1] {
			t.Errorf("%s is %s (%s), want %s", want[i], f.Result, f.Detail, want[i+1])
		}
		if f.Result == "fail" && f.Advice == "" {
			t.Errorf("%s has no advice: %s", want[i], f.Detail)
		}
	}
}

// Ensure every check of `workspace doctor` passes for a working service and key. Each problem must
// fail the check that looks for it. The command must never print the key.
func TestDoctor(t *testing.T) {
	s, data := startTestServer(t)
	requireFindings(t, runDoctor(t, 0), "service", "ok", "encryption", "ok", "clock", "ok", "version", "ok", "key's form", "ok", "key", "ok", "scopes", "ok", "quota", "ok")
	text := runCommand(t, "", "doctor")
	requireContains(t, text.out, s.BaseURL, "ok    service", "ok    quota", s.CompanyID)
	if strings.Contains(text.out+text.err, s.Key) {
		t.Error("the key is printed")
	}

	issued := runJSON(t, data, "", "key", "issue", "--company", s.CompanyID, "--scopes", "plan:read", "--expires", "2d")
	t.Setenv(keyVariable, issued["key"].(string))
	got := runDoctor(t, 0)
	requireFindings(t, got, "key", "warn", "scopes", "ok")
	requireContains(t, got["scopes"].Detail, "plan:read; not company:read")
	requireContains(t, got["key"].Advice, "rotate")
	runJSON(t, data, "", "key", "quota", issued["id"].(string), "--company", s.CompanyID, "--class", "read", "--limit", "0")
	requireFindings(t, runDoctor(t, 1), "key", "fail", "scopes", "skip")
	runJSON(t, data, "", "key", "revoke", issued["id"].(string), "--company", s.CompanyID)
	got = runDoctor(t, 1)
	requireFindings(t, got, "service", "ok", "key's form", "ok", "key", "fail", "scopes", "skip", "quota", "skip")
	requireContains(t, got["key"].Advice, "revoked or expired")

	swapped := "x"
	if strings.HasSuffix(s.Key, swapped) {
		swapped = "y"
	}
	t.Setenv(keyVariable, s.Key[:len(s.Key)-1]+swapped)
	got = runDoctor(t, 1)
	requireFindings(t, got, "key's form", "warn", "key", "fail")
	requireContains(t, got["key's form"].Detail, "a typo")
	t.Setenv(keyVariable, "pk_live_x")
	requireFindings(t, runDoctor(t, 1), "key's form", "fail", "key", "skip")
	t.Setenv(keyVariable, "")
	requireFindings(t, runDoctor(t, 1), "service", "ok", "key's form", "fail", "key", "skip")
	t.Setenv(keyVariable, s.Key)
	requireFindings(t, runDoctor(t, 1, "--base-url", "http://127.0.0.1:1"), "service", "fail", "clock", "skip", "version", "skip", "key's form", "ok", "key", "skip")
}

// Ensure `workspace doctor` detects a wrong clock, a different version of the API, a bad
// certificate, and a server that is not this API.
func TestDoctorOfOthers(t *testing.T) {
	isolateUserFolders(t)
	t.Setenv(keyVariable, "another-kind-of-key")
	for name, c := range map[string]struct {
		date    time.Duration
		version string
		want    []string
	}{
		"another API":   {0, "", []string{"service", "fail", "version", "fail", "key", "skip"}},
		"newer":         {0, "2099-01-01", []string{"service", "ok", "version", "warn"}},
		"older":         {0, "2020-01-01", []string{"version", "warn"}},
		"a slow clock":  {time.Minute, "2026-08-11", []string{"clock", "warn"}},
		"a wrong clock": {-time.Hour, "2026-08-11", []string{"clock", "fail"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Date", time.Now().Add(c.date).UTC().Format(http.TimeFormat))
				if c.version != "" {
					w.Header().Set("Service-Version", c.version)
				}
				if strings.Contains(r.URL.Path, "/keys/") {
					w.WriteHeader(http.StatusNotFound)
					return
				}
				_, _ = w.Write([]byte(`{"items":[{"id":"co_7"}]}`))
			}))
			t.Cleanup(s.Close)
			code := 0
			for _, verdict := range c.want {
				if verdict == "fail" {
					code = 1
				}
			}
			got := runDoctor(t, code, "--base-url", s.URL)
			requireFindings(t, got, c.want...)
			if c.version != "" { // this server has no operations on keys
				requireFindings(t, got, "key", "ok", "scopes", "skip", "quota", "skip")
			}
		})
	}
	s := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(s.Close)
	got := runDoctor(t, 1, "--base-url", s.URL)
	requireContains(t, got["service"].Detail, "certificate")
}

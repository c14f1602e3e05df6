package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"growthworkspace/scripts/check/conformance"
)

// runCheck runs the check command and returns its report. code is the expected exit code.
func runCheck(t *testing.T, code int, args ...string) conformance.Report {
	t.Helper()
	r := runCommand(t, "", append([]string{"check", "--json"}, args...)...)
	var report conformance.Report
	if err := json.Unmarshal([]byte(r.out), &report); err != nil || r.code != code {
		t.Errorf("%v: exit code %d, %v: %s %s", args, r.code, err, r.out, r.err)
	}
	return report
}

// isolateUserFolders gives a test empty folders for settings and data, so that it does not use the
// keys of the user who runs it.
func isolateUserFolders(t *testing.T) {
	t.Helper()
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	t.Setenv("XDG_DATA_HOME", t.TempDir())
	t.Setenv(keyVariable, "")
	t.Setenv(urlVariable, "")
	t.Setenv(profileVariable, "")
}

// Ensure the service passes every rule with --write, and the check deletes all records that it has
// created. Without --write, it must skip the rules that write.
func TestCheckLocalServer(t *testing.T) {
	isolateUserFolders(t)
	s, data := useServer(t)
	t.Setenv(keyVariable, s.Key)
	before := exportOf(t, data, s.CompanyID)
	report := runCheck(t, 0, s.BaseURL, "--write")
	for _, r := range report.Rules {
		if r.Outcome != conformance.Passed {
			t.Errorf("%+v (after a new operation, run go run ./scripts/gen)", r)
		}
	}
	if report.Passed != len(conformance.RuleNames()) || report.Company != s.CompanyID {
		t.Errorf("%d of %d rules pass for %s", report.Passed, len(conformance.RuleNames()), report.Company)
	}
	if exportOf(t, data, s.CompanyID) != before {
		t.Error("the check left something behind")
	}
	r := runCommand(t, "", "check", s.BaseURL, "--rule", "company", "--rule", "records")
	requireContains(t, r.out, "pass  company", "skip  records", "give --write", "1 passed, 0 failed, 1 skipped")

	// The check skips a rule if the key lacks the scope for it. The report names the scope.
	t.Setenv(keyVariable, runJSON(t, data, "", "key", "issue", "--company", s.CompanyID, "--scopes", "company:read")["key"].(string))
	for _, r := range runCheck(t, 0, s.BaseURL, "--rule", "publish", "--rule", "records", "--write").Rules {
		if r.Outcome != conformance.Skipped || !strings.Contains(r.Detail, "lacks") {
			t.Errorf("%+v, want it skipped for the scope that the key lacks", r)
		}
	}
}

// Ensure the check command fails with a single error if the server is not this API or does not
// respond.
func TestCheckWithoutServer(t *testing.T) {
	isolateUserFolders(t)
	other := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(other.Close)
	requireContains(t, runRefused(t, 1, "", "check", other.URL), "no key for "+other.URL, keyVariable)
	t.Setenv(keyVariable, fmt.Sprint("sk_live_", strings.Repeat("a", 20)))
	requireContains(t, runRefused(t, 1, "", "check", other.URL), "does not list the key's company", "404")
	requireContains(t, runRefused(t, 1, "", "check", "http://127.0.0.1:1"), "http://127.0.0.1:1 does not respond", "workspace serve --addr 127.0.0.1:1")
}

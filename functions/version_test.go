package functions_test

import (
	"net/http"
	"strings"
	"testing"

	"growthworkspace/shared/fault"
	"growthworkspace/shared/keys"
	"growthworkspace/shared/testkit/apitest"
)

// Ensure every response contains the current version. An unsupported version, whether it comes from
// the header or from the key, must be rejected with a list of the supported versions. The header
// takes precedence over the key.
func TestVersions(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	_, retired := issueKey(t, s, keys.Grant{APIVersion: "2021-01-01"})
	_, current := issueKey(t, s, keys.Grant{APIVersion: fault.Version})
	const path = "/v1/companies/{companyId}"
	for name, r := range map[string]apitest.Response{
		"header":       s.Send(t, current, "GET", path, "", "Service-Version", "2021-01-01"),
		"key":          s.Send(t, retired, "GET", path, ""),
		"key, a write": s.Send(t, retired, "PATCH", path, `{"summary":"x"}`),
	} {
		code, messages := r.Messages(t)
		if r.Status != http.StatusBadRequest || code != "bad_request" || !strings.Contains(messages[0], fault.Version) {
			t.Errorf("%s: status %d, want 400 bad_request that names %s: %s", name, r.Status, fault.Version, r.Body)
		}
		if got := r.Header.Get("Service-Version"); got != fault.Version {
			t.Errorf("%s: Service-Version is %q, want %s", name, got, fault.Version)
		}
	}
	moved := s.Send(t, retired, "GET", path, "", "Service-Version", fault.Version)
	if moved.Status != http.StatusOK || moved.Header.Get("Service-Version") != fault.Version || moved.JSON(t)["summary"] == "x" {
		t.Errorf("a key with a retired version and a current header: %d %s", moved.Status, moved.Body)
	}
}

package functions_test

import (
	"net/http"
	"strings"
	"testing"

	"growthworkspace/shared/testkit/apitest"
)

// Ensure a header that is not UTF-8 is refused if its value matters, with a message that contains
// the header's name. In a Lambda event its invalid bytes become U+FFFD, so two different
// Idempotency-Keys would look the same, and the second write would be skipped silently.
func TestHeadersAreUTF8(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	key := s.IssueKey(t)
	const goals, body = "/v1/companies/{companyId}/context/goals", `{"name":"Latin"}`
	for _, c := range []struct {
		name, method, target, body, header, value string
		status                                    int
	}{
		{"idempotency key", "POST", goals, body, "Idempotency-Key", "caf\xe9", 400},
		{"another idempotency key", "POST", goals, body, "Idempotency-Key", "caf\xe8", 400},
		{"idempotency key with U+FFFD", "POST", goals, body, "Idempotency-Key", "caf\ufffd", 400},
		{"idempotency key in UTF-8", "POST", goals, body, "Idempotency-Key", "caf\u00e9", 200},
		{"precondition of an update", "PATCH", goals + "/bgl_1", body, "If-Match", "\"\xe9\"", 400},
		{"precondition of a delete", "DELETE", goals + "/bgl_1", "", "If-Match", "\"\xe9\"", 400},
		{"precondition of a read", "GET", goals + "/bgl_1", "", "If-None-Match", "\"\xe9\"", 400},
		{"version", "GET", goals, "", "Service-Version", "2026-08-11\xe9", 400},
		{"key", "GET", goals, "", "Authorization", "Bearer " + key + "\xe9", 401},
		{"another header", "GET", goals, "", "User-Agent", "caf\xe9", 200},
	} {
		r := s.Send(t, key, c.method, c.target, c.body, c.header, c.value)
		if r.Status != c.status {
			t.Errorf("%s: %d %s, want %d", c.name, r.Status, r.Body, c.status)
		}
		if c.status == http.StatusBadRequest {
			if _, messages := r.Messages(t); len(messages) != 1 || !strings.HasPrefix(messages[0], "header."+c.header+": ") {
				t.Errorf("%s: the messages are %q, want one about header.%s", c.name, messages, c.header)
			}
		}
	}
	if n := len(recordsNamed(t, s, key, goals, "Latin")); n != 1 {
		t.Errorf("%d records were created", n)
	}
}

// recordsNamed returns the records of a list that have the given name.
func recordsNamed(t *testing.T, s *apitest.Service, key, list, name string) (found []map[string]any) {
	t.Helper()
	for _, record := range s.Send(t, key, "GET", list, "").Items(t) {
		if record["name"] == name {
			found = append(found, record)
		}
	}
	return found
}

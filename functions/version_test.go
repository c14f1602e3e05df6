package functions_test

import (
	"crypto/rand"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"growthworkspace/functions"
	"growthworkspace/shared/api"
	"growthworkspace/shared/apitest"
	"growthworkspace/shared/auth"
	"growthworkspace/shared/auth/keys"
	"growthworkspace/shared/mcpserver"
	"growthworkspace/shared/service"
	"growthworkspace/shared/version"
)

const (
	older = "2025-02-03"
	newer = api.CurrentVersion
)

// label is the history of an interface in whose first version a content type had a label, which is the name now.
var label = version.History{{Date: newer}, {
	Date: older,
	Arguments: func(operation string, text []byte) ([]byte, error) {
		return rename(operation, text, "label", "name"), nil
	},
	Answer: func(operation string, text []byte) ([]byte, error) {
		return rename(operation, text, "name", "label"), nil
	},
}}

func rename(operation string, text []byte, from, to string) []byte {
	if !strings.Contains(operation, "content_type") {
		return text
	}
	swap := strings.NewReplacer(`"`+from+`":`, `"`+to+`":`, `"`+to+`":`, `"`+from+`":`) // what this version did not know stays unknown
	return []byte(swap.Replace(string(text)))
}

// versioned is the service in two versions of its interface, over HTTP and as tools.
func versioned(t *testing.T) *apitest.Service {
	t.Helper()
	s := start(t, nil)
	c := service.Config(s.Table, slog.New(slog.DiscardHandler))
	c.Versions = label
	overHTTP, tools := api.New(functions.Operations(s.Table), c), mcpserver.New(functions.Operations(s.Table), c)
	s.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == mcpserver.Path {
			tools.ServeHTTP(w, r)
			return
		}
		overHTTP.ServeHTTP(w, r)
	})
	return s
}

func keyOf(t *testing.T, s *apitest.Service, date string) string {
	t.Helper()
	_, secret, err := s.Keys.Issue(t.Context(), s.CompanyID, keys.Grant{Name: date, Scopes: auth.Scopes(), APIVersion: date}, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return secret
}

// Ensure a caller keeps the shape of the version that it is pinned to, by its key or by a header, in what it sends and in
// what it gets; and that everybody is told which version is current, and which one was served when it is another
// (spec.md, Versioning; decisions.md §10).
func TestPinnedCallers(t *testing.T) {
	t.Parallel()
	s := versioned(t)
	for _, tt := range []struct{ name, key, header, served string }{
		{"new key", newer, "", newer},
		{"old key", older, "", older},
		{"new key, pinned", newer, older, older},
		{"old key, moved on", older, newer, newer},
	} {
		t.Run(tt.name, func(t *testing.T) {
			key := keyOf(t, s, tt.key)
			mine, other := "name", "label"
			if tt.served == older {
				mine, other = other, mine
			}
			var header []string
			if tt.header != "" {
				header = []string{"Service-Version", tt.header}
			}
			check := func(what string, r apitest.Response, value string) {
				t.Helper()
				if r.Status != http.StatusOK || !strings.Contains(r.Body, `"`+mine+`":"`+value+`"`) || strings.Contains(r.Body, `"`+other+`":`) {
					t.Errorf("%s: %d %s", what, r.Status, r.Body)
				}
				want := ""
				if tt.served != newer {
					want = tt.served
				}
				if r.Header.Get("Service-Version") != newer || r.Header.Get("Service-Version-Served") != want {
					t.Errorf("%s: Service-Version %q, served %q", what, r.Header.Get("Service-Version"), r.Header.Get("Service-Version-Served"))
				}
			}
			const path = "/v1/companies/{companyId}/context/content-types"
			body := `{"` + mine + `":"` + tt.name + `","active":true}`
			once := append([]string{"Idempotency-Key", "k"}, header...)
			created := s.Send(t, key, "POST", path, body, once...)
			check("create", created, tt.name)
			check("replay", s.Send(t, key, "POST", path, body, once...), tt.name)
			typeID, _ := created.JSON(t)["id"].(string)
			check("update", s.Send(t, key, "PATCH", path+"/"+typeID, `{"`+mine+`":"other"}`, header...), "other")
			check("list", s.Send(t, key, "GET", path, "", header...), "other")
			for _, bad := range []string{`{"` + other + `":"x","active":true}`, `{"` + mine + `":7,"active":true}`, `{"active":`} {
				if r := s.Send(t, key, "POST", path, bad, header...); r.Status != http.StatusBadRequest {
					t.Errorf("%s: %d %s", bad, r.Status, r.Body)
				}
			}
			tool := message(t, s, key, "tools/call", map[string]any{"name": "service_create_context_content_type", "arguments": map[string]any{mine: "by a tool", "active": true}}, header...)
			check("tool", tool, "by a tool")
		})
	}
}

// Ensure a version that is not served is refused with those that are, also when only the key says it.
func TestVersionsThatAreNotServed(t *testing.T) {
	t.Parallel()
	s := versioned(t)
	retired := keyOf(t, s, "2021-01-01")
	for name, r := range map[string]apitest.Response{
		"header":       s.Send(t, keyOf(t, s, newer), "GET", "/v1/companies/{companyId}", "", "Service-Version", "2021-01-01"),
		"key":          s.Send(t, retired, "GET", "/v1/companies/{companyId}", ""),
		"key, a write": s.Send(t, retired, "PATCH", "/v1/companies/{companyId}", `{"summary":"x"}`),
	} {
		code, messages := r.Messages(t)
		if r.Status != http.StatusBadRequest || code != "bad_request" || !strings.Contains(messages[0], newer+", "+older) {
			t.Errorf("%s: %d %s", name, r.Status, r.Body)
		}
	}
	if r := s.Send(t, retired, "GET", "/v1/companies/{companyId}", "", "Service-Version", older); r.Status != http.StatusOK {
		t.Errorf("a header moves the key on: %d %s", r.Status, r.Body)
	}
	if r := s.Send(t, retired, "GET", "/v1/companies/{companyId}", "", "Service-Version", newer); r.JSON(t)["summary"] == "x" {
		t.Error("a refused update was made")
	}
}

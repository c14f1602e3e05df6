package studio_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"growthworkspace/scripts/studio/localauth"
	"growthworkspace/shared/scalar"
)

// callOf sends a request as the page of the reference does. The header overrides what the page
// sends; an empty value leaves a header out.
func (s *testStudio) callOf(t *testing.T, method, path, body string, header map[string]string) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, s.base+strings.TrimSuffix(localauth.CallPath, "/")+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{"Origin": s.base, "Sec-Fetch-Site": "same-origin", localauth.CallHeader: s.server.Guard.FormToken(), "Content-Type": "application/json"} {
		r.Header.Set(name, value)
	}
	for name, value := range header {
		if r.Header.Set(name, value); value == "" {
			r.Header.Del(name)
		}
	}
	response, err := s.browser.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	return response, read(t, response)
}

// Ensure the page has its own policy, Scalar's script and the service's document, and no key.
func TestReferencePage(t *testing.T) {
	t.Parallel()
	w := newTestStudio(t)
	r, err := w.browser.Get(w.base + "/reference")
	if err != nil {
		t.Fatal(err)
	}
	body := read(t, r)
	checkContains(t, "page", body, `data-form="`+w.server.Guard.FormToken()+`"`, `data-base="https://api.example"`, `data-company="`+w.CompanyID+`"`)
	checkNotContains(t, "page", body, w.key)
	if got := r.Header.Get("Content-Security-Policy"); got != scalar.Policy {
		t.Errorf("the policy is %q", got)
	}
	if status, script := w.get(t, "/static/"+scalar.Digest+"/scalar.js"); status != http.StatusOK || script != string(scalar.Script()) {
		t.Errorf("script: status %d with %d bytes", status, len(script))
	}
	document, err := os.ReadFile("../../functions/openapi/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	if _, got := w.get(t, "/reference/openapi.json"); got != string(document) {
		t.Errorf("the document has %d bytes, want the %d of the service", len(got), len(document))
	}
	w.transport.respondWith(func(r *http.Request) *http.Response {
		if r.Header.Get("Authorization") != "" {
			t.Error("the document is requested with the key")
		}
		w := httptest.NewRecorder()
		w.WriteHeader(http.StatusServiceUnavailable)
		return w.Result()
	})
	if status, got := w.get(t, "/reference/openapi.json"); status != http.StatusBadGateway || !strings.Contains(got, "503") {
		t.Errorf("without the document: status %d, want 502: %s", status, got)
	}
}

// Ensure the page can send any method with a body and the headers of the API, and reads the
// service's status, headers and body, also of an error. The service must receive no other header of
// the browser, and the response must not be cached.
func TestReferenceCalls(t *testing.T) {
	t.Parallel()
	w := newTestStudio(t)
	types := "/v1/companies/" + w.CompanyID + "/context/content-types"
	once := map[string]string{"Idempotency-Key": "once"}
	created, body := w.callOf(t, "POST", types, `{"name": "Field's story", "active": true}`, once)
	checkContains(t, "created", body, `Field's story`)
	again, _ := w.callOf(t, "POST", types, `{"name": "Field's story", "active": true}`, once)
	if again.Header.Get("Idempotent-Replayed") == "" || created.Header.Get("Cache-Control") != "no-store" || created.Header.Get("Content-Type") != "application/json" {
		t.Errorf("headers %v and %v", created.Header, again.Header)
	}
	var record struct{ ID string }
	if err := json.Unmarshal([]byte(body), &record); err != nil {
		t.Fatal(err)
	}
	one := types + "/" + record.ID
	var received http.Header
	w.transport.respondWith(func(r *http.Request) *http.Response { received = r.Header.Clone(); return nil })
	got, _ := w.callOf(t, "GET", one, "", map[string]string{"X-Other": "1", "Authorization": "Bearer other", "Accept": "text/html"})
	for name := range received {
		switch name {
		case "Accept", "Authorization", "User-Agent", "Service-Version":
		default:
			t.Errorf("the service receives the header %s", name)
		}
	}
	if received.Get("Authorization") != "Bearer "+w.key || received.Get("Accept") != "application/json" {
		t.Error("the service does not receive the studio's own headers")
	}
	match := map[string]string{"If-Match": got.Header.Get("ETag")}
	for _, want := range []int{http.StatusOK, http.StatusPreconditionFailed} {
		if r, body := w.callOf(t, "PATCH", one, `{"name": "Other"}`, match); r.StatusCode != want {
			t.Errorf("change: status %d, want %d: %s", r.StatusCode, want, body)
		}
	}
	if _, list := w.callOf(t, "GET", types+"?limit=1", "", nil); !strings.Contains(list, `"Other"`) {
		t.Error("the list is", list)
	}
	for _, want := range []int{http.StatusOK, http.StatusNotFound} {
		if r, body := w.callOf(t, "DELETE", one, "", nil); r.StatusCode != want {
			t.Errorf("delete: status %d, want %d: %s", r.StatusCode, want, body)
		}
	}
}

// Ensure a request that the page has not sent is refused, whatever its method, and does not reach
// the service.
func TestReferenceRefusesOthers(t *testing.T) {
	t.Parallel()
	w := newTestStudio(t)
	w.transport.respondWith(func(r *http.Request) *http.Response { t.Error("sent:", r.Method, r.URL); return nil })
	for name, header := range map[string]map[string]string{
		"no token":       {localauth.CallHeader: ""},
		"an old token":   {localauth.CallHeader: "old"},
		"another site":   {"Sec-Fetch-Site": "cross-site"},
		"another port":   {"Sec-Fetch-Site": "same-site"},
		"an address":     {"Sec-Fetch-Site": "none"},
		"another origin": {"Origin": "http://127.0.0.1:9"},
		"no origin":      {"Origin": "null"},
	} {
		for _, method := range []string{"GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"} {
			if r, body := w.callOf(t, method, "/v1/companies", "", header); r.StatusCode != http.StatusForbidden {
				t.Errorf("%s of %s: status %d, want 403: %s", method, name, r.StatusCode, body)
			}
		}
	}
	w.browser.Jar = nil
	if r, _ := w.callOf(t, "GET", "/v1/companies", "", nil); r.StatusCode != http.StatusForbidden {
		t.Errorf("without the cookie: status %d, want 403", r.StatusCode)
	}
}

// Ensure no response contains the secret of a key: operations that return one are not sent, and a
// key in any other response is left out.
func TestReferenceSecrets(t *testing.T) {
	t.Parallel()
	w := newTestStudio(t)
	text, err := os.ReadFile("../../functions/openapi/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	var document struct {
		Paths map[string]map[string]struct {
			OperationID string
			Responses   map[string]json.RawMessage
		}
		Components struct{ Schemas map[string]json.RawMessage }
	}
	if err := json.Unmarshal(text, &document); err != nil {
		t.Fatal(err)
	}
	w.transport.respondWith(func(r *http.Request) *http.Response { t.Error("sent:", r.Method, r.URL); return nil })
	refused := 0
	for path, operations := range document.Paths {
		for method, o := range operations {
			success := string(o.Responses["200"])
			if _, name, found := strings.Cut(success, "#/components/schemas/"); found {
				name, _, _ = strings.Cut(name, `"`)
				success += string(document.Components.Schemas[name])
			}
			if !strings.Contains(success, `"secret":`) {
				continue
			}
			refused++
			for _, end := range []string{"", "/", "?a=b"} {
				if r, body := w.callOf(t, strings.ToUpper(method), path+end, `{}`, nil); r.StatusCode != http.StatusForbidden || !strings.Contains(body, "page Keys") {
					t.Errorf("%s%s: status %d, want 403: %s", o.OperationID, end, r.StatusCode, body)
				}
			}
		}
	}
	if refused != 2 {
		t.Errorf("%d operations return a secret, want 2: create_key and rotate_key", refused)
	}
	other := "sk_live_" + strings.Repeat("a", 76)
	w.transport.respondWith(func(*http.Request) *http.Response {
		recorder := httptest.NewRecorder()
		recorder.Header().Set("ETag", other)
		recorder.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(recorder, `<p>own: `+w.key+`, other: `+other+`, prefix: sk_live_3fK9wB2nZ6qT`)
		return recorder.Result()
	})
	r, body := w.callOf(t, "GET", "/v1/companies", "", nil)
	if body != `<p>own: sk_live_…, other: sk_live_…, prefix: sk_live_3fK9wB2nZ6qT` || r.Header.Get("ETag") != "sk_live_…" {
		t.Errorf("the body is %s, the headers %v", body, r.Header)
	}
	if got := r.Header.Get("Content-Type"); got != "text/plain; charset=utf-8" {
		t.Errorf("the browser would take the response for %s", got)
	}
}

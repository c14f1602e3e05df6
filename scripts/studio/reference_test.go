package studio_test

import (
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"

	"growthworkspace/scripts/workspace/demo"
	"growthworkspace/scripts/workspace/demo/demotest"
	"growthworkspace/shared/auth"
)

// token returns the form token.
func (w *testStudio) token(t *testing.T) string {
	t.Helper()
	return fields(t, w.page(t, "/reference/create_context_goal"), "try").Get("form")
}

// stub makes the service return the given response to every request except those for its document.
func (w *testStudio) stub(status int, header http.Header, body string) {
	w.transport.respondWith(func(r *http.Request) *http.Response {
		if r.URL.Path == "/openapi.json" {
			return nil
		}
		recorder := httptest.NewRecorder()
		for name := range header {
			recorder.Header().Set(name, header.Get(name))
		}
		recorder.WriteHeader(status)
		_, _ = recorder.WriteString(body)
		return recorder.Result()
	})
}

// Ensure the index links to every operation of the document. The page of each operation must have a
// form that names every parameter, and a label for every field. The page must be smaller than the
// limit.
func TestReferencePages(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../functions/openapi/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	var document struct {
		Paths map[string]map[string]struct {
			OperationID string
			Parameters  []struct{ Name, In string }
		}
	}
	if err := json.Unmarshal(text, &document); err != nil {
		t.Fatal(err)
	}
	w := newTestStudio(t)
	index := w.page(t, "/reference", "Every operation of the service", "Roadmap")
	named := regexp.MustCompile(`<(?:input|select|textarea)[^>]* id="([^"]*)"`)
	for path, operations := range document.Paths {
		for method, o := range operations {
			if !strings.Contains(index, `href="/reference/`+o.OperationID+`"`) {
				t.Errorf("the index lacks %s", o.OperationID)
			}
			body := w.page(t, "/reference/"+o.OperationID, strings.ToUpper(method), path)
			if len(body) > bytesMax {
				t.Errorf("%s: %d bytes, at most %d", o.OperationID, len(body), bytesMax)
			}
			checkNotContains(t, o.OperationID, body, w.key)
			if strings.Contains(body, "Not available here") {
				continue
			}
			for _, p := range o.Parameters {
				if p.Name != "" && !strings.Contains(body, ` name="`+p.In+"."+p.Name+`"`) {
					t.Errorf("%s: no field for %s", o.OperationID, p.Name)
				}
			}
			for _, m := range named.FindAllStringSubmatch(body, -1) {
				if !strings.Contains(body, `<label for="`+m[1]+`"`) || strings.Count(body, ` id="`+m[1]+`"`) != 1 {
					t.Errorf("%s: the field %s lacks a label, or its id is not unique", o.OperationID, m[1])
				}
			}
		}
	}
	if status, _ := w.get(t, "/reference/none"); status != http.StatusNotFound {
		t.Errorf("status %d, want 404", status)
	}
}

// Ensure opening an address can send a read request, and the page shows the status, headers and
// body of the answer. Links in the answer must lead to the next page and to a record, and the
// record's page must link to a form that changes the record.
func TestReferenceRead(t *testing.T) {
	t.Parallel()
	w := newTestStudio(t)
	for n := range 3 {
		demotest.Load(t, w.Service, demo.Line{Type: "content-type", Record: demo.Record{"id": fmt.Sprintf("cty_%d", n), "name": fmt.Sprintf("Type <%d>", n)}})
	}
	body := w.page(t, "/reference/list_context_content_types?send=1&query.limit=2", "200 OK", "RateLimit-Remaining", "Service-Request-Id", `"id": "cty_0"`, "content-types?limit=2", "Bearer $WORKSPACE_KEY")
	checkNotContains(t, "list", body, w.key)
	next := address(t, body, "Next page")
	checkContains(t, "next", w.page(t, next), `"id": "cty_2"`)
	record := w.page(t, address(t, body, "<code>cty_1</code>"), "Type <1>", "ETag")
	w.page(t, address(t, record, "Update a content type"), `value="cty_1"`, `name="header.If-Match" value="`)
}

// Ensure users need not copy ids by hand. A form must offer the ids of the company's records, and
// an answer must link each record to the operations that take its id.
func TestReferenceIDs(t *testing.T) {
	t.Parallel()
	w := newTestStudio(t)
	form := fields(t, w.page(t, "/reference/create_plan_board"), "try")
	form.Set("body", `{"name": "Public <roadmap>"}`)
	_, created := w.submit(t, "/reference/create_plan_board", form)
	checkContains(t, "created", created, "Records of this response", "Public <roadmap>", "Use this id in…")
	board := regexp.MustCompile(`brd_[0-9a-z]{26}`).FindString(created)
	item := address(t, created, "Create an item on a board")
	checkContains(t, "the link", w.page(t, item), `<option value="`+board+`" selected>Public <roadmap> · `+board)
	checkContains(t, "the form", w.page(t, "/reference/create_plan_item"), "Choose…", `<option value="`+board+`">Public <roadmap> · `+board)
	form = fields(t, w.page(t, item), "try")
	form.Set("path.boardId", board)
	form.Set("body", `{"title": "Offline search"}`)
	_, created = w.submit(t, "/reference/create_plan_item", form)
	checkContains(t, "item", created, "200 OK", "Offline search")
	w.page(t, address(t, created, "Update an item"), `value="itm_`)
	list := w.page(t, address(t, w.page(t, "/reference/list_plan_boards?send=1"), "List the items of a board"), "Offline search") // the link sends the read
	w.page(t, address(t, list, "Update an item"), "<option value=\"itm_", " selected>Offline search · itm_")
	w.page(t, "/reference/get_plan_board?send=1&path.boardId="+board, "Create an item on a board")
}

// address returns the address of the link that contains text.
func address(t *testing.T, body, text string) string {
	t.Helper()
	for _, m := range regexp.MustCompile(`<a [^>]*href="([^"]*)"[^>]*>(.*?)</a>`).FindAllStringSubmatch(body, -1) {
		if m[2] == text {
			path, _, _ := strings.Cut(html.UnescapeString(m[1]), "#")
			return path
		}
	}
	t.Fatalf("no link %s in: %s", text, visibleText(body))
	return ""
}

// Ensure a write needs the form token and the method POST. The write is sent once for each
// idempotency key, with the body and headers that the user entered. The response must be shown even
// if the service refuses the write.
func TestReferenceWrite(t *testing.T) {
	t.Parallel()
	w := newTestStudio(t)
	count := func() int {
		return len(w.Send(t, w.key, "GET", "/v1/companies/{companyId}/context/content-types", "").Items(t))
	}
	const path = "/reference/create_context_content_type"
	form := url.Values{"body": {"{\r\n\"name\": \"Field's story\", \"active\": true}"}, "header.Idempotency-Key": {"once"}}
	if status, _ := w.submit(t, path, form); status != http.StatusForbidden {
		t.Errorf("without the token: status %d, want 403", status)
	}
	w.page(t, path+"?send=1&"+form.Encode())
	if n := count(); n != 0 {
		t.Fatalf("%d records were created without the token", n)
	}
	form.Set("form", w.token(t))
	_, first := w.submit(t, path, form)
	checkContains(t, "first", first, "200 OK", `"name": "Field's story"`, `Field'\''s story`, "-X POST", "Idempotency-Key: once")
	_, again := w.submit(t, path, form)
	checkContains(t, "again", again, "Idempotent-Replayed")
	if n := count(); n != 1 {
		t.Errorf("%d records, want 1", n)
	}
	checkNotContains(t, "the form after it", first, `value="once"`)
	form.Set("body", `{"name": 1}`)
	form.Set("header.Idempotency-Key", "other")
	status, refused := w.submit(t, path, form)
	checkContains(t, "refused", refused, "400 Bad Request", "body.name")
	if status != http.StatusOK {
		t.Errorf("status %d, want 200", status)
	}
}

// Ensure a change is sent with an If-Match header, and a delete asks for confirmation once.
func TestReferenceDelete(t *testing.T) {
	t.Parallel()
	w := newTestStudio(t)
	demotest.Load(t, w.Service, demo.Line{Type: "content-type", Record: demo.Record{"id": "cty_a", "name": "Type a"}})
	page := w.page(t, "/reference/get_context_content_type?send=1&path.contentTypeId=cty_a")
	tag := regexp.MustCompile(`header\.If-Match=([^&]*)`).FindStringSubmatch(html.UnescapeString(page))
	if tag == nil {
		t.Fatal("no link with the entity tag: ", visibleText(page))
	}
	etag, err := url.QueryUnescape(tag[1])
	if err != nil {
		t.Fatal(err)
	}
	form := url.Values{"form": {w.token(t)}, "path.contentTypeId": {"cty_a"}, "header.If-Match": {etag}, "body": {`{"name": "Type b"}`}}
	_, changed := w.submit(t, "/reference/update_context_content_type", form)
	checkContains(t, "changed", changed, "200 OK", "Type b", "If-Match: "+etag)
	_, stale := w.submit(t, "/reference/update_context_content_type", form)
	checkContains(t, "stale", stale, "412 Precondition Failed")
	form.Del("header.If-Match")
	_, asked := w.submit(t, "/reference/delete_context_content_type", form)
	checkContains(t, "asked", asked, "Delete this record?", "/context/content-types/cty_a")
	if status := w.Send(t, w.key, "GET", "/v1/companies/{companyId}/context/content-types/cty_a", "").Status; status != http.StatusOK {
		t.Fatalf("status %d after the question, want 200", status)
	}
	_, deleted := w.submit(t, "/reference/delete_context_content_type", fields(t, asked, "confirm"))
	checkContains(t, "deleted", deleted, "200 OK")
	if status := w.Send(t, w.key, "GET", "/v1/companies/{companyId}/context/content-types/cty_a", "").Status; status != http.StatusNotFound {
		t.Errorf("status %d after the delete, want 404", status)
	}
	status, missing := w.submit(t, "/reference/delete_context_content_type", url.Values{"form": {form.Get("form")}, "path.contentTypeId": {".."}})
	checkContains(t, "missing", missing, "must be an id")
	if status != http.StatusBadRequest {
		t.Errorf("status %d, want 400", status)
	}
}

// Ensure no answer shows a secret key: operations that return one are not sent, and a key in any
// other answer is left out.
func TestReferenceSecrets(t *testing.T) {
	t.Parallel()
	w := newTestStudio(t)
	token := w.token(t)
	for _, op := range []string{"create_key", "rotate_key"} {
		_, body := w.submit(t, "/reference/"+op, url.Values{"form": {token}, "path.keyId": {"key_a"}, "body": {`{"name": "a", "scopes": ["plan:read"]}`}})
		checkContains(t, op, body, "Not available here")
	}
	if n := len(w.Send(t, w.key, "GET", "/v1/companies/{companyId}/keys", "").Items(t)); n != 1 {
		t.Errorf("%d keys, want 1", n)
	}
	other := "sk_live_" + strings.Repeat("a", 76)
	w.stub(http.StatusOK, http.Header{"Etag": {other}}, `{"own": "`+w.key+`", "other": "`+other+`", "prefix": "sk_live_3fK9wB2nZ6qT"}`)
	body := w.page(t, "/reference/get_company?send=1", `"other": "sk_live_…"`, "sk_live_3fK9wB2nZ6qT")
	checkNotContains(t, "answer", body, w.key, other)
}

// Ensure a large answer is truncated, hostile text is escaped, and an answer that is not JSON is
// shown.
func TestReferenceAnswers(t *testing.T) {
	t.Parallel()
	w := newTestStudio(t)
	w.stub(http.StatusOK, nil, `{"text": "`+strings.Repeat(`<b>&`, 50_000)+`"}`)
	body := w.page(t, "/reference/get_company?send=1", "The body is truncated")
	if len(body) > bytesMax || strings.Contains(body, "<b>&") {
		t.Errorf("%d bytes, at most %d; or markup is not escaped", len(body), bytesMax)
	}
	w.stub(http.StatusBadGateway, nil, "<html>no</html>\xff")
	checkContains(t, "not JSON", w.page(t, "/reference/get_company?send=1"), "502 Bad Gateway", "<html>no</html>")
	w.transport.respondWith(func(r *http.Request) *http.Response {
		w := httptest.NewRecorder()
		w.WriteHeader(http.StatusNotFound)
		return w.Result()
	})
	checkContains(t, "kept", w.page(t, "/reference"), "Every operation") // the studio has cached the document
	fresh := startStudio(t, w.Service, w.key, nil)
	fresh.transport.respondWith(func(r *http.Request) *http.Response {
		if r.URL.Path != "/openapi.json" {
			return nil
		}
		if r.Header.Get("Authorization") != "" {
			t.Error("the document is requested with the key")
		}
		w := httptest.NewRecorder()
		w.WriteHeader(http.StatusServiceUnavailable)
		return w.Result()
	})
	for _, path := range []string{"/reference", "/reference/get_company"} {
		if status, body := fresh.get(t, path); status != http.StatusBadGateway || !strings.Contains(visibleText(body), "503") {
			t.Errorf("%s: status %d, want 502: %s", path, status, visibleText(body))
		}
	}
}

// Ensure a user whose key lacks the scope of an operation sees a warning and the service's answer.
func TestReferenceScopes(t *testing.T) {
	t.Parallel()
	w := newTestStudio(t, auth.CompanyRead)
	checkContains(t, "list", w.page(t, "/reference/list_plan_boards?send=1"), "lacks the scope plan:read", "401 Unauthorized")
}

package apitest

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"growthworkspace/shared/api"
	"growthworkspace/shared/schema"
)

// Response is an HTTP response. Its methods decode the body.
type Response struct {
	Status int
	Header http.Header
	Body   string
}

// Decode decodes the body into v.
func (r Response) Decode(t *testing.T, v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(r.Body), v); err != nil {
		t.Fatalf("%v in %s", err, r.Body)
	}
}

// JSON returns the body as a decoded object.
func (r Response) JSON(t *testing.T) map[string]any {
	t.Helper()
	var v map[string]any
	r.Decode(t, &v)
	return v
}

// Items returns the items of a list.
func (r Response) Items(t *testing.T) []map[string]any {
	t.Helper()
	var v struct{ Items []map[string]any }
	if r.Status != http.StatusOK {
		t.Fatalf("%d %s", r.Status, r.Body)
	}
	r.Decode(t, &v)
	return v.Items
}

// Messages returns the code and the messages of an error.
func (r Response) Messages(t *testing.T) (code string, messages []string) {
	t.Helper()
	var v struct {
		Errors []struct{ Code, Message string }
	}
	r.Decode(t, &v)
	for _, e := range v.Errors {
		code = e.Code
		messages = append(messages, e.Message)
	}
	return code, messages
}

// Send sends a request with a key. It replaces {companyId} in target with the id of the test's
// company. header contains alternating names and values.
func (s *Service) Send(t *testing.T, key, method, target, body string, header ...string) Response {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, strings.ReplaceAll(target, "{companyId}", s.CompanyID), bytes.NewBufferString(body))
	if key != "" {
		r.Header.Set("Authorization", "Bearer "+key)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	return s.Do(r)
}

// Do sends the request r unchanged.
func (s *Service) Do(r *http.Request) Response {
	w := httptest.NewRecorder()
	s.Handler.ServeHTTP(w, r)
	return Response{w.Code, w.Header(), w.Body.String()}
}

// Call calls an operation by its id. arguments is a flat object, like the arguments of a tool; Call
// puts each argument into the path, query, header or body.
func (s *Service) Call(t *testing.T, key, operation string, arguments map[string]any) Response {
	t.Helper()
	op := s.operation(t, operation)
	target, query, body, header := op.Path, url.Values{}, map[string]any{}, []string{}
	for name, value := range arguments {
		text, isText := value.(string)
		if !isText {
			encoded, err := json.Marshal(value)
			if err != nil {
				t.Fatal(err)
			}
			text = string(encoded)
		}
		switch argumentPlace(op, name) {
		case schema.InPath:
			target = strings.ReplaceAll(target, "{"+name+"}", url.PathEscape(text))
		case schema.InQuery:
			query.Set(name, text)
		case schema.InHeader:
			header = append(header, name, text)
		case schema.InBody:
			body[name] = value
		}
	}
	if len(query) > 0 {
		target += "?" + query.Encode()
	}
	text := ""
	if op.Method == http.MethodPost || op.Method == http.MethodPatch {
		encoded, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		text = string(encoded)
	}
	return s.Send(t, key, op.Method, target, text, header...)
}

func (s *Service) operation(t *testing.T, name string) api.Operation {
	t.Helper()
	for _, op := range s.operations {
		if op.ID == name {
			return op
		}
	}
	t.Fatalf("no operation %s", name)
	return api.Operation{}
}

// argumentPlace returns where in a request an argument belongs. An unknown argument belongs in the
// query of a GET or DELETE, and otherwise in the body.
func argumentPlace(op api.Operation, name string) schema.Place {
	for _, f := range op.Input {
		if f.Name == name {
			return f.In
		}
	}
	if op.Method == http.MethodGet || op.Method == http.MethodDelete {
		return schema.InQuery
	}
	return schema.InBody
}

func equalJSON(got, want any) bool {
	a, err1 := json.Marshal(got)
	b, err2 := json.Marshal(want)
	return err1 == nil && err2 == nil && bytes.Equal(a, b)
}

// NextCursor returns the cursor of a list's next page.
func (r Response) NextCursor(t *testing.T) (cursor string, more bool) {
	t.Helper()
	link := r.Header.Get("Link")
	if link == "" {
		if r.Header.Get("Service-Has-More") != "false" {
			t.Errorf("Service-Has-More is %q without a Link", r.Header.Get("Service-Has-More"))
		}
		return "", false
	}
	target, rest, _ := strings.Cut(strings.TrimPrefix(link, "<"), ">")
	u, err := url.Parse(target)
	if err != nil || rest != `; rel="next"` || !u.IsAbs() || r.Header.Get("Service-Has-More") != "true" {
		t.Errorf("Link is %q, Service-Has-More %q: %v", link, r.Header.Get("Service-Has-More"), err)
		return "", false
	}
	return u.Query().Get("cursor"), true
}

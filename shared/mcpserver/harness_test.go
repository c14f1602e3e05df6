package mcpserver_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"growthworkspace/shared/api"
	"growthworkspace/shared/auth"
	"growthworkspace/shared/fault"
	"growthworkspace/shared/id"
	"growthworkspace/shared/mcpserver"
	"growthworkspace/shared/table"
)

// fakeKeys implements api.Keys with results that a test sets, and records its calls.
type fakeKeys struct {
	mu     sync.Mutex
	err    error
	quota  auth.QuotaState // returned by Admit together with err
	scopes []auth.Scope
	calls  []string

	errAfter int // err is returned only after this many admissions
}

var fullQuota = auth.QuotaState{Quota: 600, Remaining: 599, Reset: 1}

func (k *fakeKeys) Admit(_ context.Context, _ auth.Token, scopes []auth.Scope, class auth.Class) (auth.Admission, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	call := "admit " + string(class) + " "
	if len(scopes) > 0 {
		call += string(scopes[0])
	}
	k.calls = append(k.calls, call)
	if k.errAfter--; k.err != nil && k.errAfter < 0 {
		return auth.Admission{Quota: k.quota}, k.err
	}
	if len(scopes) > 0 && !slices.ContainsFunc(scopes, func(s auth.Scope) bool { return slices.Contains(k.scopes, s) }) {
		return auth.Admission{Quota: fullQuota}, auth.NewMissingScopeError(scopes[0])
	}
	return auth.Admission{Quota: fullQuota, Scopes: k.scopes}, nil
}

func (k *fakeKeys) Verify(context.Context, auth.Token, []auth.Scope, auth.Class) (auth.QuotaState, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.calls = append(k.calls, "verify")
	if k.err != nil && fault.PublicError(k.err).Code == fault.RateLimited {
		return fullQuota, nil
	}
	if k.err != nil {
		return auth.QuotaState{}, k.err
	}
	return fullQuota, nil
}

// takeCalls returns the calls since the last takeCalls.
func (k *fakeKeys) takeCalls() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	out := strings.Join(k.calls, ", ")
	k.calls = nil
	return out
}

type record struct {
	ID   string `json:"id"`
	Text string `json:"text"`
	tag  string
}

func (r record) ETag() string { return r.tag }

type getInput struct {
	ItemID string `path:"itemId"`
}

type listInput struct {
	Limit  int64      `query:"limit" default:"50" min:"1" max:"200"`
	Kind   *string    `query:"kind"`
	State  *string    `query:"state"`
	Cursor api.Cursor `query:"cursor"`
}

type createInput struct {
	Text     string     `json:"text" max:"1000000"`
	IfMatch  *string    `header:"If-Match"`
	Count    *int64     `json:"count"`
	Active   *bool      `json:"active"`
	Reviewed *yesNoEnum `json:"reviewed"`
	Parts    []part     `json:"parts" items:"3"`
}

type part struct {
	Size float64 `json:"size"`
}

type yesNoEnum string

func (yesNoEnum) Values() []string { return []string{"true", "false"} }

// awkwardText contains every character that JSON encoders may write in different ways.
const awkwardText = "<b>&amp; \"quoted\" \\u003c \u2028 é 🙂 \t </b>"

func operations() []api.Operation {
	const path = "/v1/companies/{companyId}/items"
	return []api.Operation{
		api.ExplainEmpty(api.Define(api.Spec{ID: "list_items", Noun: api.Noun{Name: "item"}, Method: "GET", Path: path, Scope: auth.PlanRead, Summary: "List items"},
			func(_ context.Context, _ api.Caller, in listInput) (api.List[record], error) {
				if in.Kind != nil {
					return api.List[record]{}, nil
				}
				if in.State != nil && *in.State == "large" {
					return largeItems(in), nil
				}
				if in.State != nil && *in.State == "rare" && in.Cursor == "" { // a filter has dropped all records that were read
					return api.NewList(table.Page[record]{Next: "itm_1"}), nil
				}
				if in.Cursor == "" {
					return api.NewList(table.Page[record]{Records: []record{{ID: "itm_1", Text: awkwardText}}, Next: "itm_1"}), nil
				}
				if in.State != nil && *in.State == "gone" { // the other records were deleted after the first page
					return api.List[record]{}, nil
				}
				return api.NewList(table.Page[record]{Records: []record{{ID: "itm_2"}}}), nil
			}), func(_ context.Context, _ api.Caller, in listInput) (string, error) {
			switch *in.Kind {
			case "tipp":
				return "No kind tipp; did you mean tip?", nil
			case "fails":
				return "", errors.New("planted")
			}
			return "", nil
		}),
		api.Define(api.Spec{ID: "get_item", Noun: api.Noun{Name: "item"}, Method: "GET", Path: path + "/{itemId}", Scope: auth.PlanRead, Summary: "Get an item"},
			func(ctx context.Context, _ api.Caller, in getInput) (record, error) {
				switch in.ItemID {
				case "itm_slow":
					<-ctx.Done()
					return record{}, ctx.Err()
				case "itm_panic":
					panic("planted")
				case "itm_large":
					return record{ID: in.ItemID, Text: strings.Repeat("x", 600<<10)}, nil
				case "itm_quotes": // each quotation mark takes two bytes in the result's text, and four in the message
					return record{ID: in.ItemID, Text: strings.Repeat(`"`, 17_000)}, nil
				case "itm_gone":
					return record{}, fault.ErrNotFound
				}
				return record{in.ItemID, awkwardText, "v1"}, nil
			}),
		api.Define(api.Spec{ID: "create_item", Noun: api.Noun{Name: "item"}, Method: "POST", Path: path, Scope: auth.PlanWrite, Effect: api.Create, Summary: "Create an item", Description: "It is new"},
			func(ctx context.Context, _ api.Caller, in createInput) (record, error) {
				if in.IfMatch != nil {
					return record{}, fault.New(fault.PreconditionFailed, "header.If-Match: is stale")
				}
				if in.Count != nil {
					in.Text = fmt.Sprintln(*in.Count, *in.Active, *in.Reviewed, in.Parts[0].Size)
				}
				return record{ID: "itm_3", Text: in.Text}, table.New(table.Options{}).BatchDelete(ctx, nil)
			}),
		api.Define(api.Spec{ID: "delete_item", Noun: api.Noun{Name: "item"}, Method: "DELETE", Path: path + "/{itemId}", Scope: auth.PlanWrite, Effect: api.Destructive, Summary: "Delete an item"},
			func(ctx context.Context, _ api.Caller, in getInput) (api.Deleted, error) {
				return api.Deleted{ID: in.ItemID, Deleted: true}, table.New(table.Options{}).BatchDelete(ctx, nil)
			}),
		api.Define(api.Spec{ID: "get_self", Method: "GET", Path: "/v1/self", Summary: "Get without a scope"},
			func(context.Context, api.Caller, struct{}) (record, error) { return record{ID: "self"}, nil }),
	}
}

// largeItems returns a page of a list that contains twelve items of 9 KB each. The position after n
// items is a string of n characters.
func largeItems(in listInput) api.List[record] {
	first := len(in.Cursor)
	page := table.Page[record]{PositionAfter: func(n int) string { return strings.Repeat("x", first+n+1) }}
	for n := first; n < min(12, first+int(in.Limit)); n++ {
		page.Records = append(page.Records, record{ID: fmt.Sprintf("itm_%d", n), Text: strings.Repeat("x", 9000)})
	}
	if last := len(page.Records) - 1; first+last < 11 {
		page.Next = page.PositionAfter(last)
	}
	return api.NewList(page)
}

// service is a server with a few operations, and a key that its fakeKeys accepts.
type service struct {
	t    testing.TB
	keys *fakeKeys
	http http.Handler
	key  string
}

func start(t testing.TB) *service {
	t.Helper()
	next := id.NewGenerator(time.Now, rand.Reader)
	key, err := auth.Mint(next(id.CompanyPrefix), next(id.KeyPrefix), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	s := &service{t: t, key: key, keys: &fakeKeys{scopes: auth.Scopes()}}
	s.http = mcpserver.New(operations(), api.Config{Keys: s.keys, Now: time.Now, NewID: next, Log: slog.New(slog.DiscardHandler), Timeout: time.Minute})
	return s
}

type httpResponse struct {
	status int
	header http.Header
	body   string
}

// request returns a valid request, which a test can change.
func (s *service) request(body string) *http.Request {
	r := httptest.NewRequestWithContext(s.t.Context(), http.MethodPost, "http://api.test/mcp", strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+s.key)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	return r
}

func (s *service) do(r *http.Request) httpResponse {
	w := httptest.NewRecorder()
	s.http.ServeHTTP(w, r)
	out := w.Result()
	body, err := io.ReadAll(out.Body)
	if err != nil {
		s.t.Error(err)
	}
	return httpResponse{out.StatusCode, out.Header, string(body)}
}

// post sends a body. header contains alternating names and values.
func (s *service) post(body string, header ...string) httpResponse {
	r := s.request(body)
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	return s.do(r)
}

func rpcRequest(method, params string) string {
	if params != "" {
		params = `,"params":` + params
	}
	return `{"jsonrpc":"2.0","id":1,"method":"` + method + `"` + params + `}`
}

func toolCallRequest(tool, arguments string) string {
	return rpcRequest("tools/call", `{"name":"service_`+tool+`","arguments":`+arguments+`}`)
}

type response struct {
	ID     json.RawMessage
	Error  *struct{ Code int64 }
	Result struct {
		IsError           bool
		Content           []struct{ Text string }
		StructuredContent json.RawMessage
		Meta              map[string]any `json:"_meta"`
		Tools             []struct{ Name string }
	}
}

func (h httpResponse) decode(t testing.TB) response {
	t.Helper()
	var out response
	if err := json.Unmarshal([]byte(h.body), &out); err != nil {
		t.Fatalf("status %d with a body that is no JSON: %s: %v", h.status, h.body, err)
	}
	return out
}

// texts returns the text blocks in a tool's result.
func (r response) texts() (out []string) {
	for _, c := range r.Result.Content {
		out = append(out, c.Text)
	}
	return out
}

// requireToolError checks that a tool's result is an error with the code in want, and returns the
// result's texts.
func (h httpResponse) requireToolError(t *testing.T, name, want string) (texts []string) {
	t.Helper()
	r := h.decode(t)
	if texts = r.texts(); h.status != 200 || !r.Result.IsError || len(texts) == 0 {
		t.Fatalf("%.60s: status %d, want 200 and an error of the tool: %.300s", name, h.status, h.body)
	}
	if got := code(texts[0]); got != want {
		t.Errorf("%.60s: code %q, want %s: %.300s", name, got, want, h.body)
	}
	return texts
}

// messages returns the messages in an envelope.
func messages(text string) (out []string) {
	var v struct {
		Errors []struct{ Message string }
	}
	if json.Unmarshal([]byte(text), &v) == nil {
		for _, e := range v.Errors {
			out = append(out, e.Message)
		}
	}
	return out
}

// code returns the code in an envelope, or "" if text is not an envelope.
func code(text string) string {
	var v struct {
		Errors []struct{ Code, Message string }
	}
	if json.Unmarshal([]byte(text), &v) != nil || len(v.Errors) == 0 || v.Errors[0].Message == "" {
		return ""
	}
	return v.Errors[0].Code
}

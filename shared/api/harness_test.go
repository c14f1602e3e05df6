package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"math/rand"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"growthworkspace/shared/api"
	"growthworkspace/shared/auth"
	"growthworkspace/shared/fault"
	"growthworkspace/shared/id"
	"growthworkspace/shared/table"
)

// fakeKeys implements api.Keys with results that a test sets.
type fakeKeys struct {
	mu          sync.Mutex
	err         error
	state       auth.QuotaState
	unblock     <-chan struct{} // Admit waits until this channel is closed
	calls       []string
	scopes      []auth.Scope
	class       auth.Class
	shouldPanic bool
	version     string
}

func (k *fakeKeys) Admit(ctx context.Context, _ auth.Token, scopes []auth.Scope, class auth.Class) (auth.Admission, error) {
	k.mu.Lock()
	k.calls = append(k.calls, "admit")
	k.scopes, k.class = scopes, class
	hold, admission, err := k.unblock, auth.Admission{Quota: k.state, APIVersion: k.version}, k.err
	k.mu.Unlock()
	if k.shouldPanic {
		panic("planted in admit")
	}
	if hold != nil {
		select {
		case <-hold:
		case <-ctx.Done():
			return admission, ctx.Err()
		}
	}
	if code := fault.PublicError(err).Code; err != nil && code != fault.RateLimited && !errors.Is(err, errMissingScope) {
		admission = auth.Admission{} // Admit returns no admission for an invalid key
	}
	return admission, err
}

func (k *fakeKeys) Verify(_ context.Context, _ auth.Token, scopes []auth.Scope, _ auth.Class) (auth.QuotaState, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.calls = append(k.calls, "verify")
	err := k.err
	if fault.PublicError(err).Code == fault.RateLimited || scopes == nil && errors.Is(err, errMissingScope) {
		err = nil // Verify does not charge the quota, so it never returns these errors
	}
	if err != nil && !errors.Is(err, errMissingScope) {
		return auth.QuotaState{}, err
	}
	return k.state, err
}

// errMissingScope is the error for a valid key that lacks the scope.
var errMissingScope = auth.NewMissingScopeError(auth.PlanWrite)

// waitForPermit waits until the request is permitted to write, as the methods of a store do. It
// deletes an empty batch, which sends no request to the table.
func waitForPermit(ctx context.Context) error {
	return table.New(table.Options{}).BatchDelete(ctx, nil)
}

type stageEnum string

func (stageEnum) Values() []string { return []string{"draft", "live"} }

type record struct {
	ID   string `json:"id"`
	Text string `json:"text"`
	tag  string
}

func (r record) ETag() string { return r.tag }

type listInput struct {
	BoardID string     `path:"boardId"`
	Limit   int64      `query:"limit" default:"50" min:"1" max:"200"`
	Stage   *stageEnum `query:"stage"`
	Since   *string    `query:"since" format:"day"`
	Cursor  api.Cursor `query:"cursor"`
}

type getInput struct {
	ItemID string `path:"itemId"`
}

type createInput struct {
	BoardID string   `path:"boardId"`
	Title   string   `json:"title" min:"1" max:"300000"`
	Tags    []string `json:"tags" items:"5" each:"20"`
	Match   *string  `header:"If-Match"`
}

// service is an API with a few operations whose functions a test can replace.
type service struct {
	config    api.Config
	t         *testing.T
	api       *api.API
	keys      *fakeKeys
	key       string
	companyID string
	logs      *lockedBuffer

	get     func(ctx context.Context, caller api.Caller, in getInput) (any, error)
	create  func(ctx context.Context, caller api.Caller, in createInput) (record, error)
	list    func(ctx context.Context, caller api.Caller, in listInput) (api.List[record], error)
	baseURL func(*http.Request) string
}

type lockedBuffer struct {
	mu sync.Mutex
	bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Buffer.Write(p)
}

var now = time.Date(2026, 8, 11, 9, 30, 0, 0, time.UTC)

func clock() time.Time { return now }

func start(t *testing.T) *service {
	t.Helper()
	newID := id.NewGenerator(clock, rand.New(rand.NewSource(1)))
	company := newID(id.CompanyPrefix)
	secret, err := auth.Mint(company, newID(id.KeyPrefix), rand.New(rand.NewSource(2)))
	if err != nil {
		t.Fatal(err)
	}
	s := &service{
		t: t, key: secret, companyID: company, logs: &lockedBuffer{},
		keys: &fakeKeys{state: auth.QuotaState{Quota: 600, Remaining: 599, Reset: 1}},
		get: func(_ context.Context, _ api.Caller, in getInput) (any, error) {
			return record{ID: in.ItemID, Text: "<a&b>"}, nil
		},
		create: func(_ context.Context, _ api.Caller, in createInput) (record, error) {
			return record{ID: "itm_new", Text: in.Title}, nil
		},
		list:    func(context.Context, api.Caller, listInput) (api.List[record], error) { return api.List[record]{}, nil },
		baseURL: func(*http.Request) string { return "https://api.example.com/prod" },
	}
	s.config = api.Config{
		Keys: s.keys, Now: clock, NewID: newID, Log: slog.New(slog.NewJSONHandler(s.logs, nil)),
		BaseURL: func(r *http.Request) string { return s.baseURL(r) },
	}
	s.api = api.New(s.operations(), s.config)
	return s
}

const sharedRoot = "/v1/companies/{companyId}"

func (s *service) operations() []api.Operation {
	return []api.Operation{
		api.Define(api.Spec{ID: "list_things", Method: "GET", Path: "/v1/companies", Summary: "s"}, func(context.Context, api.Caller, struct{}) (api.List[record], error) { return api.List[record]{}, nil }),
		api.Define(api.Spec{ID: "list_items", Method: "GET", Path: sharedRoot + "/boards/{boardId}/items", Scope: auth.PlanRead, Summary: "s"}, func(ctx context.Context, c api.Caller, in listInput) (api.List[record], error) {
			return s.list(ctx, c, in)
		}),
		api.Define(api.Spec{ID: "list_other", Method: "GET", Path: sharedRoot + "/boards/{boardId}/other", Scope: auth.PlanRead, Summary: "s"}, func(ctx context.Context, c api.Caller, in listInput) (api.List[record], error) {
			return s.list(ctx, c, in)
		}),
		api.Define(api.Spec{ID: "create_item", Noun: api.Noun{Name: "item"}, Method: "POST", Path: sharedRoot + "/boards/{boardId}/items", Scope: auth.PlanWrite, Effect: api.Create, Summary: "s"}, func(ctx context.Context, c api.Caller, in createInput) (record, error) { return s.create(ctx, c, in) }),
		api.Define(api.Spec{ID: "get_current", Method: "GET", Path: sharedRoot + "/items/current", Summary: "s"}, func(context.Context, api.Caller, struct{}) (record, error) { return record{ID: "current"}, nil }),
		api.Define(api.Spec{ID: "get_item", Noun: api.Noun{Name: "item"}, Method: "GET", Path: sharedRoot + "/items/{itemId}", Scope: auth.PlanRead, Summary: "s"}, func(ctx context.Context, c api.Caller, in getInput) (any, error) { return s.get(ctx, c, in) }),
		api.Define(api.Spec{ID: "delete_item", Noun: api.Noun{Name: "item"}, Method: "DELETE", Path: sharedRoot + "/items/{itemId}", Scope: auth.PlanWrite, Effect: api.Destructive, Summary: "s"}, func(_ context.Context, _ api.Caller, in getInput) (api.Deleted, error) {
			return api.Deleted{ID: in.ItemID, Deleted: true}, nil
		}),
		api.Define(api.Spec{ID: "publish_board", Method: "POST", Path: sharedRoot + "/boards/{boardId}/publish", Scope: auth.PlanPublish, Effect: api.Destructive, Class: auth.ClassPublish, Summary: "s"}, func(context.Context, api.Caller, struct {
			BoardID string `path:"boardId"`
		}) (record, error) {
			return record{}, nil
		}),
	}
}

// request returns a request that succeeds unless an option makes it invalid.
func (s *service) request(method, target, body string, options ...func(*http.Request)) *http.Request {
	s.t.Helper()
	r := httptest.NewRequestWithContext(s.t.Context(), method, strings.ReplaceAll(target, "{companyId}", s.companyID), strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+s.key)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for _, option := range options {
		option(r)
	}
	return r
}

func header(name string, values ...string) func(*http.Request) {
	return func(r *http.Request) { r.Header[http.CanonicalHeaderKey(name)] = values }
}

type httpResponse struct {
	*httptest.ResponseRecorder
	code     string
	messages []string
}

// requestIDPattern matches a request id in the format of API Gateway's extended request ids.
var requestIDPattern = regexp.MustCompile(`^[A-Za-z0-9_-]{15}=$`)

func (s *service) do(r *http.Request) httpResponse {
	s.t.Helper()
	a := httpResponse{ResponseRecorder: httptest.NewRecorder()}
	s.api.ServeHTTP(a, r)
	h := a.Header()
	requestLine := r.Method + " " + r.URL.String()
	requireHeaders(s.t, requestLine, h, map[string]string{"Service-Version": "2026-08-11", "Cache-Control": "no-store", "Content-Type": "application/json"})
	if !requestIDPattern.MatchString(h.Get("Service-Request-Id")) || h.Get("Content-Length") == "" {
		s.t.Errorf("%s: Service-Request-Id %q, Content-Length %q; want both", requestLine, h.Get("Service-Request-Id"), h.Get("Content-Length"))
	}
	if a.Code >= 400 && r.Method != http.MethodHead {
		a.code, a.messages = s.checkEnvelope(a.Body.Bytes(), a.Code)
	}
	return a
}

// requireHeaders compares the headers in want with the headers of a response. The value "" means
// that the header must not be set.
func requireHeaders(t *testing.T, what string, h http.Header, want map[string]string) {
	t.Helper()
	got := map[string]string{}
	for name := range want {
		got[name] = h.Get(name)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s: headers (-want +got):\n%s", what, diff)
	}
}

// checkEnvelope checks that a body is an object whose only property is errors, and that each entry
// in errors has exactly a code and a message.
func (s *service) checkEnvelope(body []byte, status int) (code string, messages []string) {
	s.t.Helper()
	var v map[string][]map[string]string
	if err := json.Unmarshal(body, &v); err != nil || len(v) != 1 || len(v["errors"]) == 0 {
		s.t.Fatalf("not an envelope: %s", body)
	}
	for _, e := range v["errors"] {
		if len(e) != 2 || e["code"] == "" || e["message"] == "" {
			s.t.Errorf("status %d with the entry %v, want a code and a message", status, e)
		}
		if got := fault.Code(e["code"]).Status(); got != status {
			s.t.Errorf("status %d with the code %q of status %d", status, e["code"], got)
		}
		code, messages = e["code"], append(messages, e["message"])
	}
	return code, messages
}

func (s *service) requireError(r *http.Request, status int, message string) httpResponse {
	s.t.Helper()
	a := s.do(r)
	if a.Code != status || !strings.Contains(strings.Join(a.messages, "\n"), message) {
		s.t.Errorf("%s %s: %d %s, want %d with %q", r.Method, r.URL, a.Code, a.Body, status, message)
	}
	return a
}

const (
	itemPath    = sharedRoot + "/items/itm_1"
	itemsPath   = sharedRoot + "/boards/brd_1/items"
	publishPath = sharedRoot + "/boards/brd_1/publish"
)

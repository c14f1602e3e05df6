package functions_test

import (
	"bytes"
	"crypto/rand"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"growthworkspace/functions"
	"growthworkspace/shared/api"
	"growthworkspace/shared/auth"
	"growthworkspace/shared/id"
	"growthworkspace/shared/keys"
	"growthworkspace/shared/schema"
	"growthworkspace/shared/testkit/apitest"
)

// callRecorder is a transport that records table calls, so that a test can check what a request
// did.
type callRecorder struct {
	mu    sync.Mutex
	calls []string // the DynamoDB operation and the request body
}

func (r *callRecorder) RoundTrip(request *http.Request) (*http.Response, error) {
	_, name, _ := strings.Cut(request.Header.Get("X-Amz-Target"), ".")
	body, err := io.ReadAll(request.Body)
	if err != nil {
		return nil, err
	}
	request.Body = io.NopCloser(bytes.NewReader(body))
	r.mu.Lock()
	r.calls = append(r.calls, name+" "+string(body))
	r.mu.Unlock()
	return apitest.Transport.RoundTrip(request)
}

// writes returns those of the recorded calls that write anything other than a key's rate limit, and
// the number of all calls.
func (r *callRecorder) writes() (writes []string, calls int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, call := range r.calls {
		name, body, _ := strings.Cut(call, " ")
		admission := name == "UpdateItem" && strings.Contains(body, "#keys")
		if name != "GetItem" && name != "TransactGetItems" && name != "BatchGetItem" && name != "Query" && !admission {
			writes = append(writes, call)
		}
	}
	return writes, len(r.calls)
}

func (r *callRecorder) reset() { r.take() }

// take returns the calls since the last call of take or reset.
func (r *callRecorder) take() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	calls := r.calls
	r.calls = nil
	return calls
}

// testRequest is an HTTP request that succeeds on the fixture unless a requestFault is applied to
// it.
type testRequest struct {
	method, path, query, body, key string
	header                         http.Header
}

func newTestRequest(t *testing.T, s *apitest.Service, op api.Operation, key string) testRequest {
	t.Helper()
	r := testRequest{method: op.Method, path: strings.ReplaceAll(op.Path, "{companyId}", s.CompanyID), key: key, header: http.Header{}}
	query, body := url.Values{}, map[string]any{}
	for name, value := range fixtureArguments[op.ID] {
		for _, f := range op.Input {
			switch {
			case f.Name != name:
			case f.In == schema.InPath:
				r.path = strings.ReplaceAll(r.path, "{"+name+"}", value.(string))
			case f.In == schema.InQuery:
				query.Set(name, value.(string))
			case f.In == schema.InBody:
				body[name] = value
			}
		}
	}
	r.query = query.Encode()
	if len(body) > 0 {
		text := marshal(t, body)
		r.body = string(text)
		r.header.Set("Content-Type", "application/json")
	}
	return r
}

func (r testRequest) send(t *testing.T, s *apitest.Service) apitest.Response {
	t.Helper()
	target := r.path
	if r.query != "" {
		target += "?" + r.query
	}
	request, err := http.NewRequestWithContext(t.Context(), r.method, "http://api.test"+target, strings.NewReader(r.body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header = r.header.Clone()
	if r.key != "" {
		request.Header.Set("Authorization", "Bearer "+r.key)
	}
	return s.Do(request)
}

func hasBody(op api.Operation) bool {
	return slices.ContainsFunc(op.Input, func(f schema.Field) bool { return f.In == schema.InBody })
}

// containedScopes lists the scopes that each scope contains. It is written by hand.
var containedScopes = map[auth.Scope][]auth.Scope{
	"feedback:write": {"feedback:draft", "feedback:read"}, "feedback:draft": {"feedback:read"},
	"broadcast:write": {"broadcast:draft", "broadcast:read"}, "broadcast:draft": {"broadcast:read"},
}

// admits reports whether a key with only this scope may call an operation, even if only to save
// drafts.
func admits(scope auth.Scope, op api.Operation) bool {
	return slices.ContainsFunc(append(containedScopes[scope], scope), func(s auth.Scope) bool { return s == op.Scope || s == op.DraftScope })
}

// otherScopes returns the scopes with which a key may not call an operation.
func otherScopes(op api.Operation) []auth.Scope {
	return slices.DeleteFunc(auth.Scopes(), func(s auth.Scope) bool { return admits(s, op) })
}

// issueKey issues a key with all scopes, unless the grant names some.
func issueKey(t *testing.T, s *apitest.Service, grant keys.Grant) (keyID, secret string) {
	t.Helper()
	if grant.Scopes == nil {
		grant.Scopes = auth.Scopes()
	}
	key, secret, err := s.Keys.Issue(t.Context(), s.CompanyID, grant, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key.ID, secret
}

// invalidKeys returns keys of the company that do not work.
func invalidKeys(t *testing.T, s *apitest.Service) (unknown, revoked, expired string) {
	t.Helper()
	revokedID, revoked := issueKey(t, s, keys.Grant{})
	_, err := s.Keys.Revoke(t.Context(), s.CompanyID, revokedID)
	if err == nil {
		unknown, err = auth.Mint(s.CompanyID, s.Table.NewID(id.KeyPrefix), rand.Reader)
	}
	if err != nil {
		t.Fatal(err)
	}
	_, expired = issueKey(t, s, keys.Grant{ExpiresAt: s.Clock.Now()})
	return unknown, revoked, expired
}

// requestFault is one way to make a request fail, with the expected response. Its function `apply`
// returns false if the fault is not possible for an operation.
type requestFault struct {
	name    string
	status  int
	code    string
	message string
	noCalls bool // the request must be rejected without any table call
	apply   func(r *testRequest, op api.Operation) bool
}

// Ensure every operation rejects every requestFault with the expected status and code, in the error
// envelope, and changes nothing.
func TestStatusMatrix(t *testing.T) {
	t.Parallel()
	apitest.SkipIfShort(t)
	calls := &callRecorder{}
	s := start(t, calls)
	good := s.IssueKey(t)
	unknown, revoked, expired := invalidKeys(t, s)
	// The test advances the clock by hours, which refills the buckets, so useUp must run again
	// before each request.
	useUp := func(secret string, class auth.Class) {
		token, err := auth.Parse(secret)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if _, err = s.Keys.Admit(t.Context(), token, nil, class); err != nil {
				return
			}
		}
		t.Fatal("a quota of 1 admits twice")
	}
	limitedID, limited := issueKey(t, s, keys.Grant{})
	for _, class := range auth.Classes() {
		if _, err := s.Keys.SetQuota(t.Context(), s.CompanyID, limitedID, class, 1); err != nil {
			t.Fatal(err)
		}
	}
	frozenID, frozen := issueKey(t, s, keys.Grant{})
	for _, class := range auth.Classes() {
		if _, err := s.Keys.SetQuota(t.Context(), s.CompanyID, frozenID, class, 0); err != nil {
			t.Fatal(err)
		}
	}
	keyLackingScopes := map[string]string{}
	for _, op := range functions.Operations(nil) {
		if scopes := scopeNotation(op); keyLackingScopes[scopes] == "" {
			_, keyLackingScopes[scopes] = issueKey(t, s, keys.Grant{Scopes: otherScopes(op)})
		}
	}
	suspended := start(t, nil)
	suspendedKey := suspended.IssueKey(t)
	if _, err := suspended.Keys.Suspend(t.Context(), suspended.CompanyID); err != nil {
		t.Fatal(err)
	}
	otherCompany := s.Table.NewID(id.CompanyPrefix)

	withKey := func(key string) func(*testRequest, api.Operation) bool {
		return func(r *testRequest, _ api.Operation) bool { r.key = key; return true }
	}
	withBody := func(text string) func(*testRequest, api.Operation) bool {
		return func(r *testRequest, op api.Operation) bool {
			r.body = text
			r.header.Set("Content-Type", "application/json")
			return hasBody(op)
		}
	}
	withQuery := func(text string) func(*testRequest, api.Operation) bool {
		return func(r *testRequest, _ api.Operation) bool { r.query = text; return true }
	}
	faults := []requestFault{
		{"no key", 401, "unauthorised", "", true, withKey("")},
		{"publishable key", 401, "unauthorised", "publishable", true, withKey("pk_live_" + good[8:])},
		{"key with a typo", 401, "unauthorised", "", true, withKey(good[:20] + otherLetter(good[20:21]) + good[21:])},
		{"not a key", 401, "unauthorised", "", true, withKey("secret")},
		{"unknown key", 401, "unauthorised", "", false, withKey(unknown)},
		{"revoked key", 401, "unauthorised", "", false, withKey(revoked)},
		{"expired key", 401, "unauthorised", "", false, withKey(expired)},
		{"lacking scope", 401, "unauthorised", "scope", false, func(r *testRequest, op api.Operation) bool {
			r.key = keyLackingScopes[scopeNotation(op)]
			return op.Scope != ""
		}},
		{"used-up quota", 429, "rate_limited", "", false, func(r *testRequest, op api.Operation) bool {
			useUp(limited, op.Class)
			r.key = limited
			return true
		}},
		{"frozen class", 403, "forbidden", "frozen", false, withKey(frozen)},
		{"frozen class, broken JSON", 403, "forbidden", "frozen", false, func(r *testRequest, op api.Operation) bool {
			r.key = frozen
			return withBody("{")(r, op)
		}},
		{"frozen class, other company", 404, "not_found", "", false, func(r *testRequest, op api.Operation) bool {
			r.path, r.key = strings.ReplaceAll(r.path, s.CompanyID, otherCompany), frozen
			return op.HasCompanyID()
		}},
		{"other company", 404, "not_found", "", false, func(r *testRequest, op api.Operation) bool {
			r.path = strings.ReplaceAll(r.path, s.CompanyID, otherCompany)
			return op.HasCompanyID()
		}},
		{"other company, lacking scope", 404, "not_found", "", false, func(r *testRequest, op api.Operation) bool {
			r.path, r.key = strings.ReplaceAll(r.path, s.CompanyID, otherCompany), keyLackingScopes[scopeNotation(op)]
			return op.HasCompanyID() && op.Scope != ""
		}},
		{"unknown version", 400, "bad_request", "header.Service-Version", false, func(r *testRequest, _ api.Operation) bool { r.header.Set("Service-Version", "2020-01-01"); return true }},
		{"unknown parameter", 400, "bad_request", "query.nope: unknown parameter", false, withQuery("nope=1")},
		{"repeated parameter", 400, "bad_request", "query.", false, withQuery("limit=1&limit=1")},
		{"malformed query", 400, "bad_request", "query: ", false, withQuery("%zz=1")},
		{"empty cursor", 400, "bad_request", "query.cursor: ", false, func(r *testRequest, op api.Operation) bool {
			r.query = strings.TrimPrefix(r.query+"&cursor=", "&")
			return op.IsList() && slices.ContainsFunc(op.Input, func(f schema.Field) bool { return f.Name == "cursor" })
		}},
		{"If-None-Match", 400, "bad_request", "header.If-None-Match: ", false, func(r *testRequest, op api.Operation) bool {
			r.header.Set("If-None-Match", "*")
			return op.Method != http.MethodGet
		}},
		{"If-Match", 400, "bad_request", "header.If-Match: ", false, func(r *testRequest, op api.Operation) bool {
			r.header.Set("If-Match", "*")
			return op.Effect != api.Read && !honoursIfMatch(op)
		}},
		{"broken JSON", 400, "bad_request", "body: is not valid JSON", false, withBody(`{"a":`)},
		{"trailing JSON", 400, "bad_request", "body: is not valid JSON", false, withBody(`{} {}`)},
		{"an array", 400, "bad_request", "body: must be a JSON object", false, withBody(`[]`)},
		{"unknown property", 400, "bad_request", "body.nope: unknown property", false, withBody(`{"nope":1}`)},
		{"repeated property", 400, "bad_request", "body.nope: is repeated", false, withBody(`{"nope":1,"nope":1}`)},
		{"not UTF-8", 400, "bad_request", "body: is not valid UTF-8", false, withBody("{\"a\":\"\xff\"}")},
		{"no body", 400, "bad_request", "body: is required", false, func(r *testRequest, op api.Operation) bool { r.body = ""; return op.BodyRequired() }},
		{"wrong content type", 400, "bad_request", "header.Content-Type", false, func(r *testRequest, op api.Operation) bool {
			r.header.Set("Content-Type", "text/plain")
			return hasBody(op)
		}},
		{"large body", 413, "payload_too_large", "body: ", false, func(r *testRequest, op api.Operation) bool {
			return withBody(`{"a":"`+strings.Repeat("a", op.BodyLimit())+`"}`)(r, op)
		}},
		{"null", 400, "bad_request", "must not be null", false, func(r *testRequest, op api.Operation) bool {
			refused := func(f schema.Field) bool { return f.In == schema.InBody && f.Null == schema.NullRefused }
			i := slices.IndexFunc(op.Input, refused)
			if i >= 0 {
				r.body = `{"` + op.Input[i].Name + `":null}`
			}
			return i >= 0
		}},
		{"wrong case", 400, "bad_request", "did you mean", false, func(r *testRequest, op api.Operation) bool {
			for _, f := range op.Input {
				if f.In == schema.InBody {
					r.body = `{"` + strings.ToUpper(f.Name) + `":1}`
				}
			}
			return hasBody(op)
		}},
		{"wrong verb", 405, "method_not_allowed", "", true, func(r *testRequest, _ api.Operation) bool { r.method = "PUT"; return true }},
		{"OPTIONS", 405, "method_not_allowed", "", true, func(r *testRequest, _ api.Operation) bool { r.method = "OPTIONS"; return true }},
		{"trailing slash", 404, "not_found", "", true, func(r *testRequest, _ api.Operation) bool { r.path += "/"; return true }},
		{"double slash", 404, "not_found", "", true, func(r *testRequest, _ api.Operation) bool { r.path = "/" + r.path; return true }},
	}
	for _, injected := range []string{"x%2Fy", "brd_1%23x", "..%2F..", "%00", "%25", "A", "itm_" + strings.Repeat("a", 41), "%C3%A9"} {
		faults = append(faults, requestFault{"id " + injected, 404, "not_found", "", false, func(r *testRequest, op api.Operation) bool {
			parts := strings.Split(op.Path, "/")
			segments := strings.Split(r.path, "/")
			found := false
			for n, part := range parts {
				if strings.HasPrefix(part, "{") && part != "{companyId}" {
					segments[n], found = injected, true
				}
			}
			r.path = strings.Join(segments, "/")
			return found
		}})
	}
	for _, op := range functions.Operations(nil) {
		for _, f := range faults {
			r := newTestRequest(t, s, op, good)
			if !f.apply(&r, op) {
				continue
			}
			s.Clock.Advance(10 * time.Second) // so that no rate limit is reached by accident
			calls.reset()
			got := r.send(t, s)
			checkFault(t, op, f, got)
			if writes, n := calls.writes(); len(writes) > 0 || f.noCalls && n > 0 {
				t.Errorf("%s, %s: %d table calls, writes %v", op.ID, f.name, n, writes)
			}
		}
		r := newTestRequest(t, suspended, op, suspendedKey)
		checkFault(t, op, requestFault{name: "suspended", status: 403, code: "forbidden"}, r.send(t, suspended))
	}
}

func otherLetter(c string) string {
	if c == "x" {
		return "y"
	}
	return "x"
}

func checkFault(t *testing.T, op api.Operation, f requestFault, r apitest.Response) {
	t.Helper()
	if r.Status != f.status {
		t.Errorf("%s, %s: %d %s, want %d", op.ID, f.name, r.Status, r.Body, f.status)
		return
	}
	code, messages := r.Messages(t)
	if code != f.code || len(messages) == 0 || !strings.Contains(strings.Join(messages, "\n"), f.message) {
		t.Errorf("%s, %s: code %q, messages %q, want %q with %q", op.ID, f.name, code, messages, f.code, f.message)
	}
	for _, name := range []string{"Service-Version", "Service-Request-Id", "Content-Type", "Cache-Control"} {
		if r.Header.Get(name) == "" {
			t.Errorf("%s, %s: no %s", op.ID, f.name, name)
		}
	}
	for name, status := range map[string]int{"WWW-Authenticate": 401, "Allow": 405, "Retry-After": 429} {
		if (r.Header.Get(name) != "") != (f.status == status) {
			t.Errorf("%s, %s: %s is %q", op.ID, f.name, name, r.Header.Get(name))
		}
	}
}

// Ensure the Allow header lists the methods that a path accepts, and that HEAD gets the same
// response as GET, without a body.
func TestUnsupportedMethods(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	key := s.IssueKey(t)
	verbs := map[string][]string{}
	for _, op := range functions.Operations(nil) {
		verbs[op.Path] = append(verbs[op.Path], op.Method)
		if op.Method == http.MethodGet {
			verbs[op.Path] = append(verbs[op.Path], http.MethodHead)
			get := newTestRequest(t, s, op, key)
			head := get
			head.method = http.MethodHead
			a, b := get.send(t, s), head.send(t, s)
			if b.Status != 200 || b.Body != "" || a.Header.Get("Content-Length") != b.Header.Get("Content-Length") {
				t.Errorf("HEAD of %s: %d %q, lengths %s and %s", op.ID, b.Status, b.Body, a.Header.Get("Content-Length"), b.Header.Get("Content-Length"))
			}
		}
	}
	for _, op := range functions.Operations(nil) {
		r := newTestRequest(t, s, op, key)
		r.method = "TRACE"
		slices.Sort(verbs[op.Path])
		if got := r.send(t, s).Header.Get("Allow"); got != strings.Join(verbs[op.Path], ", ") {
			t.Errorf("%s: Allow is %q, want %v", op.Path, got, verbs[op.Path])
		}
	}
}

// Ensure each tool declares the effect that follows from its verb: a read changes nothing, a create
// must not be repeated, an update or a push may replace values, and a delete may destroy data.
func TestEffects(t *testing.T) {
	t.Parallel()
	effects := map[string]api.Effect{
		"list": api.Read, "get": api.Read, "preview": api.Read, "create": api.Create, "update": api.Write, "push": api.Write, "delete": api.Destructive,
	}
	for _, op := range functions.Operations(nil) {
		verb, _, _ := strings.Cut(op.ID, "_")
		if want, known := effects[verb]; known && op.Effect != want {
			t.Errorf("%s has the effect %d, want %d", op.ID, op.Effect, want)
		} else if !known && op.Effect != api.Write && op.Effect != api.Destructive {
			t.Errorf("%s has the effect %d", op.ID, op.Effect)
		}
	}
}

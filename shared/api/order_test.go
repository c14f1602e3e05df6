package api_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"growthworkspace/shared/api"
	"growthworkspace/shared/auth"
	"growthworkspace/shared/fault"
)

// Ensure checks run in the documented order: a request that fails two of them must get the error of
// the earlier check.
func TestOrderOfChecks(t *testing.T) {
	long := `{"title":"` + strings.Repeat("a", 256<<10) + `"}`
	type testCase struct {
		name, method, target, body string
		keysErr                    error
		options                    []func(*http.Request)
		createErr                  error
		status                     int
		message                    string
	}
	noKey, badVersion := header("Authorization"), header("Service-Version", "1999-01-01")
	foreignPath := "/v1/companies/co_other/boards/brd_1/items"
	errQuotaExceeded := auth.NewQuotaExceededError(auth.ClassWrite)
	for _, tt := range []testCase{
		{"route before verb", "PUT", "/v1/nothing", "", nil, nil, nil, 404, "no such path"},
		{"verb before key", "PUT", itemsPath, "", nil, []func(*http.Request){noKey}, nil, 405, "GET, HEAD, POST"},
		{"key before version", "POST", itemsPath, `{"title":"a"}`, nil, []func(*http.Request){noKey, badVersion}, nil, 401, "missing, unknown or revoked"},
		{"unknown key before version", "POST", itemsPath, `{"title":"a"}`, auth.ErrUnauthorised, []func(*http.Request){badVersion}, nil, 401, "missing, unknown or revoked"},
		{"suspended before version", "POST", itemsPath, `{"title":"a"}`, auth.ErrSuspended, []func(*http.Request){badVersion}, nil, 403, "suspended"},
		{"unknown key before company", "POST", foreignPath, `{"title":"a"}`, auth.ErrUnauthorised, nil, nil, 401, "missing"},
		{"version before company", "POST", foreignPath, `{"title":"a"}`, nil, []func(*http.Request){badVersion}, nil, 400, "header.Service-Version"},
		{"company before scope", "POST", foreignPath, `{"title":"a"}`, errMissingScope, nil, nil, 404, "no such record"},
		{"company before quota", "POST", foreignPath, `{"title":"a"}`, errQuotaExceeded, nil, nil, 404, "no such record"},
		{"scope before size", "POST", itemsPath, long, errMissingScope, nil, nil, 401, "plan:write"},
		{"scope before body", "POST", itemsPath, `{`, errMissingScope, nil, nil, 401, "plan:write"},
		{"quota before size", "POST", itemsPath, long, errQuotaExceeded, nil, nil, 429, "write"},
		{"quota before body", "POST", itemsPath, `{}`, errQuotaExceeded, nil, nil, 429, "write"},
		{"quota before query", "POST", itemsPath + "?x=1", `{"title":"a"}`, errQuotaExceeded, nil, nil, 429, "write"},
		{"quota before record", "POST", sharedRoot + "/boards/x/items", `{"title":"a"}`, errQuotaExceeded, nil, nil, 429, "write"},
		{"size before body and query", "POST", itemsPath + "?x=1", long, nil, nil, nil, 413, "262144 bytes"},
		{"body before record", "POST", sharedRoot + "/boards/x%2Fy/items", `{}`, nil, nil, nil, 400, "body.title: is required"},
		{"query before record", "POST", sharedRoot + "/boards/x/items?x=1", `{"title":"a"}`, nil, nil, nil, 400, "query.x: unknown parameter"},
		{"body before state", "POST", itemsPath, `{}`, nil, nil, fault.New(fault.Conflict, "state"), 400, "body.title"},
		{"record before state", "POST", sharedRoot + "/boards/x/items", `{"title":"a"}`, nil, nil, fault.New(fault.Conflict, "state"), 404, "no such record"},
		{"state", "POST", itemsPath, `{"title":"a"}`, nil, nil, fault.New(fault.Conflict, "state"), 409, "state"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := start(t)
			s.keys.err = tt.keysErr
			s.create = func(context.Context, api.Caller, createInput) (record, error) { return record{}, tt.createErr }
			a := s.requireError(s.request(tt.method, tt.target, tt.body, tt.options...), tt.status, tt.message)
			if got := a.Header().Get("WWW-Authenticate"); (tt.status == 401) != (got == "Bearer") {
				t.Errorf("WWW-Authenticate: %q", got)
			}
			authenticated := (tt.status != 401 || errors.Is(tt.keysErr, errMissingScope)) && tt.status != 403 && tt.status != 405 && tt.message != "no such path"
			if got := a.Header().Get("RateLimit-Limit"); (got != "") != authenticated {
				t.Errorf("RateLimit-Limit %q", got)
			}
		})
	}
}

// Ensure the error response lists all problems with the body and the query, with one entry for
// each.
func TestAllProblemsInOneResponse(t *testing.T) {
	s := start(t)
	a := s.requireError(s.request("POST", itemsPath+"?x=1&y=%zz", `{"tags":5,"Title":1}`), 400, "")
	want := "query.x: unknown parameter\nquery: y: is malformed\nbody.title: is required\nbody.tags: must be an array\nbody.Title: unknown property; did you mean title?"
	if got := strings.Join(a.messages, "\n"); got != want {
		t.Errorf("got\n%s", got)
	}
}

// Ensure that every authenticated response has the rate limit headers, and that a 429 has a
// Retry-After of at least a second.
func TestQuotaHeaders(t *testing.T) {
	s := start(t)
	for _, r := range []*http.Request{
		s.request("GET", itemPath, ""), s.request("HEAD", itemPath, ""), s.request("GET", itemPath+"?x=1", ""), s.request("GET", sharedRoot+"/items/x", ""),
		s.request("GET", "/v1/companies/co_other/items/itm_1", ""), s.request("GET", itemPath, "", header("Service-Version", "x")),
	} {
		h := s.do(r).Header()
		requireHeaders(t, r.Method+" "+r.URL.String(), h, map[string]string{
			"RateLimit-Limit": "600", "RateLimit-Remaining": "599", "RateLimit-Reset": "1", "RateLimit-Policy": `"read";q=600;w=60`, "RateLimit": `"read";r=599;t=1`, "Retry-After": "",
		})
	}
	for after, want := range map[int64]string{0: "1", 1: "1", 17: "17"} {
		s.keys.err, s.keys.state = auth.NewQuotaExceededError(auth.ClassPublish), auth.QuotaState{Quota: 10, Reset: 60, RetryAfter: after}
		a := s.requireError(s.request("POST", publishPath, ""), 429, "publish")
		requireHeaders(t, "a used up quota", a.Header(), map[string]string{"Retry-After": want, "RateLimit-Limit": "10", "RateLimit-Remaining": "0"})
		if a.code != "rate_limited" {
			t.Errorf("code %q, want rate_limited", a.code)
		}
	}
	if s.keys.class != auth.ClassPublish || !slices.Equal(s.keys.scopes, []auth.Scope{auth.PlanPublish}) {
		t.Errorf("admitted with %s in %s", s.keys.scopes, s.keys.class)
	}
}

// Ensure a malformed key is rejected, with one of two messages, without looking up any key.
func TestKeys(t *testing.T) {
	s := start(t)
	for name, values := range map[string][]string{
		"none": nil, "two": {"Bearer " + s.key, "Bearer " + s.key}, "tab": {"Bearer\t" + s.key}, "basic": {"Basic " + s.key}, "bare": {s.key}, "typo": {"Bearer " + s.key[:20] + "!" + s.key[21:]}, "comma": {"Bearer " + s.key + ", x"}, "empty": {""},
	} {
		if a := s.requireError(s.request("GET", itemPath, "", header("Authorization", values...)), 401, "missing, unknown or revoked key"); a.code != "unauthorised" || len(s.keys.calls) != 0 {
			t.Errorf("%s: code %q and calls %q, want unauthorised and none", name, a.code, s.keys.calls)
		}
	}
	s.requireError(s.request("GET", itemPath, "", header("Authorization", "Bearer pk_live_abc")), 401, "publishable")
	s.requireError(s.request("GET", itemPath, "", header("Authorization", "bearer  "+s.key+" ")), 200, "")
}

// Ensure that a missing version and the current one are accepted, and that any other is rejected
// with a message that lists the supported dates.
func TestVersion(t *testing.T) {
	s := start(t)
	s.requireError(s.request("GET", itemPath, "", header("Service-Version", "2026-08-11")), 200, "")
	for _, values := range [][]string{{"2026-08-10"}, {"2027-01-01"}, {"latest"}, {""}, {"2026-08-11", "2026-08-11"}, {"2026-08-11, 2026-08-11"}, {"2026-08-11T00:00:00Z"}} {
		a := s.requireError(s.request("GET", itemPath, "", header("Service-Version", values...)), 400, "header.Service-Version: must be a supported version: 2026-08-11")
		if a.code != "bad_request" {
			t.Errorf("%q: code %q, want bad_request", values, a.code)
		}
	}
	if s.keys.calls[len(s.keys.calls)-1] != "verify" {
		t.Error("a wrong version was counted")
	}
}

// Ensure the ETag header is sent, in quotes, if and only if the record has an entity tag.
func TestETag(t *testing.T) {
	s := start(t)
	if got := s.do(s.request("GET", itemPath, "")).Header()["Etag"]; got != nil {
		t.Errorf("ETag %v", got)
	}
	s.get = func(context.Context, api.Caller, getInput) (any, error) { return record{tag: "abc"}, nil }
	if got := s.do(s.request("GET", itemPath, "")).Header().Get("ETag"); got != `"abc"` {
		t.Errorf("ETag %s", got)
	}
}

// Ensure a GET whose If-None-Match contains the record's tag gets a 304, without a body and without
// the headers that describe a body.
func TestIfNoneMatch(t *testing.T) {
	s := start(t)
	s.get = func(context.Context, api.Caller, getInput) (any, error) { return record{tag: "abc"}, nil }
	for known, want := range map[string]int{`"x", "abc"`: 304, "*": 304, `"x"`: 200} {
		w := httptest.NewRecorder()
		s.api.ServeHTTP(w, s.request("GET", itemPath, "", header("If-None-Match", known)))
		h := w.Header()
		if w.Code != want || h.Get("ETag") != `"abc"` || want == 304 && (w.Body.Len() != 0 || h["Content-Type"] != nil || h["Content-Length"] != nil) {
			t.Errorf("If-None-Match %s: status %d, body %q, headers %v; want %d, the ETag, and with 304 nothing of a body", known, w.Code, w.Body, h, want)
		}
	}
}

// Ensure that the Caller is derived from the key, and that repeated headers are joined.
func TestCallerAndHeaders(t *testing.T) {
	s := start(t)
	var seen createInput
	var caller api.Caller
	s.create = func(_ context.Context, c api.Caller, in createInput) (record, error) {
		seen, caller = in, c
		return record{}, nil
	}
	s.requireError(s.request("POST", itemsPath, `{"title":"a"}`, header("If-Match", `"a"`, `"b"`)), 200, "")
	got := map[string]string{"If-Match": *seen.Match, "board": seen.BoardID, "company": caller.CompanyID}
	if diff := cmp.Diff(map[string]string{"If-Match": `"a", "b"`, "board": "brd_1", "company": s.companyID}, got); diff != "" {
		t.Errorf("what the function gets (-want +got):\n%s", diff)
	}
	if !strings.HasPrefix(caller.KeyID, "key_") {
		t.Errorf("the caller's key is %q, want key_ and more", caller.KeyID)
	}
	s.requireError(s.request("POST", itemsPath, `{"title":"a"}`), 200, "")
	if seen.Match != nil {
		t.Error("If-Match was not sent")
	}
	s.requireError(s.request("POST", itemsPath, `{"title":"a"}`, header("If-Match", "\xff")), 400, "header.If-Match: is not valid UTF-8")
}

// Ensure responses in a deprecated version have the deprecation headers, whether the request or the
// key pins the version.
func TestDeprecatedVersion(t *testing.T) {
	s := start(t)
	s.config.Versions = fault.SupportedVersions{{Date: fault.Version}, {Date: "2025-01-01", DeprecatedAt: now, SunsetAt: now.AddDate(2, 0, 0)}}
	s.api = api.New(s.operations(), s.config)
	deprecated := map[string]string{"Service-Version": fault.Version, "Service-Version-Served": "2025-01-01", "Deprecation": "@1786440600", "Sunset": "Fri, 11 Aug 2028 09:30:00 GMT"}
	current := map[string]string{"Service-Version": fault.Version, "Service-Version-Served": "", "Deprecation": "", "Sunset": ""}
	requireHeaders(t, "the current version", s.do(s.request("GET", itemPath, "")).Header(), current)
	requireHeaders(t, "a pinned version", s.do(s.request("GET", itemPath, "", header("Service-Version", "2025-01-01"))).Header(), deprecated)
	requireHeaders(t, "an error in a pinned version", s.do(s.request("GET", itemPath+"?x=1", "", header("Service-Version", "2025-01-01"))).Header(), deprecated)
	s.keys.version = "2025-01-01"
	requireHeaders(t, "the version of the key", s.do(s.request("GET", itemPath, "")).Header(), deprecated)
	requireHeaders(t, "a newer version than the key's", s.do(s.request("GET", itemPath, "", header("Service-Version", fault.Version))).Header(), current)
}

// Ensure a read-only API serves reads, and refuses writes with a Retry-After of 30 seconds. It must
// refuse a write after all checks of the caller and before any other check.
func TestReadOnly(t *testing.T) {
	s := start(t)
	s.config.ReadOnly = true
	s.api = api.New(s.operations(), s.config)
	s.create = func(ctx context.Context, _ api.Caller, _ createInput) (record, error) {
		return record{}, waitForPermit(ctx)
	}
	if a := s.do(s.request("GET", itemPath, "")); a.Code != http.StatusOK {
		t.Errorf("a read is %d", a.Code)
	}
	for name, r := range map[string]*http.Request{
		"create": s.request("POST", itemsPath, `{"title":"a"}`), "invalid": s.request("POST", itemsPath, `{}`),
		"delete": s.request("DELETE", itemPath, ""), "publish": s.request("POST", publishPath, ""),
	} {
		a := s.requireError(r, http.StatusServiceUnavailable, "does not accept writes at the moment")
		requireHeaders(t, name, a.Header(), map[string]string{"Retry-After": "30", "RateLimit-Limit": "600"})
	}
	s.keys.err = errMissingScope
	s.requireError(s.request("POST", itemsPath, `{"title":"a"}`), http.StatusUnauthorized, "plan:write")
}

package api_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"growthworkspace/shared/api"
	"growthworkspace/shared/table"
)

// withRawURL sets the path of a request to exactly this string, even if httptest and HTTP clients
// would reject or clean it.
func withRawURL(path string) func(*http.Request) {
	return func(r *http.Request) {
		decoded, err := url.PathUnescape(path)
		if err != nil {
			decoded = path
		}
		r.URL = &url.URL{Path: decoded, RawPath: path}
		r.RequestURI = path
	}
}

// Ensure a path either matches byte for byte or is not found. It must not be redirected, cleaned,
// or decoded before it is matched.
func TestHostilePaths(t *testing.T) {
	s := start(t)
	companyPath := "/v1/companies/" + s.companyID
	for _, path := range []string{
		"", "*", "/", "//", "/v1", "/v1/", "/v1/companies/", "//v1/companies", "/v1//companies", "/V1/companies", "/v1/Companies", "/v1/compan%69es", "/%761/companies", "/v1/companies//items/itm_1", "/v1/companies/" + s.companyID + "/items/",
		companyPath + "/items/itm_1/", companyPath + "//items/itm_1", companyPath + "/items/..", companyPath + "/items/.", companyPath + "/./items/itm_1",
		companyPath + "/items/../items/itm_1", companyPath + "/items%2Fitm_1", companyPath + "/items/itm_1%zz/x", companyPath + "/items;a/itm_1",
		"v1/companies", "/v1/companies\x00", "/v1/companies ", "/v1/companies?", "/" + strings.Repeat("a", 1<<16), strings.Repeat("/a", 1<<15), "/v1/companies%00", "/v1/companies%2F" + s.companyID,
	} {
		a := s.do(s.request("GET", "/", "", withRawURL(path)))
		if a.Code != 404 || a.messages[0] != "no such path" {
			t.Errorf("%.60q: status %d, want 404 and no such path: %s", path, a.Code, a.Body)
		}
		if allow := a.Header().Get("Allow"); allow != "" || len(s.keys.calls) > 0 {
			t.Errorf("%.60q: Allow %q and calls %q, want none", path, allow, s.keys.calls)
		}
	}
	// A path parameter matches any string. An invalid id gets the response for a record that does
	// not exist, but only after the key is verified.
	for _, segment := range []string{"a%2Fb", "itm_1%23x", "%2e%2e", "..%2f..", "%00", "itm_1%00", "%25", "ITM_1", "itm_1%20", "%C3%A9", "%ff", "itm_" + strings.Repeat("a", 41), "current2", "%zz", "itm_1%", strings.Repeat("a", 1<<15)} {
		a := s.do(s.request("GET", "/", "", withRawURL(companyPath+"/items/"+segment)))
		if a.Code != 404 || a.messages[0] != "no such record" {
			t.Errorf("%.60q: status %d, want 404 and no such record: %s", segment, a.Code, a.Body)
		}
		s.requireError(s.request("GET", "/", "", withRawURL(companyPath+"/items/"+segment), header("Authorization")), 401, "")
	}
	for _, company := range []string{"co_x%2Fy", "%00", "..%2f" + s.companyID, s.companyID + "%00", s.companyID + "%20", strings.ToUpper(s.companyID)} {
		if a := s.do(s.request("GET", "/", "", withRawURL("/v1/companies/"+company+"/items/itm_1"))); a.Code != 404 {
			t.Errorf("company %q: status %d, want 404", company, a.Code)
		}
	}
	// An id with an escaped character is still the same id, as in every URL.
	s.requireError(s.request("GET", "/", "", withRawURL(companyPath+"/items/itm%5F1")), 200, "")
}

// Ensure that an unsupported method gets a 405 even with an invalid key, and that Allow lists the
// supported methods, including HEAD wherever GET is supported.
func TestMethods(t *testing.T) {
	s := start(t)
	for path, allow := range map[string]string{"/v1/companies": "GET, HEAD", itemsPath: "GET, HEAD, POST", itemPath: "DELETE, GET, HEAD", publishPath: "POST", sharedRoot + "/items/current": "GET, HEAD"} {
		allowedMethods := append(strings.Split(allow, ", "), "")
		for _, verb := range []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "get", "PROPFIND"} {
			if slices.Contains(allowedMethods, verb) {
				continue
			}
			a := s.do(s.request(verb, path, "", header("Authorization")))
			if a.Code != 405 || a.Header().Get("Allow") != allow || (verb != "HEAD") != (a.code == "method_not_allowed") {
				t.Errorf("%s %s: %d, Allow %q, want %q", verb, path, a.Code, a.Header().Get("Allow"), allow)
			}
		}
	}
}

// Ensure a literal path segment takes precedence over a parameter.
func TestLiteralBeatsParameter(t *testing.T) {
	s := start(t)
	for path, want := range map[string]string{sharedRoot + "/items/current": `{"id":"current","text":""}`, itemPath: `{"id":"itm_1","text":"<a&b>"}`} {
		if a := s.requireError(s.request("GET", path, ""), 200, ""); a.Body.String() != want {
			t.Errorf("%s: body %s, want %s", path, a.Body, want)
		}
	}
}

// Ensure the response to HEAD has the same status and headers as the response to GET, including
// Content-Length, but no body.
func TestHead(t *testing.T) {
	s := start(t)
	s.list = func(context.Context, api.Caller, listInput) (api.List[record], error) {
		return api.NewList(table.Page[record]{Records: []record{{}}, Next: "next"}), nil
	}
	for _, target := range []string{itemPath, itemsPath, itemsPath + "?limit=0", sharedRoot + "/items/x", "/v1/nothing", "/v1/companies/co_other/items/itm_1"} {
		get, head := s.do(s.request("GET", target, "")), s.do(s.request("HEAD", target, ""))
		get.Header().Del("Service-Request-Id")
		head.Header().Del("Service-Request-Id")
		if head.Code != get.Code || head.Body.Len() != 0 || get.Body.Len() == 0 {
			t.Errorf("%s: %d and %d, %s", target, get.Code, head.Code, head.Body)
		}
		for name := range get.Header() {
			if get.Header().Get(name) != head.Header().Get(name) {
				t.Errorf("%s: %s is %q and %q", target, name, get.Header().Get(name), head.Header().Get(name))
			}
		}
	}
}

// Ensure that a body of 256 KB is accepted, and that a body that is one byte larger gets a 413.
func TestBodySize(t *testing.T) {
	s := start(t)
	body := func(size int) string { return `{"title":"` + strings.Repeat("a", size-len(`{"title":""}`)) + `"}` }
	s.requireError(s.request("POST", itemsPath, body(256<<10)), 200, "")
	for _, size := range []int{256<<10 + 1, 1 << 20} {
		if a := s.requireError(s.request("POST", itemsPath, body(size)), 413, "body: must have at most 262144 bytes"); a.code != "payload_too_large" {
			t.Errorf("a body of %d bytes: code %q, want payload_too_large", size, a.code)
		}
	}
	if a := s.requireError(s.request("POST", publishPath, strings.Repeat(" ", 256<<10+1)), 413, ""); a.code != "payload_too_large" {
		t.Errorf("a body of spaces: code %q, want payload_too_large", a.code)
	}
	withBrokenBody := func(r *http.Request) {
		r.Body = io.NopCloser(io.MultiReader(strings.NewReader(`{"title":"a"}`), failingReader{}))
	}
	s.requireError(s.request("POST", itemsPath, "x", withBrokenBody), 400, "body: could not be read completely")
}

type failingReader struct{}

func (failingReader) Read([]byte) (int, error) { return 0, errors.New("AKIAPLANTED: reset by peer") }

// Ensure a body must be a JSON object with the Content-Type application/json, with or without
// parameters. An operation without body properties must reject any that are sent, and a GET must
// ignore the body.
func TestBodies(t *testing.T) {
	s := start(t)
	for _, kind := range []string{"application/json", "application/json; charset=utf-8", "application/json;", "APPLICATION/JSON", " application/json ;a=b"} {
		s.requireError(s.request("POST", itemsPath, `{"title":"a"}`, header("Content-Type", kind)), 200, "")
	}
	for _, kinds := range [][]string{nil, {""}, {"text/json"}, {"application/json, text/plain"}, {"application/json,"}, {"application/jsonp"}, {"application/problem+json"}, {"application/x-www-form-urlencoded"}, {"multipart/form-data; application/json"}} {
		a := s.requireError(s.request("POST", itemsPath, `{"title":"a"}`, header("Content-Type", kinds...)), 400, "header.Content-Type: must be application/json")
		if len(a.messages) != 1 {
			t.Errorf("%q: messages %q, want one", kinds, a.messages)
		}
	}
	s.requireError(s.request("POST", itemsPath, ""), 400, "body: is required, a JSON object")
	s.requireError(s.request("POST", itemsPath, "", header("Content-Type", "application/json")), 400, "body: is required")
	s.requireError(s.request("POST", itemsPath, "null"), 400, "body: must be a JSON object")
	for _, ignored := range []string{`{}`, `{"itemId":"itm_2"}`, `x`, strings.Repeat("x", 256<<10+1)} {
		s.requireError(s.request("GET", itemPath, ignored), 200, "")
		s.requireError(s.request("GET", itemPath, ignored, header("Content-Type", "text/plain")), 200, "")
	}
	const gzip = "\x1f\x8b\x08\x00"
	s.requireError(s.request("POST", itemsPath, gzip, header("Content-Encoding", "gzip")), 400, "header.Content-Encoding: must be left out")
	s.requireError(s.request("POST", itemsPath, gzip), 400, "body: is not valid UTF-8")
	s.requireError(s.request("POST", itemsPath, `{"title":"a"}`, header("Content-Encoding", "gzip")), 200, "") // valid: a gateway may have decoded the body
	s.requireError(s.request("DELETE", itemPath, `[]`), 400, "body: must be a JSON object")
	s.requireError(s.request("POST", publishPath, `{"force":true}`), 400, "body.force: unknown property")
	s.requireError(s.request("POST", publishPath, ``), 200, "")
	s.requireError(s.request("POST", publishPath, `{}`), 200, "")
}

// Ensure a query is parsed strictly: every parameter that was sent is either accepted or rejected,
// never ignored.
func TestQueries(t *testing.T) {
	s := start(t)
	for query, want := range map[string]string{
		"limit=5": "", "&limit=5&&": "", "limit=%35": "", "l%69mit=5": "", "stage=live&limit=200": "", "since=2026-08-11T00:00:00%2B02:00": "",
		"limit=5&limit=5": "query.limit: is repeated", "limit=5&l%69mit=5": "query.limit: is repeated",
		"x=1": "query.x: unknown parameter", "Limit=5": "query.Limit: unknown parameter", "boardId=brd_2": "query.boardId: unknown parameter", "=5": "query.: unknown parameter", "=": "query.: unknown parameter",
		"limit=%zz": "query: limit: is malformed", "%zz=1": "query: %zz: is malformed", "limit=5;stage=live": "query: limit: is malformed", "limit=5;": "query: limit: is malformed", ";": "query: ;: is malformed", "limit=%": "query: limit: is malformed",
		"limit": "query.limit: must be a whole number, between 1 and 200", "limit=": "query.limit: must be a whole number", "limit=+5": "query.limit: must be a whole number", "limit=5%00": "query.limit: must be a whole number",
		"limit=0": "query.limit: must be between 1 and 200", "limit=201": "query.limit: must be between", "limit=1.0": "query.limit: must be a whole number", "stage=": "query.stage: must be one of draft, live",
		"since=2026-08-11T00:00:00+02:00": "query.since: must be a day", "stage=%ff": "query.stage: is not valid UTF-8", "a" + strings.Repeat("b", 9999) + "=1": "…: unknown parameter",
	} {
		status := 200
		if want != "" {
			status = 400
		}
		if a := s.requireError(s.request("GET", itemsPath+"?"+query, ""), status, want); a.Body.Len() > 500 {
			t.Errorf("%.40s: a response of %d bytes", query, a.Body.Len())
		}
	}
	many := strings.Repeat("x=1&", 20000)
	if a := s.requireError(s.request("GET", itemsPath+"?"+many, ""), 400, "has more than 5000 problems"); a.Body.Len() > 1<<20 {
		t.Errorf("a response of %d bytes", a.Body.Len())
	}
}

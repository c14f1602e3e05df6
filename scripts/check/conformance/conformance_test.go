package conformance

import (
	"bytes"
	"context"
	"crypto/rand"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"growthworkspace/functions"
	"growthworkspace/scripts/workspace/jsonl"
	"growthworkspace/shared/auth"
	"growthworkspace/shared/fault"
	"growthworkspace/shared/keys"
	"growthworkspace/shared/testkit/apitest"
)

// newService returns a service with the records of a file in its company, and a key with all scopes
// and quotas that no test uses up.
func newService(t *testing.T, records io.Reader) (s *apitest.Service, handler http.Handler, secret string) {
	t.Helper()
	s = apitest.New(t, functions.Operations)
	checked, err := jsonl.Check(t.Context(), functions.Transfers(s.Table), s.CompanyID, records, jsonl.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(checked.Close)
	if _, err := checked.Write(t.Context(), s.CompanyID, func(int) {}); err != nil {
		t.Fatal(err)
	}
	return s, functions.Handler(s.ServingTable, s.Config(slog.New(slog.DiscardHandler))), issueKey(t, s, auth.Scopes()...)
}

func issueKey(t *testing.T, s *apitest.Service, scopes ...auth.Scope) (secret string) {
	t.Helper()
	issued, secret, err := s.Keys.Issue(t.Context(), s.CompanyID, keys.Grant{Name: "check", Scopes: scopes, APIVersion: fault.Version}, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	for _, class := range auth.Classes() {
		if _, err := s.Keys.SetQuota(t.Context(), s.CompanyID, issued.ID, class, 1_000_000); err != nil {
			t.Fatal(err)
		}
	}
	return secret
}

func noWait(context.Context, time.Duration) error { return nil }

// The records of a company without any, whose records the run creates itself.
const emptyCompany = `{"type":"company","record":{"id":"co_x","name":"Check","industry":"Software"}}`

// Ensure the service follows every rule over a network, and no rule is skipped, in a company without
// records. Nothing is left behind, so a second run gives the same result.
func TestServiceConforms(t *testing.T) {
	t.Parallel()
	s, handler, secret := newService(t, strings.NewReader(emptyCompany))
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	for range 2 {
		report, err := Run(t.Context(), Options{BaseURL: server.URL, Key: secret, Write: true, Wait: noWait})
		if err != nil || report.Passed != len(rules) || report.Company != s.CompanyID {
			t.Errorf("%v\n%v", err, report)
		}
	}
	for _, list := range []string{"plan/boards", "feedback", "metrics/definitions", "broadcast/posts", "optimise/audits", "context/goals"} {
		if r := s.Send(t, secret, "GET", "/v1/companies/{companyId}/"+list, ""); r.Body != `{"items":[]}` {
			t.Errorf("left behind in %s: %s", list, r.Body)
		}
	}
	// A key that lacks a scope skips rules instead of failing them.
	report, err := Run(t.Context(), Options{BaseURL: server.URL, Key: issueKey(t, s, auth.CompanyRead), Write: true, Wait: noWait, Rules: []string{"records", "publish"}})
	if err != nil || report.Skipped != 2 || !strings.Contains(report.String(), "lacks") {
		t.Errorf("%v\n%v", err, report)
	}
}

// A breakage is what makes a service break one rule: it changes a request before the service gets
// it, or a response.
type breakage struct {
	request  func(r *http.Request)
	response func(r *http.Request, got *http.Response, body string) string
}

// brokenService is a transport to a service with a breakage.
type brokenService struct {
	handler http.Handler
	breakage
}

func (b brokenService) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Host = r.URL.Host; r.Body == nil {
		r.Body = http.NoBody
	}
	sent := r.Clone(r.Context())
	if b.request != nil {
		b.request(r)
	}
	w := httptest.NewRecorder()
	b.handler.ServeHTTP(w, r)
	got := w.Result()
	if b.response != nil {
		got.Body = io.NopCloser(strings.NewReader(b.response(sent, got, w.Body.String())))
	}
	return got, nil
}

func dropHeader(name string) breakage {
	return breakage{request: func(r *http.Request) { r.Header.Del(name) }}
}

// setHeader sets a header of responses with a status, or removes it.
func setHeader(status int, name, value string) breakage {
	return breakage{response: func(_ *http.Request, got *http.Response, body string) string {
		if got.StatusCode == status {
			got.Header.Del(name)
			if value != "" {
				got.Header.Set(name, value)
			}
		}
		return body
	}}
}

// dropQuery drops a parameter if its value matches.
func dropQuery(name, value string) breakage {
	return breakage{request: func(r *http.Request) {
		if query := r.URL.Query(); query.Has(name) && regexp.MustCompile(value).MatchString(query.Get(name)) {
			query.Del(name)
			r.URL.RawQuery = query.Encode()
		}
	}}
}

// sending replaces a text in the body of requests to paths that match.
func sending(method, path, from, to string) breakage {
	return breakage{request: func(r *http.Request) {
		if r.Method != method || !regexp.MustCompile(path).MatchString(r.URL.Path) {
			return
		}
		body, _ := io.ReadAll(r.Body) // reading the body of this test's own request cannot fail
		text := strings.Replace(string(body), from, to, 1)
		r.Body, r.ContentLength = io.NopCloser(bytes.NewBufferString(text)), int64(len(text))
	}}
}

// receiving replaces a text in the body of responses to paths that match.
func receiving(method, path, from, to string) breakage {
	return breakage{response: func(r *http.Request, _ *http.Response, body string) string {
		if r.Method == method && regexp.MustCompile(path).MatchString(r.URL.Path) {
			return strings.ReplaceAll(body, from, to)
		}
		return body
	}}
}

// status replaces the status of responses to paths that match.
func status(method, path string, code int) breakage {
	return breakage{response: func(r *http.Request, got *http.Response, body string) string {
		if r.Method == method && regexp.MustCompile(path).MatchString(r.URL.Path) {
			got.StatusCode = code
		}
		return body
	}}
}

// breakages returns services that break a rule. Each key is the rule's name, a slash and what the
// service does.
func breakages(companyID, secret string) map[string]breakage {
	authorize := func(path string) breakage {
		return breakage{request: func(r *http.Request) {
			if strings.Contains(r.URL.Path, path) {
				r.Header.Set("Authorization", "Bearer "+secret)
			}
		}}
	}
	setQuery := func(path, name, value string) breakage {
		return breakage{request: func(r *http.Request) {
			if query := r.URL.Query(); strings.HasSuffix(r.URL.Path, path) && !query.Has(name) {
				query.Set(name, value)
				r.URL.RawQuery = query.Encode()
			}
		}}
	}
	var previewed bool
	return map[string]breakage{
		"document/needs a key":             status("GET", "^/openapi.json", 401),
		"document/names another server":    receiving("GET", "^/openapi.json", `"url": "."`, `"url": "https://elsewhere.example"`),
		"document/has an unknown scope":    receiving("GET", "^/openapi.json", `"plan:publish"`, `"plan:everything"`),
		"closed-shapes/renames a property": receiving("GET", "/optimise/sites", `"siteKey"`, `"secretKey"`),
		"closed-shapes/adds a property":    receiving("GET", "/plan/boards/[^/]*$", `{"id"`, `{"owner":1,"id"`),
		"closed-shapes/changes a type":     receiving("GET", "/plan/boards$", `"active":true`, `"active":"true"`),
		"closed-shapes/counts a list":      receiving("GET", "/plan/boards$", `{"items"`, `{"total":2,"items"`),
		"closed-shapes/opens the schemas":  receiving("GET", "^/openapi.json", `"additionalProperties": false`, `"additionalProperties": true`),
		"closed-shapes/lacks a route":      status("GET", "/optimise/sites$", 404),
		"closed-shapes/returns an error":   status("GET", "/optimise/sites$", 502),
		"key/needs none":                   authorize("/v1/"),
		"key/needs none for tools":         authorize("/mcp"),
		"scopes/lets any key write a plan": authorize("/plan/boards"),
		"scopes/refuses a key":             status("GET", "/optimise/sites$", 401),
		"company/lists two":                receiving("GET", "^/v1/companies$", `]}`, `,{"id":"co_2"}]}`),
		"company/ignores the path": {request: func(r *http.Request) {
			r.URL.Path = regexp.MustCompile(`/co_[^/]*`).ReplaceAllString(r.URL.Path, "/"+companyID)
		}},
		"unknown-record/tells the company": receiving("GET", companyID+"/plan/items/", "no such record", "not yours"),
		"unknown-record/returns another": {request: func(r *http.Request) {
			r.URL.Path = strings.Replace(r.URL.Path, "_00000000000000000000000000", "_1", 1)
		}},
		"unknown-path/ignores the version":  {request: func(r *http.Request) { r.URL.Path = strings.Replace(r.URL.Path, "/v2/", "/v1/", 1) }},
		"unknown-path/is that of a gateway": status("GET", "^/v1/nope", 403),
		"methods/allows too few":            setHeader(405, "Allow", "GET"),
		"methods/is unknown":                status("PUT", "", 404),
		"limits/ignores 1":                  dropQuery("limit", "^1$"),
		"limits/ignores what is invalid":    dropQuery("limit", "^0$|-|many|[.]|[0-9]{3}"),
		"limits/has no default":             receiving("GET", "^/openapi.json", `"default": 100,`, `"default": 0,`),
		"parameters/ignores unknown ones":   dropQuery("nope", ""),
		"parameters/takes the first":        {request: func(r *http.Request) { r.URL.RawQuery = strings.Replace(r.URL.RawQuery, "&limit=1", "", 1) }},
		"parameters/fills in a metric":      setQuery("/metrics/points", "metricKey", "growth.signups"),
		"paging/has no link":                setHeader(200, "Link", ""),
		"paging/says there is no more":      setHeader(200, "Service-Has-More", "false"),
		"paging/returns the first again":    dropQuery("cursor", ""),
		"paging/links to another host":      {request: func(r *http.Request) { r.Host = "elsewhere.example" }},
		"cursors/ignores them":              dropQuery("cursor", ""),
		"cursors/ignores an empty one":      dropQuery("cursor", "^$"),
		"versions/ignores the header":       dropHeader("Service-Version"),
		"versions/cannot be pinned": {request: func(r *http.Request) {
			if r.Header.Get("Service-Version") != "" {
				r.Header.Set("Service-Version", "1999-01-01")
			}
		}},
		"head/is refused":                   status("HEAD", "", 405),
		"entity-tags/ignores If-None-Match": dropHeader("If-None-Match"),
		"entity-tags/has none":              setHeader(200, "ETag", ""),
		"tools/renames a tool":              receiving("POST", "/mcp", `"service_list_feedback"`, `"feedback"`),
		"tools/renames an argument":         receiving("POST", "/mcp", `"targetLabel":{`, `"label":{`),
		"tools/says deletes are harmless":   receiving("POST", "/mcp", `"destructiveHint":true`, `"destructiveHint":false`),
		"tools/says writes are reads":       receiving("POST", "/mcp", `"destructiveHint"`, `"readOnlyHint":true,"destructiveHint"`),
		"tools/says creates are repeatable": receiving("POST", "/mcp", `"destructiveHint":false`, `"destructiveHint":false,"idempotentHint":true`),
		"tool-results/renames a property":   receiving("POST", "/mcp", `"industry":`, `"trade":`),
		"tool-results/does not name it":     receiving("POST", "/mcp", `nope: `, `one: `),
		"tool-results/names no list":        receiving("POST", "/mcp", `service_list_`, ``),
		"records/changes a value":           sending("POST", "/items$", `"Offline search"`, `"Online search"`),
		"records/loses an update":           sending("PATCH", "/plan/items/", changedText, "Lost"),
		"records/stores no update":          receiving("GET", "/plan/items/", changedText, "Lost"),
		"records/changes without a change":  {response: touchOnEmptyUpdate},
		"records/omits a property":          receiving("POST", "/broadcast/plans$", `"cadence"`, `"rhythm"`),
		"closed-bodies/ignores the unknown": sending("POST", "/plan/boards$", `"nope":1`, `"name":"Another"`),
		"closed-bodies/accepts anything":    status("POST", "/context/goals$", 200),
		"preconditions/ignores If-Match":    dropHeader("If-Match"),
		"preconditions/keeps the tag":       {response: constantTag},
		"preconditions/refuses and does it": refuseAndDo(),
		"idempotency/ignores the key":       dropHeader("Idempotency-Key"),
		"idempotency/does not tell":         setHeader(200, "Idempotent-Replayed", ""),
		"idempotency/accepts another body":  status("POST", "/plan/boards$", 200),
		"publish/ignores If-Match":          dropHeader("If-Match"),
		"publish/shows drafts":              receiving("POST", "/publish$", `"changed":true`, `"changed":false`),
		"publish/shows visitors nothing":    receiving("GET", "/live$", `"id"`, `"key"`),
		"publish/previews another version":  receiving("POST", "/preview$", `"nextVersion":1`, `"nextVersion":2`),
		"publish/publishes by a preview": {response: func(r *http.Request, _ *http.Response, body string) string {
			if previewed = previewed || strings.HasSuffix(r.URL.Path, "/preview"); previewed && r.Method == "GET" && strings.Contains(r.URL.Path, "/boards/") {
				return strings.Replace(body, `"name":`, `"name":"P","name2":`, 1)
			}
			return body
		}},
		"deletes/does not say so":       receiving("DELETE", "", `"deleted":true`, `"deleted":false`),
		"deletes/keeps a goal":          keepGoals(),
		"envelope/has another property": receiving("GET", "^/v1", `"code"`, `"hint":"","code"`),
		"envelope/has another code":     receiving("GET", "^/v1", `"not_found"`, `"bad_request"`),
		"headers/of another version":    setHeader(404, "Service-Version", "2026-08-12"),
		"headers/that are HTML":         setHeader(404, "Content-Type", "text/html"),
		"headers/with one request id":   setHeader(200, "Service-Request-Id", "req_1"),
		"headers/that can be cached":    setHeader(200, "Cache-Control", "max-age=60"),
		"headers/without a challenge":   setHeader(401, "WWW-Authenticate", ""),
		"headers/without a wait": {response: func(r *http.Request, got *http.Response, body string) string {
			if strings.HasPrefix(r.URL.Path, "/v1/nope") {
				got.StatusCode = 429
			}
			return body
		}},
	}
}

// touchOnEmptyUpdate changes the time of an update that changes nothing.
func touchOnEmptyUpdate(r *http.Request, _ *http.Response, body string) string {
	if r.Method == "PATCH" && r.ContentLength == int64(len(`{}`)) {
		return strings.Replace(body, `"updatedAt":"2`, `"updatedAt":"3`, 1)
	}
	return body
}

func constantTag(_ *http.Request, got *http.Response, body string) string {
	if got.Header.Get("ETag") != "" {
		got.Header.Set("ETag", `"1"`)
	}
	return body
}

// refuseAndDo returns a service that refuses an old entity tag after the update.
func refuseAndDo() breakage {
	refused := `{"errors":[{"code":"precondition_failed","message":"changed"}]}`
	b := dropHeader("If-Match")
	drop := b.request
	var isOld bool
	b.request = func(r *http.Request) {
		body, _ := io.ReadAll(r.Body) // reading the body of this test's own request cannot fail
		r.Body = io.NopCloser(bytes.NewReader(body))
		if isOld = bytes.Contains(body, []byte(`"Lost"`)); isOld {
			drop(r)
		}
	}
	b.response = func(_ *http.Request, got *http.Response, body string) string {
		if isOld && got.StatusCode == 200 {
			got.StatusCode = 412
			return refused
		}
		return body
	}
	return b
}

// keepGoals returns a service that says that it has deleted a goal, and keeps it.
func keepGoals() breakage {
	const goals = "/context/goals/"
	return breakage{
		request: func(r *http.Request) {
			if r.Method == "DELETE" && strings.Contains(r.URL.Path, goals) {
				r.Method = "GET"
			}
		},
		response: func(r *http.Request, _ *http.Response, body string) string {
			if r.Method == "DELETE" && strings.Contains(r.URL.Path, goals) {
				return `{"id":"` + lastSegment(r.URL.Path) + `","deleted":true}`
			}
			return body
		},
	}
}

// Ensure each rule fails for a service that breaks it, and holds for the same service without the
// breakage.
func TestBrokenServices(t *testing.T) {
	t.Parallel()
	file, err := os.Open("../../../functions/testdata/company.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	s, handler, secret := newService(t, file)
	runRule := func(name string, b breakage) Report {
		o := Options{BaseURL: "http://api.test", Key: secret, Rules: []string{name}, Transport: brokenService{handler, b}, Wait: noWait}
		i := slices.Index(RuleNames(), name)
		if o.Write = rules[i].writes || name == "scopes" || name == "paging"; name == "envelope" || name == "headers" {
			o.Rules = append(o.Rules, "unknown-path", "key")
		}
		report, err := Run(t.Context(), o)
		if err != nil && report.Rules == nil {
			t.Errorf("%s: %v", name, err)
		}
		return report
	}
	all := breakages(s.CompanyID, secret)
	for _, name := range RuleNames() {
		if report := runRule(name, breakage{}); report.Failed > 0 || report.Skipped > 0 {
			t.Errorf("%s does not hold without a breakage:\n%v", name, report)
		}
		broken := 0
		for what, b := range all {
			if of, _, _ := strings.Cut(what, "/"); of != name {
				continue
			}
			broken++
			report := runRule(name, b)
			i := slices.IndexFunc(report.Rules, func(r Result) bool { return r.Rule == name })
			if i < 0 || report.Rules[i].Outcome != Failed || len(report.Rules[i].Problems) == 0 {
				t.Errorf("%s is not found:\n%v", what, report)
			}
		}
		if broken == 0 {
			t.Errorf("no service breaks %s", name)
		}
	}
}

// Ensure the section of every rule is a page of scripts/docs/reference and a heading on that page.
func TestSections(t *testing.T) {
	t.Parallel()
	for _, r := range rules {
		page, anchor, _ := strings.Cut(r.section, "#")
		text, err := os.ReadFile(filepath.Join("..", "..", "docs", "reference", page+".md"))
		if err != nil {
			t.Errorf("%s has no page: %v", r.name, err)
			continue
		}
		heading := "(?im)^#+ .*" + strings.ReplaceAll(regexp.QuoteMeta(anchor), "-", "[ -]") + "$"
		if !regexp.MustCompile(heading).Match(text) {
			t.Errorf("%s: %s has no such heading", r.name, r.section)
		}
	}
}

// Ensure a run of what is not this API, or with wrong options, ends with an error that says why.
func TestRunErrors(t *testing.T) {
	t.Parallel()
	_, handler, secret := newService(t, strings.NewReader(emptyCompany))
	for want, c := range map[string]struct {
		o Options
		b breakage
	}{
		`no rule "nope": the rules are document, `:                         {Options{BaseURL: "http://api.test", Key: secret, Skip: []string{"nope"}}, breakage{}},
		"the base URL must be like":                                        {Options{BaseURL: "api.test", Key: secret}, breakage{}},
		"does not list the key's company (GET /v1/companies: 401)":         {Options{BaseURL: "http://api.test", Key: secret + "0"}, breakage{}},
		"GET http://api.test/openapi.json (200) has no OpenAPI document: ": {Options{BaseURL: "http://api.test", Key: secret}, receiving("GET", "^/openapi.json", `"operationId"`, `"id"`)},
	} {
		c.o.Transport, c.o.Wait = brokenService{handler, c.b}, noWait
		if _, err := Run(t.Context(), c.o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

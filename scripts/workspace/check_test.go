package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
)

// calm raises the quotas of the server's demo key, so that no test waits.
func (s *server) calm(t *testing.T, data string) {
	t.Helper()
	items := answer(t, data, "", "key", "list", "--company", s.CompanyID)["items"].([]any)
	for _, class := range []string{"read", "write", "publish", "push"} {
		answer(t, data, "", "key", "quota", items[0].(map[string]any)["id"].(string), "--company", s.CompanyID, "--class", class, "--limit", "1000000")
	}
}

// checked calls check and returns its report.
func checked(t *testing.T, code int, args ...string) checkReport {
	t.Helper()
	r := call(t, "", append([]string{"check", "--json"}, args...)...)
	var report checkReport
	if err := json.Unmarshal([]byte(r.out), &report); err != nil || r.code != code {
		t.Errorf("%v: exit code %d, %v: %s %s", args, r.code, err, r.out, r.err)
	}
	return report
}

// private keeps a test away from the user's own settings and keys.
func private(t *testing.T) {
	t.Helper()
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	t.Setenv("XDG_DATA_HOME", t.TempDir())
	t.Setenv(keyVariable, "")
	t.Setenv(urlVariable, "")
}

// Ensure our own service keeps every rule of its contract, that the reads change nothing, and that the writes leave nothing
// behind.
func TestCheckOurselves(t *testing.T) {
	private(t)
	data := folder(t)
	s := startServer(t, data)
	s.calm(t, data)
	t.Setenv(keyVariable, s.Key)
	before := exportOf(t, data, s.CompanyID)
	for _, args := range [][]string{{s.BaseURL}, {s.BaseURL, "--write"}} {
		report := checked(t, 0, args...)
		for _, r := range report.Rules {
			needsWrite := len(args) == 1 && strings.Contains(r.Detail, "--write")
			if r.Result != passed && !needsWrite && r.Rule != ruleRetry {
				t.Errorf("%v: %+v", args, r)
			}
		}
		if report.Passed+report.Failed+report.Skipped != len(rules()) || report.Company != s.CompanyID {
			t.Errorf("%d, %d, %d of %d", report.Passed, report.Failed, report.Skipped, len(rules()))
		}
	}
	if after := exportOf(t, data, s.CompanyID); after != before {
		t.Error("the check left something behind")
	}
	r := call(t, "", "check", s.BaseURL, "--rule", "one-company", "--rule", "item-life")
	want(t, r.out, "pass  one-company", "skip  item-life", "give --write", "1 passed, 0 failed, 1 skipped")

	// A rule that the key cannot reach is skipped, with the scope that it lacks.
	t.Setenv(keyVariable, answer(t, data, "", "key", "issue", "--company", s.CompanyID, "--scopes", "company:read")["key"].(string))
	for _, r := range checked(t, 0, s.BaseURL, "--rule", "closed-filters", "--rule", "item-life", "--write").Rules {
		if r.Result != skipped || !strings.Contains(r.Detail, "lacks") {
			t.Errorf("%+v", r)
		}
	}
}

// planted is a fault: what it does to a request on its way in, and to an answer on its way out.
type planted struct {
	request  func(r *http.Request)
	response func(r *http.Response, body string) string
}

// The wrong ways of a service, each of which breaks a rule.
func faultsOf(s *server) map[string]planted {
	letIn := planted{request: func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+s.Key) }}
	var previews, ids atomic.Int64
	on := func(method, part, from, to string) planted {
		return planted{response: func(r *http.Response, body string) string {
			if r.Request.Method == method && strings.HasSuffix(r.Request.URL.Path, part) && r.StatusCode == 200 {
				return strings.Replace(body, from, to, 1)
			}
			return body
		}}
	}
	drop := func(names ...string) planted {
		return planted{request: func(r *http.Request) {
			for _, name := range names {
				r.Header.Del(name)
			}
		}}
	}
	without := func(name string, when func(string) bool) planted {
		return planted{request: func(r *http.Request) {
			query := r.URL.Query()
			if query.Has(name) && when(query.Get(name)) {
				query.Del(name)
				r.URL.RawQuery = query.Encode()
			}
		}}
	}
	sent := func(from, to string) planted {
		return planted{request: func(r *http.Request) {
			if r.Body == nil {
				return
			}
			body, _ := io.ReadAll(r.Body) // of a test
			text := strings.Replace(string(body), from, to, 1)
			r.Body, r.ContentLength = io.NopCloser(strings.NewReader(text)), int64(len(text))
			r.Header.Set("Content-Length", strconv.Itoa(len(text)))
		}}
	}
	header := func(name, value string, statuses ...int) planted {
		return planted{response: func(r *http.Response, body string) string {
			for _, status := range statuses {
				if r.StatusCode == status {
					r.Header.Set(name, value)
				}
			}
			return body
		}}
	}
	clamp := without("limit", func(v string) bool { n, err := strconv.Atoi(v); return err != nil || n < 1 || n > 50 })
	return map[string]planted{
		"one-company": {response: func(r *http.Response, body string) string {
			if r.Request.URL.Path == "/v1/companies" && r.StatusCode == 200 {
				return `{"items":[` + body[len(`{"items":[`):len(body)-2] + `,{"id":"co_2"}]}`
			}
			return body
		}},
		"list-shape":    on("GET", "/plan/boards", `{"items"`, `{"total":2,"items"`),
		"record-fields": on("GET", "/optimise/sites", `"siteKey"`, `"secretKey"`),
		"record-by-id": {response: func(r *http.Response, body string) string {
			if strings.Contains(r.Request.URL.Path, "/plan/items/") {
				return strings.Replace(body, `"title":"`, `"title":"My `, 1)
			}
			return body
		}},
		"findings-apart": on("GET", "/optimise/audits", `"summary"`, `"findings":[],"summary"`),
		"preview-is-dry": {response: func(r *http.Response, body string) string {
			if strings.HasSuffix(r.Request.URL.Path, "/publish/preview") {
				previews.Add(1)
			}
			if previews.Load() > 0 && strings.Contains(r.Request.URL.Path, "/plan/boards/") {
				return strings.Replace(body, `"publishedVersion":`, `"publishedVersion":9`, 1)
			}
			return body
		}},
		"missing-key": letIn, "unknown-key": letIn, "publishable-key": letIn, "other-scheme": letIn, "mcp-key": letIn, "write-access": letIn,
		"other-company": {request: func(r *http.Request) {
			parts := strings.Split(r.URL.Path, "/")
			if len(parts) > 3 {
				parts[3] = s.CompanyID
				r.URL.Path = strings.Join(parts, "/")
			}
		}},
		"unknown-record": {response: func(r *http.Response, body string) string {
			if r.StatusCode == 404 && strings.Contains(r.Request.URL.Path, s.CompanyID) {
				return strings.Replace(body, "no such record", "not yours", 1)
			}
			return body
		}},
		"unknown-path":     {request: func(r *http.Request) { r.URL.Path = strings.Replace(r.URL.Path, "/v2/", "/v1/", 1) }},
		"wrong-verb":       header("Allow", "GET", 405),
		"limit-honoured":   without("limit", func(v string) bool { return v == "1" }),
		"limit-default":    {request: func(r *http.Request) { more(r) }},
		"limit-bounds":     clamp,
		"limit-bounds-all": clamp,
		"closed-filters":   without("status", func(v string) bool { return v == "nope" }),
		"required-parameter": {request: func(r *http.Request) {
			if query := r.URL.Query(); strings.HasSuffix(r.URL.Path, "/metrics/points") && !query.Has("metricKey") {
				query.Set("metricKey", "growth.signups")
				r.URL.RawQuery = query.Encode()
			}
		}},
		"days":              without("to", func(v string) bool { return v == "2026-02-30" }),
		"unknown-parameter": without("nope", func(string) bool { return true }),
		"paging":            {response: func(r *http.Response, body string) string { r.Header.Del("Link"); return body }},
		"forged-cursor":     without("cursor", func(string) bool { return true }),
		"pinned-version": {request: func(r *http.Request) {
			if r.Header.Get("Service-Version") != "" {
				r.Header.Set("Service-Version", "1999-01-01")
			}
		}},
		"unknown-version": drop("Service-Version"),
		"head": {response: func(r *http.Response, body string) string {
			if r.Request.Method == http.MethodHead {
				r.StatusCode = http.StatusMethodNotAllowed
			}
			return body
		}},
		"entity-tags":   drop("If-None-Match"),
		"quota-headers": header("RateLimit-Remaining", "many", 200),
		"openapi":       on("GET", "/openapi.json", `"/v1/companies/{companyId}/plan/items/{itemId}"`, `"/x"`),
		"mcp-tools":     on("POST", "/mcp", `"service_list_feedback"`, `"feedback"`),
		"mcp-call":      on("POST", "/mcp", `"industry":`, `"industry2":`),
		"item-life":     on("POST", "/items", `"status":"draft"`, `"status":"published"`),
		"item-body":     sent(`"status":"live"`, `"status":"draft"`),
		"strict-body":   sent(`,"nope":1`, ``),
		"item-slug":     sent(`{"slug":"another"}`, `{}`),
		"empty-update": {response: func(r *http.Response, body string) string {
			if r.Request.Method == http.MethodPatch {
				return strings.Replace(body, `"updatedAt":"2`, `"updatedAt":"3`, 1)
			}
			return body
		}},
		"if-match": drop("If-Match"), "idempotency": drop("Idempotency-Key"),
		"post-life":    on("POST", "/posts", `"status":"draft"`, `"status":"scheduled"`),
		"post-body":    sent(`,"status":"published"`, ``),
		"company-body": sent(`{"stage":"unicorn"}`, `{}`),
		"large-body":   sent(strings.Repeat("x", 1000), ``),
		ruleEnvelope: {response: func(r *http.Response, body string) string {
			if r.StatusCode >= 400 {
				return strings.Replace(body, `"code"`, `"hint":"","code"`, 1)
			}
			return body
		}},
		ruleVersion:   header("Service-Version", "", 404),
		ruleJSON:      header("Content-Type", "text/html", 400),
		ruleRequestID: header("Service-Request-Id", "req_1", 200),
		ruleCache:     header("Cache-Control", "max-age=60", 200),
		ruleChallenge: {response: func(r *http.Response, body string) string { r.Header.Del("WWW-Authenticate"); return body }},
		ruleRetry: {response: func(r *http.Response, body string) string {
			if ids.Add(1) == 2 {
				r.StatusCode = http.StatusTooManyRequests
				r.Header.Set("Retry-After", "soon")
			}
			return body
		}},
	}
}

// more asks for a whole list where nobody said how much of it.
func more(r *http.Request) {
	query := r.URL.Query()
	if strings.HasSuffix(r.URL.Path, "/optimise/audits") || strings.HasSuffix(r.URL.Path, "/feedback") && !query.Has("limit") {
		query.Set("limit", "200")
		r.URL.RawQuery = query.Encode()
	}
}

// proxy puts a fault before the service.
func proxy(t *testing.T, to string, f planted) string {
	t.Helper()
	target, err := url.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	p := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			if r.SetURL(target); f.request != nil {
				f.request(r.Out)
			}
		},
		ModifyResponse: func(r *http.Response) error {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				return err
			}
			text := string(body)
			if f.response != nil {
				text = f.response(r, text)
			}
			if r.Request.Method != http.MethodHead {
				r.Header.Set("Content-Length", strconv.Itoa(len(text)))
			}
			r.Body = io.NopCloser(bytes.NewBufferString(text))
			return nil
		},
	}
	server := httptest.NewServer(p)
	t.Cleanup(server.Close)
	return server.URL
}

// neighbours are rules that an answer must have been got for before they can be looked at.
var neighbours = map[string]string{
	ruleEnvelope: "unknown-path", ruleVersion: "unknown-path", ruleJSON: "unknown-parameter", ruleChallenge: "missing-key",
}

// Ensure every rule catches a service that breaks it: a rule that cannot fail is none.
func TestCheckCatches(t *testing.T) {
	private(t)
	data := folder(t)
	s := startServer(t, data)
	s.calm(t, data)
	t.Setenv(keyVariable, s.Key)
	faults := faultsOf(s)
	for _, rule := range rules() {
		fault, ok := faults[rule.name]
		if !ok {
			t.Errorf("no fault is planted for %s", rule.name)
			continue
		}
		args := []string{proxy(t, s.BaseURL, fault), "--write", "--rule", rule.name}
		if other := neighbours[rule.name]; other != "" {
			args = append(args, "--rule", other)
		}
		report := checked(t, 1, args...)
		found := false
		for _, r := range report.Rules {
			found = found || r.Rule == rule.name && r.Result == failed && len(r.Problems) > 0
		}
		if !found {
			t.Errorf("%s is not caught: %+v", rule.name, report.Rules)
		}
	}
	if len(faults) != len(rules()) {
		t.Error("a fault is of no rule")
	}
	// Of a scope that the key holds, a 401 is no reason to look away.
	refusing := planted{response: func(r *http.Response, body string) string {
		if strings.HasSuffix(r.Request.URL.Path, "/optimise/sites") {
			r.StatusCode = http.StatusUnauthorized
		}
		return body
	}}
	checked(t, 1, proxy(t, s.BaseURL, refusing), "--rule", "list-shape")
}

// Ensure a check of what is no service says so in one line.
func TestCheckOfNothing(t *testing.T) {
	private(t)
	other := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(other.Close)
	want(t, refusal(t, 1, "", "check", other.URL), "no key for "+other.URL, keyVariable)
	t.Setenv(keyVariable, fmt.Sprint("sk_live_", strings.Repeat("a", 20)))
	want(t, refusal(t, 1, "", "check", other.URL), "does not list the key's company", "404")
	want(t, refusal(t, 1, "", "check", "http://127.0.0.1:1"), "does not answer")
}

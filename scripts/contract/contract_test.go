package contract_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"growthworkspace/functions"
	"growthworkspace/scripts/contract"
	"growthworkspace/scripts/workspace/demo"
	"growthworkspace/scripts/workspace/jsonl"
	"growthworkspace/shared/auth"
	"growthworkspace/shared/change"
	"growthworkspace/shared/fault"
	"growthworkspace/shared/keys"
	"growthworkspace/shared/testkit/apitest"
)

// The names of the rules that every response must follow.
const (
	ruleEnvelope, ruleVersion, ruleJSON, ruleRetry = "envelope", "version", "json", "retry-after"
	ruleRequestID, ruleCache, ruleChallenge        = "request-id", "no-store", "challenge"
)

// keyWithScopes returns a key with the given scopes, and with quotas that no test uses up.
func keyWithScopes(t *testing.T, s *apitest.Service, companyID string, scopes ...auth.Scope) string {
	t.Helper()
	issued, secret, err := s.Keys.Issue(t.Context(), companyID, keys.Grant{Name: "contract", Scopes: scopes, APIVersion: fault.Version}, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	for _, class := range auth.Classes() {
		if _, err := s.Keys.SetQuota(t.Context(), companyID, issued.ID, class, 1_000_000); err != nil {
			t.Fatal(err)
		}
	}
	return secret
}

func serveHTTP(t *testing.T, s *apitest.Service) string {
	t.Helper()
	server := httptest.NewServer(functions.Handler(s.ServingTable, s.Config(slog.New(slog.DiscardHandler))))
	t.Cleanup(server.Close)
	return server.URL
}

// runRules runs the named rules, or all rules if no name is given.
func runRules(t *testing.T, o contract.Options, names ...string) contract.Report {
	t.Helper()
	var err error
	if o.Rules, err = contract.SelectRules(contract.RuleNames(true), names); err != nil {
		t.Fatal(err)
	}
	o.Wait = func(context.Context, time.Duration) error { return nil }
	report, err := contract.Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// Ensure the service follows every rule in two strict runs with the company in
// functions/testdata/company.jsonl. The runs send requests to every area.
func TestDeployment(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, functions.Operations)
	file, err := os.Open("../../functions/testdata/company.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	checked, err := jsonl.Check(t.Context(), functions.Transfers(s.Table), s.CompanyID, file, jsonl.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(checked.Close)
	if _, err := checked.Write(t.Context(), s.CompanyID, func(int) {}); err != nil {
		t.Fatal(err)
	}
	if err := s.Table.Transact(t.Context(), change.WriteCounter(s.Table, s.CompanyID)); err != nil {
		t.Fatal(err)
	}
	if err := change.AppendGap(t.Context(), s.Table, s.CompanyID); err != nil { // makes the feed longer than one page
		t.Fatal(err)
	}
	var mu sync.Mutex
	visited := map[string]int{}
	base := faultyProxy(t, serveHTTP(t, s), injectedFault{changeRequest: func(r *http.Request) {
		parts := strings.Split(r.URL.Path, "/")
		mu.Lock()
		defer mu.Unlock()
		switch {
		case len(parts) > 4:
			visited[parts[4]]++
		case len(parts) > 2:
			visited["company"]++
		}
	}})
	secret := keyWithScopes(t, s, s.CompanyID, auth.Scopes()...)
	for range 2 {
		report := runRules(t, contract.Options{BaseURL: base, Key: secret, Write: true, Publish: true, Strict: true})
		if report.Failed > 0 || report.Skipped > 1 || report.Company != s.CompanyID {
			t.Errorf("after a new operation, run go run ./scripts/gen: it adds an example to functions/testdata/company.jsonl\n%v", report)
		}
	}
	for _, area := range functions.All() {
		if visited[area.Name] < 4 {
			t.Errorf("%d requests to %s, want 4 at least", visited[area.Name], area.Name)
		}
	}
	// A strict run fails if the key lacks scopes.
	report := runRules(t, contract.Options{BaseURL: base, Key: keyWithScopes(t, s, s.CompanyID, auth.CompanyRead), Strict: true}, "complete", "closed-filters")
	if report.Failed != 2 || !strings.Contains(report.String(), "lacks") {
		t.Errorf("%d rules failed, want 2 that name what the key lacks:\n%v", report.Failed, report)
	}
}

// injectedFault is a bug that a proxy simulates by changing requests to the service or its
// responses.
type injectedFault struct {
	changeRequest  func(r *http.Request)
	changeResponse func(r *http.Response, body string) string
}

// injectedFaults returns bugs by the name of the rule that each breaks. If several bugs break a
// rule, each key is the rule's name, a slash and a description of the bug.
func injectedFaults(companyID, key string) map[string]injectedFault {
	addValidKey := injectedFault{changeRequest: func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+key) }}
	var previews, responses atomic.Int64
	replaceInResponse := func(method, pathSuffix, from, to string) injectedFault {
		return injectedFault{changeResponse: func(r *http.Response, body string) string {
			if r.Request.Method == method && strings.HasSuffix(r.Request.URL.Path, pathSuffix) && r.StatusCode == 200 {
				return strings.Replace(body, from, to, 1)
			}
			return body
		}}
	}
	dropHeaders := func(names ...string) injectedFault {
		return injectedFault{changeRequest: func(r *http.Request) {
			for _, name := range names {
				r.Header.Del(name)
			}
		}}
	}
	dropQuery := func(name string, when func(string) bool) injectedFault {
		return injectedFault{changeRequest: func(r *http.Request) {
			query := r.URL.Query()
			if query.Has(name) && when(query.Get(name)) {
				query.Del(name)
				r.URL.RawQuery = query.Encode()
			}
		}}
	}
	replaceInRequest := func(from, to string) injectedFault {
		return injectedFault{changeRequest: func(r *http.Request) {
			if r.Body == nil {
				return
			}
			body, _ := io.ReadAll(r.Body) // reading the body of this test's own request cannot fail
			text := strings.Replace(string(body), from, to, 1)
			r.Body, r.ContentLength = io.NopCloser(strings.NewReader(text)), int64(len(text))
			r.Header.Set("Content-Length", strconv.Itoa(len(text)))
		}}
	}
	setHeader := func(name, value string, statuses ...int) injectedFault {
		return injectedFault{changeResponse: func(r *http.Response, body string) string {
			for _, status := range statuses {
				if r.StatusCode == status {
					r.Header.Set(name, value)
				}
			}
			return body
		}}
	}
	clamp := dropQuery("limit", func(v string) bool { n, err := strconv.Atoi(v); return err != nil || n < 1 || n > 50 })
	crash := func(part string, status int) injectedFault {
		return injectedFault{changeResponse: func(r *http.Response, body string) string {
			if !strings.Contains(r.Request.URL.Path, part) {
				return body
			}
			r.StatusCode, r.Header = status, http.Header{}
			return `{"message": "Internal server error"}`
		}}
	}
	forceOK := func(method, part string, refused int) injectedFault {
		return injectedFault{changeResponse: func(r *http.Response, body string) string {
			if r.Request.Method == method && strings.Contains(r.Request.URL.Path, part) && r.StatusCode == refused {
				r.StatusCode = http.StatusOK
			}
			return body
		}}
	}
	return map[string]injectedFault{
		"complete": {changeResponse: func(r *http.Response, body string) string {
			if strings.HasSuffix(r.Request.URL.Path, "/broadcast/channels") {
				return `{"items":[]}`
			}
			return body
		}},
		"list-shape/a function that crashes":           crash("/optimise/", http.StatusBadGateway),
		"unknown-path/a gateway that lacks a route":    crash("/v1/nope", http.StatusForbidden),
		"openapi/an empty document":                    crash("/openapi.json", http.StatusOK),
		"paging/links without the stage":               {changeRequest: func(r *http.Request) { r.Host = "elsewhere.example" }},
		"version/a response of another version":        setHeader("Service-Version", "2026-08-12", 404),
		"publish":                                      dropHeaders("If-Match"),
		"updates":                                      replaceInRequest(`["synergy"]`, `[]`),
		"updates/a tool that does not store its input": replaceInRequest(`"Written by a tool"`, `"Something else"`),
		"one-company": {changeResponse: func(r *http.Response, body string) string {
			if r.Request.URL.Path == "/v1/companies" && r.StatusCode == 200 {
				return `{"items":[` + body[len(`{"items":[`):len(body)-2] + `,{"id":"co_2"}]}`
			}
			return body
		}},
		"list-shape":    replaceInResponse("GET", "/plan/boards", `{"items"`, `{"total":2,"items"`),
		"record-fields": replaceInResponse("GET", "/optimise/sites", `"siteKey"`, `"secretKey"`),
		"record-by-id": {changeResponse: func(r *http.Response, body string) string {
			if strings.Contains(r.Request.URL.Path, "/plan/items/") {
				return strings.Replace(body, `"title":"`, `"title":"My `, 1)
			}
			return body
		}},
		"findings-apart": replaceInResponse("GET", "/optimise/audits", `"summary"`, `"findings":[],"summary"`),
		"preview-is-dry": {changeResponse: func(r *http.Response, body string) string {
			if strings.HasSuffix(r.Request.URL.Path, "/publish/preview") {
				previews.Add(1)
			}
			if previews.Load() > 0 && strings.Contains(r.Request.URL.Path, "/plan/boards/") {
				return strings.Replace(body, `"publishedVersion":`, `"publishedVersion":9`, 1)
			}
			return body
		}},
		"missing-key": addValidKey, "unknown-key": addValidKey, "publishable-key": addValidKey, "other-scheme": addValidKey, "mcp-key": addValidKey, "write-access": addValidKey,
		"other-company": {changeRequest: func(r *http.Request) {
			parts := strings.Split(r.URL.Path, "/")
			if len(parts) > 3 {
				parts[3] = companyID
				r.URL.Path = strings.Join(parts, "/")
			}
		}},
		"unknown-record": {changeResponse: func(r *http.Response, body string) string {
			if r.StatusCode == 404 && strings.Contains(r.Request.URL.Path, companyID) {
				return strings.Replace(body, "no such record", "not yours", 1)
			}
			return body
		}},
		"unknown-path":     {changeRequest: func(r *http.Request) { r.URL.Path = strings.Replace(r.URL.Path, "/v2/", "/v1/", 1) }},
		"wrong-verb":       setHeader("Allow", "GET", 405),
		"limit-honoured":   dropQuery("limit", func(v string) bool { return v == "1" }),
		"limit-default":    {changeRequest: func(r *http.Request) { raiseLimitParameter(r) }},
		"limit-bounds":     clamp,
		"limit-bounds-all": clamp,
		"closed-filters":   dropQuery("status", func(v string) bool { return v == "nope" }),
		"required-parameter": {changeRequest: func(r *http.Request) {
			if query := r.URL.Query(); strings.HasSuffix(r.URL.Path, "/metrics/points") && !query.Has("metricKey") {
				query.Set("metricKey", "growth.signups")
				r.URL.RawQuery = query.Encode()
			}
		}},
		"days":              dropQuery("to", func(v string) bool { return v == "2026-02-30" }),
		"posted-days":       dropQuery("postedTo", func(string) bool { return true }),
		"unknown-parameter": dropQuery("nope", func(string) bool { return true }),
		"paging":            {changeResponse: func(r *http.Response, body string) string { r.Header.Del("Link"); return body }},
		"forged-cursor":     dropQuery("cursor", func(string) bool { return true }),
		"pinned-version": {changeRequest: func(r *http.Request) {
			if r.Header.Get("Service-Version") != "" {
				r.Header.Set("Service-Version", "1999-01-01")
			}
		}},
		"unknown-version": dropHeaders("Service-Version"),
		"head": {changeResponse: func(r *http.Response, body string) string {
			if r.Request.Method == http.MethodHead {
				r.StatusCode = http.StatusMethodNotAllowed
			}
			return body
		}},
		"entity-tags":    dropHeaders("If-None-Match"),
		"quota-headers":  setHeader("RateLimit-Remaining", "many", 200),
		"openapi":        replaceInResponse("GET", "/openapi.json", `"/v1/companies/{companyId}/plan/items/{itemId}"`, `"/x"`),
		"openapi-server": replaceInResponse("GET", "/openapi.json", `"url": "."`, `"url": "https://elsewhere.example"`),
		"mcp-tools":      replaceInResponse("POST", "/mcp", `"service_list_feedback"`, `"feedback"`),
		"mcp-call":       replaceInResponse("POST", "/mcp", `"industry":`, `"industry2":`),
		"mcp-hints":      replaceInResponse("POST", "/mcp", `"destructiveHint":true`, `"destructiveHint":false`),
		"mcp-hints/a create that is said to be repeatable": replaceInResponse("POST", "/mcp", `"destructiveHint":false`, `"destructiveHint":false,"idempotentHint":true`),
		"mcp-areas":                             dropQuery("areas", func(string) bool { return true }),
		"mcp-areas/an area that is named twice": dropQuery("areas", func(v string) bool { return v == "plan,plan" }),
		"mcp-areas/an error before the key": {changeRequest: func(r *http.Request) {
			if r.URL.Path == "/mcp" && strings.Contains(r.URL.RawQuery, "nope") {
				r.Header.Set("Authorization", "Bearer "+key)
			}
		}},
		"mcp-errors":                                  replaceInResponse("POST", "/mcp", `limit: must`, `query.limit: must`),
		"mcp-errors/no nearest argument":              replaceInResponse("POST", "/mcp", `did you mean`, `unknown`),
		"mcp-errors/no tool that lists ids":           replaceInResponse("POST", "/mcp", `service_list_plan_boards lists the ids`, ``),
		"slug-scripts":                                replaceInResponse("POST", "/items", `"slug":"omega`, `"slug":"mega`),
		"slug-scripts/a script without Latin letters": replaceInResponse("POST", "/items", `"slug":"ri-ben`, `"slug":"item`),
		"post-thread":                                 replaceInRequest(`日"`, `日日"`),
		"post-thread/parts of one character too few":  replaceInResponse("POST", "/posts", `"threadParts":["`, `"threadParts":["x`),
		"item-life":                                   replaceInResponse("POST", "/items", `"status":"draft"`, `"status":"published"`),
		"item-body":                                   replaceInRequest(`"status":"live"`, `"status":"draft"`),
		"strict-body":                                 replaceInRequest(`,"nope":1`, ``),
		"null-clears":                                 replaceInRequest(`"sortOrder":null`, `"sortOrder":2`),
		"null-clears/an update that ignores null":     replaceInRequest(`{"summary":null,"columnId":null`, `{"columnId":null`),
		"null-clears/a title that null clears":        replaceInRequest(`{"title":null}`, `{}`),
		"nul":                                         replaceInRequest(`x\u0000`, `x`),
		"item-slug":                                   replaceInRequest(`{"slug":"another"}`, `{}`),
		"empty-update": {changeResponse: func(r *http.Response, body string) string {
			if r.Request.Method == http.MethodPatch {
				return strings.Replace(body, `"updatedAt":"2`, `"updatedAt":"3`, 1)
			}
			return body
		}},
		"if-match": dropHeaders("If-Match"), "idempotency": dropHeaders("Idempotency-Key"), "refused-push": dropHeaders("Idempotency-Key"),
		"push-identity":                                {changeRequest: func(r *http.Request) { replaceInRequest("conformance-check", rand.Text()).changeRequest(r) }},
		"board-life":                                   replaceInResponse("POST", "/plan/boards", `"publicKey":"pk_live_`, `"publicKey":"pk_`),
		"board-life/origins that null clears":          replaceInRequest(`{"allowedOrigins":null}`, `{}`),
		"board-life/a wildcard":                        replaceInRequest(`"https://*.example.com"`, `"https://a.example.com"`),
		"board-life/a delete that leaves items behind": forceOK(http.MethodDelete, "/plan/boards/", http.StatusConflict),
		"site-life":                                    replaceInResponse("POST", "/optimise/sites", `"siteKey":"pk_live_`, `"siteKey":"pk_`),
		"site-life/a port in a domain":                 replaceInRequest(`b.example.com:8080`, `b.example.com`),
		"site-life/a pattern that is not checked":      replaceInRequest(`{"matchType":"regex"}`, `{}`),
		"audit-life":                                   replaceInRequest(`{"status":"running"}`, `{}`),
		"audit-life/findings that are not replaced":    replaceInRequest(`"findings":{"pages":2},`, ``),
		"live-items":                                   replaceInResponse("GET", "/live", `"Conformance check"`, `"Edited since"`),
		"live-items/a list of the version before":      replaceInResponse("GET", "/live", `"publishedVersion":1`, `"publishedVersion":0`),
		"live-items/a delete of what visitors see":     forceOK(http.MethodDelete, "/plan/boards/", http.StatusConflict),
		"goal-life":                                    replaceInResponse("POST", "/context/goals", `"status":"active"`, `"status":"missed"`),
		"post-life":                                    replaceInResponse("POST", "/posts", `"status":"draft"`, `"status":"scheduled"`),
		"idea-life":                                    replaceInRequest(`{"endsAt":"2098-12-31T23:59:59Z"}`, `{}`),
		"idea-life/an idea that keeps its plan":        replaceInRequest(`"accepted","planId":null`, `"accepted"`),
		"post-days":                                    dropQuery("from", func(string) bool { return true }),
		"post-days/one order":                          dropQuery("order", func(v string) bool { return v == "asc" }),
		"post-body":                                    replaceInRequest(`,"status":"published"`, ``),
		"company-body":                                 replaceInRequest(`{"stage":"unicorn"}`, `{}`),
		"large-body":                                   replaceInRequest(strings.Repeat("x", 1000), ``),
		"roll-up": {changeResponse: func(r *http.Response, body string) string {
			if query := r.Request.URL.Query(); strings.HasSuffix(r.Request.URL.Path, "/metrics/points") && query.Get("grain") == "week" {
				return strings.Replace(body, `"value":`, `"value":1`, 1)
			}
			return body
		}},
		"roll-up/a computed bucket that the aggregation none does not stop": replaceInRequest(`{"aggregation":"none"}`, `{}`),
		"metric-names": {changeRequest: func(r *http.Request) {
			if query := r.URL.Query(); strings.HasPrefix(query.Get("metricKey"), "custom.") {
				query.Set("metricKey", "another")
				r.URL.RawQuery = query.Encode()
			}
		}},
		"metric-total": {changeRequest: func(r *http.Request) {
			query := r.URL.Query()
			query.Del("total")
			r.URL.RawQuery = query.Encode()
		}},
		"metric-life":        replaceInResponse("DELETE", "", `"deletedCount":2`, `"deletedCount":3`),
		"metric-life/no end": {changeResponse: func(r *http.Response, body string) string { r.Header.Del("Service-Has-More"); return body }},
		"metric-life/a second definition": {changeResponse: func(r *http.Response, body string) string {
			if r.Request.Method == http.MethodPost && r.StatusCode == http.StatusConflict {
				return strings.Replace(body, "key", "name", 1)
			}
			return body
		}},
		"metric-definition":                     replaceInRequest(`{"needsReview":true}`, `{}`),
		"metric-definition/a unit that is lost": replaceInResponse("PATCH", "", `"unit":"count"`, `"unit":null`),
		ruleEnvelope: {changeResponse: func(r *http.Response, body string) string {
			if r.StatusCode >= 400 {
				return strings.Replace(body, `"code"`, `"hint":"","code"`, 1)
			}
			return body
		}},
		ruleVersion:   setHeader("Service-Version", "", 404),
		ruleJSON:      setHeader("Content-Type", "text/html", 400),
		ruleRequestID: setHeader("Service-Request-Id", "req_1", 200),
		ruleCache:     setHeader("Cache-Control", "max-age=60", 200),
		ruleChallenge: {changeResponse: func(r *http.Response, body string) string { r.Header.Del("WWW-Authenticate"); return body }},
		ruleRetry: {changeResponse: func(r *http.Response, body string) string {
			if responses.Add(1) == 2 {
				r.StatusCode = http.StatusTooManyRequests
				r.Header.Set("Retry-After", "soon")
			}
			return body
		}},
	}
}

// raiseLimitParameter sets the limit parameter to 200 in requests for two lists, as if the service
// did not apply its default.
func raiseLimitParameter(r *http.Request) {
	query := r.URL.Query()
	if strings.HasSuffix(r.URL.Path, "/optimise/audits") || strings.HasSuffix(r.URL.Path, "/feedback") && !query.Has("limit") {
		query.Set("limit", "200")
		r.URL.RawQuery = query.Encode()
	}
}

// faultyProxy starts a proxy for the service at serviceURL, and returns the proxy's address.
// The proxy injects the fault f.
func faultyProxy(t *testing.T, serviceURL string, f injectedFault) string {
	t.Helper()
	target, err := url.Parse(serviceURL)
	if err != nil {
		t.Fatal(err)
	}
	p := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			r.Out.Header.Del("Accept-Encoding") // so that the response is not compressed and its body can be changed
			if r.Out.Host = r.In.Host; f.changeRequest != nil {
				f.changeRequest(r.Out)
			}
		},
		ModifyResponse: func(r *http.Response) error {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				return err
			}
			text := string(body)
			if f.changeResponse != nil {
				text = f.changeResponse(r, text)
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

// The keys of prerequisiteRules are rules that send no requests. Instead, they inspect the
// responses to other rules' requests. The value for each key is a rule that sends such requests and
// must run first.
var prerequisiteRules = map[string]string{
	ruleEnvelope: "unknown-path", ruleVersion: "unknown-path", ruleJSON: "unknown-parameter", ruleChallenge: "missing-key",
}

// Ensure every rule fails for a service that breaks the rule.
func TestRulesCatchInjectedFaults(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, functions.Operations)
	if err := demo.Seed(t.Context(), s.Table, apitest.Epoch.Add(-time.Hour)); err != nil {
		t.Fatal(err)
	}
	base, secret := serveHTTP(t, s), keyWithScopes(t, s, demo.CompanyID, auth.Scopes()...)
	all := injectedFaults(demo.CompanyID, secret)
	for name, injected := range all {
		rule, _, _ := strings.Cut(name, "/")
		names := []string{rule}
		if prerequisiteRules[rule] != "" {
			names = append(names, prerequisiteRules[rule])
		}
		o := contract.Options{BaseURL: faultyProxy(t, base, injected), Key: secret, Write: true, Publish: true, Strict: rule == "complete"}
		report, found := runRules(t, o, names...), false
		for _, r := range report.Rules {
			found = found || r.Rule == rule && r.Outcome == contract.Failed && len(r.Problems) > 0
		}
		if !found {
			t.Errorf("%s is not found: %s", name, report)
		}
	}
	for _, rule := range contract.RuleNames(true) {
		if _, has := all[rule]; !has {
			t.Errorf("no fault breaks %s", rule)
		}
	}
	// If the key has the scope, a 401 is a problem and not a reason to skip the rule.
	refusing := injectedFault{changeResponse: func(r *http.Response, body string) string {
		if strings.HasSuffix(r.Request.URL.Path, "/optimise/sites") {
			r.StatusCode = http.StatusUnauthorized
		}
		return body
	}}
	if report := runRules(t, contract.Options{BaseURL: faultyProxy(t, base, refusing), Key: secret}, "list-shape"); report.Failed != 1 {
		t.Errorf("%d rules failed, want 1:\n%v", report.Failed, report)
	}
}

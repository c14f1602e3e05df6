package conformance

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"growthworkspace/shared/auth"
	"growthworkspace/shared/client"
	"growthworkspace/shared/fault"
)

// runner is the state of a run.
type runner struct {
	Options
	ruleResult // the result of the current rule
	ctx        context.Context
	client     *client.Client
	document   *document
	page       response     // the response with the OpenAPI document
	company    string       // the id of the key's company
	scopes     []auth.Scope // of the key; nil if the service does not say
	reads      []read       // the read operations, each with the response to its first request

	created    []createdRecord // in the order of creation
	leftBehind []string        // the paths of created records that could not be deleted
	points     string          // the path that deletes the points that the run has pushed; empty if there are none

	version    string              // the Service-Version header of the first response
	requestIDs map[string]bool     // the request ids in the responses so far
	observed   map[string][]string // the problems of responses, by the rule that is broken
	counts     map[string]int      // the number of responses checked, by rule
}

// callTimeout is the timeout for one request. It is longer than the 29 s that API Gateway waits for
// a function.
const callTimeout = 35 * time.Second

// newRunner reads the OpenAPI document and the key's company.
func newRunner(ctx context.Context, o Options) (*runner, error) {
	k := &runner{Options: o, ctx: ctx, requestIDs: map[string]bool{}, observed: map[string][]string{}, counts: map[string]int{}}
	next := o.Transport
	if next == nil {
		next = http.DefaultTransport.(*http.Transport).Clone() // a transport of its own, so that nothing else closes its connections
	}
	options := []client.Option{
		client.WithVersion(""), client.WithUserAgent("growthworkspace-check"),
		client.WithHTTPClient(&http.Client{
			Transport: observer{next, k}, Timeout: callTimeout,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}),
	}
	if o.Wait != nil {
		options = append(options, client.WithSleep(o.Wait))
	}
	var err error
	if k.client, err = client.New(o.BaseURL, o.Key, options...); err != nil {
		return nil, err
	}
	companies := k.get("/v1/companies")
	switch items := companies.records(); {
	case companies.Status == 0:
		return nil, companies.err
	case len(items) == 0 || text(items[0]["id"]) == "":
		return nil, fmt.Errorf("%s does not list the key's company (GET /v1/companies: %d): check the address, and that the key is valid and has the scope company:read", o.BaseURL, companies.Status)
	default:
		k.company = text(items[0]["id"])
	}
	k.page = k.do(http.MethodGet, "/openapi.json", "", "Authorization", "")
	if k.document, err = parseDocument(k.page.Body); err != nil {
		return nil, fmt.Errorf("GET %s/openapi.json (%d) has no OpenAPI document: %w", o.BaseURL, k.page.Status, err)
	}
	if op, ok := k.document.byID("get_current_key"); ok {
		path, _ := k.fillPath(op.path)
		var key struct{ Scopes []auth.Scope }
		if got := k.get(path); got.Status == http.StatusOK && json.Unmarshal(got.Body, &key) == nil {
			k.scopes = key.Scopes
		}
	}
	return k, nil
}

// lacks reports whether the service says that the key may not use an operation.
func (run *runner) lacks(op operation) bool { return run.scopes != nil && !op.isOpenTo(run.scopes) }

// response is a response of the service. Its status is 0 if the service did not respond.
type response struct {
	client.Response
	request string // the method and path of the request, for messages
	err     error  // why there is no response
}

// headersKey is the key of the headers of a request in its context.
type headersKey struct{}

// do sends a request with the key of the run to a path below the base URL. header alternates between
// names and values, which replace the headers that are sent by default; an empty value removes one.
// The client waits and repeats the request if the quota is used up. do fails the rule if the service
// does not respond.
func (run *runner) do(method, path, body string, header ...string) response {
	r := client.Request{Method: method, Path: path}
	if body != "" {
		r.Body = []byte(body)
	}
	out := response{request: method + " " + path}
	if run.company != "" {
		out.request = strings.Replace(out.request, run.company, "{companyId}", 1)
	}
	// The status decides, not the error: an error response is what many rules require.
	_, out.err = run.client.Do(context.WithValue(run.ctx, headersKey{}, header), r, client.Into(&out.Response))
	if out.Status == 0 {
		run.fail("%s: no response: %v", out.request, out.err)
	}
	return out
}

func (run *runner) get(path string) response { return run.do(http.MethodGet, path, "") }

// observer is a transport that replaces the headers of a request and checks every response of an
// operation, also those that the client retries.
type observer struct {
	next http.RoundTripper
	k    *runner
}

// RoundTrip sends a request.
func (o observer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	replaced, _ := r.Context().Value(headersKey{}).([]string)
	for pair := range slices.Chunk(replaced, 2) {
		r.Header.Del(pair[0])
		if pair[1] != "" {
			r.Header.Set(pair[0], pair[1])
		}
	}
	got, err := o.next.RoundTrip(r)
	if err != nil || !strings.Contains(r.URL.Path, "/v1/") {
		return got, err
	}
	body, err := io.ReadAll(got.Body)
	if err = errors.Join(err, got.Body.Close()); err != nil {
		return nil, err
	}
	got.Body = io.NopCloser(bytes.NewReader(body))
	o.k.observe(r, client.Response{Status: got.StatusCode, Header: got.Header, Body: body})
	return got, nil
}

// observe checks a response against the rules of every response. It records the problems that it
// finds, which the rules from reportObserved report later.
func (run *runner) observe(r *http.Request, got client.Response) {
	check := func(rule string, ok bool, format string, args ...any) {
		run.counts[rule]++
		if !ok {
			where := fmt.Sprintf("%s %s (%d): ", r.Method, strings.Replace(r.URL.Path, run.company, "{companyId}", 1), got.Status)
			run.observed[rule] = append(run.observed[rule], where+fmt.Sprintf(format, args...))
		}
	}
	day, id := got.Header.Get("Service-Version"), got.RequestID()
	if run.version == "" {
		run.version = day
	}
	_, err := time.Parse(time.DateOnly, day)
	check("headers", err == nil && day == run.version, "Service-Version is %q, want the day %q of the first response", day, run.version)
	check("headers", id != "" && !run.requestIDs[id], "Service-Request-Id is %q: empty, or the same as before", id)
	run.requestIDs[id] = true
	check("headers", got.Header.Get("Cache-Control") == "no-store", "Cache-Control is %q, want no-store", got.Header.Get("Cache-Control"))
	if len(got.Body) > 0 {
		kind, _, err := mime.ParseMediaType(got.Header.Get("Content-Type"))
		check("headers", err == nil && kind == "application/json" && json.Valid(got.Body), "Content-Type is %q and valid JSON: %t", kind, json.Valid(got.Body))
	}
	switch got.Status {
	case http.StatusUnauthorized:
		challenge := cmp.Or(got.Header.Get("WWW-Authenticate"), got.Header.Get("X-Amzn-Remapped-Www-Authenticate")) // API Gateway renames it
		check("headers", challenge != "", "WWW-Authenticate is missing")
	case http.StatusTooManyRequests:
		wait, err := strconv.Atoi(got.Header.Get("Retry-After"))
		check("headers", err == nil && wait >= 1, "Retry-After is %q, want seconds", got.Header.Get("Retry-After"))
	}
	if got.Status < http.StatusBadRequest || r.Method == http.MethodHead {
		return
	}
	code, _, err := envelope(got.Body)
	check("envelope", err == nil, "%v", err)
	if err == nil {
		check("envelope", codeHasStatus(code, got.Status), "the code %q belongs to another status", code)
	}
}

// reportObserved returns a rule that sends no requests. The rule reports the problems that observe
// has found so far.
func reportObserved(name string) func(*runner) {
	return func(k *runner) {
		for _, problem := range k.observed[name] {
			k.fail("%s", problem)
		}
		k.checkCount = k.counts[name]
	}
}

// codeHasStatus reports whether a response with this status may have this error code. An unknown
// code is allowed only with a status that no known code has.
func codeHasStatus(code string, status int) bool {
	codeStatus, known := fault.Codes()[fault.Code(code)]
	if known {
		return codeStatus == status
	}
	return !slices.Contains(slices.Collect(maps.Values(fault.Codes())), status)
}

// envelope decodes the body of an error response.
func envelope(body []byte) (code string, messages []string, err error) {
	var decoded struct {
		Errors []map[string]any `json:"errors"`
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	if err := d.Decode(&decoded); err != nil || len(decoded.Errors) == 0 {
		return "", nil, errors.New("the body is not the error envelope")
	}
	for _, e := range decoded.Errors {
		one, message := text(e["code"]), text(e["message"])
		if one == "" || message == "" || len(e) != 2 {
			return "", nil, errors.New("an error in the envelope must have the strings code and message and nothing else")
		}
		code, messages = one, append(messages, message)
	}
	return code, messages, nil
}

// requireError fails the rule unless the response is an error with the given code and has a message
// that contains wantText.
func (run *runner) requireError(r response, code fault.Code, wantText string) {
	run.checkCount++
	if r.Status == 0 {
		return // do has already reported the failure
	}
	got, messages, err := envelope(r.Body)
	switch {
	case r.Status != code.Status():
		run.fail("%s: %d instead of %d %s", r.request, r.Status, code.Status(), code)
	case err != nil:
		run.fail("%s: %v", r.request, err)
	case got != string(code):
		run.fail("%s: the code is %s instead of %s", r.request, got, code)
	case !strings.Contains(strings.Join(messages, "\n"), wantText):
		run.fail("%s: no message names %s: %s", r.request, wantText, strings.Join(messages, "; "))
	}
}

// requireObject fails the rule unless the response has the status 200 and a JSON object. ok is
// false if it fails.
func (run *runner) requireObject(r response) (body map[string]any, ok bool) {
	run.checkCount++
	if r.Status == 0 {
		return nil, false // do has already reported the failure
	}
	if r.Status != http.StatusOK {
		_, messages, _ := envelope(r.Body) // ignore the error: messages is nil if the body is not an envelope
		run.fail("%s: %d instead of 200: %s", r.request, r.Status, strings.Join(messages, "; "))
		return nil, false
	}
	if body = r.object(); body == nil {
		run.fail("%s: the body is not a JSON object", r.request)
	}
	return body, body != nil
}

// object returns the body of a 200, or nil if it is no JSON object.
func (r response) object() (body map[string]any) {
	if r.Status != http.StatusOK || json.Unmarshal(r.Body, &body) != nil {
		return nil
	}
	return body
}

// records returns the records in the response to a list operation.
func (r response) records() (records []map[string]any) {
	items, _ := r.object()["items"].([]any)
	for _, item := range items {
		if record, ok := item.(map[string]any); ok {
			records = append(records, record)
		}
	}
	return records
}

// text returns a JSON value if it is a string, and "" otherwise.
func text(value any) string {
	s, _ := value.(string)
	return s
}

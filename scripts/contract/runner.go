package contract

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"growthworkspace/shared/fault"
)

// runner is the state of a run. It sends requests, and checks every response with checkResponse.
type runner struct {
	Options
	ruleResult // the result of the current rule
	ctx        context.Context

	company          string              // the id of the key's company
	version          string              // the Service-Version header of the first response
	discovered       []discoveredRead    // the read operations, each with the response to its first request
	requestIDs       map[string]bool     // the request ids in the responses so far
	observedProblems map[string][]string // the problems that checkResponse found, by the rule that is broken
	observedCounts   map[string]int      // how many responses checkResponse has checked against each rule
}

// ruleResult is the result of a running rule so far.
type ruleResult struct {
	problems        []string
	skipReason      string // why the rule could check nothing
	checkCount      int
	mayCheckNothing bool // the rule may check nothing without failing, even in a strict run
}

// problemsMax is the maximum number of problems that a report lists for one rule.
const problemsMax = 8

func (f *ruleResult) fail(format string, args ...any) {
	if len(f.problems) < problemsMax {
		f.problems = append(f.problems, fmt.Sprintf(format, args...))
	}
}

// skip remembers why a rule, or a part of it, could not be checked. The report shows the first such
// reason if the rule checks nothing.
func (f *ruleResult) skip(format string, args ...any) {
	if f.skipReason == "" {
		f.skipReason = fmt.Sprintf(format, args...)
	}
}

func (f *ruleResult) countCheck() { f.checkCount++ }

// response is a response of the service. Its status is 0 if the service did not respond.
type response struct {
	request string // the method and path of the request, for messages
	head    bool   // the method of the request was HEAD
	status  int
	header  http.Header
	body    []byte
}

// request is a request with the key of the run.
type request struct {
	method, path, body string            // the path begins with /v1
	header             map[string]string // an empty value removes a header that is sent by default
}

// quotaTriesMax is the maximum number of times to send a request that is rate limited.
const quotaTriesMax = 5

// quotaWaitMax is how long to wait before a retry. A quota refills within 60 s.
const quotaWaitMax = 90 * time.Second

// send sends a request and checks the response with checkResponse. It fails the rule if the service
// does not respond.
func (k *runner) send(q request) response {
	r, err := k.sendWithRetry(q, k.checkResponse)
	if err != nil {
		k.fail("%s: no response: %v", r.request, err)
	}
	return r
}

// do is like send. header alternates between names and values.
func (k *runner) do(method, path, body string, header ...string) response {
	q := request{method: method, path: path, body: body, header: map[string]string{}}
	for i := 0; i+1 < len(header); i += 2 {
		q.header[header[i]] = header[i+1]
	}
	return k.send(q)
}

func (k *runner) get(path string) response { return k.do(http.MethodGet, path, "") }

// sendWithRetry sends a request, and retries it if the response is a 429. It calls onResponse with
// every response.
func (k *runner) sendWithRetry(q request, onResponse func(response)) (response, error) {
	for try := 1; ; try++ {
		r, err := k.sendOnce(q)
		if err != nil {
			return response{request: r.request, header: r.header}, err
		}
		onResponse(r)
		if r.status != http.StatusTooManyRequests || try == quotaTriesMax {
			return r, nil
		}
		wait, err := strconv.Atoi(r.header.Get("Retry-After"))
		if err != nil || time.Duration(wait)*time.Second > quotaWaitMax || k.Wait(k.ctx, time.Duration(wait)*time.Second) != nil {
			return r, nil // the caller reports the 429
		}
	}
}

// bodyBytesMax is the maximum number of bytes that are read from a body. The largest response, an
// audit with its findings, is smaller.
const bodyBytesMax = 16 << 20

func (k *runner) sendOnce(q request) (response, error) {
	out := response{request: q.method + " " + q.path, head: q.method == http.MethodHead, header: http.Header{}}
	if k.company != "" {
		out.request = q.method + " " + strings.Replace(q.path, k.company, "{companyId}", 1)
	}
	r, err := http.NewRequestWithContext(k.ctx, q.method, k.BaseURL+q.path, strings.NewReader(q.body))
	if err != nil {
		return out, err
	}
	r.Header.Set("Authorization", "Bearer "+k.Key)
	if q.body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for name, value := range q.header {
		r.Header.Del(name)
		if value != "" {
			r.Header.Set(name, value)
		}
	}
	got, err := k.HTTP.Do(r)
	if err != nil {
		return out, err
	}
	out.status, out.header = got.StatusCode, got.Header
	out.body, err = io.ReadAll(io.LimitReader(got.Body, bodyBytesMax))
	return out, errors.Join(err, got.Body.Close())
}

// envelope decodes the body of an error response.
func (r response) envelope() (code string, messages []string, err error) {
	var body struct {
		Errors []map[string]any `json:"errors"`
	}
	d := json.NewDecoder(bytes.NewReader(r.body))
	d.DisallowUnknownFields()
	if err := d.Decode(&body); err != nil || len(body.Errors) == 0 {
		return "", nil, errors.New("the body is not the error envelope")
	}
	for _, e := range body.Errors {
		one, ok1 := e["code"].(string)
		message, ok2 := e["message"].(string)
		if !ok1 || !ok2 || one == "" || message == "" || len(e) != 2 {
			return "", nil, errors.New("an error in the envelope must have the strings code and message and nothing else")
		}
		code, messages = one, append(messages, message)
	}
	return code, messages, nil
}

// checkError fails the rule unless the response is an error with the given code and has a message
// that contains wantText.
func (k *runner) checkError(r response, code fault.Code, wantText string) {
	k.countCheck()
	if r.status == 0 {
		return // send has already reported the failure
	}
	if r.status != code.Status() {
		k.fail("%s: %d instead of %d %s", r.request, r.status, code.Status(), code)
		return
	}
	got, messages, err := r.envelope()
	switch {
	case err != nil:
		k.fail("%s: %v", r.request, err)
	case got != string(code):
		k.fail("%s: the code is %s instead of %s", r.request, got, code)
	case !strings.Contains(strings.Join(messages, "\n"), wantText):
		k.fail("%s: no message names %s: %s", r.request, wantText, strings.Join(messages, "; "))
	}
}

// checkSuccess fails the rule unless the response has the status 200. It decodes the body.
func (k *runner) checkSuccess(r response, into any) bool {
	k.countCheck()
	if r.status == 0 {
		return false // send has already reported the failure
	}
	if r.status != http.StatusOK {
		_, messages, _ := r.envelope() // ignore the error: messages is nil if the body is not in the API's format
		k.fail("%s: %d instead of 200: %s", r.request, r.status, strings.Join(messages, "; "))
		return false
	}
	if err := json.Unmarshal(r.body, into); err != nil {
		k.fail("%s: decode the body: %v", r.request, err)
		return false
	}
	return true
}

// checkRecord is like checkSuccess, for a response whose body is a record.
func (k *runner) checkRecord(r response) (record map[string]any, ok bool) {
	ok = k.checkSuccess(r, &record)
	return record, ok
}

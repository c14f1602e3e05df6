package main

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

// kit sends requests to an implementation, and looks at every answer for what all answers must have.
type kit struct {
	ctx   context.Context
	base  string
	key   string
	write bool
	http  *http.Client
	sleep func(ctx context.Context, d time.Duration) error

	company  string
	primed   []primed            // the operations that read, with the answers to their plainest calls
	seen     map[string]bool     // request ids
	observed map[string][]string // what is wrong with answers, by the rule that it breaks
	relevant map[string]int      // how many answers each of those rules is about
	report   *ruleReport         // of the rule that is running; nil outside of one
}

// ruleReport collects what a rule finds.
type ruleReport struct {
	problems []string
	reason   string // why it cannot be looked at
	looked   int
}

// problemsMax bounds what is said of one rule.
const problemsMax = 8

func (r *ruleReport) fail(format string, args ...any) {
	if len(r.problems) < problemsMax {
		r.problems = append(r.problems, fmt.Sprintf(format, args...))
	}
}

// skip says why a rule cannot be looked at, or not for a part: it counts only where nothing else was looked at.
func (r *ruleReport) skip(format string, args ...any) {
	if r.reason == "" {
		r.reason = fmt.Sprintf(format, args...)
	}
}

// look counts that something was looked at.
func (r *ruleReport) look() { r.looked++ }

func (k *kit) run(r rule) ruleResult {
	out := ruleResult{Rule: r.name, Section: r.section, Title: r.title, Problems: []string{}}
	report := &ruleReport{}
	k.report = report
	defer func() { k.report = nil }()
	if r.write && !k.write {
		report.skip("it changes records: give --write")
	} else {
		r.run(k, report)
	}
	switch {
	case len(report.problems) > 0:
		out.Result, out.Problems = failed, report.problems
	case report.looked == 0:
		out.Result, out.Detail = skipped, report.reason
		if out.Detail == "" {
			out.Detail = "nothing was there to be looked at"
		}
	default:
		out.Result, out.Detail = passed, fmt.Sprintf("%d looked at", report.looked)
	}
	return out
}

// reply is an answer; its status is 0 when there was none.
type reply struct {
	what   string // the request, for messages
	head   bool   // which has no body
	status int
	header http.Header
	body   []byte
}

// ask is a request. The path is from /v1 on.
type ask struct {
	method, path, body string
	header             map[string]string // "" leaves one out
}

// quotaTriesMax bounds how often a request waits for its quota.
const quotaTriesMax = 5

// quotaWaitMax is above the 60 s in which a quota refills.
const quotaWaitMax = 90 * time.Second

// send sends a request with the key. A rule whose request has no answer fails.
func (k *kit) send(a ask) reply {
	r, err := k.patiently(a, k.observe)
	if err != nil && k.report != nil {
		k.report.fail("%s: no answer: %v", r.what, err)
	}
	return r
}

// patiently waits where the quota is used up. saw looks at every answer.
func (k *kit) patiently(a ask, saw func(reply)) (reply, error) {
	for try := 1; ; try++ {
		r, err := k.once(a)
		if err != nil {
			return reply{what: r.what, header: r.header}, err
		}
		saw(r)
		if r.status != http.StatusTooManyRequests || try == quotaTriesMax {
			return r, nil
		}
		wait, err := strconv.Atoi(r.header.Get("Retry-After"))
		if err != nil || time.Duration(wait)*time.Second > quotaWaitMax || k.sleep(k.ctx, time.Duration(wait)*time.Second) != nil {
			return r, nil // the rule says what it has instead
		}
	}
}

func (k *kit) once(a ask) (reply, error) {
	out := reply{what: a.method + " " + a.path, head: a.method == http.MethodHead, header: http.Header{}}
	if k.company != "" {
		out.what = a.method + " " + strings.Replace(a.path, k.company, "{companyId}", 1)
	}
	request, err := http.NewRequestWithContext(k.ctx, a.method, k.base+a.path, strings.NewReader(a.body))
	if err != nil {
		return out, err
	}
	request.Header.Set("Authorization", "Bearer "+k.key)
	if a.body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	for name, value := range a.header {
		request.Header.Del(name)
		if value != "" {
			request.Header.Set(name, value)
		}
	}
	response, err := k.http.Do(request)
	if err != nil {
		return out, err
	}
	out.status, out.header = response.StatusCode, response.Header
	out.body, err = io.ReadAll(io.LimitReader(response.Body, bodyBytesRead))
	return out, errors.Join(err, response.Body.Close())
}

// bodyBytesRead is above what an audit with all of its findings has.
const bodyBytesRead = 16 << 20

// envelope reads an error.
func (r reply) envelope() (code string, messages []string, err error) {
	var body struct {
		Errors []map[string]any `json:"errors"`
	}
	d := json.NewDecoder(bytes.NewReader(r.body))
	d.DisallowUnknownFields()
	if err := d.Decode(&body); err != nil || len(body.Errors) == 0 {
		return "", nil, errors.New("its body is not the error envelope")
	}
	for _, e := range body.Errors {
		one, ok1 := e["code"].(string)
		message, ok2 := e["message"].(string)
		if !ok1 || !ok2 || one == "" || message == "" || len(e) != 2 {
			return "", nil, errors.New("an entry of its envelope has not exactly the texts code and message")
		}
		code, messages = one, append(messages, message)
	}
	return code, messages, nil
}

// is fails the rule unless the answer has this status, and in an error this code and a message with this part in it.
func (k *kit) is(r reply, code fault.Code, part string) {
	k.report.look()
	if r.status == 0 {
		return // which was said
	}
	if r.status != code.Status() {
		k.report.fail("%s: %d instead of %d %s", r.what, r.status, code.Status(), code)
		return
	}
	got, messages, err := r.envelope()
	switch {
	case err != nil:
		k.report.fail("%s: %v", r.what, err)
	case got != string(code):
		k.report.fail("%s: the code is %s instead of %s", r.what, got, code)
	case !strings.Contains(strings.Join(messages, "\n"), part):
		k.report.fail("%s: no message names %s: %s", r.what, part, strings.Join(messages, "; "))
	}
}

// ok fails the rule unless the answer is a success, and decodes it.
func (k *kit) ok(r reply, into any) bool {
	k.report.look()
	if r.status == 0 {
		return false
	}
	if r.status != http.StatusOK {
		_, messages, _ := r.envelope() // of what is none there are no messages
		k.report.fail("%s: %d instead of 200: %s", r.what, r.status, strings.Join(messages, "; "))
		return false
	}
	if err := json.Unmarshal(r.body, into); err != nil {
		k.report.fail("%s: its body does not read: %v", r.what, err)
		return false
	}
	return true
}

func (k *kit) get(path string) reply { return k.send(ask{method: http.MethodGet, path: path}) }

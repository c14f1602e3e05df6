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

// kit sends requests to a service, and looks at every response for what all responses must have.
type kit struct {
	Options
	finding // of the rule that is running
	ctx     context.Context

	company  string
	version  string              // of the first response
	primed   []primed            // the operations that read, with the responses to their plainest requests
	seen     map[string]bool     // request ids
	observed map[string][]string // what is wrong with responses, by the rule that it breaks
	relevant map[string]int      // how many responses each of those rules is about
}

// finding is what a rule finds.
type finding struct {
	problems []string
	reason   string // why there is nothing to look at
	looked   int
	optional bool // nothing to look at is no problem, even in a strict run
}

// problemsMax bounds what is reported of one rule.
const problemsMax = 8

func (f *finding) fail(format string, args ...any) {
	if len(f.problems) < problemsMax {
		f.problems = append(f.problems, fmt.Sprintf(format, args...))
	}
}

// skip notes why a rule, or a part of it, has nothing to look at. It counts only where nothing else was looked at.
func (f *finding) skip(format string, args ...any) {
	if f.reason == "" {
		f.reason = fmt.Sprintf(format, args...)
	}
}

// look counts that something was looked at.
func (f *finding) look() { f.looked++ }

// response is what a service sent; its status is 0 when there was nothing.
type response struct {
	what   string // the request, for messages
	head   bool   // which has no body
	status int
	header http.Header
	body   []byte
}

// request is one with the key. The path is from /v1 on.
type request struct {
	method, path, body string
	header             map[string]string // "" leaves one out
}

// quotaTriesMax bounds how often a request waits for its quota.
const quotaTriesMax = 5

// quotaWaitMax is above the 60 s in which a quota refills.
const quotaWaitMax = 90 * time.Second

// send sends a request and observes its response. Without a response the rule fails.
func (k *kit) send(q request) response {
	r, err := k.patiently(q, k.observe)
	if err != nil {
		k.fail("%s: no response: %v", r.what, err)
	}
	return r
}

// do sends a request; header has names and values in turn.
func (k *kit) do(method, path, body string, header ...string) response {
	q := request{method: method, path: path, body: body, header: map[string]string{}}
	for i := 0; i+1 < len(header); i += 2 {
		q.header[header[i]] = header[i+1]
	}
	return k.send(q)
}

func (k *kit) get(path string) response { return k.do(http.MethodGet, path, "") }

// patiently waits where the quota is used up. saw looks at every response.
func (k *kit) patiently(q request, saw func(response)) (response, error) {
	for try := 1; ; try++ {
		r, err := k.once(q)
		if err != nil {
			return response{what: r.what, header: r.header}, err
		}
		saw(r)
		if r.status != http.StatusTooManyRequests || try == quotaTriesMax {
			return r, nil
		}
		wait, err := strconv.Atoi(r.header.Get("Retry-After"))
		if err != nil || time.Duration(wait)*time.Second > quotaWaitMax || k.Wait(k.ctx, time.Duration(wait)*time.Second) != nil {
			return r, nil // the rule reports what it has instead
		}
	}
}

// bodyBytesRead is above what an audit with all of its findings has.
const bodyBytesRead = 16 << 20

func (k *kit) once(q request) (response, error) {
	out := response{what: q.method + " " + q.path, head: q.method == http.MethodHead, header: http.Header{}}
	if k.company != "" {
		out.what = q.method + " " + strings.Replace(q.path, k.company, "{companyId}", 1)
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
	out.body, err = io.ReadAll(io.LimitReader(got.Body, bodyBytesRead))
	return out, errors.Join(err, got.Body.Close())
}

// envelope reads an error.
func (r response) envelope() (code string, messages []string, err error) {
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

// is fails the rule unless the response is an error of this code whose message has this part in it.
func (k *kit) is(r response, code fault.Code, part string) {
	k.look()
	if r.status == 0 {
		return // send has failed the rule
	}
	if r.status != code.Status() {
		k.fail("%s: %d instead of %d %s", r.what, r.status, code.Status(), code)
		return
	}
	got, messages, err := r.envelope()
	switch {
	case err != nil:
		k.fail("%s: %v", r.what, err)
	case got != string(code):
		k.fail("%s: the code is %s instead of %s", r.what, got, code)
	case !strings.Contains(strings.Join(messages, "\n"), part):
		k.fail("%s: no message names %s: %s", r.what, part, strings.Join(messages, "; "))
	}
}

// ok fails the rule unless the response is a success, and decodes it.
func (k *kit) ok(r response, into any) bool {
	k.look()
	if r.status == 0 {
		return false // send has failed the rule
	}
	if r.status != http.StatusOK {
		_, messages, _ := r.envelope() // of what is none there are no messages
		k.fail("%s: %d instead of 200: %s", r.what, r.status, strings.Join(messages, "; "))
		return false
	}
	if err := json.Unmarshal(r.body, into); err != nil {
		k.fail("%s: its body cannot be read: %v", r.what, err)
		return false
	}
	return true
}

// record is ok for a response that is a record.
func (k *kit) record(r response) (record map[string]any, ok bool) {
	ok = k.ok(r, &record)
	return record, ok
}

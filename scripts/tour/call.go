package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
)

// tour is one visit of one service.
type tour struct {
	base, company, key string
	client             *http.Client
	out                io.Writer
	calls              int
	emulated           bool // a gateway that is always https is reached by http
}

// version is the one that every answer names (spec.md, Versioning).
const version = "2026-08-11"

// answer is what came back.
type answer struct {
	status int
	header http.Header
	body   any
}

// at returns a member of the body: at("items", 0, "id"). It is nil where there is none.
func (a answer) at(path ...any) any {
	value := a.body
	for _, step := range path {
		switch step := step.(type) {
		case string:
			object, _ := value.(map[string]any)
			value = object[step]
		case int:
			list, _ := value.([]any)
			if step >= len(list) {
				return nil
			}
			value = list[step]
		}
	}
	return value
}

func (a answer) text(path ...any) string {
	s, _ := a.at(path...).(string)
	return s
}

func (a answer) count(path ...any) int {
	list, _ := a.at(path...).([]any)
	return len(list)
}

// request is one call. The path is below the base URL; "~" stands for the company's own path.
type request struct {
	method, path string
	body         any
	header       map[string]string
	anonymous    bool
	want         int // 0: 200
}

// call makes a request. An answer with another status, without the service's version, or with anything but JSON is an
// error that says what was called and what came back.
func (t *tour) call(ctx context.Context, r request) (answer, error) {
	t.calls++
	url := r.path
	if !strings.Contains(url, "://") {
		url = t.base + strings.Replace(r.path, "~", "/v1/companies/"+t.company, 1)
	}
	req, err := t.request(ctx, r, url)
	if err != nil {
		return answer{}, err
	}
	response, err := t.client.Do(req)
	if err != nil {
		return answer{}, err // it names the method and the URL
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return answer{}, fmt.Errorf("%s %s: read the answer: %w", r.method, url, err)
	}
	a := answer{status: response.StatusCode, header: response.Header}
	if r.want == 0 {
		r.want = http.StatusOK
	}
	switch {
	case a.status != r.want:
		return a, fmt.Errorf("%s %s: status %d, not %d: %.500s", r.method, url, a.status, r.want, text)
	case response.Header.Get("Service-Version") != version:
		return a, fmt.Errorf("%s %s: Service-Version is %q", r.method, url, response.Header.Get("Service-Version"))
	}
	if len(text) == 0 {
		return a, nil
	}
	if err := json.Unmarshal(text, &a.body); err != nil {
		return a, fmt.Errorf("%s %s: the answer is not JSON: %.500s", r.method, url, text)
	}
	return a, nil
}

func (t *tour) request(ctx context.Context, r request, url string) (*http.Request, error) {
	var body io.Reader
	if r.body != nil {
		text, err := json.Marshal(r.body)
		if err != nil {
			return nil, err
		}
		body = bytes.NewReader(text)
	}
	req, err := http.NewRequestWithContext(ctx, r.method, url, body)
	if err != nil {
		return nil, err
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if !r.anonymous {
		req.Header.Set("Authorization", "Bearer "+t.key)
	}
	for name, value := range r.header {
		req.Header.Set(name, value)
	}
	return req, nil
}

// get is a call that reads.
func (t *tour) get(ctx context.Context, path string) (answer, error) {
	return t.call(ctx, request{method: "GET", path: path})
}

// list reads a list and requires that it holds something.
func (t *tour) list(ctx context.Context, paths ...string) error {
	for _, path := range paths {
		a, err := t.get(ctx, path)
		if err != nil {
			return err
		}
		if a.count("items") == 0 {
			return fmt.Errorf("GET %s: the list is empty: has functions/testdata/company.jsonl been imported?", path)
		}
	}
	return nil
}

// refused requires that a request is refused with a status and a code of the envelope.
func (t *tour) refused(ctx context.Context, r request, code string) error {
	a, err := t.call(ctx, r)
	if err == nil && a.text("errors", 0, "code") != code {
		return fmt.Errorf("%s %s: the envelope is %v, not of %s", r.method, r.path, a.body, code)
	}
	return err
}

func dialTo(dial func(context.Context, string, string) (net.Conn, error), address string) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, network, _ string) (net.Conn, error) { return dial(ctx, network, address) }
}

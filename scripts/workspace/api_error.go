package main

import (
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"

	"growthworkspace/shared/client"
)

// refusedCall is an error of the service as the command line shows it: a message in a line, then the request's id.
type refusedCall struct {
	Code      string   `json:"code"`
	Status    int      `json:"status"`
	Messages  []string `json:"messages"` // with flags where the service names places
	RequestID string   `json:"requestId"`

	hint string
}

func (e *refusedCall) Error() string {
	head := e.Code
	if head == "" {
		head = "refused"
	}
	lines := []string{fmt.Sprintf("%s (%d)", head, e.Status)}
	for _, m := range e.Messages {
		lines = append(lines, "  "+shown(&m)) // which may quote what was sent
	}
	if e.hint != "" {
		lines = append(lines, "  "+e.hint)
	}
	if e.RequestID != "" {
		lines = append(lines, "  request "+shown(&e.RequestID))
	}
	return strings.Join(lines, "\n")
}

// detail is how the error is printed with --json.
func (e *refusedCall) detail() any {
	return struct {
		Error string `json:"error"`
		*refusedCall
	}{strings.Join(append([]string{e.Code}, e.Messages...), ": "), e}
}

// explainCall says what an error of a call means here.
func explainCall(err error, r connection) error {
	var refused *client.Error
	if errors.As(err, &refused) {
		out := &refusedCall{Code: refused.Code, Status: refused.Status, Messages: refused.Messages, RequestID: refused.RequestID}
		switch refused.Status {
		case http.StatusUnauthorized:
			out.hint = fmt.Sprintf("%s was sent to %s; `workspace doctor` says more", r.source, r.BaseURL)
		case http.StatusTooManyRequests:
			if wait := refused.RetryAfter; wait > 0 {
				out.hint = fmt.Sprintf("again in %d s", int(wait.Seconds()))
			}
		}
		return out
	}
	var place interface{ Timeout() bool } // of every error of the network
	if errors.As(err, &place) {
		return fmt.Errorf("%s does not answer: %w", r.BaseURL, err)
	}
	return err
}

var placed = regexp.MustCompile(`^(?:body|query|path|header)\.([A-Za-z-]+)`)

// explain is explainCall with flags in the place of fields: body.title is --title.
func (c *operationCall) explain(err error, r connection) error {
	err = explainCall(err, r)
	var refused *refusedCall
	if c.body != nil || !errors.As(err, &refused) { // in a body of a file, the service's places are those that are meant
		return err
	}
	for i, m := range refused.Messages {
		found := placed.FindStringSubmatch(m)
		if found == nil || c.fields[found[1]] == nil {
			continue
		}
		refused.Messages[i] = "--" + kebab(found[1]) + strings.TrimPrefix(m, found[0])
	}
	return refused
}

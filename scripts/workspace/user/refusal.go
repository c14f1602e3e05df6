package user

import (
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"

	"growthworkspace/scripts/workspace/terminal"
	"growthworkspace/shared/client"
)

// refusedCall is an error response as the command line shows it: each message in a line, then the id of the request.
type refusedCall struct {
	Code      string   `json:"code"`
	Status    int      `json:"status"`
	Messages  []string `json:"messages"` // with flags in place of fields
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
		lines = append(lines, "  "+terminal.Escape(m)) // which may quote what was sent
	}
	if e.hint != "" {
		lines = append(lines, "  "+e.hint)
	}
	if e.RequestID != "" {
		lines = append(lines, "  request "+terminal.Escape(e.RequestID))
	}
	return strings.Join(lines, "\n")
}

// Detail is the error as terminal.Terminal.Fail prints it with --json.
func (e *refusedCall) Detail() any {
	return struct {
		Error string `json:"error"`
		*refusedCall
	}{strings.Join(append([]string{e.Code}, e.Messages...), ": "), e}
}

// explainCall adds what an error of a call means for the user.
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
	var network interface{ Timeout() bool }
	if errors.As(err, &network) {
		return fmt.Errorf("%s does not answer: %w", r.BaseURL, err)
	}
	return err
}

var placed = regexp.MustCompile(`^(?:body|query|path|header)\.([A-Za-z-]+)`)

// explain is explainCall with flags in place of fields: body.title becomes --title.
func (c *operationCall) explain(err error, r connection) error {
	err = explainCall(err, r)
	var refused *refusedCall
	if c.body != nil || !errors.As(err, &refused) { // the body is a file, so the fields are those of the file
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

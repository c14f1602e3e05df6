package user

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"syscall"

	"growthworkspace/scripts/workspace/terminal"
	"growthworkspace/shared/client"
)

// callError is an error response as the command line prints it: one message per line, then the
// request id.
type callError struct {
	Code      string   `json:"code"`
	Status    int      `json:"status"`
	Messages  []string `json:"messages"` // they name flags instead of fields
	RequestID string   `json:"requestId"`

	RetryAfterSeconds int `json:"retryAfterSeconds,omitempty"`

	hint string
}

func (e *callError) Error() string {
	head := e.Code
	if head == "" {
		head = "refused"
	}
	lines := []string{fmt.Sprintf("%s (%d)", head, e.Status)}
	for _, m := range e.Messages {
		lines = append(lines, "  "+terminal.EscapeControls(m)) // escape controls, because a message may quote input
	}
	if e.hint != "" {
		lines = append(lines, "  "+e.hint)
	}
	if e.RequestID != "" {
		lines = append(lines, "  request "+terminal.EscapeControls(e.RequestID))
	}
	return strings.Join(lines, "\n")
}

// Detail returns the value that terminal.Terminal.Fail prints with --json.
func (e *callError) Detail() any {
	return struct {
		Error string `json:"error"`
		*callError
	}{strings.Join(append([]string{e.Code}, e.Messages...), ": "), e}
}

// explainCallError adds advice for the user to a request's error.
func (u *userCommands) explainCallError(err error, r connection) error {
	var refused *client.Error
	if errors.As(err, &refused) {
		out := &callError{Code: refused.Code, Status: refused.Status, Messages: refused.Messages, RequestID: refused.RequestID, RetryAfterSeconds: int(refused.RetryAfter.Seconds())}
		switch refused.Status {
		case http.StatusUnauthorized:
			out.hint = fmt.Sprintf("%s was sent to %s; `%s` explains more", r.source, r.BaseURL, u.Command("doctor%s", r.profileArgument("--profile")))
		case http.StatusTooManyRequests:
			if out.RetryAfterSeconds > 0 {
				out.hint = fmt.Sprintf("retry in %d s", out.RetryAfterSeconds)
			}
		}
		if refused.Code == "" {
			out.Messages = []string{fmt.Sprintf("%s responds with %d %s, but not as this service does", r.BaseURL, refused.Status, http.StatusText(refused.Status))}
			out.hint = u.foreignResponseAdvice(refused.Status, r.BaseURL)
		}
		return out
	}
	return u.explainNetworkError(err, r.BaseURL)
}

// foreignResponseAdvice says what to do about an error response that does not come from the
// service.
func (u *userCommands) foreignResponseAdvice(status int, base string) string {
	switch {
	case status == http.StatusProxyAuthRequired:
		return "the proxy requires a login: " + proxyAdvice(base)
	case status >= 300 && status < 400:
		return "it redirects, and no key is sent to another address: use the address to which it redirects"
	case status == http.StatusBadRequest && strings.HasPrefix(base, "http:"):
		return "if the server uses TLS, the address begins with https"
	case status >= http.StatusInternalServerError:
		return "a gateway or a proxy between this machine and the service has failed: try again, then ask the service's operator; " + maybeChangedAdvice
	}
	return u.addressAdvice(base)
}

// isNotServing reports whether err means that no server listens at base, and base is an address of
// this machine, where `serve` could listen.
func isNotServing(err error, base string) bool {
	return strings.HasPrefix(base, "http:") && client.Loopback(base) && errors.Is(err, syscall.ECONNREFUSED)
}

// serveAdvice says how to start the service at an address of this machine.
func (u *userCommands) serveAdvice(base string) string {
	command := u.Command("serve")
	if at, err := url.Parse(base); err == nil && base != defaultBaseURL {
		command += " --addr " + net.JoinHostPort(at.Hostname(), cmp.Or(at.Port(), "80"))
	}
	return fmt.Sprintf("start the service there with `%s`", command)
}

var argumentPattern = regexp.MustCompile(`^(?:body|query|path|header)\.([A-Za-z-]+)`)

// explainError is like explainCallError, but its messages name flags instead of fields. For
// example, body.title becomes --title.
func (c *operationCall) explainError(u *userCommands, err error, r connection) error {
	err = u.explainCallError(err, r)
	var refused *callError
	if c.body != nil || !errors.As(err, &refused) { // with --input, the fields are in a file and have no flags
		return err
	}
	for i, m := range refused.Messages {
		found := argumentPattern.FindStringSubmatch(m)
		if found == nil || c.fields[found[1]] == nil {
			continue
		}
		refused.Messages[i] = "--" + kebabCase(found[1]) + strings.TrimPrefix(m, found[0])
	}
	return refused
}

package client

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// ErrNotModified is returned by a read with IfNoneMatch if the record has not changed.
var ErrNotModified = errors.New("client: not modified")

// Error is an error response. Branch on Code; Messages are for people and may change.
type Error struct {
	Status     int           // HTTP status
	Code       string        // such as CodeBadRequest; empty if the body is not an error envelope
	Messages   []string      // all problems with the request
	RequestID  string        // the id with which the operator can find the request in the logs
	RetryAfter time.Duration // time to wait before a retry; zero if the response does not contain it

	// Attempts is the number of attempts. If it is greater than 1, an earlier attempt may have
	// succeeded even though its response was lost. That can explain a not_found from a delete, or a
	// precondition_failed from an update.
	Attempts int
	Waited   time.Duration // total time that the call waited
}

func (e *Error) Error() string {
	text := e.Code
	if text == "" {
		text = fmt.Sprintf("status %d", e.Status)
	}
	text += ": " + strings.Join(e.Messages, "; ")
	if e.Code == CodeRateLimited && e.Waited > 0 {
		text += fmt.Sprintf("; gave up after %d attempts and %v of waiting", e.Attempts, e.Waited.Round(time.Second/10))
	}
	if e.RequestID != "" {
		text += " (" + e.RequestID + ")"
	}
	return text
}

// Fields maps parts of the request, such as body.title or query.limit, to the problems with them.
// The problems do not repeat the name of the part. Fields leaves out problems that are not about
// one part.
func (e *Error) Fields() map[string]string {
	out := map[string]string{}
	for _, m := range e.Messages {
		field, problem, found := strings.Cut(m, ": ")
		place, _, _ := strings.Cut(field, ".")
		switch {
		case !found || strings.Contains(field, " ") || !slices.Contains([]string{"path", "query", "header", "body"}, place):
		case out[field] != "":
			out[field] += "; " + problem
		default:
			out[field] = problem
		}
	}
	return out
}

// errorOf returns the error that a response describes. It does not quote a body that is not an
// error envelope, such as a proxy's error page.
func errorOf(r *Response) *Error {
	out := &Error{Status: r.Status, RequestID: r.Header.Get("Service-Request-Id"), RetryAfter: retryAfter(r.Header)}
	var envelope struct {
		Errors []struct {
			Code    string `json:"code"`
			Message string `json:"message"`
		} `json:"errors"`
	}
	if err := json.Unmarshal(r.Body, &envelope); err != nil || len(envelope.Errors) == 0 {
		out.Messages = []string{"the response is not from the service: " + http.StatusText(r.Status)}
		return out
	}
	out.Code = envelope.Errors[0].Code
	for _, e := range envelope.Errors {
		out.Messages = append(out.Messages, e.Message)
	}
	return out
}

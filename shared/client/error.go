package client

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// ErrNotModified is the answer of a read with IfNoneMatch whose record still is as it was seen.
var ErrNotModified = errors.New("client: not modified")

// Error is a refusal of the service. Branch on Code; Messages are for people and may be reworded.
type Error struct {
	Status     int           // of HTTP
	Code       string        // such as bad_request; empty when the answer is not the service's own envelope
	Messages   []string      // all that is wrong with the request
	RequestID  string        // for questions to the operator
	RetryAfter time.Duration // how long to wait; zero when the service does not say

	// Attempts is how often the call was sent. Above 1, an earlier one may have been done without its answer arriving:
	// the not_found of a delete and the precondition_failed of an update can then be of its own making.
	Attempts int
}

func (e *Error) Error() string {
	text := e.Code
	if text == "" {
		text = fmt.Sprintf("status %d", e.Status)
	}
	text += ": " + strings.Join(e.Messages, "; ")
	if e.RequestID != "" {
		text += " (" + e.RequestID + ")"
	}
	return text
}

// errorOf reads a refusal. What is not the envelope, such as the page of a proxy, is not repeated.
func errorOf(r *Response) *Error {
	out := &Error{Status: r.Status, RequestID: r.Header.Get("Service-Request-Id"), RetryAfter: retryAfter(r.Header)}
	var envelope struct {
		Errors []struct {
			Code    string `json:"code"`
			Message string `json:"message"`
		} `json:"errors"`
	}
	if err := json.Unmarshal(r.Body, &envelope); err != nil || len(envelope.Errors) == 0 {
		out.Messages = []string{"the answer is not the service's: " + http.StatusText(r.Status)}
		return out
	}
	out.Code = envelope.Errors[0].Code
	for _, e := range envelope.Errors {
		out.Messages = append(out.Messages, e.Message)
	}
	return out
}

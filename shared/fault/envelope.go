package fault

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
)

// PublicError returns the error that the caller may see: the *Error that err is or wraps. For a
// missed deadline it returns ErrTimeout. For any other error, and for an *Error with the status 500,
// it returns ErrInternal.
func PublicError(err error) *Error {
	var public *Error
	if errors.As(err, &public) && public.Code.Status() != http.StatusInternalServerError && len(public.Messages) > 0 {
		return public
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return ErrTimeout
	}
	return ErrInternal
}

type envelope struct {
	Errors []errorEntry `json:"errors"`
}

type errorEntry struct {
	Code    Code   `json:"code"`
	Message string `json:"message"`
}

// Envelope returns the JSON body of an error response: {"errors":[{"code","message"}]}, one entry
// for each message.
func Envelope(err *Error) []byte {
	e := envelope{make([]errorEntry, len(err.Messages))}
	for i, message := range err.Messages {
		e.Errors[i] = errorEntry{err.Code, message}
	}
	var body bytes.Buffer
	encoder := json.NewEncoder(&body)
	encoder.SetEscapeHTML(false) // the body is JSON, and never part of an HTML page
	if encodeErr := encoder.Encode(e); encodeErr != nil {
		panic("fault: an envelope of strings does not encode: " + encodeErr.Error())
	}
	return bytes.TrimSuffix(body.Bytes(), []byte("\n"))
}

// Parse parses the body of an error response. It returns an error if body is not an error envelope.
func Parse(body []byte) (*Error, error) {
	var e envelope
	if err := json.Unmarshal(body, &e); err != nil || len(e.Errors) == 0 {
		return nil, errors.Join(errors.New("not an error envelope"), err)
	}
	out := &Error{Code: e.Errors[0].Code}
	for _, e := range e.Errors {
		out.Messages = append(out.Messages, e.Message)
	}
	return out, nil
}

package fault

import (
	"net/http"
	"strconv"
)

// Write writes an error response: the status, the envelope, and the headers of every response and
// of the error. A header that was set before stays; one that was set to nil is left out. The
// response to a HEAD has no body.
func Write(w http.ResponseWriter, r *http.Request, requestID string, err *Error) {
	body := Envelope(err)
	SetHeader(w.Header(), requestID, len(body))
	err.SetHeader(w.Header())
	w.WriteHeader(err.Code.Status())
	if r.Method != http.MethodHead {
		_, _ = w.Write(body) // an error means that the caller disconnected
	}
}

// SetHeader sets the headers of every response: the version, the request id, and Cache-Control, so
// that no cache keeps it. bytes is the size of the JSON body, 0 for none. requestID may be empty.
func SetHeader(h http.Header, requestID string, bytes int) {
	h.Set("Service-Version", Version)
	h.Set("Cache-Control", "no-store")
	if requestID != "" {
		h.Set("Service-Request-Id", requestID)
	}
	if bytes > 0 {
		h.Set("Content-Type", "application/json")
		setDefault(h, "Content-Length", strconv.Itoa(bytes))
	}
}

// SetHeader sets the headers of responses with this error. Rate limits have their own Retry-After.
func (e *Error) SetHeader(h http.Header) {
	switch {
	case e.Code == Unauthorised:
		h.Set("WWW-Authenticate", "Bearer")
	case e.Code.Status() >= http.StatusInternalServerError:
		setDefault(h, "Retry-After", strconv.Itoa(RetryAfterSeconds))
	}
}

func setDefault(h http.Header, name, value string) {
	if _, set := h[name]; !set {
		h.Set(name, value)
	}
}

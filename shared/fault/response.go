package fault

import (
	"cmp"
	"net/http"
	"strconv"
)

// Write writes an error response: the status, the headers common to all responses, those of the
// error, and the envelope. If a Content-Length or Retry-After is already set, Write keeps it; if it
// is set to nil, Write omits it. The response to a HEAD has no body.
func Write(w http.ResponseWriter, r *http.Request, requestID string, err *Error) {
	body := Envelope(err)
	SetHeader(w.Header(), requestID, len(body))
	err.SetHeader(w.Header())
	w.WriteHeader(err.Code.Status())
	if r.Method != http.MethodHead {
		_, _ = w.Write(body) // an error means that the caller disconnected
	}
}

// SetHeader sets the headers common to all responses: the version, the request id, and a
// Cache-Control that keeps the response out of caches. bytes is the size of the JSON body, or 0 if
// there is no body. requestID may be empty.
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

// SetHeader sets the headers that this error adds to a response. Rate-limit errors have their own
// Retry-After.
func (e *Error) SetHeader(h http.Header) {
	switch {
	case e.Code == Unauthorised:
		h.Set("WWW-Authenticate", "Bearer")
	case e.Code == NotImplemented: // a retry would have the same result
	case e.Code.Status() >= http.StatusInternalServerError:
		setDefault(h, "Retry-After", strconv.Itoa(cmp.Or(e.RetryAfterSeconds, RetryAfterSeconds)))
	}
}

func setDefault(h http.Header, name, value string) {
	if _, set := h[name]; !set {
		h.Set(name, value)
	}
}

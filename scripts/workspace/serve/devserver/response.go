package devserver

import (
	"fmt"
	"net/http"
	"time"

	"growthworkspace/shared/fault"
)

// shedResponse is the response to one request. The handler writes the body in one piece, so its
// size is known before anything is sent.
type shedResponse struct {
	http.ResponseWriter

	server  *Server
	request *http.Request
	path    string    // method and path of the request
	until   time.Time // deadline for writing the response
	leave   func()    // frees the request's slot; nil if it has none

	status   int  // set by the handler
	sent     bool // the status has been sent
	closed   bool // the handler's writes are discarded
	reserved int64
}

// WriteHeader keeps the status until the body is known.
func (w *shedResponse) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
}

// Write sends the body. It frees the slot first, because a slow reader must not keep it.
func (w *shedResponse) Write(body []byte) (n int, err error) {
	w.freeBudget()
	if w.status == http.StatusOK {
		w.server.sizes.set(w.path, int64(len(body)))
	}
	if len(body) > heavyBytesMin && !w.closed {
		if !w.server.responses.take(int64(len(body))) {
			clear(w.Header())
			w.shed("responses")
		} else {
			w.reserved += int64(len(body))
		}
	}
	if w.closed {
		return len(body), nil
	}
	w.send()
	control := http.NewResponseController(w.ResponseWriter)
	for n < len(body) && err == nil {
		if err = control.SetWriteDeadline(w.deadline()); err != nil {
			break
		}
		var wrote int
		wrote, err = w.ResponseWriter.Write(body[n:min(len(body), n+heavyBytesMin)])
		n += wrote
	}
	return n, err
}

// deadline returns the write deadline for the next piece.
func (w *shedResponse) deadline() time.Time {
	if soon := time.Now().Add(w.server.pieceTimeout); soon.Before(w.until) {
		return soon
	}
	return w.until
}

func (w *shedResponse) freeBudget() {
	if w.leave != nil {
		w.leave()
	}
}

func (w *shedResponse) send() {
	if !w.sent && w.status != 0 {
		w.ResponseWriter.WriteHeader(w.status)
	}
	w.sent = true
}

// end completes the response once the handler has returned.
func (w *shedResponse) end() {
	w.freeBudget()
	w.send()
	w.server.responses.give(w.reserved)
}

// shed responds that the server is overloaded. what is the name of the limit that was reached.
func (w *shedResponse) shed(what string) { w.refuse(fmt.Errorf("%s: %w", what, fault.ErrUnavailable)) }

// refuse responds with an error instead of the handler's response.
func (w *shedResponse) refuse(err error) {
	requestID, public := w.server.newID("req"), fault.PublicError(err)
	w.status, w.sent, w.closed = public.Code.Status(), true, true
	fault.Write(w.ResponseWriter, w.request, requestID, public)
	w.server.log.Warn("request refused", "reason", err, "requestId", requestID)
}

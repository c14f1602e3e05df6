package devserver

import (
	"fmt"
	"net/http"
	"time"

	"growthworkspace/shared/fault"
	"growthworkspace/shared/gateway"
)

// limitedResponse is the response to one request. The handler writes the body in one piece, so its
// size is known before anything is sent.
type limitedResponse struct {
	http.ResponseWriter

	server        *Server
	request       *http.Request
	methodAndPath string    // method and path of the request
	writeDeadline time.Time // by when the whole response must be written
	releaseSlot   func()    // frees the request's slot; nil if the request has none

	status         int  // the status that the handler set
	statusSent     bool // whether the status has been sent
	discardsWrites bool // whether to discard the handler's writes, because an error was sent instead
	reservedBytes  int64
}

// WriteHeader stores the status without sending it, because shed may still replace the response.
func (w *limitedResponse) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
}

// Write sends the body. It frees the slot first, so that a client that reads slowly does not keep
// the slot.
func (w *limitedResponse) Write(body []byte) (n int, err error) {
	w.freeSlot()
	if w.status == http.StatusOK {
		w.server.sizes.set(w.methodAndPath, int64(len(body)))
	}
	if len(body) > heavyBytesMin && !w.discardsWrites {
		if !w.server.responseBudget.reserve(int64(len(body))) {
			clear(w.Header())
			w.shed("responses")
		} else {
			w.reservedBytes += int64(len(body))
		}
	}
	if w.discardsWrites {
		return len(body), nil
	}
	w.sendStatus()
	control := http.NewResponseController(w.ResponseWriter)
	for n < len(body) && err == nil {
		if err = control.SetWriteDeadline(w.nextWriteDeadline()); err != nil {
			break
		}
		var wrote int
		wrote, err = w.ResponseWriter.Write(body[n:min(len(body), n+heavyBytesMin)])
		n += wrote
	}
	return n, err
}

// nextWriteDeadline returns the write deadline for the next piece of the body.
func (w *limitedResponse) nextWriteDeadline() time.Time {
	if soon := time.Now().Add(w.server.pieceTimeout); soon.Before(w.writeDeadline) {
		return soon
	}
	return w.writeDeadline
}

func (w *limitedResponse) freeSlot() {
	if w.releaseSlot != nil {
		w.releaseSlot()
	}
}

func (w *limitedResponse) sendStatus() {
	if !w.statusSent && w.status != 0 {
		w.ResponseWriter.WriteHeader(w.status)
	}
	w.statusSent = true
}

// end completes the response once the handler has returned.
func (w *limitedResponse) end() {
	w.freeSlot()
	w.sendStatus()
	w.server.responseBudget.release(w.reservedBytes)
}

// shed responds that the server is overloaded. limit is the name of the limit that was reached.
func (w *limitedResponse) shed(limit string) {
	w.refuse(fmt.Errorf("%s: %w", limit, fault.ErrUnavailable))
}

// refuse responds with an error instead of the handler's response.
func (w *limitedResponse) refuse(err error) {
	requestID, public := gateway.NewRequestIDs(w.server.newID).Public(), fault.PublicError(err)
	w.status, w.statusSent, w.discardsWrites = public.Code.Status(), true, true
	fault.Write(w.ResponseWriter, w.request, requestID, public)
	w.server.log.Warn("request refused", "reason", err, "extendedRequestId", requestID)
}

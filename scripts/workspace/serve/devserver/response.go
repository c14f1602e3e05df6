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
func (l *limitedResponse) WriteHeader(status int) {
	if l.status == 0 {
		l.status = status
	}
}

// Write sends the body. It frees the slot first, so that a client that reads slowly does not keep
// the slot.
func (l *limitedResponse) Write(body []byte) (n int, err error) {
	l.freeSlot()
	if l.status == http.StatusOK {
		l.server.sizes.set(l.methodAndPath, int64(len(body)))
	}
	if len(body) > heavyBytesMin && !l.discardsWrites {
		if !l.server.responseBudget.reserve(int64(len(body))) {
			clear(l.Header())
			l.shed("responses")
		} else {
			l.reservedBytes += int64(len(body))
		}
	}
	if l.discardsWrites {
		return len(body), nil
	}
	l.sendStatus()
	control := http.NewResponseController(l.ResponseWriter)
	for n < len(body) && err == nil {
		if err = control.SetWriteDeadline(l.nextWriteDeadline()); err != nil {
			break
		}
		var wrote int
		wrote, err = l.ResponseWriter.Write(body[n:min(len(body), n+heavyBytesMin)])
		n += wrote
	}
	return n, err
}

// nextWriteDeadline returns the write deadline for the next piece of the body.
func (l *limitedResponse) nextWriteDeadline() time.Time {
	if soon := time.Now().Add(l.server.pieceTimeout); soon.Before(l.writeDeadline) {
		return soon
	}
	return l.writeDeadline
}

func (l *limitedResponse) freeSlot() {
	if l.releaseSlot != nil {
		l.releaseSlot()
	}
}

func (l *limitedResponse) sendStatus() {
	if !l.statusSent && l.status != 0 {
		l.ResponseWriter.WriteHeader(l.status)
	}
	l.statusSent = true
}

// end completes the response once the handler has returned.
func (l *limitedResponse) end() {
	l.freeSlot()
	l.sendStatus()
	l.server.responseBudget.release(l.reservedBytes)
}

// shed responds that the server is overloaded. limit is the name of the limit that was reached.
func (l *limitedResponse) shed(limit string) {
	l.refuse(fmt.Errorf("%s: %w", limit, fault.ErrUnavailable))
}

// refuse responds with an error instead of the handler's response.
func (l *limitedResponse) refuse(err error) {
	requestID, public := gateway.NewRequestIDs(l.server.newID).Public(), fault.PublicError(err)
	l.status, l.statusSent, l.discardsWrites = public.Code.Status(), true, true
	fault.Write(l.ResponseWriter, l.request, requestID, public)
	l.server.log.Warn("request refused", "reason", err, "extendedRequestId", requestID)
}

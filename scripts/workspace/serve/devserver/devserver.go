// Package devserver is the HTTP server of `workspace serve`. In an AWS account, API Gateway takes
// its place. Like API Gateway, this package limits the resources that callers can use.
//
// Connections, bodies and responses are limited. A request that exceeds a limit gets a 503 in the
// error envelope, either at once or after a second in the queue, and uses little memory until then.
// Requests with heavy bodies have their own queue, and so do requests whose path had a heavy
// response before, so that a flood of heavy requests does not delay others. The handler refuses a
// body that is too large for any operation. net/http refuses headers that are too large, and
// responds in plain text to a request that is not valid HTTP.
package devserver

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"growthworkspace/shared/fault"
	"growthworkspace/shared/id"
)

// Limits of a server.
const (
	connectionsMax = 512      // open at the same time
	headerBytesMax = 10 << 10 // of one request, including the request line, as in API Gateway
	callsPerCPU    = 4        // requests handled at the same time, per processor
	queueTimeout   = time.Second

	heavyBytesMin     = 64 << 10  // a larger body or response is heavy
	totalBodyBytesMax = 32 << 20  // total for all requests
	bodyBytesMax      = 10 << 20  // for one request, as in API Gateway; the handler refuses a larger body
	uploadBytesMin    = 256 << 10 // a larger body is an upload

	totalResponseBytesMax = 32 << 20 // total for all heavy responses, because a slow reader keeps its response in memory

	headerTimeout = 5 * time.Second
	readTimeout   = 20 * time.Second // for reading the headers and the body
	writeTimeout  = 30 * time.Second // includes the time in the handler
	pieceTimeout  = 5 * time.Second  // for writing each piece of at most heavyBytesMin bytes
	idleTimeout   = time.Minute

	memoryLimit = 160 << 20 // the garbage collector works harder near this limit
)

// Server serves a handler on a port.
type Server struct {
	http  http.Server
	newID id.Generator
	log   *slog.Logger

	upload func(*http.Request) error

	light, heavyBody           slotPool     // for requests with a light or a heavy body
	heavyResponse              slotPool     // for requests with a light body whose response is expected to be heavy
	waiting                    atomic.Int64 // requests that are waiting for a slot of heavyResponse
	sizes                      sizeCache    // the sizes of heavy responses, by path
	bodyBudget, responseBudget byteBudget
	connectionsMax             int
	queueTimeout, pieceTimeout time.Duration
}

// New returns a server. newID creates the ids of the requests that do not reach the handler. upload
// returns an error for a request that may not send a body larger than 256 KB. In an AWS account,
// API Gateway receives the bodies, so only here could a client without a key use up memory and a
// connection with a large body.
func New(h http.Handler, log *slog.Logger, newID id.Generator, upload func(*http.Request) error) *Server {
	processors := runtime.GOMAXPROCS(0)
	s := &Server{
		newID: newID, log: log, upload: upload,
		light: make(slotPool, callsPerCPU*processors), heavyBody: make(slotPool, max(1, processors/2)), heavyResponse: make(slotPool, max(1, processors/2)),
		bodyBudget: byteBudget{limit: totalBodyBytesMax}, responseBudget: byteBudget{limit: totalResponseBytesMax},
		connectionsMax: connectionsMax, queueTimeout: queueTimeout, pieceTimeout: pieceTimeout,
	}
	s.http = http.Server{
		Handler:                      http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { s.serve(h, w, r) }),
		ReadHeaderTimeout:            headerTimeout,
		ReadTimeout:                  readTimeout,
		WriteTimeout:                 writeTimeout,
		IdleTimeout:                  idleTimeout,
		MaxHeaderBytes:               headerBytesMax - headerBytesSlack,
		DisableGeneralOptionsHandler: true, // OPTIONS * reaches the handler
		ErrorLog:                     slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
	return s
}

// Serve serves the connections of a listener until Close or Shutdown. It limits the memory of this
// process, unless GOMEMLIMIT already does.
func (s *Server) Serve(l net.Listener) error {
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(memoryLimit)
	}
	return s.http.Serve(&listener{Listener: l, server: s})
}

// HTTP returns the underlying net/http server, so that a caller can close it.
func (s *Server) HTTP() *http.Server { return &s.http }

// headerBytesSlack is the number of bytes that net/http adds to MaxHeaderBytes.
const headerBytesSlack = 4 << 10

// serve handles a request: it reads the body, waits for a slot, and calls the handler.
func (s *Server) serve(h http.Handler, w http.ResponseWriter, r *http.Request) {
	out := &limitedResponse{ResponseWriter: w, server: s, request: r, writeDeadline: time.Now().Add(writeTimeout)}
	defer out.end()
	if len(r.TransferEncoding) > 0 { // a Content-Length may have been sent, too, which net/http drops (RFC 9112, 6.1)
		w.Header().Set("Connection", "close")
	}
	body, err := s.readBody(r)
	defer func() { s.bodyBudget.release(int64(cap(body))) }()
	if err != nil {
		w.Header().Set("Connection", "close") // the rest of the body is not read
		out.refuse(err)
		return
	}
	out.methodAndPath = r.Method + " " + r.URL.Path
	slots, limit := s.acquire(r, out.methodAndPath, len(body) > heavyBytesMin)
	if slots == nil {
		out.shed(limit)
		return
	}
	begin := time.Now()
	out.releaseSlot = sync.OnceFunc(func() { s.release(slots, time.Since(begin)) })
	if body != nil {
		// If the body is too large, the handler reads the rest of it. If the body ended early, the
		// handler gets the read error.
		r.Body = io.NopCloser(io.MultiReader(bytes.NewReader(body), r.Body))
	}
	h.ServeHTTP(out, r)
}

// acquire takes a slot for a request from the matching pool and returns that pool. If no slot
// becomes free in time, or slow readers have used up the budget for responses, it returns nil and
// the name of the limit.
func (s *Server) acquire(r *http.Request, path string, heavy bool) (slots slotPool, limit string) {
	const queue = "queue"
	if heavy {
		if s.heavyBody.acquire(r.Context(), s.queueTimeout) {
			return s.heavyBody, ""
		}
		return nil, queue
	}
	if s.sizes.get(path) == 0 {
		if !s.light.acquire(r.Context(), s.queueTimeout) {
			return nil, queue
		}
		if s.sizes.get(path) == 0 {
			return s.light, ""
		}
		s.light.release() // while this request was waiting, another response from its path was heavy
	}
	if !s.responseBudget.hasRoom(s.sizes.get(path)) {
		return nil, "responses"
	}
	s.waiting.Add(1)
	defer s.waiting.Add(-1)
	if s.heavyResponse.acquire(r.Context(), s.queueTimeout) {
		return s.heavyResponse, ""
	}
	return nil, queue
}

// release frees a slot that a request held for the given time. The slot of a heavy request may stay
// taken for the same time again, to leave CPU time for light requests.
func (s *Server) release(slots slotPool, held time.Duration) {
	if slots == s.heavyBody || slots == s.heavyResponse && s.waiting.Load() > 0 {
		time.AfterFunc(held, slots.release)
		return
	}
	slots.release()
}

// errBodyBudget is the error for a body that does not fit in the budget.
var errBodyBudget = fmt.Errorf("bodies: %w", fault.ErrUnavailable)

// readBody reads the body, up to the maximum size that the handler accepts. It returns an error if
// the client may not upload that much, or if the body does not fit in the budget. The budget counts
// the size of the buffer, which grows as bytes arrive, and not the declared length. The caller must
// return cap(body) to the budget, even after an error.
func (s *Server) readBody(r *http.Request) (body []byte, err error) {
	if r.ContentLength == 0 || r.ContentLength > bodyBytesMax {
		return nil, nil // there is no body, or the handler refuses it without reading it
	}
	allowed := false // whether more than uploadBytesMin bytes may be read
	for {
		if !allowed && max(int(r.ContentLength), 2*cap(body)) > uploadBytesMin {
			if err := s.upload(r); err != nil {
				return body, err
			}
			allowed = true
		}
		size := max(heavyBytesMin, 2*cap(body))
		if r.ContentLength > 0 {
			size = min(size, int(r.ContentLength))
		}
		if !s.bodyBudget.reserve(int64(size - cap(body))) {
			return body, errBodyBudget
		}
		grown := make([]byte, size)
		n, err := io.ReadFull(r.Body, grown[copy(grown, body):])
		body = grown[:len(body)+n]
		if err != nil || len(body) == int(r.ContentLength) || len(body) > bodyBytesMax {
			return body, nil
		}
	}
}

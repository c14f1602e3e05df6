// Package devserver is the HTTP server of `workspace serve`. In an AWS account, API Gateway takes
// its place. Like the gateway, this package limits the resources that callers can use.
//
// Connections, bodies and responses have limits. A request beyond them gets a 503 in the error
// envelope at once, or after a second in the queue, and costs little memory until then. The handler
// refuses a body that is too large for any operation, and net/http headers that are too large.
// Requests with heavy bodies have their own queue, and so do requests whose path had a heavy
// response before, so that a flood of them does not delay others. net/http itself refuses a request
// that is not valid HTTP, in plain text.
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
	connectionsMax = 512      // open at a time
	headerBytesMax = 10 << 10 // of one request with its first line, as in API Gateway
	callsPerCPU    = 4        // requests that each processor handles at a time
	queueMax       = time.Second

	heavyBytesMin  = 64 << 10  // a body or a response with more is heavy
	bodiesMax      = 32 << 20  // of all requests together
	bodyMax        = 10 << 20  // of one, as in API Gateway; the handler refuses a larger one
	uploadBytesMin = 256 << 10 // a body with more is an upload

	responsesMax = 32 << 20 // of all heavy ones together: a slow reader keeps them in memory

	headerTimeout = 5 * time.Second
	readTimeout   = 20 * time.Second // for header and body
	writeTimeout  = 30 * time.Second // for handling, too
	pieceTimeout  = 5 * time.Second  // for each piece of heavyBytesMin
	idleTimeout   = time.Minute

	memoryLimit = 160 << 20 // the collector works harder near it
)

// Server serves a handler on a port.
type Server struct {
	http  http.Server
	newID id.Generator
	log   *slog.Logger

	upload func(*http.Request) error

	light, heavy        slotPool     // for requests by the size of their body
	large               slotPool     // for requests with a light body whose response will be heavy, as far as is known
	waiting             atomic.Int64 // requests that wait for a slot of large
	sizes               sizeCache    // of heavy responses
	bodies, responses   byteBudget
	connections         int
	queue, pieceTimeout time.Duration
}

// New returns a server. newID creates the ids of the requests that do not reach the handler. upload
// returns an error if more than 256 KB of a request's body must not be read. In an AWS account a
// gateway receives the bodies, so only here can a client without a key use up memory and a
// connection with a large body.
func New(h http.Handler, log *slog.Logger, newID id.Generator, upload func(*http.Request) error) *Server {
	processors := runtime.GOMAXPROCS(0)
	s := &Server{
		newID: newID, log: log, upload: upload,
		light: make(slotPool, callsPerCPU*processors), heavy: make(slotPool, max(1, processors/2)), large: make(slotPool, max(1, processors/2)),
		bodies: byteBudget{limit: bodiesMax}, responses: byteBudget{limit: responsesMax},
		connections: connectionsMax, queue: queueMax, pieceTimeout: pieceTimeout,
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
// process, unless GOMEMLIMIT does.
func (s *Server) Serve(l net.Listener) error {
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(memoryLimit)
	}
	return s.http.Serve(&listener{Listener: l, server: s})
}

// HTTP returns the server of net/http, so that a caller can close it.
func (s *Server) HTTP() *http.Server { return &s.http }

// headerBytesSlack is what net/http adds to MaxHeaderBytes.
const headerBytesSlack = 4 << 10

// serve handles a request: it reads the body, waits for a slot, and calls the handler.
func (s *Server) serve(h http.Handler, w http.ResponseWriter, r *http.Request) {
	out := &shedResponse{ResponseWriter: w, server: s, request: r, until: time.Now().Add(writeTimeout)}
	defer out.end()
	if len(r.TransferEncoding) > 0 { // perhaps with a Content-Length, which net/http drops (RFC 9112, 6.1)
		w.Header().Set("Connection", "close")
	}
	body, err := s.readBody(r)
	defer func() { s.bodies.give(int64(cap(body))) }()
	if err != nil {
		w.Header().Set("Connection", "close") // the rest of the body is not read
		out.refuse(err)
		return
	}
	out.path = r.Method + " " + r.URL.Path
	slots, limit := s.acquire(r, out.path, len(body) > heavyBytesMin)
	if slots == nil {
		out.shed(limit)
		return
	}
	begin := time.Now()
	out.leave = sync.OnceFunc(func() { s.release(slots, time.Since(begin)) })
	if body != nil {
		// The handler reads the rest of a body that is too large, or the error of one that ends
		// early.
		r.Body = io.NopCloser(io.MultiReader(bytes.NewReader(body), r.Body))
	}
	h.ServeHTTP(out, r)
}

// acquire takes a slot for a request from the matching pool and returns that pool. If none is free
// in time, or slow readers have used up the budget of responses, it returns nil and the limit that
// was reached.
func (s *Server) acquire(r *http.Request, path string, heavy bool) (slots slotPool, limit string) {
	const queue = "queue"
	if heavy {
		if s.heavy.acquire(r.Context(), s.queue) {
			return s.heavy, ""
		}
		return nil, queue
	}
	if s.sizes.get(path) == 0 {
		if !s.light.acquire(r.Context(), s.queue) {
			return nil, queue
		}
		if s.sizes.get(path) == 0 {
			return s.light, ""
		}
		s.light.release() // while it waited, another response showed that this one is heavy
	}
	if !s.responses.hasRoom(s.sizes.get(path)) {
		return nil, "responses"
	}
	s.waiting.Add(1)
	defer s.waiting.Add(-1)
	if s.large.acquire(r.Context(), s.queue) {
		return s.large, ""
	}
	return nil, queue
}

// release gives a slot back that a request held for a time. A heavy request's slot stays taken for
// as long again if needed, to leave CPU for light requests.
func (s *Server) release(slots slotPool, held time.Duration) {
	if slots == s.heavy || slots == s.large && s.waiting.Load() > 0 {
		time.AfterFunc(held, slots.release)
		return
	}
	slots.release()
}

// errBodies is the error for a body that does not fit in the budget.
var errBodies = fmt.Errorf("bodies: %w", fault.ErrUnavailable)

// readBody reads the body, up to the largest that the handler accepts. It returns an error if the
// request must not upload so much, or if the body does not fit in the budget. The budget counts
// the buffer, which grows with the bytes that arrive, not the declared length. The caller returns
// cap(body) to it, even after an error.
func (s *Server) readBody(r *http.Request) (body []byte, err error) {
	if r.ContentLength == 0 || r.ContentLength > bodyMax {
		return nil, nil // the handler refuses it without reading
	}
	allowed := false // more than uploadBytesMin
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
		if !s.bodies.take(int64(size - cap(body))) {
			return body, errBodies
		}
		grown := make([]byte, size)
		n, err := io.ReadFull(r.Body, grown[copy(grown, body):])
		body = grown[:len(body)+n]
		if err != nil || len(body) == int(r.ContentLength) || len(body) > bodyMax {
			return body, nil
		}
	}
}

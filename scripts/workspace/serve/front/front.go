// Package front is the HTTP server of `workspace serve`. An account has API Gateway in this place, so this package does what
// the gateway does there: it bounds what callers can take, and every failure has the error envelope.
//
//   - Connections, headers, bodies and responses have limits. What is too much gets a 503 at once, or after a second in the
//     queue, and costs little memory until then. Requests with heavy bodies have a queue of their own, so a flood of
//     them does not delay others (this file).
//   - net/http's server answers a request that is not valid HTTP by itself, in plain text. The connection replaces such a
//     response by the envelope (wire.go).
package front

import (
	"bytes"
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

	"growthworkspace/shared/id"
)

// Limits of a server.
const (
	connectionsMax = 512      // open at a time
	headerBytesMax = 10 << 10 // of one request, as in API Gateway; net/http adds 4 KB
	callsPer       = 4        // requests that each processor handles at a time
	queueMax       = time.Second

	heavyBytes = 64 << 10 // a body or a response with more is heavy
	bodiesMax  = 32 << 20 // of all requests together
	bodyMax    = 10 << 20 // of one, as in API Gateway; the handler refuses a larger one

	responsesMax = 32 << 20 // of all heavy ones together: a slow reader keeps them in memory

	headerTimeout = 5 * time.Second
	readTimeout   = 20 * time.Second // for header and body
	writeTimeout  = 30 * time.Second // for handling, too
	pieceTimeout  = 5 * time.Second  // for each piece of heavyBytes
	idleTimeout   = time.Minute

	memoryLimit = 160 << 20 // the collector works harder near it
)

// Server serves a handler on a port.
type Server struct {
	http  http.Server
	newID id.Generator
	log   *slog.Logger

	light, heavy      chan struct{} // a place for each request that is handled
	bodies, responses budget
	connections       int
	queue, piece      time.Duration
}

// New returns a server. newID makes the ids of the requests that do not reach the handler.
func New(h http.Handler, log *slog.Logger, newID id.Generator) *Server {
	processors := runtime.GOMAXPROCS(0)
	s := &Server{
		newID: newID, log: log,
		light: make(chan struct{}, callsPer*processors), heavy: make(chan struct{}, max(1, processors/2)),
		bodies: budget{limit: bodiesMax}, responses: budget{limit: responsesMax},
		connections: connectionsMax, queue: queueMax, piece: pieceTimeout,
	}
	s.http = http.Server{
		Handler:                      http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { s.serve(h, w, r) }),
		ReadHeaderTimeout:            headerTimeout,
		ReadTimeout:                  readTimeout,
		WriteTimeout:                 writeTimeout,
		IdleTimeout:                  idleTimeout,
		MaxHeaderBytes:               headerBytesMax,
		DisableGeneralOptionsHandler: true, // OPTIONS * gets the envelope, too
		ErrorLog:                     slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
	return s
}

// Serve serves the connections of a listener until Close or Shutdown. It limits the memory of this process, unless GOMEMLIMIT
// does.
func (s *Server) Serve(l net.Listener) error {
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(memoryLimit)
	}
	return s.http.Serve(&listener{Listener: l, server: s})
}

// HTTP returns the server of net/http, to end it.
func (s *Server) HTTP() *http.Server { return &s.http }

// serve handles a request: it reads the body, waits for a place, and sends the response.
func (s *Server) serve(h http.Handler, w http.ResponseWriter, r *http.Request) {
	out := &response{ResponseWriter: w, server: s, until: time.Now().Add(writeTimeout)}
	defer out.end()
	body, ok := s.read(r)
	defer func() { s.bodies.give(int64(cap(body))) }()
	if !ok {
		w.Header().Set("Connection", "close") // the rest of the body is not read
		out.shed("bodies")
		return
	}
	heavy, places := len(body) > heavyBytes, s.light
	if heavy {
		places = s.heavy
	}
	if !s.enter(r, places) {
		out.shed("queue")
		return
	}
	begin := time.Now()
	out.leave = sync.OnceFunc(func() {
		if heavy { // the place rests as long as it was used, so that light requests find a processor
			time.AfterFunc(time.Since(begin), func() { <-places })
			return
		}
		<-places
	})
	if body != nil {
		// The handler reads the rest of a body that is too large, or the error of one that ends early.
		r.Body = io.NopCloser(io.MultiReader(bytes.NewReader(body), r.Body))
	}
	h.ServeHTTP(out, r)
}

// enter waits for a place and reports whether there was one in time.
func (s *Server) enter(r *http.Request, places chan struct{}) bool {
	select {
	case places <- struct{}{}:
		return true
	default:
	}
	wait := time.NewTimer(s.queue)
	defer wait.Stop()
	select {
	case places <- struct{}{}:
		return true
	case <-wait.C:
	case <-r.Context().Done():
	}
	return false
}

// read reads the body, up to the largest that the handler accepts, and reports whether the budget has room for it. The budget
// counts what has arrived, not what the client promises. The caller gives cap(body) back.
func (s *Server) read(r *http.Request) (body []byte, ok bool) {
	if r.ContentLength == 0 || r.ContentLength > bodyMax {
		return nil, true // the handler refuses it without reading
	}
	for {
		size := max(heavyBytes, 2*cap(body))
		if r.ContentLength > 0 {
			size = min(size, int(r.ContentLength))
		}
		if !s.bodies.take(int64(size - cap(body))) {
			return body, false
		}
		grown := make([]byte, size)
		n, err := io.ReadFull(r.Body, grown[copy(grown, body):])
		body = grown[:len(body)+n]
		if err != nil || len(body) == int(r.ContentLength) || len(body) > bodyMax {
			return body, true
		}
	}
}

// budget is a number of bytes that many requests share.
type budget struct {
	limit int64
	used  atomic.Int64
}

func (b *budget) take(n int64) bool {
	if b.used.Add(n) > b.limit {
		b.used.Add(-n)
		return false
	}
	return true
}

func (b *budget) give(n int64) { b.used.Add(-n) }

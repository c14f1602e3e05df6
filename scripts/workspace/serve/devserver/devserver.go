// Package devserver is the HTTP server of `workspace serve`, which takes the place of API Gateway.
// Like API Gateway, it limits the resources that callers can use.
//
// There are limits on connections, on request bodies and on responses. If a limit is reached, the
// server responds with 503 and an error in the API's format, either immediately or after a second
// in the queue (ten for a large body). Companies take turns in the queues (package fairqueue), so
// that no key makes the others wait for all of its requests. Requests with large bodies have their
// own queue. So do requests to paths whose last response was large. Thus a flood of heavy requests does not delay light ones. The handler refuses
// a body that is too large for any operation. net/http refuses headers that are too large, and
// responds in plain text to a request that is not valid HTTP.
package devserver

import (
	"bytes"
	"context"
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

	"growthworkspace/shared/auth"
	"growthworkspace/shared/fairqueue"
	"growthworkspace/shared/fault"
	"growthworkspace/shared/id"
)

// Limits of a server.
const (
	connectionsMax = 512      // connections open at the same time
	headerBytesMax = 10 << 10 // the headers of one request with its request line, as in API Gateway
	callsPerCPU    = 4        // requests handled at the same time, per processor
	queueTimeout   = time.Second

	// A request with a large body waits longer, because few are handled at the same time and each may
	// take seconds. While it waits, it takes no slot of others.
	heavyQueueTimeout = 10 * time.Second

	heavyBytesMin     = 64 << 10  // a larger body or response makes a request heavy
	totalBodyBytesMax = 32 << 20  // the bodies of all requests together
	bodyBytesMax      = 10 << 20  // the body of one request, as in API Gateway; the handler refuses a larger one
	uploadBytesMin    = 256 << 10 // a larger body is read only if Server.upload allows it

	totalResponseBytesMax = 32 << 20 // all heavy responses together, because each stays in memory until its client has read it

	headerTimeout = 5 * time.Second
	readTimeout   = 20 * time.Second // for reading the headers and the body
	writeTimeout  = 30 * time.Second // for the handler and for writing the response
	pieceTimeout  = 5 * time.Second  // for writing one piece of a response, at most heavyBytesMin bytes
	idleTimeout   = time.Minute

	memoryLimit = 160 << 20 // a soft limit, near which the garbage collector runs more often
)

// Server serves a handler on a port.
type Server struct {
	http  http.Server
	newID id.Generator
	log   *slog.Logger

	upload func(*http.Request) error

	light, heavyBody           *fairqueue.Pool // for requests with a light or a heavy body
	heavyResponse              *fairqueue.Pool // for requests with a light body whose response is expected to be heavy
	waiting                    atomic.Int64    // requests that are waiting for a slot of heavyResponse
	sizes                      sizeCache       // the sizes of the last heavy responses, by path
	bodyBudget, responseBudget byteBudget
	connectionsMax             int
	queueTimeout, pieceTimeout time.Duration
	heavyQueueTimeout          time.Duration
}

// New returns a server. newID creates ids for requests that do not reach the handler. upload
// returns an error for a request that may not send a body larger than 256 KB, such as one without a
// key. In an AWS account, API Gateway receives the bodies. Here, a client without a key could use
// up memory and connections by sending large bodies.
func New(h http.Handler, log *slog.Logger, newID id.Generator, upload func(*http.Request) error) *Server {
	processors := runtime.GOMAXPROCS(0)
	s := &Server{
		newID: newID, log: log, upload: upload,
		light: fairqueue.New(callsPerCPU * processors), heavyBody: fairqueue.New(max(1, processors/2)), heavyResponse: fairqueue.New(max(1, processors/2)),
		bodyBudget: byteBudget{limit: totalBodyBytesMax}, responseBudget: byteBudget{limit: totalResponseBytesMax},
		connectionsMax: connectionsMax, queueTimeout: queueTimeout, heavyQueueTimeout: heavyQueueTimeout, pieceTimeout: pieceTimeout,
	}
	s.http = http.Server{
		Handler:                      http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { s.serve(h, w, r) }),
		ReadHeaderTimeout:            headerTimeout,
		ReadTimeout:                  readTimeout,
		WriteTimeout:                 writeTimeout,
		IdleTimeout:                  idleTimeout,
		MaxHeaderBytes:               headerBytesMax - headerBytesSlack,
		DisableGeneralOptionsHandler: true, // so that OPTIONS * reaches the handler
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

// serve reads the body of a request, waits for a slot, and calls the handler.
func (s *Server) serve(h http.Handler, w http.ResponseWriter, r *http.Request) {
	out := &limitedResponse{ResponseWriter: w, server: s, request: r, writeDeadline: time.Now().Add(writeTimeout)}
	defer out.end()
	if len(r.TransferEncoding) > 0 { // net/http hides whether there was also a Content-Length, so close the connection (RFC 9112, 6.1)
		w.Header().Set("Connection", "close")
	}
	body, err := s.readBody(r)
	defer func() { s.bodyBudget.release(int64(cap(body))) }()
	if err != nil {
		w.Header().Set("Connection", "close") // because the rest of the body is not read
		out.refuse(err)
		return
	}
	out.methodAndPath = r.Method + " " + r.URL.Path
	company := companyOf(r)
	slots, limit := s.acquire(r.Context(), company, out.methodAndPath, len(body) > heavyBytesMin)
	if slots == nil {
		out.shed(limit)
		return
	}
	begin := time.Now()
	out.releaseSlot = sync.OnceFunc(func() { s.release(slots, company, time.Since(begin)) })
	if body != nil {
		// If the body is too large, the handler reads the rest from r.Body. If the client sent less
		// than it declared, the handler gets the read error from r.Body.
		r.Body = io.NopCloser(io.MultiReader(bytes.NewReader(body), r.Body))
	}
	h.ServeHTTP(out, r)
}

// companyOf returns the company that the request's key names, for taking turns. The key has not been
// checked. The result is empty if the request has no key.
func companyOf(r *http.Request) string {
	token, _ := auth.ParseHeader(r.Header.Values("Authorization")) // the handler reports a malformed key
	return token.CompanyID
}

// acquire takes a slot for a company's request from the matching pool and returns that pool. It
// returns nil and the name of the limit if no slot becomes free in time, or if unread responses
// have used up the budget for responses.
func (s *Server) acquire(ctx context.Context, company, path string, heavy bool) (slots *fairqueue.Pool, limit string) {
	const queue = "queue"
	timeout := s.queueTimeout
	if heavy {
		timeout = s.heavyQueueTimeout
	}
	ctx, stop := context.WithTimeout(ctx, timeout)
	defer stop()
	if heavy {
		if s.heavyBody.Acquire(ctx, company) == nil {
			return s.heavyBody, ""
		}
		return nil, queue
	}
	if s.sizes.get(path) == 0 {
		if s.light.Acquire(ctx, company) != nil {
			return nil, queue
		}
		if s.sizes.get(path) == 0 {
			return s.light, ""
		}
		s.light.Release(company) // another response from this path was heavy while this request was waiting
	}
	if !s.responseBudget.hasRoom(s.sizes.get(path)) {
		return nil, "responses"
	}
	s.waiting.Add(1)
	defer s.waiting.Add(-1)
	if s.heavyResponse.Acquire(ctx, company) == nil {
		return s.heavyResponse, ""
	}
	return nil, queue
}

// release frees the slot of a company's request that held it for the given time. The slot of a heavy
// request may stay taken for as long again, to leave CPU time for light requests.
func (s *Server) release(slots *fairqueue.Pool, company string, held time.Duration) {
	if slots == s.heavyBody || slots == s.heavyResponse && s.waiting.Load() > 0 {
		time.AfterFunc(held, func() { slots.Release(company) })
		return
	}
	slots.Release(company)
}

// errBodyBudget is the error for a body that does not fit in the budget that all bodies share.
var errBodyBudget = fmt.Errorf("bodies: %w", fault.ErrUnavailable)

// readBody reads the body, up to the maximum size that the handler accepts. It returns an error if
// the client may not upload that much, or if the body does not fit in the budget that all bodies
// share. It reserves the size of its buffer, which grows as bytes arrive, and not the length that
// the client declares. The caller must return cap(body) to the budget, even after an error.
func (s *Server) readBody(r *http.Request) (body []byte, err error) {
	if r.ContentLength == 0 || r.ContentLength > bodyBytesMax {
		return nil, nil // there is no body, or the handler refuses it unread
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

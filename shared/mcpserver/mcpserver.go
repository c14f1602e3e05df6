// Package mcpserver makes every declared operation a tool of the Model Context Protocol, over streamable HTTP. Read it in
// this order:
//
//   - mcpserver.go: Server takes a POST, asks for the key and sends each message of the frame on its way.
//   - frame.go: what a body says, before anything is believed; a method that is not served is refused here.
//   - exchange.go: one message's way through the pipeline and the SDK, and which of the two answers.
//   - tool.go: the tool that an operation is, and the result that its answer is.
//
// The official SDK speaks the protocol: revisions, initialisation, parameters, errors. It gets one message at a time that
// frame.go has spelled anew, so that what was checked and what is done cannot differ, and its answer is looked at before
// it leaves. What is HTTP's is said in HTTP, in the envelope: a bad key, a used-up quota, a body that is too large, a
// foreign origin. What is the protocol's is said in JSON-RPC. What an operation refuses is a tool result with isError,
// because only that reaches the model.
//
// A tools/call is one api.Call, with nothing before it and nothing after it, so it costs what its HTTP twin costs. Every
// other message counts as a read (decisions.md §9). Nothing leaves before the key was verified.
package mcpserver

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"runtime/debug"
	"strconv"
	"sync"
	"time"

	"growthworkspace/shared/api"
	"growthworkspace/shared/auth"
	"growthworkspace/shared/fault"
	"growthworkspace/shared/id"
	"growthworkspace/shared/version"
)

// Path is where the server is, below the base URL.
const Path = "/mcp"

// frameBytesMax is the largest body. It is above what the arguments of a tool may have (decisions.md §9), so that
// arguments that are too large are refused by the pipeline, as over HTTP.
const frameBytesMax = 1 << 20

// frameTimeout bounds one request: above that of a call, below the function's 10 s (design.md §5).
const frameTimeout = 9500 * time.Millisecond

// Server serves operations as tools at Path. It keeps nothing from one request to the next, and is safe for concurrent
// use.
type Server struct {
	api        *api.API
	operations []api.Operation
	sdk        http.Handler
	tools      func() []tool // made at the first tools/list
	newID      id.Generator
	log        *slog.Logger
}

// New returns a server of the operations. It panics when two of them are the same.
func New(operations []api.Operation, c api.Config) *Server {
	operations = offered(operations)
	s := &Server{
		api:        api.New(operations, c),
		operations: operations, newID: c.NewID, log: c.Log,
	}
	s.tools = sync.OnceValue(func() []tool { return tools(operations) })
	s.sdk = s.connect()
	return s
}

// ServeHTTP answers with JSON, or with an empty 202 where nobody waits for an answer.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	requestID := s.newID("req")
	h := w.Header()
	h.Set("Service-Version", version.Current)
	h.Set("Service-Request-Id", requestID)
	h.Set("Cache-Control", "no-store")
	out := s.answer(r, requestID)
	for name, values := range out.header {
		h[name] = values
	}
	if len(out.body) > 0 {
		h.Set("Content-Type", "application/json")
	}
	h.Set("Content-Length", strconv.Itoa(len(out.body)))
	w.WriteHeader(out.status)
	if r.Method != http.MethodHead {
		_, _ = w.Write(out.body) // a caller who has gone needs no answer
	}
}

// answer checks what HTTP says of a request, in the order of decisions.md §11.
func (s *Server) answer(r *http.Request, requestID string) (out reply) {
	defer func() {
		if p := recover(); p != nil { // only a fault of this package leads here
			out = s.refuse(requestID, fmt.Errorf("panic: %v\n%s", p, debug.Stack()))
		}
	}()
	switch {
	case r.URL.EscapedPath() != Path:
		err := fault.New(fault.NotFound, "no such path")
		return s.refuse(requestID, err)
	case r.Method != http.MethodPost:
		err := fault.New(fault.MethodNotAllowed, "this path takes POST")
		out = s.refuse(requestID, err)
		out.header.Set("Allow", http.MethodPost)
		return out
	case foreign(r):
		err := fault.New(fault.Forbidden, "header.Origin: a page of another host may not call")
		return s.refuse(requestID, err)
	}
	ctx, cancel := context.WithTimeout(r.Context(), frameTimeout)
	defer cancel()
	common := api.Call{RequestID: requestID, Authorization: r.Header.Values("Authorization"), Version: r.Header.Values("Service-Version")}
	_, badKey := auth.ParseHeader(common.Authorization)
	if _, badVersion := version.Requested(common.Version); badKey != nil || badVersion != nil {
		return s.exchange(ctx, r, common, message{}) // the pipeline says which
	}
	text, problem := body(r)
	if problem != nil {
		return s.exchange(ctx, r, common, message{problem: problem})
	}
	return s.frame(ctx, r, common, text)
}

// body reads the body, and says what is wrong with it as a whole. Accept is not looked at: there is one form of answer.
func body(r *http.Request) ([]byte, *fault.Error) {
	text, err := io.ReadAll(io.LimitReader(r.Body, frameBytesMax+1))
	switch mediaType, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); {
	case err != nil:
		return nil, fault.Invalid("body", "could not be read to its end")
	case len(text) > frameBytesMax:
		return nil, fault.New(fault.PayloadTooLarge, "body: must have at most %d bytes", frameBytesMax)
	case mediaType != "application/json":
		return nil, fault.Invalid("header.Content-Type", "must be application/json")
	}
	return text, nil
}

// reply is what goes back over HTTP.
type reply struct {
	status  int
	header  http.Header
	body    []byte
	refused bool // the body is the envelope
}

// refuse ends a request that never came to the pipeline.
func (s *Server) refuse(requestID string, err error) reply {
	return refused(s.api.Refuse(requestID, "mcp", err))
}

// Package mcpserver serves every declared operation as a tool of the Model Context Protocol, over
// streamable HTTP. Read the files in this order:
//
//   - mcpserver.go: Server checks a POST and its key, and reads its body.
//   - message.go: parses the messages in a body, and checks them before anything acts on them.
//   - exchange.go: how the SDK and the pipeline of package api handle one message.
//   - areas.go: which tools a request can see and call.
//   - tool.go: the tool for an operation.
//   - view.go: the arguments "fields" and "at", and the text of a result.
//   - result.go: the result of a call.
//   - prompt.go: the prompts, which describe how to do a task with the tools.
//
// The official SDK implements the protocol: revisions, initialization, headers, results. Its
// middleware (Server.sdkMiddleware) calls the pipeline. There are three kinds of errors:
//
//   - HTTP errors, with the service's error envelope: a bad key, an exhausted quota, a body that is
//     too large, a foreign origin.
//   - Protocol errors, which are JSON-RPC errors.
//   - Errors of an operation. These are tool results with isError, because clients show a model
//     nothing else.
//
// A tools/call is exactly one api.Call, so it uses as much of the quota as the call over HTTP.
// Every other message counts as one read. No message is processed before the key is verified.
package mcpserver

import (
	"context"
	"io"
	"mime"
	"net/http"
	"sync"
	"time"

	"growthworkspace/shared/api"
	"growthworkspace/shared/auth"
	"growthworkspace/shared/fault"
	"growthworkspace/shared/gateway"
	"growthworkspace/shared/id"
	"growthworkspace/shared/parallel"
)

// Path is the path of the server below the base URL.
const Path = "/mcp"

// bodyBytesMax is the maximum size of a body. It is larger than the 256 KB limit for a tool's
// arguments, so that the pipeline can reject arguments over that limit, as it does over HTTP.
const bodyBytesMax = 1 << 20

// requestTimeout is the maximum duration of a request. It is between the timeout of a call, 9 s,
// and that of the Lambda function, 10 s. timeoutMargin is the difference between requestTimeout and
// the timeout of a call.
const (
	requestTimeout = 9500 * time.Millisecond
	timeoutMargin  = 500 * time.Millisecond
)

// logOperation is the name in the log for a message that calls no operation.
const logOperation = "mcp"

// Server serves operations as tools at Path. It is stateless and safe for concurrent use.
type Server struct {
	api        *api.API
	operations []api.Operation
	kinds      func() api.Kinds // returns the kinds of records that operations serve; built for the first use
	prompts    []Prompt
	tools      func() []*Tool // returns the tools for operations, in the same order; built for the first tools/list
	draftTools func() []*Tool // returns the same tools for draft-only keys; see forDrafting
	sdk        http.Handler
	newID      id.Generator
	timeout    time.Duration
}

// New returns a server that offers the operations as tools, together with the prompts. It panics if
// api.New does.
func New(operations []api.Operation, c api.Config, prompts ...Prompt) *Server {
	operations = toolOperations(operations)
	s := &Server{api: api.New(operations, c), operations: operations, prompts: prompts, newID: c.NewID, timeout: requestTimeout}
	if c.Timeout > 0 {
		s.timeout = c.Timeout + timeoutMargin
	}
	s.kinds = sync.OnceValue(func() api.Kinds { return api.NewKinds(operations) })
	s.tools = sync.OnceValue(func() []*Tool { return Tools(operations) })
	s.draftTools = sync.OnceValue(func() []*Tool { return Tools(forDrafting(operations)) })
	s.sdk = s.newSDKHandler()
	return s
}

// ServeHTTP responds with JSON, or with an empty 202 if no message needs a response.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), s.timeout)
	defer cancel()
	call := api.Call{
		RequestIDs: gateway.RequestIDsOf(ctx, s.newID), Authorization: r.Header.Values("Authorization"), Version: r.Header.Values("Service-Version"),
		Trace: api.ParseTrace(r.Header.Values("Traceparent")...), Lines: new([]api.LogLine),
	}
	out, err := s.serve(r.WithContext(ctx), call)
	if err != nil {
		out = s.api.ErrorResponse(ctx, call, logOperation, err)
	}
	s.api.Write(w, r, call, out)
}

// serve checks a request in the same order as the API: path, method, origin, key, version, body. It
// returns an error only after a panic.
func (s *Server) serve(r *http.Request, call api.Call) (out api.Response, err error) {
	defer parallel.Recover(&err)
	switch {
	case r.URL.EscapedPath() != Path:
		return s.api.ErrorResponse(r.Context(), call, logOperation, fault.New(fault.NotFound, "no such path")), nil
	case r.Method != http.MethodPost:
		out := s.api.ErrorResponse(r.Context(), call, logOperation, fault.New(fault.MethodNotAllowed, "this path accepts POST"))
		out.Header.Set("Allow", http.MethodPost)
		return out, nil
	case isForeignOrigin(r):
		return s.api.ErrorResponse(r.Context(), call, logOperation, fault.New(fault.Forbidden, "header.Origin: requests from pages of other hosts are not allowed")), nil
	}
	_, keyErr := auth.ParseHeader(call.Authorization)
	if keyErr != nil || s.api.CheckVersion(call.Version) != nil {
		return s.admitMessage(r.Context(), call, "", nil), nil // the pipeline reports the error
	}
	text, err := readBody(r)
	if err != nil {
		return s.admitMessage(r.Context(), call, "", err), nil
	}
	return s.serveBody(r, call, text), nil
}

// readBody reads the body of a request. The Accept header is ignored, because there is only one
// response format.
func readBody(r *http.Request) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(r.Body, bodyBytesMax+1))
	switch mediaType, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); {
	case err != nil:
		return nil, fault.Invalid("body", "could not be read completely")
	case len(text) > bodyBytesMax:
		return nil, fault.New(fault.PayloadTooLarge, "body: must have at most %d bytes", bodyBytesMax)
	case mediaType != "application/json":
		return nil, fault.Invalid("header.Content-Type", "must be application/json")
	}
	return text, nil
}

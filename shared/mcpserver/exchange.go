package mcpserver

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"growthworkspace/shared/api"
	"growthworkspace/shared/fault"
	"growthworkspace/shared/parallel"
)

// messageExchange is the state of one message while the SDK handles it. The SDK handles it on a
// separate goroutine, with a context that has the values of the request's context but not its
// cancellation. That goroutine has exited by the time the SDK's ServeHTTP returns.
type messageExchange struct {
	ctx      context.Context // the context of the HTTP request; unlike the SDK's context, it is cancelled when the caller disconnects
	call     api.Call
	message  message
	tools    toolSet
	response api.Response // from the pipeline; Status is 0 until the pipeline is called
	panicErr error

	isFromOperation bool // whether response comes from an operation
}

type messageExchangeKey struct{}

// serveMessage serves one message. The pipeline verifies the key. Usually sdkMiddleware calls the
// pipeline. If the SDK has not called sdkMiddleware, serveMessage calls the pipeline itself.
func (s *Server) serveMessage(r *http.Request, call api.Call, m message) api.Response {
	areas, err := s.areas(r)
	if err != nil {
		return s.admitMessage(r.Context(), call, "", err)
	}
	x := &messageExchange{ctx: r.Context(), call: call, message: m, tools: toolSet{s, areas}}
	var out api.Response
	if m.err == nil && m.IsCall() {
		out = s.callSDK(x, r, m)
	}
	if x.response.Status == 0 {
		x.response = s.admitMessage(x.ctx, call, "", nil)
	}
	switch {
	case x.panicErr != nil:
		return s.api.ErrorResponse(x.ctx, call, logOperation, x.panicErr)
	case x.response.Err != nil && (!x.isFromOperation || isKeyRejected(x.response)):
		return x.response
	case m.err != nil:
		out = api.Response{Status: httpStatus(m.err, r.Header.Get(versionHeader)), Body: encodeMessage(&jsonrpc.Response{ID: m.ID, Error: m.err})}
	case !m.IsCall():
		out = api.Response{Status: http.StatusAccepted}
	}
	out.Body = m.restoreID(out.Body)
	out.Header = keyHeaders(x.response.Header)
	return out
}

// isKeyRejected reports whether the key itself was rejected. It returns false for a missing scope:
// the key is then valid, so the error goes to the model.
func isKeyRejected(r api.Response) bool {
	return !r.Authenticated && (r.Err.Code == fault.Unauthorised || r.Err.Code == fault.Forbidden)
}

// keyHeaders returns only the headers about the rate limit and the API version. A record's entity
// tag, for example, does not apply to a JSON-RPC response.
func keyHeaders(h http.Header) http.Header {
	out := http.Header{}
	for name, values := range h {
		switch name {
		case "Retry-After", "Service-Version-Served", "Deprecation", "Sunset":
			out[name] = values
		default:
			if strings.HasPrefix(name, "Ratelimit") {
				out[name] = values
			}
		}
	}
	return out
}

// admissionOperation is a read that needs no scope. It is used for a message that calls no
// operation.
var admissionOperation = api.Define(api.Spec{
	ID: "get_message", Method: http.MethodPost, Path: Path, Effect: api.Read, Summary: "A message of the protocol that calls no operation",
}, func(ctx context.Context, _ api.Caller, _ struct{}) (struct{}, error) {
	problem, _ := ctx.Value(problemKey{}).(error)
	return struct{}{}, problem
})

type problemKey struct{}

// admitMessage calls the pipeline for a message that calls no operation. The pipeline verifies the
// key and counts the message as a read. If problem is not nil, the pipeline responds with that
// error. method is for the log and may be empty.
func (s *Server) admitMessage(ctx context.Context, call api.Call, method string, problem error) api.Response {
	op := admissionOperation
	op.ID = strings.TrimSpace(logOperation + " " + method)
	call.Operation = &op
	call.Arguments, _ = api.ParseToolArguments(nil)
	return s.api.Call(context.WithValue(ctx, problemKey{}, problem), call)
}

// newSDKHandler returns the SDK's handler without any tools, because sdkMiddleware serves the
// tools. The SDK would parse each tool's schema twice, which would take most of the server's
// startup time, and it does not support scopes.
func (s *Server) newSDKHandler() http.Handler {
	capabilities := &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}}
	if len(s.prompts) > 0 {
		capabilities.Prompts = &mcp.PromptCapabilities{} // the SDK's default would announce notifications about changes
	}
	server := mcp.NewServer(&mcp.Implementation{Name: "growthworkspace", Title: "Company Growth Workspace", Version: fault.Version}, &mcp.ServerOptions{
		Instructions: instructions(s.operations),
		Capabilities: capabilities,
		SetCacheable: func(_ context.Context, _ mcp.Request, c *mcp.Cacheable) {
			c.CacheScope = "private" // the list of tools depends on the key
			c.TTLMs = listTTL
		},
	})
	s.addPrompts(server)
	server.AddReceivingMiddleware(s.sdkMiddleware)
	return mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{
		Stateless: true, JSONResponse: true,
		MaxRequestBodyBytes: -1, DisableLocalhostProtection: true, // Server.serve checks both
	})
}

// sdkMiddleware is SDK middleware that calls the pipeline for every request. It recovers panics,
// because a panic on the SDK's goroutine would crash the process.
func (s *Server) sdkMiddleware(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, request mcp.Request) (result mcp.Result, err error) {
		x, _ := ctx.Value(messageExchangeKey{}).(*messageExchange)
		defer parallel.Recover(&x.panicErr)
		if call, ok := request.(*mcp.CallToolRequest); ok {
			if op := x.tools.lookup(call.Params.Name); op != nil {
				return s.callTool(x, op, call), nil
			}
		}
		x.response = s.admitMessage(x.ctx, x.call, method, nil)
		if x.response.Err != nil {
			return nil, nil // serveMessage returns the error
		}
		if get, ok := request.(*mcp.GetPromptRequest); ok && !x.seesPrompt(get.Params.Name) {
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: fmt.Sprintf("unknown prompt %q", get.Params.Name)}
		}
		result, err = next(ctx, method, request)
		if err != nil {
			return result, err
		}
		switch list := result.(type) {
		case *mcp.ListToolsResult:
			return toolList{list, x.tools.forScopes(x.response.Scopes)}, nil
		case *mcp.ListPromptsResult:
			list.Prompts = slices.DeleteFunc(list.Prompts, func(p *mcp.Prompt) bool { return !x.seesPrompt(p.Name) })
		}
		return result, nil
	}
}

// callSDK passes a message to the SDK and returns the response.
func (s *Server) callSDK(exchange *messageExchange, r *http.Request, m message) api.Response {
	r = r.Clone(context.WithValue(exchange.ctx, messageExchangeKey{}, exchange))
	r.Body = io.NopCloser(bytes.NewReader(encodeMessage(&m.Request))) // encoded again after the checks, so that the SDK cannot parse it differently
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Del("Last-Event-ID") // with it, the SDK would resume an event stream, but this server never opens one
	w := &responseBuffer{header: http.Header{}}
	s.sdk.ServeHTTP(w, r)
	body := bytes.TrimSpace(w.body.Bytes())
	switch {
	case len(body) == 0 || w.status >= http.StatusInternalServerError: // no response in time, or a response that cannot be encoded
		return s.api.ErrorResponse(exchange.ctx, exchange.call, logOperation, errors.Join(fmt.Errorf("the SDK's response to %s is %d %s", m.Method, w.status, body), context.Cause(exchange.ctx)))
	case w.header.Get("Content-Type") != "application/json":
		body = encodeMessage(&jsonrpc.Response{ID: m.ID, Error: &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: string(body)}})
	}
	return api.Response{Status: w.status, Body: body}
}

// responseBuffer holds the SDK's response.
type responseBuffer struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (r *responseBuffer) Header() http.Header { return r.header }

func (r *responseBuffer) WriteHeader(status int) { r.status = cmp.Or(r.status, status) }

func (r *responseBuffer) Write(p []byte) (int, error) {
	r.WriteHeader(http.StatusOK)
	return r.body.Write(p)
}

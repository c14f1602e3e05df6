package mcpserver

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"runtime/debug"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"growthworkspace/shared/api"
	"growthworkspace/shared/fault"
	"growthworkspace/shared/version"
)

// exchange is one message and what became of it. The SDK handles a message on a goroutine of its own, and only the context's values
// reach it there.
type exchange struct {
	ctx     context.Context // of the HTTP request: it ends when the caller goes, which the SDK's does not
	common  api.Call
	problem error

	mu       sync.Mutex
	response *api.Response // of the pipeline; nil until the message has been through it
}

type exchangeKey struct{}

func exchangeOf(ctx context.Context) *exchange {
	x, _ := ctx.Value(exchangeKey{}).(*exchange)
	return x
}

// outcome returns the pipeline's response, nil when the message has not been through it.
func (x *exchange) outcome() *api.Response {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.response
}

// badKey reports whether the pipeline refused the key as such. A missing scope is no such refusal: the key is valid, and the model
// is to read what it may not do.
func badKey(r api.Response) bool {
	return r.Err != nil && !r.Authenticated && (r.Err.Code == fault.Unauthorised || r.Err.Code == fault.Forbidden)
}

// call runs the pipeline.
func (x *exchange) call(a *api.API, op *api.Operation, arguments []byte) api.Response {
	c := x.common
	c.Operation = op
	c.Arguments, c.CompanyID = api.ToolArguments(arguments)
	response := a.Call(x.ctx, c)
	x.mu.Lock()
	defer x.mu.Unlock()
	x.response = &response
	return response
}

// admission is what a message that calls no operation is to the pipeline: an operation without a scope, a read, whose
// function knows only what was wrong with the request.
var admission = api.Define(api.Spec{
	ID: "get_message", Method: http.MethodPost, Path: Path, Effect: api.Read, Summary: "A message of the protocol that calls no operation",
}, func(ctx context.Context, _ api.Caller, _ struct{}) (struct{}, error) {
	return struct{}{}, exchangeOf(ctx).problem
})

// admit lets a message in that calls no operation.
func (s *Server) admit(x *exchange, m message) api.Response {
	op := admission
	op.ID = "mcp" // for the log
	if m.err == nil && m.method != "" && m.id != nil {
		op.ID += " " + m.method
	}
	return x.call(s.api, &op, nil)
}

// exchange answers one message. A tools/call asks for the key itself, within the pipeline; where the SDK finds that
// nothing is to be called, the key is asked for afterwards, before the answer leaves.
func (s *Server) exchange(ctx context.Context, r *http.Request, common api.Call, m message) reply {
	x := &exchange{common: common}
	if m.problem != nil {
		x.problem = m.problem
	}
	x.ctx = context.WithValue(ctx, exchangeKey{}, x)
	var out reply
	isCall := m.method == callTool && m.err == nil
	if isCall {
		out = s.speak(x, r, m)
	}
	response := x.outcome()
	if response == nil {
		admitted := s.admit(x, m)
		if admitted.Err != nil {
			return refused(admitted)
		}
		response = &admitted
	}
	switch {
	case badKey(*response):
		return refused(*response)
	case m.err != nil:
		out = reply{status: m.status(r.Header.Get(versionHeader)), body: errorBody(m.id, m.err)}
	case m.id == nil:
		out = reply{status: http.StatusAccepted}
	case !isCall:
		out = s.speak(x, r, m)
	}
	out.header = quota(response.Header)
	return out
}

// refused is an error of the pipeline that is HTTP's to tell.
func refused(r api.Response) reply {
	return reply{status: r.Status, header: r.Header, body: r.Body, refused: true}
}

// quota keeps what is about the caller. An entity tag is that of a record, not of this answer.
func quota(h http.Header) http.Header {
	out := http.Header{}
	for name, values := range h {
		if strings.HasPrefix(name, "Ratelimit-") || name == "Retry-After" || name == "Service-Version-Served" {
			out[name] = values
		}
	}
	return out
}

// connect returns the SDK's handler. No tool is added to it: it would read each schema twice, which is most of the time
// that the server takes to start, and knows no scopes. receive answers for the tools.
func (s *Server) connect() http.Handler {
	server := mcp.NewServer(&mcp.Implementation{Name: "growthworkspace", Title: "Company Growth Workspace", Version: version.Current}, &mcp.ServerOptions{
		Instructions: instructions,
		Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}},
		SetCacheable: func(_ context.Context, _ mcp.Request, c *mcp.Cacheable) {
			c.CacheScope = "private" // what is listed depends on the key
			c.TTLMs = listTTL
		},
	})
	server.AddReceivingMiddleware(s.receive)
	return mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{
		Stateless: true, JSONResponse: true,
		MaxRequestBodyBytes: -1, DisableLocalhostProtection: true, // both are checked before a message comes here
	})
}

// receive is around every request, on the SDK's goroutine, where a panic would end the process.
func (s *Server) receive(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, request mcp.Request) (answer mcp.Result, err error) {
		defer func() {
			if p := recover(); p != nil {
				s.log.Error("request", "requestId", exchangeOf(ctx).common.RequestID, "error", fmt.Sprintf("panic: %v\n%s", p, debug.Stack()))
				answer, err = nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: fault.ErrInternal.Messages[0]}
			}
		}()
		if call, ok := request.(*mcp.CallToolRequest); ok {
			if op := s.named(call.Params.Name); op != nil {
				return result(exchangeOf(ctx).call(s.api, op, call.Params.Arguments)), nil
			}
		}
		answer, err = next(ctx, method, request)
		if list, ok := answer.(*mcp.ListToolsResult); ok && err == nil {
			list.Tools = s.visible(exchangeOf(ctx).outcome().Scopes)
		}
		return answer, err
	}
}

// speak hands a request to the SDK and returns its answer.
func (s *Server) speak(x *exchange, r *http.Request, m message) reply {
	request, err := http.NewRequestWithContext(x.ctx, http.MethodPost, Path, bytes.NewReader(m.text()))
	if err != nil {
		return s.refuse(x.common.RequestID, err)
	}
	for name, values := range r.Header {
		if strings.HasPrefix(name, "Mcp-") {
			request.Header[name] = values
		}
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json, text/event-stream")
	w := &recorder{header: http.Header{}}
	s.sdk.ServeHTTP(w, request)

	text := bytes.TrimSpace(w.body.Bytes())
	switch {
	case len(text) == 0 || w.status >= http.StatusInternalServerError: // no answer in time, or one that cannot be spelled
		return s.refuse(x.common.RequestID, fmt.Errorf("the protocol's answer to %s is %d %s: %v", m.method, w.status, text, context.Cause(x.ctx)))
	case w.header.Get("Content-Type") != "application/json":
		text = errorBody(m.id, &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: string(text)})
	}
	return reply{status: w.status, body: finished(plain(public(text, m)), r, m)}
}

// recorder keeps the SDK's answer.
type recorder struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (w *recorder) Header() http.Header { return w.header }

func (w *recorder) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
}

func (w *recorder) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.body.Write(p)
}

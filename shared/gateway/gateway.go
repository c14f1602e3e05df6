// Package gateway is the border between Amazon API Gateway and net/http.
//
// A deployed function does not listen on a port. API Gateway (REST API, payload
// 1.0) turns each HTTP request into a JSON event, Lambda hands the event to the
// function, and the function answers with another event. This package turns the
// first into an *http.Request and the second back into an HTTP response, so that
// everything above it is an ordinary http.Handler:
//
//	Start(h)  runs h in Lambda                      event → Proxy → h
//	Local(h)  runs h on a port, the very same way   request → Event → Proxy → h
//
// The conversion goes through awslabs/aws-lambda-go-api-proxy, which gets a
// number of requests and responses wrong (TestAdapterFaults lists them). Proxy
// therefore gives the adapter an event that cannot fail, builds the request
// again from the event as it came (request.go), and records the answer by the
// rules of net/http's own server (response.go). What is left to the adapter is
// the context of the invocation and the response event, base64 included.
//
// What a REST API does to a request before we see it, and what follows:
//
//   - The path arrives as the client sent it, still percent-encoded, and so h
//     sees it. A custom domain's base path is part of it: map domains without.
//   - The query arrives decoded, as a map. Repeated values keep their order,
//     names do not, and "a" can't be told from "a=". Names are sorted here. The
//     gateway splits at ";" as at "&", and refuses a malformed "%" itself.
//   - A body that is not text survives only if the API declares */* as a binary
//     media type; then every body arrives in base64. Both forms are accepted.
//   - Whatever h answers must fit Lambda's 6 MB; Proxy answers 500 beyond that,
//     because Lambda would stop the function and the gateway answer 502.
package gateway

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"runtime/debug"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"
	"github.com/awslabs/aws-lambda-go-api-proxy/httpadapter"
)

// eventKey is the context key of the event that a request was made from.
type eventKey struct{}

// Start serves h in a Lambda function. It never returns.
func Start(h http.Handler) {
	lambda.Start(Proxy(h))
}

// Proxy is the Lambda handler function of h: event in, response out.
//
// The error is always nil: Lambda would report one as a crash and the gateway
// would answer a bare 502. An event that is no valid HTTP request is given to h
// as it is, to be refused there. When h panics, answers with an impossible
// status, or answers more than Lambda can carry, the response is a 500 with the
// envelope, code internal, and the reason is logged. The context of the
// invocation is the context of the request.
//
// Proxy panics if h is nil, so that a wiring mistake shows at start-up.
func Proxy(h http.Handler) func(ctx context.Context, e events.APIGatewayProxyRequest) (events.APIGatewayProxyResponse, error) {
	if h == nil {
		panic("gateway: nil handler")
	}
	adapter := httpadapter.New(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		respond(h, w, r)
	}))
	return func(ctx context.Context, e events.APIGatewayProxyRequest) (events.APIGatewayProxyResponse, error) {
		ctx = context.WithValue(ctx, eventKey{}, &e)
		resp, err := adapter.ProxyWithContext(ctx, carrier(e))
		if err != nil {
			// Only a broken GO_API_HOST, the adapter's own variable, leads here.
			logFailure(ctx, "adapter failed", slog.Any("error", err))
			return events.APIGatewayProxyResponse{
				StatusCode:        http.StatusInternalServerError,
				MultiValueHeaders: refusalHeader(e.RequestContext.RequestID),
				Body:              internalBody,
			}, nil
		}
		return resp, nil
	}
}

// RequestID returns the gateway's id of the request that ctx belongs to, the
// one in the gateway's access log, or "" outside Proxy.
func RequestID(ctx context.Context) string {
	if e := eventOf(ctx); e != nil {
		return e.RequestContext.RequestID
	}
	return ""
}

// eventOf returns the event behind ctx, or nil outside Proxy.
func eventOf(ctx context.Context) *events.APIGatewayProxyRequest {
	e, _ := ctx.Value(eventKey{}).(*events.APIGatewayProxyRequest)
	return e
}

// carrier returns the event that the adapter gets to see in place of e. The
// adapter builds a URL out of method, domain, path and query and fails on many;
// these it can always build, and rebuild then replaces every part of them.
func carrier(e events.APIGatewayProxyRequest) events.APIGatewayProxyRequest {
	c := events.APIGatewayProxyRequest{
		HTTPMethod:     http.MethodGet,
		Path:           "/",
		StageVariables: e.StageVariables,
		RequestContext: e.RequestContext,
	}
	c.RequestContext.DomainName = ""
	return c
}

// respond lets h answer the event behind r and copies the answer, or a 500 in
// its place, to the adapter's w.
func respond(h http.Handler, w http.ResponseWriter, r *http.Request) {
	e := eventOf(r.Context())
	rec := newRecorder(e.HTTPMethod)
	if !run(h, rec, r, e) {
		rec = newRecorder(e.HTTPMethod)
		refuse(rec, http.StatusInternalServerError, internalBody, e.RequestContext.RequestID)
	}
	if size := rec.eventBytes(); size > responseBytesMax {
		logFailure(r.Context(), "response too large for Lambda", slog.Int("bytes", size))
		rec = newRecorder(e.HTTPMethod)
		refuse(rec, http.StatusInternalServerError, internalBody, e.RequestContext.RequestID)
	}
	rec.copyTo(w)
}

// run serves the request and reports whether h came to an end. A panic past
// h's own recover is logged here, the last place that can.
func run(h http.Handler, rec *recorder, r *http.Request, e *events.APIGatewayProxyRequest) (ok bool) {
	defer func() {
		p := recover()
		if p == nil {
			return
		}
		ok = false
		// net/http closes the connection on this value and prints no stack.
		// There is no connection here, but the handler's wish for quiet holds.
		if err, is := p.(error); is && errors.Is(err, http.ErrAbortHandler) {
			logFailure(r.Context(), "handler aborted")
			return
		}
		logFailure(r.Context(), "handler panicked", slog.Any("panic", p), slog.String("stack", string(debug.Stack())))
	}()
	rebuild(r, e)
	h.ServeHTTP(rec, r)
	rec.WriteHeader(http.StatusOK) // as on a server, silence is a 200
	return true
}

// logFailure writes the operator's half of a 500 whose other half, internalBody,
// tells the caller nothing.
func logFailure(ctx context.Context, msg string, attrs ...slog.Attr) {
	slog.LogAttrs(ctx, slog.LevelError, msg, append(attrs, slog.String("requestId", RequestID(ctx)))...)
}

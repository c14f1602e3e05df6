// Package gateway is the border between Amazon API Gateway and net/http.
//
// A deployed function does not listen on a port. API Gateway (REST API, payload
// 1.0) turns each HTTP request into a JSON event, Lambda hands the event to the
// function, and the function returns another event. This package turns the
// first into an *http.Request and the second back into an HTTP response, so that
// everything above it is an ordinary http.Handler:
//
//	Start(h)  runs h in Lambda                      event → Proxy → h
//	Local(h)  runs h on a port, the very same way   request → Event → Proxy → h
//
// The request is built as net/http's server builds one (request.go), and the
// response is recorded by that server's rules (response.go). The adapter of
// awslabs, aws-lambda-go-api-proxy, gets a number of both wrong
// (TestProxyEdges lists them).
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
//   - A response must fit Lambda's 6 MB. Proxy returns a 500 in place of a larger
//     one, because Lambda would stop the function and the gateway send a 502.
package gateway

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"runtime/debug"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"
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
// would send a bare 502. An event that is no valid HTTP request is given to h
// as it is, to be refused there. When h panics, sets an impossible status, or
// writes more than Lambda can carry, the response is a 500 with the envelope,
// code internal, and the reason is logged. The context of the invocation is the
// context of the request.
//
// Proxy panics if h is nil, so that a wiring mistake shows at start-up.
func Proxy(h http.Handler) func(ctx context.Context, e events.APIGatewayProxyRequest) (events.APIGatewayProxyResponse, error) {
	if h == nil {
		panic("gateway: nil handler")
	}
	return func(ctx context.Context, e events.APIGatewayProxyRequest) (events.APIGatewayProxyResponse, error) {
		ctx = context.WithValue(ctx, eventKey{}, &e)
		rec := newRecorder(e.HTTPMethod)
		if !run(h, rec, newRequest(ctx, &e)) {
			rec = newRecorder(e.HTTPMethod)
			refuse(rec, http.StatusInternalServerError, internalBody, e.RequestContext.RequestID)
		}
		return rec.event(), nil
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

// run serves the request and reports whether there is a response that can be
// sent. A panic past h's own recover is logged here, the last place that can.
func run(h http.Handler, rec *recorder, r *http.Request) (ok bool) {
	ctx := r.Context()
	defer func() {
		p := recover()
		if p == nil {
			return
		}
		ok = false
		// net/http closes the connection on this value and prints no stack.
		// There is no connection here, but the handler's wish for quiet holds.
		if err, is := p.(error); is && errors.Is(err, http.ErrAbortHandler) {
			logFailure(ctx, "handler aborted")
			return
		}
		logFailure(ctx, "handler panicked", slog.Any("panic", p), slog.String("stack", string(debug.Stack())))
	}()
	h.ServeHTTP(rec, r)
	rec.WriteHeader(http.StatusOK) // as on a server, silence is a 200
	if size := rec.eventBytes(); size > responseBytesMax {
		logFailure(ctx, "response too large for Lambda", slog.Int("bytes", size))
		return false
	}
	return true
}

// logFailure logs the reason of a 500, whose body, internalBody, does not have it.
func logFailure(ctx context.Context, msg string, attrs ...slog.Attr) {
	slog.LogAttrs(ctx, slog.LevelError, msg, append(attrs, slog.String("requestId", RequestID(ctx)))...)
}

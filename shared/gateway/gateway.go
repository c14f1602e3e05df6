// Package gateway connects Amazon API Gateway and net/http.
//
// A deployed function does not listen on a port. API Gateway (REST API, payload 1.0) turns each
// HTTP request into a JSON event, Lambda hands the event to the function, and the function returns
// another event. This package converts the first event to an *http.Request and the response to the
// second event, so that the service can be an ordinary http.Handler:
//
//	Start(h)  runs h in Lambda                   event → Proxy → h
//	Local(h)  runs h on a port, as Lambda does   request → NewEvent → Proxy → h
//
// The request is built as net/http's server would build it (request.go), and the response is
// recorded by the same rules as that server's (response.go). This package replaces the adapter
// aws-lambda-go-api-proxy; adapter_test.go lists the differences.
//
// A REST API changes a request before the function receives it:
//
//   - The path arrives percent-encoded, as the client sent it, and h gets it that way. It includes
//     the base path of a custom domain, so do not map domains with a base path.
//   - The query arrives decoded, as a map. Repeated values keep their order, but the order of the
//     names is lost, and so is the difference between "a" and "a=". This package sorts the names.
//     The gateway treats ";" like "&", and rejects a malformed "%" escape itself.
//   - A binary body arrives intact only if the API declares */* as a binary media type; then every
//     body arrives in base64. This package accepts both forms.
//   - A response must fit into Lambda's 6 MB. A body over 1 MB leaves the function in base64,
//     because JSON escapes can multiply the size of text. If the response is still too large, Proxy
//     compresses it for a client that accepts gzip. If it is too large even then, Proxy returns a
//     500 that says not to retry. Otherwise, Lambda would stop the function and the gateway would
//     send a 502. No list is that large, even uncompressed, and neither is any record that this
//     version accepts.
package gateway

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"runtime/debug"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"

	"growthworkspace/shared/fault"
)

// Start serves h in a Lambda function. It never returns.
func Start(h http.Handler) {
	lambda.Start(Proxy(h))
}

// Proxy returns the Lambda handler function for h, which takes an event and returns the response.
//
// That function never returns an error: Lambda would report it as a crash, and the gateway would
// send a 502 without a body. An event that is not a valid HTTP request is passed to h, which
// rejects it. If h panics, sets an invalid status, or writes more than Lambda accepts, the response
// is a 500 with the code "internal", and the reason is logged. The request has the context of the
// invocation.
//
// Proxy panics if h is nil.
func Proxy(h http.Handler) func(ctx context.Context, e events.APIGatewayProxyRequest) (events.APIGatewayProxyResponse, error) {
	if h == nil {
		panic("gateway: nil handler")
	}
	return func(ctx context.Context, e events.APIGatewayProxyRequest) (events.APIGatewayProxyResponse, error) {
		x := newExchange(ctx, &e)
		x.serve(h)
		x.finish()
		return x.rec.event(), nil
	}
}

// serve calls h. If h panics, it recovers, logs the panic and replaces the response.
func (e *exchange) serve(h http.Handler) {
	defer func() {
		p := recover()
		if p == nil {
			return
		}
		// If a handler panics with this value, net/http logs no stack and closes the connection.
		// Here, no stack is logged either, and there is no connection to close.
		if err, ok := p.(error); ok && errors.Is(err, http.ErrAbortHandler) {
			e.logFailure("handler aborted")
		} else {
			e.logFailure("handler panicked", slog.Any("panic", p), slog.String("stack", string(debug.Stack())))
		}
		e.replace(fault.ErrInternal)
	}()
	h.ServeHTTP(e.rec, e.request)
}

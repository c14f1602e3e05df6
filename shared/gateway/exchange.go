package gateway

import (
	"context"
	"log/slog"
	"net/http"
	"sync"

	"github.com/aws/aws-lambda-go/events"

	"growthworkspace/shared/fault"
)

// exchange is the state of a request in Proxy.
type exchange struct {
	event   *events.APIGatewayProxyRequest
	request *http.Request
	rec     *responseBuffer
	final   FinalResponse // its Status is 0 until the response is final

	mu  sync.Mutex // the handler may use several goroutines
	ids RequestIDs
}

type exchangeKey struct{}

func newExchange(ctx context.Context, e *events.APIGatewayProxyRequest) *exchange {
	x := &exchange{event: e, rec: newResponseBuffer(e.HTTPMethod)}
	ctx = context.WithValue(ctx, exchangeKey{}, x)
	x.request = newRequest(ctx, e)
	x.ids = requestIDs(ctx, e, x.request.Header)
	return x
}

// exchangeOf returns the exchange in ctx, or nil outside Proxy.
func exchangeOf(ctx context.Context) *exchange {
	x, _ := ctx.Value(exchangeKey{}).(*exchange)
	return x
}

// FinalResponse describes a response as it leaves the function.
type FinalResponse struct {
	Status  int
	Bytes   int          // the size of the body; after compression, if Proxy compressed it
	Failure *fault.Error // the error that replaced the handler's response; nil if none did
}

// Finish makes the response to the request in ctx final and describes it. A handler calls it after
// it has written the response, if it writes a log line or a metric. Before that, the line can be
// wrong, because Proxy replaces a response that Lambda would not accept. Outside Proxy, ok is false.
func Finish(ctx context.Context) (final FinalResponse, ok bool) {
	x := exchangeOf(ctx)
	if x == nil {
		return FinalResponse{}, false
	}
	x.finish()
	return x.final, true
}

// finish makes the response final, unless it already is. It compresses a response that Lambda would
// not accept, or replaces it.
func (e *exchange) finish() {
	if e.final.Status != 0 {
		return
	}
	e.rec.WriteHeader(http.StatusOK) // as on a server, a handler that writes nothing sends a 200
	size := e.rec.eventBytes()
	if size > responseBytesMax && acceptsGzip(e.request.Header) {
		e.rec.compress()
		size = e.rec.eventBytes()
	}
	if size > responseBytesMax {
		e.logFailure("response too large for Lambda", slog.Int("bytes", size))
		e.replace(errResponseTooLarge)
		return
	}
	e.final = FinalResponse{Status: e.rec.status, Bytes: e.rec.bodyBytes()}
}

// replace makes a failure the final response.
func (e *exchange) replace(failure *fault.Error) {
	e.rec = newResponseBuffer(e.event.HTTPMethod)
	if !e.rec.isHead {
		e.rec.header["Content-Length"] = nil // the gateway sets Content-Length
	}
	if failure == errResponseTooLarge {
		e.rec.header["Retry-After"] = nil
	}
	fault.Write(e.rec, e.request, e.ids.Public(), failure)
	e.final = FinalResponse{Status: e.rec.status, Bytes: e.rec.bodyBytes(), Failure: failure}
}

// logFailure logs the reason for a 500. The response body does not include the reason.
func (e *exchange) logFailure(msg string, attrs ...slog.Attr) {
	slog.LogAttrs(e.request.Context(), slog.LevelError, msg, append(attrs, e.ids.Attributes()...)...)
}

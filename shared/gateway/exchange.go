package gateway

import (
	"context"
	"sync"

	"github.com/aws/aws-lambda-go/events"

	"growthworkspace/shared/fault"
)

// exchange is the state of a request in Proxy until its response is final.
type exchange struct {
	event *events.APIGatewayProxyRequest

	mu        sync.Mutex // the handler may use several goroutines
	ids       RequestIDs
	callbacks []func(FinalResponse)
}

type exchangeKey struct{}

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

// AfterResponse calls f when the response to the request in ctx is final. A log line or metric
// written before that can be wrong, because Proxy replaces a response that Lambda would not accept.
// Outside Proxy, AfterResponse returns false and never calls f.
func AfterResponse(ctx context.Context, f func(FinalResponse)) bool {
	x := exchangeOf(ctx)
	if x == nil {
		return false
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.callbacks = append(x.callbacks, f)
	return true
}

// finish calls the functions that were passed to AfterResponse.
func (x *exchange) finish(r FinalResponse) {
	x.mu.Lock()
	all := x.callbacks
	x.callbacks = nil
	x.mu.Unlock()
	for _, f := range all {
		f(r)
	}
}

package gateway_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambdacontext"
	"github.com/google/go-cmp/cmp"

	"growthworkspace/shared/fault"
	"growthworkspace/shared/gateway"
)

// Ensure a request has the ids from its event and from the context of its invocation. A malformed
// id from a forged event must be dropped.
func TestRequestIDs(t *testing.T) {
	t.Parallel()
	const trace = "1-5759e988-bd862e3fe1be46a994272793"
	gatewayEvent := events.APIGatewayProxyRequest{
		HTTPMethod: "GET", Path: "/", MultiValueHeaders: map[string][]string{"X-Amzn-Trace-Id": {"Self=1-67891234-x;Root=" + trace}},
		RequestContext: events.APIGatewayProxyRequestContext{RequestID: "c6af9ac6-7b61-11e6-9a41-93e8deadbeef", ExtendedRequestID: "TWegAcC4EowCHnA="},
	}
	lambdaCtx := lambdacontext.NewContext(t.Context(), &lambdacontext.LambdaContext{AwsRequestID: "8a0a4e2d-0000-4000-8000-000000000000"})
	for _, tt := range []struct {
		name       string
		ctx        context.Context
		event      events.APIGatewayProxyRequest
		want       gateway.RequestIDs
		wantPublic string
	}{
		{
			"OK", lambdaCtx, gatewayEvent,
			gateway.RequestIDs{Extended: "TWegAcC4EowCHnA=", Gateway: "c6af9ac6-7b61-11e6-9a41-93e8deadbeef", Lambda: "8a0a4e2d-0000-4000-8000-000000000000", Trace: trace},
			"TWegAcC4EowCHnA=",
		},
		{
			// Events written by hand and events from `sam local` have no extended id.
			//lint:ignore SA1029 package lambda uses this key
			"ErrNoExtendedID", context.WithValue(lambdaCtx, "x-amzn-trace-id", "Root="+trace+";Sampled=0"),
			events.APIGatewayProxyRequest{HTTPMethod: "GET"},
			gateway.RequestIDs{Lambda: "8a0a4e2d-0000-4000-8000-000000000000", Trace: trace}, "8a0a4e2d-0000-4000-8000-000000000000",
		},
		{
			"ErrForged", lambdaCtx, events.APIGatewayProxyRequest{
				HTTPMethod: "GET", MultiValueHeaders: map[string][]string{"X-Amzn-Trace-Id": {"Root=1-<script>"}},
				RequestContext: events.APIGatewayProxyRequestContext{RequestID: strings.Repeat("a", 129), ExtendedRequestID: "a\r\nSet-Cookie: b=c"},
			},
			gateway.RequestIDs{Lambda: "8a0a4e2d-0000-4000-8000-000000000000"}, "8a0a4e2d-0000-4000-8000-000000000000",
		},
		{
			"ErrNone", t.Context(), events.APIGatewayProxyRequest{HTTPMethod: "GET"}, gateway.RequestIDs{Extended: "I7MlhRE35squQwY="}, "I7MlhRE35squQwY=",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r, _ := requestOf(t, tt.ctx, tt.event)
			got := gateway.RequestIDsOf(r.Context(), newRequestID)
			if diff := cmp.Diff(tt.want, got); diff != "" || got.Public() != tt.wantPublic {
				t.Errorf("Public() = %q, want %q; ids (-want +got):\n%s", got.Public(), tt.wantPublic, diff)
			}
		})
	}
}

func newRequestID(prefix string) string { return prefix + "_1" }

// Ensure all parts of a handler and Proxy's error response use the same id, even if the event has
// none.
func TestRequestIDsAreStable(t *testing.T) {
	t.Parallel()
	n := 0
	newID := func(prefix string) string { n++; return prefix + strings.Repeat("x", n) }
	var first, second gateway.RequestIDs
	got, _ := gateway.Proxy(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		first, second = gateway.RequestIDsOf(r.Context(), newID), gateway.RequestIDsOf(r.Context(), newID)
		panic("boom")
	}))(t.Context(), events.APIGatewayProxyRequest{HTTPMethod: "GET"})
	sent := got.MultiValueHeaders["Service-Request-Id"]
	if first != second || len(sent) != 1 || sent[0] != first.Public() || sent[0] == "" {
		t.Errorf("ids %+v and %+v, sent %q; want the same", first, second, sent)
	}
}

// Ensure a log line that is written after the response agrees with the response that was sent, even
// if Proxy replaced the handler's response.
func TestFinish(t *testing.T) {
	t.Parallel()
	large := strings.Repeat("x", responseBytesMax)
	for _, tt := range []struct {
		name   string
		method string
		h      http.HandlerFunc
		want   gateway.FinalResponse
	}{
		{"OK", "GET", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(201); _, _ = io.WriteString(w, "abc") }, gateway.FinalResponse{Status: 201, Bytes: 3}},
		{"Head", "HEAD", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "abc") }, gateway.FinalResponse{Status: 200}},
		{"ErrTooLarge", "GET", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, large) },
			gateway.FinalResponse{Status: 500, Bytes: len(tooLargeResponse.Body), Failure: fault.New(fault.Internal, "the request was carried out, but its response is too large to be sent; do not retry")}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var got gateway.FinalResponse
			e := exampleGetEvent
			e.HTTPMethod = tt.method
			resp, _ := gateway.Proxy(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				tt.h(w, r)
				var ok bool
				if got, ok = gateway.Finish(r.Context()); !ok {
					t.Error("Finish = false inside Proxy")
				}
			}))(t.Context(), e)
			if diff := cmp.Diff(tt.want, got); diff != "" || resp.StatusCode != tt.want.Status || len(resp.Body) != tt.want.Bytes {
				t.Errorf("sent %d with %d bytes; told (-want +got):\n%s", resp.StatusCode, len(resp.Body), diff)
			}
		})
	}
	if _, ok := gateway.Finish(t.Context()); ok {
		t.Error("Finish = true outside Proxy")
	}
}

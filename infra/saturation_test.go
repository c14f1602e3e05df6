package infra_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"growthworkspace/infra"
	"growthworkspace/shared/client"
	"growthworkspace/shared/gateway"
)

// saturatedGateway is a gateway whose function is throttled by Lambda for a given number of
// requests. For a throttled request, API Gateway returns the INTEGRATION_FAILURE response and does
// not invoke the function.
type saturatedGateway struct {
	t         *testing.T
	throttles int
	invoked   int
	ids       []string // the ids of all requests
}

func (g *saturatedGateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	ids := gateway.NewRequestIDs(func(string) string { return strconv.Itoa(len(g.ids)) })
	g.ids = append(g.ids, ids.Extended)
	if g.throttles > 0 {
		g.throttles--
		responses := infra.New().GatewayResponses
		response := responses[slices.IndexFunc(responses, func(r infra.GatewayResponse) bool { return r.Type == "INTEGRATION_FAILURE" })]
		for name, value := range response.Headers() {
			w.Header().Set(name, strings.Trim(strings.ReplaceAll(value, "context.extendedRequestId", ids.Extended), "'"))
		}
		status, err := strconv.Atoi(response.Status())
		if err != nil {
			g.t.Error(err)
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, response.Body())
		return
	}
	g.invoked++
	gateway.Local(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"id":"co_1"}`)
	}), func(string) string { return "1" }).ServeHTTP(w, r)
}

// Ensure a client waits for the number of seconds in Retry-After while Lambda throttles, and
// retries only requests that are safe to repeat. If it gives up, it reports the envelope and the id
// of the last request.
func TestSaturation(t *testing.T) {
	t.Parallel()
	const attempts = 4
	for _, tt := range []struct {
		name      string
		throttles int
		request   client.Request
		wantWaits int
		wantErr   bool
	}{
		{"Read", 2, client.Request{Method: "GET", Path: "/v1/companies/co_1", Repeatable: true}, 2, false},
		{"WriteWithKey", 2, client.Request{Method: "POST", Path: "/v1/companies/co_1/plan/boards", Body: []byte("{}"), AcceptsIdempotencyKey: true}, 2, false},
		{"ErrWrite", 2, client.Request{Method: "POST", Path: "/v1/companies/co_1/plan/boards", Body: []byte("{}")}, 0, true},
		{"ErrStopped", 1_000_000, client.Request{Method: "GET", Path: "/v1/companies/co_1", Repeatable: true}, attempts - 1, true}, // ReservedConcurrency=0
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			g := &saturatedGateway{t: t, throttles: tt.throttles}
			server := httptest.NewServer(g)
			t.Cleanup(server.Close)
			var waits []time.Duration
			c, err := client.New(server.URL, "key", client.WithAttempts(attempts), client.WithSleep(func(_ context.Context, d time.Duration) error {
				waits = append(waits, d)
				return nil
			}))
			if err != nil {
				t.Fatal(err)
			}
			_, err = c.Do(t.Context(), tt.request)
			if len(waits) != tt.wantWaits || slices.ContainsFunc(waits, func(d time.Duration) bool { return d < time.Second }) {
				t.Errorf("waits %v, want %d of a second or more", waits, tt.wantWaits)
			}
			var refused *client.Error
			switch {
			case !tt.wantErr:
				if err != nil || g.invoked != 1 {
					t.Errorf("%v after %d invocations, want one", err, g.invoked)
				}
			case !errors.As(err, &refused) || refused.Code != client.CodeInternal || refused.RetryAfter != time.Second || refused.RequestID != g.ids[len(g.ids)-1] || g.invoked != 0:
				t.Errorf("%+v after %d invocations, want internal with Retry-After and the id %s", err, g.invoked, g.ids[len(g.ids)-1])
			}
		})
	}
}

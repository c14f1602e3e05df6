// Package demotest fills a test's service with records, such as the demo company's.
package demotest

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync/atomic"
	"testing"

	"growthworkspace/functions"
	"growthworkspace/scripts/workspace/demo"
	"growthworkspace/shared/testkit/apitest"
)

// NewService returns a service with a company that has only a profile.
func NewService(t *testing.T) *apitest.Service {
	t.Helper()
	s := apitest.New(t, functions.Operations)
	s.Handler = functions.Handler(s.ServingTable, s.Config(slog.New(slog.DiscardHandler)))
	Load(t, s, demo.Line{Type: "company", Record: demo.Record{"id": s.CompanyID, "name": "Northwind Notes", "slug": "northwind"}})
	return s
}

// Load imports records into the service's company.
func Load(t *testing.T, s *apitest.Service, lines ...demo.Line) {
	t.Helper()
	for _, kind := range functions.Transfers(s.Table) {
		records, err := demo.Check(kind, lines)
		if err == nil {
			err = demo.Write(t.Context(), kind, s.CompanyID, records)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// LoadDemo imports the demo company's records, except its profile.
func LoadDemo(t *testing.T, s *apitest.Service) {
	t.Helper()
	lines := demo.Lines(apitest.Epoch)
	Load(t, s, slices.DeleteFunc(lines, func(l demo.Line) bool { return l.Type == "company" })...)
}

// HandlerTransport sends requests to a handler without a network.
type HandlerTransport struct{ http.Handler }

// RoundTrip implements http.RoundTripper.
func (t HandlerTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	t.ServeHTTP(w, r)
	return w.Result(), nil
}

// Counter is a transport that counts the requests that it passes on. If Refuse returns a response,
// the Counter returns it instead of passing on the request. n is the number of the request, counted
// from 1.
type Counter struct {
	Next   http.RoundTripper
	Refuse func(n int64, r *http.Request) *http.Response
	Calls  atomic.Int64
}

// RoundTrip implements http.RoundTripper.
func (c *Counter) RoundTrip(r *http.Request) (*http.Response, error) {
	n := c.Calls.Add(1)
	if c.Refuse != nil {
		if response := c.Refuse(n, r); response != nil {
			return response, nil
		}
	}
	return c.Next.RoundTrip(r)
}

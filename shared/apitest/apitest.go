// Package apitest is the harness of the tests: the real handler over a real engine that speaks DynamoDB's protocol, one
// table per test binary, one company per test, so that everything runs in parallel. Only the clock is not real.
package apitest

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/credentials"

	"growthworkspace/shared/api"
	"growthworkspace/shared/auth"
	"growthworkspace/shared/engine"
	"growthworkspace/shared/id"
	"growthworkspace/shared/keys"
	"growthworkspace/shared/service"
	"growthworkspace/shared/table"
	"growthworkspace/shared/version"
)

// EndpointVariable names an engine that is running, so that a run of many test binaries starts one only. Without it
// each binary starts an installed engine; where none is installed its tests are skipped, which CI_NO_SKIP makes a
// failure (scripts/test sets both).
const EndpointVariable = "WORKSPACE_TEST_ENDPOINT"

// attemptTimeout is generous: a race-detected run on a busy machine must not fail for its slowness.
const attemptTimeout = 30 * time.Second

// Clock is the time of one test. It stands still until it is moved.
type Clock struct {
	mu  sync.Mutex
	now time.Time
}

// Now returns the time.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Advance moves the time on.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// Epoch is the time at which every test begins.
var Epoch = time.Date(2026, 8, 11, 9, 30, 0, 0, time.UTC)

// Service is a service for one test, with one company of its own.
type Service struct {
	Handler   http.Handler
	Table     *table.Client // the operator's, for what a test prepares
	Serving   *table.Client // for handlers: its writes need the permit of a verified key
	Keys      *keys.Store
	Clock     *Clock
	CompanyID string

	operations []api.Operation
}

// New returns a service of the operations for a test.
func New(t *testing.T, operations service.Operations) *Service {
	t.Helper()
	return NewOver(t, operations, nil)
}

// NewOver is New with the transport to the engine replaced, to count, delay or break calls. nil: the usual one.
func NewOver(t *testing.T, operations service.Operations, transport http.RoundTripper) *Service {
	t.Helper()
	clock := &Clock{now: Epoch}
	client := table.New(Options(t, clock.Now, transport))
	s := &Service{
		Table: client.Operator(), Serving: client, Clock: clock, Keys: keys.NewStore(client.Operator(), clock.Now),
		CompanyID: client.NewID(id.Company), operations: operations(client),
	}
	s.Handler = service.New(s.Serving, s.operations, slog.New(slog.NewTextHandler(io.Discard, nil)))
	return s
}

// Transport is the usual transport to the engine, for those that wrap it. One for the whole binary, so that its tests
// share their connections; with the default of 2 per host, those that run side by side would dial for every call.
var Transport http.RoundTripper = pooled()

func pooled() *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxIdleConnsPerHost = 64
	return t
}

// Options returns the options of a client for the test binary's table.
func Options(t *testing.T, now func() time.Time, transport http.RoundTripper) table.Options {
	t.Helper()
	shared.once.Do(shared.start)
	if shared.err != nil {
		if os.Getenv("CI_NO_SKIP") != "" {
			t.Fatal(shared.err)
		}
		t.Skip(shared.err)
	}
	if transport == nil {
		transport = Transport
	}
	return table.Options{
		Name: shared.name, Endpoint: shared.endpoint, Region: "eu-central-1", Timeout: attemptTimeout, Transport: transport,
		Credentials: credentials.NewStaticCredentialsProvider("local", "local", ""),
		Now:         now, NewID: id.NewGenerator(now, rand.Reader),
	}
}

// shared is the engine and the table of the test binary. Nobody closes the engine: it ends with the binary.
var shared struct {
	once           sync.Once
	name, endpoint string
	err            error
	start          func()
}

func init() { shared.start = startShared }

func startShared() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	e, err := engine.Open(ctx, engine.Options{Endpoint: os.Getenv(EndpointVariable)})
	if err != nil {
		shared.err = fmt.Errorf("no engine for the tests: %w", err)
		return
	}
	shared.endpoint = e.Endpoint
	next := id.NewGenerator(time.Now, rand.Reader)
	shared.name = next("test")
	client := table.New(table.Options{
		Name: shared.name, Endpoint: e.Endpoint, Region: "eu-central-1", Timeout: attemptTimeout,
		Credentials: credentials.NewStaticCredentialsProvider("local", "local", ""), Now: time.Now, NewID: next,
	})
	shared.err = client.Create(ctx)
}

// Slow leaves a test that takes seconds out of the quick loop, `go test -short`. scripts/test runs it.
func Slow(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("takes seconds: run without -short")
	}
}

// Request returns a context of a request that may write, and the request, which counts what its calls use.
func Request(t *testing.T) (context.Context, *table.Request) {
	t.Helper()
	r := table.NewRequest()
	r.Decide(nil)
	return table.WithRequest(t.Context(), r), r
}

// Key issues a key of the test's company with these scopes, all scopes when none is named.
func (s *Service) Key(t *testing.T, scopes ...auth.Scope) string {
	t.Helper()
	if len(scopes) == 0 {
		scopes = auth.Scopes()
	}
	_, secret, err := s.Keys.Issue(t.Context(), s.CompanyID, keys.Grant{Name: t.Name(), Scopes: scopes, APIVersion: version.Current}, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return secret
}

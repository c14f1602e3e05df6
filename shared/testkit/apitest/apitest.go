// Package apitest is the test harness: the real handler over a local engine that speaks DynamoDB's
// protocol. Every test binary has its own table and every test its own company, so tests run in
// parallel. Only the clock is fake.
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
	"growthworkspace/shared/fault"
	"growthworkspace/shared/gateway"
	"growthworkspace/shared/id"
	"growthworkspace/shared/keys"
	"growthworkspace/shared/localdb"
	"growthworkspace/shared/table"
)

// EndpointVariable is the environment variable with the address of a running engine that test
// binaries share. If it is not set, each binary starts an installed engine. If no engine is
// installed, the tests are skipped, or fail if CI_NO_SKIP is set. scripts/test sets both variables.
const EndpointVariable = "WORKSPACE_TEST_ENDPOINT"

// attemptTimeout is long, so that tests pass with the race detector on a busy machine.
const attemptTimeout = 30 * time.Second

// callTimeout is long, because a call that transfers megabytes takes seconds with the race
// detector.
const callTimeout = time.Minute

// Clock is the clock of one test. Only Advance changes its time.
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

// Advance adds d to the time.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// Epoch is the time at the start of every test.
var Epoch = time.Date(2026, 8, 11, 9, 30, 0, 0, time.UTC)

// Service is a service for one test, with its own company.
type Service struct {
	Handler      http.Handler
	Table        *table.Client // the operator's client, for the setup of a test
	ServingTable *table.Client // the handlers' client, whose writes need the permit of a verified key
	Keys         *keys.Store
	Clock        *Clock
	CompanyID    string

	operations []api.Operation
}

// New returns a service with the operations for a test.
func New(t testing.TB, operations api.Operations) *Service {
	t.Helper()
	return NewWithTransport(t, operations, nil)
}

// NewWithTransport is like New, but sends calls to the engine over the given transport, for example
// to count, delay or break them. If transport is nil, it uses Transport.
func NewWithTransport(t testing.TB, operations api.Operations, transport http.RoundTripper) *Service {
	t.Helper()
	clock := &Clock{now: Epoch}
	client := table.New(Options(t, clock.Now, transport))
	s := &Service{
		Table: client.AsOperator(), ServingTable: client, Clock: clock, Keys: keys.NewStore(client.AsOperator(), clock.Now),
		CompanyID: client.NewID(id.CompanyPrefix), operations: operations(client),
	}
	s.Handler = s.Serve(s.operations)
	return s
}

// Serve returns a handler for operations that use the handlers' client. Its calls may take up to
// callTimeout.
func (s *Service) Serve(operations []api.Operation) http.Handler {
	config := s.Config(slog.New(slog.NewTextHandler(io.Discard, nil)))
	config.BaseURL = gateway.BaseURL
	return api.New(operations, config)
}

// Config returns the configuration for operations that use the handlers' client. Calls may take
// up to callTimeout instead of the 9 seconds of a Lambda function.
func (s *Service) Config(log *slog.Logger) api.Config {
	config := api.NewConfig(s.ServingTable, log)
	config.Timeout = callTimeout
	return config
}

// Transport is the default transport to the engine, which keeps its data in memory and has no
// socket file. All tests of the binary share its connections.
var Transport http.RoundTripper = localdb.Transport("")

// Options returns the options of a client for the test binary's table.
func Options(t testing.TB, now func() time.Time, transport http.RoundTripper) table.Options {
	t.Helper()
	sharedEngine.once.Do(sharedEngine.start)
	if sharedEngine.err != nil {
		if os.Getenv("CI_NO_SKIP") != "" {
			t.Fatal(sharedEngine.err)
		}
		t.Skip(sharedEngine.err)
	}
	if transport == nil {
		transport = Transport
	}
	return table.Options{
		Name: sharedEngine.name, Endpoint: sharedEngine.endpoint, Region: "eu-central-1", Timeout: attemptTimeout, Transport: transport,
		Credentials: credentials.NewStaticCredentialsProvider("local", "local", ""),
		Now:         now, NewID: id.NewGenerator(now, rand.Reader),
	}
}

// sharedEngine is the engine and the table of the test binary. The engine exits with the binary.
var sharedEngine struct {
	once           sync.Once
	name, endpoint string
	err            error
	start          func()
}

func init() { sharedEngine.start = startShared }

func startShared() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	e, err := localdb.Open(ctx, localdb.Options{Endpoint: os.Getenv(EndpointVariable)})
	if err != nil {
		sharedEngine.err = fmt.Errorf("no engine for the tests: %w", err)
		return
	}
	sharedEngine.endpoint = e.Endpoint
	next := id.NewGenerator(time.Now, rand.Reader)
	sharedEngine.name = next("test")
	client := table.New(table.Options{
		Name: sharedEngine.name, Endpoint: e.Endpoint, Region: "eu-central-1", Timeout: attemptTimeout,
		Credentials: credentials.NewStaticCredentialsProvider("local", "local", ""), Now: time.Now, NewID: next,
	})
	sharedEngine.err = client.Create(ctx)
}

// SkipIfShort skips a slow test if the tests run with `go test -short`. scripts/test runs slow
// tests, too.
func SkipIfShort(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("takes seconds: run without -short")
	}
}

// NewRequest returns the context of a request that may write, and the request itself, which counts
// the calls and the capacity units that they consume.
func NewRequest(t *testing.T) (context.Context, *table.Request) {
	t.Helper()
	r := table.NewRequest()
	r.SettlePermit(nil)
	return table.WithRequest(t.Context(), r), r
}

// IssueKey issues a key for the test's company with these scopes, or with all scopes if none are
// given.
func (s *Service) IssueKey(t *testing.T, scopes ...auth.Scope) string {
	t.Helper()
	if len(scopes) == 0 {
		scopes = auth.Scopes()
	}
	_, secret, err := s.Keys.Issue(t.Context(), s.CompanyID, keys.Grant{Name: t.Name(), Scopes: scopes, APIVersion: fault.Version}, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return secret
}

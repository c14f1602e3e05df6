package keys_test

import (
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"growthworkspace/shared/api"
	"growthworkspace/shared/auth"
	"growthworkspace/shared/fault"
	"growthworkspace/shared/keys"
	"growthworkspace/shared/table"
	"growthworkspace/shared/testkit/apitest"
)

type callCounter struct {
	calls atomic.Int64
	names sync.Map // number of calls by operation name
}

func (c *callCounter) RoundTrip(r *http.Request) (*http.Response, error) {
	c.calls.Add(1)
	_, name, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	n, _ := c.names.LoadOrStore(name, new(atomic.Int64))
	n.(*atomic.Int64).Add(1)
	return apitest.Transport.RoundTrip(r)
}

func (c *callCounter) callsDuring(f func()) int {
	before := c.calls.Load()
	f()
	return int(c.calls.Load() - before)
}

// callsOf returns how many calls of an operation, such as GetItem, have been made so far.
func (c *callCounter) callsOf(name string) int64 {
	n, ok := c.names.Load(name)
	if !ok {
		return 0
	}
	return n.(*atomic.Int64).Load()
}

type fixture struct {
	*apitest.Service

	counter *callCounter
	key     keys.Key
	secret  string
	token   auth.Token
}

// newFixture issues a key with two scopes in a new company.
func newFixture(t *testing.T) *fixture {
	t.Helper()
	c := &callCounter{}
	f := newFixtureWithTransport(t, c)
	f.counter = c
	return f
}

func newFixtureWithTransport(t *testing.T, transport http.RoundTripper) *fixture {
	t.Helper()
	f := &fixture{}
	f.Service = apitest.NewWithTransport(t, func(*table.Client) []api.Operation { return nil }, transport)
	f.key, f.secret = f.issue(t, keys.Grant{Name: "ci", Scopes: []auth.Scope{auth.PlanRead, auth.PlanWrite}, APIVersion: "2026-08-11"})
	f.token = parse(t, f.secret)
	return f
}

func (f *fixture) issue(t *testing.T, g keys.Grant) (keys.Key, string) {
	t.Helper()
	key, secret, err := f.Keys.Issue(t.Context(), f.CompanyID, g, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key, secret
}

func parse(t *testing.T, secret string) auth.Token {
	t.Helper()
	token, err := auth.Parse(secret)
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// otherProcess returns the store of another process, with its own memory.
func (f *fixture) otherProcess() *keys.Store { return keys.NewStore(f.Table, f.Clock.Now) }

func (f *fixture) admit(s *keys.Store, class auth.Class) (auth.QuotaState, error) {
	admission, err := s.Admit(context.Background(), f.token, []auth.Scope{auth.PlanRead}, class)
	if isQuotaExceeded(err) {
		err = quotaExceeded{err, admission.Quota}
	}
	return admission.Quota, err
}

// quotaExceeded is the error for a used-up quota, with the state of its bucket.
type quotaExceeded struct {
	error

	quotaState auth.QuotaState
}

func isQuotaExceeded(err error) bool {
	return err != nil && fault.PublicError(err).Code == fault.RateLimited
}

// requireQuotaExceeded returns the state of the quota in an error that says that the quota is
// exceeded. It fails the test for any other error, and for nil.
func requireQuotaExceeded(t *testing.T, err error) auth.QuotaState {
	t.Helper()
	var e quotaExceeded
	if !errors.As(err, &e) {
		t.Fatalf("got %v, want a used-up quota", err)
	}
	return e.quotaState
}

func (f *fixture) setQuota(t *testing.T, class auth.Class, quota auth.Quota) {
	t.Helper()
	if _, err := f.Keys.SetQuota(t.Context(), f.CompanyID, f.key.ID, class, quota); err != nil {
		t.Fatal(err)
	}
}

// keysByID returns the company's keys by id.
func (f *fixture) keysByID(t *testing.T) map[string]keys.Key {
	t.Helper()
	all, err := f.Keys.List(t.Context(), f.CompanyID)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]keys.Key{}
	for i, k := range all {
		out[k.ID] = k
		if i > 0 && all[i-1].ID > k.ID {
			t.Errorf("%s is listed after %s", k.ID, all[i-1].ID)
		}
	}
	return out
}

func formatTime(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

func valueOrNull(s *string) string {
	if s == nil {
		return "null"
	}
	return *s
}

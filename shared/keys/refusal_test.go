package keys_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"growthworkspace/shared/auth"
	"growthworkspace/shared/fault"
	"growthworkspace/shared/keys"
	"growthworkspace/shared/table"
	"growthworkspace/shared/testkit/apitest"
)

func (f *fixture) recordKey(keyID string) table.Key {
	return table.Key{PK: table.Partition(f.CompanyID, table.KeysArea), SK: table.JoinKey("key", keyID)}
}

// record returns the stored attributes of a key.
func (f *fixture) record(t *testing.T, keyID string) table.Item {
	t.Helper()
	item, err := table.GetItem(t.Context(), f.Table, f.recordKey(keyID))
	if err != nil || len(item) == 0 {
		t.Fatalf("key %s has the record %v: %v", keyID, item, err)
	}
	return item
}

func (f *fixture) setAttribute(t *testing.T, keyID, attribute string, value table.Item) {
	t.Helper()
	key := f.recordKey(keyID)
	_, err := f.Table.AsOperator().UpdateItem(t.Context(), &dynamodb.UpdateItemInput{
		Key:              table.Item{"pk": table.String(key.PK), "sk": table.String(key.SK)},
		UpdateExpression: new("SET #a = :value"), ExpressionAttributeNames: map[string]string{"#a": attribute}, ExpressionAttributeValues: value,
	})
	if err != nil {
		t.Fatal(err)
	}
}

// exhaustQuota sets a key's quota for a class to one and uses it up.
func (f *fixture) exhaustQuota(t *testing.T, s *keys.Store, keyID string, token auth.Token, class auth.Class) {
	t.Helper()
	if _, err := f.Keys.SetQuota(t.Context(), f.CompanyID, keyID, class, 1); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Admit(t.Context(), token, nil, class); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Admit(t.Context(), token, nil, class); err == nil || fault.PublicError(err).Code != fault.RateLimited {
		t.Fatalf("got %v, want a used-up quota", err)
	}
}

// Ensure each kind of refusal returns its own error, whether or not the process has admitted the
// key before, and whether or not the quota is used up. A refused request must change neither the
// quota of any class nor the time of the last use.
func TestRefusalsSpendNothing(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	forgedToken := func(t *testing.T, keyID string) auth.Token {
		secret, err := auth.Mint(f.CompanyID, keyID, rand.Reader) // correct ids, wrong secret
		if err != nil {
			t.Fatal(err)
		}
		return parse(t, secret)
	}
	must := func(t *testing.T, err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	type refusal struct {
		breakKey func(t *testing.T, keyID string)
		token    func(t *testing.T, keyID string) auth.Token // if nil, the key's own token is used
		scopes   []auth.Scope
		want     error
	}
	refusals := map[string]refusal{
		"wrong secret": {token: forgedToken, want: auth.ErrUnauthorised},
		"revoked": {breakKey: func(t *testing.T, keyID string) {
			_, err := f.Keys.Revoke(t.Context(), f.CompanyID, keyID)
			must(t, err)
		}, want: auth.ErrUnauthorised},
		"expired": {breakKey: func(t *testing.T, keyID string) {
			f.setAttribute(t, keyID, "expiresAt", table.Item{":value": table.String(formatTime(f.Clock.Now().Add(-time.Second)))})
		}, want: auth.ErrUnauthorised},
		"suspended": {breakKey: func(t *testing.T, keyID string) {
			f.setAttribute(t, keyID, "suspendedAt", table.Item{":value": table.String(formatTime(f.Clock.Now()))})
		}, want: auth.ErrSuspended},
		"revoked and suspended": {breakKey: func(t *testing.T, keyID string) {
			f.setAttribute(t, keyID, "suspendedAt", table.Item{":value": table.String(formatTime(f.Clock.Now()))})
			_, err := f.Keys.Revoke(t.Context(), f.CompanyID, keyID)
			must(t, err)
		}, want: auth.ErrUnauthorised},
		"no scope": {scopes: []auth.Scope{auth.KeysWrite}, want: auth.NewMissingScopeError(auth.KeysWrite)},
		"frozen, no scope": {breakKey: func(t *testing.T, keyID string) {
			_, err := f.Keys.SetQuota(t.Context(), f.CompanyID, keyID, auth.ClassRead, 0)
			must(t, err)
		}, scopes: []auth.Scope{auth.KeysWrite}, want: auth.NewMissingScopeError(auth.KeysWrite)},
		"frozen": {breakKey: func(t *testing.T, keyID string) {
			_, err := f.Keys.SetQuota(t.Context(), f.CompanyID, keyID, auth.ClassRead, 0)
			must(t, err)
		}, want: auth.NewFrozenError(auth.ClassRead)},
		"undecodable": {breakKey: func(t *testing.T, keyID string) {
			f.setAttribute(t, keyID, "quotaPush", table.Item{":value": table.String("many")})
			f.setAttribute(t, keyID, "suspendedAt", table.Item{":value": table.String(formatTime(f.Clock.Now()))}) // makes the write fail
		}, want: fault.ErrInternal},
	}
	for name, r := range refusals {
		for _, usedUp := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, used up %v", name, usedUp), func(t *testing.T) {
				warm, cold := f.otherProcess(), f.otherProcess()
				key, secret := f.issue(t, keys.Grant{Scopes: []auth.Scope{auth.PlanRead, auth.PlanWrite}})
				token := parse(t, secret)
				if _, err := warm.Admit(t.Context(), token, nil, auth.ClassRead); err != nil {
					t.Fatal(err)
				}
				if usedUp {
					f.Clock.Advance(time.Minute)
					f.exhaustQuota(t, warm, key.ID, token, auth.ClassRead)
				}
				if r.breakKey != nil {
					r.breakKey(t, key.ID)
				}
				if r.token != nil {
					token = r.token(t, key.ID)
				}
				before := f.record(t, key.ID)
				for n, s := range []*keys.Store{warm, cold, warm} {
					_, err := s.Admit(t.Context(), token, r.scopes, auth.ClassRead)
					if err == nil || fault.PublicError(err).Error() != fault.PublicError(r.want).Error() {
						t.Errorf("call %d: %v, want %v", n, err, r.want)
					}
				}
				if after := f.record(t, key.ID); !reflect.DeepEqual(before, after) {
					t.Errorf("before %v, after %v", before, after)
				}
			})
		}
	}
}

// Ensure an undecodable record is reported as an internal error wherever it is read, and never
// leads to an admission.
func TestUndecodableKey(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.setAttribute(t, f.key.ID, "quotaPush", table.Item{":value": table.String("many")})
	for range 2 {
		if _, err := f.admit(f.otherProcess(), auth.ClassRead); err == nil || fault.PublicError(err) != fault.ErrInternal {
			t.Errorf("Admit: %v", err)
		}
		if _, err := f.Keys.Verify(t.Context(), f.token, nil, auth.ClassRead); err == nil || fault.PublicError(err) != fault.ErrInternal {
			t.Errorf("Verify: %v", err)
		}
	}
}

// Ensure an impossible stored arrival time does not lock out a key. One request must be admitted,
// and then the bucket must refill as usual.
func TestCorruptArrivalTime(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, ahead := range []time.Duration{3 * time.Minute, 24 * 365 * time.Hour} {
		f.setAttribute(t, f.key.ID, "tatRead", table.Item{":value": table.Number(f.Clock.Now().Add(ahead).UnixNano())})
		for n, s := range []*keys.Store{f.Keys, f.otherProcess(), f.Keys} {
			state, err := f.admit(s, auth.ClassRead)
			if (err == nil) != (n == 0) {
				t.Errorf("%s ahead, request %d: error %v, want the first one admitted", ahead, n, err)
			}
			if state.Remaining != 0 || state.RetryAfter > 1 || state.Reset > 61 {
				t.Errorf("%s ahead, request %d: state %+v, want 0 remaining, a wait of 1 and a reset of 61 at most", ahead, n, state)
			}
		}
		f.Clock.Advance(time.Minute)
		if state, err := f.admit(f.Keys, auth.ClassRead); err != nil || state.Remaining != 599 {
			t.Errorf("%s ahead, a minute later: %+v, %v", ahead, state, err)
		}
	}
	// A stored arrival time that is too far in the future is treated as corrupt. Even the latest
	// accepted arrival time makes a request wait only about one window.
	f.Clock.Advance(time.Hour)
	f.setAttribute(t, f.key.ID, "tatRead", table.Item{":value": table.Number(f.Clock.Now().Add(2 * auth.QuotaWindow).UnixNano())})
	_, err := f.admit(f.Keys, auth.ClassRead)
	if state := requireQuotaExceeded(t, err); state.RetryAfter > 61 {
		t.Errorf("retry after %d, want 61 at most", state.RetryAfter)
	}
}

// tamperingTransport is a transport that replaces oldText with newText in the responses to the next
// updates; timesLeft is how many responses it still changes.
type tamperingTransport struct {
	oldText, newText string
	timesLeft        atomic.Int64
}

func (t *tamperingTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	out, err := apitest.Transport.RoundTrip(r)
	if err != nil || !strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".UpdateItem") || t.timesLeft.Add(-1) < 0 {
		return out, err
	}
	body, err := io.ReadAll(out.Body)
	text := strings.Replace(string(body), t.oldText, t.newText, 1)
	out.Header.Del("X-Amz-Crc32") // as if the engine sent no checksum
	out.Header.Del("Content-Length")
	closeErr := out.Body.Close()
	out.Body, out.ContentLength = io.NopCloser(strings.NewReader(text)), int64(len(text))
	return out, errors.Join(err, closeErr)
}

// Ensure a process that received a wrong arrival time still admits the next request.
func TestCorruptResponse(t *testing.T) {
	t.Parallel()
	l := &tamperingTransport{oldText: `"tatRead":{"N":"1`}
	f := newFixtureWithTransport(t, l)
	for _, wrong := range []string{`"tatRead":{"N":"5`, `"tatRead":{"N":"2`, `"tatRead":{"N":"`} {
		l.newText = wrong
		l.timesLeft.Store(1)
		if _, err := f.admit(f.Keys, auth.ClassRead); err != nil {
			t.Fatal(err)
		}
		if l.timesLeft.Load() != 0 {
			t.Fatal("no response was changed")
		}
		for range 2 {
			if _, err := f.admit(f.Keys, auth.ClassRead); err != nil {
				t.Errorf("after %s: %v", wrong, err)
			}
		}
	}
}

// gatedTransport, once armed, holds back the next read of a record until releaseCall is closed.
type gatedTransport struct {
	next http.RoundTripper

	armed       atomic.Bool
	callHeld    chan struct{}
	releaseCall chan struct{}
}

func (g *gatedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".GetItem") && g.armed.CompareAndSwap(true, false) {
		close(g.callHeld)
		<-g.releaseCall
	}
	return g.next.RoundTrip(r)
}

// Ensure concurrent requests that exceed a quota share a read that begins after all of them, even
// if the client of the first request has disconnected. A flood of requests then makes only one call
// at a time, and every request that starts after a revocation sees the revocation.
func TestRefusalsShareReads(t *testing.T) {
	t.Parallel()
	calls := &callCounter{}
	trips := &apitest.RoundTripCounter{Transport: calls}
	g := &gatedTransport{next: trips}
	f := newFixtureWithTransport(t, g)
	s := f.otherProcess()
	f.setQuota(t, auth.ClassRead, 1)
	if _, err := f.admit(s, auth.ClassRead); err != nil {
		t.Fatal(err)
	}
	trips.Count(t, func(t *testing.T) { checkRefusalsShareReads(t, f, s, g, calls) })
}

func checkRefusalsShareReads(t *testing.T, f *fixture, s *keys.Store, g *gatedTransport, calls *callCounter) {
	g.callHeld, g.releaseCall = make(chan struct{}), make(chan struct{})
	g.armed.Store(true)
	firstCtx, cancel := context.WithCancel(t.Context())
	firstErr := make(chan error, 1)
	go func() {
		_, err := s.Admit(firstCtx, f.token, []auth.Scope{auth.PlanRead}, auth.ClassRead)
		firstErr <- err
	}()
	<-g.callHeld
	cancel()
	if err := <-firstErr; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if _, err := f.Keys.Revoke(t.Context(), f.CompanyID, f.key.ID); err != nil {
		t.Fatal(err)
	}
	before := calls.callsOf("GetItem")
	var wait sync.WaitGroup
	for range 50 {
		wait.Go(func() {
			if _, err := s.Admit(t.Context(), f.token, []auth.Scope{auth.PlanRead}, auth.ClassRead); !errors.Is(err, auth.ErrUnauthorised) {
				t.Errorf("got %v", err)
			}
		})
	}
	synctest.Wait() // until all 50 requests wait for a read that begins after the first read
	close(g.releaseCall)
	wait.Wait()
	if got := calls.callsOf("GetItem") - before; got != 2 {
		t.Errorf("%d reads, want the first one and one for 50 requests", got)
	}
}

// Ensure no method swallows the failure of any of its calls to the table.
func TestFailuresAreReported(t *testing.T) {
	t.Parallel()
	var failuresLeft atomic.Int64 // the call at which it reaches zero fails
	f := newFixtureWithTransport(t, apitest.Intercept(func(c apitest.Call) (*http.Response, error) {
		if failuresLeft.Add(-1) == 0 {
			return c.Refuse()
		}
		return c.Send()
	}))
	ctx := t.Context()
	once := map[string]bool{"Rotate": true, "RotateBy": true, "Revoke": true} // can be called only once for each key
	grant := keys.Grant{Scopes: []auth.Scope{auth.PlanRead}}
	for name, call := range map[string]func(keyID string, token auth.Token) error{
		"Admit": func(_ string, token auth.Token) error {
			_, err := f.otherProcess().Admit(ctx, token, nil, auth.ClassRead)
			return err
		},
		"Verify": func(_ string, token auth.Token) error {
			_, err := f.Keys.Verify(ctx, token, nil, auth.ClassRead)
			return err
		},
		"Issue": func(string, auth.Token) error {
			_, _, err := f.Keys.Issue(ctx, f.CompanyID, grant, rand.Reader)
			return err
		},
		"Issue by": func(granterID string, _ auth.Token) error {
			_, _, err := f.Keys.Issue(ctx, f.CompanyID, keys.Grant{Scopes: grant.Scopes, GrantedBy: granterID}, rand.Reader)
			return err
		},
		"Rotate": func(keyID string, _ auth.Token) error {
			_, _, err := f.Keys.Rotate(ctx, f.CompanyID, keyID, time.Hour, rand.Reader)
			return err
		},
		"RotateBy": func(keyID string, _ auth.Token) error {
			_, _, err := f.Keys.RotateBy(ctx, f.CompanyID, f.key.ID, keyID, time.Hour, rand.Reader)
			return err
		},
		"Revoke":     func(keyID string, _ auth.Token) error { _, err := f.Keys.Revoke(ctx, f.CompanyID, keyID); return err },
		"Get":        func(keyID string, _ auth.Token) error { _, err := f.Keys.Get(ctx, f.CompanyID, keyID); return err },
		"KeyOfToken": func(_ string, token auth.Token) error { _, err := f.Keys.KeyOfToken(ctx, token); return err },
		"List":       func(string, auth.Token) error { _, err := f.Keys.List(ctx, f.CompanyID); return err },
		"SetQuota": func(keyID string, _ auth.Token) error {
			_, err := f.Keys.SetQuota(ctx, f.CompanyID, keyID, auth.ClassRead, 7)
			return err
		},
		"Suspend":     func(string, auth.Token) error { _, err := f.Keys.Suspend(ctx, f.CompanyID); return err },
		"SuspendedAt": func(string, auth.Token) error { _, err := f.Keys.SuspendedAt(ctx, f.CompanyID); return err },
		"Resume":      func(string, auth.Token) error { _, err := f.Keys.Resume(ctx, f.CompanyID); return err },
	} {
		f.Service.CompanyID = f.Table.NewID("co")
		f.key, f.secret = f.issue(t, grant)
		key, secret, calls := f.key, f.secret, 0
		for failed := true; failed; calls++ {
			failuresLeft.Store(0)
			if once[name] {
				key, secret = f.issue(t, grant)
			}
			failuresLeft.Store(int64(calls) + 1)
			err := call(key.ID, parse(t, secret))
			if failed = failuresLeft.Load() <= 0; failed && (err == nil || fault.PublicError(err) != fault.ErrInternal) {
				t.Errorf("%s: call %d failed, and it returns %v", name, calls+1, err)
			} else if !failed && err != nil {
				t.Errorf("%s: no call failed, and it returns %v", name, err)
			}
			if calls > 20 {
				t.Fatalf("%s: no end", name)
			}
		}
		if calls < 2 {
			t.Errorf("%s: made no call", name)
		}
		failuresLeft.Store(0)
	}
}

// Ensure an admission fails with the code "unavailable", after only a few writes, if it loses to
// other callers on every attempt.
func TestAdmitGivesUp(t *testing.T) {
	t.Parallel()
	m := &contendedTransport{}
	f := newFixtureWithTransport(t, m)
	f.Keys = f.otherProcess()
	m.enabled.Store(true)
	_, err := f.admit(f.Keys, auth.ClassRead)
	if !errors.Is(err, fault.ErrUnavailable) || m.writeCount.Load() > 12 {
		t.Errorf("%v after %d writes", err, m.writeCount.Load())
	}
	m.enabled.Store(false)
	if _, err := f.admit(f.Keys, auth.ClassRead); err != nil {
		t.Error(err)
	}
}

// contendedTransport adds to the writes of admissions a condition that never holds, as if other
// callers were always faster.
type contendedTransport struct {
	enabled    atomic.Bool
	writeCount atomic.Int64
}

func (c *contendedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if !c.enabled.Load() || !strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".UpdateItem") {
		return apitest.Transport.RoundTrip(r)
	}
	c.writeCount.Add(1)
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	text := strings.Replace(string(body), `"ConditionExpression":"`, `"ConditionExpression":"attribute_not_exists(pk) AND `, 1)
	r = r.Clone(r.Context())
	r.Body, r.ContentLength = io.NopCloser(strings.NewReader(text)), int64(len(text))
	r.Header.Del("Content-Length")
	return apitest.Transport.RoundTrip(r)
}

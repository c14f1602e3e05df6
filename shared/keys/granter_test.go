package keys_test

import (
	"crypto/rand"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"growthworkspace/shared/auth"
	"growthworkspace/shared/keys"
	"growthworkspace/shared/testkit/apitest"
)

// clockAdvancingTransport is a transport that calls afterGet once, after the next read of a record.
// Tests advance the clock in afterGet.
type clockAdvancingTransport struct{ afterGet atomic.Pointer[func()] }

func (c *clockAdvancingTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	out, err := apitest.Transport.RoundTrip(r)
	if strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".GetItem") {
		if afterGet := c.afterGet.Swap(nil); afterGet != nil {
			(*afterGet)()
		}
	}
	return out, err
}

// Ensure a key can grant only until it expires. A key that expires after its request was admitted,
// or after its record was read, must neither create nor rotate a key.
func TestExpiredGranter(t *testing.T) {
	t.Parallel()
	scopes := []auth.Scope{auth.PlanRead}
	for _, c := range []struct {
		after     time.Duration
		afterRead bool // the key expires after it is read
		want      error
	}{
		{time.Minute - time.Millisecond, false, nil}, {time.Minute - time.Millisecond, true, nil},
		{time.Minute, false, auth.ErrUnauthorised}, {time.Minute, true, auth.ErrUnauthorised},
		{time.Hour, false, auth.ErrUnauthorised}, {time.Hour, true, auth.ErrUnauthorised},
	} {
		after, want := c.after, c.want
		p := &clockAdvancingTransport{}
		f := newFixtureWithTransport(t, p)
		granterKey, _ := f.issue(t, keys.Grant{Scopes: scopes, ExpiresAt: f.Clock.Now().Add(time.Minute)})
		other, _ := f.issue(t, keys.Grant{Scopes: scopes})
		before, err := f.Keys.List(t.Context(), f.CompanyID)
		if err != nil {
			t.Fatal(err)
		}
		if c.afterRead {
			p.afterGet.Store(new(func() { f.Clock.Advance(after) }))
		} else {
			f.Clock.Advance(after)
		}
		_, _, issueErr := f.Keys.Issue(t.Context(), f.CompanyID, keys.Grant{Scopes: scopes, GrantedBy: granterKey.ID}, rand.Reader)
		_, _, rotateErr := f.Keys.RotateBy(t.Context(), f.CompanyID, granterKey.ID, other.ID, time.Hour, rand.Reader)
		if !errors.Is(issueErr, want) || !errors.Is(rotateErr, want) { // errors.Is(err, nil) is true only for nil
			t.Errorf("after %v: issue %v, rotate %v, want %v", after, issueErr, rotateErr, want)
		}
		current, err := f.Keys.List(t.Context(), f.CompanyID)
		if err != nil || want != nil && len(current) != len(before) || want == nil && len(current) != len(before)+2 {
			t.Errorf("after %v: %d keys, then %d, %v", after, len(before), len(current), err)
		}
	}
}

// Ensure a key is found only by its own secret, not by another secret with the same ids.
func TestKeyOfToken(t *testing.T) {
	t.Parallel()
	f := newFixtureWithTransport(t, nil)
	key, secret := f.issue(t, keys.Grant{Scopes: []auth.Scope{auth.PlanRead}})
	forged, err := auth.Mint(f.CompanyID, key.ID, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]error{secret: nil, forged: auth.ErrUnauthorised} {
		token, err := auth.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := f.Keys.KeyOfToken(t.Context(), token); !errors.Is(err, want) || (err == nil) != (want == nil) || (got.ID == key.ID) != (want == nil) {
			t.Errorf("%s, %v, want %v", got.ID, err, want)
		}
	}
}

// Ensure the list of keys includes every earlier write, because someone who revokes all keys of a
// company must see even the newest one.
func TestKeysAreReadConsistently(t *testing.T) {
	t.Parallel()
	var queries, consistentQueries atomic.Int64
	s := newFixtureWithTransport(t, apitest.Intercept(func(c apitest.Call) (*http.Response, error) {
		if c.Action == "Query" {
			queries.Add(1)
			if strings.Contains(c.Body, `"ConsistentRead":true`) {
				consistentQueries.Add(1)
			}
		}
		return c.Send()
	}))
	if _, err := s.Keys.List(t.Context(), s.CompanyID); err != nil || queries.Load() == 0 || consistentQueries.Load() != queries.Load() {
		t.Errorf("%v, %d of %d queries are consistent", err, consistentQueries.Load(), queries.Load())
	}
}

package keys_test

import (
	"crypto/rand"
	"errors"
	"testing"
	"time"

	"growthworkspace/shared/auth"
	"growthworkspace/shared/fault"
	"growthworkspace/shared/keys"
)

// Ensure unknown, wrong, revoked and expired keys get the same public error. The error for a
// missing scope names the scope, and a suspension has its own error. The error for the log contains
// the reason but no secret.
func TestAdmitRefuses(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	forgedSecret, err := auth.Mint(f.CompanyID, f.key.ID, rand.Reader) // correct ids, wrong secret
	if err != nil {
		t.Fatal(err)
	}
	unknownSecret, err := auth.Mint(f.CompanyID, f.Table.NewID("key"), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	revoked, revokedSecret := f.issue(t, keys.Grant{Scopes: []auth.Scope{auth.PlanRead}})
	if _, err := f.admitAs(t, revokedSecret, auth.PlanRead); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Keys.Revoke(t.Context(), f.CompanyID, revoked.ID); err != nil {
		t.Fatal(err)
	}
	_, expiredSecret := f.issue(t, keys.Grant{Scopes: []auth.Scope{auth.PlanRead}, ExpiresAt: f.Clock.Now()})
	for name, test := range map[string]struct {
		secret string
		scope  auth.Scope
		reason string
	}{
		"unknown":      {unknownSecret, auth.PlanRead, "unknown: " + auth.ErrUnauthorised.Error()},
		"wrong secret": {forgedSecret, auth.PlanRead, "unknown: " + auth.ErrUnauthorised.Error()},
		"revoked":      {revokedSecret, auth.PlanRead, "revoked: " + auth.ErrUnauthorised.Error()},
		"expired":      {expiredSecret, auth.PlanRead, "expired: " + auth.ErrUnauthorised.Error()},
		"no scope":     {f.secret, auth.KeysWrite, auth.NewMissingScopeError(auth.KeysWrite).Error()},
		"part of one":  {f.secret, "plan", auth.NewMissingScopeError("plan").Error()},
		// The validity of a key is checked before its scopes.
		"wrong secret, no scope": {forgedSecret, auth.KeysWrite, "unknown: " + auth.ErrUnauthorised.Error()},
		"revoked, no scope":      {revokedSecret, auth.KeysWrite, "revoked: " + auth.ErrUnauthorised.Error()},
	} {
		_, err := f.admitAs(t, test.secret, test.scope)
		if err == nil || fault.PublicError(err).Code != fault.Unauthorised || err.Error() != test.reason {
			t.Errorf("%s: error %v, want %s", name, err, test.reason)
		}
		if _, err := f.Keys.Verify(t.Context(), parse(t, test.secret), []auth.Scope{test.scope}, auth.ClassRead); err == nil || err.Error() != test.reason {
			t.Errorf("%s: Verify: %v", name, err)
		}
	}
}

func (f *fixture) admitAs(t *testing.T, secret string, scope auth.Scope) (auth.QuotaState, error) {
	t.Helper()
	admission, err := f.Keys.Admit(t.Context(), parse(t, secret), []auth.Scope{scope}, auth.ClassRead)
	return admission.Quota, err
}

// Ensure that a wrong secret with the correct ids is refused even if the right key is remembered,
// and that it takes nothing from that key's quota.
func TestWrongSecretLearnsNothing(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.setQuota(t, auth.ClassRead, 2)
	for range 2 {
		if _, err := f.admit(f.Keys, auth.ClassRead); err != nil {
			t.Fatal(err)
		}
	}
	_, err := f.admit(f.Keys, auth.ClassRead)
	before := requireQuotaExceeded(t, err)
	forgedSecret, err := auth.Mint(f.CompanyID, f.key.ID, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if _, err := f.admitAs(t, forgedSecret, auth.PlanRead); !errors.Is(err, auth.ErrUnauthorised) {
			t.Errorf("got %v", err)
		}
	}
	_, err = f.admit(f.otherProcess(), auth.ClassRead)
	if after := requireQuotaExceeded(t, err); after != before {
		t.Errorf("%+v, before %+v", after, before)
	}
}

// Ensure a request that is refused because of its scope takes nothing from the quota.
func TestRefusedKeySpendsNothing(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for range 5 {
		if _, err := f.admitAs(t, f.secret, auth.KeysWrite); err == nil {
			t.Fatal("admitted without its scope")
		}
	}
	state, err := f.Keys.Verify(t.Context(), f.token, nil, auth.ClassRead)
	if err != nil || state.Remaining != 600 || state.Reset != 0 {
		t.Errorf("state %+v, want 600 remaining and no reset: %v", state, err)
	}
	if used := f.keysByID(t)[f.key.ID].LastUsedAt; used != nil {
		t.Errorf("used at %s", *used)
	}
}

// Ensure a key is refused from the exact moment at which it expires, and not before.
func TestExpiryIsExact(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	key, secret := f.issue(t, keys.Grant{Scopes: []auth.Scope{auth.PlanRead}, ExpiresAt: f.Clock.Now().Add(time.Hour)})
	f.Clock.Advance(time.Hour - time.Millisecond)
	if _, err := f.admitAs(t, secret, auth.PlanRead); err != nil {
		t.Errorf("a millisecond before: %v", err)
	}
	f.Clock.Advance(time.Millisecond - time.Nanosecond)
	if _, err := f.admitAs(t, secret, auth.PlanRead); err != nil {
		t.Errorf("a nanosecond before: %v", err)
	}
	f.Clock.Advance(time.Nanosecond)
	if _, err := f.admitAs(t, secret, auth.PlanRead); !errors.Is(err, auth.ErrUnauthorised) {
		t.Errorf("at the moment: %v", err)
	}
	if _, err := f.Keys.Verify(t.Context(), parse(t, secret), nil, auth.ClassRead); !errors.Is(err, auth.ErrUnauthorised) {
		t.Errorf("Verify at the moment: %v", err)
	}
	if used := valueOrNull(f.keysByID(t)[key.ID].LastUsedAt); used != formatTime(f.Clock.Now().Add(-time.Millisecond)) {
		t.Errorf("used at %s, after it had expired", used)
	}
}

// Ensure a revoked or suspended key is refused at once in every process.
func TestRevokedAtOnceEverywhere(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	processes := []*keys.Store{f.Keys, f.otherProcess(), f.otherProcess()}
	checkAllProcesses := func(want error) {
		t.Helper()
		for n, s := range processes {
			if _, err := f.admit(s, auth.ClassRead); !errors.Is(err, want) {
				t.Errorf("process %d: %v, want %v", n, err, want)
			}
		}
	}
	checkAllProcesses(nil)
	if _, err := f.Keys.Suspend(t.Context(), f.CompanyID); err != nil {
		t.Fatal(err)
	}
	checkAllProcesses(auth.ErrSuspended)
	if _, err := f.Keys.Verify(t.Context(), f.token, nil, auth.ClassRead); !errors.Is(err, auth.ErrSuspended) {
		t.Errorf("Verify: %v", err)
	}
	if _, err := f.Keys.Resume(t.Context(), f.CompanyID); err != nil {
		t.Fatal(err)
	}
	checkAllProcesses(nil)
	if _, err := f.Keys.Revoke(t.Context(), f.CompanyID, f.key.ID); err != nil {
		t.Fatal(err)
	}
	checkAllProcesses(auth.ErrUnauthorised)
}

// Ensure an admission costs one call to the table, and one more for each wrong guess about the
// bucket.
func TestCallsPerAdmission(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	admit := func(s *keys.Store) func() {
		return func() {
			t.Helper()
			if _, err := f.admit(s, auth.ClassRead); err != nil {
				t.Error(err)
			}
		}
	}
	expect := func(name string, want int, do func()) {
		t.Helper()
		if got := f.counter.callsDuring(do); got != want {
			t.Errorf("%s: %d calls, want %d", name, got, want)
		}
	}
	expect("a fresh bucket", 1, admit(f.Keys))
	expect("a bucket in use", 1, admit(f.Keys))
	expect("in another process", 2, admit(f.otherProcess()))
	expect("beside another process", 1, admit(f.Keys))
	f.Clock.Advance(time.Hour)
	expect("an idle bucket", 1, admit(f.Keys))
	expect("an idle bucket in another process", 2, admit(f.otherProcess()))
	f.Clock.Advance(time.Hour)
	expect("an idle bucket in a new process", 1, admit(f.otherProcess()))
	f.setQuota(t, auth.ClassRead, 30)
	expect("a new quota", 2, admit(f.Keys))
	expect("the new quota", 1, admit(f.Keys))
	expect("a wrong key", 1, func() {
		if _, err := f.admitAs(t, f.secret, auth.KeysWrite); err == nil {
			t.Error("admitted")
		}
	})
}

// Ensure lastUsedAt is the time of the last admitted request of any class.
func TestLastUsedAt(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	if got := f.keysByID(t)[f.key.ID].LastUsedAt; got != nil {
		t.Errorf("a new key was used at %s", *got)
	}
	for _, class := range auth.Classes() {
		f.Clock.Advance(time.Minute)
		if _, err := f.admit(f.Keys, class); err != nil {
			t.Fatal(err)
		}
		if got := valueOrNull(f.keysByID(t)[f.key.ID].LastUsedAt); got != formatTime(f.Clock.Now()) {
			t.Errorf("after a %s: %s, want %s", class, got, formatTime(f.Clock.Now()))
		}
	}
	used := f.Clock.Now()
	f.Clock.Advance(time.Minute)
	if _, err := f.Keys.Verify(t.Context(), f.token, nil, auth.ClassRead); err != nil {
		t.Fatal(err)
	}
	if got := valueOrNull(f.keysByID(t)[f.key.ID].LastUsedAt); got != formatTime(used) {
		t.Errorf("Verify is a use: %s", got)
	}
}

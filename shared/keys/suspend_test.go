package keys_test

import (
	"crypto/rand"
	"errors"
	"testing"
	"time"

	"growthworkspace/shared/auth"
	"growthworkspace/shared/keys"
	"growthworkspace/shared/testkit/apitest"
)

// checkAdmitAll checks that each secret is refused with the error in want, or admitted if want is
// nil.
func (f *fixture) checkAdmitAll(t *testing.T, want error, secrets ...string) {
	t.Helper()
	for n, secret := range secrets {
		if _, err := f.admitAs(t, secret, auth.PlanRead); !errors.Is(err, want) {
			t.Errorf("key %d: %v, want %v", n, err, want)
		}
	}
}

// Ensure a suspension covers every key, including those issued or rotated during the suspension or
// while it is being written. Suspend and Resume can be repeated, and Resume covers every key, too.
func TestSuspendCoversLaterKeys(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	grant := keys.Grant{Scopes: []auth.Scope{auth.PlanRead}}
	if since, err := f.Keys.SuspendedAt(t.Context(), f.CompanyID); since != nil || err != nil {
		t.Errorf("suspended at %v, want never: %v", since, err)
	}

	// The creation of this key starts before the suspension is written and finishes after it is
	// written.
	_, concurrentSecret, err := f.Keys.Issue(t.Context(), f.CompanyID, grant, &beforeReadRandom{func() {
		if n, err := f.Keys.Suspend(t.Context(), f.CompanyID); n != 1 || err != nil {
			t.Errorf("%d keys were suspended, want 1: %v", n, err)
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	since := f.Clock.Now()
	f.Clock.Advance(time.Hour)
	_, laterSecret := f.issue(t, grant)
	_, rotatedSecret, err := f.Keys.Rotate(t.Context(), f.CompanyID, f.key.ID, time.Hour, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	f.checkAdmitAll(t, auth.ErrSuspended, f.secret, concurrentSecret, laterSecret, rotatedSecret)
	for range 2 {
		if n, err := f.Keys.Suspend(t.Context(), f.CompanyID); n != 4 || err != nil {
			t.Errorf("again: %d, %v", n, err)
		}
		if got, err := f.Keys.SuspendedAt(t.Context(), f.CompanyID); valueOrNull(got) != formatTime(since) || err != nil {
			t.Errorf("suspended at %s, %v", valueOrNull(got), err)
		}
	}
	f.checkAdmitAll(t, auth.ErrSuspended, f.secret, concurrentSecret, laterSecret, rotatedSecret)
	for range 2 {
		if n, err := f.Keys.Resume(t.Context(), f.CompanyID); n != 4 || err != nil {
			t.Errorf("%d keys were resumed, want 4: %v", n, err)
		}
	}
	_, newSecret := f.issue(t, grant)
	f.checkAdmitAll(t, nil, f.secret, concurrentSecret, laterSecret, rotatedSecret, newSecret)
}

// Ensure a key is not suspended if its creation starts during a suspension and finishes after the
// suspension has ended. Nothing would resume such a key.
func TestResumeWhileIssuing(t *testing.T) {
	t.Parallel()
	s := &apitest.BeforeMatch{Matches: apitest.IsTransaction}
	f := newFixtureWithTransport(t, s)
	if _, err := f.Keys.Suspend(t.Context(), f.CompanyID); err != nil {
		t.Fatal(err)
	}
	s.Run = func() {
		if _, err := f.Keys.Resume(t.Context(), f.CompanyID); err != nil {
			t.Error(err)
		}
	}
	_, secret := f.issue(t, keys.Grant{Scopes: []auth.Scope{auth.PlanRead}})
	if s.Run != nil {
		t.Fatal("not resumed in between")
	}
	f.checkAdmitAll(t, nil, f.secret, secret)
}

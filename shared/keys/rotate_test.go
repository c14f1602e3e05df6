package keys_test

import (
	"crypto/rand"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"growthworkspace/shared/auth"
	"growthworkspace/shared/fault"
	"growthworkspace/shared/keys"
)

// Ensure both keys work until the overlap ends, and only the new one works afterwards. The new key
// must have the name, scopes and quotas of the old one.
func TestRotate(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.setQuota(t, auth.ClassRead, 33)
	fresh, secret, err := f.Keys.Rotate(t.Context(), f.CompanyID, f.key.ID, time.Hour, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	old := f.keysByID(t)[f.key.ID]
	if valueOrNull(old.ReplacedBy) != fresh.ID || valueOrNull(old.ExpiresAt) != formatTime(f.Clock.Now().Add(time.Hour)) {
		t.Errorf("replaced by %s, expires at %s; want %s in an hour", valueOrNull(old.ReplacedBy), valueOrNull(old.ExpiresAt), fresh.ID)
	}
	want := keys.Key{Name: new("ci"), Scopes: old.Scopes, APIVersion: old.APIVersion}
	got := keys.Key{Name: fresh.Name, Scopes: fresh.Scopes, APIVersion: fresh.APIVersion, ExpiresAt: fresh.ExpiresAt, ReplacedBy: fresh.ReplacedBy}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the new key (-want +got):\n%s", diff)
	}
	checkBoth := func(oldWorks bool) {
		t.Helper()
		if state, err := f.admitAs(t, secret, auth.PlanRead); err != nil || state.Quota != 33 {
			t.Errorf("the new key: %+v, %v", state, err)
		}
		if _, err := f.admitAs(t, f.secret, auth.PlanRead); (err == nil) != oldWorks {
			t.Errorf("the old key: %v", err)
		}
	}
	checkBoth(true)
	f.Clock.Advance(time.Hour - time.Millisecond)
	checkBoth(true)
	var conflict *fault.Error
	if _, _, err := f.Keys.Rotate(t.Context(), f.CompanyID, f.key.ID, time.Hour, rand.Reader); !errors.As(err, &conflict) || conflict.Code != fault.Conflict {
		t.Errorf("rotated twice: %v", err)
	}
	f.Clock.Advance(time.Millisecond)
	checkBoth(false)
	if _, _, err := f.Keys.Rotate(t.Context(), f.CompanyID, f.key.ID, time.Hour, rand.Reader); !errors.Is(err, fault.ErrNotFound) {
		t.Errorf("rotated after its end: %v", err)
	}
	if _, _, err := f.Keys.Rotate(t.Context(), f.CompanyID, "key_nothing", time.Hour, rand.Reader); !errors.Is(err, fault.ErrNotFound) {
		t.Errorf("an unknown key: %v", err)
	}
	if got := f.keysByID(t); len(got) != 2 {
		t.Errorf("%d keys", len(got))
	}
}

// Ensure a rotation never extends the life of a key, and without an overlap the old key stops
// working at once.
func TestRotateOverlap(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	soon := f.Clock.Now().Add(time.Minute)
	key, _ := f.issue(t, keys.Grant{ExpiresAt: soon})
	if _, _, err := f.Keys.Rotate(t.Context(), f.CompanyID, key.ID, time.Hour, rand.Reader); err != nil {
		t.Fatal(err)
	}
	if got := valueOrNull(f.keysByID(t)[key.ID].ExpiresAt); got != formatTime(soon) {
		t.Errorf("expires at %s", got)
	}
	if _, _, err := f.Keys.Rotate(t.Context(), f.CompanyID, f.key.ID, 0, rand.Reader); err != nil {
		t.Fatal(err)
	}
	if _, err := f.admit(f.Keys, auth.ClassRead); !errors.Is(err, auth.ErrUnauthorised) {
		t.Errorf("got %v", err)
	}
}

// Ensure exactly one of several concurrent rotations succeeds, the others fail with a conflict, and
// no extra key is created.
func TestRotateConcurrently(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	errs := make([]error, 6)
	var wait sync.WaitGroup
	for n := range errs {
		wait.Go(func() { _, _, errs[n] = f.Keys.Rotate(t.Context(), f.CompanyID, f.key.ID, time.Hour, rand.Reader) })
	}
	wait.Wait()
	won := 0
	for _, err := range errs {
		var conflict *fault.Error
		switch {
		case err == nil:
			won++
		case !errors.As(err, &conflict) || conflict.Code != fault.Conflict:
			t.Errorf("got %v", err)
		}
	}
	if won != 1 || len(f.keysByID(t)) != 2 {
		t.Errorf("%d won, %d keys", won, len(f.keysByID(t)))
	}
}

// beforeReadRandom is a random source that calls beforeRead once, when the new secret is drawn. By
// then the old key has been read.
type beforeReadRandom struct{ beforeRead func() }

func (b *beforeReadRandom) Read(p []byte) (int, error) {
	if b.beforeRead != nil {
		b.beforeRead()
		b.beforeRead = nil
	}
	return rand.Read(p)
}

// Ensure a rotation uses the key's state at the time of the write. A key that is revoked during the
// rotation is not rotated, and a quota that is set during it also applies to the new key.
func TestRotateWhileTheKeyChanges(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	_, secret, err := f.Keys.Rotate(t.Context(), f.CompanyID, f.key.ID, time.Hour, &beforeReadRandom{func() { f.setQuota(t, auth.ClassRead, 0) }})
	if err != nil {
		t.Fatal(err)
	}
	if _, err = f.admitAs(t, secret, auth.PlanRead); err == nil || fault.PublicError(err).Code != fault.Forbidden {
		t.Errorf("got %v, want a frozen class", err)
	}

	key, _ := f.issue(t, keys.Grant{})
	_, _, err = f.Keys.Rotate(t.Context(), f.CompanyID, key.ID, time.Hour, &beforeReadRandom{func() {
		if _, err := f.Keys.Revoke(t.Context(), f.CompanyID, key.ID); err != nil {
			t.Error(err)
		}
	}})
	if !errors.Is(err, fault.ErrNotFound) || len(f.keysByID(t)) != 3 {
		t.Errorf("%v, %d keys", err, len(f.keysByID(t)))
	}
}

// Ensure that an expiring key cannot obtain a longer life by rotating another key, and that a
// rotation by the operator keeps the rotated key's own expiry.
func TestRotateBoundByExpiry(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	scopes := []auth.Scope{auth.PlanRead}
	expiresAt := f.Clock.Now().Add(time.Hour)
	rotator, _ := f.issue(t, keys.Grant{Scopes: scopes, ExpiresAt: expiresAt})
	for _, c := range []struct {
		expiresAt time.Time
		rotatorID string
		want      *time.Time
	}{
		{time.Time{}, rotator.ID, &expiresAt}, {expiresAt.Add(time.Hour), rotator.ID, &expiresAt}, {expiresAt.Add(-time.Minute), rotator.ID, new(expiresAt.Add(-time.Minute))}, {time.Time{}, "", nil},
	} {
		old, _ := f.issue(t, keys.Grant{Scopes: scopes, ExpiresAt: c.expiresAt})
		fresh, _, err := f.Keys.RotateBy(t.Context(), f.CompanyID, c.rotatorID, old.ID, time.Hour, rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		if c.want == nil && fresh.ExpiresAt != nil || c.want != nil && valueOrNull(fresh.ExpiresAt) != formatTime(*c.want) {
			t.Errorf("a key that ends %v, rotated by %q, ends %q", c.expiresAt, c.rotatorID, valueOrNull(fresh.ExpiresAt))
		}
	}
}

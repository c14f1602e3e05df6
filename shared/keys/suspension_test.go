package keys_test

import (
	"context"
	"crypto/rand"
	"errors"
	"sync"
	"testing"
	"time"

	"growthworkspace/shared/api"
	"growthworkspace/shared/auth"
	"growthworkspace/shared/keys"
	"growthworkspace/shared/table"
	"growthworkspace/shared/testkit/apitest"
)

func checkAdmitted(ctx context.Context, t *testing.T, s *apitest.Service, secret string) error {
	t.Helper()
	token, err := auth.Parse(secret)
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Keys.Admit(ctx, token, []auth.Scope{auth.CompanyRead}, auth.ClassRead)
	return err
}

func noOperations(*table.Client) []api.Operation { return nil }

// Ensure the suspension of a company also applies to keys that are issued or rotated later, even to
// the company's first key.
func TestIssueForSuspendedCompany(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, noOperations)
	ctx := t.Context()
	if n, err := s.Keys.Suspend(ctx, s.CompanyID); n != 0 || err != nil {
		t.Fatalf("%d keys were suspended, want none: %v", n, err)
	}
	suspendedAt, err := s.Keys.SuspendedAt(ctx, s.CompanyID)
	if err != nil || suspendedAt == nil {
		t.Fatalf("suspended at %v, want a time: %v", suspendedAt, err)
	}
	grant := keys.Grant{Name: "late", Scopes: auth.Scopes()}
	key, secret, err := s.Keys.Issue(ctx, s.CompanyID, grant, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	_, rotatedSecret, err := s.Keys.Rotate(ctx, s.CompanyID, key.ID, time.Hour, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range []string{secret, rotatedSecret} {
		if err := checkAdmitted(ctx, t, s, k); !errors.Is(err, auth.ErrSuspended) {
			t.Errorf("error %v, want %v", err, auth.ErrSuspended)
		}
	}
	s.Clock.Advance(time.Minute)
	if _, err := s.Keys.Suspend(ctx, s.CompanyID); err != nil {
		t.Fatal(err)
	}
	if again, err := s.Keys.SuspendedAt(ctx, s.CompanyID); err != nil || *again != *suspendedAt {
		t.Error("a second suspension changed the time of the first", again, err)
	}
	if n, err := s.Keys.Resume(ctx, s.CompanyID); n != 2 || err != nil {
		t.Errorf("%d keys were resumed, want 2: %v", n, err)
	}
	for _, k := range []string{secret, rotatedSecret} {
		if err := checkAdmitted(ctx, t, s, k); err != nil {
			t.Error(err)
		}
	}
	if listed, err := s.Keys.List(ctx, s.CompanyID); err != nil || len(listed) != 2 {
		t.Errorf("listed %+v, want 2 keys and not the suspension: %v", listed, err)
	}
}

// Ensure a suspension also applies to every key that is issued while the suspension is being
// written.
func TestIssueRacesSuspend(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, noOperations)
	ctx := t.Context()
	secrets := make([]string, 12)
	var wait sync.WaitGroup
	for n := range secrets {
		wait.Go(func() {
			var err error
			if _, secrets[n], err = s.Keys.Issue(ctx, s.CompanyID, keys.Grant{Scopes: auth.Scopes()}, rand.Reader); err != nil {
				t.Error(err)
			}
		})
		if n == len(secrets)/2 {
			wait.Go(func() {
				if _, err := s.Keys.Suspend(ctx, s.CompanyID); err != nil {
					t.Error(err)
				}
			})
		}
	}
	wait.Wait()
	for _, secret := range secrets {
		if err := checkAdmitted(ctx, t, s, secret); !errors.Is(err, auth.ErrSuspended) {
			t.Errorf("error %v, want %v", err, auth.ErrSuspended)
		}
	}
}

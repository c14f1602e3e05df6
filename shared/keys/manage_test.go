package keys_test

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"growthworkspace/shared/auth"
	"growthworkspace/shared/fault"
	"growthworkspace/shared/keys"
	"growthworkspace/shared/table"
)

// Ensure a new key has the documented fields and the granted scopes.
func TestIssue(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	expiresAt := f.Clock.Now().Add(time.Hour + 1)
	key, secret := f.issue(t, keys.Grant{Name: "  ", Scopes: []auth.Scope{}, ExpiresAt: expiresAt})
	listed := f.keysByID(t)
	for _, k := range []keys.Key{key, listed[key.ID]} {
		want := keys.Key{
			ID: key.ID, CompanyID: f.CompanyID, Kind: new("secret"), Prefix: k.Prefix, Scopes: []string{}, CreatedAt: new(formatTime(f.Clock.Now())), ExpiresAt: new(formatTime(expiresAt)),
		}
		if diff := cmp.Diff(want, k); diff != "" {
			t.Errorf("key (-want +got):\n%s", diff)
		}
		if !strings.HasPrefix(secret, valueOrNull(k.Prefix)) {
			t.Errorf("prefix %s of another secret", valueOrNull(k.Prefix))
		}
	}
	first := listed[f.key.ID]
	want := keys.Key{Name: new("ci"), Scopes: []string{"plan:read", "plan:write"}, APIVersion: new("2026-08-11")}
	if diff := cmp.Diff(want, keys.Key{Name: first.Name, Scopes: first.Scopes, APIVersion: first.APIVersion, ExpiresAt: first.ExpiresAt}); diff != "" {
		t.Errorf("the first key (-want +got):\n%s", diff)
	}
	if len(listed) != 2 {
		t.Errorf("%d keys", len(listed))
	}
	if _, _, err := f.Keys.Issue(t.Context(), f.CompanyID, keys.Grant{Scopes: []auth.Scope{"all"}}, rand.Reader); err == nil {
		t.Error("an unknown scope was granted")
	}
	if _, _, err := f.Keys.Issue(t.Context(), f.CompanyID, keys.Grant{}, bytes.NewReader(nil)); err == nil {
		t.Error("a key without randomness")
	}
	if others, err := f.Keys.List(t.Context(), f.Table.NewID("co")); err != nil || others == nil || len(others) != 0 {
		t.Errorf("another company: %v, %v", others, err)
	}
}

// Ensure a key can be revoked only once, keeps its record, and cannot be revoked by another
// company.
func TestRevoke(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	if _, err := f.Keys.Revoke(t.Context(), f.Table.NewID("co"), f.key.ID); !errors.Is(err, fault.ErrNotFound) {
		t.Errorf("another company: %v", err)
	}
	f.Clock.Advance(time.Minute)
	key, err := f.Keys.Revoke(t.Context(), f.CompanyID, f.key.ID)
	if err != nil || valueOrNull(key.RevokedAt) != formatTime(f.Clock.Now()) || valueOrNull(f.keysByID(t)[key.ID].RevokedAt) != valueOrNull(key.RevokedAt) {
		t.Errorf("revoked at %s, in the list at %s, want %s: %v", valueOrNull(key.RevokedAt), valueOrNull(f.keysByID(t)[key.ID].RevokedAt), formatTime(f.Clock.Now()), err)
	}
	if _, err := f.Keys.Revoke(t.Context(), f.CompanyID, f.key.ID); !errors.Is(err, fault.ErrNotFound) {
		t.Errorf("twice: %v", err)
	}
	if _, _, err := f.Keys.Rotate(t.Context(), f.CompanyID, f.key.ID, time.Hour, rand.Reader); !errors.Is(err, fault.ErrNotFound) {
		t.Errorf("rotated: %v", err)
	}
}

// Ensure a key that is revoked while it is in use stays revoked.
func TestRevokeWhileInUse(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			for range 5 {
				if _, err := f.admit(f.Keys, auth.ClassRead); err != nil && !errors.Is(err, auth.ErrUnauthorised) {
					t.Errorf("error %v, want none or %v", err, auth.ErrUnauthorised)
				}
			}
		})
	}
	if _, err := f.Keys.Revoke(t.Context(), f.CompanyID, f.key.ID); err != nil {
		t.Error(err)
	}
	if _, err := f.admit(f.Keys, auth.ClassRead); !errors.Is(err, auth.ErrUnauthorised) {
		t.Errorf("got %v", err)
	}
	wait.Wait()
	if valueOrNull(f.keysByID(t)[f.key.ID].RevokedAt) == "null" {
		t.Error("no longer revoked")
	}
}

// Ensure no secret is stored, or returned after the response that issues it. No part of it may
// appear in the table, in a record or in an error.
func TestSecretsAreNowhere(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	_, rotatedSecret, err := f.Keys.Rotate(t.Context(), f.CompanyID, f.key.ID, time.Hour, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for _, secret := range []string{f.secret, rotatedSecret} {
		for _, scope := range []auth.Scope{auth.PlanRead, auth.KeysWrite} {
			state, err := f.admitAs(t, secret, scope)
			texts = append(texts, fmt.Sprintf("%+v %+v", state, err))
		}
	}
	if _, err := f.Keys.Revoke(t.Context(), f.CompanyID, f.key.ID); err != nil {
		t.Fatal(err)
	}
	_, err = f.admitAs(t, f.secret, auth.PlanRead)
	texts = append(texts, fmt.Sprintf("%+v %#v", err, err), fmt.Sprintf("%+v", f.keysByID(t)))
	out, err := f.Table.Query(t.Context(), &dynamodb.QueryInput{
		KeyConditionExpression: ptr("pk = :pk"), ExpressionAttributeValues: table.Item{":pk": table.String(table.Partition(f.CompanyID, "keys"))},
	})
	if err != nil || len(out.Items) != 2 {
		t.Fatalf("%d records, %v", len(out.Items), err)
	}
	for _, item := range out.Items {
		for name, a := range item {
			if s, ok := a.(*types.AttributeValueMemberS); ok {
				texts = append(texts, name+" "+s.Value)
			} else if l, ok := a.(*types.AttributeValueMemberL); ok && name == "recentWrites" {
				for _, write := range l.Value {
					texts = append(texts, write.(*types.AttributeValueMemberS).Value)
				}
			} else if _, isNumber := a.(*types.AttributeValueMemberN); !isNumber && name != "scopes" {
				t.Errorf("%s is a %T", name, a)
			}
		}
	}
	for _, secret := range []string{f.secret, rotatedSecret} {
		random := secret[len(secret)-33:] // the part after the ids: the secret bits and the checksum
		for _, text := range texts {
			for n := range len(random) - 8 {
				if strings.Contains(text, random[n:n+8]) {
					t.Errorf("a part of the secret is in %q", text)
				}
			}
		}
		hash := parse(t, secret).Hash
		if !strings.Contains(strings.Join(texts, "\n"), hex.EncodeToString(hash[:])) {
			t.Error("the test did not search the record with the hash")
		}
	}
}

// Ensure a failure of the table is an error, not an admission, and the message contains no part of
// the secret.
func TestBrokenTable(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	broken := table.New(table.Options{Name: "none", Endpoint: "http://127.0.0.1:1", Region: "eu-central-1", Credentials: nil, Now: f.Clock.Now, NewID: f.Table.NewID})
	s := keys.NewStore(broken, f.Clock.Now)
	_, err1 := f.admit(s, auth.ClassRead)
	_, err2 := s.Verify(t.Context(), f.token, nil, auth.ClassRead)
	for _, err := range []error{err1, err2} {
		if err == nil || errors.Is(err, auth.ErrUnauthorised) || strings.Contains(err.Error(), f.secret[60:]) {
			t.Errorf("got %v", err)
		}
	}
}

func ptr[T any](v T) *T { return &v }

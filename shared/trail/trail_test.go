package trail_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"growthworkspace/shared/api"
	"growthworkspace/shared/table"
	"growthworkspace/shared/testkit/apitest"
	"growthworkspace/shared/timestamp"
	"growthworkspace/shared/trail"
)

func newService(t *testing.T) *apitest.Service {
	t.Helper()
	return apitest.New(t, func(*table.Client) []api.Operation { return nil })
}

// entries returns the company's trail, and the operators' entries about the company, with one line
// per entry.
func entries(t *testing.T, s *apitest.Service, since string) (companyEntries, operatorEntries []string) {
	t.Helper()
	read := func(companyID string) (out []string) {
		if err := trail.List(t.Context(), s.Table, companyID, since, func(e trail.Entry) error {
			if e.CompanyID == nil || *e.CompanyID != s.CompanyID {
				return nil
			}
			line := fmt.Sprint(e.By, " ", e.Act)
			if e.Phase != nil {
				line += " " + string(*e.Phase)
			}
			out = append(out, line+" "+string(e.Details))
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		return out
	}
	return read(s.CompanyID), read("")
}

func expect(t *testing.T, name string, want, got []string) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

// Ensure an act of an operator is in both the company's trail and the operators' trail, and an act
// of a key only in the company's.
func TestWrites(t *testing.T) {
	t.Parallel()
	s := newService(t)
	if err := s.Table.Transact(t.Context(), trail.Writes(t.Context(), s.Table, s.CompanyID, trail.KeyRevoke, trail.Details{KeyID: "key_1"})...); err != nil {
		t.Fatal(err)
	}
	s.Clock.Advance(time.Second)
	request := table.NewRequest()
	request.KeyID = "key_2"
	request.SettlePermit(nil)
	ctx := table.WithRequest(t.Context(), request)
	if err := s.ServingTable.Transact(ctx, trail.Writes(ctx, s.ServingTable, s.CompanyID, trail.KeyIssue, trail.Details{KeyID: "key_3", Scopes: []string{"plan:read"}})...); err != nil {
		t.Fatal(err)
	}
	revoke, issue := `operator key_revoke {"keyId":"key_1"}`, `key_2 key_issue {"keyId":"key_3","scopes":["plan:read"]}`
	companyEntries, operatorEntries := entries(t, s, "")
	expect(t, "the company's trail", []string{revoke, issue}, companyEntries)
	expect(t, "the operators' trail", []string{revoke}, operatorEntries)
	companyEntries, _ = entries(t, s, timestamp.Format(s.Clock.Now()))
	expect(t, "the trail since the second entry", []string{issue}, companyEntries)
}

// Ensure an entry is never replaced: a second write of it fails, and so does the rest of the same
// transaction.
func TestEntriesAreNeverReplaced(t *testing.T) {
	t.Parallel()
	s := newService(t)
	writes := trail.Writes(t.Context(), s.Table, s.CompanyID, trail.KeyRevoke, trail.Details{KeyID: "key_1"})
	if err := s.Table.Transact(t.Context(), writes...); err != nil {
		t.Fatal(err)
	}
	record := table.Key{PK: table.Partition(s.CompanyID, "plan"), SK: "x"}
	var canceled *table.CanceledError
	err := s.Table.Transact(t.Context(), append(writes, s.Table.WriteCreate(table.Keys{Key: record}, struct{}{}))...)
	if !errors.As(err, &canceled) {
		t.Errorf("got %v, want a canceled transaction", err)
	}
	if item, err := table.GetItem(t.Context(), s.Table, record); err != nil || item != nil {
		t.Errorf("the canceled transaction wrote %v: %v", item, err)
	}
}

// Ensure an act that takes many writes adds one entry together with its first writes, and one at
// its end. They must be in this order even though the clock stands still. A failure must add an
// entry, too, without the error message.
func TestBegin(t *testing.T) {
	t.Parallel()
	s := newService(t)
	record := table.Keys{Key: table.Key{PK: table.Partition(s.CompanyID, "plan"), SK: "x"}}
	running, err := trail.Begin(t.Context(), s.Table, s.CompanyID, trail.Import, s.Table.WriteCreate(record, struct{}{}))
	if err != nil {
		t.Fatal(err)
	}
	if item, err := table.GetItem(t.Context(), s.Table, record.Key); err != nil || item == nil {
		t.Errorf("the first write is missing: %v", err)
	}
	if err := running.End(t.Context(), trail.Details{Records: map[string]int{"board": 2}}, nil); err != nil {
		t.Error(err)
	}
	s.Clock.Advance(time.Second)
	var canceled *table.CanceledError
	if _, err := trail.Begin(t.Context(), s.Table, s.CompanyID, trail.Import, s.Table.WriteCreate(record, struct{}{})); !errors.As(err, &canceled) {
		t.Errorf("got %v, want a canceled transaction", err)
	}
	running, err = trail.Begin(t.Context(), s.Table, s.CompanyID, trail.CompanyDelete)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	failed := errors.New("a text of a record")
	if err := running.End(ctx, trail.Details{}, failed); !errors.Is(err, failed) || strings.Contains(err.Error(), "trail") {
		t.Errorf("got %v, want the error alone although the command was interrupted", err)
	}
	companyEntries, operatorEntries := entries(t, s, "")
	want := []string{
		"operator import began {}", `operator import ended {"records":{"board":2}}`,
		"operator company_delete began {}", "operator company_delete failed {}",
	}
	expect(t, "the company's trail", want, companyEntries)
	expect(t, "the operators' trail", want, operatorEntries)
}

// Ensure List returns every entry of a trail that is larger than one page of DynamoDB (1 MB).
func TestListHasManyPages(t *testing.T) {
	t.Parallel()
	apitest.SkipIfShort(t)
	s := newService(t)
	scopes := []string{strings.Repeat("x", 100_000)}
	for range 12 {
		if err := s.Table.Transact(t.Context(), trail.Writes(t.Context(), s.Table, s.CompanyID, trail.KeyIssue, trail.Details{Scopes: scopes})...); err != nil {
			t.Fatal(err)
		}
	}
	if got, _ := entries(t, s, ""); len(got) != 12 {
		t.Errorf("%d entries, want 12", len(got))
	}
}

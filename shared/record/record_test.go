package record_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"growthworkspace/shared/api"
	"growthworkspace/shared/fault"
	"growthworkspace/shared/record"
	"growthworkspace/shared/table"
	"growthworkspace/shared/testkit/apitest"
)

// testRecord is a lamp. A lamp that is off must have no colour.
type testRecord struct {
	ID        string  `json:"id"`
	CompanyID string  `json:"companyId"`
	Name      *string `json:"name" set:"required" max:"5"`
	Colour    *string `json:"colour" set:"optional" max:"5"`
	Off       *bool   `json:"off" default:"false"`
	Page      *string `json:"page" format:"web"`
	CreatedAt *string `json:"createdAt" format:"date-time"`
	UpdatedAt *string `json:"updatedAt" format:"date-time"`
}

// Problems implements schema.RecordValidator.
func (t testRecord) Problems(sent func(string) bool) []string {
	if t.Off != nil && *t.Off && t.Colour != nil && sent("colour") {
		return []string{"body.colour: must be left out while it is off"}
	}
	return nil
}

var testRecords = record.Kind[testRecord]{
	Name: "lamp", Plural: "lamps", Prefix: "lmp", Path: "context/lamps", Parameter: "lampId", SortPrefix: "lamp", Limit: 3,
	Order: func(l testRecord) string { return table.JoinKey(*l.Name, l.ID) },
	Indexes: func(l testRecord) table.Keys {
		return table.Keys{GSI1: table.Key{PK: table.Partition(l.CompanyID, "context", "lamps"), SK: *l.Name}}
	},
}

func start(t *testing.T) *apitest.Service {
	t.Helper()
	return apitest.New(t, func(*table.Client) []api.Operation { return nil })
}

// Ensure a store inserts, reads, changes and removes only records of the given company.
func TestStore(t *testing.T) {
	t.Parallel()
	s, ctx := start(t), t.Context()
	store, other := testRecords.Store(s.Table), start(t).CompanyID
	l, err := store.Insert(ctx, s.CompanyID, testRecord{Name: new("b")})
	if err != nil || l.CreatedAt == nil || *l.CreatedAt != *l.UpdatedAt {
		t.Fatalf("Insert returns %+v, error %v; want createdAt and an equal updatedAt", l, err)
	}
	if !strings.HasPrefix(l.ID, "lmp_") || l.CompanyID != s.CompanyID {
		t.Fatalf("Insert returns the id %s of the company %s, want lmp_… of %s", l.ID, l.CompanyID, s.CompanyID)
	}
	if got, err := store.Get(ctx, s.CompanyID, l.ID); err != nil || *got.Name != "b" {
		t.Errorf("Get returns %+v, error %v; want the name b", got, err)
	}
	for name, call := range map[string]func(companyID, id string) error{
		"get": func(companyID, id string) error { _, err := store.Get(ctx, companyID, id); return err },
		"modify": func(companyID, id string) error {
			_, err := store.Modify(ctx, companyID, id, func(*testRecord) error { return nil })
			return err
		},
		"remove": func(companyID, id string) error {
			return store.Remove(ctx, companyID, id, func(testRecord) error { return nil })
		},
	} {
		if err := call(other, l.ID); !errors.Is(err, fault.ErrNotFound) {
			t.Errorf("%s of another company: %v", name, err)
		}
		if err := call(s.CompanyID, "lmp_none"); !errors.Is(err, fault.ErrNotFound) {
			t.Errorf("%s of no record: %v", name, err)
		}
	}
	s.Clock.Advance(1)
	changed, err := store.Modify(ctx, s.CompanyID, l.ID, func(l *testRecord) error { l.Name = new("c"); return nil })
	if err != nil || *changed.Name != "c" || *changed.CreatedAt != *l.CreatedAt {
		t.Errorf("Modify returns %+v, error %v; want the name c, created at %s", changed, err, *l.CreatedAt)
	}
	indexed, err := table.ReadAll[testRecord](ctx, s.Table, table.Collection{Index: table.GSI1, Partition: table.Partition(s.CompanyID, "context", "lamps")})
	if err != nil || len(indexed) != 1 || *indexed[0].Name != "c" {
		t.Errorf("the index has %+v, error %v; want one with the name c", indexed, err)
	}
	refused := errors.New("refused")
	if err := store.Remove(ctx, s.CompanyID, l.ID, func(testRecord) error { return refused }); !errors.Is(err, refused) {
		t.Errorf("a refused Remove returns %v, want %v", err, refused)
	}
	if err := store.Remove(ctx, s.CompanyID, l.ID, func(testRecord) error { return nil }); err != nil {
		t.Error(err)
	}
	if _, err := store.Get(ctx, s.CompanyID, l.ID); !errors.Is(err, fault.ErrNotFound) {
		t.Errorf("Get of a removed record returns the error %v, want %v", err, fault.ErrNotFound)
	}
}

// Ensure a page lists the records sorted by Kind.Order, or by id if Order is nil. A company must
// not be able to create more than Kind.Limit records.
func TestPage(t *testing.T) {
	t.Parallel()
	s, ctx := start(t), t.Context()
	store := testRecords.Store(s.Table)
	var ids []string
	for _, name := range []string{"c", "a", "b"} {
		l, err := store.Insert(ctx, s.CompanyID, testRecord{Name: &name})
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, l.ID)
	}
	var public *fault.Error
	if _, err := store.Insert(ctx, s.CompanyID, testRecord{Name: new("d")}); !errors.As(err, &public) || public.Code != fault.Conflict || !strings.Contains(err.Error(), "3 lamps") {
		t.Errorf("the fourth Insert returns the error %v, want a conflict that says 3 lamps", err)
	}
	names, after := "", ""
	for range 2 {
		page, err := store.Page(ctx, s.CompanyID, after, 2)
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range page.Records {
			names += *l.Name
		}
		after = page.Next
	}
	if names != "abc" || after != "" {
		t.Errorf("%q, next %q", names, after)
	}
	byID := testRecords
	byID.Order = nil
	page, err := byID.Store(s.Table).Page(ctx, s.CompanyID, "", 9)
	if err != nil || len(page.Records) != 3 || page.Records[0].ID != slices.Min(ids) {
		t.Errorf("the page by id is %+v, error %v; want 3 records, the first %s", page, err, slices.Min(ids))
	}
}

// Ensure an export and an import move records unchanged. An import must apply the rules of a create
// and check the formats of fields that no request sets, but may exceed the limit.
func TestTransfer(t *testing.T) {
	t.Parallel()
	s, ctx := start(t), t.Context()
	kind := testRecords.Store(s.Table).Transfer()
	for text, want := range map[string]string{
		`{"id":"lmp_1","name":"a","page":"https://example.com"}`: "",
		`{"id":"lmp_1"}`:                                                    "",
		`{"id":"lmp_1","name":"too long"}`:                                  "record.name: must have at most 5 characters, has 8",
		`{"id":"lmp_1","name":"a","page":"ftp://x"}`:                        "record.page: must be an http or https address with a host, for example https://example.com",
		`{"id":"lmp_1","name":"a","off":true,"colour":"red"}`:               "record.colour: must be left out while it is off",
		`{"id":"brd_1","name":"a"}`:                                         "record.id: must be lmp_ and 1 to 40 characters of 0-9 and a-z",
		`{"id":"lmp_1","name":"a","watts":5}`:                               "record.watts: unknown property",
		`{"id":"lmp_1","name":"a","createdAt":"yesterday"}`:                 "record.createdAt: must be an RFC 3339 time, for example 2026-08-11T09:30:00Z",
		`{"id":"lmp_1","name":"a","page":"` + strings.Repeat("x", 9) + `"}`: "record.page: must be an http or https address with a host, for example https://example.com",
	} {
		if _, problems := kind.Check(json.RawMessage(text)); strings.Join(problems, "; ") != want {
			t.Errorf("%s: %q, want %q", text, problems, want)
		}
	}
	var records []any
	for n := range testRecords.Limit + 1 {
		r, problems := kind.Check(json.RawMessage(fmt.Sprintf(`{"id":"lmp_%d","companyId":"co_other","name":"n"}`, n)))
		if problems != nil {
			t.Fatal(problems)
		}
		records = append(records, r)
	}
	if err := kind.Write(ctx, s.CompanyID, records); err != nil {
		t.Fatal(err)
	}
	var exported []string
	err := kind.Export(ctx, s.CompanyID, func(r any) error {
		l := r.(testRecord)
		exported = append(exported, l.ID+" "+l.CompanyID)
		return nil
	})
	if want := len(records); err != nil || len(exported) != want || exported[0] != "lmp_0 "+s.CompanyID {
		t.Errorf("the export has %q, error %v; want %d records of this company, lmp_0 first", exported, err, want)
	}
	if fresh, _, err := kind.FilterNew(ctx, s.CompanyID, records); err != nil || len(fresh) != 0 {
		t.Errorf("%d records are new, %v", len(fresh), err)
	}
}

// Ensure Kind.Store panics if the struct lacks a field that every record must have.
func TestMissingField(t *testing.T) {
	t.Parallel()
	defer func() {
		if problem := recover(); problem == nil || !strings.Contains(fmt.Sprint(problem), "UpdatedAt") {
			t.Errorf("the panic is %v, want one about UpdatedAt", problem)
		}
	}()
	record.Kind[struct {
		ID, CompanyID string
		CreatedAt     *string
		UpdatedAt     string
	}]{}.Store(nil)
}

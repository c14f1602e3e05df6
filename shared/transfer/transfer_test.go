package transfer_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"growthworkspace/shared/transfer"
)

type testRecord struct {
	ID        string          `json:"id"`
	CompanyID string          `json:"companyId"`
	Slug      string          `json:"slug"`
	At        *string         `json:"at" format:"date-time"`
	Any       json.RawMessage `json:"any"`
}

var errFull = errors.New("full")

// testKind is a Kind that stores records in memory.
type testKind struct {
	transfer.Stored[testRecord]

	stored *[]testRecord
	names  []string // for each record, whether the file has its name, and a name with "custom."
}

func (*testKind) Check(r *testRecord) (problems []string) {
	if r.Slug == "bad" {
		problems = append(problems, "record.slug: is bad")
	}
	r.Slug = strings.ToLower(r.Slug)
	return problems
}

func (k *testKind) Import(_ context.Context, companyID string, records []testRecord, m transfer.Mode) (skipped int, err error) {
	for _, r := range records {
		r.CompanyID = companyID
		*k.stored = append(*k.stored, r)
		k.names = append(k.names, fmt.Sprint(m.FileHasName("thing "+r.Slug), m.FileHasName("thing custom."+r.Slug)))
	}
	return 0, nil
}

func (k *testKind) Export(_ context.Context, companyID string, visit func(testRecord) error) error {
	for _, r := range *k.stored {
		if r.CompanyID != companyID {
			continue
		}
		if err := visit(r); err != nil {
			return err
		}
	}
	return nil
}

func (*testKind) Entry(r testRecord) transfer.Entry {
	return transfer.Entry{Name: "thing " + r.Slug, Unique: []transfer.UniqueText{{Text: "slug " + r.Slug}}}
}

func (*testKind) Verify(_ context.Context, companyID string, records []testRecord) (problems []transfer.Problem, err error) {
	for n, r := range records {
		if r.Slug == "taken" {
			problems = append(problems, transfer.Problem{Index: n, Text: "taken in " + companyID})
		}
	}
	return problems, nil
}

func defineType(stored *[]testRecord) transfer.Type {
	return transfer.Define[testRecord]("thing", "itm", &testKind{stored: stored})
}

// Ensure that a record is decoded strictly, and that its id is kept and its company ignored.
func TestCheck(t *testing.T) {
	thing := defineType(new([]testRecord))
	for _, tt := range []struct{ name, text, want string }{
		{"OK", `{"id":"itm_1","slug":"A"}`, ``},
		{"OK with a company", `{"id":"itm_1","companyId":"co_other","slug":"a"}`, ``},
		{"OK with a company that is null", `{"id":"itm_1","companyId":null,"slug":"a"}`, ``},
		{"OK with spaces first", "\n {\"id\":\"itm_1\",\"slug\":\"a\"}", ``},
		{"OK longest id", `{"id":"itm_` + strings.Repeat("z", 40) + `","slug":"a"}`, ``},
		{"nothing", `{}`, "record.id: is required\nrecord.slug: is required"},
		{"no object", `[]`, "record: must be a JSON object"},
		{"company of another type", `{"id":"itm_1","companyId":5,"slug":"a"}`, "record.companyId: must be a string"},
		{"company twice", `{"id":"itm_1","companyId":"a","companyId":"b","slug":"a"}`, "record.companyId: is repeated"},
		{"company in another case", `{"id":"itm_1","companyID":"a","slug":"a"}`, "record.companyID: unknown property"},
		{"prefix", `{"id":"brd_1","slug":"a"}`, "record.id: must be itm_ and 1 to 40 characters of 0-9 and a-z"},
		{"id too long", `{"id":"itm_` + strings.Repeat("z", 41) + `","slug":"a"}`, "record.id: must be itm_"},
		{"id with a separator", `{"id":"itm_a#b","slug":"a"}`, "record.id: must be itm_"},
		{"check", `{"id":"itm_1","slug":"bad"}`, "record.slug: is bad"},
		{"timestamp", `{"id":"itm_1","slug":"a","at":"yesterday"}`, "record.at: must be an RFC 3339 time"},
		{"unknown", `{"id":"itm_1","slug":"a","title":1}`, "record.title: unknown property"},
		{"trailing data", `{"id":"itm_1","slug":"a"} {}`, "record: is not valid JSON"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, problems := thing.Check(json.RawMessage(tt.text))
			got := strings.Join(problems, "\n")
			if got != tt.want && (tt.want == "" || !strings.HasPrefix(got, tt.want)) {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

// Ensure that a record that Check returns can be passed to Write, Entry and Verify, and that Export
// returns it.
func TestRoundTrip(t *testing.T) {
	var stored []testRecord
	thing := defineType(&stored)
	var records []any
	for _, text := range []string{`{"id":"itm_1","slug":"UPPER","at":"2026-08-11T09:30:00+02:00","any":{"b": 1.0}}`, `{"id":"itm_2","slug":"taken"}`} {
		r, problems := thing.Check(json.RawMessage(text))
		if len(problems) > 0 {
			t.Fatalf("problems %q, want none: %s", problems, text)
		}
		records = append(records, r)
	}
	want1 := transfer.Entry{Name: "thing upper", Unique: []transfer.UniqueText{{Text: "slug upper"}}, Group: "itm_1"}
	if diff := cmp.Diff(want1, thing.Entry(records[0])); diff != "" {
		t.Errorf("entry (-want +got):\n%s", diff)
	}
	problems, err := thing.Verify(t.Context(), "co_1", records)
	if err != nil || !slices.Equal(problems, []transfer.Problem{{Index: 1, Text: "taken in co_1"}}) {
		t.Errorf("verify: %v, %v", problems, err)
	}
	if err := thing.Write(t.Context(), "co_1", records); err != nil {
		t.Fatal(err)
	}
	want := []testRecord{
		{ID: "itm_1", CompanyID: "co_1", Slug: "upper", At: new("2026-08-11T07:30:00.000Z"), Any: json.RawMessage(`{"b": 1.0}`)},
		{ID: "itm_2", CompanyID: "co_1", Slug: "taken"},
	}
	if diff := cmp.Diff(want, stored); diff != "" {
		t.Errorf("stored records (-want +got):\n%s", diff)
	}
	count := 0
	if err := thing.Export(t.Context(), "co_1", func(any) error { count++; return nil }); err != nil || count != 2 {
		t.Errorf("%d exported, %v", count, err)
	}
	if err := thing.Export(t.Context(), "co_1", func(any) error { return errFull }); !errors.Is(err, errFull) {
		t.Errorf("an export that cannot write: %v", err)
	}
}

// Ensure the methods of a type whose kind has no optional methods report no problems.
func TestTypeWithoutOptions(t *testing.T) {
	plain := transfer.Define("plain", "", transfer.Stored[testRecord]{})
	r, problems := plain.Check(json.RawMessage(`{"id":"any thing","slug":"a"}`))
	if len(problems) > 0 || plain.Entry(r).Unique != nil || plain.CanMerge() {
		t.Errorf("problems %q, want none, nothing unique and no merge", problems)
	}
	if problems, err := plain.Verify(t.Context(), "co_1", []any{r}); problems != nil || err != nil {
		t.Errorf("problems %v, want none: %v", problems, err)
	}
}

// Ensure KeepLast returns the last record with each identity, in the order of the file.
func TestKeepLast(t *testing.T) {
	records := []testRecord{{ID: "b", Slug: "1"}, {ID: "a", Slug: "2"}, {ID: "b", Slug: "3"}, {ID: "c", Slug: "4"}}
	var got []string
	for _, r := range transfer.KeepLast(records, func(r testRecord) string { return r.ID }) {
		got = append(got, r.ID+r.Slug)
	}
	if diff := cmp.Diff([]string{"a2", "b3", "c4"}, got); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
}

// Ensure a write without ForFile assumes a file that contains exactly the written records: it has
// the name of each record and no other name.
func TestWriteWithoutFile(t *testing.T) {
	t.Parallel()
	kind := &testKind{stored: new([]testRecord)}
	things := transfer.Define[testRecord]("thing", "itm", kind)
	records := []any{testRecord{ID: "itm_1", Slug: "a"}, testRecord{ID: "itm_2", Slug: "b"}}
	if err := things.Write(t.Context(), "co_1", records); err != nil || !slices.Equal(kind.names, []string{"true false", "true false"}) {
		t.Errorf("files of the names %v: %v", kind.names, err)
	}
	kind.names = nil
	inFile := things.ForFile(func(name string) bool { return name == "thing custom.a" })
	if err := inFile.Write(t.Context(), "co_1", records); err != nil || !slices.Equal(kind.names, []string{"false true", "false false"}) {
		t.Errorf("in a file: %v, %v", kind.names, err)
	}
}

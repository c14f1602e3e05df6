package brand_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	brand "growthworkspace/functions/context"
	"growthworkspace/shared/table"
	"growthworkspace/shared/testkit/apitest"
	"growthworkspace/shared/transfer"
)

func transferType(t *testing.T, client *table.Client, name string) transfer.Type {
	t.Helper()
	for _, typ := range brand.Transfers(client) {
		if typ.Name == name {
			return typ
		}
	}
	t.Fatalf("no type %s", name)
	return transfer.Type{}
}

func importLines(t *testing.T, s *apitest.Service, name, companyID string, lines ...string) {
	t.Helper()
	typ := transferType(t, s.Table, name)
	var records []any
	for _, line := range lines {
		record, problems := typ.Check(json.RawMessage(line))
		if len(problems) > 0 {
			t.Fatalf("record %.200s: problems %q, want none", line, problems)
		}
		records = append(records, record)
	}
	if err := typ.Write(t.Context(), companyID, records); err != nil {
		t.Fatal(err)
	}
}

func exportLines(t *testing.T, s *apitest.Service, name, companyID string) (lines []string) {
	t.Helper()
	err := transferType(t, s.Table, name).Export(t.Context(), companyID, func(record any) error {
		text, err := json.Marshal(record)
		lines = append(lines, string(text))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return lines
}

func quoteJSON(s string) string {
	text, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// Ensure importing an export into a different company and exporting it again gives the same
// records. Only companyId may differ.
func TestTransferRoundTrip(t *testing.T) {
	t.Parallel()
	s := start(t)
	for name, lines := range map[string][]string{
		"brand-kit":    {`{"id":"kit_1","companyId":"co_else","voiceTone":[],"avoidWords":["a","a"],"colors":{"primary": "#fff", "n": 1e999},"fonts":"x","context":"c\u0001","createdAt":"2026-01-01T00:00:00Z"}`},
		"content-type": {`{"id":"cty_2","name":"<b>"}`, `{"id":"cty_1","active":false,"defaultPlatforms":[],"updatedAt":"2026-01-01T00:00:00Z"}`},
		"brand-goal":   {`{"id":"bgl_1","baselineValue":1e125,"targetValue":0.1,"status":"missed"}`, `{"id":"bgl_0"}`},
	} {
		if got := exportLines(t, s, name, s.CompanyID); len(got) != 0 {
			t.Errorf("%s of an empty company: %v", name, got)
		}
		importLines(t, s, name, s.CompanyID, lines...)
		first := exportLines(t, s, name, s.CompanyID)
		other := s.Table.NewID("co")
		importLines(t, s, name, other, first...)
		second := exportLines(t, s, name, other)
		for i := range second {
			second[i] = strings.ReplaceAll(second[i], other, s.CompanyID)
		}
		if len(first) != len(lines) || !slices.Equal(first, second) {
			t.Errorf("%s\n got %v\nwant %v", name, second, first)
		}
	}
}

// Ensure an import replaces a record completely. If a batch contains several records with the same
// id, the last one must win.
func TestTransferReplaces(t *testing.T) {
	t.Parallel()
	s := start(t)
	importLines(t, s, "brand-kit", s.CompanyID, `{"id":"kit_1","context":"old"}`)
	importLines(t, s, "brand-kit", s.CompanyID, `{"id":"kit_2","context":"lost"}`, `{"id":"kit_3","artStyle":"new"}`)
	importLines(t, s, "content-type", s.CompanyID, `{"id":"cty_1","name":"old","cadence":"weekly"}`)
	importLines(t, s, "content-type", s.CompanyID, `{"id":"cty_1","name":"lost"}`, `{"id":"cty_2"}`, `{"id":"cty_1","name":"new"}`)
	s.Run(t, []apitest.Scenario{
		{Name: "one kit", Op: "get_context_brand_kit", WantFields: map[string]any{"id": "kit_3", "artStyle": "new", "context": nil, "companyId": s.CompanyID}},
		{Name: "it can be changed", Op: "update_context_brand_kit", Args: map[string]any{"context": "c"}, WantFields: map[string]any{"id": "kit_3", "artStyle": "new", "context": "c"}},
		{Name: "two content types", Op: "list_context_content_types", Check: func(t *testing.T, r apitest.Response) {
			items := r.Items(t)
			if len(items) != 2 {
				t.Fatalf("%d content types, want 2: %s", len(items), r.Body)
			}
			want := map[string]any{"id": "cty_1", "name": "new", "cadence": nil}
			got := map[string]any{"id": items[0]["id"], "name": items[0]["name"], "cadence": items[0]["cadence"]}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("the first content type (-want +got):\n%s", diff)
			}
		}},
		{Name: "they can be changed", Op: "update_context_content_type", Args: map[string]any{"contentTypeId": "cty_1", "active": true}, WantFields: map[string]any{"name": "new", "active": true}},
	})
}

// Ensure the import check reports what is wrong with an invalid record.
func TestTransferCheck(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, kind, record, want string // want is a substring of the only problem, or empty if the record is valid
	}{
		{"OK", "brand-kit", `{"id":"kit_1"}`, ""},
		{"ErrID", "brand-kit", `{"id":"cty_1"}`, "record.id"},
		{"ErrIDSeparator", "content-type", `{"id":"cty_1#"}`, "record.id"},
		{"ErrIDRequired", "brand-goal", `{}`, "record.id: is required"},
		{"ErrStatus", "brand-goal", `{"id":"bgl_1","status":"done"}`, "record.status: must be one of active, achieved, missed, archived"},
		{"ErrDueAt", "brand-goal", `{"id":"bgl_1","dueAt":"soon"}`, "record.dueAt"},
		{"ErrList", "brand-kit", `{"id":"kit_1","voiceTone":[1]}`, "record.voiceTone"},
		{"ErrUnknown", "content-type", `{"id":"cty_1","rev":1}`, "record.rev: unknown property"},
		{"ErrTooLarge", "brand-kit", fmt.Sprintf(`{"id":"kit_1","colors":%q}`, strings.Repeat("x", 360_000)), "record: must have at most 350000 bytes"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, problems := transferType(t, nil, tt.kind).Check(json.RawMessage(tt.record))
			switch {
			case tt.want == "" && len(problems) > 0, tt.want != "" && len(problems) != 1:
				t.Errorf("%q, want %q", problems, tt.want)
			case tt.want != "" && !strings.Contains(problems[0], tt.want):
				t.Errorf("%q, want %q", problems, tt.want)
			}
		})
	}
}

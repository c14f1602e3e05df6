package optimise_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"testing"

	"growthworkspace/functions/optimise"
	"growthworkspace/shared/schema"
	"growthworkspace/shared/table"
	"growthworkspace/shared/testkit/apitest"
	"growthworkspace/shared/transfer"
)

func start(t *testing.T) *apitest.Service {
	t.Helper()
	return apitest.New(t, optimise.Operations)
}

func transferType(t *testing.T, s *apitest.Service, name string) transfer.Type {
	t.Helper()
	for _, k := range optimise.Transfers(s.Table) {
		if k.Name == name {
			return k
		}
	}
	t.Fatalf("no type %s", name)
	return transfer.Type{}
}

// importRecords imports records of one type in one write. Each record is JSON.
func importRecords(t *testing.T, s *apitest.Service, name string, records ...string) {
	t.Helper()
	k := transferType(t, s, name)
	var checked []any
	for _, text := range records {
		record, problems := k.Check(json.RawMessage(text))
		if len(problems) > 0 {
			t.Fatalf("record %.200s: problems %q, want none", text, problems)
		}
		checked = append(checked, record)
	}
	if err := k.Write(t.Context(), s.CompanyID, checked); err != nil {
		t.Fatal(err)
	}
}

// storeOrphanGoals stores goals of a site that no longer exists, like those that an interrupted
// removal of the site leaves behind.
func storeOrphanGoals(t *testing.T, s *apitest.Service, siteID string, goals ...string) {
	t.Helper()
	importRecords(t, s, "site", fmt.Sprintf(`{"id":%q}`, siteID))
	importRecords(t, s, "site-goal", goals...)
	if err := s.Table.BatchDelete(t.Context(), []table.Key{{PK: table.Partition(s.CompanyID, "optimise"), SK: "site#" + siteID}}); err != nil {
		t.Fatal(err)
	}
}

func ids(items []map[string]any) []string {
	out := []string{}
	for _, i := range items {
		out = append(out, i["id"].(string))
	}
	return out
}

// storeUnchecked stores records without checking them against the rules.
func storeUnchecked(t *testing.T, s *apitest.Service, name string, records ...string) {
	t.Helper()
	typ := transferType(t, s, name)
	var read []any
	for _, r := range records {
		old := reflect.New(typ.Record)
		if problems := schema.DecodeRecord([]byte(r), old.Interface()); !slices.Equal(problems, []string{"record.companyId: is required"}) {
			t.Fatalf("record %s: problems %q, want only that companyId is required", r, problems)
		}
		read = append(read, old.Elem().Interface())
	}
	if err := typ.Write(t.Context(), s.CompanyID, read); err != nil {
		t.Fatal(err)
	}
}

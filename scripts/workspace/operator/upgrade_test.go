package operator

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"growthworkspace/functions/company"
	"growthworkspace/scripts/workspace/tableconn"
	"growthworkspace/scripts/workspace/terminal"
	"growthworkspace/shared/api"
	"growthworkspace/shared/migration"
	"growthworkspace/shared/table"
	"growthworkspace/shared/testkit/apitest"
)

// note is the record of a made-up migration, to an index by color.
type note struct {
	Company string `json:"company"`
	Color   string `json:"color"`
}

func noteKeys(n note) table.Keys {
	return table.Keys{
		Key:  table.Key{PK: table.Partition(n.Company, "notes"), SK: "note#1"},
		GSI1: table.Key{PK: table.Partition(n.Company, "notes", "color", n.Color), SK: "1"},
	}
}

// Ensure the upgrade command puts the records of one company or of all into a new index, shows its
// progress and its result, and can be repeated. The tests in shared/migration cover interrupted
// and concurrent runs.
func TestUpgrade(t *testing.T) {
	t.Parallel()
	service := apitest.New(t, func(*table.Client) []api.Operation { return nil })
	var companies []string
	putEarlier := func(companyID string) { // stores a note without the key of the index
		t.Helper()
		record := note{companyID, "red"}
		if err := service.Table.BatchPut(t.Context(), []table.Item{service.Table.NewItem(table.Keys{Key: noteKeys(record).Key}, record)}); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		id := service.Table.NewID("co")
		if err := company.NewStore(service.Table).Create(t.Context(), company.Company{ID: id}); err != nil {
			t.Fatal(err)
		}
		putEarlier(id)
		companies = append(companies, id)
	}
	var out, notes bytes.Buffer
	o := &operatorCommands{&terminal.Terminal{Out: &out, Err: &notes}, &tableconn.Flags{}}
	s := &tableconn.Session{Table: service.Table, Migrations: []migration.Migration{migration.New("color", "notes", "note#", noteKeys)}}
	requireComplete := func(stage, want string) {
		t.Helper()
		out.Reset()
		if err := o.checkUpgrade(t.Context(), s); err != nil || !strings.Contains(out.String(), "notes: color  "+want) {
			t.Errorf("%s: --check prints %q, want %s: %v", stage, out.String(), want, err)
		}
	}
	upgrade := func(companyID string, again bool, want upgradeResult) {
		t.Helper()
		out.Reset()
		notes.Reset()
		var got upgradeResult
		err := o.upgrade(t.Context(), s, companyID, again)
		if err == nil {
			_, err = fmt.Sscanf(out.String(), "companies that are up to date: %d; records put into an index: %d", &got.Companies, &got.Filled)
		}
		if err != nil || got != want {
			t.Errorf("company %q, again %t: %+v, want %+v: %v", companyID, again, got, want, err)
		}
		if progress := companyID + ": checked records: 1"; want.Filled > 0 && !strings.Contains(notes.String(), progress) {
			t.Errorf("notes %q, want %q", notes.String(), progress)
		}
	}
	requireComplete("before", "no: run `workspace upgrade`")
	upgrade(companies[0], false, upgradeResult{1, 1})
	requireComplete("one company", "no: run `workspace upgrade`")
	upgrade("", false, upgradeResult{2, 1})
	requireComplete("all companies", "yes")
	putEarlier(companies[0]) // by the earlier version, after a rollback
	upgrade("", false, upgradeResult{2, 0})
	upgrade("", true, upgradeResult{2, 1})
}

package tableconn

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"growthworkspace/functions/company"
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

// denyingTransport denies reads of several items while denied is true.
type denyingTransport struct{ denied bool }

func (d *denyingTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if !d.denied || !strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".BatchGetItem") {
		return apitest.Transport.RoundTrip(r)
	}
	return &http.Response{
		StatusCode: http.StatusBadRequest, Request: r, Header: http.Header{"Content-Type": {"application/x-amz-json-1.0"}},
		Body: io.NopCloser(strings.NewReader(`{"__type":"com.amazon.coral.service#AccessDeniedException","Message":"made up"}`)),
	}, nil
}

// Ensure a table whose records lack the keys of a new index is noticed until it has been upgraded,
// and that a data folder is upgraded when it is opened, with a note if that takes more than a
// moment.
func TestPendingMigrations(t *testing.T) {
	t.Parallel()
	transport := &denyingTransport{}
	service := apitest.NewWithTransport(t, func(*table.Client) []api.Operation { return nil }, transport)
	companyID := service.Table.NewID("co")
	if err := company.NewStore(service.Table).Create(t.Context(), company.Company{ID: companyID}); err != nil {
		t.Fatal(err)
	}
	record := note{companyID, "red"}
	earlier := table.Keys{Key: noteKeys(record).Key}
	if err := service.Table.BatchPut(t.Context(), []table.Item{service.Table.NewItem(earlier, record)}); err != nil {
		t.Fatal(err)
	}
	var notes bytes.Buffer
	now := apitest.Epoch
	user := &terminal.Terminal{Err: &notes, Now: func() time.Time { // each reading advances the clock by a minute
		now = now.Add(time.Minute)
		return now
	}}
	s := &Session{
		Target: Target{TableName: "made-up"}, Table: service.Table, upgradeCommand: "workspace upgrade --table made-up",
		Migrations: []migration.Migration{migration.New("color", "notes", "note#", noteKeys)},
	}
	requireReminder := func(stage string, want bool) {
		t.Helper()
		notes.Reset()
		err := s.RemindOfUpgrade(t.Context(), user)
		reminded := strings.Contains(notes.String(), "table made-up has records of an earlier version") && strings.Contains(notes.String(), "run `workspace upgrade --table made-up`")
		if err != nil || reminded != want || !want && notes.Len() > 0 {
			t.Errorf("%s: reminded %t, want %t: %q, %v", stage, reminded, want, notes.String(), err)
		}
	}
	requireReminder("an older table", true)
	transport.denied = true
	requireReminder("a role that cannot read the marks", false)
	transport.denied = false
	notes.Reset()
	if err := s.migrateFolder(t.Context(), user); err != nil {
		t.Fatal(err)
	}
	if want := "bringing the records of an earlier version up to this one: notes: color: company 1 of 1, " + companyID + ": checked records: 1"; !strings.Contains(notes.String(), want) {
		t.Errorf("notes %q, want %q", notes.String(), want)
	}
	if item, err := table.GetItem(t.Context(), service.Table, earlier.Key); err != nil || item["gsi1pk"] == nil {
		t.Errorf("the record is %v, want gsi1pk: %v", item, err)
	}
	requireReminder("after the upgrade", false)
}

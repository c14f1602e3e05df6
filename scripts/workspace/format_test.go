package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"growthworkspace/functions"
	"growthworkspace/scripts/workspace/tableconn"
	"growthworkspace/scripts/workspace/terminal"
	"growthworkspace/shared/table"
)

// dataFormats lists, for each format of a data folder, all migrations of the build that introduced
// it. When you add a migration after a release, add a line and increment tableconn's dataFormat, so
// that older builds refuse the folder.
var dataFormats = []string{
	1: "company: registry, feedback: posted, feedback: work, broadcast: work",
}

// Ensure each new migration comes with a new format of the data folder.
func TestDataFormats(t *testing.T) {
	t.Parallel()
	var names []string
	for _, m := range functions.Migrations() {
		names = append(names, m.String())
	}
	if got, want := strings.Join(names, ", "), dataFormats[len(dataFormats)-1]; got != want {
		t.Errorf("the migrations are %s, and those of the data format %d are %s: see dataFormats", got, len(dataFormats)-1, want)
	}
	data := dataFolder(t)
	runJSON(t, data, "", "company", "list")
	if got := readFormat(t, data); got != float64(len(dataFormats)-1) {
		t.Errorf("a new folder has the format %v, want %d", got, len(dataFormats)-1)
	}
}

// readFormat returns the format in the folder's engine.json, or nil if there is none.
func readFormat(t *testing.T, data string) any {
	t.Helper()
	return readEngineFile(t, data)["format"]
}

func readEngineFile(t *testing.T, data string) (state map[string]any) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(data, "engine.json"))
	if err == nil {
		err = json.Unmarshal(text, &state)
	}
	if err != nil {
		t.Fatal(err)
	}
	return state
}

// setFormat changes the format in the folder's engine.json. If format is nil, it removes the field,
// as if a build older than the field had written the file.
func setFormat(t *testing.T, data string, format any) {
	t.Helper()
	state := readEngineFile(t, data)
	if state["format"] = format; format == nil {
		delete(state, "format")
	}
	text, err := json.Marshal(state)
	if err == nil {
		err = os.WriteFile(filepath.Join(data, "engine.json"), text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// Ensure a folder with a newer or unknown format is refused and not changed. The error must explain
// how to proceed. A folder without a format must open and be given one.
func TestDataFormatRefused(t *testing.T) {
	t.Parallel()
	data := dataFolder(t)
	runJSON(t, data, "", "company", "create", "--name", "One")
	for _, format := range []any{99, "next"} {
		setFormat(t, data, format)
		before := readEngineFile(t, data)
		for _, args := range [][]string{{"company", "list"}, {"serve", "--addr", "127.0.0.1:0"}} {
			r := runCommand(t, "", append(args, "--data", data)...)
			if r.code != 1 {
				t.Errorf("%v with the format %v: exit code %d, want 1: %s", args, format, r.code, r.err)
			}
			requireContains(t, r.err, data)
			requireContains(t, r.err, "export each company with the version that wrote it, and import the files into a new folder")
		}
		if diff := cmp.Diff(before, readEngineFile(t, data)); diff != "" {
			t.Errorf("engine.json (-before, +after):\n%s", diff)
		}
	}
	setFormat(t, data, nil)
	if got := runJSON(t, data, "", "company", "list"); len(got["items"].([]any)) != 1 {
		t.Errorf("a folder without a format: %v", got)
	}
	if got := readFormat(t, data); got != float64(len(dataFormats)-1) {
		t.Errorf("a folder without a format has the format %v afterwards", got)
	}
}

// Ensure a command that opens a folder of an earlier build migrates its records, and writes a note
// if that takes more than a moment. The test makes the folder look as if the earlier build had run
// after this one: it removes the index keys of a record, and the format of the folder.
func TestFolderOfEarlierBuild(t *testing.T) {
	t.Parallel()
	data := dataFolder(t)
	companyID, _ := runJSON(t, data, "", "company", "create", "--name", "One")["companyId"].(string)
	lines := `{"type":"feedback","record":{"id":"fbk_1","source":"reddit","externalId":"1","postedAt":"2026-08-01T00:00:00Z"}}`
	runJSON(t, data, lines, "import", "--company", companyID, "-")
	key := table.Key{PK: table.Partition(companyID, "feedback"), SK: "feedback#fbk_1"}
	var notes bytes.Buffer
	now := time.Date(2026, 8, 11, 0, 0, 0, 0, time.UTC)
	clock := func() time.Time { // each reading advances the clock by a minute
		now = now.Add(time.Minute)
		return now
	}
	openAndEdit := func(edit func(table.Item)) (item table.Item) {
		s, err := tableconn.Open(t.Context(), &terminal.Terminal{Out: t.Output(), Err: &notes, Now: clock}, tableconn.Flags{Data: data}, waitMax, false)
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}()
		if item, err = table.GetItem(t.Context(), s.Table, key); err != nil {
			t.Fatal(err)
		}
		if edit != nil {
			edit(item)
			if err := s.Table.BatchPut(t.Context(), []table.Item{item}); err != nil {
				t.Fatal(err)
			}
		}
		return item
	}
	openAndEdit(func(item table.Item) {
		if item["gsi5pk"] == nil {
			t.Errorf("this build stored %v, want gsi5pk", item)
		}
		delete(item, "gsi5pk")
		delete(item, "gsi5sk")
	})
	if notes.Len() > 0 {
		t.Errorf("a folder that is up to date: %s", notes.String())
	}
	setFormat(t, data, nil)
	if item := openAndEdit(nil); item["gsi5pk"] == nil {
		t.Errorf("the record is %v, want gsi5pk", item)
	}
	requireContains(t, notes.String(), "bringing the records of an earlier version up to this one: feedback: posted: company 1 of 1, "+companyID+": checked records: 1")
}

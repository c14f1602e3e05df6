package functions_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"growthworkspace/functions"
	"growthworkspace/functions/broadcast"
	"growthworkspace/functions/company"
	"growthworkspace/functions/feedback"
	"growthworkspace/shared/migration"
	"growthworkspace/shared/schema"
	"growthworkspace/shared/table"
	"growthworkspace/shared/testkit/apitest"
)

// Each file in testdata/older is named after a commit. It contains the items that a build of that
// commit stored when it imported records.jsonl, claimed the post pst_o2 and the reply of fbk_o5,
// and then ran its upgrade command, if it had one. The word COMPANY stands for the company's id.

// Ensure the migrations bring a table that an earlier build wrote up to date. Both before and after
// the migrations, every list must return the same items as for a company whose records this build
// wrote. After the migrations, every record must have exactly the index keys that this build
// writes.
func TestOlderTable(t *testing.T) {
	t.Parallel()
	apitest.SkipIfShort(t)
	files, err := filepath.Glob("testdata/older/[0-9a-f]*.jsonl")
	files = slices.DeleteFunc(files, func(name string) bool { return filepath.Base(name) == "records.jsonl" })
	if err != nil || len(files) < 2 {
		t.Fatalf("the files %v, want those of two builds: %v", files, err)
	}
	current := newTestService(t)
	importRecordsOfOlderBuilds(t, current)
	want := listEverything(t, current)
	for _, name := range files {
		t.Run(filepath.Base(name), func(t *testing.T) {
			t.Parallel()
			s := newTestService(t)
			putOlderItems(t, s, name)
			if diff := cmp.Diff(want, listEverything(t, s)); diff != "" {
				t.Errorf("before the migrations (-this build, +earlier build):\n%s", diff)
			}
			if _, err := migration.RunCompany(t.Context(), s.Table, functions.Migrations(), s.CompanyID, false, func(migration.Progress) {}); err != nil {
				t.Fatal(err)
			}
			for _, m := range functions.Migrations() {
				if isComplete, err := m.IsComplete(t.Context(), s.Table, s.CompanyID); err != nil || !isComplete {
					t.Errorf("%s is complete: %t, want true: %v", m, isComplete, err)
				}
			}
			if diff := cmp.Diff(want, listEverything(t, s)); diff != "" {
				t.Errorf("after the migrations (-this build, +earlier build):\n%s", diff)
			}
			if added, err := company.NewStore(s.Table).Register(t.Context(), s.CompanyID); err != nil || added {
				t.Errorf("the registry lacked the company: %t, want false: %v", added, err)
			}
			if diff := cmp.Diff(indexKeys(t, current), indexKeys(t, s)); diff != "" {
				t.Errorf("index keys; a change of keys needs a migration (-this build, +earlier build):\n%s", diff)
			}
		})
	}
}

// newTestService returns the whole service with a company without records.
func newTestService(t *testing.T) *apitest.Service {
	t.Helper()
	return newProcess(t, apitest.New(t, functions.Operations), nil)
}

// importRecordsOfOlderBuilds stores the records in testdata/older with this build.
func importRecordsOfOlderBuilds(t *testing.T, s *apitest.Service) {
	t.Helper()
	file, err := os.Open("testdata/older/records.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	kinds := functions.Transfers(s.Table)
	for lines := bufio.NewScanner(file); lines.Scan(); {
		var line struct {
			Type   string
			Record json.RawMessage
		}
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			t.Fatal(err)
		}
		importLinesOf(t, s, kinds, line.Type, line.Record)
	}
	if _, err := broadcast.NewStore(s.Table).ClaimPost(t.Context(), s.CompanyID, "pst_o2"); err != nil {
		t.Fatal(err)
	}
	if _, err := feedback.NewStore(s.Table).ClaimReply(t.Context(), s.CompanyID, "fbk_o5", nil); err != nil {
		t.Fatal(err)
	}
}

// putOlderItems stores the items in a file of testdata/older for the company.
func putOlderItems(t *testing.T, s *apitest.Service, name string) {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var items []table.Item
	for line := range strings.Lines(strings.ReplaceAll(string(text), "COMPANY", s.CompanyID)) {
		var attributes map[string]map[string]any
		if err := json.Unmarshal([]byte(line), &attributes); err != nil {
			t.Fatal(err)
		}
		item := table.Item{}
		for attribute, value := range attributes {
			item[attribute] = attributeValue(t, value)
		}
		items = append(items, item)
	}
	if err := s.Table.BatchPut(t.Context(), items); err != nil {
		t.Fatal(err)
	}
}

// attributeValue converts an attribute value from DynamoDB's JSON format.
func attributeValue(t *testing.T, attribute map[string]any) types.AttributeValue {
	t.Helper()
	for kind, value := range attribute {
		switch kind {
		case "S":
			return &types.AttributeValueMemberS{Value: value.(string)}
		case "N":
			return &types.AttributeValueMemberN{Value: value.(string)}
		case "BOOL":
			return &types.AttributeValueMemberBOOL{Value: value.(bool)}
		case "B":
			var bytes []byte
			if err := json.Unmarshal([]byte(`"`+value.(string)+`"`), &bytes); err != nil {
				t.Fatal(err)
			}
			return &types.AttributeValueMemberB{Value: bytes}
		case "L":
			list := &types.AttributeValueMemberL{}
			for _, element := range value.([]any) {
				list.Value = append(list.Value, attributeValue(t, element.(map[string]any)))
			}
			return list
		case "M":
			fields := &types.AttributeValueMemberM{Value: table.Item{}}
			for name, element := range value.(map[string]any) {
				fields.Value[name] = attributeValue(t, element.(map[string]any))
			}
			return fields
		}
	}
	t.Fatalf("no attribute: %v", attribute)
	return nil
}

// claimIDPattern matches claim ids, which are different for each claim.
var claimIDPattern = regexp.MustCompile(`clm_[0-9a-z]+`)

// listEverything returns the items in every list of the company, by operation and arguments. It
// leaves out the lists of keys and of changes, because testdata/older does not contain them.
func listEverything(t *testing.T, s *apitest.Service) map[string][]string {
	t.Helper()
	lists, key := map[string][]string{}, s.IssueKey(t)
	list := func(op string, args map[string]any) {
		name, cursor := fmt.Sprint(op, args), ""
		for more := true; more; {
			arguments := map[string]any{"limit": 3}
			if cursor != "" {
				arguments["cursor"] = cursor
			}
			maps.Copy(arguments, args)
			r := s.Call(t, key, op, arguments)
			if r.Status != 200 {
				t.Fatalf("%s: status %d, want 200: %s", name, r.Status, r.Body)
			}
			for _, item := range r.Items(t) {
				text, err := json.Marshal(item)
				if err != nil {
					t.Fatal(err)
				}
				lists[name] = append(lists[name], claimIDPattern.ReplaceAllString(strings.ReplaceAll(string(text), s.CompanyID, "COMPANY"), "clm_"))
			}
			cursor, more = r.NextCursor(t)
		}
	}
	for _, a := range functions.All() {
		for _, op := range a.Operations(s.Table) {
			if !strings.HasPrefix(op.ID, "list_") || op.Area != a.Name || op.ID == "list_changes" || !slices.ContainsFunc(op.Input, func(f schema.Field) bool { return f.Name == "limit" }) {
				continue
			}
			args := maps.Clone(fixtureArguments[op.ID])
			delete(args, "limit")
			list(op.ID, args)
			for _, f := range op.Input {
				for _, value := range f.Enum {
					filtered := maps.Clone(args)
					filtered[f.Name] = value
					list(op.ID, filtered)
				}
			}
		}
	}
	for _, filter := range []map[string]any{
		{"postedFrom": "2026-03-01", "postedTo": "2026-03-01"}, {"postedFrom": "2026-03-01"}, {"postedTo": "2026-03-02"},
		{"postedFrom": "2026-01-01", "replyStatus": "draft"}, {"postedFrom": "2026-01-01", "replyStatus": "posting"}, {"postedFrom": "2026-01-01", "source": "app_store"},
	} {
		list("list_feedback", filter)
	}
	return lists
}

// indexKeys returns the index keys of the company's records, by their keys in the base table.
func indexKeys(t *testing.T, s *apitest.Service) map[string][]string {
	t.Helper()
	keys := map[string][]string{}
	for _, a := range functions.All() {
		err := table.ForEachItem(t.Context(), s.Table, table.Collection{Partition: table.Partition(s.CompanyID, a.Name), Consistent: true}, func(item table.Item) error {
			if sk := table.KeyOf(item).SK; strings.HasPrefix(sk, "index#") || strings.HasPrefix(sk, "keychange#") { // the records that mark finished migrations, and the API keys of this test
				return nil
			}
			values := []string{}
			for _, name := range slices.Sorted(maps.Keys(item)) {
				if value, isText := item[name].(*types.AttributeValueMemberS); isText && strings.HasPrefix(name, "gsi") {
					values = append(values, name+" "+strings.ReplaceAll(value.Value, s.CompanyID, "COMPANY"))
				}
			}
			keys[a.Name+" "+table.KeyOf(item).SK] = values
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return keys
}

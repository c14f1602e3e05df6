package functions_test

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"growthworkspace/functions"
	"growthworkspace/shared/api"
	"growthworkspace/shared/auth"
	"growthworkspace/shared/change"
	"growthworkspace/shared/keys"
	"growthworkspace/shared/table"
	"growthworkspace/shared/testkit/apitest"
	"growthworkspace/shared/testkit/oracle"
	"growthworkspace/shared/transfer"
)

// start returns the whole service, with a company that has at least one record of each type
// (testdata/company.jsonl).
func start(t testing.TB, transport http.RoundTripper) *apitest.Service {
	t.Helper()
	s := apitest.NewWithTransport(t, functions.Operations, transport)
	s.Handler = functions.Handler(s.ServingTable, s.Config(slog.New(slog.DiscardHandler)))
	storeFixture(t, s)
	return s
}

// firstFixture contains the items that importFirstFixture stored for its company.
var firstFixture struct {
	sync.Mutex
	companyID string
	items     []table.Item
}

// storeFixture stores the fixture for the company. Only the first call imports it. The others copy
// what the first one stored, because an import makes a hundred calls.
func storeFixture(t testing.TB, s *apitest.Service) {
	t.Helper()
	firstCompany, items := importFirstFixture(t, s)
	if firstCompany == s.CompanyID {
		return
	}
	copies := make([]table.Item, 0, len(items))
	for _, item := range items {
		copies = append(copies, copyTo(s.CompanyID, firstCompany, item))
	}
	if err := s.Table.BatchPut(t.Context(), copies); err != nil {
		t.Fatal(err)
	}
}

// copyTo returns a copy of an item of one company for another company.
func copyTo(companyID, from string, item table.Item) table.Item {
	copied := maps.Clone(item)
	for name, value := range item {
		if text, ok := value.(*types.AttributeValueMemberS); ok {
			copied[name] = table.String(strings.ReplaceAll(text.Value, from, companyID))
		}
	}
	return copied
}

// importFirstFixture imports the fixture for the company if no company has it yet. It returns the
// id and the items of the company for which it was imported.
func importFirstFixture(t testing.TB, s *apitest.Service) (companyID string, items []table.Item) {
	t.Helper()
	firstFixture.Lock()
	defer firstFixture.Unlock()
	if firstFixture.items == nil {
		importFixture(t, s)
		issueSpareKeys(t, s)
		recordSampleChanges(t, s)
		firstFixture.companyID, firstFixture.items = s.CompanyID, itemsOfCompany(t, s)
	}
	return firstFixture.companyID, firstFixture.items
}

// itemsOfCompany returns the company's items, with those in the operator's partitions.
func itemsOfCompany(t testing.TB, s *apitest.Service) []table.Item {
	t.Helper()
	return slices.DeleteFunc(scanItems(t, s, table.Base), func(item table.Item) bool {
		key := table.KeyOf(item)
		return !strings.Contains(key.PK+" "+key.SK, s.CompanyID)
	})
}

// recordSampleChanges records three changes in the company's feed, as the recorder would.
func recordSampleChanges(t testing.TB, s *apitest.Service) {
	t.Helper()
	if err := s.Table.Transact(t.Context(), change.WriteCounter(s.Table, s.CompanyID)); err != nil {
		t.Fatal(err)
	}
	var occurrences []change.Occurrence
	for n, action := range []change.Action{change.Created, change.Updated, change.Updated} {
		occurrences = append(occurrences, change.Occurrence{
			Event: change.Event{RecordID: "fbk_1", Action: action, Status: "draft"}, Type: "feedback", KeyID: "key_1",
			OccurredAt: s.Clock.Now(), SequenceNumber: strconv.Itoa(n + 1),
		})
	}
	if err := change.Append(t.Context(), s.Table, s.CompanyID, "shard-1", occurrences); err != nil {
		t.Fatal(err)
	}
}

// fixtureLine is a record of the fixture and its import type.
type fixtureLine struct {
	Type   string
	Record json.RawMessage
}

func (f fixtureLine) properties(t testing.TB) (out map[string]any) {
	t.Helper()
	if err := json.Unmarshal(f.Record, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// fixtureLines returns the records of the fixture.
func fixtureLines(t testing.TB) (out []fixtureLine) {
	t.Helper()
	text, err := os.ReadFile("testdata/company.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		var record fixtureLine
		if err := json.Unmarshal([]byte(line), &record); err != nil {
			t.Fatal(err)
		}
		out = append(out, record)
	}
	return out
}

// importFixture imports the fixture's records with the given ids into the company, or all of them
// if ids is empty. It overwrites stored records.
func importFixture(t testing.TB, s *apitest.Service, ids ...string) {
	t.Helper()
	kinds := functions.Transfers(s.Table) // called only once, because it is slow: it derives the schema of every type
	for _, line := range fixtureLines(t) {
		var record struct{ ID string }
		if err := json.Unmarshal(line.Record, &record); err != nil {
			t.Fatal(err)
		}
		if len(ids) == 0 || slices.Contains(ids, record.ID) {
			importLinesOf(t, s, kinds, line.Type, line.Record)
		}
	}
}

func importLines(t testing.TB, s *apitest.Service, name string, texts ...json.RawMessage) {
	t.Helper()
	importLinesOf(t, s, functions.Transfers(s.Table), name, texts...)
}

func importLinesOf(t testing.TB, s *apitest.Service, kinds []transfer.Type, name string, texts ...json.RawMessage) {
	t.Helper()
	kind, records := typeNamed(t, kinds, name), []any{}
	for _, text := range texts {
		records = append(records, mustCheck(t, kind, string(text)))
	}
	if err := kind.Write(t.Context(), s.CompanyID, records); err != nil {
		t.Fatal(err)
	}
}

// typeNamed returns the import type with the given name.
func typeNamed(t testing.TB, kinds []transfer.Type, name string) transfer.Type {
	t.Helper()
	i := slices.IndexFunc(kinds, func(k transfer.Type) bool { return k.Name == name })
	if i < 0 {
		t.Fatalf("no type %s", name)
	}
	return kinds[i]
}

// operationTable holds the handwritten operation tables. fixtureArguments maps each operation to
// the arguments of a request that succeeds on the fixture.
var (
	operationTable   oracle.Table
	fixtureArguments = map[string]map[string]any{}
)

func TestMain(m *testing.M) {
	if err := errors.Join(loadOperationTable(), tuneTestRun()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// tuneTestRun makes the tests of this package run faster. A test mostly waits for the engine, so
// more tests run in parallel than there are processors, unless the flag -parallel is set.
func tuneTestRun() error {
	return flag.Set("test.parallel", strconv.Itoa(3*runtime.GOMAXPROCS(0)))
}

func loadOperationTable() (err error) {
	if operationTable, err = oracle.Load(); err != nil {
		return err
	}
	for _, o := range operationTable {
		event, err := os.ReadFile("../events/" + o.ID + ".json")
		if err != nil {
			return fmt.Errorf("%s: %s is not declared, or its sample event is missing: run go run ./scripts/gen: %w", o.CellLocation("id"), o.ID, err)
		}
		if fixtureArguments[o.ID], err = o.Arguments(event); err != nil {
			return err
		}
	}
	return nil
}

// operationRow returns an operation's row in the operation tables.
func operationRow(t *testing.T, op api.Operation) oracle.Operation {
	t.Helper()
	o, ok := operationTable.Lookup(op.ID)
	if !ok {
		t.Fatalf("%s has no line for %s: run TestOperationsAreTheSpecification, which prints it", oracle.AdditionsFile, op.ID)
	}
	return o
}

// sampleBody returns the body in an operation's sample event.
func sampleBody(t *testing.T, op api.Operation) map[string]any {
	t.Helper()
	event, err := os.ReadFile("../events/" + op.ID + ".json")
	if err != nil {
		t.Fatal(err)
	}
	body, err := oracle.EventBody(event)
	if err != nil {
		t.Fatal(err)
	}
	return body
}

func pathArguments(o oracle.Operation) map[string]any {
	out := map[string]any{}
	for name, value := range o.Fixture {
		out[name] = value
	}
	return out
}

// Ensure the operation tables list arguments for every operation that requires arguments or changes
// something.
func TestArguments(t *testing.T) {
	for _, op := range functions.Operations(nil) {
		var missing []string
		for _, f := range op.Input {
			if _, has := fixtureArguments[op.ID][f.Name]; !has && f.Required {
				missing = append(missing, f.Name)
			}
		}
		if len(missing) > 0 || op.Effect != api.Read && len(fixtureArguments[op.ID]) == 0 {
			t.Errorf("%s: a request that succeeds needs %q: type a body, or leave - and give the operation an example in functions/openapi/source.json", operationRow(t, op).CellLocation("sample"), missing)
		}
	}
}

// issueSpareKeys issues the two keys that the operation tables refer to: one to rotate and one to
// revoke.
func issueSpareKeys(t testing.TB, s *apitest.Service) {
	t.Helper()
	for _, o := range operationTable {
		keyID, ok := o.Fixture["keyId"]
		if !ok {
			continue
		}
		options := apitest.Options(t, s.Clock.Now, nil)
		options.Name = s.Table.Name()
		options.NewID = func(string) string { return keyID }
		store := keys.NewStore(table.New(options).AsOperator(), s.Clock.Now)
		if _, _, err := store.Issue(t.Context(), s.CompanyID, keys.Grant{Name: "spare", Scopes: []auth.Scope{auth.PlanRead}}, rand.Reader); err != nil {
			t.Fatal(err)
		}
	}
}

func toolOperations() []api.Operation {
	return slices.DeleteFunc(functions.Operations(nil), func(op api.Operation) bool { return op.NotTool })
}

package migration_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"growthworkspace/shared/api"
	"growthworkspace/shared/migration"
	"growthworkspace/shared/table"
	"growthworkspace/shared/testkit/apitest"
)

// note is the record that the tests migrate. An earlier build stored notes without keys for the
// index by color.
type note struct {
	Company string `json:"company"`
	ID      string `json:"id"`
	Color   string `json:"color"`
	Writes  int64  `json:"writes"`
}

func noteKey(companyID, noteID string) table.Key {
	return table.Key{PK: table.Partition(companyID, "notes"), SK: table.JoinKey("note", noteID)}
}

func earlierKeys(n note) table.Keys { return table.Keys{Key: noteKey(n.Company, n.ID)} }

func colorPartition(companyID, color string) string {
	return table.Partition(companyID, "notes", "color", color)
}

func keysOf(n note) table.Keys {
	keys := earlierKeys(n)
	keys.GSI1 = table.Key{PK: colorPartition(n.Company, n.Color), SK: n.ID}
	return keys
}

// fixture consists of companies with notes from an earlier build, and the migration to the index by
// color. Each fixture has its own migration. All fixtures share one table, and a migration has only
// one mark for all companies in a table.
type fixture struct {
	*testing.T

	table          *table.Client
	colorMigration migration.Migration
	companies      []string
}

func newFixture(t *testing.T, transport http.RoundTripper, companies, notes int) *fixture {
	t.Helper()
	s := apitest.NewWithTransport(t, func(*table.Client) []api.Operation { return nil }, transport)
	f := &fixture{T: t, table: s.Table, colorMigration: migration.New("color-"+s.CompanyID, "notes", "note#", keysOf).WithBatch(3)}
	for range companies {
		f.companies = append(f.companies, s.Table.NewID("co"))
		f.addEarlierNotes(f.companies[len(f.companies)-1], 0, notes)
	}
	return f
}

// addEarlierNotes stores the notes with the numbers from first to last, as the earlier build did.
func (f *fixture) addEarlierNotes(companyID string, first, last int) {
	f.Helper()
	var items []table.Item
	for n := first; n < last; n++ {
		record := note{companyID, fmt.Sprintf("n%03d", n), "red", 0}
		items = append(items, f.table.NewItem(earlierKeys(record), record))
	}
	if err := f.table.BatchPut(f.Context(), items); err != nil {
		f.Fatal(err)
	}
}

func (f *fixture) migrations() []migration.Migration { return []migration.Migration{f.colorMigration} }

func (f *fixture) run(recheck bool) (int64, error) {
	return migration.Run(f.Context(), f.table, f.migrations(), f.companies, recheck, func(migration.Progress) {})
}

func (f *fixture) mustRun(recheck bool) (written int64) {
	f.Helper()
	written, err := f.run(recheck)
	if err != nil {
		f.Fatal(err)
	}
	return written
}

func (f *fixture) isComplete(companyID string) bool {
	f.Helper()
	isComplete, err := f.colorMigration.IsComplete(f.Context(), f.table, companyID)
	if err != nil {
		f.Fatal(err)
	}
	return isComplete
}

func (f *fixture) isCompleteForAll() bool {
	f.Helper()
	isComplete, err := f.colorMigration.IsCompleteForAll(f.Context(), f.table)
	if err != nil {
		f.Fatal(err)
	}
	return isComplete
}

// countWrong returns the number of a company's notes that do not have this build's index keys.
func (f *fixture) countWrong(companyID string) (wrong int) {
	f.Helper()
	collection := table.Collection{Partition: table.Partition(companyID, "notes"), Prefix: "note#", Consistent: true}
	err := table.ForEachItem(f.Context(), f.table, collection, func(item table.Item) error {
		var n note
		if err := table.Decode(item, &n); err != nil {
			return err
		}
		if key, _ := item["gsi1pk"].(*types.AttributeValueMemberS); key == nil || key.Value != keysOf(n).GSI1.PK {
			wrong++
		}
		return nil
	})
	if err != nil {
		f.Fatal(err)
	}
	return wrong
}

// Ensure a migration that is killed before, during or after any of its table calls continues when
// it is run again. It must never be complete while a record lacks its keys.
func TestRunDiesAtEveryCall(t *testing.T) {
	t.Parallel()
	const notes = 5
	step := 1
	if testing.Short() {
		step = 5
	}
	for calls := 0; ; calls += step {
		anyCrashed := false
		for _, during := range []bool{false, true} {
			faults := &apitest.CrashingTransport{}
			faults.StopCrashing()
			f := newFixture(t, faults, 2, notes)
			faults.CrashAfter(calls, during)
			first, err := f.run(false)
			crashed := faults.Crashed()
			faults.StopCrashing()
			if crashed != (err != nil) {
				t.Fatalf("after %d calls: died: %t, but the error is %v", calls, crashed, err)
			}
			anyCrashed = anyCrashed || crashed
			complete := 0
			for _, companyID := range f.companies {
				if f.isComplete(companyID) {
					complete++
				}
				if wrong := f.countWrong(companyID); f.isComplete(companyID) && wrong > 0 {
					t.Errorf("after %d calls: %d notes lack their keys, but the migration is complete", calls, wrong)
				}
			}
			if f.isCompleteForAll() && complete < len(f.companies) {
				t.Errorf("after %d calls: complete for all, but only %d companies are", calls, complete)
			}
			second := f.mustRun(false)
			if lost := 2*notes - first - second; lost < 0 || lost > 3 || !crashed && second != 0 { // the writes of an interrupted batch are not counted
				t.Errorf("after %d calls: the runs wrote %d and %d notes of %d", calls, first, second, 2*notes)
			}
			f.requireComplete(fmt.Sprintf("after %d calls", calls))
		}
		if !anyCrashed {
			return
		}
		if calls > 100 {
			t.Fatal("the calls to the table have no end")
		}
	}
}

// requireComplete fails the test if the migration is not complete for a company or if a note lacks
// its keys.
func (f *fixture) requireComplete(stage string) {
	f.Helper()
	for _, companyID := range f.companies {
		if wrong := f.countWrong(companyID); wrong > 0 || !f.isComplete(companyID) {
			f.Errorf("%s: company %s: complete: %t, %d notes lack their keys", stage, companyID, f.isComplete(companyID), wrong)
		}
	}
	if !f.isCompleteForAll() {
		f.Errorf("%s: not complete for all companies", stage)
	}
}

// Ensure a run completes the companies one by one. A new company must be complete as soon as all
// others are, and a repeated run must write nothing.
func TestRunCompletesCompanies(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil, 2, 4)
	newcomer := f.table.NewID("co")
	if f.isComplete(f.companies[0]) || f.isComplete(newcomer) || f.isCompleteForAll() {
		t.Fatal("complete before the migration")
	}
	written, err := migration.RunCompany(t.Context(), f.table, f.migrations(), f.companies[0], false, func(migration.Progress) {})
	if err != nil || written != 4 {
		t.Fatalf("%d notes written, want 4: %v", written, err)
	}
	if !f.isComplete(f.companies[0]) || f.isComplete(f.companies[1]) || f.isComplete(newcomer) || f.isCompleteForAll() {
		t.Error("one company: want it complete, and no other")
	}
	var last migration.Progress
	if written, err = migration.Run(t.Context(), f.table, f.migrations(), f.companies, false, func(p migration.Progress) { last = p }); err != nil || written != 4 {
		t.Fatalf("%d notes written, want 4: %v", written, err)
	}
	if last.CompanyID != f.companies[1] || last.Number != 2 || last.Companies != 2 || last.Checked != 4 {
		t.Errorf("the last progress is %+v", last)
	}
	f.requireComplete("after all")
	if !f.isComplete(newcomer) {
		t.Error("a new company is not complete")
	}
	if pending, err := migration.Pending(t.Context(), f.table, f.migrations()); len(pending) > 0 || err != nil {
		t.Errorf("pending: %v, %v", pending, err)
	}
	f.addEarlierNotes(f.companies[0], 4, 5) // by the earlier build, after a rollback
	if written := f.mustRun(false); written != 0 {
		t.Errorf("a repeated run wrote %d notes", written)
	}
	if written := f.mustRun(true); written != 1 || f.countWrong(f.companies[0]) != 0 {
		t.Errorf("the check of every note wrote %d notes, want 1", written)
	}
	f.requireComplete("after the check of every note")
}

// Ensure that once a new check of all records has begun, no company is complete until its own
// records have been checked, even if the check is killed.
func TestRunAgain(t *testing.T) {
	t.Parallel()
	faults := &apitest.CrashingTransport{}
	faults.StopCrashing()
	f := newFixture(t, faults, 3, 4)
	newCompanyID := f.table.NewID("co")
	f.mustRun(false)
	checked := 0
	_, err := migration.Run(t.Context(), f.table, f.migrations(), f.companies, true, func(p migration.Progress) {
		if checked++; p.Number == 2 {
			faults.CrashAfter(0, false)
		}
	})
	if err == nil {
		t.Fatal("the run did not die")
	}
	faults.StopCrashing()
	if !f.isComplete(f.companies[0]) || f.isComplete(f.companies[1]) || f.isComplete(f.companies[2]) || f.isComplete(newCompanyID) || f.isCompleteForAll() {
		t.Error("after the death: want the first company complete, and no other")
	}
	f.mustRun(false)
	f.requireComplete("after the rest")
	if _, err := migration.RunCompany(t.Context(), f.table, f.migrations(), f.companies[1], true, func(p migration.Progress) {
		if f.isComplete(p.CompanyID) || !f.isComplete(f.companies[0]) || !f.isComplete(newCompanyID) {
			t.Error("during the check of one company: want all complete but this one")
		}
	}); err != nil {
		t.Fatal(err)
	}
	f.requireComplete("after the check of one company")
}

// Ensure a migration loses no concurrent write, whether by this build or by the earlier one. Once
// the earlier build has stopped, a check of every record must correct all keys. Several processes
// run the migration concurrently.
func TestRunDuringWrites(t *testing.T) {
	t.Parallel()
	const notes, rounds = 12, 5
	f := newFixture(t, nil, 2, notes)
	ctx := context.WithoutCancel(t.Context())
	var wait sync.WaitGroup
	for range 3 {
		wait.Go(func() {
			if _, err := migration.Run(ctx, f.table, f.migrations(), f.companies, false, func(migration.Progress) {}); err != nil {
				t.Error(err)
			}
		})
	}
	for _, companyID := range f.companies {
		for n := range notes {
			key := noteKey(companyID, fmt.Sprintf("n%03d", n))
			wait.Go(func() {
				for round := range rounds {
					_, err := table.Modify(ctx, f.table, key, keysOf, func(n *note) error {
						n.Writes, n.Color = n.Writes+1, fmt.Sprintf("color%d", round)
						return nil
					})
					if err != nil {
						t.Error(err)
					}
				}
			})
			wait.Go(func() {
				for range rounds {
					if err := writeAsEarlierBuild(ctx, f.table, key); err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
	wait.Wait()
	f.mustRun(true)
	f.requireComplete("after the writes")
	for _, companyID := range f.companies {
		all, err := table.ReadAll[note](ctx, f.table, table.Collection{Partition: table.Partition(companyID, "notes"), Prefix: "note#", Consistent: true})
		if err != nil || len(all) != notes {
			t.Fatalf("%d notes, want %d: %v", len(all), notes, err)
		}
		for _, n := range all {
			if n.Writes != 2*rounds {
				t.Errorf("note %s was written %d times, want %d", n.ID, n.Writes, 2*rounds)
			}
		}
	}
}

// Ensure that a run stops when another process begins a new round, and that it does not reset the
// marks of that round.
func TestRunStopsAtNewRound(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil, 1, 10)
	var once sync.Once
	_, err := migration.Run(t.Context(), f.table, f.migrations(), f.companies, false, func(migration.Progress) {
		once.Do(func() { f.mustRun(true) })
	})
	if err == nil {
		t.Error("the earlier run did not report that another process took over")
	}
	f.requireComplete("after the new round")
}

// writeAsEarlierBuild changes a note's color without its index key, and increments the note's count
// of writes. It uses compare-and-set.
func writeAsEarlierBuild(ctx context.Context, t *table.Client, key table.Key) error {
	for {
		item, err := table.GetItem(ctx, t, key)
		if err != nil {
			return err
		}
		_, err = t.UpdateItem(ctx, &dynamodb.UpdateItemInput{
			Key:                       table.Item{"pk": table.String(key.PK), "sk": table.String(key.SK)},
			UpdateExpression:          aws.String("SET rev = rev + :one, writes = writes + :one, color = :color, writeId = :write"),
			ConditionExpression:       aws.String("rev = :rev AND writeId = :written"),
			ExpressionAttributeValues: table.Item{":one": table.Number(1), ":color": table.String("grey"), ":rev": item["rev"], ":write": table.String(t.NewID("wrt")), ":written": item["writeId"]},
		})
		var failed *types.ConditionalCheckFailedException
		if !errors.As(err, &failed) {
			return err
		}
	}
}

// Ensure a table without items is complete at once, and one with items is not.
func TestCompleteEmpty(t *testing.T) {
	t.Parallel()
	o := apitest.Options(t, (&apitest.Clock{}).Now, nil)
	o.Name = o.NewID("test")
	c := table.New(o).AsOperator()
	if err := c.Create(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Drop(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	migrations := []migration.Migration{migration.New("color", "notes", "note#", keysOf), migration.New("other", "notes", "note#", keysOf)}
	if isEmpty, err := migration.CompleteEmpty(t.Context(), c, migrations); !isEmpty || err != nil {
		t.Fatalf("an empty table: %t, %v", isEmpty, err)
	}
	for _, m := range migrations {
		if isComplete, err := m.IsComplete(t.Context(), c, c.NewID("co")); !isComplete || err != nil {
			t.Errorf("%s: a new company is complete: %t, want true: %v", m, isComplete, err)
		}
	}
	laterMigrations := []migration.Migration{migration.New("later", "notes", "note#", keysOf)}
	if isEmpty, err := migration.CompleteEmpty(t.Context(), c, laterMigrations); isEmpty || err != nil {
		t.Errorf("a table with items is empty: %t, %v", isEmpty, err)
	}
	if pending, err := migration.Pending(t.Context(), c, append(laterMigrations, migrations...)); err != nil || len(pending) != 1 {
		t.Errorf("pending: %v, want the later migration: %v", pending, err)
	}
}

// Ensure IsComplete takes one call and one read unit.
func TestIsCompleteCost(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil, 1, 1)
	f.mustRun(false)
	for _, companyID := range []string{f.companies[0], f.table.NewID("co")} {
		ctx, request := apitest.NewRequest(t)
		if isComplete, err := f.colorMigration.IsComplete(ctx, f.table, companyID); err != nil || !isComplete {
			t.Fatalf("complete: %t, %v", isComplete, err)
		}
		if used := request.Usage(); used.Calls != 1 || used.Read > 1 {
			t.Errorf("%+v, want one call and one unit", used)
		}
	}
}

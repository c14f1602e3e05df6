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

// world consists of companies with notes from an earlier build, and the migration to the index by
// color. Each world has its own migration. All worlds share one table, and a migration has only one
// mark for all companies in a table.
type world struct {
	*testing.T

	table     *table.Client
	byColor   migration.Migration
	companies []string
}

func newWorld(t *testing.T, transport http.RoundTripper, companies, notes int) *world {
	t.Helper()
	s := apitest.NewOver(t, func(*table.Client) []api.Operation { return nil }, transport)
	w := &world{T: t, table: s.Table, byColor: migration.New("color-"+s.CompanyID, "notes", "note#", keysOf).WithBatch(3)}
	for range companies {
		w.companies = append(w.companies, s.Table.NewID("co"))
		w.addEarlierNotes(w.companies[len(w.companies)-1], 0, notes)
	}
	return w
}

// addEarlierNotes stores the notes with the numbers from first to last, as the earlier build did.
func (w *world) addEarlierNotes(companyID string, first, last int) {
	w.Helper()
	var items []table.Item
	for n := first; n < last; n++ {
		record := note{companyID, fmt.Sprintf("n%03d", n), "red", 0}
		items = append(items, w.table.NewItem(earlierKeys(record), record))
	}
	if err := w.table.BatchPut(w.Context(), items); err != nil {
		w.Fatal(err)
	}
}

func (w *world) migrations() []migration.Migration { return []migration.Migration{w.byColor} }

func (w *world) run(again bool) (int64, error) {
	return migration.Run(w.Context(), w.table, w.migrations(), w.companies, again, func(migration.Progress) {})
}

func (w *world) mustRun(again bool) (written int64) {
	w.Helper()
	written, err := w.run(again)
	if err != nil {
		w.Fatal(err)
	}
	return written
}

func (w *world) isComplete(companyID string) bool {
	w.Helper()
	isComplete, err := w.byColor.IsComplete(w.Context(), w.table, companyID)
	if err != nil {
		w.Fatal(err)
	}
	return isComplete
}

func (w *world) isCompleteForAll() bool {
	w.Helper()
	isComplete, err := w.byColor.IsCompleteForAll(w.Context(), w.table)
	if err != nil {
		w.Fatal(err)
	}
	return isComplete
}

// countWrong returns the number of a company's notes that do not have this build's index keys.
func (w *world) countWrong(companyID string) (wrong int) {
	w.Helper()
	from := table.Collection{Partition: table.Partition(companyID, "notes"), Prefix: "note#", Consistent: true}
	err := table.ForEachItem(w.Context(), w.table, from, func(item table.Item) error {
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
		w.Fatal(err)
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
		died := false
		for _, during := range []bool{false, true} {
			faults := &apitest.CrashingTransport{}
			faults.StopCrashing()
			w := newWorld(t, faults, 2, notes)
			faults.CrashAfter(calls, during)
			first, err := w.run(false)
			crashed := faults.Crashed()
			faults.StopCrashing()
			if crashed != (err != nil) {
				t.Fatalf("after %d calls: died: %t, but the error is %v", calls, crashed, err)
			}
			died = died || crashed
			complete := 0
			for _, companyID := range w.companies {
				if w.isComplete(companyID) {
					complete++
				}
				if wrong := w.countWrong(companyID); w.isComplete(companyID) && wrong > 0 {
					t.Errorf("after %d calls: %d notes lack their keys, but the migration is complete", calls, wrong)
				}
			}
			if w.isCompleteForAll() && complete < len(w.companies) {
				t.Errorf("after %d calls: complete for all, but only %d companies are", calls, complete)
			}
			second := w.mustRun(false)
			if lost := 2*notes - first - second; lost < 0 || lost > 3 || !crashed && second != 0 { // the writes of an interrupted batch are not counted
				t.Errorf("after %d calls: the runs wrote %d and %d notes of %d", calls, first, second, 2*notes)
			}
			w.requireComplete(fmt.Sprintf("after %d calls", calls))
		}
		if !died {
			return
		}
		if calls > 100 {
			t.Fatal("the calls to the table have no end")
		}
	}
}

// requireComplete fails the test if the migration is not complete for a company or if a note lacks
// its keys.
func (w *world) requireComplete(when string) {
	w.Helper()
	for _, companyID := range w.companies {
		if wrong := w.countWrong(companyID); wrong > 0 || !w.isComplete(companyID) {
			w.Errorf("%s: company %s: complete: %t, %d notes lack their keys", when, companyID, w.isComplete(companyID), wrong)
		}
	}
	if !w.isCompleteForAll() {
		w.Errorf("%s: not complete for all companies", when)
	}
}

// Ensure a run completes the companies one by one. A new company must be complete as soon as all
// others are, and a repeated run must write nothing.
func TestRunCompletesCompanies(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil, 2, 4)
	newcomer := w.table.NewID("co")
	if w.isComplete(w.companies[0]) || w.isComplete(newcomer) || w.isCompleteForAll() {
		t.Fatal("complete before the migration")
	}
	written, err := migration.RunCompany(t.Context(), w.table, w.migrations(), w.companies[0], false, func(migration.Progress) {})
	if err != nil || written != 4 {
		t.Fatalf("%d notes written, want 4: %v", written, err)
	}
	if !w.isComplete(w.companies[0]) || w.isComplete(w.companies[1]) || w.isComplete(newcomer) || w.isCompleteForAll() {
		t.Error("one company: want it complete, and no other")
	}
	var last migration.Progress
	if written, err = migration.Run(t.Context(), w.table, w.migrations(), w.companies, false, func(p migration.Progress) { last = p }); err != nil || written != 4 {
		t.Fatalf("%d notes written, want 4: %v", written, err)
	}
	if last.CompanyID != w.companies[1] || last.Number != 2 || last.Companies != 2 || last.Checked != 4 {
		t.Errorf("the last progress is %+v", last)
	}
	w.requireComplete("after all")
	if !w.isComplete(newcomer) {
		t.Error("a new company is not complete")
	}
	if pending, err := migration.Pending(t.Context(), w.table, w.migrations()); len(pending) > 0 || err != nil {
		t.Errorf("pending: %v, %v", pending, err)
	}
	w.addEarlierNotes(w.companies[0], 4, 5) // by the earlier build, after a rollback
	if written := w.mustRun(false); written != 0 {
		t.Errorf("a repeated run wrote %d notes", written)
	}
	if written := w.mustRun(true); written != 1 || w.countWrong(w.companies[0]) != 0 {
		t.Errorf("the check of every note wrote %d notes, want 1", written)
	}
	w.requireComplete("after the check of every note")
}

// Ensure that once a new check of all records has begun, no company is complete until its own
// records have been checked, even if the check is killed.
func TestRunAgain(t *testing.T) {
	t.Parallel()
	faults := &apitest.CrashingTransport{}
	faults.StopCrashing()
	w := newWorld(t, faults, 3, 4)
	newcomer := w.table.NewID("co")
	w.mustRun(false)
	checked := 0
	_, err := migration.Run(t.Context(), w.table, w.migrations(), w.companies, true, func(p migration.Progress) {
		if checked++; p.Number == 2 {
			faults.CrashAfter(0, false)
		}
	})
	if err == nil {
		t.Fatal("the run did not die")
	}
	faults.StopCrashing()
	if !w.isComplete(w.companies[0]) || w.isComplete(w.companies[1]) || w.isComplete(w.companies[2]) || w.isComplete(newcomer) || w.isCompleteForAll() {
		t.Error("after the death: want the first company complete, and no other")
	}
	w.mustRun(false)
	w.requireComplete("after the rest")
	if _, err := migration.RunCompany(t.Context(), w.table, w.migrations(), w.companies[1], true, func(p migration.Progress) {
		if w.isComplete(p.CompanyID) || !w.isComplete(w.companies[0]) || !w.isComplete(newcomer) {
			t.Error("during the check of one company: want all complete but this one")
		}
	}); err != nil {
		t.Fatal(err)
	}
	w.requireComplete("after the check of one company")
}

// Ensure a migration loses no concurrent write, whether by this build or by the earlier one. Once
// the earlier build has stopped, a check of every record must correct all keys. Several processes
// run the migration concurrently.
func TestRunDuringWrites(t *testing.T) {
	t.Parallel()
	const notes, rounds = 12, 5
	w := newWorld(t, nil, 2, notes)
	ctx := context.WithoutCancel(t.Context())
	var wait sync.WaitGroup
	for range 3 {
		wait.Go(func() {
			if _, err := migration.Run(ctx, w.table, w.migrations(), w.companies, false, func(migration.Progress) {}); err != nil {
				t.Error(err)
			}
		})
	}
	for _, companyID := range w.companies {
		for n := range notes {
			key := noteKey(companyID, fmt.Sprintf("n%03d", n))
			wait.Go(func() {
				for round := range rounds {
					_, err := table.Modify(ctx, w.table, key, keysOf, func(n *note) error {
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
					if err := writeAsEarlierBuild(ctx, w.table, key); err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
	wait.Wait()
	w.mustRun(true)
	w.requireComplete("after the writes")
	for _, companyID := range w.companies {
		all, err := table.ReadAll[note](ctx, w.table, table.Collection{Partition: table.Partition(companyID, "notes"), Prefix: "note#", Consistent: true})
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
	w := newWorld(t, nil, 1, 10)
	var once sync.Once
	_, err := migration.Run(t.Context(), w.table, w.migrations(), w.companies, false, func(migration.Progress) {
		once.Do(func() { w.mustRun(true) })
	})
	if err == nil {
		t.Error("the earlier run did not report that another process took over")
	}
	w.requireComplete("after the new round")
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
	later := []migration.Migration{migration.New("later", "notes", "note#", keysOf)}
	if isEmpty, err := migration.CompleteEmpty(t.Context(), c, later); isEmpty || err != nil {
		t.Errorf("a table with items is empty: %t, %v", isEmpty, err)
	}
	if pending, err := migration.Pending(t.Context(), c, append(later, migrations...)); err != nil || len(pending) != 1 {
		t.Errorf("pending: %v, want the later migration: %v", pending, err)
	}
}

// Ensure IsComplete takes one call and one read unit.
func TestIsCompleteCost(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil, 1, 1)
	w.mustRun(false)
	for _, companyID := range []string{w.companies[0], w.table.NewID("co")} {
		ctx, request := apitest.Request(t)
		if isComplete, err := w.byColor.IsComplete(ctx, w.table, companyID); err != nil || !isComplete {
			t.Fatalf("complete: %t, %v", isComplete, err)
		}
		if used := request.Units(); used.Calls != 1 || used.Read > 1 {
			t.Errorf("%+v, want one call and one unit", used)
		}
	}
}

// Ensure a migration calls its action with each record, and counts the records that the action
// writes.
func TestNewAction(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil, 1, 5)
	var mu sync.Mutex
	seen := map[string]int{}
	refused := errors.New("refused")
	action := func(_ context.Context, _ *table.Client, n note) (bool, error) {
		mu.Lock()
		defer mu.Unlock()
		if seen[n.ID]++; n.ID == "n003" && seen[n.ID] == 1 {
			return false, refused
		}
		return n.ID != "n001", nil
	}
	actions := []migration.Migration{migration.NewAction("act-"+w.companies[0], "notes", "note#", action)}
	run := func() (int64, error) {
		return migration.Run(t.Context(), w.table, actions, w.companies, false, func(migration.Progress) {})
	}
	if _, err := run(); !errors.Is(err, refused) {
		t.Fatalf("the error is %v, want that of the action", err)
	}
	if written, err := run(); written != 4 || err != nil || len(seen) != 5 {
		t.Errorf("%d written, %d seen: %v", written, len(seen), err)
	}
}

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// simulatedAccount is a simulated account in the tests of the planner. It changes as CloudFormation
// and DynamoDB would change it in each step.
type simulatedAccount struct {
	managed   bool
	template  []string // the indexes in the deployed template
	table     []string // the indexes in the table
	functions []string // the indexes that the deployed functions query
	wanted    []string
}

func (a simulatedAccount) clone() simulatedAccount {
	a.template, a.table, a.functions = slices.Clone(a.template), slices.Clone(a.table), slices.Clone(a.functions)
	return a
}

func (a simulatedAccount) evolution() evolution {
	e := evolution{managed: a.managed, table: tableState{name: "t", status: "ACTIVE"}, deployedIndexes: indexesOf(a.template), wantedIndexes: indexesOf(a.wanted)}
	for _, i := range indexesOf(a.table) {
		e.table.indexes = append(e.table.indexes, index{indexKeys: i.indexKeys, status: "ACTIVE"})
	}
	return e
}

func indexesOf(names []string) (out []index) {
	for _, name := range names {
		out = append(out, index{indexKeys: indexKeys{name: name, keys: name + "pk HASH"}})
	}
	return out
}

func namesOf(indexes []index) (out []string) {
	for _, i := range indexes {
		out = append(out, i.name)
	}
	return out
}

// apply makes the change that a step describes, or returns an error that says why AWS would refuse
// it.
func (a *simulatedAccount) apply(s step) error {
	name := s.index.name
	next := namesOf(s.indexes)
	added, removed := difference(next, a.template), difference(a.template, next)
	switch s.kind {
	case addIndex:
		if !a.managed || len(removed) > 0 || !slices.Equal(added, []string{name}) {
			return fmt.Errorf("the template goes from %v to %v", a.template, next)
		}
		if slices.Contains(a.table, name) {
			return fmt.Errorf("the table has %s", name)
		}
		a.template, a.table = next, append(a.table, name)
	case removeIndex:
		if !a.managed || len(added) > 0 || !slices.Equal(removed, []string{name}) {
			return fmt.Errorf("the template goes from %v to %v", a.template, next)
		}
		a.template, a.table = next, difference(a.table, removed)
	case deployStack:
		if lost := difference(a.wanted, a.table); len(lost) > 0 {
			return fmt.Errorf("the new functions query %v", lost)
		}
		if a.managed && len(added)+len(removed) > 0 {
			return fmt.Errorf("the functions and the indexes %v and %v change together", added, removed)
		}
		a.template, a.functions = next, a.wanted
	}
	return nil
}

// planSteps plans the steps as an operator does: it makes each change of an index that the planner
// requests, and plans again.
func (a *simulatedAccount) planSteps(t *testing.T) []step {
	t.Helper()
	for range 10 {
		steps, err := a.evolution().steps()
		var manual manualChange
		switch {
		case err == nil:
			return steps
		case !errors.As(err, &manual):
			t.Fatalf("%+v: %v", a, err)
		case manual.removes:
			if a.managed && slices.Contains(a.template, manual.index.name) {
				t.Fatalf("%+v: CloudFormation manages %s", a, manual.index.name)
			}
			a.table = difference(a.table, []string{manual.index.name})
		case slices.Contains(a.table, manual.index.name):
			t.Fatalf("%+v: the table has %s", a, manual.index.name)
		default:
			a.table = append(a.table, manual.index.name)
		}
	}
	t.Fatalf("%+v: the operator has to make more than ten changes", a)
	return nil
}

func difference(a, b []string) []string {
	return slices.DeleteFunc(slices.Clone(a), func(name string) bool { return slices.Contains(b, name) })
}

// Ensure AWS accepts every planned step. The test covers every state of the account and every pair
// of versions that differ in at most three indexes. Functions must never run without an index that
// they query. A deploy that stops after a step, or during a step that adds an index, must reach the
// same final state when it is run again.
func TestSteps(t *testing.T) {
	all := []string{"gsi1", "gsi2", "gsi3", "gsi4"}
	count := 0
	for _, managed := range []bool{true, false} {
		for _, from := range subsets(all) {
			for _, to := range subsets(all) {
				for _, table := range subsets(all) {
					if len(difference(from, to))+len(difference(to, from)) > 3 {
						continue
					}
					count++
					w := simulatedAccount{managed: managed, template: from, table: table, functions: from, wanted: to}
					checkPlans(t, w, 3)
				}
			}
		}
	}
	if count < 5000 {
		t.Errorf("only %d plans", count)
	}
}

// checkPlans plans the steps and applies them. If depth is not 0, it also stops after each step and
// plans again from there.
func checkPlans(t *testing.T, w simulatedAccount, depth int) {
	t.Helper()
	start := w.clone()
	steps := w.planSteps(t)
	ran := len(difference(w.functions, w.table)) == 0 // whether the functions had all their indexes at the start
	for n, s := range steps {
		before := w.clone()
		if err := w.apply(s); err != nil {
			t.Fatalf("%+v: step %d of %v: %v", start, n+1, steps, err)
		}
		if lost := difference(w.functions, w.table); len(lost) > 0 && (ran || s.kind == deployStack) {
			t.Fatalf("%+v: after step %d of %v functions query %v", start, n+1, steps, lost)
		}
		if depth == 0 {
			continue
		}
		if n+1 < len(steps) {
			checkPlans(t, w.clone(), 0)
		}
		if s.kind == addIndex { // as if the update had been rolled back but had left the index
			before.table = append(before.table, s.index.name)
			checkPlans(t, before, 0)
		}
	}
	if notInTable := difference(w.wanted, w.table); len(notInTable) > 0 || !sameNames(w.template, w.wanted) || !sameNames(w.functions, w.wanted) {
		t.Fatalf("%+v: %v ends with %+v", start, steps, w)
	}
	if old := difference(start.template, w.wanted); w.managed && len(difference(old, w.table)) < len(old) {
		t.Fatalf("%+v: %v leaves %v in the table", start, steps, w.table)
	}
	if foreign := difference(difference(start.table, start.template), start.wanted); len(difference(foreign, w.table)) > 0 {
		t.Fatalf("%+v: %v removes an index of somebody else", start, steps)
	}
	steps, err := w.evolution().steps()
	if err != nil || len(steps) != 1 || steps[0].kind != deployStack {
		t.Fatalf("%+v: a second deploy has the steps %v, %v", start, steps, err)
	}
}

func sameNames(a, b []string) bool { return len(difference(a, b))+len(difference(b, a)) == 0 }

func subsets(names []string) [][]string {
	out := [][]string{nil}
	for _, name := range names {
		for _, s := range out {
			out = append(out, append(slices.Clone(s), name))
		}
	}
	return out
}

// Ensure a new table is created with all its indexes in one step. After a failed first deploy, the
// state is the same: there is no table.
func TestStepsOfANewTable(t *testing.T) {
	steps, err := evolution{managed: true, wantedIndexes: indexesOf([]string{"gsi1", "gsi2"})}.steps()
	if err != nil || len(steps) != 1 || steps[0].kind != deployStack || len(steps[0].indexes) != 2 {
		t.Errorf("%v, %v", steps, err)
	}
}

// Ensure an index that another version defines differently is refused. More indexes than DynamoDB
// allows must be refused, too.
func TestErrSteps(t *testing.T) {
	for _, managed := range []bool{true, false} {
		e := simulatedAccount{managed: managed, template: []string{"gsi1"}, table: []string{"gsi1"}, wanted: []string{"gsi1"}}.evolution()
		e.wantedIndexes[0].projection = "KEYS_ONLY"
		if _, err := e.steps(); err == nil || !strings.Contains(err.Error(), "DynamoDB cannot change an index") {
			t.Errorf("another projection: %v", err)
		}
	}
	w := simulatedAccount{managed: true, wanted: []string{"new"}}
	for n := range indexesMax {
		w.table = append(w.table, fmt.Sprint("gsi", n))
	}
	w.template = w.table
	if _, err := w.evolution().steps(); err == nil || !strings.Contains(err.Error(), "would have 21 indexes") {
		t.Errorf("21 indexes: %v", err)
	}
	w.wanted = w.table[1:]
	if _, err := w.evolution().steps(); err != nil {
		t.Errorf("20 indexes: %v", err)
	}
}

// Ensure an upgrade first adds an index in an update of its own and waits until the index is
// ACTIVE. It then deploys the functions. Finally it removes the index that the new version does not
// have, again in an update of its own.
func TestUpgradeOfIndexes(t *testing.T) {
	w := newFakeAWS(t)
	w.status = "UPDATE_COMPLETE"
	all, err := w.template.indexes()
	if err != nil {
		t.Fatal(err)
	}
	if w.template, err = w.template.withIndexes(all[1:]); err != nil { // the deployed version lacks gsi1
		t.Fatal(err)
	}
	next, err := newTemplate(t).withIndexes(all[:len(all)-1]) // the new version lacks the last index
	if err != nil {
		t.Fatal(err)
	}
	w.write(w.logPath+".next", string(next.text()))
	w.creating["gsi1"] = false
	last := all[len(all)-1].name
	requireContains(t, w.deploy(0, "--yes"), "step 1    add the index gsi1 to the table, alone", "the index gsi1 is CREATING",
		"step 2    deploy the functions", "step 3    remove the index "+last)
	log := w.loggedCalls()
	var kinds []string
	for line := range strings.Lines(log) {
		switch {
		case strings.Contains(line, "prepare-change-set") && strings.Contains(line, "--parameters"):
			kinds = append(kinds, "stack")
		case strings.Contains(line, "prepare-change-set"):
			kinds = append(kinds, "table")
		case strings.Contains(line, "CREATING"):
			kinds = append(kinds, "wait")
		}
	}
	if got := strings.Join(kinds, " "); got != "table wait stack table" {
		t.Errorf("%s:\n%s", got, log)
	}
	indexes, err := w.deployedTemplate().indexes()
	if err != nil || !slices.Equal(namesOf(indexes), namesOf(all[:len(all)-1])) {
		t.Errorf("%v, %v", namesOf(indexes), err)
	}
}

// Ensure that a deploy prints the command for an index that CloudFormation cannot change: one that a
// rolled-back update left behind, and one that the table lacks although the stack has it. An index
// that is in neither version stays and is reported.
func TestLeftoverIndexes(t *testing.T) {
	w := newFakeAWS(t)
	w.status = "UPDATE_ROLLBACK_COMPLETE"
	all, err := w.template.indexes()
	if err != nil {
		t.Fatal(err)
	}
	if w.template, err = w.template.withIndexes(all[1:]); err != nil {
		t.Fatal(err)
	}
	w.indexes = []string{"gsi1", "mine"}
	const command = "aws dynamodb update-table --region eu-central-1 --table-name the-table"
	requireContains(t, w.deploy(1, "--yes"), command+` --global-secondary-index-updates '[{"Delete":{"IndexName":"gsi1"}}]'`)
	w.indexes, w.missing = []string{"mine"}, "gsi2"
	requireContains(t, w.deploy(1, "--yes"), command+` --attribute-definitions '[{"AttributeName":"gsi2pk"`, `'[{"Create":{"IndexName":"gsi2","KeySchema":[{`)
	if len(w.prepareCalls()) != 0 {
		t.Errorf("the stack was changed:\n%s", w.loggedCalls())
	}
	w.missing = ""
	requireContains(t, w.deploy(0, "--yes"), "the index mine of the table the-table belongs to neither version")
}

// Ensure the error after an interruption while DynamoDB backfills an index says that the deploy can
// be run again.
func TestErrInterruptedWait(t *testing.T) {
	w := newFakeAWS(t)
	ctx, cancel := context.WithCancel(t.Context())
	var output bytes.Buffer
	d := &deployer{out: &output, after: func(time.Duration) <-chan time.Time { cancel(); return nil }}
	var err error
	if d.account, err = openAccount(ctx, "", ""); err != nil {
		t.Fatal(err)
	}
	w.creating["gsi2"] = false
	err = d.waitForTable(ctx, "the-table", tableState.pendingChanges)
	if err == nil || !strings.Contains(err.Error(), "interrupted while the index gsi2 is CREATING; DynamoDB continues without this program. Run this again") {
		t.Error(err)
	}
	requireContains(t, output.String(), "waiting   the index gsi2 is CREATING")
}

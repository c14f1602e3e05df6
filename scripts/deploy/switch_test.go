package main

import (
	"strings"
	"testing"

	"growthworkspace/infra"
)

// requireUpdates checks the parameters of the prepared updates. `want` has one line of words for
// each update. The parameters of the update must contain every word of its line, but must not
// contain a word that follows a minus sign.
func requireUpdates(t *testing.T, w *fakeAWS, want ...string) {
	t.Helper()
	got := w.prepareCalls()
	if len(got) != len(want) {
		t.Fatalf("%d updates instead of %d:\n%s", len(got), len(want), strings.Join(got, "\n"))
	}
	for n, line := range want {
		for word := range strings.FieldsSeq(line) {
			word, absent := strings.CutPrefix(word, "-")
			if strings.Contains(got[n]+" ", "growth-workspace:"+word+" ") == absent {
				t.Errorf("update %d: %s is absent: %t\n%s", n+1, word, !absent, got[n])
			}
		}
	}
}

// Ensure a switch first refuses writes and grants access to both tables, then changes the table,
// and finally accepts writes.
func TestSwitch(t *testing.T) {
	w := newFakeAWS(t)
	w.status = "UPDATE_COMPLETE"
	requireContains(t, w.deploy(0, "--yes", "--table", "restored", "--param", "AlarmEmail=operator@example.com"),
		"update 1 of 3: refuse writes", "update 2 of 3: read from restored", "update 3 of 3: accept writes")
	const email = "AlarmEmail=operator@example.com "
	requireUpdates(t, w,
		email+"SecondTableName=restored -ExistingTableName=restored -AdoptedTable=no",
		email+"ExistingTableName=restored SecondTableName=the-table AdoptedTable=no TableStreamArn=arn:aws:dynamodb:eu-central-1:111122223333:table/restored/stream/1",
		email+"ExistingTableName=restored SecondTableName= AdoptedTable=no")
}

// Ensure a switch that stopped can continue, go back, or go to a third table. No other deploy may
// run until the switch is complete.
func TestSwitchResumes(t *testing.T) {
	middle := settings{{infra.ParamSecondTable, "restored"}}
	end := settings{{infra.ParamTable, "restored"}, {infra.ParamSecondTable, "the-table"}}
	for name, test := range map[string]struct {
		parameters settings
		table      string
		want       []string
	}{
		"after the first update":  {middle, "restored", []string{"ExistingTableName=restored SecondTableName=the-table", "ExistingTableName=restored SecondTableName="}},
		"back to the table":       {middle, "the-table", []string{"SecondTableName= -ExistingTableName=the-table"}},
		"after the second update": {end, "restored", []string{"ExistingTableName=restored SecondTableName="}},
		"to a third table": {middle, "another", []string{
			"SecondTableName=another", "ExistingTableName=another SecondTableName=the-table", "SecondTableName="}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newFakeAWS(t)
			w.status, w.parameters = "UPDATE_COMPLETE", test.parameters
			if table, _ := test.parameters.lookup(infra.ParamTable); table != "" {
				w.managedTable = ""
			}
			w.deploy(0, "--yes", "--table", test.table)
			requireUpdates(t, w, test.want...)
		})
	}
	w := newFakeAWS(t)
	w.status, w.parameters = "UPDATE_COMPLETE", middle
	requireContains(t, w.deploy(1, "--yes"), "in the middle of a switch", "--table the-table", "--table restored")
	w = newFakeAWS(t)
	w.status = "UPDATE_COMPLETE"
	t.Setenv("CDK_EXIT", "1")
	requireContains(t, w.deploy(1, "--yes", "--table", "restored"), "The switch of the table is not complete", "run this again")
}

// Ensure the stack still manages its own table, whose name CloudFormation chose, when --table names
// that table.
func TestOwnTableIsKept(t *testing.T) {
	w := newFakeAWS(t)
	w.status = "UPDATE_COMPLETE"
	w.deploy(0, "--yes", "--table", "the-table")
	requireUpdates(t, w, "-ExistingTableName=the-table")
}

// Ensure a switch is refused if the deployed table lacks an index that the new version needs.
func TestErrSwitchNeedsIndexes(t *testing.T) {
	w := newFakeAWS(t)
	w.status, w.missing = "UPDATE_COMPLETE", "gsi3"
	requireContains(t, w.deploy(1, "--yes", "--table", "restored"), "the table the-table lacks (the index gsi3 does not exist): deploy it first without --table")
	if len(w.prepareCalls()) != 0 {
		t.Error("the stack was changed")
	}
}

// Ensure writes are not turned off or on with a canary, because the alarm on 5xx responses would
// roll it back.
func TestErrReadOnlyCanary(t *testing.T) {
	canary := settings{{infra.ParamRollout, infra.RolloutCanary}}
	for name, test := range map[string]struct {
		parameters settings
		args       []string
	}{
		"a switch":     {canary, []string{"--table", "restored"}},
		"its end":      {canary.with(infra.ParamSecondTable, "restored"), []string{"--table", "the-table"}},
		"stop writes":  {canary, []string{"--param", "Writes=off"}},
		"accept again": {canary.with(infra.ParamWrites, "off"), []string{"--param", "Writes=on"}},
	} {
		w := newFakeAWS(t)
		w.status, w.parameters = "UPDATE_COMPLETE", test.parameters
		requireContains(t, w.deploy(1, append(test.args, "--yes")...), "add --param Rollout=all-at-once")
		if len(w.prepareCalls()) != 0 {
			t.Errorf("%s: the stack was changed", name)
		}
		w = newFakeAWS(t)
		w.status, w.parameters = "UPDATE_COMPLETE", test.parameters
		w.deploy(0, append(test.args, "--yes", "--param", "Rollout=all-at-once")...)
	}
}

// Ensure a switch does not announce that writes are accepted while the parameter Writes is "off".
func TestSwitchWithoutWrites(t *testing.T) {
	w := newFakeAWS(t)
	w.status, w.parameters = "UPDATE_COMPLETE", settings{{infra.ParamWrites, "off"}}
	requireContains(t, w.deploy(0, "--yes", "--table", "restored"), "update 3 of 3: still refuse writes, because Writes is off")
}

// Ensure an empty table name changes nothing if the stack uses its own table. It must not replace
// an existing table with a new, empty one.
func TestEmptyTableName(t *testing.T) {
	w := newFakeAWS(t)
	w.status = "UPDATE_COMPLETE"
	w.deploy(0, "--yes", "--param", "ExistingTableName=")
	requireUpdates(t, w, "-ExistingTableName= -SecondTableName=the-table")
	w = newFakeAWS(t)
	w.status, w.parameters, w.managedTable = "UPDATE_COMPLETE", settings{{infra.ParamTable, "restored"}}, ""
	requireContains(t, w.deploy(1, "--yes", "--param", "ExistingTableName="), "the stack uses the table restored", "none of its records")
	requireUpdates(t, w)
}

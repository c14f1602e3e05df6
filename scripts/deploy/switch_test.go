package main

import (
	"strings"
	"testing"

	"growthworkspace/infra"
)

// requireUpdate checks the parameters of the only prepared update. Each word of want is a parameter
// that the update must set, or must not set if the word begins with a minus sign.
func requireUpdate(t *testing.T, w *fakeAWS, want string) {
	t.Helper()
	got := w.prepareCalls()
	if len(got) != 1 {
		t.Fatalf("%d updates instead of 1:\n%s", len(got), strings.Join(got, "\n"))
	}
	for word := range strings.FieldsSeq(want) {
		word, absent := strings.CutPrefix(word, "-")
		if strings.Contains(got[0]+" ", "growth-workspace:"+word+" ") == absent {
			t.Errorf("%s is absent: %t\n%s", word, !absent, got[0])
		}
	}
}

// Ensure a switch to another table is refused until writes are refused and the roles may use both
// tables. The switch must keep both until its last update.
func TestSwitch(t *testing.T) {
	w := newFakeAWS(t)
	w.status = "UPDATE_COMPLETE"
	const command = "go run ./scripts/deploy --region eu-central-1 --stack growth-workspace "
	requireContains(t, w.deploy(1, "--yes", "--table", "restored"), command+"--param SecondTableName=restored", command+"--table restored", command+"--param SecondTableName= ")
	if strings.Contains(w.loggedCalls(), "build") {
		t.Error("built before the check")
	}
	w.deploy(0, "--yes", "--param", "SecondTableName=restored")
	requireUpdate(t, w, "SecondTableName=restored -ExistingTableName=restored")

	w = newFakeAWS(t)
	w.status, w.parameters = "UPDATE_COMPLETE", settings{{infra.ParamSecondTable, "restored"}}
	requireContains(t, w.deploy(0, "--yes", "--table", "restored"), "the table the-table stays", command+"--param SecondTableName=\n")
	requireUpdate(t, w, "ExistingTableName=restored SecondTableName=the-table AdoptedTable=no TableStreamArn=arn:aws:dynamodb:eu-central-1:111122223333:table/restored/stream/1")

	for _, table := range []string{"restored", "the-table"} { // the end of the switch, and the way back
		w = newFakeAWS(t)
		w.status, w.managedTable = "UPDATE_COMPLETE", ""
		w.parameters = settings{{infra.ParamTable, "restored"}, {infra.ParamSecondTable, "the-table"}}
		w.deploy(0, "--yes", "--table", table, "--param", "SecondTableName=")
		requireUpdate(t, w, "ExistingTableName="+table)
	}
}

// Ensure the stack still manages its own table, whose name CloudFormation chose, when --table names
// that table.
func TestOwnTableIsKept(t *testing.T) {
	w := newFakeAWS(t)
	w.status = "UPDATE_COMPLETE"
	w.deploy(0, "--yes", "--table", "the-table")
	requireUpdate(t, w, "-ExistingTableName=the-table")
}

// Ensure a table that the stack does not manage is refused if it lacks an index that the new version
// needs.
func TestErrSwitchNeedsIndexes(t *testing.T) {
	w := newFakeAWS(t)
	w.status, w.missing, w.parameters = "UPDATE_COMPLETE", "gsi3", settings{{infra.ParamSecondTable, "restored"}}
	requireContains(t, w.deploy(1, "--yes", "--table", "restored"), "the table restored lacks the index gsi3", "update-table --region eu-central-1 --table-name restored")
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
		"a switch":     {canary, []string{"--param", "SecondTableName=restored"}},
		"its end":      {canary.with(infra.ParamSecondTable, "restored"), []string{"--param", "SecondTableName="}},
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

// Ensure an empty table name changes nothing if the stack uses its own table. It must not replace
// an existing table with a new, empty one.
func TestEmptyTableName(t *testing.T) {
	w := newFakeAWS(t)
	w.status = "UPDATE_COMPLETE"
	w.deploy(0, "--yes", "--param", "ExistingTableName=")
	requireUpdate(t, w, "-ExistingTableName= -SecondTableName=the-table")
	w = newFakeAWS(t)
	w.status, w.parameters, w.managedTable = "UPDATE_COMPLETE", settings{{infra.ParamTable, "restored"}}, ""
	requireContains(t, w.deploy(1, "--yes", "--param", "ExistingTableName="), "the stack uses the table restored", "none of its records")
	if len(w.prepareCalls()) != 0 {
		t.Error("the stack was changed")
	}
}

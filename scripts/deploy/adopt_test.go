package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"growthworkspace/infra"
)

const importOfTable = "<member><ResourceChange><Action>Import</Action><LogicalResourceId>Table</LogicalResourceId>" +
	"<ResourceType>AWS::DynamoDB::Table</ResourceType></ResourceChange></member>"

// newStackOnTable returns an account with a stack that uses an existing table.
func newStackOnTable(t *testing.T) *fakeAWS {
	t.Helper()
	w := newFakeAWS(t)
	w.status, w.managedTable, w.parameters, w.changes = "UPDATE_COMPLETE", "", settings{{infra.ParamTable, "restored"}}, importOfTable
	return w
}

// Ensure --adopt first imports only the table, with a literal name and its actual settings, and
// then deploys the definition.
func TestAdopt(t *testing.T) {
	w := newStackOnTable(t)
	requireContains(t, w.deploy(0, "--yes", "--adopt"), "adopt     update 1 of 2: import the table restored", "adopt     update 2 of 2")
	requireUpdates(t, w, "-AdoptedTable=yes", "-AdoptedTable=yes", "AdoptedTable=yes")
	if !strings.Contains(w.prepareCalls()[1], " --import-existing-resources") {
		t.Errorf("the second update is no import: %s", w.prepareCalls()[1])
	}
	w = newStackOnTable(t)
	w.parameters = append(w.parameters, setting{infra.ParamAdopted, "yes"})
	w.managedTable = "restored"
	requireContains(t, w.deploy(0, "--yes", "--adopt"), "the table restored is a resource of the stack")
	requireUpdates(t, w, "-AdoptedTable=yes")
}

// Ensure a deploy completes an adoption that stopped after the import, with and without --adopt.
func TestAdoptionResumes(t *testing.T) {
	for _, args := range [][]string{{"--yes"}, {"--yes", "--adopt"}} {
		w := newStackOnTable(t)
		w.managedTable = "restored"
		w.deploy(0, args...)
		requireUpdates(t, w, "AdoptedTable=yes")
		if strings.Contains(w.loggedCalls(), "--import-existing-resources") {
			t.Error("the table was imported twice")
		}
	}
}

// Ensure --adopt refuses a change set that does not import the table or that changes anything else.
func TestErrImport(t *testing.T) {
	const other = "<member><ResourceChange><Action>Modify</Action><LogicalResourceId>PlanRole</LogicalResourceId><ResourceType>AWS::IAM::Role</ResourceType></ResourceChange></member>"
	for changes, want := range map[string]string{
		strings.Replace(importOfTable, "Import", "Add", 1): "does not import the table",
		importOfTable + other:                              "should change only the table, but would also modify PlanRole",
	} {
		w := newStackOnTable(t)
		w.changes = changes
		requireContains(t, w.deploy(1, "--yes", "--adopt"), want, "run this again with --adopt")
		requireContains(t, w.loggedCalls(), "DeleteChangeSet")
		if strings.Count(w.loggedCalls(), " execute-change-set ") != 1 {
			t.Errorf("the import was executed:\n%s", w.loggedCalls())
		}
	}
}

// Ensure the template of an import has the table's actual settings. It must not contain null
// values, which CloudFormation rejects.
func TestImportedDefinition(t *testing.T) {
	newStackOnTable(t)
	account, err := openAccount(t.Context(), "", "")
	if err != nil {
		t.Fatal(err)
	}
	definition, err := account.tableDefinition(t.Context(), "restored")
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(definition)
	if err != nil {
		t.Fatal(err)
	}
	requireContains(t, string(text), `"TableName":"restored"`, `"BillingMode":"PAY_PER_REQUEST"`, `"PointInTimeRecoveryEnabled":false`, `"StreamViewType":"NEW_AND_OLD_IMAGES"`)
	if bytes.Contains(text, []byte("null")) || bytes.Contains(text, []byte("TimeToLive")) {
		t.Errorf("the definition is %s", text)
	}
}

// Ensure every difference between a table and the definition is reported together with the command
// that fixes it. Only differences that break functions are fatal.
func TestDifferences(t *testing.T) {
	if found := wantedTable().differences(wantedTable()); len(found) != 0 {
		t.Fatalf("the definition differs from itself: %v", found)
	}
	for want, test := range map[string]struct {
		change  func(*tableDefinition)
		isFatal bool
		command string
	}{
		"its keys are pk HASH instead of pk HASH, sk RANGE": {func(d *tableDefinition) { d.KeySchema = d.KeySchema[:1] }, true, ""},
		"its key attribute pk has the type N instead of S":  {func(d *tableDefinition) { d.AttributeDefinitions[0].AttributeType = "N" }, true, ""},
		"its index gsi1 has the keys gsi1pk HASH and projects ALL, instead of": {func(d *tableDefinition) {
			d.GlobalSecondaryIndexes[0].KeySchema = d.GlobalSecondaryIndexes[0].KeySchema[:1]
		}, true, `update-table --table-name T --global-secondary-index-updates '[{"Delete":{"IndexName":"gsi1"}}]'`},
		"its index gsi2 has the keys gsi2pk HASH, gsi2sk RANGE and projects KEYS_ONLY, instead of": {func(d *tableDefinition) {
			d.GlobalSecondaryIndexes[1].Projection = projection{ProjectionType: "KEYS_ONLY"}
		}, true, "update-table"},
		"its capacity is PROVISIONED instead of PAY_PER_REQUEST": {func(d *tableDefinition) { d.BillingMode = "PROVISIONED" }, false, "update-table --table-name T --billing-mode PAY_PER_REQUEST"},
		"it is not protected from deletion":                      {func(d *tableDefinition) { d.DeletionProtectionEnabled = false }, false, "--deletion-protection-enabled"},
		"point-in-time recovery is off": {func(d *tableDefinition) { d.PointInTimeRecoverySpecification.PointInTimeRecoveryEnabled = false }, false,
			"update-continuous-backups --table-name T --point-in-time-recovery-specification PointInTimeRecoveryEnabled=true"},
		"its key is not one of the account": {func(d *tableDefinition) { d.SSESpecification.SSEEnabled = false }, false, "--sse-specification Enabled=true,SSEType=KMS"},
		"it has no stream":                  {func(d *tableDefinition) { d.StreamSpecification = nil }, false, "StreamViewType=NEW_AND_OLD_IMAGES"},
		"its stream does not":               {func(d *tableDefinition) { d.StreamSpecification = &streamSpecification{"KEYS_ONLY"} }, false, "StreamEnabled=false"},
		"time to live is off":               {func(d *tableDefinition) { d.TimeToLiveSpecification = nil }, false, "update-time-to-live --table-name T --time-to-live-specification Enabled=true,AttributeName=ttl"},
		"time to live uses the attribute expires instead of ttl": {func(d *tableDefinition) {
			d.TimeToLiveSpecification = &timeToLiveSpecification{"expires", true}
		}, false, "Enabled=false,AttributeName=expires"},
	} {
		d := wantedTable()
		test.change(&d)
		found := d.differences(wantedTable())
		if len(found) != 1 || found[0].isFatal != test.isFatal {
			t.Errorf("%s: found %v", want, found)
			continue
		}
		requireContains(t, found[0].text("T", ""), want, test.command)
	}
	d := wantedTable()
	d.GlobalSecondaryIndexes = nil // a deploy adds the missing indexes
	if found := d.differences(wantedTable()); len(found) != 0 {
		t.Errorf("found %v", found)
	}
}

package main

import (
	"fmt"
	"strings"
	"testing"

	"growthworkspace/infra"
)

// detail returns a detail of a change in the form that DescribeChangeSet sends.
func detail(property, recreation, evaluation, cause string) string {
	return fmt.Sprintf("<member><Target><Attribute>Properties</Attribute><Name>%s</Name><RequiresRecreation>%s</RequiresRecreation></Target><Evaluation>%s</Evaluation><CausingEntity>%s</CausingEntity></member>",
		property, recreation, evaluation, cause)
}

func modify(id, kind, replacement string, details ...string) string {
	return fmt.Sprintf("<member><ResourceChange><Action>Modify</Action><LogicalResourceId>%s</LogicalResourceId><ResourceType>%s</ResourceType><Replacement>%s</Replacement><Details>%s</Details></ResourceChange></member>",
		id, kind, replacement, strings.Join(details, ""))
}

func remove(id, kind, policy string) string {
	return fmt.Sprintf("<member><ResourceChange><Action>Remove</Action><LogicalResourceId>%s</LogicalResourceId><ResourceType>%s</ResourceType><PolicyAction>%s</PolicyAction></ResourceChange></member>",
		id, kind, policy)
}

const (
	tableType = "AWS::DynamoDB::Table"
	apiType   = "AWS::ApiGateway::RestApi"
	stageType = "AWS::ApiGateway::Stage"
)

// Ensure a change set that replaces or removes the table, the API or its stage is deleted without
// being executed. Replacements of other resources are allowed, and so are changes to indexes that
// CloudFormation reports as possible replacements.
func TestReplacementsAreRefused(t *testing.T) {
	for name, test := range map[string]struct {
		changes, want string
		args          []string
	}{
		"the table":                {changes: modify("Table", tableType, "True", detail("KeySchema", "Always", "Static", "")), want: "it replaces the resource Table (AWS::DynamoDB::Table), because of KeySchema"},
		"the table, perhaps":       {changes: modify("Table", tableType, "Conditional", detail("KeySchema", "Conditionally", "Static", "")), want: "because of KeySchema"},
		"the API":                  {changes: modify("Api", apiType, "True", detail("Mode", "Always", "Static", "")), want: "it replaces the resource Api"},
		"the API goes":             {changes: remove("Api", apiType, "Delete"), want: "it removes the resource Api"},
		"the stage":                {changes: modify("Stage", stageType, "True", detail("StageName", "Always", "Static", "")), want: "because of StageName"},
		"the table goes":           {changes: remove("Table", tableType, "Retain"), want: "it removes the resource Table"},
		"the table is deleted":     {changes: remove("Table", tableType, "Delete"), want: "it removes the resource Table", args: []string{"--table", "restored"}},
		"another table is chosen":  {changes: remove("Table", tableType, "Retain"), args: []string{"--table", "restored"}},
		"an attribute is added":    {changes: modify("Table", tableType, "Conditional", detail("AttributeDefinitions", "Conditionally", "Static", ""), detail("GlobalSecondaryIndexes", "Conditionally", "Static", ""))},
		"a function is replaced":   {changes: modify("PlanFunction", "AWS::Lambda::Function", "True", detail("FunctionName", "Always", "Static", ""))},
		"the stage follows":        {changes: modify("Api", apiType, "False", detail("Name", "Never", "Static", "")) + modify("Stage", stageType, "Conditional", detail("RestApiId", "Always", "Dynamic", "Api"))},
		"the stage follows an API": {changes: modify("Api", apiType, "True", detail("Mode", "Always", "Static", "")) + modify("Stage", stageType, "Conditional", detail("RestApiId", "Always", "Dynamic", "Api")), want: "it replaces the resource Stage"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newFakeAWS(t)
			w.status, w.changes, w.parameters = "CREATE_COMPLETE", test.changes, settings{{infra.ParamSecondTable, "restored"}}
			code := 0
			if test.want != "" {
				code = 1
			}
			output := w.deploy(code, append(test.args, "--yes")...)
			executed := strings.Contains(w.loggedCalls(), "execute-change-set")
			if test.want == "" {
				if !executed {
					t.Errorf("not executed: %s", w.loggedCalls())
				}
				return
			}
			requireContains(t, output, test.want, "the deploy is refused, and nothing was changed")
			requireContains(t, w.loggedCalls(), "DeleteChangeSet")
			if executed {
				t.Errorf("executed: %s", w.loggedCalls())
			}
		})
	}
}

// Ensure a change to the table's key or to an attribute's type is refused, even though
// CloudFormation names only the attribute definitions.
func TestAttributeTypesAreKept(t *testing.T) {
	w := newFakeAWS(t)
	w.status = "CREATE_COMPLETE"
	w.changes = modify("Table", tableType, "Conditional", detail("AttributeDefinitions", "Conditionally", "Static", ""))
	next := newTemplate(t)
	next.resource(infra.TableID)["Properties"].(map[string]any)["AttributeDefinitions"].([]any)[0].(map[string]any)["AttributeType"] = "N"
	w.write(w.logPath+".next", string(next.text()))
	requireContains(t, w.deploy(1, "--yes"), "it replaces the resource Table")
}

// Ensure the update of an index is refused if it would also change something else.
func TestTableChangesAlone(t *testing.T) {
	for want, changes := range map[string]string{
		"":                                      modify("RecorderStream", "AWS::Lambda::EventSourceMapping", "Conditional", detail("EventSourceArn", "Always", "Dynamic", "Table.StreamArn")),
		"would also modify PlanFunction":        modify("PlanFunction", "AWS::Lambda::Function", "False", detail("Code", "Never", "Static", "")),
		"would also remove Dashboard":           remove("Dashboard", "AWS::CloudWatch::Dashboard", "Delete"),
		"would also modify PlanFunction (AWS::": modify("PlanFunction", "AWS::Lambda::Function", "False"),
	} {
		w := newFakeAWS(t)
		w.status = "CREATE_COMPLETE"
		w.changes = modify("Table", tableType, "Conditional", detail("AttributeDefinitions", "Conditionally", "Static", "")) + changes
		all, err := w.template.indexes()
		if err != nil {
			t.Fatal(err)
		}
		if w.template, err = w.template.withIndexes(all[1:]); err != nil {
			t.Fatal(err)
		}
		code := 0
		if want != "" {
			code = 1
		}
		requireContains(t, w.deploy(code, "--yes"), want)
	}
}

// Ensure --plan shows what the CDK finds different. It must delete its
// change set without executing it, and fail if a deploy would be refused.
func TestPlan(t *testing.T) {
	w := newFakeAWS(t)
	w.status = "CREATE_COMPLETE"
	w.changes = modify("PlanFunction", "AWS::Lambda::Function", "False", detail("Code", "Never", "Static", "")) +
		modify("Old", "AWS::Lambda::Version", "True", detail("Description", "Always", "Static", "")) + remove("Gone", "AWS::SNS::Topic", "Delete")
	w.deploy(0, "--plan")
	requireContains(t, w.loggedCalls(), "prepare-change-set", "DeleteChangeSet", "diff growth-workspace --app ")
	w.changes = modify("Api", apiType, "True", detail("Mode", "Always", "Static", ""))
	requireContains(t, w.deploy(1, "--plan"), "it replaces the resource Api")
	if strings.Contains(w.loggedCalls(), "execute-change-set") {
		t.Errorf("--plan executes: %s", w.loggedCalls())
	}
	w = newFakeAWS(t)
	requireContains(t, w.deploy(0, "--plan"), "There is no change set")
	if strings.Contains(w.loggedCalls(), "change-set") {
		t.Errorf("a plan of a new stack makes a change set, which would create the stack: %s", w.loggedCalls())
	}
}

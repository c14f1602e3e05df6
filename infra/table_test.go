package infra_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"growthworkspace/infra"
)

// renderedTemplate is a template in which the conditions, parameters and pseudo parameters of one
// deployment are resolved. Attributes and names that AWS generates remain references.
type renderedTemplate struct {
	Resources map[string]any // the resources whose condition is true
	Outputs   any
}

// render resolves a template as CloudFormation does. The given parameters override the defaults.
func render(t *testing.T, parameters map[string]string) renderedTemplate {
	t.Helper()
	template := infra.JSON(infra.New().CloudFormation(func(infra.Function) infra.Code { return infra.Code{} })).(map[string]any)
	r := renderer{t: t, parameters: map[string]any{}, conditions: template["Conditions"].(map[string]any)}
	for name, p := range template["Parameters"].(map[string]any) {
		r.parameters[name] = fmt.Sprint(p.(map[string]any)["Default"]) // CloudFormation compares numbers as strings
	}
	for name, value := range parameters {
		if r.parameters[name] == nil {
			t.Fatalf("there is no parameter %s", name)
		}
		r.parameters[name] = value
	}
	out := renderedTemplate{Resources: map[string]any{}, Outputs: r.value(template["Outputs"])}
	for id, raw := range template["Resources"].(map[string]any) {
		if condition, ok := raw.(map[string]any)["Condition"].(string); !ok || r.isTrue(condition) {
			out.Resources[id] = r.value(raw)
		}
	}
	return out
}

type renderer struct {
	t          *testing.T
	parameters map[string]any
	conditions map[string]any
}

// noValue stands for a property that the template leaves out.
type noValue struct{}

func (r renderer) value(value any) any {
	switch v := value.(type) {
	case []any:
		out := []any{}
		for _, element := range v {
			if element = r.value(element); element != (noValue{}) {
				out = append(out, element)
			}
		}
		return out
	case map[string]any:
		if name, ok := v["Ref"].(string); ok {
			if name == "AWS::NoValue" {
				return noValue{}
			}
			if p, ok := r.parameters[name]; ok {
				return p
			}
			return v
		}
		if branches, ok := v["Fn::If"].([]any); ok {
			if r.isTrue(branches[0].(string)) {
				return r.value(branches[1])
			}
			return r.value(branches[2])
		}
		if text, ok := v["Fn::Sub"].(string); ok {
			for name, p := range r.parameters {
				if p, ok := p.(string); ok {
					text = strings.ReplaceAll(text, "${"+name+"}", p)
				}
			}
			return text
		}
		out := map[string]any{}
		for name, field := range v {
			if field = r.value(field); field != (noValue{}) {
				out[name] = field
			}
		}
		return out
	}
	return value
}

func (r renderer) isTrue(condition string) bool {
	return r.evaluate(r.conditions[condition].(map[string]any))
}

func (r renderer) evaluate(expression map[string]any) bool {
	r.t.Helper()
	for name, arguments := range expression {
		switch name {
		case "Condition":
			return r.isTrue(arguments.(string))
		case "Fn::Equals":
			pair := r.value(arguments).([]any)
			return reflect.DeepEqual(pair[0], pair[1])
		case "Fn::Not":
			return !r.evaluate(arguments.([]any)[0].(map[string]any))
		case "Fn::And":
			return !slices.ContainsFunc(arguments.([]any), func(a any) bool { return !r.evaluate(a.(map[string]any)) })
		case "Fn::Or":
			return slices.ContainsFunc(arguments.([]any), func(a any) bool { return r.evaluate(a.(map[string]any)) })
		}
	}
	r.t.Fatalf("this renderer does not support the condition %v", expression)
	return false
}

// Ensure a stack keeps a table that CloudFormation named. The template does not name the table,
// because setting the name would replace the table. Its id, type and policies are those of the
// first release.
func TestTableKeepsItsName(t *testing.T) {
	t.Parallel()
	resource := render(t, nil).Resources["Table"].(map[string]any)
	if resource["Type"] != "AWS::DynamoDB::Table" || resource["DeletionPolicy"] != "Retain" || resource["UpdateReplacePolicy"] != "Retain" {
		t.Errorf("the table is %v, kept by %v and %v", resource["Type"], resource["DeletionPolicy"], resource["UpdateReplacePolicy"])
	}
	properties := resource["Properties"].(map[string]any)
	if name, ok := properties["TableName"]; ok {
		t.Errorf("the table is renamed to %v", name)
	}
}

// Ensure the update that completes an adoption changes only the table. Every other resource and
// output has the same properties with an existing table and with an adopted one.
func TestAdoptionChangesOnlyTheTable(t *testing.T) {
	t.Parallel()
	const stream = "arn:aws:dynamodb:eu-central-1:111122223333:table/restored/stream/1"
	existing := render(t, map[string]string{"ExistingTableName": "restored", "TableStreamArn": stream})
	adopted := render(t, map[string]string{"ExistingTableName": "restored", "TableStreamArn": stream, "AdoptedTable": "yes"})
	if existing.Resources["Table"] != nil {
		t.Error("an existing table is a resource of the stack")
	}
	properties := adopted.Resources["Table"].(map[string]any)["Properties"].(map[string]any)
	if properties["TableName"] != "restored" {
		t.Errorf("the adopted table has the name %v", properties["TableName"])
	}
	delete(adopted.Resources, "Table")
	// The adopted template gets the stream's ARN from the table resource; its value is the same.
	text, err := json.Marshal(adopted)
	if err != nil {
		t.Fatal(err)
	}
	attribute := `{"Fn::GetAtt":["Table","StreamArn"]}`
	if strings.Count(string(text), attribute) != 2 {
		t.Errorf("the stream of the adopted table is used %d times", strings.Count(string(text), attribute))
	}
	var resolved renderedTemplate
	if err := json.Unmarshal([]byte(strings.ReplaceAll(string(text), attribute, `"`+stream+`"`)), &resolved); err != nil {
		t.Fatal(err)
	}
	var before renderedTemplate
	if text, err = json.Marshal(existing); err == nil {
		err = json.Unmarshal(text, &before)
	}
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, resolved); diff != "" {
		t.Errorf("the adoption changes other resources:\n%s", diff)
	}
}

// Ensure functions refuse writes while the parameter Writes is off and during a switch of tables.
func TestWritesAreRefused(t *testing.T) {
	t.Parallel()
	for want, parameters := range map[string][]map[string]string{
		"on":  {nil, {"ExistingTableName": "restored"}},
		"off": {{"Writes": "off"}, {"SecondTableName": "restored"}, {"ExistingTableName": "restored", "SecondTableName": "workspace"}},
	} {
		for _, p := range parameters {
			resources := render(t, p).Resources
			for _, f := range infra.New().Functions {
				environment := resources[f.ID()].(map[string]any)["Properties"].(map[string]any)["Environment"].(map[string]any)["Variables"].(map[string]any)
				if f.UsesTable() && environment["WRITES"] != want {
					t.Errorf("%s with %v has WRITES=%v", f.Name, p, environment["WRITES"])
				}
			}
		}
	}
}

// Ensure each function has the same permissions on both tables during a switch, and otherwise
// permissions only on its own table.
func TestBothTablesAreGrantedDuringASwitch(t *testing.T) {
	t.Parallel()
	for _, f := range infra.New().Functions {
		if size := len(policyText(t, f, strings.Repeat("x", 100))); size > 10240 {
			t.Errorf("%s: the policy has %d characters, IAM accepts 10,240", f.Name, size)
		}
		for _, s := range policyDuringSwitch(t, f, "other") {
			for _, resource := range s.resources {
				if rest, ok := strings.CutPrefix(resource, tableARN); ok && !strings.HasPrefix(rest, "/stream/") && !slices.Contains(s.resources, foreignARN+rest) {
					t.Errorf("%s: %v are allowed on %s, but not in the second table", f.Name, s.actions, resource)
				}
			}
		}
		for _, s := range policyOf(t, f) {
			if slices.ContainsFunc(s.resources, func(r string) bool { return strings.HasPrefix(r, foreignARN) }) {
				t.Errorf("%s: %v are allowed on a second table without a switch", f.Name, s.actions)
			}
		}
	}
}

// policyText returns the policy of a function's role during a switch, without white space, as IAM
// counts its characters.
func policyText(t *testing.T, f infra.Function, second string) string {
	t.Helper()
	text, err := json.Marshal(resolveReferences(t, infra.JSON(f.Policy()), second))
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(string(text), tableInTests, second)
}

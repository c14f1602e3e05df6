package infra_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"growthworkspace/infra"
)

// Ensure a version's description contains every value in its configuration that CloudFormation
// resolves. Otherwise, when only a parameter changes, the alias would keep serving the old value.
func TestVersionDescription(t *testing.T) {
	t.Parallel()
	m := infra.New()
	resources := infra.JSON(m.CloudFormation(func(infra.Function) infra.Code { return infra.Code{} })).(map[string]any)["Resources"].(map[string]any)
	for _, f := range m.Functions {
		description := referencedNames(infra.JSON(f.VersionDescription()))
		properties := resources[f.ID()].(map[string]any)["Properties"].(map[string]any)
		delete(properties, "ReservedConcurrentExecutions")           // a setting of the function, not of a version
		own := []string{f.RoleID(), f.LogsID(), infra.ParkedQueueID} // resources whose names never change
		for _, name := range referencedNames(properties) {
			if !strings.HasPrefix(name, "AWS::") && !slices.Contains(own, name) && !slices.Contains(description, name) {
				t.Errorf("the configuration of %s has %s, and its version's description does not", f.Name, name)
			}
		}
		if f.UsesTable() && (!slices.Contains(description, infra.TableID) || !slices.Contains(description, infra.ParamTable)) {
			t.Errorf("the description of %s has no table: %v", f.Name, description)
		}
	}
}

// referencedNames returns the names of the parameters, conditions and resources that a template
// value refers to. It ignores references within Fn::Sub.
func referencedNames(value any) (out []string) {
	switch v := value.(type) {
	case []any:
		for _, element := range v {
			out = append(out, referencedNames(element)...)
		}
	case map[string]any:
		for name, element := range v {
			switch text, ok := element.(string); {
			case name == "Ref" && ok:
				out = append(out, text)
			case name == "Fn::GetAtt":
				out = append(out, element.([]any)[0].(string))
			case name == "Fn::If":
				out = append(out, element.([]any)[0].(string))
				out = append(out, referencedNames(element.([]any)[1:])...)
			default:
				out = append(out, referencedNames(element)...)
			}
		}
	}
	return out
}

// Ensure a description fits into Lambda's limit of 256 characters when the table's name has 128
// characters.
func TestVersionDescriptionFits(t *testing.T) {
	t.Parallel()
	values := map[string]string{infra.TableID: strings.Repeat("t", 128)}
	for _, p := range infra.New().Parameters {
		longest, _ := p.Default.(string)
		for _, allowed := range p.Allowed {
			if len(allowed) > len(longest) {
				longest = allowed
			}
		}
		values[p.Name] = longest
	}
	for _, f := range infra.New().Functions {
		join := infra.JSON(f.VersionDescription()).(map[string]any)["Fn::Join"].([]any)
		length := 0
		for _, value := range join[1].([]any) {
			length += 1 + maxValueLength(t, value, values)
		}
		if length > 256 {
			t.Errorf("the description of %s can have %d characters: %v", f.Name, length, join)
		}
	}
}

// maxValueLength returns the length of the longest string that CloudFormation can resolve a
// template value to.
func maxValueLength(t *testing.T, value any, values map[string]string) int {
	t.Helper()
	if text, ok := value.(string); ok {
		return len(text)
	}
	v := value.(map[string]any)
	if name, ok := v["Ref"].(string); ok {
		return len(values[name])
	}
	if branches, ok := v["Fn::If"].([]any); ok {
		return max(maxValueLength(t, branches[1], values), maxValueLength(t, branches[2], values))
	}
	t.Fatalf("this test does not know %v", v)
	return 0
}

// Ensure the logical id of a version changes with the code and with the configuration in the
// template, and with nothing else.
func TestVersionID(t *testing.T) {
	t.Parallel()
	id := func(m infra.Model, key string) string {
		resources := infra.JSON(m.CloudFormation(func(infra.Function) infra.Code { return infra.Code{Bucket: "b", Key: key} })).(map[string]any)["Resources"].(map[string]any)
		alias := resources[m.Functions[0].AliasID()].(map[string]any)
		return alias["Properties"].(map[string]any)["FunctionVersion"].(map[string]any)["Fn::GetAtt"].([]any)[0].(string)
	}
	m := infra.New()
	first := id(m, "a")
	if other := id(m, "b"); other == first {
		t.Errorf("the code has changed, and the version is the same: %s", first)
	}
	m.Functions[0].Name = "other"
	m.Functions[0].Routes = nil // the recorder has a queue in its environment
	if _, digest, _ := strings.Cut(id(m, "a"), "Version"); strings.HasSuffix(first, digest) {
		t.Errorf("the environment has changed, and the version is the same: %s", digest)
	}
	m = infra.New()
	m.Alarms[0].Description = "another"
	if same := id(m, "a"); same != first {
		t.Errorf("%s became %s, although neither code nor configuration has changed", first, same)
	}
}

// Ensure every function is invoked only through its alias, which points to a published version.
func TestAliasIsInvoked(t *testing.T) {
	t.Parallel()
	m := infra.New()
	resources := infra.JSON(m.CloudFormation(func(infra.Function) infra.Code { return infra.Code{} })).(map[string]any)["Resources"].(map[string]any)
	aliases := map[string]bool{}
	for _, f := range m.Functions {
		aliases[f.AliasID()] = true
	}
	invocations := 0
	for id, r := range resources {
		resource := r.(map[string]any)
		properties, _ := resource["Properties"].(map[string]any)
		switch resource["Type"] {
		case "AWS::Lambda::EventSourceMapping", "AWS::Lambda::Permission":
			invocations++
			if !aliases[properties["FunctionName"].(map[string]any)["Ref"].(string)] {
				t.Errorf("%s names %v", id, properties["FunctionName"])
			}
		case "AWS::ApiGateway::Method":
			invocations++
			text, err := json.Marshal(properties["Integration"].(map[string]any)["Uri"])
			if err != nil || !strings.Contains(string(text), "Aliaslive}/invocations") {
				t.Errorf("%s calls %s, %v", id, text, err)
			}
		}
	}
	if invocations <= len(m.Functions) {
		t.Errorf("only %d invocations", invocations)
	}
}

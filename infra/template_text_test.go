package infra_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"growthworkspace/infra"
)

// Ensure a template in YAML with short forms is parsed to the same result as the template in JSON.
func TestParseTemplate(t *testing.T) {
	t.Parallel()
	const inYAML = `
AWSTemplateFormatVersion: 2010-09-09
Resources:
  A: &a
    Name: !Sub '${AWS::StackName}-x'
    Arn: !GetAtt B.Arn
    Role: !If [Has, !Ref R, !Ref 'AWS::NoValue']
    Number: 5
    Share: 0.01
    On: true
    Empty:
    When: !Condition Has
  B: *a
`
	const a = `{"Name":{"Fn::Sub":"${AWS::StackName}-x"},"Arn":{"Fn::GetAtt":["B","Arn"]},"Role":{"Fn::If":["Has",{"Ref":"R"},{"Ref":"AWS::NoValue"}]},
		"Number":5,"Share":0.01,"On":true,"Empty":null,"When":{"Condition":"Has"}}`
	var texts []string
	for _, text := range []string{inYAML, `{"AWSTemplateFormatVersion":"2010-09-09","Resources":{"A":` + a + `,"B":` + a + `}}`} {
		parsed, err := infra.ParseTemplate([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		out, err := json.Marshal(parsed)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(out))
	}
	if diff := cmp.Diff(texts[1], texts[0]); diff != "" {
		t.Error(diff)
	}
	for _, text := range []string{"", "a list", "- 1", "{"} {
		if _, err := infra.ParseTemplate([]byte(text)); err == nil {
			t.Errorf("%q is a template", text)
		}
	}
}

// Ensure a member of template.yaml can be replaced. Every other line stays the same, except for
// blank lines and line lengths.
func TestSetInTemplate(t *testing.T) {
	t.Parallel()
	text := infra.New().Text()
	before, err := infra.ParseTemplate(text)
	if err != nil {
		t.Fatal(err)
	}
	out, err := infra.SetInTemplate(text, []any{"changed"}, "Resources", infra.TableID, "Properties", "GlobalSecondaryIndexes")
	if err != nil {
		t.Fatal(err)
	}
	after, err := infra.ParseTemplate(out)
	if err != nil {
		t.Fatal(err)
	}
	properties := func(template map[string]any) map[string]any {
		return template["Resources"].(map[string]any)[infra.TableID].(map[string]any)["Properties"].(map[string]any)
	}
	if diff := cmp.Diff([]any{"changed"}, properties(after)["GlobalSecondaryIndexes"]); diff != "" {
		t.Error(diff)
	}
	delete(properties(before), "GlobalSecondaryIndexes")
	delete(properties(after), "GlobalSecondaryIndexes")
	if diff := cmp.Diff(before, after); diff != "" {
		t.Error(diff)
	}
	at := -1
	for _, f := range infra.New().Functions { // SAM's digest depends on the order of the functions
		next := bytes.Index(out, []byte("\n  "+f.ID()+":"))
		if next <= at {
			t.Errorf("%s is not in its place", f.ID())
		}
		at = next
	}
	for path, text := range map[string]string{"A": "", "A.B": "C: 1"} {
		if _, err := infra.SetInTemplate([]byte(text), 1, path, "B"); err == nil {
			t.Errorf("%q has a value at %s.B", text, path)
		}
	}
}

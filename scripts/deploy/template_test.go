package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"growthworkspace/infra"
)

// Ensure an index can be removed and added again without any other change in the template.
func TestWithIndexes(t *testing.T) {
	whole := newTemplate(t)
	all, err := whole.indexes()
	if err != nil {
		t.Fatal(err)
	}
	fewer, err := whole.withIndexes(all[1:])
	if err != nil {
		t.Fatal(err)
	}
	p, err := fewer.table()
	if err != nil {
		t.Fatal(err)
	}
	if len(p.GlobalSecondaryIndexes) != len(all)-1 || len(p.AttributeDefinitions) != 2*len(all) {
		t.Errorf("%d indexes and %d attributes", len(p.GlobalSecondaryIndexes), len(p.AttributeDefinitions))
	}
	if strings.Contains(compactJSON(fewer.resource(infra.TableID)), "gsi1") {
		t.Error("the table has a part of gsi1")
	}
	again, err := fewer.withIndexes(append(slices.Clone(all[1:]), all[0]))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"AttributeDefinitions", "GlobalSecondaryIndexes"} {
		for _, x := range []template{whole, again} {
			list := x.resource(infra.TableID)["Properties"].(map[string]any)[name].([]any)
			slices.SortFunc(list, func(a, b any) int { return strings.Compare(compactJSON(a), compactJSON(b)) })
		}
	}
	if diff := cmp.Diff(string(whole.text()), string(again.text())); diff != "" {
		t.Error(diff)
	}
	none, err := whole.withIndexes(nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := none.resource(infra.TableID)["Properties"].(map[string]any)["GlobalSecondaryIndexes"]; ok {
		t.Error("a table without indexes has the property") // CloudFormation rejects an empty list
	}
}

// Ensure an index from another version does not add a reference to a parameter that the template
// lacks.
func TestIndexWithReferences(t *testing.T) {
	throughput := map[string]any{"Fn::If": []any{"HasMaximum", map[string]any{"Ref": "Maximum"}, map[string]any{"Ref": "AWS::NoValue"}}}
	older := newTemplate(t)
	all, err := older.indexes()
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range all {
		delete(i.definition, "OnDemandThroughput")
	}
	if older, err = older.withIndexes(all[1:]); err != nil {
		t.Fatal(err)
	}
	all[0].definition["OnDemandThroughput"] = throughput
	text := func(tmpl template) string {
		out, err := tmpl.withIndexes(all)
		if err != nil {
			t.Fatal(err)
		}
		return compactJSON(out.resource(infra.TableID))
	}
	if strings.Contains(text(older), "HasMaximum") {
		t.Error("the deployed template gets a condition that it does not have")
	}
	list := older.resource(infra.TableID)["Properties"].(map[string]any)["GlobalSecondaryIndexes"].([]any)
	list[0].(map[string]any)["OnDemandThroughput"] = throughput
	if strings.Count(text(older), "HasMaximum") != 1 {
		t.Error("the index lacks the throughput of the others")
	}
}

// Ensure replaceTemplate replaces the template of the cloud assembly and updates its digest.
func TestReplaceTemplate(t *testing.T) {
	d := &deployer{options: options{stack: "s"}, tmp: t.TempDir()}
	if err := os.Mkdir(d.assemblyDir(), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"s.assets.json": `{"files":{"other":{"source":{"path":"asset.zip"}},"before":{"source":{"path":"s.template.json"},"destinations":{"d":{"objectKey":"before.json"}}}}}`,
		"manifest.json": `{"stackTemplateAssetObjectUrl":"s3://bucket/before.json"}`,
	} {
		if err := os.WriteFile(filepath.Join(d.assemblyDir(), name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, value := range []string{"1", "2"} {
		if err := d.replaceTemplate(template{"Value": json.Number(value)}); err != nil {
			t.Fatal(err)
		}
	}
	var all string
	for _, name := range []string{"s.assets.json", "manifest.json", "s.template.json"} {
		text, err := os.ReadFile(filepath.Join(d.assemblyDir(), name))
		if err != nil {
			t.Fatal(err)
		}
		all += string(text)
	}
	if strings.Contains(all, "before") || !strings.Contains(all, `{"Value":2}`) || strings.Count(all, ".json\"") != 3 {
		t.Errorf("the assembly is %s", all)
	}
}

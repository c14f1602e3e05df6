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

// Ensure plan writes a template for SAM for each step, in order, and that the templates differ only
// in the indexes.
func TestSAMPlan(t *testing.T) {
	folder := t.TempDir()
	text, err := os.ReadFile("../../template.yaml")
	if err != nil {
		t.Fatal(err)
	}
	next, err := parseTemplate(text)
	if err != nil {
		t.Fatal(err)
	}
	all, err := next.indexes()
	if err != nil {
		t.Fatal(err)
	}
	write := func(name string, indexes []index) string {
		modified, err := next.withIndexes(indexes)
		if err != nil {
			t.Fatal(err)
		}
		out, err := replaceIndexes(text, modified)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, out, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	w := newFakeAWS(t)
	w.identityError = "AccessDenied" // no account is needed
	from, to := write("from.yaml", all[1:]), write("to.yaml", all[:len(all)-1])
	last := all[len(all)-1].name
	output := w.deploy(0, "plan", "--from", from, "--to", to)
	requireContains(t, output, "step-1-add-gsi1.yaml", "step-2-stack.yaml", "step-3-remove-"+last+".yaml", "until busy=$(")
	for name, want := range map[string][]index{
		"step-1-add-gsi1.yaml":            append(slices.Clone(all[1:]), all[0]),
		"step-2-stack.yaml":               all,
		"step-3-remove-" + last + ".yaml": all[:len(all)-1],
	} {
		written, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			t.Fatal(err)
		}
		parsed, err := parseTemplate(written)
		if err != nil {
			t.Fatal(err)
		}
		indexes, err := parsed.indexes()
		if err != nil || !sameNames(namesOf(indexes), namesOf(want)) {
			t.Errorf("%s has %v, %v", name, namesOf(indexes), err)
		}
		if diff := cmp.Diff(withoutIndexes(t, text), withoutIndexes(t, written)); diff != "" {
			t.Errorf("%s changes more than indexes:\n%s", name, diff)
		}
	}
	requireContains(t, w.deploy(0, "plan", "--from", from, "--to", from), "Deploy as usual")
	requireContains(t, w.deploy(1, "plan", "--to", filepath.Join(folder, "none")), "AWS does not accept the credentials")
	requireContains(t, w.deploy(2, "plan", "--steps"), "flag provided but not defined")
}

// Ensure plan compares the new template with the deployed one, and refuses a stack that was not
// deployed with SAM.
func TestSAMPlanOfAccount(t *testing.T) {
	folder := t.TempDir()
	to := filepath.Join(folder, "template.yaml")
	next := newTemplate(t)
	if err := os.WriteFile(to, next.text(), 0o600); err != nil {
		t.Fatal(err)
	}
	w := newFakeAWS(t)
	requireContains(t, w.deploy(1, "plan", "--to", to), "there is no stack growth-workspace in eu-central-1")
	w.status = "CREATE_COMPLETE"
	requireContains(t, w.deploy(1, "plan", "--to", to), "was not deployed with SAM")
	all, err := next.indexes()
	if err != nil {
		t.Fatal(err)
	}
	if w.template, err = w.template.withIndexes(all[1:]); err != nil {
		t.Fatal(err)
	}
	w.template["Transform"] = "AWS::Serverless-2016-10-31"
	w.indexes = []string{"gsi1"} // left by an update that was rolled back
	requireContains(t, w.deploy(0, "plan", "--to", to), `aws dynamodb update-table --region eu-central-1 --table-name the-table --global-secondary-index-updates '[{"Delete":{"IndexName":"gsi1"}}]'`,
		"step-2-add-gsi1.yaml", "step-3-stack.yaml")
}

func withoutIndexes(t *testing.T, text []byte) template {
	t.Helper()
	out, err := parseTemplate(text)
	if err != nil {
		t.Fatal(err)
	}
	properties := out.resource(infra.TableID)["Properties"].(map[string]any)
	delete(properties, "AttributeDefinitions")
	delete(properties, "GlobalSecondaryIndexes")
	return out
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

package workspace

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"growthworkspace/infra"
)

// Ensure a module outside the repository can add the service to its stack. The template contains
// the values of the settings instead of parameters. The table and the API have the same types and
// logical ids as in template.yaml.
func TestConsumer(t *testing.T) {
	folder, dist := t.TempDir(), t.TempDir()
	for _, f := range infra.New().Functions {
		writeFile(t, filepath.Join(dist, f.Name+".zip"), f.Name)
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	module := readFile(t, filepath.Join(root, "go.mod"))
	module = strings.Replace(module, "module growthworkspace", "module example.com/consumer", 1) +
		"\nrequire growthworkspace v0.0.0\n\nreplace growthworkspace => " + root + "\n"
	writeFile(t, filepath.Join(folder, "go.mod"), module)
	writeFile(t, filepath.Join(folder, "go.sum"), readFile(t, filepath.Join(root, "go.sum")))
	writeFile(t, filepath.Join(folder, "main.go"), readFile(t, "testdata/consumer/main.go"))
	cmd := exec.CommandContext(t.Context(), "go", "run", "-mod=mod", ".", dist)
	cmd.Dir = folder
	cmd.Env = append(os.Environ(), "CDK_OUTDIR="+filepath.Join(folder, "out"))
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}

	var template struct {
		Parameters, Outputs map[string]any
		Resources           map[string]struct {
			Type       string
			Properties map[string]any
		}
	}
	if err := json.Unmarshal([]byte(readFile(t, filepath.Join(folder, "out", "consumer.template.json"))), &template); err != nil {
		t.Fatal(err)
	}
	for _, p := range infra.New().Parameters {
		if template.Parameters[p.Name] != nil {
			t.Errorf("the template has the parameter %s", p.Name)
		}
	}
	for id, kind := range map[string]string{infra.TableID: "AWS::DynamoDB::Table", infra.APIID: "AWS::ApiGateway::RestApi"} {
		if have := template.Resources[id].Type; have != kind {
			t.Errorf("%s is a %q, want %s", id, have, kind)
		}
	}
	if have := template.Resources[infra.AlarmTopicID+"Email"].Properties["Endpoint"]; have != "ops@example.com" {
		t.Errorf("alarms go to %v", have)
	}
	if template.Outputs["Url"] == nil || template.Outputs["ApiId"] == nil {
		t.Errorf("the outputs are %v", template.Outputs)
	}
	canRead := false
	for id, r := range template.Resources {
		text, err := json.Marshal(r.Properties["PolicyDocument"])
		if err != nil {
			t.Fatal(err)
		}
		canRead = canRead || strings.HasPrefix(id, "Reader") && strings.Contains(string(text), "dynamodb:Query") && strings.Contains(string(text), "/index/*")
	}
	if !canRead {
		t.Error("the role of the consumer may not read the table and its indexes")
	}
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

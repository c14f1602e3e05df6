package functions_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"testing"

	"growthworkspace/functions"
)

// eachGoFile calls visit for every Go file of the repository, with its slash-separated path from
// the root, its imports and its contents.
func eachGoFile(t *testing.T, visit func(name string, imports []string, text string)) {
	t.Helper()
	root := os.DirFS("..")
	err := fs.WalkDir(root, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && name != "." && (strings.HasPrefix(entry.Name(), ".") || entry.Name() == "dist" || entry.Name() == "node_modules") {
			return fs.SkipDir
		}
		if path.Ext(name) != ".go" {
			return nil
		}
		text, err := fs.ReadFile(root, name)
		if err != nil {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, text, parser.ImportsOnly)
		if err != nil {
			return err
		}
		var imports []string
		for _, i := range file.Imports {
			imports = append(imports, strings.Trim(i.Path.Value, `"`))
		}
		visit(name, imports, string(text))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

const modulePath = "growthworkspace/"

// isUnder reports whether a file is one of the given places or is inside one of them.
func isUnder(name string, places ...string) bool {
	return slices.ContainsFunc(places, func(p string) bool { return name == p || strings.HasPrefix(name, p+"/") })
}

// Ensure imports point in one direction: scripts, infra → functions → functions/<area> → shared.
// The studio may import only the client, shared/thread, which measures the length of a post as X
// does, shared/tabular, which reads numbers and dates as the importers do, and shared/scalar, the
// script of the reference. As an exception, functions/openapi imports scripts/docs to serve its
// pages. That package contains only documentation and imports nothing. The Lambda function of the
// area overview imports functions/sources, which imports the other areas.
func TestImportsPointOneWay(t *testing.T) {
	t.Parallel()
	areas := map[string]bool{}
	for _, a := range functions.All() {
		areas[a.Name] = true
	}
	eachGoFile(t, func(name string, imports []string, _ string) {
		for _, i := range imports {
			localPath, isLocal := strings.CutPrefix(i, modulePath)
			if !isLocal {
				continue
			}
			parts, target := strings.Split(name, "/"), strings.Split(localPath, "/")
			switch {
			case parts[0] == "shared" && target[0] != "shared":
				t.Errorf("%s imports %s: shared must import no area and no command", name, i)
			case isUnder(name, "functions/openapi") && localPath == "scripts/docs":
			case isUnder(name, "scripts/docs") && !isUnder(name, "scripts/docs/tutorial"):
				t.Errorf("%s imports %s: the pages must import nothing", name, i)
			case parts[0] == "functions" && target[0] != "shared" && target[0] != "functions":
				t.Errorf("%s imports %s: functions must import no command", name, i)
			case isUnder(name, "scripts/studio") && !strings.HasSuffix(name, "_test.go") && !isUnder(localPath, "scripts/studio", "shared/client", "shared/scalar", "shared/tabular", "shared/thread"):
				t.Errorf("%s imports %s: the studio is made from the public API alone, through shared/client, and shares only how a text is weighed, how a table is read and the script of the reference", name, i)
			case isUnder(name, "scripts/workspace") && isUnder(localPath, "scripts/check/faults"):
				t.Errorf("%s imports %s: the checks import the command line, so it must not import them", name, i)
			case isUnder(name, "functions/overview/lambda") && localPath == "functions/sources": // its operations read the records of other areas
			case parts[0] == "functions" && len(parts) > 2 && areas[parts[1]] && target[0] == "functions" && (len(target) < 2 || target[1] != parts[1]):
				t.Errorf("%s imports %s: an area must not import another area", name, i)
			}
		}
	})
}

// Ensure each third-party module is imported only by its owners. Test files may import any module.
func TestDependenciesHaveOwners(t *testing.T) {
	t.Parallel()
	owners := map[string][]string{
		"github.com/aws/aws-sdk-go-v2/config":                  {"scripts/workspace", "scripts/deploy"},
		"github.com/aws/aws-sdk-go-v2/service/apigateway":      {"scripts/deploy"},
		"github.com/aws/aws-sdk-go-v2/service/cloudformation":  {"scripts/deploy"},
		"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams": {"shared/stream"},
		"github.com/aws/aws-sdk-go-v2/service/lambda":          {"scripts/deploy"},
		"github.com/aws/aws-sdk-go-v2":                         {"functions/recorder/lambda", "shared/change", "shared/stream", "shared/table", "shared/keys", "shared/testkit/apitest", "scripts/workspace", "scripts/check/faults", "scripts/deploy"},
		"github.com/aws/aws-lambda-go":                         {"functions/recorder/lambda", "shared/gateway"},
		"github.com/awslabs/aws-lambda-go-api-proxy":           {}, // used only in tests, as an oracle
		"github.com/aws/smithy-go":                             {"shared/table", "scripts/workspace", "scripts/deploy"},
		"github.com/google/jsonschema-go":                      {"shared/schema/jsonschema"},
		"github.com/modelcontextprotocol/go-sdk":               {"shared/mcpserver"},
		"github.com/spf13/cobra":                               {"scripts/workspace", "scripts/check"},
		"github.com/spf13/pflag":                               {"scripts/workspace"},
		"golang.org/x/crypto/x509roots/fallback":               {"scripts/release"},
		"golang.org/x/mod":                                     {"scripts/workspace"},
		"golang.org/x/sys":                                     {"shared/localdb"},
		"golang.org/x/term":                                    {"scripts/workspace"},
		"github.com/anyascii/go":                               {"functions/plan"},
		"github.com/clipperhouse/uax29/v2":                     {"shared/thread", "scripts/workspace/user"},
		"github.com/itchyny/gojq":                              {"scripts/workspace/user"},
		"github.com/go-json-experiment/json":                   {"shared/schema"},
		"golang.org/x/text":                                    {"functions/plan", "scripts/workspace/user", "shared/tabular", "shared/thread"},
		"github.com/aws/aws-cdk-go/awscdk/v2":                  {"infra/cdk", "infra/workspace"},
		"github.com/aws/constructs-go/constructs/v10":          {"infra/cdk", "infra/workspace"},
		"github.com/aws/jsii-runtime-go":                       {"infra/cdk", "infra/workspace"},
		"github.com/cdklabs/cdk-nag-go/cdknag/v2":              {"infra/cdk", "infra/workspace"},
		"github.com/aws/constructs-go":                         {"infra/cdk", "infra/workspace"},
		"github.com/cdklabs/cdk-nag-go":                        {"infra/cdk", "infra/workspace"},
		"github.com/anishathalye/porcupine":                    {"scripts/check/faults"},
		"go.yaml.in/yaml/v3":                                   {"infra"},
	}
	eachGoFile(t, func(name string, imports []string, _ string) {
		if strings.HasSuffix(name, "_test.go") {
			return
		}
		for _, i := range imports {
			if !strings.Contains(strings.Split(i, "/")[0], ".") {
				continue // the standard library or this module
			}
			var allowed []string
			longest := ""
			for dependency, places := range owners {
				if isUnder(i, dependency) && len(dependency) > len(longest) {
					longest, allowed = dependency, places
				}
			}
			isStore := strings.HasPrefix(name, "functions/") && strings.HasPrefix(path.Base(name), "store") && longest == "github.com/aws/aws-sdk-go-v2"
			if !isUnder(name, allowed...) && !isStore {
				t.Errorf("%s imports %s, which only %v may import; the owners are in functions/layout_test.go", name, i, allowed)
			}
		}
	})
}

// Ensure every area has a folder with its operations, its store and its Lambda function, and that
// no file or package is a collection of miscellaneous helpers.
func TestLayout(t *testing.T) {
	t.Parallel()
	lines := map[string]int{}
	eachGoFile(t, func(name string, _ []string, text string) {
		lines[name] = strings.Count(text, "\n")
		for _, vagueName := range []string{"utils", "util", "helpers", "common", "types", "misc"} {
			if base := strings.TrimSuffix(strings.TrimSuffix(path.Base(name), ".go"), "_test"); base == vagueName || path.Base(path.Dir(name)) == vagueName {
				t.Errorf("%s: choose a name that says what it contains, not %s", name, vagueName)
			}
		}
	})
	for _, a := range functions.All() {
		for _, name := range []string{"functions/" + a.Name + "/" + a.Name + ".go", "functions/" + a.Name + "/store.go"} {
			if lines[name] == 0 {
				t.Errorf("%s is missing", name)
			}
		}
		if n := lines["functions/"+a.Name+"/lambda/main.go"]; n == 0 || n >= 15 {
			t.Errorf("functions/%s/lambda/main.go has %d lines, want 1 to 14", a.Name, n)
		}
	}
}

// layers lists the packages of shared in layers, the lowest first. A package may import only
// packages from lower layers.
var layers = [][]string{
	{"client", "fairqueue", "filelock", "testkit/oracle", "fault", "id", "parallel", "scalar", "thread", "timestamp"},
	{"auth", "client/catalogue", "gateway", "schema", "tabular", "localdb"},
	{"modeltext", "schema/jsonschema", "table"},
	{"change", "idempotency", "migration", "trail", "transfer"},
	{"claim", "keys", "record"},
	{"api"},
	{"mcpserver", "resource", "stream"},
	{"testkit/apitest"},
}

// Ensure the packages of shared import only lower layers, and that each has a package comment.
func TestLayers(t *testing.T) {
	t.Parallel()
	layer := map[string]int{}
	for n, packages := range layers {
		for _, p := range packages {
			layer[p] = n
		}
	}
	described := map[string]bool{}
	eachGoFile(t, func(name string, imports []string, text string) {
		place, isShared := strings.CutPrefix(path.Dir(name), "shared/")
		if !isShared || path.Base(place) == "testdata" {
			return
		}
		own, known := layer[place]
		if !known {
			t.Errorf("%s has no layer: add its package to layers in functions/layout_test.go", name)
		}
		described[place] = described[place] || strings.Contains(text, "// Package "+path.Base(place)+" ")
		if strings.HasSuffix(name, "_test.go") {
			return
		}
		for _, i := range imports {
			if target, targetIsShared := strings.CutPrefix(i, modulePath+"shared/"); targetIsShared && layer[target] >= own {
				t.Errorf("%s imports %s, which is not in a lower layer", name, i)
			}
		}
	})
	for p := range layer {
		if !described[p] {
			t.Errorf("package %s has no package comment, or does not exist", p)
		}
	}
}

package main

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"growthworkspace/infra"
)

// world is a machine and an account for one test: a PATH with programs that only write down how they were called, a
// clone, and a server that answers for AWS.
type world struct {
	t        *testing.T
	root     string
	path     string
	log      string
	status   string // of the stack; empty: there is none
	after    string // its status once the CDK was called; empty: as before
	foreign  bool   // the stack is somebody else's
	toolkit  bool   // the account is prepared
	identity string // the code of an error that AWS answers to who we are
	table    string // what AWS answers about the table
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, root: t.TempDir(), path: t.TempDir(), toolkit: true}
	w.log = filepath.Join(t.TempDir(), "log")
	cache := t.TempDir()
	for _, name := range []string{"scripts", "infra/cdk"} {
		if err := os.MkdirAll(filepath.Join(w.root, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	w.write(filepath.Join(w.root, "scripts/build"), "")
	w.program("go", `if [ "$1" = env ]; then echo "$WORLD/go.mod"; fi`)
	w.program("node", `echo v22.1.0`)
	w.program("npm", "")
	w.program("bash", "")
	bin := filepath.Join(cache, "growth-workspace", "aws-cdk-"+cdkVersion, "node_modules", ".bin")
	if err := os.MkdirAll(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	w.path += string(os.PathListSeparator) + bin
	w.program("cdk", `: >"$LOG.cdk"; exit ${CDK_EXIT-0}`, bin)
	server := httptest.NewServer(http.HandlerFunc(w.aws))
	t.Cleanup(server.Close)
	for name, value := range map[string]string{
		"PATH": w.path, "WORLD": w.root, "LOG": w.log, "XDG_CACHE_HOME": cache, "HOME": cache, "AWS_ENDPOINT_URL": server.URL,
		"AWS_REGION": "eu-central-1", "AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_SESSION_TOKEN": "",
		"AWS_PROFILE": "", "AWS_DEFAULT_REGION": "", "AWS_EC2_METADATA_DISABLED": "true",
		"AWS_CONFIG_FILE": filepath.Join(cache, "none"), "AWS_SHARED_CREDENTIALS_FILE": filepath.Join(cache, "none"),
	} {
		t.Setenv(name, value)
	}
	return w
}

func (w *world) write(path, text string) {
	w.t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		w.t.Fatal(err)
	}
}

// program puts a program on PATH that writes its name, its GOARCH and its arguments into the log before it does its part.
func (w *world) program(name, part string, folder ...string) {
	w.t.Helper()
	dir, _, _ := strings.Cut(w.path, string(os.PathListSeparator))
	if len(folder) > 0 {
		dir = folder[0]
	}
	w.write(filepath.Join(dir, name), "#!/bin/sh\necho \"$GOARCH "+name+" $*\" >>\"$LOG\"\n"+part+"\n")
}

func (w *world) calls() string {
	text, err := os.ReadFile(w.log)
	if err != nil {
		w.t.Fatal(err)
	}
	return string(text)
}

// aws answers the three questions.
func (w *world) aws(rw http.ResponseWriter, r *http.Request) {
	if !strings.HasPrefix(r.Header.Get("Authorization"), "AWS4-HMAC-SHA256 Credential=id/") {
		w.t.Errorf("a call is not signed: %v", r.Header)
	}
	if r.Header.Get("X-Amz-Target") != "" {
		if w.table == "" {
			rw.WriteHeader(http.StatusBadRequest)
			fmt.Fprint(rw, `{"__type":"com.amazonaws.dynamodb.v20120810#ResourceNotFoundException","message":"no"}`)
			return
		}
		fmt.Fprint(rw, w.table)
		return
	}
	switch r.FormValue("Action") {
	case "GetCallerIdentity":
		if w.identity != "" {
			rw.WriteHeader(http.StatusForbidden)
			fmt.Fprintf(rw, "<ErrorResponse><Error><Code>%s</Code><Message>no</Message></Error></ErrorResponse>", w.identity)
			return
		}
		fmt.Fprint(rw, "<R><GetCallerIdentityResult><Account>111122223333</Account><Arn>arn:aws:iam::111122223333:user/operator</Arn></GetCallerIdentityResult></R>")
	case "DescribeStacks":
		w.describe(rw, r.FormValue("StackName"))
	default:
		w.t.Errorf("asked %s", r.FormValue("Action"))
	}
}

func (w *world) describe(rw http.ResponseWriter, name string) {
	status := w.status
	if _, err := os.Stat(w.log + ".cdk"); err == nil && w.after != "" {
		status = w.after
	}
	if name == "CDKToolkit" {
		status = map[bool]string{true: "CREATE_COMPLETE"}[w.toolkit]
	}
	if status == "" {
		rw.WriteHeader(http.StatusBadRequest)
		fmt.Fprintf(rw, "<ErrorResponse><Error><Code>ValidationError</Code><Message>Stack with id %s does not exist</Message></Error></ErrorResponse>", name)
		return
	}
	parameters := ""
	if !w.foreign {
		for _, p := range infra.New().Parameters {
			value := fmt.Sprint(p.Default)
			if p.Name == infra.ParamArchitecture {
				value = "x86_64"
			}
			parameters += "<member><ParameterKey>" + p.Name + "</ParameterKey><ParameterValue>" + value + "</ParameterValue></member>"
		}
	}
	outputs := ""
	for key, value := range map[string]string{"BaseUrl": "https://api.example/prod", "TableName": "the-table", "FirstKeyCommand": "AWS_REGION=eu-central-1 make a key"} {
		outputs += "<member><OutputKey>" + key + "</OutputKey><OutputValue>" + value + "</OutputValue></member>"
	}
	fmt.Fprintf(rw, "<R><DescribeStacksResult><Stacks><member><StackName>%s</StackName><StackStatus>%s</StackStatus><StackStatusReason>a role may not be made</StackStatusReason>"+
		"<Parameters>%s</Parameters><Outputs>%s</Outputs></member></Stacks></DescribeStacksResult></R>", name, status, parameters, outputs)
}

// deploy runs the program and returns all that it said.
func (w *world) deploy(want int, args ...string) string {
	w.t.Helper()
	var said bytes.Buffer
	if code := run(w.t.Context(), args, strings.NewReader(""), &said, &said); code != want {
		w.t.Errorf("exit code %d, not %d: %s", code, want, &said)
	}
	return said.String()
}

func tells(t *testing.T, said string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(said, part) {
			t.Errorf("%q is not told in:\n%s", part, said)
		}
	}
}

// Ensure a first deploy prepares the account, deploys for arm64, and ends with the base URL and the command for the key.
func TestFirstDeploy(t *testing.T) {
	w := newWorld(t)
	w.toolkit, w.after = false, "CREATE_COMPLETE"
	said := w.deploy(0, "--yes", "--profile", "", "--param", "AlarmEmail=operator@example.com")
	tells(t, said, "111122223333", "eu-central-1", "deploy the new stack", "prepare the account", "https://api.example/prod", "the-table", "make a key")
	tells(t, w.calls(), "arm64 bash scripts/build", "bootstrap aws://111122223333/eu-central-1",
		"deploy growth-workspace --require-approval never", "growth-workspace:AlarmEmail=operator@example.com", "growth-workspace:Architecture=arm64")
}

// Ensure an upgrade builds for what is deployed: a function of the other kind of processor would not start.
func TestUpgradeKeepsTheArchitecture(t *testing.T) {
	w := newWorld(t)
	w.status = "UPDATE_COMPLETE"
	tells(t, w.deploy(0, "--yes"), "upgrade the stack", "functions x86_64")
	tells(t, w.calls(), "amd64 bash scripts/build", "growth-workspace:Architecture=x86_64")
	if strings.Contains(w.calls(), "bootstrap") {
		t.Error("a prepared account was prepared again")
	}
}

// Ensure each missing tool is named, all at once, before anything else is looked at.
func TestErrTools(t *testing.T) {
	for name, test := range map[string]struct {
		remove []string
		want   []string
	}{
		"go":           {[]string{"go"}, []string{"go is not on PATH: install Go"}},
		"node and npm": {[]string{"node", "npm"}, []string{"node is not on PATH", "npm is not on PATH"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			dir, _, _ := strings.Cut(w.path, string(os.PathListSeparator))
			for _, tool := range test.remove {
				if err := os.Remove(filepath.Join(dir, tool)); err != nil {
					t.Fatal(err)
				}
			}
			w.identity = "AccessDenied"
			tells(t, w.deploy(1, "--yes"), test.want...)
		})
	}
	t.Run("an old node", func(t *testing.T) {
		w := newWorld(t)
		w.program("node", "echo v18.20.1")
		tells(t, w.deploy(1, "--yes"), "node is v18.20.1", "install Node.js 20")
	})
	t.Run("no clone", func(t *testing.T) {
		w := newWorld(t)
		w.program("go", "echo /dev/null")
		tells(t, w.deploy(1, "--yes"), "not a clone of the repository")
	})
}

// Ensure missing, expired and wrong credentials and a missing region say what to do, and that nothing is built for them.
func TestErrCredentials(t *testing.T) {
	for name, test := range map[string]struct {
		unset, identity string
		args            []string
		want            string
	}{
		"none":       {unset: "AWS_ACCESS_KEY_ID", want: "no AWS credentials: name a profile"},
		"no region":  {unset: "AWS_REGION", want: "no AWS region: give --region"},
		"expired":    {identity: "ExpiredToken", want: "have expired: log in again"},
		"wrong":      {identity: "InvalidClientTokenId", want: "AWS does not take the credentials"},
		"no profile": {args: []string{"--profile", "nobody"}, want: "nobody"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.identity = test.identity
			if test.unset != "" {
				t.Setenv(test.unset, "")
			}
			tells(t, w.deploy(1, append(test.args, "--yes")...), test.want)
			if strings.Contains(w.calls(), "build") {
				t.Error("built before it looked")
			}
		})
	}
}

// Ensure a stack in the way is explained, with the command that leads out, and not touched.
func TestErrStack(t *testing.T) {
	for status, want := range map[string]string{
		"UPDATE_IN_PROGRESS":     "cancel-update-stack --stack-name growth-workspace",
		"DELETE_IN_PROGRESS":     "Wait until it has ended",
		"UPDATE_ROLLBACK_FAILED": "continue-update-rollback --stack-name growth-workspace",
		"DELETE_FAILED":          "a role may not be made",
	} {
		t.Run(status, func(t *testing.T) {
			w := newWorld(t)
			w.status = status
			tells(t, w.deploy(1, "--yes"), status, want)
			if strings.Contains(w.calls(), "cdk") {
				t.Error("the CDK was called")
			}
		})
	}
	t.Run("somebody else's", func(t *testing.T) {
		w := newWorld(t)
		w.status, w.foreign = "CREATE_COMPLETE", true
		tells(t, w.deploy(1, "--yes"), "is not of this service: choose another name with --stack")
		tells(t, w.deploy(1, "--yes", "--destroy"), "is not of this service")
	})
}

// Ensure a stack whose first deploy failed is said to be removed, and is deployed anew.
func TestFailedFirstDeploy(t *testing.T) {
	w := newWorld(t)
	w.status, w.after = "ROLLBACK_COMPLETE", "CREATE_COMPLETE"
	tells(t, w.deploy(0, "--yes"), "remove what a failed first deploy has left (ROLLBACK_COMPLETE) and deploy")
}

// Ensure a deploy that fails says what serves now and what to do.
func TestErrDeploy(t *testing.T) {
	for name, test := range map[string]struct{ before, after, want string }{
		"first":        {"", "ROLLBACK_COMPLETE", "nothing of it serves"},
		"nothing made": {"", "", "Nothing was deployed"},
		"upgrade":      {"CREATE_COMPLETE", "UPDATE_ROLLBACK_COMPLETE", "what was deployed before is what serves now"},
		"stuck":        {"CREATE_COMPLETE", "UPDATE_ROLLBACK_FAILED", "continue-update-rollback"},
		"under way":    {"CREATE_COMPLETE", "UPDATE_IN_PROGRESS", "CloudFormation goes on without this program"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.status, w.after = test.before, test.after
			t.Setenv("CDK_EXIT", "1")
			tells(t, w.deploy(1, "--yes"), "cdk deploy: ", test.want)
		})
	}
	t.Run("interrupted", func(t *testing.T) {
		w := newWorld(t)
		w.status, w.after = "CREATE_COMPLETE", "UPDATE_IN_PROGRESS"
		d := &deployer{options: options{stack: "growth-workspace"}}
		var err error
		if d.account, err = open(t.Context(), "", ""); err != nil {
			t.Fatal(err)
		}
		w.write(w.log+".cdk", "")
		tells(t, d.ended(context.Canceled).Error(), "CloudFormation goes on without this program")
	})
	t.Run("the build", func(t *testing.T) {
		w := newWorld(t)
		w.program("bash", "exit 1")
		tells(t, w.deploy(1, "--yes"), "the functions could not be built, and nothing was deployed")
	})
}

// Ensure wrong options are refused before anything is looked at, and name what is right.
func TestErrOptions(t *testing.T) {
	for want, args := range map[string][]string{
		"there is no parameter \"Alarm\"":                {"--param", "Alarm=1"},
		"LogRetentionDays must be one of 1, 3":           {"--param", "LogRetentionDays=2"},
		"AlarmEmail must match":                          {"--param", "AlarmEmail=nobody"},
		"ThrottleRate must be a number":                  {"--param", "ThrottleRate=fast"},
		"ThrottleRate must be at least 1":                {"--param", "ThrottleRate=0"},
		"must be NAME=VALUE":                             {"--param", "ThrottleRate"},
		"--arch: Architecture must be one of arm64":      {"--arch", "riscv"},
		"--table: ExistingTableName must match":          {"--table", "a b"},
		"--stack \"1st\": a letter":                      {"--stack", "1st"},
		"exclude each other":                             {"--diff", "--destroy"},
		"unknown argument \"now\"":                       {"now"},
		"flag provided but not defined: -regoin (--help": {"--regoin", "x"},
	} {
		w := newWorld(t)
		tells(t, w.deploy(2, args...), want)
		if _, err := os.Stat(w.log); err == nil {
			t.Errorf("%v: called %s", args, w.calls())
		}
	}
}

// Ensure --table takes only a table of the service that is ready.
func TestErrTable(t *testing.T) {
	for answer, want := range map[string]string{
		"":                                     "there is no table restored in eu-central-1",
		`{"Table":{"TableStatus":"CREATING"}}`: "is CREATING: wait until it is ACTIVE",
		`{"Table":{"TableStatus":"ACTIVE","KeySchema":[{"AttributeName":"id"}]}}`: "is not one of this service",
	} {
		w := newWorld(t)
		w.table = answer
		tells(t, w.deploy(1, "--yes", "--table", "restored"), want)
	}
	w := newWorld(t)
	w.status, w.table = "CREATE_COMPLETE", `{"Table":{"TableStatus":"ACTIVE","KeySchema":[{"AttributeName":"pk"},{"AttributeName":"sk"}]}}`
	tells(t, w.deploy(0, "--yes", "--table", "restored"), "table     restored", "the table the-table stays as it is")
	tells(t, w.calls(), "growth-workspace:ExistingTableName=restored")
}

// Ensure nothing is done without a yes.
func TestErrUnconfirmed(t *testing.T) {
	w := newWorld(t)
	tells(t, w.deploy(1), "Go on? [y/N]", "give --yes")
	w.status = "CREATE_COMPLETE"
	tells(t, w.deploy(1, "--destroy"), "give --yes")
	if strings.Contains(w.calls(), "build") {
		t.Error("built without a yes")
	}
}

// Ensure a dry run deploys nothing, and a teardown says that the table stays and how to delete it.
func TestDiffAndDestroy(t *testing.T) {
	w := newWorld(t)
	w.status = "CREATE_COMPLETE"
	w.deploy(0, "--diff")
	tells(t, w.calls(), "diff growth-workspace")
	if strings.Contains(w.calls(), "deploy growth-workspace") {
		t.Error("--diff deploys")
	}
	tells(t, w.deploy(0, "--destroy", "--yes"), "the-table is still there", "--no-deletion-protection-enabled", "--table the-table")
	tells(t, w.calls(), "destroy growth-workspace --force")
	w = newWorld(t)
	tells(t, w.deploy(1, "--destroy", "--yes"), "there is no stack growth-workspace")
}

// Ensure the template can be had without credentials.
func TestSynth(t *testing.T) {
	w := newWorld(t)
	w.identity = "AccessDenied"
	w.deploy(0, "--synth", t.TempDir())
	tells(t, w.calls(), "synth growth-workspace --quiet --output ")
}

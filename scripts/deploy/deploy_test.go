package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"growthworkspace/infra"
	"growthworkspace/shared/filelock"
	"growthworkspace/shared/localdb"
)

// fakeAWS replaces this machine and the AWS account in one test. It consists of a folder like a
// clone of the repository, a PATH with programs that only log their calls, and an HTTP server in
// place of AWS.
type fakeAWS struct {
	t              *testing.T
	root           string
	path           string
	logPath        string
	status         string // the stack's status; empty if the stack does not exist
	statusAfterCDK string // the stack's status after a call to the CDK; empty if unchanged
	isForeign      bool   // whether the stack belongs to a different service
	hasToolkit     bool   // whether the account is prepared for the CDK
	identityError  string // the error code of GetCallerIdentity; empty if the call succeeds
	noTable        bool   // whether DescribeTable finds no table
	tableStatus    string
	keys           []string        // the attributes of the table's primary key
	indexes        []string        // the table's indexes that are not in the deployed template
	missing        string          // an index that the table lacks
	stream         string          // the view type of the table's stream; empty if it has none
	template       template        // the deployed template
	parameters     settings        // the stack's parameters that differ from their defaults
	managedTable   string          // the table that is a resource of the stack; empty if there is none
	changes        string          // the changes of every change set, as XML
	creating       map[string]bool // the indexes that are CREATING in one response; the value is whether that response was sent
	warmReads      map[string]int  // the warm throughput by index name; the empty name stands for the table
	wrong          string          // what the new version does wrong; empty if it works
	concurrency    int             // the account's concurrency; none of it is reserved
	logsRole       string          // API Gateway's role for logs; empty if there is none
}

func newFakeAWS(t *testing.T) *fakeAWS {
	t.Helper()
	w := &fakeAWS{
		t: t, root: t.TempDir(), path: t.TempDir(), hasToolkit: true, tableStatus: "ACTIVE", keys: []string{"pk", "sk"},
		stream: "NEW_AND_OLD_IMAGES", template: newTemplate(t), managedTable: "the-table", creating: map[string]bool{}, concurrency: 1000,
	}
	w.logPath = filepath.Join(t.TempDir(), "log")
	cache := t.TempDir()
	for _, name := range []string{"scripts", "infra/cdk"} {
		if err := os.MkdirAll(filepath.Join(w.root, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	w.write(filepath.Join(w.root, "scripts/build"), "")
	w.addProgram("go", `case $1 in env) echo "$WORLD/go.mod" ;; esac`)
	w.addProgram("node", `echo v22.1.0`)
	w.addProgram("bash", "")
	w.addProgram("npx", fakeCDK)
	w.write(w.logPath+".next", string(newTemplate(t).text()))
	w.writeBuild()
	server := httptest.NewServer(http.HandlerFunc(w.serveAWS))
	t.Cleanup(server.Close)
	for name, value := range map[string]string{
		"PATH": w.path, "WORLD": w.root, "LOG": w.logPath, "HOME": cache, "AWS_ENDPOINT_URL": server.URL,
		"AWS_REGION": "eu-central-1", "AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_SESSION_TOKEN": "",
		"AWS_PROFILE": "", "AWS_DEFAULT_REGION": "", "AWS_EC2_METADATA_DISABLED": "true",
		"AWS_CONFIG_FILE": filepath.Join(cache, "none"), "AWS_SHARED_CREDENTIALS_FILE": filepath.Join(cache, "none"),
	} {
		t.Setenv(name, value)
	}
	return w
}

// fakeCDK is a fake of the CDK's command line program, which npx runs. A synthesis writes a cloud
// assembly with the template in $LOG.next. Executing a change set writes the prepared template to
// $LOG.deployed.
const fakeCDK = `
all=" $* "
while [ $# -gt 0 ]; do
  case $1 in deploy) stack=$2 ;; --app) app=$2 ;; --output) output=$2 ;; esac
  shift
done
case $all in
*" synth "*)
  /bin/mkdir -p "$output"
  /bin/cat "$LOG.next" >"$output/growth-workspace.template.json"
  echo '{"files":{"digest":{"source":{"path":"growth-workspace.template.json"}}}}' >"$output/growth-workspace.assets.json"
  echo '{"url":"digest.json"}' >"$output/manifest.json"
  exit 0 ;;
*" prepare-change-set "* | *" diff "*) ;;
*" deploy "*) [ "${CDK_EXIT-0}" != 0 ] || /bin/cat "$app/$stack.template.json" >"$LOG.deployed" ;;
esac
: >"$LOG.cdk"
exit ${CDK_EXIT-0}`

// newModel returns the model of the new version, which no test changes.
var newModel = sync.OnceValue(infra.New)

// newTemplateText returns the resources of the new version that a deploy reads, as a template.
var newTemplateText = sync.OnceValues(func() ([]byte, error) {
	return json.Marshal(map[string]any{"Resources": infra.JSON(newModel().PlainResources())})
})

// newTemplate returns a copy of the template of the new version.
func newTemplate(t *testing.T) template {
	t.Helper()
	text, err := newTemplateText()
	if err != nil {
		t.Fatal(err)
	}
	out, err := parseTemplate(text)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func (a *fakeAWS) write(path, text string) {
	a.t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		a.t.Fatal(err)
	}
}

// addProgram adds a program to PATH. The program logs its GOARCH, name and arguments, and then runs
// the shell commands in `script`.
func (a *fakeAWS) addProgram(name, script string) {
	a.t.Helper()
	a.write(filepath.Join(a.path, name), "#!/bin/sh\necho \"$GOARCH "+name+" $*\" >>\"$LOG\"\n"+script+"\n")
}

func (a *fakeAWS) loggedCalls() string {
	text, err := os.ReadFile(a.logPath)
	if err != nil {
		a.t.Fatal(err)
	}
	return string(text)
}

// serveAWS handles the requests to AWS.
func (a *fakeAWS) serveAWS(rw http.ResponseWriter, r *http.Request) {
	if strings.Contains(r.Host, ".execute-api.") {
		a.serveGateway(rw, r)
		return
	}
	if !strings.HasPrefix(r.Header.Get("Authorization"), "AWS4-HMAC-SHA256 Credential=id/") {
		a.t.Errorf("a request is not signed: %v", r.Header)
	}
	if r.Header.Get("X-Amz-Target") != "" {
		a.serveDynamoDB(rw, r)
		return
	}
	switch r.Method + r.URL.Path {
	case "GET/2016-08-19/account-settings":
		fmt.Fprintf(rw, `{"AccountLimit":{"ConcurrentExecutions":%[1]d,"UnreservedConcurrentExecutions":%[1]d}}`, a.concurrency)
		return
	case "GET/account":
		fmt.Fprintf(rw, `{"cloudwatchRoleArn":%q}`, a.logsRole)
		return
	}
	switch r.FormValue("Action") {
	case "GetCallerIdentity":
		if a.identityError != "" {
			rw.WriteHeader(http.StatusForbidden)
			fmt.Fprintf(rw, "<ErrorResponse><Error><Code>%s</Code><Message>no</Message></Error></ErrorResponse>", a.identityError)
			return
		}
		fmt.Fprint(rw, "<R><GetCallerIdentityResult><Account>111122223333</Account><Arn>arn:aws:iam::111122223333:user/operator</Arn></GetCallerIdentityResult></R>")
	case "DescribeStacks":
		a.describe(rw, r.FormValue("StackName"))
	case "GetTemplate":
		fmt.Fprint(rw, "<R><GetTemplateResult><TemplateBody>"+html.EscapeString(string(a.deployedTemplate().text()))+"</TemplateBody></GetTemplateResult></R>")
	case "DescribeStackResource":
		id := r.FormValue("LogicalResourceId")
		if id == infra.TableID {
			_, id = a.deployedParameters()
		}
		if id == "" {
			rw.WriteHeader(http.StatusBadRequest)
			fmt.Fprint(rw, "<ErrorResponse><Error><Code>ValidationError</Code><Message>Resource Table does not exist for stack</Message></Error></ErrorResponse>")
			return
		}
		fmt.Fprint(rw, "<R><DescribeStackResourceResult><StackResourceDetail><PhysicalResourceId>"+id+"</PhysicalResourceId></StackResourceDetail></DescribeStackResourceResult></R>")
	case "DescribeChangeSet":
		fmt.Fprint(rw, "<R><DescribeChangeSetResult><Status>CREATE_COMPLETE</Status><Changes>"+a.changes+"</Changes></DescribeChangeSetResult></R>")
	case "DeleteChangeSet":
		a.logCall("DeleteChangeSet")
		fmt.Fprint(rw, "<R><DeleteChangeSetResult/></R>")
	default:
		a.t.Errorf("unexpected action %s", r.FormValue("Action"))
	}
}

func (a *fakeAWS) logCall(line string) {
	a.t.Helper()
	f, err := os.OpenFile(a.logPath, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err == nil {
		_, err = fmt.Fprintln(f, line)
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		a.t.Error(err)
	}
}

// prepareCalls returns the arguments of each call that prepared a change set.
func (a *fakeAWS) prepareCalls() (out []string) {
	for line := range strings.Lines(a.loggedCalls()) {
		if strings.Contains(line, " prepare-change-set ") {
			out = append(out, strings.TrimSpace(line))
		}
	}
	return out
}

// deployedParameters returns the state of the stack after all executed change sets: the parameters
// that differ from their defaults, and the table that is a resource of the stack.
func (a *fakeAWS) deployedParameters() (parameters settings, managedTable string) {
	parameters, managedTable = a.parameters, a.managedTable
	prepared := ""
	text, _ := os.ReadFile(a.logPath) // a missing file means that there were no calls
	for line := range strings.Lines(string(text)) {
		switch {
		case strings.Contains(line, " prepare-change-set "):
			prepared = line
		case strings.Contains(line, " execute-change-set ") && os.Getenv("CDK_EXIT") == "":
			for word := range strings.FieldsSeq(prepared) {
				if s, ok := strings.CutPrefix(word, "growth-workspace:"); ok {
					name, value, _ := strings.Cut(s, "=")
					parameters = parameters.with(name, value)
				}
			}
			table, _ := parameters.lookup(infra.ParamTable)
			if table != "" && table != managedTable {
				managedTable = ""
			}
		}
	}
	return parameters, managedTable
}

func (a *fakeAWS) deployedTemplate() template {
	text, err := os.ReadFile(a.logPath + ".deployed")
	if err != nil {
		return a.template
	}
	out, err := parseTemplate(text)
	if err != nil {
		a.t.Error(err)
	}
	return out
}

// serveDynamoDB handles the requests for the table. A new index is CREATING in the first response
// that contains it.
func (a *fakeAWS) serveDynamoDB(rw http.ResponseWriter, r *http.Request) {
	if a.noTable {
		rw.WriteHeader(http.StatusBadRequest)
		fmt.Fprint(rw, `{"__type":"com.amazonaws.dynamodb.v20120810#ResourceNotFoundException","message":"no"}`)
		return
	}
	deployed, err := a.deployedTemplate().indexes()
	if err != nil {
		a.t.Error(err)
	}
	for _, name := range a.indexes {
		deployed = append(deployed, index{indexKeys: indexKeys{name: name}, definition: map[string]any{"IndexName": name}})
	}
	indexes := []any{}
	for _, i := range deployed {
		definition := maps.Clone(i.definition)
		definition["IndexStatus"] = "ACTIVE"
		definition["WarmThroughput"] = map[string]any{"ReadUnitsPerSecond": a.warmReads[i.name]}
		if seen, ok := a.creating[i.name]; ok && !seen {
			a.creating[i.name], definition["IndexStatus"] = true, "CREATING"
			a.logCall(i.name + " is CREATING")
		}
		if i.name != a.missing {
			indexes = append(indexes, definition)
		}
	}
	var keys []any
	var attributes []any
	for n, name := range a.keys {
		attributes = append(attributes, map[string]any{"AttributeName": name, "AttributeType": "S"})
		keys = append(keys, map[string]any{"AttributeName": name, "KeyType": []string{"HASH", "RANGE"}[n]})
	}
	table := map[string]any{"TableStatus": a.tableStatus, "BillingModeSummary": map[string]any{"BillingMode": "PAY_PER_REQUEST"}, "AttributeDefinitions": attributes, "KeySchema": keys, "GlobalSecondaryIndexes": indexes, "WarmThroughput": map[string]any{"ReadUnitsPerSecond": a.warmReads[""]}}
	if a.stream != "" {
		table["LatestStreamArn"] = "arn:aws:dynamodb:eu-central-1:111122223333:table/restored/stream/1"
		table["StreamSpecification"] = map[string]any{"StreamEnabled": true, "StreamViewType": a.stream}
	}
	if err := json.NewEncoder(rw).Encode(map[string]any{"Table": table}); err != nil {
		a.t.Error(err)
	}
}

func (a *fakeAWS) describe(rw http.ResponseWriter, name string) {
	status := a.status
	if _, err := os.Stat(a.logPath + ".cdk"); err == nil && a.statusAfterCDK != "" {
		status = a.statusAfterCDK
	}
	if name == "CDKToolkit" {
		status = map[bool]string{true: "CREATE_COMPLETE"}[a.hasToolkit]
	}
	if status == "" {
		rw.WriteHeader(http.StatusBadRequest)
		fmt.Fprintf(rw, "<ErrorResponse><Error><Code>ValidationError</Code><Message>Stack with id %s does not exist</Message></Error></ErrorResponse>", name)
		return
	}
	parameters := ""
	deployed, _ := a.deployedParameters()
	if !a.isForeign {
		for _, p := range newModel().Parameters {
			value := fmt.Sprint(p.Default)
			if p.Name == infra.ParamArchitecture {
				value = "x86_64"
			}
			if chosen, ok := deployed.lookup(p.Name); ok {
				value = chosen
			}
			parameters += "<member><ParameterKey>" + p.Name + "</ParameterKey><ParameterValue>" + value + "</ParameterValue></member>"
		}
	}
	outputs := ""
	table, _ := deployed.lookup(infra.ParamTable)
	for key, value := range map[string]string{"BaseUrl": "https://api.example/prod", "TableName": valueOr(table, "the-table"), "FirstKeyCommand": "AWS_REGION=eu-central-1 make a key"} {
		outputs += "<member><OutputKey>" + key + "</OutputKey><OutputValue>" + value + "</OutputValue></member>"
	}
	fmt.Fprintf(rw, "<R><DescribeStacksResult><Stacks><member><StackName>%s</StackName><StackStatus>%s</StackStatus><StackStatusReason>a role may not be made</StackStatusReason>"+
		"<Parameters>%s</Parameters><Outputs>%s</Outputs></member></Stacks></DescribeStacksResult></R>", name, status, parameters, outputs)
}

// deploy runs the program and returns its output. want is the expected exit code.
func (a *fakeAWS) deploy(want int, args ...string) string {
	a.t.Helper()
	var output bytes.Buffer
	if code := run(a.t.Context(), args, strings.NewReader(""), &output, &output, noPause); code != want {
		a.t.Errorf("exit code %d, not %d: %s", code, want, &output)
	}
	return output.String()
}

// noPause returns a channel that already contains a value.
func noPause(time.Duration) <-chan time.Time {
	out := make(chan time.Time, 1)
	out <- time.Time{}
	return out
}

func requireContains(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%q is not in:\n%s", part, text)
		}
	}
}

// Ensure a first deploy prepares the account, deploys for arm64, and prints the base URL and the
// command for the first key.
func TestFirstDeploy(t *testing.T) {
	w := newFakeAWS(t)
	w.hasToolkit, w.statusAfterCDK = false, "CREATE_COMPLETE"
	output := w.deploy(0, "--yes", "--profile", "", "--param", "AlarmEmail=operator@example.com")
	requireContains(t, output, "111122223333", "eu-central-1", "deploy the new stack", "prepare the account", "https://api.example/prod", "the-table", "make a key")
	requireContains(t, w.loggedCalls(), "arm64 bash scripts/build", "bootstrap aws://111122223333/eu-central-1",
		"deploy growth-workspace --app ", "growth-workspace:AlarmEmail=operator@example.com", "growth-workspace:Architecture=arm64")
}

// Ensure an upgrade builds for the architecture of the deployed functions, because functions for a
// different architecture would not start.
func TestUpgradeKeepsTheArchitecture(t *testing.T) {
	w := newFakeAWS(t)
	w.status = "UPDATE_COMPLETE"
	requireContains(t, w.deploy(0, "--yes"), "upgrade the stack", "functions x86_64")
	requireContains(t, w.loggedCalls(), "amd64 bash scripts/build", "growth-workspace:Architecture=x86_64")
	if strings.Contains(w.loggedCalls(), "bootstrap") {
		t.Error("a prepared account was prepared again")
	}
}

// Ensure one error reports all missing tools, before any other check.
func TestErrTools(t *testing.T) {
	for name, test := range map[string]struct {
		remove []string
		want   []string
	}{
		"go":           {[]string{"go"}, []string{"go is not on PATH: install Go"}},
		"node and npx": {[]string{"node", "npx"}, []string{"node is not on PATH", "npx is not on PATH"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newFakeAWS(t)
			for _, tool := range test.remove {
				if err := os.Remove(filepath.Join(w.path, tool)); err != nil {
					t.Fatal(err)
				}
			}
			w.identityError = "AccessDenied"
			requireContains(t, w.deploy(1, "--yes"), test.want...)
		})
	}
	t.Run("an old node", func(t *testing.T) {
		w := newFakeAWS(t)
		w.addProgram("node", "echo v18.20.1")
		requireContains(t, w.deploy(1, "--yes"), "node is v18.20.1", "install Node.js 22")
	})
	t.Run("no clone", func(t *testing.T) {
		w := newFakeAWS(t)
		w.addProgram("go", "echo /dev/null")
		requireContains(t, w.deploy(1, "--yes"), "not a clone of the repository")
	})
}

// Ensure documents and scripts state the version of Node.js that this program requires.
// scripts/test must accept the same versions.
func TestDocumentsNameNode(t *testing.T) {
	mention := regexp.MustCompile(`Node\.js(?:\]\([^)]*\))? ([0-9][0-9.]*)(\s+or\s+later)?`)
	for _, page := range []string{
		"README.md", ".github/CONTRIBUTING.md", "infra/RUNBOOK.md", "scripts/docs/tutorial.md", "scripts/test",
		"scripts/check/external/deploy", "scripts/check/external/docs",
		"scripts/check/external/judge.sh", "scripts/check/external/mcp", "scripts/check/external/openapi", "scripts/check/external/page",
	} {
		text, err := os.ReadFile(filepath.Join("../..", page))
		if err != nil {
			t.Fatal(err)
		}
		found := mention.FindAllSubmatch(text, -1)
		if len(found) == 0 {
			t.Errorf("%s does not name Node.js", page)
		}
		for _, m := range found {
			if string(m[1]) != localdb.NodeVersion || len(m[2]) == 0 {
				t.Errorf("%s: %s, the code asks for %s or later", page, m[0], localdb.NodeVersion)
			}
		}
		if page == "scripts/test" && !strings.Contains(string(text), "\nnode_least="+localdb.NodeVersionMin+"\n") {
			t.Errorf("%s does not check for %s", page, localdb.NodeVersionMin)
		}
	}
}

// Ensure the errors for missing, expired and wrong credentials, and for a missing region, say what
// to do. These errors must occur before anything is built.
func TestErrCredentials(t *testing.T) {
	for name, test := range map[string]struct {
		unset, identity string
		args            []string
		want            string
	}{
		"none":       {unset: "AWS_ACCESS_KEY_ID", want: "no AWS credentials: name a profile"},
		"no region":  {unset: "AWS_REGION", want: "no AWS region: give --region"},
		"expired":    {identity: "ExpiredToken", want: "have expired: log in again"},
		"wrong":      {identity: "InvalidClientTokenId", want: "AWS does not accept the credentials"},
		"no profile": {args: []string{"--profile", "nobody"}, want: "nobody"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newFakeAWS(t)
			w.identityError = test.identity
			if test.unset != "" {
				t.Setenv(test.unset, "")
			}
			output := w.deploy(1, append(test.args, "--yes")...)
			requireContains(t, output, test.want)
			if strings.Contains(output, "IMDS") {
				t.Errorf("the error of the SDK, which looked for an EC2 instance, is no help: %s", output)
			}
			if strings.Contains(w.loggedCalls(), "build") {
				t.Error("built before the check")
			}
		})
	}
}

// Ensure the error for a stack that cannot be deployed says what to do, and nothing is changed.
func TestErrStack(t *testing.T) {
	for status, want := range map[string]string{
		"UPDATE_IN_PROGRESS":     "cancel-update-stack --region eu-central-1 --stack-name growth-workspace",
		"DELETE_IN_PROGRESS":     "Wait until it ends",
		"UPDATE_ROLLBACK_FAILED": "continue-update-rollback --region eu-central-1 --stack-name growth-workspace",
		"DELETE_FAILED":          "a role may not be made",
	} {
		t.Run(status, func(t *testing.T) {
			w := newFakeAWS(t)
			w.status = status
			requireContains(t, w.deploy(1, "--yes"), status, want)
			if strings.Contains(w.loggedCalls(), "cdk") {
				t.Error("the CDK was called")
			}
		})
	}
	t.Run("another service's", func(t *testing.T) {
		w := newFakeAWS(t)
		w.status, w.isForeign = "CREATE_COMPLETE", true
		requireContains(t, w.deploy(1, "--yes"), "does not belong to this service: choose another name with --stack")
		requireContains(t, w.deploy(1, "--yes", "--plan"), "does not belong to this service")
	})
}

// Ensure a deploy announces that it removes the stack of a failed first deploy, and then deploys a
// new one.
func TestFailedFirstDeploy(t *testing.T) {
	w := newFakeAWS(t)
	w.status, w.statusAfterCDK = "ROLLBACK_COMPLETE", "CREATE_COMPLETE"
	requireContains(t, w.deploy(0, "--yes"), "remove the rest of a failed first deploy (ROLLBACK_COMPLETE) and deploy")
}

// Ensure the error for a failed deploy says which version is now running and what to do.
func TestErrDeploy(t *testing.T) {
	for name, test := range map[string]struct{ before, after, want string }{
		"first":        {"", "ROLLBACK_COMPLETE", "nothing is running"},
		"nothing made": {"", "", "Nothing was deployed"},
		"upgrade":      {"CREATE_COMPLETE", "UPDATE_ROLLBACK_COMPLETE", "the earlier version is running"},
		"stuck":        {"CREATE_COMPLETE", "UPDATE_ROLLBACK_FAILED", "continue-update-rollback"},
		"in progress":  {"CREATE_COMPLETE", "UPDATE_IN_PROGRESS", "CloudFormation continues without this program"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newFakeAWS(t)
			w.status, w.statusAfterCDK = test.before, test.after
			t.Setenv("CDK_EXIT", "1")
			requireContains(t, w.deploy(1, "--yes"), "cdk deploy: ", test.want)
		})
	}
	t.Run("interrupted", func(t *testing.T) {
		w := newFakeAWS(t)
		w.status, w.statusAfterCDK = "CREATE_COMPLETE", "UPDATE_IN_PROGRESS"
		d := &deployer{options: options{stack: "growth-workspace"}}
		var err error
		if d.account, err = openAccount(t.Context(), "", ""); err != nil {
			t.Fatal(err)
		}
		w.write(w.logPath+".cdk", "")
		requireContains(t, d.deployError(context.Canceled).Error(), "CloudFormation continues without this program")
	})
	t.Run("the build", func(t *testing.T) {
		w := newFakeAWS(t)
		w.addProgram("bash", "exit 1")
		requireContains(t, w.deploy(1, "--yes"), "the functions could not be built, and nothing was deployed")
	})
}

// Ensure invalid options are rejected before any other check. The error says what is valid.
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
		"--stack \"1st\": must be a letter":              {"--stack", "1st"},
		"cannot be combined":                             {"--plan", "--synth", "folder"},
		"cannot be combined with --synth or --arch":      {"--from", "folder", "--arch", "x86_64"},
		"unknown argument \"now\"":                       {"now"},
		"smoke must come before the flags":               {"--yes", "smoke"},
		"to leave out; there are key, ids":               {"smoke", "--skip", "everything"},
		"there is no such check to leave out":            {"smoke", "--skip", "operate"},
		"unknown argument \"later\"":                     {"smoke", "later"},
		"flag provided but not defined: -regoin (see --": {"--regoin", "x"},
	} {
		w := newFakeAWS(t)
		requireContains(t, w.deploy(2, args...), want)
		if _, err := os.Stat(w.logPath); err == nil {
			t.Errorf("%v: called %s", args, w.loggedCalls())
		}
	}
}

// Ensure --table accepts only an active table of this service.
func TestErrTable(t *testing.T) {
	for want, change := range map[string]func(*fakeAWS){
		"there is no table restored in eu-central-1": func(w *fakeAWS) { w.noTable = true },
		"is CREATING: wait until it is ACTIVE":       func(w *fakeAWS) { w.tableStatus = "CREATING" },
		"does not belong to this service":            func(w *fakeAWS) { w.keys = []string{"id"} },
	} {
		w := newFakeAWS(t)
		change(w)
		requireContains(t, w.deploy(1, "--yes", "--table", "restored"), want)
	}
	w := newFakeAWS(t)
	w.status, w.stream, w.parameters = "CREATE_COMPLETE", "", settings{{infra.ParamSecondTable, "restored"}}
	requireContains(t, w.deploy(0, "--yes", "--table", "restored"), "table     restored", "the table the-table stays, but", "has no stream")
	requireContains(t, w.loggedCalls(), "growth-workspace:ExistingTableName=restored")
}

// Ensure a new stack gets the stream of the table that --table names, but only if the stream has
// both images.
func TestStreamOfTable(t *testing.T) {
	w := newFakeAWS(t)
	w.statusAfterCDK = "CREATE_COMPLETE"
	w.deploy(0, "--yes", "--table", "restored")
	requireContains(t, w.loggedCalls(), "growth-workspace:TableStreamArn=arn:aws:dynamodb:eu-central-1:111122223333:table/restored/stream/1")
	w = newFakeAWS(t)
	w.statusAfterCDK, w.stream = "CREATE_COMPLETE", "KEYS_ONLY"
	requireContains(t, w.deploy(0, "--yes", "--table", "restored"), "has no stream with new and old images", "update-table --region eu-central-1 --table-name restored")
	if strings.Contains(w.loggedCalls(), "TableStreamArn") {
		t.Errorf("a stream without images: %s", w.loggedCalls())
	}
}

// Ensure nothing is deployed or deleted without a confirmation.
func TestErrUnconfirmed(t *testing.T) {
	w := newFakeAWS(t)
	requireContains(t, w.deploy(1), "Continue? [y/N]", "confirm with --yes")
	w.status = "CREATE_COMPLETE"
	requireContains(t, w.deploy(1), "confirm with --yes")
	if strings.Contains(w.loggedCalls(), "build") {
		t.Error("built without a confirmation")
	}
}

// Ensure that a run does not build while another run in the same clone uses the builds, and that a
// run releases the builds when it ends.
func TestErrBuildsInUse(t *testing.T) {
	w := newFakeAWS(t)
	w.status = "CREATE_COMPLETE"
	w.deploy(0, "--yes")
	lock, err := filelock.Try(filepath.Join(w.root, "dist", ".lock"))
	if err != nil || lock == nil {
		t.Fatalf("the lock of the builds after a deploy: %v, %v", lock, err)
	}
	before := w.loggedCalls()
	for _, flag := range []string{"--yes", "--plan", "--synth=" + t.TempDir()} {
		requireContains(t, w.deploy(1, flag), "another scripts/deploy builds in "+filepath.Join(w.root, "dist"))
	}
	if calls := strings.TrimPrefix(w.loggedCalls(), before); strings.Contains(calls, "build") {
		t.Errorf("built while another run uses the builds: %s", calls)
	}
	if err := lock.Close(); err != nil {
		t.Fatal(err)
	}
	w.deploy(0, "--plan")
}

// Ensure --synth needs no credentials.
func TestSynth(t *testing.T) {
	w := newFakeAWS(t)
	w.identityError = "AccessDenied"
	w.deploy(0, "--synth", t.TempDir())
	requireContains(t, w.loggedCalls(), "aws-cdk@"+cdkVersion+" --no-notices synth growth-workspace --quiet --output ", "--context stack=growth-workspace")
}

// Ensure --from deploys what --synth has written, with the architecture of its builds, and builds
// nothing.
func TestFrom(t *testing.T) {
	w := newFakeAWS(t)
	w.statusAfterCDK = "CREATE_COMPLETE"
	folder := t.TempDir()
	requireContains(t, w.deploy(1, "--yes", "--from", folder), "--synth has not written this folder")
	w.deploy(0, "--synth", folder, "--arch", "x86_64")
	before := w.loggedCalls()
	w.deploy(0, "--yes", "--from", folder)
	calls := strings.TrimPrefix(w.loggedCalls(), before)
	requireContains(t, calls, "--parameters growth-workspace:Architecture=x86_64", "execute-change-set")
	if strings.Contains(calls, "build") || strings.Contains(calls, "synth") {
		t.Errorf("built again: %s", calls)
	}
	requireContains(t, w.deploy(1, "--yes", "--from", folder, "--stack", "other"), "no template of the stack other")
}

// Ensure the shell passes on the profile unchanged when it runs a command that a deploy has
// printed.
func TestPrintedCommandQuotesProfile(t *testing.T) {
	for _, profile := range []string{"prod", "Ada's profile", "a$(id)"} {
		d := &deployer{options: options{profile: profile}}
		out, err := exec.Command("sh", "-c", d.withProfile(`AWS_REGION=eu-central-1 sh -c 'printf %s "$AWS_PROFILE $AWS_REGION"'`)).Output()
		if want := profile + " eu-central-1"; err != nil || string(out) != want {
			t.Errorf("got %q, want %q: %v", out, want, err)
		}
	}
}

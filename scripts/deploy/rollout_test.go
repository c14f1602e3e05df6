package main

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"growthworkspace/infra"
	"growthworkspace/shared/fault"
)

const fakeDocument = `{"openapi":"3.1.0"}`

// writeBuild writes the files of a build to the folder of the repository.
func (a *fakeAWS) writeBuild() {
	a.t.Helper()
	a.writeInFolder("functions/openapi/openapi.json", fakeDocument)
}

func (a *fakeAWS) writeInFolder(name, text string) {
	a.t.Helper()
	path := filepath.Join(a.root, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		a.t.Fatal(err)
	}
	a.write(path, text)
}

// isWrong reports whether the new version is deployed and has the given fault.
func (a *fakeAWS) isWrong(what string) bool {
	return a.wrong == what && a.deployedTemplate()["Description"] != "the earlier version"
}

// serveGateway handles a request to the deployed API.
func (a *fakeAWS) serveGateway(rw http.ResponseWriter, r *http.Request) {
	if a.isWrong("connection") {
		connection, _, err := rw.(http.Hijacker).Hijack()
		if err == nil {
			err = connection.Close()
		}
		if err != nil {
			a.t.Error(err)
		}
		return
	}
	if host, _, _ := strings.Cut(r.Host, ":"); host != infra.APIID+".execute-api.localhost" {
		a.t.Errorf("the host is %s", r.Host)
	}
	path, ok := strings.CutPrefix(r.URL.Path, "/"+infra.StageName)
	if !ok {
		a.t.Errorf("a request without the stage: %s", r.URL.Path)
	}
	answer := fault.New(fault.Unauthorised, "no")
	switch {
	case path == "/openapi.json" && r.Method == http.MethodGet:
		switch {
		case a.isWrong("document"):
			fmt.Fprint(rw, `{"openapi":"3.0.0"}`)
		case a.isWrong("status of the document"):
			rw.WriteHeader(http.StatusAccepted)
			fmt.Fprint(rw, fakeDocument)
		default:
			fmt.Fprint(rw, fakeDocument)
		}
		return
	case path == "/openapi.json", path == "/mcp" && r.Method != http.MethodPost:
		answer = fault.New(fault.MethodNotAllowed, "no")
		rw.Header().Set("Allow", map[bool]string{true: "POST", false: "GET, HEAD"}[path == "/mcp"])
		if a.isWrong("Allow of " + path) {
			rw.Header().Set("Allow", "PUT")
		}
	case path == "/v1/nothing":
		answer = fault.New(fault.NotFound, "no")
		if a.isWrong("envelope") {
			rw.WriteHeader(http.StatusNotFound)
			return
		}
	case a.isWrong("table") && strings.Contains(path, "/plan/"), a.isWrong("tools") && path == "/mcp":
		answer = fault.New(fault.Internal, "no")
	case a.isWrong("key") && r.Header.Get("Authorization") == "":
		answer = fault.New(fault.Forbidden, "no")
	}
	requestID := "id"
	if a.isWrong("id") {
		requestID = ""
	}
	fault.Write(rw, r, requestID, answer)
}

// newUpgrade returns an account with a deployed earlier version and a new version that has the
// given fault.
func newUpgrade(t *testing.T, wrong string) *fakeAWS {
	t.Helper()
	w := newFakeAWS(t)
	w.status, w.wrong = "UPDATE_COMPLETE", wrong
	w.template["Description"] = "the earlier version"
	return w
}

// Ensure a deploy runs every read-only check on the new version.
func TestChecks(t *testing.T) {
	w := newUpgrade(t, "")
	output := w.deploy(0, "--yes")
	for _, c := range smokeChecks() {
		requireContains(t, output, c.description)
	}
}

// Ensure each fault of a new version is found by the right check. The stack must then be reverted
// to the earlier template and parameters.
func TestRollback(t *testing.T) {
	for wrong, check := range map[string]string{
		"document": "document", "status of the document": "document", "table": "functions",
		"key": "refusals", "envelope": "refusals", "Allow of /openapi.json": "refusals", "Allow of /mcp": "refusals", "tools": "functions", "id": "functions",
	} {
		t.Run(wrong, func(t *testing.T) {
			w := newUpgrade(t, wrong)
			output := w.deploy(1, "--yes", "--param", "Metrics=off")
			requireContains(t, output, fmt.Sprintf("the check %q failed", check), "The stack is back at the earlier version, which works")
			if got := w.deployedTemplate()["Description"]; got != "the earlier version" {
				t.Errorf("the deployed template is %v", got)
			}
			calls := strings.Split(strings.TrimSpace(w.loggedCalls()), "\n")
			requireContains(t, calls[len(calls)-2], "deploy growth-workspace", "prepare-change-set", "growth-workspace:Metrics=operations", "growth-workspace:Architecture=x86_64")
		})
	}
}

// Ensure that the stack is reverted without a canary, and that the output says so.
func TestRollbackFromCanary(t *testing.T) {
	w := newUpgrade(t, "document")
	w.parameters = settings{{infra.ParamRollout, infra.RolloutCanary}}
	requireContains(t, w.deploy(1, "--yes"), "Pass --param Rollout=canary to the next deploy")
	requireContains(t, w.loggedCalls(), "growth-workspace:Rollout=all-at-once")
}

// Ensure an unreachable API is not treated as a version that does not work.
func TestErrUnreachable(t *testing.T) {
	w := newUpgrade(t, "connection")
	output := w.deploy(1, "--yes")
	requireContains(t, output, "could not be checked", "cannot be reached from here")
	if w.deployedTemplate()["Description"] == "the earlier version" {
		t.Error("the stack went back")
	}
}

// Ensure nothing is reverted after the first deploy of a stack or after a deploy that changed
// nothing.
func TestErrNoRollback(t *testing.T) {
	w := newFakeAWS(t)
	w.wrong, w.statusAfterCDK = "document", "CREATE_COMPLETE"
	requireContains(t, w.deploy(1, "--yes"), "does not work", "there is no earlier version to roll back to")

	w = newUpgrade(t, "document")
	delete(w.template, "Description")
	requireContains(t, w.deploy(1, "--yes"), "does not work", "the update has changed nothing")
}

// Ensure the stack is not reverted without the operator's decision if the update switched the table
// or added an index.
func TestErrRollbackOfTable(t *testing.T) {
	w := newUpgrade(t, "")
	d := &deployer{options: options{stack: "growth-workspace"}}
	var err error
	if d.account, err = openAccount(t.Context(), "", ""); err != nil {
		t.Fatal(err)
	}
	before := &earlierVersion{stack: deployedStack{types.Stack{Outputs: []types.Output{{OutputKey: aws.String("TableName"), OutputValue: aws.String("another")}}}}, template: template{"Description": "x"}}
	currentStack, err := d.account.stack(t.Context(), d.stack)
	if err != nil {
		t.Fatal(err)
	}
	requireContains(t, before.rollbackBlocker(currentStack, w.template), "from another to the-table")
	before.stack = currentStack
	indexes, err := w.template.indexes()
	if err != nil {
		t.Fatal(err)
	}
	if before.template, err = w.template.withIndexes(indexes[1:]); err != nil {
		t.Fatal(err)
	}
	requireContains(t, before.rollbackBlocker(currentStack, w.template), "the index "+indexes[0].name)
}

// Ensure a stopped service is not checked.
func TestStoppedServiceIsNotChecked(t *testing.T) {
	w := newUpgrade(t, "document")
	w.parameters = settings{{infra.ParamConcurrency, "0"}}
	requireContains(t, w.deploy(0, "--yes"), "checked   nothing: the service is stopped")
}

// Ensure reverting to a version whose service was stopped does not report the stop as a failure.
func TestRollbackToStoppedService(t *testing.T) {
	w := newUpgrade(t, "document")
	w.parameters = settings{{infra.ParamConcurrency, "0"}}
	requireContains(t, w.deploy(1, "--yes", "--param", "ReservedConcurrency=-1"), "The stack is back at the earlier version, which is stopped, as before")
}

// Ensure that, when the last update of a switch is reverted, the output says that the service
// refuses writes.
func TestRollbackIntoSwitch(t *testing.T) {
	w := newUpgrade(t, "document")
	w.parameters, w.managedTable = settings{{infra.ParamTable, "restored"}, {infra.ParamSecondTable, "the-table"}}, ""
	requireContains(t, w.deploy(1, "--yes", "--table", "restored"), "The stack is back at the earlier version", "the service refuses writes, as before: the parameter SecondTableName is the-table")
}

// Ensure the checks connect to the gateway of the region's partition.
func TestGateway(t *testing.T) {
	t.Setenv("AWS_ENDPOINT_URL", "")
	for region, want := range map[string]string{
		"eu-central-1": "https://a1.execute-api.eu-central-1.amazonaws.com/prod",
		"cn-north-1":   "https://a1.execute-api.cn-north-1.amazonaws.com.cn/prod",
	} {
		if got, _, err := gateway("a1", region); err != nil || got.String() != want {
			t.Errorf("%v, %v, want %s", got, err, want)
		}
	}
}

package main

import (
	"fmt"
	"strings"
	"testing"

	"growthworkspace/infra"
)

// Ensure that the output for an account with little concurrency says how to raise it. A reservation
// that AWS would refuse must be an error before anything is built.
func TestConcurrency(t *testing.T) {
	functions := len(infra.New().Functions)
	for name, test := range map[string]struct {
		concurrency int
		reserved    string // empty if not set
		code        int
		want        string
	}{
		"enough":                       {1000, "", 0, ""},
		"a new account":                {10, "", 0, "can run only 10 functions at once in eu-central-1"},
		"a reservation in new account": {10, "1", 1, "Use -1, which reserves nothing"},
		"all but 100":                  {100 + 10*functions, "10", 0, ""},
		"too much":                     {99 + 10*functions, "10", 1, fmt.Sprintf("reserves 10 for each of the %d functions, %d in all. The account has %d in eu-central-1", functions, 10*functions, 99+10*functions)},
		"what is left":                 {99 + 10*functions, "11", 1, "Choose at most 9, or -1"},
		"stopped":                      {10, "0", 0, "can run only 10"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newFakeAWS(t)
			w.concurrency, w.statusAfterCDK = test.concurrency, "CREATE_COMPLETE"
			args := []string{"--yes"}
			if test.reserved != "" {
				args = append(args, "--param", "ReservedConcurrency="+test.reserved)
			}
			output := w.deploy(test.code, args...)
			requireContains(t, output, test.want)
			if test.want != "" {
				requireContains(t, output, "request-service-quota-increase --region eu-central-1 --service-code lambda --quota-code L-B99A9384")
			} else if strings.Contains(output, "functions at once") {
				t.Errorf("a note without a reason: %s", output)
			}
			if test.code != 0 && strings.Contains(w.loggedCalls(), "build") {
				t.Error("built before the check")
			}
		})
	}
}

// Ensure a new stack keeps the account's existing role for API Gateway's logs, unless a flag
// overrides it. An upgrade keeps the stack's parameter.
func TestGatewayRole(t *testing.T) {
	const role, parameterPrefix = "arn:aws:iam::111122223333:role/logs", "growth-workspace:GatewayLogsRole="
	w := newFakeAWS(t)
	w.logsRole, w.statusAfterCDK = role, "CREATE_COMPLETE"
	requireContains(t, w.deploy(0, "--yes"), role, "--param GatewayLogsRole=create")
	requireContains(t, w.loggedCalls(), parameterPrefix+"existing")
	for name, change := range map[string]func(*fakeAWS) []string{
		"no role":  func(w *fakeAWS) []string { w.logsRole = ""; return nil },
		"upgrade":  func(w *fakeAWS) []string { w.status = "CREATE_COMPLETE"; return nil },
		"a choice": func(*fakeAWS) []string { return []string{"--param", "GatewayLogsRole=create"} },
	} {
		w := newFakeAWS(t)
		w.logsRole, w.statusAfterCDK = role, "CREATE_COMPLETE"
		w.deploy(0, append(change(w), "--yes")...)
		if strings.Contains(w.loggedCalls(), parameterPrefix+"existing") {
			t.Errorf("%s: the stack gets the existing role", name)
		}
	}
}

// Ensure a warm throughput can be raised or set to 0, but not lowered.
func TestWarmThroughput(t *testing.T) {
	for value, want := range map[string]string{
		"13000": "", "0": "", "16000": "",
		"12000": "WarmReadUnits=12000: the index gsi2 can already serve 13000, and DynamoDB cannot lower that",
	} {
		w := newFakeAWS(t)
		w.status = "CREATE_COMPLETE"
		w.warmReads = map[string]int{"": 12000, "gsi2": 13000}
		code := 0
		if want != "" {
			code = 1
		}
		requireContains(t, w.deploy(code, "--yes", "--param", "WarmReadUnits="+value, "--param", "MaxReadUnits=50"), want)
	}
}

// Ensure a change of the throughput is refused together with a change of an index, because DynamoDB
// makes one of them at a time.
func TestThroughputWithoutIndexes(t *testing.T) {
	w := newFakeAWS(t)
	w.status = "CREATE_COMPLETE"
	w.deploy(0, "--yes", "--param", "MaxWriteUnits=2000")
	requireContains(t, w.loggedCalls(), "growth-workspace:MaxWriteUnits=2000")
	all, err := w.template.indexes()
	if err != nil {
		t.Fatal(err)
	}
	w = newFakeAWS(t)
	w.status = "CREATE_COMPLETE"
	if w.template, err = w.template.withIndexes(all[1:]); err != nil {
		t.Fatal(err)
	}
	requireContains(t, w.deploy(1, "--yes", "--param", "MaxWriteUnits=2000"), "first deploy without MaxWriteUnits")
	w.deploy(0, "--yes", "--param", "MaxWriteUnits=0")
}

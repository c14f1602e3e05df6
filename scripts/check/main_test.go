package main

import (
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"growthworkspace/scripts/check/faults"
	"growthworkspace/shared/localdb"
)

func TestMain(m *testing.M) {
	localdb.Main()
	faults.RunServerIfRequested()
	os.Exit(m.Run())
}

// Ensure the error for wrong usage says what is wrong, and is not the error for a rule that does
// not hold.
func TestWrongCalls(t *testing.T) {
	t.Setenv(keyVariable, "")
	for args, want := range map[string]string{
		"api":                      "accepts 1 arg",
		"api http://127.0.0.1:1":   keyVariable,
		"faults nope":              "the checks are kill,",
		"faults --nope":            "unknown flag",
		"everything":               `unknown command "everything"`,
		"api http://x --rule nope": keyVariable,
	} {
		cmd := rootCommand()
		cmd.SetArgs(strings.Fields(args))
		cmd.SetOut(io.Discard)
		cmd.SetErr(io.Discard)
		if err := cmd.ExecuteContext(t.Context()); err == nil || errors.Is(err, errChecksFailed) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", args, err, want)
		}
	}
}

// Ensure resultError returns different errors for a rule that does not hold and for checks that
// could not run.
func TestResultError(t *testing.T) {
	t.Parallel()
	broken := errors.New("no engine")
	if err := resultError(true, nil); err != nil {
		t.Errorf("a rule that holds: %v, want no error", err)
	}
	if err := resultError(false, nil); !errors.Is(err, errChecksFailed) {
		t.Errorf("a rule that does not hold: %v, want %v", err, errChecksFailed)
	}
	if err := resultError(false, broken); !errors.Is(err, broken) || errors.Is(err, errChecksFailed) {
		t.Errorf("checks that could not be run: %v, want %v", err, broken)
	}
}

// Ensure the help lists every check of `check faults`.
func TestHelp(t *testing.T) {
	t.Parallel()
	for name, parts := range map[string][]string{"faults": faults.CheckNames(), "": {"api", "faults"}} {
		var out strings.Builder
		cmd := rootCommand()
		cmd.SetArgs(append(strings.Fields(name), "--help"))
		cmd.SetOut(&out)
		if err := cmd.ExecuteContext(t.Context()); err != nil {
			t.Error(err)
		}
		for _, part := range parts {
			if !strings.Contains(out.String(), part) {
				t.Errorf("help of %q has no %s:\n%s", name, part, out.String())
			}
		}
	}
}

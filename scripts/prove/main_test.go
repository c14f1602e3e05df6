package main

import (
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"growthworkspace/shared/testkit/engine"
)

func TestMain(m *testing.M) {
	engine.Main()
	os.Exit(m.Run())
}

// Ensure the error for wrong usage says what is wrong, and is not the error for a claim that does
// not hold.
func TestWrongCalls(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"roundtrip --scale 0": "scale",
		"roundtrip now":       "unknown command",
		"everything":          `unknown command "everything"`,
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

// Ensure resultError returns different errors for a claim that does not hold and for a proof that
// could not run.
func TestResultError(t *testing.T) {
	t.Parallel()
	broken := errors.New("no engine")
	if err := resultError(true, nil); err != nil {
		t.Errorf("a claim that holds: %v, want no error", err)
	}
	if err := resultError(false, nil); !errors.Is(err, errChecksFailed) {
		t.Errorf("a claim that does not hold: %v, want %v", err, errChecksFailed)
	}
	if err := resultError(false, broken); !errors.Is(err, broken) || errors.Is(err, errChecksFailed) {
		t.Errorf("a proof that could not be run: %v, want %v", err, broken)
	}
}

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
		"agents nothing-like-it": "no task contains",
		"roundtrip --scale 0":    "scale",
		"roundtrip now":          "unknown command",
		"speed hot":              `unknown mode "hot"`,
		"speed --rounds 0":       "--rounds",
		"everything":             `unknown command "everything"`,
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

// Ensure the help lists every mode of `prove speed`.
func TestHelp(t *testing.T) {
	t.Parallel()
	for name, parts := range map[string][]string{"speed": {"count", "start"}, "": {"agents", "roundtrip", "speed"}} {
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

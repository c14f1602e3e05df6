package main

import (
	"context"
	"errors"
	"flag"
	"io"
	"strings"
	"testing"

	"growthworkspace/scripts/prove/faults/gate"
)

func fixed(name string, violations int, err error) gate.Gate {
	return gate.Gate{Name: name, Run: func(context.Context, gate.Setting) (*gate.Report, error) {
		r := &gate.Report{}
		r.Figure("%d of something", violations)
		for n := range violations {
			r.Violate("violation %d", n)
		}
		return r, err
	}}
}

// Ensure the command fails when a gate does not hold or cannot be run, and says which, and runs what it is asked to.
func TestRun(t *testing.T) {
	t.Parallel()
	all := []gate.Gate{fixed("holds", 0, nil), fixed("fails", 25, nil), fixed("breaks", 0, errors.New("no engine"))}
	for _, test := range []struct {
		args   string
		ok     bool
		err    string
		prints string
	}{
		{"holds", true, "", "ok      holds"},
		{"holds fails", false, "", "and 5 more"},
		{"fails", false, "", "violation 3"},
		{"breaks", false, "breaks could not be run: no engine", ""},
		{"unknown", false, "there are holds, fails, breaks", ""},
		{"--nothing", false, "flag provided but not defined", ""},
		{"--seed 9 --long holds", true, "", "seed 9, long true"},
	} {
		var out, log strings.Builder
		ok, err := run(t.Context(), strings.Fields(test.args), all, &out, &log)
		if ok != test.ok || (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) || !strings.Contains(out.String(), test.prints) {
			t.Errorf("%s: %v, %v\n%s", test.args, ok, err, out.String())
		}
	}
	var log strings.Builder
	if _, err := run(t.Context(), []string{"--help"}, all, io.Discard, &log); !errors.Is(err, flag.ErrHelp) || !strings.Contains(log.String(), "holds, fails, breaks") {
		t.Errorf("--help: %v\n%s", err, log.String())
	}
	seen := map[string]bool{}
	for _, g := range gates() {
		if seen[g.Name] {
			t.Errorf("two gates named %s", g.Name)
		}
		seen[g.Name] = true
	}
	if len(seen) != 10 {
		t.Errorf("%d gates", len(seen))
	}
}

package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// verdict is how a check of doctor, or a rule of check, came out.
type verdict string

const (
	verdictOK   verdict = "ok"
	verdictWarn verdict = "warn" // works, but not as it should, or not for long
	verdictFail verdict = "fail"
	verdictSkip verdict = "skip" // could not be looked at, because of what failed before
)

// finding is a line of doctor's report.
type finding struct {
	Name   string  `json:"name"`
	Result verdict `json:"result"`
	Detail string  `json:"detail"`
	Advice string  `json:"advice"` // what to do; empty when nothing is to be done
}

type diagnosis struct {
	BaseURL string    `json:"baseUrl"`
	OK      bool      `json:"ok"` // nothing failed
	Checks  []finding `json:"checks"`
}

// reportedError says that a report that was printed has failures.
type reportedError struct{ text string }

func (e *reportedError) Error() string { return e.text }

func (a *app) doctorCommand() *cobra.Command {
	var where remote
	cmd := &cobra.Command{
		Use: "doctor", Short: "Say whether the service can be called from here, and what to do", Args: takes(),
		Long: `Look at all that a call needs: whether the service answers, the encryption, the clocks,
the version, the form of the key, whether it works, its scopes, and what is left of its
quota. It takes the service and the key that "workspace api" would, changes nothing, and
takes two requests of the read quota.

The exit code is 1 when a check fails; a warning is none.`,
		Example: "  workspace doctor\n  workspace doctor --base-url https://api.example.com --json",
	}
	where.flags(cmd.Flags())
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		d := doctor{app: a, remote: where}
		report := d.examine(cmd.Context())
		if err := a.printDiagnosis(report); err != nil {
			return err
		}
		if !report.OK {
			return &reportedError{"something is wrong: see the lines that begin with fail"}
		}
		return nil
	}
	return cmd
}

func (a *app) printDiagnosis(d diagnosis) error {
	var text strings.Builder
	fmt.Fprintf(&text, "%s\n\n", d.BaseURL)
	for _, f := range d.Checks {
		fmt.Fprintf(&text, "%-4s  %-12s  %s\n", f.Result, f.Name, shown(&f.Detail))
		if f.Advice != "" {
			fmt.Fprintf(&text, "      %-12s  %s\n", "", f.Advice)
		}
	}
	return a.print(d, "%s", text.String())
}

// doctor collects findings. Each examination leaves what the later ones need.
type doctor struct {
	*app

	remote   remote
	key      credential
	findings []finding
}

func (d *doctor) find(name string, result verdict, advice, format string, args ...any) {
	d.findings = append(d.findings, finding{name, result, fmt.Sprintf(format, args...), advice})
}

// examine goes from the wire to the quota; what depends on something that failed is skipped and says so.
func (d *doctor) examine(ctx context.Context) diagnosis {
	var keyErr error
	d.key, keyErr = d.credential(d.remote)
	reached := d.examineService(ctx)
	switch formed := d.examineKey(keyErr); {
	case !formed:
		d.skip("the key has to be whole first", "key", "scopes", "quota")
	case !reached:
		d.skip("the service has to answer first", "key", "scopes", "quota")
	default:
		d.examineUse(ctx)
	}
	out := diagnosis{BaseURL: d.key.BaseURL, OK: true, Checks: d.findings}
	for _, f := range d.findings {
		out.OK = out.OK && f.Result != verdictFail
	}
	return out
}

func (d *doctor) skip(why string, names ...string) {
	for _, name := range names {
		d.find(name, verdictSkip, "", "%s", why)
	}
}

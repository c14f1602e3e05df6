package user

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"growthworkspace/scripts/workspace/terminal"
)

type diagnosis struct {
	BaseURL string    `json:"baseUrl"`
	OK      bool      `json:"ok"` // whether no check failed
	Checks  []finding `json:"checks"`
}

func (u *userCommands) doctorCommand() *cobra.Command {
	var service serviceFlags
	cmd := &cobra.Command{
		Use: "doctor", Short: "Check that the service can be called from here, and explain how to fix problems", Args: terminal.RequireArgs(),
		Long: `Check everything that a request needs: whether the service responds, its encryption, the
clocks, the version, the form of the key, whether the key works, its scopes, and its
remaining quota. It uses the service and the key that "workspace api" would use, changes
nothing, and uses two requests of the read quota.

The exit code is 1 when a check fails; a warning is not a failure.`,
		Example: "  workspace doctor\n  workspace doctor --base-url https://api.example.com --json",
	}
	u.table.RegisterDemo(cmd.Flags())
	service.register(cmd.Flags())
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		d := doctor{userCommands: u, flags: service}
		key, err := u.findCredential(service)
		if key.BaseURL == "" {
			return err // there is no service to check
		}
		d.key = key
		report := d.runChecks(cmd.Context(), err)
		if err := u.printDiagnosis(report); err != nil {
			return err
		}
		if !report.OK {
			return errors.New("some checks failed: see the lines that begin with fail")
		}
		return nil
	}
	return cmd
}

func (u *userCommands) printDiagnosis(d diagnosis) error {
	var text strings.Builder
	fmt.Fprintf(&text, "%s\n\n", d.BaseURL)
	for _, f := range d.Checks {
		fmt.Fprintf(&text, "%-4s  %-12s  %s\n", f.Result, f.Name, terminal.EscapeControls(f.Detail))
		if f.Advice != "" {
			fmt.Fprintf(&text, "      %-12s  %s\n", "", f.Advice)
		}
	}
	return u.Print(d, "%s", text.String())
}

// runChecks runs all checks of `workspace doctor`. It skips a check that depends on a failed one.
// keyErr is why the key could not be read.
func (d *doctor) runChecks(ctx context.Context, keyErr error) diagnosis {
	reached := d.checkService(ctx)
	switch formed := d.checkKeyForm(keyErr); {
	case !formed:
		d.skipChecks("needs a key", "key", "scopes", "quota")
	case !reached:
		d.skipChecks("needs the service to respond", "key", "scopes", "quota")
	default:
		d.checkKeyUse(ctx)
	}
	out := diagnosis{BaseURL: d.key.BaseURL, OK: true, Checks: d.findings}
	for _, f := range d.findings {
		out.OK = out.OK && f.Result != verdictFail
	}
	return out
}

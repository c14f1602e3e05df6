package user

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"growthworkspace/scripts/studio/attention"
	"growthworkspace/scripts/studio/batch"
	"growthworkspace/scripts/workspace/terminal"
)

func (u *userCommands) statusCommand() *cobra.Command {
	var service serviceFlags
	cmd := &cobra.Command{
		Use: "status", Short: "Say in at most ten lines what needs a person", Args: terminal.RequireArgs(),
		Long: `Say in at most ten lines what needs a person, for a shell prompt, a cron job or an agent:
replies to approve, reviews without a reply, replies and posts that failed or are stuck,
posts overdue, channels that fail or soon will, boards with unpublished changes, goals that
are behind, and audits whose scores fell or that failed. It changes nothing.

The exit code is 0 if nothing needs a person and 1 if something does. It is 4 if the service
could not be asked, or only in part and the rest needs nobody; 2 is a wrong command line.
A part whose scope the key lacks is left out, and the last line says so.

Limits. A post is overdue 15 minutes after its time, and a post or reply is stuck after 15
minutes in sending. Of waiting reviews 200 are counted, of posts 50, and the output says 200+.
Of boards in use, the 10 that changed last are previewed. Of each site, the last audit is
compared with the complete one before; the last 50 audits of all sites are read. One check uses at most 33 requests of the read quota.

Goals. ` + attention.GoalRule + `
At most 10 metrics of goals are read, those of the goals with the highest priority first.`,
		Example: `  workspace status
  workspace status --json
  workspace status >/dev/null || echo '!'`,
	}
	u.table.RegisterDemo(cmd.Flags())
	service.register(cmd.Flags())
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return u.status(cmd.Context(), service) }
	return cmd
}

func (u *userCommands) status(ctx context.Context, service serviceFlags) error {
	r, err := u.connect(service)
	if err != nil {
		return terminal.NewUnknownError(err)
	}
	status, err := attention.Read(ctx, r.client, u.Now())
	if err != nil {
		return terminal.NewUnknownError(u.explainCallError(err, r))
	}
	if err := u.Print(status, "%s", statusText(status, terminal.Width(u.Out))); err != nil {
		return terminal.NewUnknownError(err)
	}
	switch {
	case len(status.Needs) > 0:
		return terminal.ErrFinding
	case !status.Complete():
		return terminal.NewUnknownError(errors.New("a part could not be read, so it is not known whether anything needs a person"))
	}
	return nil
}

// statusText formats a status, with one line for each of its Needs. It cuts lines to the width of
// the terminal, unless width is 0.
func statusText(s attention.Status, width int) string {
	var lines []string
	for _, n := range s.Needs {
		lines = append(lines, n.Text)
	}
	switch {
	case len(lines) > 0:
	case s.Complete():
		lines = []string{"nothing needs a person"}
	default:
		lines = []string{"it is not known whether anything needs a person"}
	}
	if text := gapsText(s.NotChecked); text != "" {
		lines = append(lines, "not checked: "+text)
	}
	for i, line := range lines {
		lines[i] = terminal.EscapeControls(line)
		if width > 0 {
			lines[i] = cutText(lines[i], width)
		}
	}
	return strings.Join(lines, "\n") + "\n"
}

// gapsText lists what could not be read, on one line.
func gapsText(gaps []batch.Gap) string {
	var parts []string
	for _, g := range gaps {
		parts = append(parts, fmt.Sprintf("%s (%s)", g.Part, g.Reason))
	}
	return strings.Join(parts, ", ")
}

package user

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"growthworkspace/scripts/workspace/terminal"
	"growthworkspace/shared/client"
)

func (u *userCommands) statusCommand() *cobra.Command {
	var service serviceFlags
	cmd := &cobra.Command{
		Use: "status", Short: "Say in at most ten lines what needs a person", Args: terminal.RequireArgs(),
		Long: `Say in at most ten lines what needs a person, for a shell prompt, a cron job or an agent:
replies to approve, reviews without a reply, replies and posts that failed or are stuck,
posts overdue or drafted by an agent, channels that fail or soon will, boards with unpublished
changes, metrics without new values or to confirm, goals that are behind, reached or overdue,
audits whose scores fell or that failed, and keys that expire. It changes nothing.

The exit code is 0 if nothing needs a person and 1 if something does. It is 4 if the service
could not be asked; 2 is a wrong command line. A part whose scope the key lacks is left out,
and the last line says so.

It shows the response of ` + "`api get_company_overview`" + ` and uses one request of the read quota.
Counts stop at 1,000.`,
		Example: `  workspace status
  workspace status --json
  workspace status >/dev/null || echo '!'`,
	}
	u.table.RegisterDemo(cmd.Flags())
	service.register(cmd.Flags())
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return u.status(cmd.Context(), service) }
	return cmd
}

// errNothingChecked means that the key has none of the scopes of what may need a person.
var errNothingChecked = errors.New(
	"the key has no scope that reads reviews, posts, boards, metrics, goals, audits or keys, so nothing was checked")

func (u *userCommands) status(ctx context.Context, service serviceFlags) error {
	r, err := u.connect(service)
	if err != nil {
		return terminal.NewUnknownError(err)
	}
	var response client.Response
	overview, err := r.client.GetCompanyOverview(ctx, client.Into(&response))
	if err != nil {
		return terminal.NewUnknownError(u.explainCallError(err, r))
	}
	if len(scopesOfAttention(overview.Missing)) == attentionScopes {
		return terminal.NewUnknownError(errNothingChecked)
	}
	if u.JSON {
		err = u.Write(strings.TrimSuffix(string(response.Body), "\n") + "\n")
	} else {
		err = u.Write(statusText(overview, terminal.Width(u.Out)))
	}
	switch {
	case err != nil:
		return terminal.NewUnknownError(err)
	case len(overview.Attention) > 0:
		return terminal.ErrFinding
	}
	return nil
}

// attentionScopes is the number of scopes that what may need a person depends on.
const attentionScopes = 7

// scopesOfAttention leaves out the scope that hides nothing that needs a person: the company has the
// time zone of the days.
func scopesOfAttention(missing []client.Scope) (out []string) {
	for _, scope := range missing {
		if scope != "company:read" {
			out = append(out, string(scope))
		}
	}
	return out
}

// attentionNouns are the singular and the plural of the kinds of what needs a person.
var attentionNouns = map[client.OverviewKind][2]string{
	client.OverviewKindReplyToApprove:     {"reply to approve", "replies to approve"},
	client.OverviewKindReviewUrgent:       {"urgent review without a reply", "urgent reviews without a reply"},
	client.OverviewKindReviewUnanswered:   {"review without a reply", "reviews without a reply"},
	client.OverviewKindReplyFailed:        {"reply that failed", "replies that failed"},
	client.OverviewKindReplyStuck:         {"reply stuck in posting", "replies stuck in posting"},
	client.OverviewKindPostOverdue:        {"post overdue", "posts overdue"},
	client.OverviewKindPostFailed:         {"post that failed", "posts that failed"},
	client.OverviewKindPostStuck:          {"post stuck in sending", "posts stuck in sending"},
	client.OverviewKindPostUnread:         {"drafted post to read", "drafted posts to read"},
	client.OverviewKindChannelBroken:      {"channel that fails or soon will", "channels that fail or soon will"},
	client.OverviewKindMetricStale:        {"metric without new values", "metrics without new values"},
	client.OverviewKindMetricToConfirm:    {"metric to confirm", "metrics to confirm"},
	client.OverviewKindGoalBehind:         {"goal behind", "goals behind"},
	client.OverviewKindGoalReached:        {"goal reached", "goals reached"},
	client.OverviewKindGoalOverdue:        {"goal overdue", "goals overdue"},
	client.OverviewKindAuditFallen:        {"audit that fell or failed", "audits that fell or failed"},
	client.OverviewKindRoadmapUnpublished: {"board with unpublished changes", "boards with unpublished changes"},
	client.OverviewKindKeyExpiring:        {"key that expires soon", "keys that expire soon"},
}

// countText returns how many records of a kind need a person.
func countText(a client.Attention) string {
	nouns, known := attentionNouns[a.Kind]
	if !known { // of a later version of the service
		nouns[0] = strings.ReplaceAll(string(a.Kind), "_", " ")
		nouns[1] = nouns[0]
	}
	switch {
	case a.More:
		return fmt.Sprintf("%d+ %s", a.Count, nouns[1])
	case a.Count == 1:
		return "1 " + nouns[0]
	}
	return fmt.Sprintf("%d %s", a.Count, nouns[1])
}

// statusLinesMax is the maximum number of lines for what needs a person. One more line may say what
// was not checked.
const statusLinesMax = 9

// statusText formats what needs a person, with one line for each kind. Kinds that do not fit share
// the last line. It cuts lines to the width of the terminal, unless width is 0.
func statusText(overview client.CompanyOverview, width int) string {
	var lines, others []string
	for i, a := range overview.Attention {
		if i+1 >= statusLinesMax && len(overview.Attention) > statusLinesMax {
			others = append(others, countText(a))
			continue
		}
		line := countText(a)
		if len(a.Items) > 0 {
			line += ", first: " + a.Items[0].Title
			if detail := a.Items[0].Detail.Or(""); detail != "" {
				line += " (" + detail + ")"
			}
		}
		lines = append(lines, line)
	}
	if len(others) > 0 {
		lines = append(lines, "and "+strings.Join(others, ", "))
	}
	if len(lines) == 0 {
		lines = []string{"nothing needs a person"}
	}
	if missing := scopesOfAttention(overview.Missing); len(missing) > 0 {
		lines = append(lines, "not checked, because the key lacks the scopes: "+strings.Join(missing, ", "))
	}
	for i, line := range lines {
		lines[i] = terminal.EscapeControls(line)
		if width > 0 {
			lines[i] = cutText(lines[i], width)
		}
	}
	return strings.Join(lines, "\n") + "\n"
}

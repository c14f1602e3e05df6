package user

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"growthworkspace/scripts/studio/findings"
	"growthworkspace/scripts/workspace/convert"
	"growthworkspace/scripts/workspace/terminal"
	"growthworkspace/shared/client"
)

// scoreNames are the scores of an audit, in the order of the output.
var scoreNames = []string{"scoreSeo", "scoreAeo", "scoreGeo"}

// scoreLimit is a condition of --fail-if.
type scoreLimit struct {
	score, operator string
	limit           float64
}

var scoreLimitPattern = regexp.MustCompile(`^\s*([A-Za-z]+)\s*(<=|<)\s*([0-9.]+)\s*$`)

// parseScoreLimit parses a condition such as "scoreSeo<90".
func parseScoreLimit(text string) (scoreLimit, error) {
	found := scoreLimitPattern.FindStringSubmatch(text)
	if found == nil || !slices.Contains(scoreNames, found[1]) {
		return scoreLimit{}, fmt.Errorf("--fail-if: must be a score, < or <=, and a number, such as scoreSeo<90; the scores are %s", strings.Join(scoreNames, ", "))
	}
	limit, err := strconv.ParseFloat(found[3], 64)
	if err != nil {
		return scoreLimit{}, fmt.Errorf("--fail-if: %q is not a number", found[3])
	}
	return scoreLimit{found[1], found[2], limit}, nil
}

// failure returns a message if the scores meet the condition for a failure, or "" if they do not.
// An unknown score is a failure, because a check that measures nothing must not pass.
func (l scoreLimit) failure(scores map[string]float64) string {
	value, known := scores[l.score]
	switch {
	case !known:
		return fmt.Sprintf("%s is unknown", l.score)
	case value < l.limit || l.operator == "<=" && value == l.limit:
		return fmt.Sprintf("%s is %g, which is %s %g", l.score, value, l.operator, l.limit)
	}
	return ""
}

// pushedAudit is the result for one audit.
type pushedAudit struct {
	ID        string             `json:"id"`
	RootURL   string             `json:"rootUrl"`
	Created   bool               `json:"created"` // false if the service had the audit already
	Scores    map[string]float64 `json:"scores"`
	Before    *previousAudit     `json:"before"` // null if there is none
	NewIssues []string           `json:"newIssues"`
	Failures  []string           `json:"failures"`
}

// previousAudit is the previous audit of the same URL.
type previousAudit struct {
	ID        string             `json:"id"`
	StartedAt string             `json:"startedAt"`
	Scores    map[string]float64 `json:"scores"`
}

// newIssuesMax is the maximum number of new issues that are printed.
const newIssuesMax = 20

func (u *userCommands) pushAuditCommand() *cobra.Command {
	p := &pushFlags{userCommands: u}
	var conditions []string
	var limits []scoreLimit
	cmd := &cobra.Command{
		Use: "audit FILE...", Short: "Push audits of sites, and check their scores",
		Long: `Push audits of sites to the service. An audit that the service has already, with the same
URL and the same start, is skipped. Needs the scopes optimise:read and optimise:write.

With --fail-if 'scoreSeo<90', the exit code is 1 if the score of an audit is below 90 or
unknown, or if the files have no audit. The audits are stored anyway. The output shows the
scores, and the issues that the audit of the same URL before it did not have.`,
		Example: `  npx lighthouse https://example.com --output json --output-path report.json
  workspace push audit --from lighthouse report.json --site sit_... --fail-if 'scoreSeo<90'`,
	}
	cmd.Flags().StringArrayVar(&conditions, "fail-if", nil, "exit with 1 if this `condition` holds, such as scoreSeo<90; may be repeated")
	p.register(cmd, "audit", func(ctx context.Context, c connection, r *convert.Result) error {
		return p.sendAudits(ctx, c, r, limits)
	})
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		for _, text := range conditions {
			limit, err := parseScoreLimit(text)
			if err != nil {
				return terminal.NewCommandUsageError(cmd, "%s", err)
			}
			limits = append(limits, limit)
		}
		return run(cmd, args)
	}
	return cmd
}

// sendAudits pushes audits one after the other, prints the result, and returns an error if a
// condition of --fail-if holds.
func (p *pushFlags) sendAudits(ctx context.Context, c connection, r *convert.Result, limits []scoreLimit) error {
	done := []pushedAudit{}
	err := r.Each(func(l convert.Line) error {
		kind, audit, _, err := decodePushed[client.CreateOptimiseAuditInput](l.JSON)
		if err != nil {
			return err
		}
		if err := foreignTypeError(l, kind, "audit"); err != nil {
			return err
		}
		if _, ok := audit.StartedAt.Get(); !ok {
			return fmt.Errorf("%s: record.startedAt: is required, because it and rootUrl tell whether the service has the audit; %d of %d records are pushed", l.Place(), len(done), r.Total())
		}
		pushed, err := pushOneAudit(ctx, c, audit)
		if err != nil {
			return p.explainBatchError(err, c, nil, len(done), r.Total())
		}
		for _, limit := range limits {
			if failure := limit.failure(pushed.Scores); failure != "" {
				pushed.Failures = append(pushed.Failures, failure)
			}
		}
		done = append(done, pushed)
		return nil
	})
	if err != nil {
		return err
	}
	if len(done) == 0 && len(limits) > 0 {
		return errors.New("--fail-if: the files have no audit, so there is no score to check")
	}
	var lines, failures []string
	for _, a := range done {
		lines = append(lines, a.lines()...)
		for _, failure := range a.Failures {
			failures = append(failures, terminal.EscapeControls(a.RootURL)+": "+failure)
		}
	}
	if err := p.Print(terminal.ItemList[pushedAudit]{Items: done}, "%s", strings.Join(lines, "\n")); err != nil {
		return err
	}
	if len(failures) > 0 {
		return fmt.Errorf("%s", strings.Join(failures, "\n"))
	}
	return nil
}

// pushOneAudit creates an audit unless the service already has it, and compares it with the
// previous audit.
func pushOneAudit(ctx context.Context, c connection, in client.CreateOptimiseAuditInput) (pushedAudit, error) {
	out := pushedAudit{RootURL: in.RootURL, NewIssues: []string{}, Failures: []string{}, Scores: knownScores(in.ScoreSEO, in.ScoreAEO, in.ScoreGEO)}
	started, _ := in.StartedAt.Get()
	started = started.Truncate(time.Millisecond) // the service stores times in milliseconds
	list := client.ListOptimiseAuditsInput{Limit: client.Value(50), SiteID: in.SiteID}
	for audit, err := range c.client.AllOptimiseAudits(ctx, list) {
		if err != nil {
			return out, err
		}
		at, _ := audit.StartedAt.Get()
		if audit.RootURL.Or("") != in.RootURL {
			continue
		}
		if at.Equal(started) {
			out.ID = audit.ID
		}
		if at.Before(started) { // the list is sorted by this time, newest first
			out.Before = &previousAudit{audit.ID, at.Format("2006-01-02T15:04:05Z07:00"), knownScores(audit.ScoreSEO, audit.ScoreAEO, audit.ScoreGEO)}
			break
		}
	}
	if out.ID == "" {
		created, err := c.client.CreateOptimiseAudit(ctx, in)
		if err != nil {
			return out, err
		}
		out.ID, out.Created = created.ID, true
	}
	if out.Before == nil {
		return out, nil
	}
	before, err := c.client.GetOptimiseAudit(ctx, client.GetOptimiseAuditInput{AuditID: out.Before.ID})
	if err != nil {
		return out, err
	}
	fresh, _ := findings.Compare(findings.Read(in.Findings.Or(nil), in.RootURL), findings.Read(before.Findings.Or(nil), in.RootURL))
	for _, issue := range fresh {
		out.NewIssues = append(out.NewIssues, strings.TrimSpace(issue.Page+" "+issue.Text))
	}
	return out, nil
}

func knownScores(scores ...client.Optional[float64]) map[string]float64 {
	out := map[string]float64{}
	for i, score := range scores {
		if value, ok := score.Get(); ok {
			out[scoreNames[i]] = value
		}
	}
	return out
}

func (a pushedAudit) lines() []string {
	head := "pushed"
	if !a.Created {
		head = "was pushed before"
	}
	lines := []string{fmt.Sprintf("%s %s %s", head, a.ID, terminal.EscapeControls(a.RootURL))}
	for _, name := range scoreNames {
		value, known := a.Scores[name]
		if !known {
			continue
		}
		line := fmt.Sprintf("  %s %g", name, value)
		if a.Before != nil {
			if before, known := a.Before.Scores[name]; known {
				line += fmt.Sprintf(" (%+g since %s)", value-before, a.Before.StartedAt)
			}
		}
		lines = append(lines, line)
	}
	for _, issue := range a.NewIssues[:min(len(a.NewIssues), newIssuesMax)] {
		lines = append(lines, "  new: "+terminal.EscapeControls(issue))
	}
	if more := len(a.NewIssues) - newIssuesMax; more > 0 {
		lines = append(lines, fmt.Sprintf("  and %d more new issues", more))
	}
	return lines
}

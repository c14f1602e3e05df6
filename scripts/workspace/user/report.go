package user

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"growthworkspace/scripts/studio/batch"
	"growthworkspace/scripts/studio/report"
	"growthworkspace/scripts/workspace/terminal"
)

// reportFlags holds the values of the report's flags.
type reportFlags struct {
	serviceFlags

	week, html string
	markdown   bool
}

func (u *userCommands) reportCommand() *cobra.Command {
	var f reportFlags
	cmd := &cobra.Command{
		Use: "report", Short: "Put a company's week on one page: terminal, Markdown or HTML", Args: terminal.RequireArgs(),
		Long: `Put a company's week on one page: metrics and brand goals against the week before, reviews by
stars and what waits for an answer, what was published on the roadmap, posts sent, failed and
next, and audits that changed. It reads the API with a key and changes nothing.

A week is one of the ISO calendar, Monday to Sunday, in the company's time zone (UTC if it has
none). The default is the last week that is over. "this" is the current week: its finished days
are compared with the same weekdays of the week before, and reviews until the same time.

--html writes one file without scripts and without anything to load, for an e-mail or a browser;
"-" is standard output. --markdown prints Markdown. --json prints everything as JSON.

A part whose scope the key lacks is left out, and the last lines say so. If a part cannot be read
for another reason, the report is printed without it, and the exit code is 1. A report uses 12 to
38 requests of the read quota, and up to 48 for a week that is not over.`,
		Example: `  workspace report
  workspace report --week 2026-W47 --markdown
  workspace report --html week.html`,
	}
	u.table.RegisterDemo(cmd.Flags())
	f.register(cmd.Flags())
	cmd.Flags().StringVar(&f.week, "week", report.LastWeek, "the `week` to report: 2026-W47, this or last")
	cmd.Flags().StringVar(&f.html, "html", "", "write an HTML page to this `file`; - is standard output")
	cmd.Flags().BoolVar(&f.markdown, "markdown", false, "print Markdown")
	cmd.MarkFlagsMutuallyExclusive("html", "markdown")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := report.CheckWeek(f.week); err != nil {
			return terminal.NewCommandUsageError(cmd, "--week: %s", err)
		}
		if u.JSON && (f.markdown || f.html == "-") {
			return terminal.NewCommandUsageError(cmd, "--json cannot be combined with --markdown or --html -")
		}
		err := u.report(cmd.Context(), f)
		if errors.Is(err, report.ErrFuture) {
			return terminal.NewCommandUsageError(cmd, "--week: %s", err)
		}
		return err
	}
	return cmd
}

func (u *userCommands) report(ctx context.Context, f reportFlags) error {
	r, err := u.connect(f.serviceFlags)
	if err != nil {
		return err
	}
	week, err := report.Read(ctx, r.client, f.week, u.Now())
	if err != nil {
		return u.explainCallError(err, r)
	}
	if err := u.printReport(week, f); err != nil {
		return err
	}
	if gaps := week.FailedParts(); len(gaps) > 0 {
		return fmt.Errorf("the report is not complete: %s", gapsText(gaps))
	}
	return nil
}

// printReport prints the report in the form that the flags choose.
func (u *userCommands) printReport(week report.Report, f reportFlags) error {
	switch {
	case f.html != "":
		page, err := week.HTML()
		if err != nil {
			return err
		}
		if f.html == "-" {
			return u.Write(string(page))
		}
		if err := os.WriteFile(f.html, page, 0o600); err != nil { // private, because it contains a company's numbers
			return fmt.Errorf("write the report: %w", err)
		}
		return u.Print(reportResult{f.html, week.Week}, "%s: %s\n", f.html, week.Title)
	case u.JSON:
		return terminal.PrintJSON(u.Out, week)
	case f.markdown:
		return u.Write(week.Markdown())
	}
	return u.Write(formatValue(week.Text(), "\n"))
}

// reportResult is the output of --html with --json.
type reportResult struct {
	File string `json:"file"`
	Week string `json:"week"`
}

// gapsText lists what could not be read, on one line.
func gapsText(gaps []batch.Gap) string {
	var parts []string
	for _, g := range gaps {
		parts = append(parts, fmt.Sprintf("%s (%s)", g.Part, g.Reason))
	}
	return strings.Join(parts, ", ")
}

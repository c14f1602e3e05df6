package user

import (
	"errors"
	"fmt"
	"net/url"

	"github.com/spf13/cobra"

	"growthworkspace/scripts/check/conformance"
	"growthworkspace/scripts/workspace/terminal"
)

func (u *userCommands) checkCommand() *cobra.Command {
	var service serviceFlags
	var rules []string
	var write bool
	cmd := &cobra.Command{
		Use: "check [BASE_URL]", Short: "Check an implementation of the API against its rules", Args: terminal.RequireArgs("[BASE_URL]"),
		Long: `Check the rules of the API against any implementation and report which hold. It learns
the operations from the OpenAPI document that the service serves, and uses the service and
the key that "workspace api" would use; BASE_URL is the same as --base-url. With more scopes
and more records, more rules can be checked. The others are skipped, with the reason.

Without --write nothing is changed. With --write, records of every kind and a key are
created, changed and deleted, and a board of their own is published. The feed of changes and
the trail keep what happened: use a separate company for this, and name its service.

Each rule names the section of the reference that states it: errors#codes is on the page
/docs/reference/errors.md of every server.

The exit code is 1 when a rule does not hold.`,
		Example: "  workspace check http://127.0.0.1:8080\n  workspace check --profile staging --write --json\n  workspace check http://127.0.0.1:8080 --rule limits --rule paging",
	}
	u.table.RegisterDemo(cmd.Flags())
	service.registerBaseURL(cmd.Flags())
	cmd.Flags().BoolVar(&write, "write", false, "also create, change and delete records")
	cmd.Flags().StringArrayVar(&rules, "rule", nil, "only this `rule`; may be repeated")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := conformance.CheckRuleNames(rules...); err != nil {
			return terminal.NewCommandUsageError(cmd, "%s", err)
		}
		if len(args) > 0 && service.baseURL != "" {
			return terminal.NewCommandUsageError(cmd, "BASE_URL is the same as --base-url: leave one out")
		}
		if len(args) > 0 {
			service.baseURL = args[0]
		}
		if write && service.baseURL == "" && service.profile == "" {
			return terminal.NewCommandUsageError(cmd, "--write: name the service whose records may change, with BASE_URL, --base-url or --profile")
		}
		return u.check(cmd, service, conformance.Options{Rules: rules, Write: write, Wait: u.Wait})
	}
	completeFlag(cmd, "rule", cobra.FixedCompletions(conformance.RuleNames(), cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func (u *userCommands) check(cmd *cobra.Command, service serviceFlags, o conformance.Options) error {
	c, err := u.findCredential(service)
	if err != nil {
		return err
	}
	if u, err := url.Parse(c.BaseURL); err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return terminal.NewCommandUsageError(cmd, "BASE_URL must be a URL such as https://api.example.com, not %q", c.BaseURL)
	}
	if o.BaseURL, o.Key = c.BaseURL, c.Key; o.Key == "" {
		return u.noKeyError(o.BaseURL)
	}
	report, runErr := conformance.Run(cmd.Context(), o)
	if report.Rules == nil && runErr != nil {
		return u.explainNetworkError(runErr, o.BaseURL)
	}
	if err := errors.Join(u.Print(report, "%s", report.String()), runErr); err != nil {
		return err
	}
	if report.Failed > 0 {
		return fmt.Errorf("%d of %d rules do not hold", report.Failed, len(report.Rules))
	}
	return nil
}

package user

import (
	"fmt"
	"net/url"

	"github.com/spf13/cobra"

	"growthworkspace/scripts/contract"
	"growthworkspace/scripts/workspace/terminal"
)

func (u *userCommands) checkCommand() *cobra.Command {
	var service serviceFlags
	var rules []string
	var write bool
	cmd := &cobra.Command{
		Use: "check [BASE_URL]", Short: "Check an implementation of the API against its contract", Args: terminal.RequireArgs("[BASE_URL]"),
		Long: `Check the rules of the specification against any implementation and report which hold.
It uses the service and the key that "workspace api" would use; BASE_URL is the same as
--base-url. With more scopes and more records, more rules can be checked. The others are
skipped, with the reason.

Without --write nothing is changed. With --write, items and posts are created, changed and
deleted, and invalid updates of the company are sent, which the service must reject. Use a
separate company for this, and name its service. Nothing is ever published.

Each rule names the section of scripts/docs/reference that states it, such as errors#codes.
A rule about an optional feature is skipped when the service does not have it.

The exit code is 1 when a rule does not hold.`,
		Example: "  workspace check http://127.0.0.1:8080\n  workspace check --profile staging --write --json\n  workspace check http://127.0.0.1:8080 --rule limit-honoured --rule limit-bounds",
	}
	u.table.RegisterDemo(cmd.Flags())
	service.registerBaseURL(cmd.Flags())
	cmd.Flags().BoolVar(&write, "write", false, "also create, change and delete records")
	cmd.Flags().StringArrayVar(&rules, "rule", nil, "only this `rule`; may be repeated")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		chosen, err := contract.SelectRules(contract.RuleNames(false), rules)
		if err != nil {
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
		return u.check(cmd, service, contract.Options{Rules: chosen, Write: write, Wait: u.Wait})
	}
	if err := cmd.RegisterFlagCompletionFunc("rule", cobra.FixedCompletions(contract.RuleNames(false), cobra.ShellCompDirectiveNoFileComp)); err != nil {
		panic("workspace: " + err.Error()) // registering a second completion for a flag is a bug
	}
	return cmd
}

func (u *userCommands) check(cmd *cobra.Command, service serviceFlags, o contract.Options) error {
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
	report, err := contract.Run(cmd.Context(), o)
	if err != nil {
		return u.explainNetworkError(err, o.BaseURL)
	}
	if err := u.Print(report, "%s", report.String()); err != nil {
		return err
	}
	if report.Failed > 0 {
		return fmt.Errorf("%d of %d rules do not hold", report.Failed, len(report.Rules))
	}
	return nil
}

package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// outcome is how a rule came out.
type outcome string

const (
	passed  outcome = "pass"
	failed  outcome = "fail"
	skipped outcome = "skip"
)

// ruleResult is a rule of the report.
type ruleResult struct {
	Rule     string   `json:"rule"`
	Section  string   `json:"section"` // of the specification, or of the decisions where it is silent
	Title    string   `json:"title"`
	Result   outcome  `json:"result"`
	Detail   string   `json:"detail"`   // what was looked at, or why nothing was
	Problems []string `json:"problems"` // what breaks the rule
}

type checkReport struct {
	BaseURL string       `json:"baseUrl"`
	Company string       `json:"companyId"`
	Passed  int          `json:"passed"`
	Failed  int          `json:"failed"`
	Skipped int          `json:"skipped"`
	Rules   []ruleResult `json:"rules"`
}

func (a *app) checkCommand() *cobra.Command {
	var only []string
	var write, specification bool
	cmd := &cobra.Command{
		Use: "check BASE_URL", Short: "Hold an implementation of the API to its contract", Args: takes("BASE_URL"),
		Long: `Run the rules of the API against any implementation of it and report which hold. The key
is that of WORKSPACE_KEY, or of "workspace login" for this base URL; the more scopes it
has and the more records its company, the more is looked at. What cannot be looked at is
skipped, with the reason.

Nothing is changed, unless --write is given: then items and posts are made, changed and
removed again, and updates of the company are sent that must be refused. Use a company
of its own for that. Nothing is ever published.

A rule cites the section that it is from: spec.md is the specification, decisions.md what
this implementation decided where that is silent; --spec leaves the latter out. A rule
that is about something optional is skipped where that is not offered.

The exit code is 1 when a rule does not hold.`,
		Example: "  workspace check http://127.0.0.1:8080\n  workspace check https://api.example.com --write --json\n  workspace check http://127.0.0.1:8080 --rule paging --rule limit-bounds",
	}
	cmd.Flags().BoolVar(&write, "write", false, "also make, change and remove records")
	cmd.Flags().BoolVar(&specification, "spec", false, "only rules of spec.md")
	cmd.Flags().StringArrayVar(&only, "rule", nil, "only this `rule`; may be repeated")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		chosen, err := choose(only, specification)
		if err != nil {
			return misuse(cmd, "%s", err)
		}
		if u, err := url.Parse(args[0]); err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
			return misuse(cmd, "BASE_URL must be a URL such as https://api.example.com, not %q", args[0])
		}
		return a.check(cmd.Context(), strings.TrimRight(args[0], "/"), chosen, write)
	}
	names := make([]string, 0, len(rules()))
	for _, r := range rules() {
		names = append(names, r.name)
	}
	if err := cmd.RegisterFlagCompletionFunc("rule", cobra.FixedCompletions(names, cobra.ShellCompDirectiveNoFileComp)); err != nil {
		panic("workspace: " + err.Error()) // two completions for one flag
	}
	return cmd
}

// choose returns the rules of these names, all of them for none.
func choose(names []string, specification bool) ([]rule, error) {
	var out []rule
	for _, r := range rules() {
		if (len(names) == 0 || slices.Contains(names, r.name)) && (!specification || strings.HasPrefix(r.section, "spec.md")) {
			out = append(out, r)
		}
	}
	for _, name := range names {
		if !slices.ContainsFunc(rules(), func(r rule) bool { return r.name == name }) {
			all := make([]string, 0, len(rules()))
			for _, r := range rules() {
				all = append(all, r.name)
			}
			return nil, fmt.Errorf("no rule %q: the rules are %s", name, strings.Join(all, ", "))
		}
	}
	if len(out) == 0 {
		return nil, errors.New("--spec leaves none of the rules that --rule names")
	}
	return out, nil
}

// checkTimeout is above the 29 s that a gateway takes at most.
const checkTimeout = 35 * time.Second

func (a *app) check(ctx context.Context, base string, chosen []rule, write bool) error {
	c, err := a.credential(remote{baseURL: base})
	if err != nil {
		return err
	}
	if c.Key == "" {
		return errNoKey(base)
	}
	k := &kit{
		ctx: ctx, base: base, key: c.Key, write: write, sleep: a.waitAloud, seen: map[string]bool{},
		observed: map[string][]string{}, relevant: map[string]int{},
		http: &http.Client{Timeout: checkTimeout, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
	}
	if err := k.prime(); err != nil {
		return err
	}
	report := checkReport{BaseURL: base, Company: k.company}
	for _, r := range chosen {
		result := k.run(r)
		report.Rules = append(report.Rules, result)
		switch result.Result {
		case passed:
			report.Passed++
		case failed:
			report.Failed++
		case skipped:
			report.Skipped++
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	if err := a.printReport(report); err != nil {
		return err
	}
	if report.Failed > 0 {
		return &reportedError{fmt.Sprintf("%d of %d rules do not hold", report.Failed, len(report.Rules))}
	}
	return nil
}

func (a *app) printReport(r checkReport) error {
	var text strings.Builder
	fmt.Fprintf(&text, "%s, company %s\n\n", r.BaseURL, r.Company)
	width := 0
	for _, rule := range r.Rules {
		width = max(width, len(rule.Rule))
	}
	for _, rule := range r.Rules {
		fmt.Fprintf(&text, "%s  %-*s  %s (%s)\n", rule.Result, width, rule.Rule, rule.Title, rule.Section)
		if rule.Detail != "" && rule.Result != passed {
			fmt.Fprintf(&text, "      %*s  %s\n", width, "", shown(&rule.Detail))
		}
		for _, problem := range rule.Problems {
			fmt.Fprintf(&text, "      %*s  - %s\n", width, "", shown(&problem))
		}
	}
	fmt.Fprintf(&text, "\n%d passed, %d failed, %d skipped\n", r.Passed, r.Failed, r.Skipped)
	return a.print(r, "%s", text.String())
}

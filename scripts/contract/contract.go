// Package contract checks a service against the rules of the API. `workspace check` uses it to
// check the rules of the specification on any implementation. `check api` uses it to check a
// deployment against all rules, including those that only this implementation has. The deployment
// must have a company with a record of every kind.
//
// Reading order: this file (a run and its report), rule.go (the rules), runner.go (requests and
// their checks), discover.go (the first requests of a run), observe.go (the rules of every
// response), then the files of the other rules.
package contract

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
)

// Options select the service, the rules, and what a run may change.
type Options struct {
	BaseURL string // without a trailing slash
	Key     string
	Rules   []Rule                                           // the rules to check, from SelectRules
	Write   bool                                             // may also create, change and delete records of its own
	Publish bool                                             // may also publish a board and change existing records
	Strict  bool                                             // a rule fails if it could check nothing, so the company needs a record of every kind
	HTTP    *http.Client                                     // the client to use; nil: a new one
	Wait    func(ctx context.Context, d time.Duration) error // waits for a quota to refill
}

// Outcome is the result of a rule.
type Outcome string

// The outcomes.
const (
	Passed  Outcome = "pass"
	Failed  Outcome = "fail"
	Skipped Outcome = "skip"
)

// Result is the result of one rule in the report.
type Result struct {
	Rule      string   `json:"rule"`
	Section   string   `json:"section"`   // the section of scripts/docs/reference that states the rule, such as errors#codes
	Specified bool     `json:"specified"` // whether the specification states the rule; if not, this implementation added it
	Title     string   `json:"title"`
	Outcome   Outcome  `json:"result"`
	Detail    string   `json:"detail"`   // says how many checks there were, or why there were none
	Problems  []string `json:"problems"` // the ways in which the service breaks the rule
}

// Report is the result of a run.
type Report struct {
	BaseURL string   `json:"baseUrl"`
	Company string   `json:"companyId"`
	Passed  int      `json:"passed"`
	Failed  int      `json:"failed"`
	Skipped int      `json:"skipped"`
	Rules   []Result `json:"rules"`
}

// RuleNames returns the names of the rules to check. By default, these are the specification's
// rules that can be checked with any company. If deployed is set, it returns all rules, including
// those of this implementation and those that publish, change existing records, or need a company
// with a record of every kind.
func RuleNames(deployed bool) (names []string) {
	for _, r := range rules {
		if r.specified && r.level <= levelWrites || deployed {
			names = append(names, r.name)
		}
	}
	return names
}

// SelectRules returns the rules whose names are in both lists, or all rules in `names` if `only` is
// empty. It returns an error if `only` contains a name that is not in `names`.
func SelectRules(names, only []string) (chosen []Rule, err error) {
	for _, name := range only {
		if !slices.Contains(names, name) {
			return nil, fmt.Errorf("no rule %q: the rules are %s", name, strings.Join(names, ", "))
		}
	}
	for _, r := range rules {
		if slices.Contains(names, r.name) && (len(only) == 0 || slices.Contains(only, r.name)) {
			chosen = append(chosen, r)
		}
	}
	return chosen, nil
}

// callTimeout is the timeout for one request. It is longer than the 29 s that API Gateway waits for
// a function.
const callTimeout = 35 * time.Second

// Run checks a service against the rules. It returns an error if the service does not respond, or
// if the key does not belong to a company.
func Run(ctx context.Context, o Options) (Report, error) {
	if o.HTTP == nil {
		o.HTTP = &http.Client{Transport: http.DefaultTransport.(*http.Transport).Clone()} // a transport of its own, so that nothing else closes its connections
	}
	o.HTTP.Timeout = callTimeout
	o.HTTP.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	k := &runner{Options: o, ctx: ctx, requestIDs: map[string]bool{}, observedProblems: map[string][]string{}, observedCounts: map[string]int{}}
	if err := k.discover(); err != nil {
		return Report{}, err
	}
	report := Report{BaseURL: o.BaseURL, Company: k.company}
	for _, r := range o.Rules {
		result := k.check(r)
		report.Rules = append(report.Rules, result)
		switch result.Outcome {
		case Passed:
			report.Passed++
		case Failed:
			report.Failed++
		case Skipped:
			report.Skipped++
		}
		if ctx.Err() != nil {
			return report, ctx.Err()
		}
	}
	return report, nil
}

func (k *runner) check(r Rule) Result {
	k.ruleResult = ruleResult{}
	out := Result{Rule: r.name, Section: r.section, Specified: r.specified, Title: r.title, Problems: []string{}}
	isAllowed := r.level == levelReads || r.level == levelWrites && k.Write || r.level == levelPublishes && k.Publish || r.level == levelAllRecords && k.Strict
	switch {
	case isAllowed:
		r.run(k)
	case r.level == levelAllRecords:
		k.skip("it needs a company with a record of every kind")
	default:
		k.skip("it changes records: give --write")
	}
	if k.skipReason == "" {
		k.skipReason = "there was nothing to check"
	}
	if isAllowed && k.Strict && k.checkCount == 0 && !k.mayCheckNothing {
		k.fail("%s", k.skipReason)
	}
	switch {
	case len(k.problems) > 0:
		out.Outcome, out.Problems = Failed, k.problems
	case k.checkCount == 0:
		out.Outcome, out.Detail = Skipped, k.skipReason
	default:
		out.Outcome, out.Detail = Passed, fmt.Sprintf("%d checked", k.checkCount)
	}
	return out
}

// String formats the report as text.
func (r Report) String() string {
	var text strings.Builder
	fmt.Fprintf(&text, "%s, company %s\n\n", r.BaseURL, r.Company)
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	for _, rule := range r.Rules {
		fmt.Fprintf(w, "%s\t%s\t%s (%s)\n", rule.Outcome, rule.Rule, rule.Title, rule.Section)
		if rule.Detail != "" && rule.Outcome != Passed {
			fmt.Fprintf(w, "\t\t%s\n", escapeControls(rule.Detail))
		}
		for _, problem := range rule.Problems {
			fmt.Fprintf(w, "\t\t- %s\n", escapeControls(problem))
		}
	}
	_ = w.Flush() // writing to a strings.Builder cannot fail
	fmt.Fprintf(&text, "\n%d passed, %d failed, %d skipped\n", r.Passed, r.Failed, r.Skipped)
	return text.String()
}

// escapeControls escapes control characters in strings from the service, so that they cannot affect
// the terminal.
func escapeControls(text string) string {
	quoted := strconv.QuoteToGraphic(text)
	return strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`)
}

// Package contract is the rules of the API, held against any service that implements it. `workspace check` runs them
// for users, and `prove contract` proves with them that a deployment works as a whole.
//
// Reading order: this file (a run and its report), rule.go (the rules), kit.go (requests, and what every response must
// have), prime.go (what a run learns first), then the rules by what they look at.
package contract

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
)

// Options say what is held to the contract, and how far a run may go.
type Options struct {
	BaseURL string // without a slash at its end
	Key     string
	Rules   []Rule                                           // of Choose
	Write   bool                                             // also create, change and remove records; the company is as before afterwards
	Publish bool                                             // also publish a board and change records for good
	Strict  bool                                             // the company has a record of every kind, so a rule that finds nothing to look at fails
	HTTP    *http.Client                                     // nil: a client of its own
	Wait    func(ctx context.Context, d time.Duration) error // for a quota
}

// Outcome is the result of a rule.
type Outcome string

// The outcomes.
const (
	Passed  Outcome = "pass"
	Failed  Outcome = "fail"
	Skipped Outcome = "skip"
)

// Result is a rule of the report.
type Result struct {
	Rule     string   `json:"rule"`
	Section  string   `json:"section"` // of the specification, or of the decisions where it is silent
	Title    string   `json:"title"`
	Result   Outcome  `json:"result"`
	Detail   string   `json:"detail"`   // what was looked at, or why nothing was
	Problems []string `json:"problems"` // what breaks the rule
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

// Names returns the names of the rules: those for any company, or with deployed also those that publish, change records
// for good, or need a company that has a record of every kind.
func Names(deployed bool) (names []string) {
	for _, r := range rules {
		if r.level <= writes || deployed {
			names = append(names, r.name)
		}
	}
	return names
}

// Choose returns the rules among names, which are all that there are, that only names; all of them when it is empty. With
// specification it leaves out those that are not from the specification. It fails for an unknown name, and when nothing
// is left.
func Choose(names, only []string, specification bool) (chosen []Rule, err error) {
	for _, name := range only {
		if !slices.Contains(names, name) {
			return nil, fmt.Errorf("no rule %q: the rules are %s", name, strings.Join(names, ", "))
		}
	}
	for _, r := range rules {
		if slices.Contains(names, r.name) && (len(only) == 0 || slices.Contains(only, r.name)) && (!specification || strings.HasPrefix(r.section, "spec.md")) {
			chosen = append(chosen, r)
		}
	}
	if len(chosen) == 0 {
		return nil, errors.New("--spec leaves none of the rules that --rule names")
	}
	return chosen, nil
}

// callTimeout is above the 29 s that a gateway waits for a function.
const callTimeout = 35 * time.Second

// Run holds a service to the rules. An error means that there is no such service, or that the key does not open a company.
func Run(ctx context.Context, o Options) (Report, error) {
	if o.HTTP == nil {
		o.HTTP = &http.Client{}
	}
	o.HTTP.Timeout = callTimeout
	o.HTTP.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	k := &kit{Options: o, ctx: ctx, seen: map[string]bool{}, observed: map[string][]string{}, relevant: map[string]int{}}
	if err := k.prime(); err != nil {
		return Report{}, err
	}
	report := Report{BaseURL: o.BaseURL, Company: k.company}
	for _, r := range o.Rules {
		result := k.hold(r)
		report.Rules = append(report.Rules, result)
		switch result.Result {
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

// hold runs a rule.
func (k *kit) hold(r Rule) Result {
	k.finding = finding{}
	out := Result{Rule: r.name, Section: r.section, Title: r.title, Problems: []string{}}
	may := r.level == reads || r.level == writes && k.Write || r.level == publishes && k.Publish || r.level == complete && k.Strict
	switch {
	case may:
		r.run(k)
	case r.level == complete:
		k.skip("it is for a company that has a record of every kind")
	default:
		k.skip("it changes records: give --write")
	}
	if k.reason == "" {
		k.reason = "nothing was there to be looked at"
	}
	if may && k.Strict && k.looked == 0 && !k.optional {
		k.fail("%s", k.reason)
	}
	switch {
	case len(k.problems) > 0:
		out.Result, out.Problems = Failed, k.problems
	case k.looked == 0:
		out.Result, out.Detail = Skipped, k.reason
	default:
		out.Result, out.Detail = Passed, fmt.Sprintf("%d looked at", k.looked)
	}
	return out
}

// String is the report for people.
func (r Report) String() string {
	var text strings.Builder
	fmt.Fprintf(&text, "%s, company %s\n\n", r.BaseURL, r.Company)
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	for _, rule := range r.Rules {
		fmt.Fprintf(w, "%s\t%s\t%s (%s)\n", rule.Result, rule.Rule, rule.Title, rule.Section)
		if rule.Detail != "" && rule.Result != Passed {
			fmt.Fprintf(w, "\t\t%s\n", shown(rule.Detail))
		}
		for _, problem := range rule.Problems {
			fmt.Fprintf(w, "\t\t- %s\n", shown(problem))
		}
	}
	_ = w.Flush() // a strings.Builder takes everything
	fmt.Fprintf(&text, "\n%d passed, %d failed, %d skipped\n", r.Passed, r.Failed, r.Skipped)
	return text.String()
}

// shown escapes what a service sent, so that it cannot move the cursor.
func shown(text string) string {
	quoted := strconv.QuoteToGraphic(text)
	return strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`)
}

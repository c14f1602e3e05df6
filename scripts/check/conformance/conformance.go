// Package conformance checks that a running service does what the specification of the API says. It
// sends HTTP requests with the key of a company, and learns the operations, their parameters,
// schemas and examples from the OpenAPI document that the service itself serves. `workspace check`,
// `check api` and the checks after a deployment use it.
//
// Reading order: this file (the rules and a run), document.go (the OpenAPI document), service.go
// (requests, and the rules of every response), records.go (the records of a run), then the rules:
// shapes.go, access.go, lists.go, headers.go, tools.go, writes.go.
package conformance

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

// Options select the service and the rules, and say what a run may change.
type Options struct {
	BaseURL string   // without a trailing slash
	Key     string   // a secret key; rules about operations whose scope it lacks check less
	Rules   []string // the names of the rules to check; empty: all
	Skip    []string // the names of rules to leave out

	// Write allows a run to create records and a key, publish a board of its own, and delete them at
	// the end. Records in the feed of changes and the trail remain, so use a company made for it.
	Write bool

	Transport http.RoundTripper                                // nil: a new transport
	Wait      func(ctx context.Context, d time.Duration) error // waits for a quota to refill; nil: sleeps
}

// rule is one rule that every implementation of the API must follow.
type rule struct {
	name    string
	section string // the page and heading in scripts/docs/reference that state the rule, as page#heading
	title   string
	writes  bool // it can only be checked if records may be created
	run     func(*runner)
}

// rules lists the rules in the order in which they run. The last two send no requests, but check all
// responses that the run has received.
var rules = []rule{
	{"document", "clients#the-openapi-document", "/openapi.json needs no key and describes this server", false, checkDocument},
	{"closed-shapes", "requests#responses", "a response has every property of its schema and no other", false, checkClosedShapes},

	{"key", "errors#codes", "without a valid secret key every operation and tool is 401", false, checkKey},
	{"scopes", "keys#scopes", "an operation is open exactly to keys with its scope", false, checkScopes},
	{"company", "requests#paths", "a key opens exactly one company, and another one is 404", false, checkCompany},
	{"unknown-record", "errors#codes", "an unknown record and one of another company get the same 404", false, checkUnknownRecord},
	{"unknown-path", "errors#codes", "an unknown path is 404", false, checkUnknownPath},
	{"methods", "requests#methods", "a wrong method is 405, and Allow lists the right ones", false, checkMethods},

	{"limits", "lists#limits", "a list has at most limit records, and a limit out of range is 400", false, checkLimits},
	{"parameters", "requests#bodies", "an unknown, repeated or missing parameter is 400 and named", false, checkParameters},
	{"paging", "lists#paging", "the pages of a list together are the whole list", false, checkPaging},
	{"cursors", "lists#paging", "a forged cursor, or one of another list, is 400", false, checkCursors},

	{"versions", "versions#which-version-a-request-gets", "the current version can be pinned, and an unknown one is 400", false, checkVersions},
	{"head", "requests#methods", "HEAD is GET without a body", false, checkHead},
	{"entity-tags", "retries#etag-and-preconditions", "If-None-Match of an unchanged record is 304", false, checkEntityTags},

	{"tools", "tools#names-and-arguments", "the tools are the operations, with the same arguments and fitting hints", false, checkTools},
	{"tool-results", "tools#results", "a tool returns what its operation returns, records and errors", false, checkToolResults},

	{"records", "requests#bodies", "a record is stored as it was sent, and an empty update changes nothing", true, checkRecords},
	{"closed-bodies", "requests#bodies", "an unknown or a missing property is 400 and named", true, checkClosedBodies},
	{"preconditions", "retries#etag-and-preconditions", "If-Match with an old ETag is 412 and changes nothing", true, checkPreconditions},
	{"idempotency", "retries#idempotency-key", "requests with the same Idempotency-Key run once", true, checkIdempotency},
	{"publish", "publish#publish", "publishing makes exactly the previewed changes live", true, checkPublish},
	{"deletes", "requests#methods", "a deleted record is gone", true, checkDeletes},

	{"envelope", "errors#the-envelope", "every error has the envelope and a code that fits its status", false, reportObserved("envelope")},
	{"headers", "requests#headers-of-every-response", "every response has the headers of its status", false, reportObserved("headers")},
}

// RuleNames returns the names of the rules in the order in which they run.
func RuleNames() []string {
	names := make([]string, len(rules))
	for i, r := range rules {
		names[i] = r.name
	}
	return names
}

// CheckRuleNames returns an error if a name is not that of a rule.
func CheckRuleNames(names ...string) error {
	all := RuleNames()
	for _, name := range names {
		if !slices.Contains(all, name) {
			return fmt.Errorf("no rule %q: the rules are %s", name, strings.Join(all, ", "))
		}
	}
	return nil
}

// Outcome is the result of a rule.
type Outcome string

// The outcomes.
const (
	Passed  Outcome = "pass"
	Failed  Outcome = "fail"
	Skipped Outcome = "skip"
)

// Result is the result of one rule.
type Result struct {
	Rule     string   `json:"rule"`
	Section  string   `json:"section"` // the section of scripts/docs/reference that states the rule, such as errors#codes
	Title    string   `json:"title"`
	Outcome  Outcome  `json:"result"`
	Detail   string   `json:"detail"`   // says how many checks there were, or why there were none
	Problems []string `json:"problems"` // requests whose responses break the rule, and what was expected
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

// Run checks a service. It returns an error if the options are not valid, or if the service does
// not serve the key's company and the OpenAPI document. If ctx ends, it still deletes what it has
// created, and returns the report so far with the error of ctx.
func Run(ctx context.Context, o Options) (report Report, err error) {
	if err := CheckRuleNames(slices.Concat(o.Rules, o.Skip)...); err != nil {
		return Report{}, err
	}
	k, err := newRunner(ctx, o)
	if err != nil {
		return Report{}, err
	}
	defer func() {
		k.ctx = context.WithoutCancel(ctx)
		k.deleteRecords(func(createdRecord, response) {})
		for _, path := range k.leftBehind {
			err = fmt.Errorf("%s could not be deleted and remains", path)
		}
	}()
	k.createRecords()
	k.readAll()
	report = Report{BaseURL: o.BaseURL, Company: k.company}
	for _, r := range rules {
		if ctx.Err() != nil {
			return report, ctx.Err()
		}
		if len(o.Rules) > 0 && !slices.Contains(o.Rules, r.name) || slices.Contains(o.Skip, r.name) {
			continue
		}
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
	}
	return report, nil
}

func (run *runner) check(r rule) Result {
	run.ruleResult = ruleResult{}
	if r.writes && !run.Write {
		run.skip("it creates records: give --write")
	} else {
		r.run(run)
	}
	out := Result{Rule: r.name, Section: r.section, Title: r.title, Problems: []string{}}
	switch {
	case len(run.problems) > 0:
		out.Outcome, out.Problems = Failed, run.problems
	case run.checkCount == 0:
		run.skip("there was nothing to check")
		out.Outcome, out.Detail = Skipped, run.skipReason
	default:
		out.Outcome, out.Detail = Passed, fmt.Sprintf("%d checked", run.checkCount)
	}
	return out
}

// ruleResult is the result of the running rule so far.
type ruleResult struct {
	problems   []string
	skipReason string // why the rule could check nothing
	checkCount int
}

// problemsMax is the maximum number of problems that a report lists for one rule.
const problemsMax = 8

func (r *ruleResult) fail(format string, args ...any) {
	if len(r.problems) < problemsMax {
		r.problems = append(r.problems, fmt.Sprintf(format, args...))
	}
}

// require counts a check, and fails the rule unless ok is true.
func (r *ruleResult) require(ok bool, format string, args ...any) {
	if r.checkCount++; !ok {
		r.fail(format, args...)
	}
}

// skip remembers why a rule, or a part of it, could not be checked. The report shows the first such
// reason if the rule checks nothing.
func (r *ruleResult) skip(format string, args ...any) {
	if r.skipReason == "" {
		r.skipReason = fmt.Sprintf(format, args...)
	}
}

// String formats the report as text, with one line for each rule and one for each problem.
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

// Package findings reads the findings of a site audit. The service accepts any JSON as findings, so
// this package recognises the formats that auditing tools write: lists of pages with their issues,
// lists of issues with the address of their page, objects that map pages to issues, and Lighthouse
// reports.
package findings

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
)

// Issue is one problem that an audit found.
type Issue struct {
	Page     string // the page's address relative to the audit's root address; empty if the issue concerns the whole site
	Rule     string // the tool's name for the test; may be empty
	Severity string // the tool's name for the severity; may be empty
	Text     string
}

// Page is a page of the site with its issues.
type Page struct {
	Name   string
	Score  float64
	Scored bool
	Issues []Issue
}

// Report holds the pages and issues that an audit found, in the order in which the findings list
// them.
type Report struct {
	Known bool // the findings have one of the formats that Read recognises
	Pages []*Page
}

// Issues returns the issues of all pages.
func (r Report) Issues() (out []Issue) {
	for _, p := range r.Pages {
		out = append(out, p.Issues...)
	}
	return out
}

// Read reads findings from JSON. root is the address at which the audit started.
func Read(text []byte, root string) Report {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var value any
	if d.Decode(&value) != nil {
		return Report{}
	}
	r := &reader{root: strings.TrimSuffix(root, "/"), pages: map[string]*Page{}}
	r.value(value, place{})
	return r.report
}

// Each variable lists the names that different tools use for the same property, with the most
// common one first.
var (
	pageNames     = []string{"page", "url", "path", "pageUrl", "finalDisplayedUrl", "finalUrl", "requestedUrl"}
	ruleNames     = []string{"rule", "ruleId", "code", "id", "check", "type", "key"}
	severityNames = []string{"severity", "level", "impact", "priority"}
	textNames     = []string{"text", "message", "title", "description", "detail", "help", "issue", "name"}
	listNames     = []string{"findings", "issues", "problems", "violations", "errors", "warnings", "pages", "results"}
)

// impliedSeverities maps the name of a list to the severity of its issues. It applies to issues
// that have no severity of their own.
var impliedSeverities = map[string]string{"errors": "error", "warnings": "warning"}

// depthMax is the maximum nesting depth of pages and issues.
const depthMax = 8

type reader struct {
	root   string
	pages  map[string]*Page
	report Report
}

// place describes the position of a value in the findings.
type place struct {
	page, severity string
	listed         bool // whether the value is in a list of pages or issues
	depth          int
}

func (r *reader) value(value any, at place) {
	if at.depth++; at.depth > depthMax {
		return
	}
	switch v := value.(type) {
	case []any:
		at.listed = true
		r.report.Known = r.report.Known || len(v) == 0
		for _, one := range v {
			r.value(one, at)
		}
	case string:
		if at.listed && v != "" {
			r.add(Issue{Page: at.page, Severity: at.severity, Text: v})
		}
	case map[string]any:
		r.object(v, at)
	}
}

func (r *reader) object(v map[string]any, at place) {
	if name := firstValue(v, pageNames); name != "" {
		at.page = r.relativePage(name)
	}
	if audits, ok := v["audits"].(map[string]any); ok {
		r.lighthouse(audits, at.page)
		return
	}
	hasLists := false
	for _, name := range listNames {
		list, ok := v[name]
		if ok {
			switch list.(type) {
			case []any, map[string]any:
			default:
				continue
			}
			hasLists = true
			child := at
			child.severity = cmp.Or(impliedSeverities[name], at.severity)
			r.value(list, child)
		}
	}
	if hasLists {
		if at.page != "" {
			r.setScore(r.ensurePage(at.page), v["score"])
		}
		return
	}
	i := Issue{Page: at.page, Rule: firstValue(v, ruleNames), Severity: cmp.Or(firstValue(v, severityNames), at.severity), Text: firstValue(v, textNames)}
	switch {
	case at.listed && (i.Text != "" || i.Rule != "") && (i.Severity != "" || i.Rule != "" || i.Page != ""):
		i.Text = cmp.Or(i.Text, i.Rule)
		r.add(i)
	case at.listed && at.page != "":
		r.setScore(r.ensurePage(at.page), v["score"]) // a page without issues
	default:
		r.readPageMap(v, at)
	}
}

// readPageMap reads an object whose keys are the addresses of pages.
func (r *reader) readPageMap(v map[string]any, at place) {
	names := make([]string, 0, len(v))
	for name := range v {
		if !strings.HasPrefix(name, "/") && !strings.HasPrefix(name, "http://") && !strings.HasPrefix(name, "https://") {
			return
		}
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		at.page = r.relativePage(name)
		r.ensurePage(at.page)
		r.value(v[name], at)
	}
}

// lighthouse reads the audits of a Lighthouse report. An audit with a score below 0.9 is an issue.
// An audit without a score is skipped, because it does not apply to the page.
func (r *reader) lighthouse(audits map[string]any, page string) {
	names := make([]string, 0, len(audits))
	for name := range audits {
		names = append(names, name)
	}
	slices.Sort(names)
	r.ensurePage(page)
	for _, name := range names {
		audit, ok := audits[name].(map[string]any)
		score, scored := number(audit["score"])
		if !ok || !scored || score >= 0.9 {
			continue
		}
		i := Issue{Page: page, Rule: name, Severity: "medium", Text: cmp.Or(firstValue(audit, []string{"title", "description"}), name)}
		if score < 0.5 {
			i.Severity = "high"
		}
		if value := firstValue(audit, []string{"displayValue"}); value != "" {
			i.Text += ": " + value
		}
		r.add(i)
	}
}

func (r *reader) add(i Issue) {
	p := r.ensurePage(i.Page)
	p.Issues = append(p.Issues, i)
}

func (r *reader) ensurePage(name string) *Page {
	r.report.Known = true
	p := r.pages[name]
	if p == nil {
		p = &Page{Name: name}
		r.pages[name] = p
		r.report.Pages = append(r.report.Pages, p)
	}
	return p
}

func (r *reader) setScore(p *Page, value any) {
	if n, ok := number(value); ok {
		p.Score, p.Scored = n, true
	}
}

// relativePage removes the audit's root address from the beginning of a page's address.
func (r *reader) relativePage(page string) string {
	rest, underRoot := strings.CutPrefix(page, r.root)
	switch {
	case r.root == "" || !underRoot:
		return page
	case rest == "":
		return "/"
	case strings.HasPrefix(rest, "/"):
		return rest
	}
	return page
}

// firstValue returns the value of the first property in names that is a number or a non-empty
// string.
func firstValue(v map[string]any, names []string) string {
	for _, name := range names {
		switch text := v[name].(type) {
		case string:
			if text != "" {
				return text
			}
		case json.Number:
			return text.String()
		}
	}
	return ""
}

func number(value any) (n float64, ok bool) {
	text, ok := value.(json.Number)
	if !ok {
		return 0, false
	}
	n, err := strconv.ParseFloat(text.String(), 64)
	return n, err == nil
}

// Rank returns the rank of a severity, from 0 for the worst ones to 3 for unknown ones.
func Rank(severity string) int {
	switch strings.ToLower(severity) {
	case "blocker", "critical", "fatal", "high", "serious", "error", "severe":
		return 0
	case "medium", "moderate", "warning", "warn":
		return 1
	case "low", "minor", "notice", "info", "hint":
		return 2
	}
	return 3
}

// Compare compares two audits of a site. added contains the issues that are only in current, and
// gone those that are only in previous. Two issues count as the same if they have the same page and
// rule, even if their Text differs, for example in a number. Issues without a rule are compared by
// page and Text.
func Compare(current, previous Report) (added, gone []Issue) {
	return subtract(current.Issues(), previous.Issues()), subtract(previous.Issues(), current.Issues())
}

// subtract returns the issues that are not in others. If an issue occurs three times in issues and
// once in others, subtract returns it twice.
func subtract(issues, others []Issue) (out []Issue) {
	type identity struct{ page, rule string }
	identityOf := func(i Issue) identity { return identity{i.Page, cmp.Or(i.Rule, i.Text)} }
	remaining := map[identity]int{}
	for _, i := range others {
		remaining[identityOf(i)]++
	}
	for _, i := range issues {
		if remaining[identityOf(i)]--; remaining[identityOf(i)] < 0 {
			out = append(out, i)
		}
	}
	return out
}

// Group is a group of equal issues. They may be on several pages.
type Group struct {
	Severity, Rule, Text string
	Pages                []string // each page is listed once
	Count                int
}

// Groups combines equal issues into groups. It sorts the groups by severity, the worst first, and
// then by the number of issues, the largest first.
func Groups(issues []Issue) []Group {
	type identity struct{ severity, rule, text string }
	indexes := map[identity]int{}
	seen := map[Issue]bool{}
	var out []Group
	for _, i := range issues {
		key := identity{i.Severity, i.Rule, i.Text}
		n, known := indexes[key]
		if !known {
			n = len(out)
			indexes[key] = n
			out = append(out, Group{Severity: i.Severity, Rule: i.Rule, Text: i.Text})
		}
		out[n].Count++
		if i.Page != "" && !seen[i] {
			seen[i] = true
			out[n].Pages = append(out[n].Pages, i.Page)
		}
	}
	slices.SortStableFunc(out, func(a, b Group) int {
		return cmp.Or(cmp.Compare(Rank(a.Severity), Rank(b.Severity)), cmp.Compare(b.Count, a.Count), cmp.Compare(a.Text, b.Text))
	})
	return out
}

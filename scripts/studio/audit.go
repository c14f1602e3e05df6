package studio

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"growthworkspace/scripts/studio/findings"
	"growthworkspace/scripts/studio/phrase"
	"growthworkspace/scripts/studio/scores"
	"growthworkspace/scripts/studio/units"
	"growthworkspace/shared/client"
)

// auditData is the data of the audit template.
type auditData struct {
	Audit    client.Audit
	Failure  *failure
	Site     string        // the site's name; empty if it is unknown
	SiteID   string        // empty if the site is not in the list of sites
	Before   *client.Audit // the previous complete audit of the same site, or nil
	NoBefore *failure
	Scores   []scores.Score

	By              string // how the issues are listed: "page" or "severity"
	HasFile         bool   // the audit has findings
	Known           bool   // the findings have a format that the package findings can read
	Count           int    // the number of issues
	Summary         []severityCount
	Groups          []groupRow
	Pages           []pageRow
	Clean           int // the number of pages without an issue
	More            int // the number of issues that are only in the findings file
	Outline         string
	OutlineComplete bool // whether Outline shows all of the findings

	Compared bool // both audits have findings that can be read, so Fresh and Gone are set
	Fresh    issueList
	Gone     issueList
}

// issueList is a list of issues that only one of two audits found.
type issueList struct {
	Count  int
	Groups []groupRow
	More   int // the number of issues that are not in Groups
}

// severityCount is the number of issues with one severity.
type severityCount struct {
	Name, Class string
	Count       int
}

// groupRow is the page's row for a group of equal issues.
type groupRow struct {
	findings.Group

	Class string
	Shown []string // the first few of the group's pages
	More  int
}

// Often describes how many times the issue occurs. It returns "" if the issue occurs once.
func (r groupRow) Often() string {
	switch {
	case r.Count == 1:
		return ""
	case len(r.Pages) == r.Count:
		return fmt.Sprintf("on %d pages", r.Count)
	case len(r.Pages) > 1:
		return fmt.Sprintf("%d times on %d pages", r.Count, len(r.Pages))
	}
	return fmt.Sprintf("%d times", r.Count)
}

// pageRow is a page with its issues.
type pageRow struct {
	Name, Score, Change, Good string
	Issues                    []groupRow
}

// Limits on what the page of an audit shows. The findings file contains the rest.
const (
	rowsMax       = 130
	changesMax    = 30
	pagesPerIssue = 8
	issuesPerPage = 12
	findingsRunes = 240
	nameRunes     = 120
)

func (pr *pageRequest) getAudit(id, label string) *result[client.Audit] {
	return startCall(pr, "optimise:read", label,
		bound(pr.api.GetOptimiseAudit, client.GetOptimiseAuditInput{AuditID: id}))
}

// audit shows an audit and compares it with the previous audit of the same site. The URL may
// contain the id of the previous audit. If it does not, audit looks for the previous audit among
// the newest ones.
func (s *Studio) audit(v *pageRequest) *view {
	q := v.r.URL.Query()
	d := &auditData{By: "severity"}
	if q.Get("by") == "page" {
		d.By = "page"
	}
	out := &view{page: "audit", place: "Sites", title: "Audit", data: d}
	audit, sites := v.getAudit(v.r.PathValue("id"), "The audit"), v.listSites()
	var before *result[client.Audit]
	var newest *result[client.Page[client.AuditSummary]]
	if q.Get("before") != "" {
		before = v.getAudit(q.Get("before"), "The audit before")
	} else {
		newest = v.listAudits("", "")
	}
	v.wait()
	d.Audit, d.Failure = audit.Value, audit.Failure
	if d.Failure != nil {
		out.status = d.Failure.status()
		return out
	}
	if newest != nil {
		if i := slices.IndexFunc(newest.Value.Items, func(a client.AuditSummary) bool { return a.ID == d.Audit.ID }); i >= 0 {
			if older := scores.Previous(newest.Value.Items[i+1:], summaryOf(d.Audit)); older != nil {
				before = v.getAudit(older.ID, "The audit before")
				v.wait()
			}
		}
		d.NoBefore = newest.Failure
	}
	if before != nil {
		d.NoBefore = before.Failure
		if before.Failure == nil && scores.SameSite(summaryOf(before.Value), summaryOf(d.Audit)) {
			d.Before = &before.Value
		}
	}
	for _, site := range sites.Value.Items {
		if site.ID == d.Audit.SiteID.Or("") {
			d.Site, d.SiteID = site.Name.Or(site.ID), site.ID
		}
	}
	if at, ok := d.Audit.StartedAt.Get(); ok {
		out.title = "Audit of " + v.clock().Day(at)
	}
	d.compare()
	return out
}

// summaryOf returns the audit without its findings.
func summaryOf(a client.Audit) client.AuditSummary {
	return client.AuditSummary{
		ID: a.ID, CompanyID: a.CompanyID, SiteID: a.SiteID, RootURL: a.RootURL, Status: a.Status, StartedAt: a.StartedAt, FinishedAt: a.FinishedAt,
		ScoreSEO: a.ScoreSEO, ScoreAEO: a.ScoreAEO, ScoreGEO: a.ScoreGEO, PagesAudited: a.PagesAudited, Summary: a.Summary, Error: a.Error,
	}
}

// compare reads the findings and compares them with those of the previous audit.
func (d *auditData) compare() {
	var before *client.AuditSummary
	old := findings.Report{}
	if d.Before != nil {
		summary := summaryOf(*d.Before)
		before = &summary
		old = findings.Read(d.Before.Findings.Or(nil), d.Before.RootURL.Or(""))
	}
	d.Scores = scores.Of(summaryOf(d.Audit), before)
	text, has := d.Audit.Findings.Get()
	if !has {
		return
	}
	d.HasFile = true
	current := findings.Read(text, d.Audit.RootURL.Or(""))
	if d.Known = current.Known; !d.Known {
		d.Outline, d.OutlineComplete = findings.Outline(text)
		return
	}
	d.count(current.Issues())
	if d.By == "page" {
		d.setPages(current, old)
	} else {
		d.Groups, d.More = groupRows(findings.Groups(current.Issues()), rowsMax)
	}
	if old.Known {
		d.Compared = true
		fresh, gone := findings.Compare(current, old)
		d.Fresh, d.Gone = newIssueList(fresh), newIssueList(gone)
	}
}

func newIssueList(issues []findings.Issue) (c issueList) {
	c.Count = len(issues)
	c.Groups, c.More = groupRows(findings.Groups(issues), changesMax)
	return c
}

// count counts the issues of each severity and lists the worst severities first.
func (d *auditData) count(issues []findings.Issue) {
	d.Count = len(issues)
	for _, i := range issues {
		name := cmp.Or(strings.ToLower(phrase.Excerpt(i.Severity, 40)), "no severity")
		at := slices.IndexFunc(d.Summary, func(s severityCount) bool { return s.Name == name })
		if at < 0 {
			at = len(d.Summary)
			d.Summary = append(d.Summary, severityCount{Name: name, Class: severityClass(i.Severity)})
		}
		d.Summary[at].Count++
	}
	slices.SortStableFunc(d.Summary, func(a, b severityCount) int {
		return cmp.Or(cmp.Compare(findings.Rank(a.Name), findings.Rank(b.Name)), cmp.Compare(b.Count, a.Count))
	})
	d.Summary = d.Summary[:min(len(d.Summary), 8)]
}

// severityClass returns the class that sets the colour of a severity's badge.
func severityClass(severity string) string {
	return []string{"red", "amber", "", ""}[findings.Rank(severity)]
}

// groupRows returns a row for each of the first limit groups. more is the number of issues in the
// other groups.
func groupRows(groups []findings.Group, limit int) (out []groupRow, more int) {
	for i, g := range groups {
		if i >= limit {
			more += g.Count
			continue
		}
		row := groupRow{Group: g, Class: severityClass(g.Severity), More: max(0, len(g.Pages)-pagesPerIssue)}
		row.Severity, row.Rule, row.Text = phrase.Excerpt(strings.ToLower(g.Severity), 40), phrase.Excerpt(g.Rule, nameRunes), phrase.Excerpt(g.Text, findingsRunes)
		for _, page := range g.Pages[:min(len(g.Pages), pagesPerIssue)] {
			row.Shown = append(row.Shown, phrase.Excerpt(page, nameRunes))
		}
		out = append(out, row)
	}
	return out, more
}

// setPages sets the list of the pages that have issues. The pages with the most issues of the worst
// severity come first.
func (d *auditData) setPages(current, old findings.Report) {
	earlierScores := map[string]float64{} // the score of each page in the earlier audit
	for _, p := range old.Pages {
		if p.Scored {
			earlierScores[p.Name] = p.Score
		}
	}
	all := slices.Clone(current.Pages)
	countBySeverity := func(p *findings.Page) (n [4]int) {
		for _, i := range p.Issues {
			n[findings.Rank(i.Severity)]++
		}
		return n
	}
	slices.SortStableFunc(all, func(a, b *findings.Page) int {
		x, y := countBySeverity(a), countBySeverity(b)
		return cmp.Or(slices.Compare(y[:], x[:]), cmp.Compare(a.Name, b.Name))
	})
	left := rowsMax
	for _, p := range all {
		if len(p.Issues) == 0 {
			d.Clean++
			continue
		}
		if left == 0 {
			d.More += len(p.Issues)
			continue
		}
		row := pageRow{Name: cmp.Or(phrase.Excerpt(p.Name, nameRunes), "The whole site")}
		if p.Scored {
			row.Score = units.Number(p.Score, 0, 1)
			if was, had := earlierScores[p.Name]; had {
				row.Change, row.Good = scores.Difference(p.Score, was)
			}
		}
		more := 0
		row.Issues, more = groupRows(findings.Groups(p.Issues), min(left, issuesPerPage))
		d.More += more
		left -= len(row.Issues)
		d.Pages = append(d.Pages, row)
	}
}

// Sentence describes how the scores changed since the previous audit.
func (d *auditData) Sentence() string {
	var fell, rose []string
	for _, s := range d.Scores {
		switch s.Good {
		case "bad":
			fell = append(fell, fmt.Sprintf("%s fell from %s to %s", s.Name, s.Before, s.Text))
		case "good":
			rose = append(rose, fmt.Sprintf("%s rose from %s to %s", s.Name, s.Before, s.Text))
		}
	}
	parts := append(fell, rose...)
	switch {
	case d.Before == nil:
		return ""
	case len(parts) == 0:
		return "No score changed."
	case len(parts) == 1:
		return parts[0] + "."
	}
	return strings.Join(parts[:len(parts)-1], ", ") + " and " + parts[len(parts)-1] + "."
}

// Path returns the address of the audit with its findings listed by severity or by page.
func (d *auditData) Path(by string) string {
	q := url.Values{"by": {by}}
	if d.Before != nil {
		q.Set("before", d.Before.ID)
	}
	return "/audits/" + url.PathEscape(d.Audit.ID) + "?" + q.Encode()
}

// findingsFile sends the findings of an audit as a file, indented but otherwise as they are stored.
func (s *Studio) findingsFile(v *pageRequest) *view {
	id := v.r.PathValue("id")
	audit := v.getAudit(id, "The audit")
	v.wait()
	if audit.Failure != nil {
		return v.redirectWithNotice("/sites", nil, notice{Bad: true, Text: "The findings could not be read: " + audit.Failure.Text()})
	}
	text, has := audit.Value.Findings.Get()
	if !has {
		return v.redirectWithNotice("/audits/"+url.PathEscape(id), nil, notice{Bad: true, Text: "This audit has no findings."})
	}
	var out bytes.Buffer
	if err := json.Indent(&out, text, "", "  "); err != nil {
		out.Reset()
		out.Write(text) // the findings could not be indented, so write them unchanged
	}
	v.w.Header().Set("Content-Type", "application/json")
	v.w.Header().Set("Content-Disposition", `attachment; filename="findings.json"`)
	v.w.WriteHeader(http.StatusOK)
	_, _ = v.w.Write(out.Bytes()) // an error only means that the client has disconnected
	return nil
}

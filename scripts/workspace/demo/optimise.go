package demo

import (
	"fmt"
	"math"
	"time"
)

const (
	siteWeb = iota
	siteHelp
)

func (g *generator) addOptimise() {
	g.add("site", withTimes(Record{
		"name": "Website", "siteKey": "pk_demo_site_web", "domains": []string{"mossgrove.example", "www.mossgrove.example"},
		"timezone": "Europe/Lisbon", "active": true, "lastEventAt": formatTime(g.timeAgo(0.01)),
	}, g.timeAgo(310), g.timeAgo(60)))
	g.add("site", withTimes(Record{
		"name": "Help pages", "siteKey": "pk_demo_site_help", "domains": []string{"help.mossgrove.example"},
		"timezone": "Europe/Lisbon", "active": true, "lastEventAt": formatTime(g.timeAgo(9)), // no recent events, as if the site had stopped sending them
	}, g.timeAgo(180), g.timeAgo(60)))
	for n, goal := range []struct {
		site                       int
		name, kind, match, pattern string
		value                      any
		active                     bool
	}{
		{siteWeb, "Trial started", "path", "exact", "/welcome", 12, true},
		{siteWeb, "Pricing read", "path", "prefix", "/pricing", nil, true},
		{siteWeb, "Store badge pressed", "event", "contains", "store_badge", 3, true},
		{siteWeb, "Old sign-up page", "path", "exact", "/signup-2024", nil, false},
		{siteHelp, "Article found helpful", "event", "exact", "helpful_yes", 1, true},
		{siteHelp, "Contact form sent", "path", "regex", "^/contact/(sent|thanks)$", nil, true},
	} {
		record := Record{
			"siteId": idOf("site", goal.site), "name": goal.name, "kind": goal.kind, "matchType": goal.match,
			"pattern": goal.pattern, "order": n + 1, "active": goal.active,
		}
		if goal.value != nil {
			record["value"] = goal.value
		}
		g.add("site-goal", withTimes(record, g.timeAgo(170-float64(n)), g.timeAgo(100)))
	}
	g.addAudit(siteWeb, 62, "complete", 38, tenthsByRule{"title-length": 2, "answer-first": 4, "image-text": 2, "structured-data": 3, "author": 4},
		"Titles and headings are in order. Two of five pages answer the question of their heading too late, and as many name no author.")
	g.addAudit(siteHelp, 31, "failed", 4, nil, "")
	g.addAudit(siteWeb, 12, "complete", 41, tenthsByRule{"title-length": 2, "answer-first": 2, "image-text": 2, "structured-data": 3, "author": 1, "canonical": 4},
		"The new template of the field notes gives many of them the canonical address of another page, so search engines leave them out. "+
			"Answers stand higher than in September, and most pages name their author.")
	g.addAudit(siteHelp, 0.02, "running", 7, nil, "")
}

// tenthsByRule maps each rule to how many of ten pages break it.
type tenthsByRule map[string]int

func (g *generator) addAudit(site int, daysAgo float64, status string, pageCount int, issues tenthsByRule, summary string) {
	started := g.timeAgo(daysAgo)
	root := []string{websiteURL, "https://help.mossgrove.example"}[site]
	record := Record{
		"siteId": idOf("site", site), "rootUrl": root, "status": status, "startedAt": formatTime(started), "pagesAudited": pageCount,
	}
	finished := started
	switch status {
	case "complete":
		finished = started.Add(time.Duration(pageCount) * 6 * time.Second)
		record["summary"], record["findings"] = fmt.Sprintf("%d pages. %s", pageCount, summary), findings(record, root, pageCount, issues)
	case "failed":
		finished = started.Add(time.Duration(pageCount) * 6 * time.Second)
		record["error"] = "The site answered 503 to four requests in a row; the audit gave up."
	}
	if status != "running" {
		record["finishedAt"] = formatTime(finished)
	}
	g.add("audit", withTimes(record, started, finished))
}

// auditRules lists what an audit checks. costs maps each score to the number of points that a page
// loses if it breaks the rule.
var auditRules = []struct {
	rule, severity, text string
	costs                map[string]float64
}{
	{"title-length", "low", "The title has more than 60 characters and is cut in results.", map[string]float64{"scoreSeo": 15}},
	{"answer-first", "medium", "The question of the heading is answered only in the fourth paragraph.", map[string]float64{"scoreAeo": 70, "scoreGeo": 30}},
	{"image-text", "low", "Two images have no text for those who cannot see them.", map[string]float64{"scoreSeo": 15}},
	{"canonical", "high", "The page names another page as its canonical address.", map[string]float64{"scoreSeo": 60}},
	{"structured-data", "medium", "No structured data says what the page is about.", map[string]float64{"scoreSeo": 30, "scoreAeo": 40}},
	{"author", "low", "Nobody is named as the author.", map[string]float64{"scoreGeo": 60}},
}

// findings returns an audit's findings by page, and sets the audit's scores. A score is 100 minus
// the average number of points that a page loses. If a rule is broken by the same number of pages
// in two audits, it is broken by the same pages.
func findings(audit Record, root string, pageCount int, issues tenthsByRule) []Record {
	names := []string{"/", "/pricing", "/teams", "/offline", "/blog", "/about", "/security"}
	lost := map[string]float64{"scoreSeo": 0, "scoreAeo": 0, "scoreGeo": 0}
	out := make([]Record, pageCount)
	for n := range out {
		page := names[n%len(names)]
		if n >= len(names) {
			page = fmt.Sprintf("/blog/%d-field-notes", n)
		}
		pageScore, list := 100.0, []Record{}
		for r, rule := range auditRules {
			if (7*n+3*r)%10 >= issues[rule.rule] || rule.rule == "canonical" && n < len(names) {
				continue
			}
			list = append(list, Record{"rule": rule.rule, "severity": rule.severity, "text": rule.text})
			for score, points := range rule.costs {
				lost[score] += points
				pageScore -= points / 3
			}
		}
		out[n] = Record{"url": root + page, "status": 200, "score": math.Round(max(0, pageScore)), "findings": list}
	}
	for score, points := range lost {
		audit[score] = math.Round(100 - points/float64(pageCount))
	}
	return out
}

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

func (g *generator) optimise() {
	g.add("site", stamped(Record{
		"name": "Website", "siteKey": "pk_demo_site_web", "domains": []string{"mossgrove.example", "www.mossgrove.example"},
		"timezone": "Europe/Lisbon", "active": true, "lastEventAt": at(g.ago(0.01)),
	}, g.ago(310), g.ago(60)))
	g.add("site", stamped(Record{
		"name": "Help pages", "siteKey": "pk_demo_site_help", "domains": []string{"help.mossgrove.example"},
		"timezone": "Europe/Lisbon", "active": true, "lastEventAt": at(g.ago(9)), // a collector that stopped
	}, g.ago(180), g.ago(60)))
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
			"siteId": ref("site", goal.site), "name": goal.name, "kind": goal.kind, "matchType": goal.match,
			"pattern": goal.pattern, "order": n + 1, "active": goal.active,
		}
		if goal.value != nil {
			record["value"] = goal.value
		}
		g.add("site-goal", stamped(record, g.ago(170-float64(n)), g.ago(100)))
	}
	g.audit(siteWeb, 62, "complete", 71, 58, 49, 38)
	g.audit(siteHelp, 31, "failed", 0, 0, 0, 4)
	g.audit(siteWeb, 12, "complete", 84, 73, 66, 41)
	g.audit(siteHelp, 0.02, "running", 0, 0, 0, 7)
}

func (g *generator) audit(site int, daysAgo float64, status string, seo, aeo, geo, pages int) {
	started := g.ago(daysAgo)
	root := []string{website, "https://help.mossgrove.example"}[site]
	record := Record{
		"siteId": ref("site", site), "rootUrl": root, "status": status, "startedAt": at(started), "pagesAudited": pages,
	}
	finished := started
	switch status {
	case "complete":
		finished = started.Add(time.Duration(pages) * 6 * time.Second)
		record["scoreSeo"], record["scoreAeo"], record["scoreGeo"] = seo, aeo, geo
		record["summary"] = fmt.Sprintf("%d pages. Titles and headings are in order; answers are buried below the fold on the pricing pages, and %d pages name no author.", pages, pages/5)
		record["findings"] = g.findings(root, pages)
	case "failed":
		finished = started.Add(time.Duration(pages) * 6 * time.Second)
		record["error"] = "The site answered 503 to four requests in a row; the audit gave up."
	}
	if status != "running" {
		record["finishedAt"] = at(finished)
	}
	g.add("audit", stamped(record, started, finished))
}

var findingTexts = []struct{ rule, severity, text string }{
	{"title-length", "low", "The title has more than 60 characters and is cut in results."},
	{"answer-first", "medium", "The question of the heading is answered only in the fourth paragraph."},
	{"image-text", "low", "Two images have no text for those who cannot see them."},
	{"canonical", "high", "The page names another page as its canonical address."},
	{"structured-data", "medium", "No structured data says what the page is about."},
	{"author", "low", "Nobody is named as the author."},
}

func (g *generator) findings(root string, pages int) []Record {
	names := []string{"/", "/pricing", "/teams", "/offline", "/blog", "/about", "/security"}
	out := make([]Record, pages)
	for n := range out {
		page := names[n%len(names)]
		if n >= len(names) {
			page = fmt.Sprintf("/blog/%d-field-notes", n)
		}
		var list []Record
		for range g.random.IntN(4) {
			f := pick(g, findingTexts)
			list = append(list, Record{"rule": f.rule, "severity": f.severity, "text": f.text})
		}
		if list == nil {
			list = []Record{}
		}
		out[n] = Record{"url": root + page, "status": 200, "score": math.Round(60 + 40*g.random.Float64()), "findings": list}
	}
	return out
}

package agents

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"net/http"
	"strings"
	"time"

	"growthworkspace/shared/client"
)

// rules are the rules that an audit checks.
var rules = []string{"title-length", "answer-first", "image-text", "structured-data", "author", "canonical", "heading-order", "broken-link"}

// findings returns the findings of an audit: how many pages break each rule, a table of the pages'
// scores, and the pages. padding is the approximate size of the details on each page, in bytes.
func (g *generator) findings(root string, pageCount, padding int, percentByRule map[string]int) record {
	counts := map[string]int{}
	var scores []any
	var list []record
	for n := range pageCount {
		url := fmt.Sprintf("%s/field-notes/%d-%s", root, n, strings.ReplaceAll(pick(g, subjects...), " ", "-"))
		score := 98 - g.IntN(40)
		var broken []record
		for _, rule := range rules {
			if g.chance(percentByRule[rule]) {
				counts[rule]++
				broken = append(broken, record{"rule": rule, "severity": pick(g, "low", "medium", "high"), "text": g.prose(2)})
			}
		}
		scores = append(scores, []any{url, score})
		list = append(list, record{"url": url, "score": score, "status": 200, "issues": broken, "html": strings.Repeat("<p>"+g.prose(1)+"</p>", 1+padding/90)})
	}
	var byRule []record
	for _, rule := range rules {
		byRule = append(byRule, record{"rule": rule, "pages": counts[rule]})
	}
	return record{"crawler": "field-crawler 3.1", "rules": byRule, "scores": scores, "pages": list}
}

func scoreTask() task {
	return task{
		name: "why did the score of a site fall",
		seed: func(g *generator) scenario {
			sites := g.addSites()
			site := sites[g.IntN(len(sites))]
			usual := map[string]int{}
			for _, rule := range rules {
				usual[rule] = g.between(5, 20)
			}
			usual["author"] = 60 // most pages break this rule, both before and after the score fell
			cause := pick(g, "canonical", "answer-first", "structured-data")
			worse := maps.Clone(usual)
			worse[cause] = 55
			addAudit := func(auditedSite record, age int, status string, seo int, percentByRule map[string]int) record {
				root := "https://" + auditedSite["domains"].([]string)[0]
				r := record{
					"siteId": auditedSite["id"], "rootUrl": root, "status": status, "startedAt": g.daysAgo(age).Format(time.RFC3339), "pagesAudited": 90, "summary": g.prose(3),
				}
				if status == "complete" {
					r["finishedAt"] = g.daysAgo(age - 1).Format(time.RFC3339)
					r["scoreSeo"], r["scoreAeo"], r["scoreGeo"] = seo, 70, 64
					r["findings"] = g.findings(root, 90, 300, percentByRule)
				}
				return g.add("audit", r, age, age-1)
			}
			for _, other := range sites {
				if other.text("id") != site.text("id") {
					addAudit(other, 30, "complete", 80, usual)
					addAudit(other, 9, "complete", 81, worse)
				}
			}
			addAudit(site, 60, "complete", 88, worse)
			before := addAudit(site, 35, "complete", 91, usual)
			after := addAudit(site, 8, "complete", 78, worse)
			addAudit(site, 3, "failed", 0, nil)
			g.words["site"] = site.text("name")
			affectedPages := func(audit record) float64 {
				for _, r := range audit["findings"].(record)["rules"].([]record) {
					if r["rule"] == cause {
						return float64(r["pages"].(int))
					}
				}
				return 0
			}
			return scenario{check: onlyAnswer(answer{"from": 91.0, "to": 78.0, "rule": cause, "pages": affectedPages(after) - affectedPages(before)})}
		},
		agent:     explainFall(1, true),
		wrongRuns: []wrongRun{{mistake: "compares with an older audit", agent: explainFall(2, true)}, {mistake: "names the commonest issue", agent: explainFall(1, false)}},
	}
}

// explainFall returns an agent that compares the newest complete audit of a site with the one
// auditsBack audits earlier. If grown is set, the agent names the rule whose number of violating
// pages grew most. Otherwise it names the rule that most pages break.
func explainFall(auditsBack int, grown bool) agent {
	return func(s *session, words map[string]string) answer {
		siteID := ""
		for _, site := range s.list("list_optimise_sites", nil, nil, "name") {
			if site.text("name") == words["site"] {
				siteID = site.text("id")
			}
		}
		audits := s.list("list_optimise_audits", arguments{"siteId": siteID, "status": "complete", "limit": auditsBack + 1}, func(all []record) bool { return len(all) > auditsBack }, "scoreSeo", "scoreAeo", "scoreGeo", "startedAt")
		if len(audits) <= auditsBack {
			return nil
		}
		earlierAudit, latestAudit := audits[auditsBack], audits[0]
		latestResult := s.call("get_optimise_audit", arguments{"auditId": latestAudit.text("id")}) // shows the agent the structure of findings
		counts := func(audit record, whole result) map[string]float64 {
			out := map[string]float64{}
			for _, r := range objectsOf(s.part("get_optimise_audit", arguments{"auditId": audit.text("id")}, whole, "/findings/rules")) {
				out[r.text("rule")] = r.number("pages")
			}
			return out
		}
		latestCounts, earlierCounts := counts(latestAudit, latestResult), counts(earlierAudit, result{})
		best, most := "", 0.0
		for _, rule := range rules {
			n := latestCounts[rule]
			if grown {
				n -= earlierCounts[rule]
			}
			if n > most {
				best, most = rule, n
			}
		}
		return answer{"from": earlierAudit.number("scoreSeo"), "to": latestAudit.number("scoreSeo"), "rule": best, "pages": most}
	}
}

// crawledPages is the number of pages in a large audit. pageBytes is the approximate size of one
// page.
const crawledPages, pageBytes = 420, 5000

func worstPageTask() task {
	return task{
		name: "add a site, have it audited, and name its worst page",
		seed: func(g *generator) scenario {
			g.addSites()
			g.words["site"], g.words["host"] = "Field guide", "guide.mossgrove.example"
			findings := g.findings("https://guide.mossgrove.example", crawledPages, pageBytes, map[string]int{"author": 30, "canonical": 20, "broken-link": 10})
			worst := g.between(50, crawledPages-1)
			page := findings["pages"].([]record)[worst]
			page["score"], page["issues"] = 11, []record{{"rule": "broken-link", "severity": "high", "text": g.prose(2)}}
			findings["scores"].([]any)[worst] = []any{page["url"], 11}
			want := answer{"url": page["url"], "score": 11.0, "text": page["issues"].([]record)[0]["text"]}
			return scenario{
				check: func(o outcome) error {
					siteID, hasAudit := "", false
					for _, c := range o.changes {
						switch {
						case c.kind == created && c.list == "sites" && c.record.text("name") == "Field guide":
							siteID = c.id
						case c.kind == created && (c.list == "audits" || c.list == goalsOfSite(siteID)):
						default:
							return fmt.Errorf("the agent did more: %s", c)
						}
					}
					for _, audit := range o.after["audits"] {
						hasAudit = hasAudit || siteID != "" && audit.text("siteId") == siteID && audit.text("status") == "complete"
					}
					if !hasAudit {
						return fmt.Errorf("the new site %q has no complete audit", siteID)
					}
					return checkAnswer(o.answer, want)
				},
				delegates: map[string]func(context.Context, company, ...string) error{"crawler": func(ctx context.Context, c company, ids ...string) error {
					return storeFindings(ctx, c, ids[0], findings)
				}},
			}
		},
		agent: auditNewSite(true, lowestScore),
		wrongRuns: []wrongRun{
			{mistake: "names the first page", agent: auditNewSite(true, func([]any) int { return 0 })},
			{mistake: "leaves the audit without its site", agent: auditNewSite(false, lowestScore)},
		},
	}
}

// storeFindings does what a crawler does at the end: it completes an audit over HTTP.
func storeFindings(ctx context.Context, c company, auditID string, findings record) error {
	api, err := client.New(c.base, c.key, client.WithAttempts(1), client.WithVersion(""))
	if err != nil {
		return err
	}
	body, err := json.Marshal(record{"status": "complete", "scoreSeo": 71, "pagesAudited": crawledPages, "findings": findings})
	if err != nil {
		return fmt.Errorf("encode the findings: %w", err)
	}
	_, err = api.Do(ctx, client.Request{Method: http.MethodPatch, Path: "/v1/companies/" + c.id + "/optimise/audits/" + auditID, Body: body})
	return err
}

// lowestScore returns the index of the row with the lowest score. Each row contains a page and its
// score.
func lowestScore(scores []any) int {
	best, lowest := 0, math.Inf(1)
	for i, row := range scores {
		if values, ok := row.([]any); ok && len(values) == 2 {
			if score, ok := values[1].(float64); ok && score < lowest {
				best, lowest = i, score
			}
		}
	}
	return best
}

// auditNewSite returns an agent that creates a site and an audit, waits for the crawler, and reads
// the page that the choose function selects from the table of scores. If linkToSite is not set, the
// audit does not name the site.
func auditNewSite(linkToSite bool, choose func(scores []any) int) agent {
	return func(s *session, words map[string]string) answer {
		site := s.call("create_optimise_site", arguments{"name": words["site"], "domains": []string{words["host"]}}).asRecord()
		a := arguments{"rootUrl": "https://" + words["host"], "status": "running"}
		if linkToSite {
			a["siteId"] = site.text("id")
		}
		audit := s.call("create_optimise_audit", a).asRecord()
		s.delegate("crawler", audit.text("id"))
		get := arguments{"auditId": audit.text("id")}
		whole := s.call("get_optimise_audit", get)
		scores, _ := s.part("get_optimise_audit", get, whole, "/findings/scores").([]any)
		if len(scores) == 0 {
			return nil
		}
		page, _ := s.part("get_optimise_audit", get, whole, fmt.Sprintf("/findings/pages/%d", choose(scores))).(map[string]any)
		issues := record(page).objects("issues")
		if len(issues) == 0 {
			return nil
		}
		return answer{"url": page["url"], "score": page["score"], "text": issues[0]["text"]}
	}
}

package functions_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"growthworkspace/shared/auth"
)

func agentTasks() []agentTask {
	return []agentTask{urgentReviewsTask(), countryTask(), wrongNameTask(), worstPageTask()}
}

// urgentCount is the number of reviews that an agent drafts replies to.
const urgentCount = 3

func urgentReviewsTask() agentTask {
	unanswered := object{"replyStatus": "none", "limit": 20}
	isReview := func(r object) bool { return r.text("kind") == "review" }
	return agentTask{
		name: "draft replies to the three most urgent unanswered reviews", scopes: []auth.Scope{auth.FeedbackDraft, auth.ContextRead}, calls: 5, textBytes: 10_500,
		seed: func(c *taskCompany) taskChecker {
			avoidWords := c.addBrand()
			reviews := c.addReviews(160)
			for i, r := range reviews[:7] { // reviews 1, 3 and 5 are answered, and 2 is a mention
				r["kind"], r["source"], r["rating"], r["priority"], r["replyStatus"] = "review", "app_store", 1, -9+i, []string{"none", "skipped"}[i%2]
				delete(r, "replyBody")
			}
			reviews[2]["kind"], reviews[2]["source"] = "mention", "reddit"
			delete(reviews[2], "rating")
			return taskChecker{check: func(o taskOutcome) error {
				var want []string
				for _, i := range []int{0, 4, 6} {
					want = append(want, "changed feedback "+reviews[i].text("id")+" replyBody,replyStatus")
				}
				problems := []error{checkChanges(o.changes, want...)}
				for _, change := range o.changes {
					body, status := change.record.text("replyBody"), change.record.text("replyStatus")
					if status != "draft" || !strings.Contains(body, change.record.text("title")) || slices.ContainsFunc(avoidWords, func(word string) bool { return strings.Contains(body, word) }) {
						problems = append(problems, fmt.Errorf("%s is %s and does not answer the review in the company's words: %q", change.name, status, body))
					}
				}
				return errors.Join(problems...)
			}}
		},
		agent: draftReplies(unanswered, isReview, "draft"),
		wrong: []wrongRun{
			{mistake: "approves its own texts", agent: draftReplies(unanswered, isReview, "approved"), decides: true},
			{mistake: "takes answered reviews, too", agent: draftReplies(object{"limit": 20}, isReview, "draft")},
			{mistake: "takes mentions, too", agent: draftReplies(unanswered, func(object) bool { return true }, "draft")},
		},
	}
}

func draftReplies(filter object, isSuitable func(object) bool, status string) taskAgent {
	return func(s *agentSession, _ map[string]string) object {
		suitable := func(all []object) []object {
			return slices.DeleteFunc(slices.Clone(all), func(r object) bool { return !isSuitable(r) })
		}
		reviews := suitable(s.list("list_feedback", filter, func(all []object) bool { return len(suitable(all)) >= urgentCount }, "kind", "title", "body", "rating", "priority"))
		kit := s.record("get_context_brand_kit", object{"fields": []string{"voiceTone", "voiceGuidelines", "avoidWords"}})
		for _, r := range reviews[:min(urgentCount, len(reviews))] {
			text := "Thank you for writing about " + r.text("title") + ". We read every word of it, and we say here when it is better."
			for _, word := range kit.texts("avoidWords") {
				text = strings.ReplaceAll(text, word, "")
			}
			s.call("update_feedback_reply", object{"feedbackId": r.text("id"), "replyBody": text, "replyStatus": status})
		}
		return nil
	}
}

// daysBefore returns the date n days before a date.
func daysBefore(date string, n int) string {
	at, _ := time.Parse(time.DateOnly, date)
	return day(at.AddDate(0, 0, -n))
}

func countryTask() agentTask {
	const days = 90 // the length of each of the two periods that are compared
	return agentTask{
		name: "which country brought the growth of sign-ups of the last 90 days", calls: 3, textBytes: 30_000,
		seed: func(c *taskCompany) taskChecker {
			c.words["metric"] = "Sign-ups"
			best := oneOf(c, taskCountries...)
			points := c.addSignups(2*days+30, func(country string, n int) float64 {
				if country == best && n <= days {
					return 2.5
				}
				return 1
			})
			return onlyAnswer(fastestGrowing(points, day(today), 2*days))
		},
		agent: findGrowth(2*days, nil),
		wrong: []wrongRun{{mistake: "reads only the first page", agent: findGrowth(2*days, firstPage)}, {mistake: "compares shorter periods", agent: findGrowth(days, nil)}},
	}
}

// fastestGrowing divides the given number of days before today into two halves. It returns the
// country whose sign-ups grew most from the first half to the second, and the increase.
func fastestGrowing(points []object, today string, days int) object {
	growth := map[string]float64{}
	for _, p := range points {
		country := fmt.Sprint(p["dims"])
		switch at := p.text("ts"); {
		case at < daysBefore(today, days):
		case at < daysBefore(today, days/2):
			growth[country] -= p.number("value")
		default:
			growth[country] += p.number("value")
		}
	}
	best := ""
	for _, country := range slices.Sorted(maps.Keys(growth)) {
		if best == "" || growth[country] > growth[best] {
			best = country
		}
	}
	return object{"country": best, "growth": growth[best]}
}

func findGrowth(days int, enough func([]object) bool) taskAgent {
	return func(s *agentSession, words map[string]string) object {
		key := ""
		for _, d := range s.list("list_metric_definitions", nil, nil, "key", "name") {
			if d.text("name") == words["metric"] {
				key = d.text("key")
			}
		}
		args := object{"metricKey": key, "from": daysBefore(words["today"], days), "to": daysBefore(words["today"], 1)}
		if enough != nil {
			args["limit"] = 100
		}
		return fastestGrowing(s.list("list_metric_points", args, enough), words["today"], days)
	}
}

func wrongNameTask() agentTask {
	const correct = "growth.signups"
	pointOf := func(p object) string { return fmt.Sprint(p.text("ts")[:len(time.DateOnly)], p["dims"], p["value"]) }
	return agentTask{
		name: "put right the sign-ups that were pushed under a wrong name", calls: 5, textBytes: 2_700,
		seed: func(c *taskCompany) taskChecker {
			gap, wrong := c.between(5, 12), "custom.growth."+oneOf(c, "sign_ups", "signup", "sign_up")
			for _, name := range []string{"custom.widget_pins", "custom.trail_exports", wrong} {
				c.add("metric-definition", object{"key": name, "kind": "measured", "source": "push", "needsReview": true}, gap)
			}
			var moved []string
			for _, p := range c.addSignups(60, func(string, int) float64 { return 1 }) {
				if p.text("ts") >= day(today.AddDate(0, 0, -gap)) {
					p["metricKey"] = wrong
					moved = append(moved, pointOf(p))
				}
			}
			slices.Sort(moved)
			return taskChecker{check: func(o taskOutcome) error {
				var pushed []string
				problems, deletedPoints, deletedDefinitions := []error{}, 0, 0
				for _, change := range o.changes {
					switch isPoint := strings.HasPrefix(change.name, "metric-point "); {
					case isPoint && change.kind == "created" && change.record.text("metricKey") == correct:
						pushed = append(pushed, pointOf(change.record))
					case isPoint && change.kind == "deleted" && change.record.text("metricKey") == wrong:
						deletedPoints++
					case change.kind == "deleted" && change.record.text("key") == wrong:
						deletedDefinitions++
					default:
						problems = append(problems, errors.New(change.String()))
					}
				}
				if slices.Sort(pushed); !slices.Equal(pushed, moved) {
					problems = append(problems, fmt.Errorf("%s has %d new points instead of %d, or others", correct, len(pushed), len(moved)))
				}
				if deletedPoints != len(moved) || deletedDefinitions != 1 {
					problems = append(problems, fmt.Errorf("%s still has points or a definition", wrong))
				}
				return errors.Join(problems...)
			}}
		},
		agent: repairName(true, true, true),
		wrong: []wrongRun{
			{mistake: "deletes without pushing again", agent: repairName(false, false, true)},
			{mistake: "pushes without the dimensions", agent: repairName(true, false, true)},
			{mistake: "leaves the wrong name", agent: repairName(true, true, false)},
		},
	}
}

// repairName returns an agent that takes the given steps to move points to the right metric.
func repairName(push, withDims, remove bool) taskAgent {
	normalise := func(key string) string {
		return strings.TrimSuffix(strings.ReplaceAll(strings.TrimPrefix(key, "custom."), "_", ""), "s")
	}
	return func(s *agentSession, _ map[string]string) object {
		definitions := s.list("list_metric_definitions", nil, nil, "key", "needsReview")
		var wrong, right object
		for _, d := range definitions {
			for _, other := range definitions {
				if d["needsReview"] == true && other["needsReview"] != true && normalise(d.text("key")) == normalise(other.text("key")) {
					wrong, right = d, other
				}
			}
		}
		var points []object
		var days []string
		for _, p := range s.list("list_metric_points", object{"metricKey": wrong.text("key")}, nil) {
			days = append(days, p.text("ts"))
			point := object{"metricKey": right.text("key"), "grain": "day", "ts": p.text("ts") + "T00:00:00Z", "value": p["value"]}
			if withDims {
				point["dims"] = p["dims"]
			}
			points = append(points, point)
		}
		if push {
			s.call("push_metric_points", object{"points": points})
		}
		if remove && len(days) > 0 {
			s.call("delete_metric_points", object{"metricKey": wrong.text("key"), "from": slices.Min(days), "to": slices.Max(days)})
			s.call("delete_metric_definition", object{"definitionId": wrong.text("id")})
		}
		return nil
	}
}

func worstPageTask() agentTask {
	const pages, pageBytes = 420, 5000
	return agentTask{
		name: "add a site, have it audited, and name its worst page", calls: 5, textBytes: 26_500,
		seed: func(c *taskCompany) taskChecker {
			c.words["site"], c.words["host"] = "Field guide", "guide.mossgrove.example"
			var scores, list []any
			worst := c.between(50, pages-1)
			for n := range pages {
				page := object{"url": fmt.Sprintf("https://guide.mossgrove.example/%d", n), "score": 98 - c.IntN(40), "issues": []object{{"text": c.prose(2)}}, "html": strings.Repeat(c.prose(1), pageBytes/60)}
				if n == worst {
					page["score"] = 11
				}
				scores, list = append(scores, []any{page["url"], page["score"]}), append(list, page)
			}
			want := object{"url": list[worst].(object)["url"], "text": list[worst].(object)["issues"].([]object)[0]["text"]}
			return taskChecker{
				check: func(o taskOutcome) error {
					siteID, complete := "", false
					for _, change := range o.changes {
						if strings.HasPrefix(change.name, "site ") && change.record.text("name") == "Field guide" {
							siteID = change.record.text("id")
						}
					}
					for _, change := range o.changes {
						isAudit := strings.HasPrefix(change.name, "audit ")
						if change.kind != "created" || !isAudit && !strings.HasPrefix(change.name, "site") {
							return fmt.Errorf("the agent did more: %s", change)
						}
						complete = complete || isAudit && change.record.text("siteId") == siteID && change.record.text("status") == "complete"
					}
					if siteID == "" || !complete {
						return errors.New("the new site has no complete audit")
					}
					return checkAnswer(o.answer, want)
				},
				crawled: object{"status": "complete", "pagesAudited": pages, "findings": object{"scores": scores, "pages": list}},
			}
		},
		agent: auditNewSite(true, true),
		wrong: []wrongRun{{mistake: "names the first page", agent: auditNewSite(true, false)}, {mistake: "leaves the audit without its site", agent: auditNewSite(false, true)}},
	}
}

// auditNewSite returns an agent that creates a site and an audit, waits for the crawler, and reads
// the page with the lowest score, or the first page.
func auditNewSite(linkToSite, lowest bool) taskAgent {
	return func(s *agentSession, words map[string]string) object {
		site := s.record("create_optimise_site", object{"name": words["site"], "domains": []string{words["host"]}})
		args := object{"rootUrl": "https://" + words["host"], "status": "running"}
		if linkToSite {
			args["siteId"] = site.text("id")
		}
		audit := s.record("create_optimise_audit", args)
		s.runCrawler(audit.text("id"))
		get := object{"auditId": audit.text("id")}
		s.call("get_optimise_audit", get) // shows the agent the structure of the findings
		table, _ := s.call("get_optimise_audit", object{"auditId": get["auditId"], "at": "/findings/scores"})
		rows, _ := table.([]any)
		best := 0
		for i, row := range rows {
			if lowest && row.([]any)[1].(float64) < rows[best].([]any)[1].(float64) {
				best = i
			}
		}
		page := s.record("get_optimise_audit", object{"auditId": get["auditId"], "at": fmt.Sprintf("/findings/pages/%d", best)})
		for _, issue := range objectsOf(page["issues"]) {
			return object{"url": page["url"], "text": issue["text"]}
		}
		return nil
	}
}

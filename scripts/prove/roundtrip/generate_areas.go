package main

import (
	"fmt"
	"strings"
	"time"
)

var (
	itemStatuses  = []string{"draft", "in_review", "published", "archived"}
	sources       = []string{"app_store", "google_play", "reddit"}
	sentiments    = []string{"positive", "neutral", "negative"}
	replyStatuses = []string{"none", "draft", "needs_review", "approved", "posting", "posted", "failed", "skipped"}
	platforms     = []string{"x", "instagram", "tiktok", "facebook", "reddit", "push"}
	postStatuses  = []string{"draft", "scheduled", "publishing", "published", "failed"}
	ideaStatuses  = []string{"suggested", "accepted", "rejected"}
	auditStatuses = []string{"running", "complete", "failed"}
)

// boardsWithItems share the items; the others are empty.
const boardsWithItems = 3

func (g *generator) plan() {
	boards := g.n(110, 6)
	published := record{}
	for n := range boards {
		r := record{
			"id": recordID("brd", n), "name": g.maybe(g.prose(3)), "publicKey": fmt.Sprintf("pk_board_%d", n),
			"allowedOrigins": g.list("https://a.example", "https://b.example"), "active": g.maybe(n%2 == 0), "createdAt": g.moment(), "updatedAt": g.moment(),
		}
		if n == 0 {
			r["publishedVersion"], r["publishedAt"] = 3, g.start.AddDate(1, 0, 0).Format(stamp)
			published = r // added below, with what is live on it
			continue
		}
		g.add("board", r)
	}
	var live []record
	for n := range g.n(2000, 60) {
		board := [10]int{0, 0, 0, 0, 0, 0, 1, 1, 1, 2}[n%10]
		r := record{
			"id": recordID("itm", n), "roadmapId": recordID("brd", board), "slug": fmt.Sprintf("item-%d", n), "title": g.prose(4),
			"summary": g.maybe(g.prose(12)), "columnId": g.one("now", "next", "later"), "categoryIds": g.list("ui", "sync", "teams"),
			"status": g.one(itemStatuses...), "targetLabel": g.one("Q1", "Q2"), "createdAt": g.moment(), "updatedAt": g.moment(),
		}
		if n%7 != 0 {
			r["sortOrder"] = g.random.IntN(200) - 100
		}
		if board == 0 && n%3 == 0 {
			r["publishedVersion"] = 3
			live = append(live, record{
				"id": r["id"], "slug": r["slug"], "title": r["title"], "summary": r["summary"], "columnId": r["columnId"],
				"categoryIds": r["categoryIds"], "sortOrder": r["sortOrder"], "targetLabel": r["targetLabel"],
			})
		} else if n%11 == 0 {
			r["publishedVersion"] = 2 // live once
		}
		g.add("item", r)
	}
	published["snapshot"] = live
	g.add("board", published)
}

func (g *generator) feedback() {
	for n := range g.n(10_000, 600) {
		r := record{
			"id": recordID("fbk", n), "source": g.one(sources...), "kind": g.one("review", "mention"), "externalId": fmt.Sprintf("ext-%d", n),
			"externalUrl": g.maybe("https://store.example/" + fmt.Sprint(n)), "authorName": g.maybe(fmt.Sprintf("trailrunner_%d", n)), "title": g.maybe(g.prose(3)), "body": g.maybe(g.prose(25)),
			"appVersion": g.one("4.1", "4.2"), "territory": g.one("DE", "US"), "locale": g.one("de-DE", "en-US"), "postedAt": g.moment(), "fetchedAt": g.moment(),
			"flags": g.list("money", "defect", "legal", "safety", "churn"), "sentiment": g.one(sentiments...), "replyStatus": g.one(replyStatuses...),
			"replyBody": g.maybe(g.prose(15)), "createdAt": g.moment(), "updatedAt": g.moment(),
		}
		if n%5 != 0 {
			r["priority"] = float64(g.random.IntN(9)-2) / 2
		}
		if n%4 != 0 {
			r["rating"] = 1 + n%5
		}
		g.add("feedback", r)
	}
}

func (g *generator) optimise() {
	sites := 12
	for n := range sites {
		g.add("site", record{
			"id": recordID("sit", n), "name": g.maybe(g.prose(2)), "siteKey": fmt.Sprintf("pk_site_%d", n), "domains": g.list("a.example", "b.example"),
			"timezone": g.one("Europe/Lisbon", "UTC"), "active": g.maybe(n%3 != 0), "lastEventAt": g.moment(), "createdAt": g.moment(), "updatedAt": g.moment(),
		})
		for m := range n * 2 {
			g.add("site-goal", record{
				"id": recordID("gol", n*100+m), "siteId": recordID("sit", n), "name": g.prose(2), "kind": g.one("path", "event"),
				"matchType": g.one("exact", "prefix", "contains", "regex"), "pattern": g.maybe("/" + g.prose(1)), "value": g.maybe(float64(m) / 4),
				"order": g.maybe(g.random.IntN(5)), "active": g.maybe(true), "createdAt": g.moment(), "updatedAt": g.moment(),
			})
		}
	}
	for n := range g.n(240, 70) {
		r := record{
			"id": recordID("aud", n), "rootUrl": "https://a.example", "status": g.one(auditStatuses...), "startedAt": g.moment(),
			"finishedAt": g.moment(), "scoreSeo": g.maybe(n % 101), "scoreAeo": g.maybe(n * 7 % 101), "scoreGeo": g.maybe(12.5), "pagesAudited": g.maybe(n),
			"summary": g.maybe(g.prose(20)), "error": g.maybe(g.prose(5)), "createdAt": g.moment(), "updatedAt": g.moment(),
		}
		if n%6 != 0 {
			r["siteId"] = recordID("sit", n%sites)
		}
		switch {
		case n == 1: // as large as an item of the table never is
			r["findings"] = []any{strings.Repeat(g.prose(40), 2000), record{"deep": []any{1, 2.5, nil, true}}}
		case n%3 != 0:
			r["findings"] = []record{{"url": "https://a.example/" + fmt.Sprint(n), "issues": []string{g.prose(4), g.prose(2)}}}
		}
		g.add("audit", r)
	}
}

func (g *generator) broadcast() {
	g.ideasWithPosts = g.n(30, 4)
	plans := g.n(130, 8)
	for n := range plans {
		g.add("content-plan", record{
			"id": recordID("pln", n), "name": g.maybe(g.prose(3)), "brief": g.maybe(g.prose(20)), "objective": g.one("reach", "trust"), "goalId": g.maybe("bgl_1"),
			"audience": g.maybe(g.prose(2)), "platforms": g.list(platforms...), "contentTypeIds": g.list("cty_1", "cty_2"), "cadence": g.one("daily"),
			"status": g.one("draft", "active", "paused", "complete", "archived"), "startsAt": g.moment(), "endsAt": g.moment(), "createdAt": g.moment(), "updatedAt": g.moment(),
		})
	}
	for n := range max(80, g.n(900, 80), g.ideasWithPosts+2) {
		r := record{
			"id": recordID("ida", n), "contentTypeId": g.maybe("cty_1"), "title": g.maybe(g.prose(4)), "summary": g.maybe(g.prose(9)), "rationale": g.maybe(g.prose(6)),
			"platforms": g.list(platforms...), "sourceKind": g.one("manual", "generated", "feedback", "metric", "audit", "roadmap"), "sourceId": g.maybe("fbk_1"),
			"suggestedFor": g.moment(), "status": g.one(ideaStatuses...), "createdAt": g.moment(), "updatedAt": g.moment(),
		}
		if n%9 != 0 {
			r["planId"] = recordID("pln", n%7) // the first plans have many ideas, the others none
		}
		g.add("content-idea", r)
	}
	for n := range g.n(5000, 400) {
		r := record{
			"id": recordID("pst", n), "platform": g.one(platforms...), "title": g.maybe(g.prose(3)), "body": g.maybe(g.prose(30)), "hashtags": g.list("launch", "tips"),
			"destination": g.maybe("active-30d"), "deepLink": g.maybe("app://notes"), "scheduledFor": g.moment(), "status": g.one(postStatuses...), "publishedAt": g.moment(),
			"externalId": g.maybe(fmt.Sprint(n)), "externalUrl": g.maybe("https://x.example/" + fmt.Sprint(n)), "failureReason": g.maybe(g.prose(4)), "createdAt": g.moment(), "updatedAt": g.moment(),
			"threadParts": g.list("part one", "part two"), "media": g.maybe([]record{{"url": "https://a.example/1.png", "size": record{"w": 3, "h": 2.25}}}),
		}
		if n%3 != 0 {
			r["ideaId"] = recordID("ida", g.random.IntN(g.ideasWithPosts))
		}
		g.add("post", r)
	}
	for n := range 14 {
		g.add("channel", record{
			"id": recordID("chn", n), "platform": g.one(platforms...), "name": g.maybe(g.prose(1)), "handle": g.maybe("notes"), "externalId": g.maybe("acct"), "externalUrl": g.maybe("https://x.example"),
			"status": g.one("connected", "expiring", "disconnected", "error"), "credentialsValid": g.maybe(n%2 == 0), "credentialsExpireAt": g.moment(),
			"lastCheckedAt": g.moment(), "lastError": g.maybe(g.prose(3)), "active": g.maybe(true), "createdAt": g.moment(), "updatedAt": g.moment(),
		})
	}
}

func (g *generator) context() {
	g.add("brand-kit", record{
		"id": "kit_1", "voiceTone": []string{"calm", "plain"}, "voiceGuidelines": g.prose(60), "voiceExamples": []string{}, "avoidWords": []string{g.prose(1)},
		"colors": record{"primary": "#123456", "more": []any{nil, 1e21, -0.25}}, "fonts": "Inter", "artStyle": g.prose(5), "createdAt": g.moment(), "updatedAt": g.moment(),
	})
	for n := range g.n(230, 20) {
		g.add("content-type", record{
			"id": recordID("cty", n), "name": g.maybe(g.prose(1 + n%3)), "description": g.maybe(g.prose(6)), "guidance": g.maybe(g.prose(9)),
			"defaultPlatforms": g.list(platforms...), "cadence": g.one("daily", "weekly"), "active": g.maybe(n%2 == 0), "createdAt": g.moment(), "updatedAt": g.moment(),
		})
		g.add("brand-goal", record{
			"id": recordID("bgl", n), "name": g.maybe(g.prose(2)), "description": g.maybe(g.prose(6)), "metricKey": g.maybe("group1.metric1"), "baselineValue": g.maybe(n), "targetValue": g.maybe(0.1 * float64(n)),
			"dueAt": g.moment(), "status": g.one("active", "achieved", "missed", "archived"), "priority": g.maybe(n % 4), "createdAt": g.moment(), "updatedAt": g.moment(),
		})
	}
}

const metricsWithPoints = 20

func metricKey(n int) string { return fmt.Sprintf("group%d.metric%d", n%4, n) }

func (g *generator) metrics() {
	for n := range g.n(260, metricsWithPoints+6) {
		key := metricKey(n)
		if n > metricsWithPoints {
			key = "custom." + strings.ReplaceAll(key, ".", "_")
		}
		g.add("metric-definition", record{
			"id": recordID("mdf", n), "key": key, "name": g.maybe(g.prose(2)), "description": g.maybe(g.prose(8)),
			"unit":        g.one("currency_minor", "count", "ratio", "duration_ms", "score", "bytes"),
			"aggregation": g.one("sum", "avg", "min", "max", "last", "none"), "polarity": g.one("up_is_good", "down_is_good", "neutral"),
			"kind": g.one("measured", "derived", "split"), "formula": g.maybe("a / b"), "dimensions": g.list("country", "plan"), "source": g.one("push", "import"),
			"needsReview": g.maybe(n%4 == 0), "createdAt": g.moment(), "updatedAt": g.moment(),
		})
	}
	days := g.n(3*365+1, 100)
	for n := range metricsWithPoints {
		for d := range days {
			day := g.start.AddDate(0, 0, d)
			if d%97 == 50 {
				continue // a gap
			}
			g.point(n, "day", day, nil)
			if n < 2 && d > days-100 {
				for _, country := range []string{"de", "us"} {
					g.point(n, "day", day, record{"country": country})
				}
			}
			if day.Weekday() == time.Monday && n < 10 {
				g.point(n, "week", day, nil)
			}
			if day.Day() == 1 && n < 10 {
				g.point(n, "month", day, nil)
			}
		}
	}
}

func (g *generator) point(metric int, grain string, start time.Time, dims record) {
	r := record{
		"metricKey": metricKey(metric), "grain": grain, "ts": start.Format(stamp), "value": g.random.NormFloat64() * 1000,
		"source": g.one("push", "import"), "ingestedAt": g.moment(),
	}
	if dims != nil {
		r["dims"] = dims
	}
	if metric%5 == 0 {
		r["currency"], r["baseValue"] = "EUR", g.maybe(g.random.Float64())
	}
	g.add("metric-point", r)
}

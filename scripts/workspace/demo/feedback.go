package demo

import (
	"fmt"
)

const feedbackCount = 60

// replyStatuses lists, for each sentiment, the reply statuses from which one is chosen at random. A
// status that is listed twice is twice as likely.
var replyStatuses = map[string][]string{
	"negative": {"needs_review", "needs_review", "draft", "approved", "posted", "posted", "failed", "none", "posting"},
	"neutral":  {"none", "draft", "needs_review", "posted", "skipped", "approved"},
	"positive": {"none", "none", "skipped", "posted", "draft"},
}

func (g *generator) addFeedback() {
	sources := []string{"app_store", "google_play", "reddit"}
	versions := []string{"4.0.3", "4.1.0", "4.2.0", "4.2.1"}
	places := []struct{ territory, locale string }{{"US", "en-US"}, {"GB", "en-GB"}, {"DE", "de-DE"}, {"PT", "pt-PT"}, {"CA", "en-CA"}}
	for n := range feedbackCount {
		v, source := feedbackTexts[n%len(feedbackTexts)], sources[(n+n/len(feedbackTexts))%len(sources)]
		days := 0.3 + float64(n)*1.9
		posted := g.timeAgo(days)
		fetched := posted.Add(g.now.Sub(posted) / 20)
		record := Record{
			"source": source, "kind": "review", "externalId": fmt.Sprintf("%s-%08d", source, 40_118_000+n*7919),
			"authorName": authors[(n*5+n/len(authors))%len(authors)], "body": v.body, "sentiment": v.sentiment,
			"postedAt": formatTime(posted), "fetchedAt": formatTime(fetched), "flags": []string{},
		}
		if v.flags != nil {
			record["flags"] = v.flags
		}
		if v.title != "" {
			record["title"] = v.title
		}
		if source == "reddit" {
			record["kind"] = "mention" // a mention has no rating, version or territory
			record["externalUrl"] = fmt.Sprintf("https://reddit.example/r/fieldnotes/%06x", 0x4a1f00+n*613)
			record["locale"] = "en-US"
		} else {
			place := pickOne(g, places)
			record["appVersion"] = versions[max(0, len(versions)-1-n/16)]
			record["territory"], record["locale"] = place.territory, place.locale
			record["rating"] = map[string]int{"negative": 1, "neutral": 3, "positive": 5}[v.sentiment]
			if g.chance(40) {
				record["rating"] = map[string]int{"negative": 2, "neutral": 4, "positive": 4}[v.sentiment]
			}
		}
		if p := priorityOf(v); p > 0 {
			record["priority"] = p
		}
		status := pickOne(g, replyStatuses[v.sentiment])
		record["replyStatus"] = status
		if status != "none" && status != "skipped" {
			record["replyBody"] = v.reply
		}
		g.add("feedback", withTimes(record, fetched, fetched.Add(g.now.Sub(fetched)/3)))
	}
}

// priorityOf returns 1 for the most urgent feedback and 0 for feedback without a priority.
func priorityOf(v feedbackText) int {
	for _, f := range v.flags {
		if f == "safety" || f == "legal" {
			return 1
		}
	}
	switch {
	case len(v.flags) > 0:
		return 2
	case v.sentiment == "negative":
		return 3
	case v.sentiment == "neutral":
		return 4
	}
	return 0
}

package demo

import (
	"fmt"
	"time"
)

func (g *generator) addBroadcast() {
	for _, p := range []Record{
		{"name": "Wet season", "brief": "What changes for people who write in the rain, from glove mode to waterproof pens.", "objective": "1,000 teams a month", "goalId": idOf("brand-goal", goalTeams), "audience": "Rangers and surveyors", "platforms": []string{"x", "instagram", "push"}, "contentTypeIds": []string{idOf("content-type", typeTip), idOf("content-type", typeStory)}, "cadence": "three posts a week", "status": "active", "startsAt": formatTime(g.timeAgo(30)), "endsAt": formatTime(g.timeAgo(-45))},
		{"name": "Roadmap in the open", "brief": "Each change of the public roadmap gets a post that says what we dropped for it.", "objective": "Trust", "audience": "People who asked for something", "platforms": []string{"x", "reddit"}, "contentTypeIds": []string{idOf("content-type", typeRelease)}, "cadence": "with each publish", "status": "active", "startsAt": formatTime(g.timeAgo(100))},
		{"name": "Spring offer", "brief": "A quieter offer than last year's.", "objective": "Teams that tried and left", "goalId": idOf("brand-goal", goalTeams), "platforms": []string{"facebook", "push"}, "contentTypeIds": []string{idOf("content-type", typeOffer)}, "status": "complete", "startsAt": formatTime(g.timeAgo(140)), "endsAt": formatTime(g.timeAgo(100))},
	} {
		g.add("content-plan", withTimes(p, g.timeAgo(150-float64(g.count["content-plan"])*40), g.timeAgo(8)))
	}
	g.addIdeas()
	for n := range postCount {
		g.addPost(n)
	}
	g.addChannels()
}

var postIdeas = []struct {
	title, summary, source, status string
	plan                           int // -1 if there is no plan
}{
	{"The pen that ignores rain", "Ten seconds of film: a wet screen, a thumb, a note.", "roadmap", "accepted", 0},
	{"Battery, honestly", "What a day without a signal costs now, with the numbers of our own phones.", "feedback", "accepted", 0},
	{"Four days, forty notes", "A guide's week without a signal, in pictures.", "feedback", "accepted", 0},
	{"What we dropped for roles", "Three things that wait because shared notebooks come first.", "roadmap", "accepted", 1},
	{"Sync under a second", "How we got from 1.9 s to under one, in four charts.", "metric", "accepted", 1},
	{"Answers first", "The audit says that our pages bury the answer. We rewrite one in public.", "audit", "suggested", 1},
	{"How do you label a sample?", "A question for surveyors.", "manual", "suggested", 0},
	{"Paper notebooks", "Ask readers to show the oldest one they still use.", "generated", "suggested", -1},
	{"Team week", "A week of posts by one volunteer group.", "manual", "suggested", 0},
	{"A countdown to the offer", "Every hour until it ends.", "generated", "rejected", 2},
	{"We beat the others", "A table of competitors.", "generated", "rejected", -1},
	{"One month free", "For teams that left in winter.", "manual", "accepted", 2},
}

func (g *generator) addIdeas() {
	for n, idea := range postIdeas {
		record := Record{
			"title": idea.title, "summary": idea.summary, "sourceKind": idea.source, "status": idea.status,
			"contentTypeId": idOf("content-type", n%5), "platforms": [][]string{{"x"}, {"instagram", "x"}, {"reddit"}}[n%3],
		}
		if idea.plan >= 0 {
			record["planId"] = idOf("content-plan", idea.plan)
		}
		switch idea.source {
		case "feedback":
			record["sourceId"], record["rationale"] = idOf("feedback", n), "Several reviews of the last weeks say the same."
		case "roadmap":
			record["sourceId"], record["rationale"] = idOf("item", n), "The board was just published."
		case "audit":
			record["sourceId"] = idOf("audit", 2)
		}
		if idea.status != "rejected" {
			record["suggestedFor"] = formatTime(g.timeAgo(float64(-2 * n)))
		}
		age := 90 - float64(6*n)
		g.add("content-idea", withTimes(record, g.timeAgo(age), g.timeAgo(age/2)))
	}
}

const postCount = 25

var postBodies = []string{
	"Rain on the screen? Notes still take your thumb. Glove mode is in 4.2.",
	"A day without a signal now costs 4 % of your battery. It was 31 %. We are sorry that it took us two versions.",
	"Question for everyone who labels samples: on the bag, on the lid, or in the notebook first?",
	"Shared notebooks with roles are next. To make room, the calendar waits. The roadmap says so too.",
	"4.2.1 is out. Photographs no longer hold up the rest of your notes, and Tuesday is back where it belongs.",
	"Four days in the hills, forty notes, no signal. The pictures are in the thread.",
	"Your notes are yours: plain files, one folder of pictures, one tap.",
	"New this week: the list follows your font size.",
}

const threadBody = "How sync got under a second, in four steps. First we measured where the time went, and it was not where we had looked: half of it was spent on asking whether there was anything to ask. " +
	"Then we let the phone say what it has, instead of asking for each notebook. Then pictures went last, because nobody waits for them. " +
	"And last we halved the bytes. The median of a day is 940 ms on a phone, from 1.9 s in winter. The charts are on our site."

var postStatuses = []string{"published", "published", "scheduled", "draft", "published", "scheduled", "failed", "draft"}

func (g *generator) addPost(n int) {
	platforms := []string{"x", "instagram", "reddit", "push", "facebook", "tiktok"}
	platform, status := platforms[n%len(platforms)], postStatuses[(n+n/6)%len(postStatuses)]
	record := Record{"platform": platform, "body": postBodies[n%len(postBodies)], "status": status, "hashtags": []string{"fieldnotes"}}
	if n%3 != 2 {
		record["ideaId"] = idOf("content-idea", n%9)
	}
	switch platform {
	case "x":
		if n == 12 {
			record["body"] = threadBody
			record["threadParts"] = threadOf(threadBody)
		}
	case "push":
		record["title"], record["destination"] = "News from Mossgrove", pickOne(g, []string{"active-30d", "team-owners", "trial"})
		record["deepLink"], record["hashtags"] = "mossgrove://notes/new", []string{}
	case "reddit":
		record["title"] = "How do you do it outdoors?"
	default:
		record["media"] = []Record{{"kind": "image", "url": fmt.Sprintf("%s/media/field-%02d.jpg", websiteURL, n), "alt": "A wet hand holding a phone in a field"}}
		record["hashtags"] = []string{"fieldnotes", "outdoors"}
	}
	created := g.timeAgo(70 - float64(n)*2.5)
	updated := created.Add(g.now.Sub(created) / 3)
	switch status {
	case "scheduled":
		due := g.timeAgo(-1.5 - float64(n)/2)
		if n == 2 {
			due = g.now.Add(-20 * time.Minute)
		}
		record["scheduledFor"] = formatTime(due)
	case "published":
		record["scheduledFor"], record["publishedAt"] = formatTime(updated), formatTime(updated.Add(40*time.Second))
		record["externalId"] = fmt.Sprintf("%s-%d", platform, 7_700_100+n*31)
		if platform != "push" {
			record["externalUrl"] = fmt.Sprintf("https://%s.example/mossgrove/%d", platform, 7_700_100+n*31)
		}
	case "failed":
		record["scheduledFor"] = formatTime(updated)
		record["failureReason"] = "The platform refused the picture: it is larger than 8 MB."
	}
	g.add("post", withTimes(record, created, updated))
}

// threadOf splits text between words into parts of at most 280 characters, as the API does for
// posts on the platform "x".
func threadOf(text string) (parts []string) {
	const partCharsMax = 280
	for len(text) > partCharsMax {
		cut := partCharsMax
		for text[cut] != ' ' {
			cut--
		}
		parts, text = append(parts, text[:cut]), text[cut+1:]
	}
	return append(parts, text)
}

func (g *generator) addChannels() {
	for n, c := range []Record{
		{"platform": "x", "name": "Mossgrove", "handle": "mossgrove_notes", "status": "connected", "credentialsValid": true},
		{"platform": "instagram", "name": "Mossgrove", "handle": "mossgrove.notes", "status": "expiring", "credentialsValid": true, "credentialsExpireAt": formatTime(g.timeAgo(-4))},
		{"platform": "reddit", "name": "Mossgrove team", "handle": "mossgrove_team", "status": "error", "credentialsValid": false, "lastError": "The token was refused: somebody changed the account's password."},
		{"platform": "facebook", "name": "Mossgrove Notes", "handle": "mossgrovenotes", "status": "disconnected", "credentialsValid": nil, "active": false},
		{"platform": "push", "name": "App notifications", "status": "connected", "credentialsValid": true},
	} {
		c["externalId"] = fmt.Sprintf("acct-%d", 88_120+n*17)
		c["lastCheckedAt"] = formatTime(g.timeAgo(0.05 + float64(n)/10))
		if _, ok := c["active"]; !ok {
			c["active"] = true
		}
		g.add("channel", withTimes(c, g.timeAgo(260-float64(n)*20), g.timeAgo(0.05)))
	}
}

package demo

// websiteURL uses a top-level domain that is reserved for examples (RFC 2606), so nobody can own
// the domain.
const websiteURL = "https://mossgrove.example"

func (g *generator) addCompany() {
	g.add(companyTypeName, withTimes(Record{
		"id": CompanyID, "name": "Mossgrove", "slug": "mossgrove",
		"summary":    "Mossgrove Notes keeps the notes of people who work outdoors: offline first, quick to write with gloves on, in sync when there is a signal.",
		"websiteUrl": websiteURL, "repositoryUrl": websiteURL + "/source", "industry": "Productivity software",
		"stage": "growth", "teamSize": "11-50", "targetMarket": "b2b2c", "primaryLanguage": "en", "timezone": "Europe/Lisbon",
		"emailDomain": "mossgrove.example", "onboardingStatus": "complete",
	}, g.timeAgo(400), g.timeAgo(9)))
}

// The indexes of content types to which records of other areas refer. addBrand creates the content
// types in this order.
const (
	typeTip = iota
	typeRelease
	typeStory
	typeQuestion
	typeOffer
)

// The indexes of goals to which records of other areas refer. addBrand creates the goals in this
// order.
const (
	goalTeams = iota
	goalRating
	goalSync
	goalRefunds
)

func (g *generator) addBrand() {
	g.add("brand-kit", withTimes(Record{
		"voiceTone": []string{"calm", "plain", "warm", "exact"},
		"voiceGuidelines": "Write as one person to another. Name the situation first, then what helps. One idea per sentence. " +
			"Say what changed and for whom. Do not promise dates. Do not call anything easy: the reader decides that.",
		"voiceExamples": []string{"Rain on the screen? Notes still take your thumb.", "We fixed it. It was our fault, and here is what it was.", "Your notes are yours: export takes one tap."},
		"avoidWords":    []string{"revolutionary", "seamless", "synergy", "simply", "game changer"},
		"colors":        Record{"primary": "#2f5d50", "accent": "#e0a458", "ink": "#1c2321", "paper": "#f6f4ee"},
		"fonts":         Record{"heading": "Fraunces", "body": "Inter"},
		"artStyle":      "Photographs in natural light, hands and tools in the frame, no faces.",
		"artDirection":  "Low angle, one subject, plenty of weather.", "imageryNotes": "Screens show real notes in a readable size. Never a phone floating in space.",
		"context":       "Readers are rangers, surveyors, gardeners and the people who plan their days.",
		"extractedFrom": websiteURL, "lastExtractedAt": formatTime(g.timeAgo(30)),
	}, g.timeAgo(300), g.timeAgo(30)))

	for i, t := range []struct{ name, description, guidance, cadence string }{
		typeTip:      {"Field tip", "One thing that saves a minute outdoors.", "Begin with the situation. One tip, one picture. End without a call to action.", "twice a week"},
		typeRelease:  {"Release note", "What changed in a version, and for whom.", "Name who notices. Fixes first, then features. Thank who reported it, by handle only.", "with each release"},
		typeStory:    {"Customer story", "How a team works with the app.", "Their words, our cuts. No numbers that they did not give us.", "monthly"},
		typeQuestion: {"Question", "Ask readers how they do something.", "A question that we do not know the answer to. Reply to every answer.", "weekly"},
		typeOffer:    {"Offer", "A price for a while, or a trial.", "The terms in the first two lines. Never a countdown.", "quarterly"},
	} {
		platforms := [][]string{{"x", "instagram"}, {"x", "reddit", "push"}, {"instagram", "facebook"}, {"x", "reddit"}, {"facebook", "push"}}[i]
		g.add("content-type", withTimes(Record{
			"name": t.name, "description": t.description, "guidance": t.guidance, "cadence": t.cadence,
			"defaultPlatforms": platforms, "active": i != typeOffer,
		}, g.timeAgo(280-float64(i)), g.timeAgo(40)))
	}
	for i, goal := range []Record{
		goalTeams:   {"name": "1,000 teams a month sign up", "description": "Teams, not people: a team is two or more who share a notebook.", "metricKey": "growth.signups", "baselineValue": 610, "targetValue": 1000, "dueAt": formatTime(g.timeAgo(-120)), "status": "active", "priority": 1},
		goalRating:  {"name": "4.6 in both stores", "description": "The rating of the last 90 days.", "metricKey": "store.rating", "baselineValue": 4.2, "targetValue": 4.6, "dueAt": formatTime(g.timeAgo(-60)), "status": "active", "priority": 2},
		goalSync:    {"name": "Sync in under a second", "description": "The median of a day, on a phone.", "metricKey": "product.sync_time", "baselineValue": 1900, "targetValue": 1000, "dueAt": formatTime(g.timeAgo(20)), "status": "achieved", "priority": 3},
		goalRefunds: {"name": "Half the refunds", "metricKey": "revenue.refunds", "baselineValue": 90000, "targetValue": 45000, "dueAt": formatTime(g.timeAgo(45)), "status": "missed", "priority": 4},
	} {
		g.add("brand-goal", withTimes(goal, g.timeAgo(200-float64(i)), g.timeAgo(10)))
	}
}

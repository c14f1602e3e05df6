package agents

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"growthworkspace/functions"
	"growthworkspace/scripts/workspace/demo"
	"growthworkspace/shared/id"
	"growthworkspace/shared/timestamp"
)

// generator creates a company with random records. The same seed gives the same records, including
// their ids.
type generator struct {
	*rand.Rand
	source *rand.ChaCha8 // generates the bytes of ids and publishable keys

	today time.Time // the start of the day on which the task is set
	lines []demo.Line
	words map[string]string // the names and dates that the task mentions, such as words["monday"]

	prefixes   map[string]string // the prefixes of ids, by record type
	createdAt  time.Time         // the creation time of the record that add is adding
	newID      id.Generator
	titleCount int
}

// newGenerator returns a generator for the given seed and name. The generator's field today is a
// random day from the 7th to the 25th of a month, from February to June 2026.
func newGenerator(seed uint64, name string) *generator {
	var key [32]byte
	copy(key[:], fmt.Sprintf("%d %s", seed, name))
	source := rand.NewChaCha8(key)
	g := &generator{Rand: rand.New(source), source: source, prefixes: map[string]string{}}
	g.today = time.Date(2026, time.Month(2+g.IntN(5)), 7+g.IntN(19), 0, 0, 0, 0, time.UTC)
	g.words = map[string]string{"today": day(g.today)}
	g.newID = id.NewGenerator(func() time.Time { return g.createdAt }, source)
	for _, t := range functions.Transfers(nil) {
		g.prefixes[t.Name] = t.Prefix
	}
	g.add("company", record{"name": "Mossgrove", "summary": "Notes for people who work outdoors.", "timezone": "UTC"}, 400, 20)
	return g
}

// day formats the date of t in the form that tools accept.
func day(t time.Time) string { return t.Format(time.DateOnly) }

// add adds a record that was created and last updated the given numbers of days ago. The times of
// day are random.
func (g *generator) add(kind string, r record, createdDaysAgo, updatedDaysAgo int) record {
	g.createdAt = g.daysAgo(createdDaysAgo)
	if prefix := g.prefixes[kind]; prefix != "" {
		r["id"] = g.newID(prefix)
	}
	last := g.daysAgo(updatedDaysAgo)
	if last.Before(g.createdAt) {
		last = g.createdAt
	}
	r["createdAt"], r["updatedAt"] = timestamp.Format(g.createdAt), timestamp.Format(last)
	g.lines = append(g.lines, demo.Line{Type: kind, Record: r})
	return r
}

// daysAgo returns a random time on the day that was n days ago.
func (g *generator) daysAgo(n int) time.Time {
	return g.today.AddDate(0, 0, -n).Add(time.Duration(g.IntN(24*60*60)) * time.Second)
}

// between returns a random number from first to last, both included.
func (g *generator) between(first, last int) int { return first + g.IntN(last-first+1) }

// chance returns true with the given probability in percent.
func (g *generator) chance(percent int) bool { return g.IntN(100) < percent }

func pick[T any](g *generator, values ...T) T { return values[g.IntN(len(values))] }

// sample returns n of the values, in a random order.
func sample[T any](g *generator, n int, values []T) (out []T) {
	for _, i := range g.Perm(len(values))[:n] {
		out = append(out, values[i])
	}
	return out
}

var (
	sentences = []string{
		"I came back from two days in the hills and everything was where I had left it.", "After the last update the list takes eight seconds to open.",
		"The map is the reason why I stay.", "Sync stops at 99 % and says nothing about why.", "I write with gloves on, and most buttons are too small for that.",
		"My colleague sees a different version of the same page.", "The export has all pictures, but in the wrong order.", "It took me ten minutes to find how to cancel.",
		"We are a team of six, and everyone can delete everything.", "A third of the battery is gone on a day without a signal.", "Support answered within the hour, which I did not expect.",
		"I would pay more for folders inside folders.", "The price went up by a third and I learned it from my bank.", "Search finds a word that I wrote three years ago in a second.",
		"On my old tablet the app starts, waits and closes.", "Please let me choose a larger font for the list, not only for the page.",
	}
	subjects = []string{
		"offline maps", "dark theme", "voice notes", "shared notebooks", "glove mode", "PDF export", "photo search", "calendar days", "wrist widget", "paper import", "team roles", "quick capture",
		"location privacy", "font size", "map closures", "sync status", "two-step sign-in", "handwriting", "tide tables", "battery saver", "route notes", "bird lists", "weather stamps", "soil samples",
	}
	openings  = []string{"Better", "Faster", "Simpler", "New", "Free", "Small", "Shared", "Open", "Clear", "Safe", "Early", "Full"}
	platforms = []string{"x", "instagram", "tiktok", "facebook", "reddit", "push"}
)

func (g *generator) prose(n int) string { return strings.Join(sample(g, n, sentences), " ") }

// title returns a title that is unique in the company.
func (g *generator) title() string {
	g.titleCount++
	return fmt.Sprintf("%s %s %d", openings[g.titleCount/len(subjects)%len(openings)], subjects[g.titleCount%len(subjects)], g.between(2, 9))
}

// addReviews adds n reviews and mentions from the last 200 days.
func (g *generator) addReviews(n int) (out []record) {
	for i := range n {
		rating := pick(g, 1, 1, 2, 3, 4, 5, 5)
		posted := g.between(0, 200)
		r := record{
			"kind": "review", "source": pick(g, "app_store", "google_play"), "externalId": fmt.Sprintf("%08d-%d", g.IntN(1e8), i), "authorName": fmt.Sprintf("reader-%04d", g.IntN(1e4)),
			"title": g.title(), "body": g.prose(g.between(2, 6)), "rating": rating, "appVersion": pick(g, "4.1.0", "4.2.0", "4.2.1", "4.3.0"), "territory": pick(g, "US", "GB", "DE", "PT"),
			"locale": pick(g, "en-US", "en-GB", "de-DE", "pt-PT"), "postedAt": timestamp.Format(g.daysAgo(posted)), "fetchedAt": timestamp.Format(g.today), "flags": []string{},
			"sentiment":   []string{"negative", "negative", "neutral", "positive", "positive"}[rating-1],
			"replyStatus": pick(g, "none", "none", "none", "posted", "posted", "skipped", "draft", "needs_review", "approved"),
		}
		if rating <= 3 {
			r["flags"] = sample(g, g.IntN(3), []string{"money", "defect", "legal", "safety", "churn"})
			r["priority"] = g.between(1, 9)
		}
		if g.chance(20) {
			r["kind"], r["source"], r["externalUrl"] = "mention", "reddit", fmt.Sprintf("https://reddit.example/r/fieldnotes/%06x", g.IntN(1<<24))
			delete(r, "rating")
		}
		if status := r["replyStatus"]; status != "none" && status != "skipped" {
			r["replyBody"] = "Thank you for telling us. " + g.prose(2)
		}
		out = append(out, g.add("feedback", r, posted, g.IntN(posted+1)))
	}
	return out
}

// addBrand adds a brand kit and content types.
func (g *generator) addBrand() {
	g.add("brand-kit", record{
		"voiceTone": []string{"calm", "plain", "warm"}, "voiceGuidelines": "Write as one person to another. One idea per sentence. " + g.prose(4), "voiceExamples": sample(g, 4, sentences),
		"avoidWords": sample(g, 3, []string{"revolutionary", "seamless", "synergy", "simply", "game changer", "unleash"}), "artStyle": "Photographs in natural light.",
		"artDirection": "One subject, plenty of weather.", "context": g.prose(8), "colors": record{"primary": "#2f5d50", "accent": "#e0a458"}, "fonts": record{"heading": "Fraunces", "body": "Inter"},
	}, 300, 30)
	for _, name := range []string{"Field tip", "Release note", "Customer story", "Question", "Offer"} {
		g.add("content-type", record{"name": name, "description": g.prose(1), "guidance": g.prose(3), "defaultPlatforms": sample(g, 2, platforms), "cadence": "weekly", "active": true}, 280, 40)
	}
}

// addBoard adds a published board with n items. It returns the board, the items that visitors see,
// and the unpublished items.
func (g *generator) addBoard(name string, n int) (board record, live, others []record) {
	board = g.add("board", record{
		"name": name, "publicKey": id.NewPublicKey(g.source), "allowedOrigins": []string{"https://mossgrove.example"}, "active": true,
		"publishedVersion": g.between(3, 40), "publishedAt": timestamp.Format(g.daysAgo(12)),
	}, 320, 12)
	for i := range n {
		title := g.title()
		r := record{
			"roadmapId": board["id"], "slug": strings.ReplaceAll(strings.ToLower(title), " ", "-"), "title": title, "summary": g.prose(g.between(1, 3)),
			"columnId": pick(g, "now", "next", "later", "done"), "categoryIds": sample(g, g.between(1, 2), []string{"offline", "maps", "writing", "teams", "photos"}),
			"status": pick(g, "published", "published", "draft", "in_review"), "sortOrder": 10 * (i + 1), "targetLabel": pick(g, "This quarter", "Next quarter", "Later"),
		}
		age := g.between(20, 300)
		g.add("item", r, age, g.between(14, age))
		if r["status"] == "published" {
			r["publishedVersion"] = board["publishedVersion"]
			live = append(live, r)
		} else {
			others = append(others, r)
		}
	}
	g.publish(board, live)
	return board, live, others
}

// publish makes the items live with their current fields. Later changes to an item are unpublished
// edits.
func (g *generator) publish(board record, items []record) {
	var snapshot []record
	for _, item := range items {
		liveItem := record{}
		for _, name := range []string{"id", "slug", "title", "summary", "columnId", "categoryIds", "sortOrder", "targetLabel"} {
			liveItem[name] = item[name]
		}
		snapshot = append(snapshot, liveItem)
	}
	board["snapshot"] = snapshot
}

// addMetric adds the definition of a metric. The properties in overrides replace the default ones.
func (g *generator) addMetric(key, name string, overrides record) record {
	r := record{
		"key": key, "name": name, "description": g.prose(1), "unit": "count", "aggregation": "sum", "polarity": "up_is_good", "kind": "measured", "source": "product database", "needsReview": false,
	}
	for property, value := range overrides {
		r[property] = value
	}
	return g.add("metric-definition", r, g.between(100, 300), g.between(8, 90))
}

// addPoints adds a point for each day from first to last, both given as numbers of days before
// today. value returns the value for a day.
func (g *generator) addPoints(key string, dims record, first, last int, value func(daysAgo int) float64) (out []record) {
	for n := first; n >= last; n-- {
		at := g.today.AddDate(0, 0, -n)
		r := record{
			"metricKey": key, "grain": "day", "ts": timestamp.Format(at), "value": value(n), "source": "product database", "ingestedAt": timestamp.Format(at.Add(26 * time.Hour)),
		}
		if dims != nil {
			r["dims"] = dims
		}
		g.lines = append(g.lines, demo.Line{Type: "metric-point", Record: r})
		out = append(out, r)
	}
	return out
}

var countries = []string{"de", "gb", "pt", "us"}

// addSignups adds sign-ups by country for the given number of days up to yesterday. trend returns
// the factor by which a country's usual number is multiplied on a day.
func (g *generator) addSignups(days int, trend func(country string, daysAgo int) float64) (points []record) {
	g.addMetric("growth.signups", "Sign-ups", record{"dimensions": []string{"country"}})
	for _, country := range countries {
		base := float64(g.between(8, 40))
		points = append(points, g.addPoints("growth.signups", record{"country": country}, days, 1, func(n int) float64 {
			return float64(int(base * trend(country, n) * (0.8 + 0.4*g.Float64())))
		})...)
	}
	return points
}

// addOtherMetrics adds metrics that no task uses.
func (g *generator) addOtherMetrics() {
	for _, m := range []struct{ key, name string }{
		{"growth.activations", "Activations"}, {"growth.invites", "Invitations"}, {"product.daily_active", "Active people"}, {"product.notes_written", "Notes written"},
		{"revenue.refunds", "Refunds"}, {"support.tickets", "Tickets"}, {"growth.trials", "Trials started"}, {"product.exports", "Exports"},
	} {
		base := float64(g.between(20, 900))
		g.addMetric(m.key, m.name, nil)
		g.addPoints(m.key, nil, 30, 1, func(int) float64 { return float64(int(base * (0.9 + 0.2*g.Float64()))) })
	}
}

// addIdeas adds content ideas and posts in all states. About half of the accepted ideas have posts.
func (g *generator) addIdeas(ideas, posts int) (allIdeas, allPosts []record) {
	plan := g.add("content-plan", record{"name": "Wet season", "brief": g.prose(3), "status": "active", "platforms": platforms}, 90, 40)
	for i := range ideas {
		age := g.between(5, 90)
		allIdeas = append(allIdeas, g.add("content-idea", record{
			"planId": plan["id"], "title": g.title(), "summary": g.prose(2), "rationale": g.prose(2), "platforms": sample(g, 2, platforms), "sourceKind": pick(g, "manual", "generated", "feedback"),
			"suggestedFor": timestamp.Format(g.today.AddDate(0, 0, 2+i).Add(9 * time.Hour)), "status": pick(g, "suggested", "accepted", "accepted", "rejected"),
		}, age, g.IntN(age)))
	}
	for range posts {
		status, platform, age := pick(g, "published", "published", "published", "draft", "failed"), pick(g, platforms...), g.between(10, 120)
		r := record{"platform": platform, "body": g.prose(2), "hashtags": []string{"fieldnotes", "outdoors"}, "status": status}
		if idea := pick(g, allIdeas...); idea["status"] == "accepted" && g.chance(60) {
			r["ideaId"] = idea["id"]
		}
		switch at := timestamp.Format(g.daysAgo(age - 9)); status {
		case "published":
			r["scheduledFor"], r["publishedAt"], r["externalId"] = at, at, fmt.Sprintf("%s-%07d", platform, g.IntN(1e7))
			r["externalUrl"] = fmt.Sprintf("https://%s.example/mossgrove/%07d", platform, g.IntN(1e7))
		case "failed":
			r["scheduledFor"], r["failureReason"] = at, "The platform refused the picture: it is larger than 8 MB."
		}
		allPosts = append(allPosts, g.add("post", r, age, g.IntN(age)))
	}
	return allIdeas, allPosts
}

// addChannels adds a channel for each platform. The channels of the broken platforms do not work.
func (g *generator) addChannels(broken ...string) {
	for _, platform := range platforms {
		r := record{"platform": platform, "name": "Mossgrove", "handle": "mossgrove_" + platform, "status": "connected", "credentialsValid": true, "active": true}
		for _, one := range broken {
			if one == platform {
				r["status"], r["credentialsValid"], r["lastError"] = "error", false, "The token was refused."
			}
		}
		g.add("channel", r, 260, 1)
	}
}

func (g *generator) addSites() (out []record) {
	for _, name := range []string{"Website", "Help pages", "Shop"} {
		host := strings.ReplaceAll(strings.ToLower(name), " ", "-") + ".mossgrove.example"
		out = append(out, g.add("site", record{"name": name, "siteKey": id.NewPublicKey(g.source), "domains": []string{host}, "timezone": "UTC", "active": true}, 310, 60))
	}
	return out
}

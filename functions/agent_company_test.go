package functions_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"time"

	"growthworkspace/functions"
	"growthworkspace/shared/id"
	"growthworkspace/shared/timestamp"
)

// taskCompany is the company of a task, with random records. The same name gives the same records.
type taskCompany struct {
	*rand.Rand
	source *rand.ChaCha8 // generates the bytes of ids and publishable keys

	lines []taskLine
	words map[string]string // the names and dates that the task mentions, such as words["today"]

	prefixes   map[string]string // the prefixes of ids, by record type
	createdAt  time.Time         // the creation time of the record that add is adding
	newID      id.Generator
	titleCount int
}

// taskLine is a record in the format of imports.
type taskLine struct {
	kind   string
	record object
}

// today is the start of the day on which the tasks are set.
var today = time.Date(2026, 7, 17, 0, 0, 0, 0, time.UTC)

func newTaskCompany(name string) *taskCompany {
	var key [32]byte
	copy(key[:], name)
	source := rand.NewChaCha8(key)
	c := &taskCompany{Rand: rand.New(source), source: source, prefixes: map[string]string{}, words: map[string]string{"today": day(today)}}
	c.newID = id.NewGenerator(func() time.Time { return c.createdAt }, source)
	for _, t := range functions.Transfers(nil) {
		c.prefixes[t.Name] = t.Prefix
	}
	c.add("company", object{"name": "Mossgrove", "summary": "Notes for people who work outdoors.", "timezone": "UTC"}, 400)
	return c
}

// day formats the date of t in the form that tools accept.
func day(t time.Time) string { return t.Format(time.DateOnly) }

// daysAgo returns a random time on the day that was n days ago.
func (c *taskCompany) daysAgo(n int) time.Time {
	return today.AddDate(0, 0, -n).Add(time.Duration(c.IntN(24*60*60)) * time.Second)
}

// add adds a record that was created the given number of days ago.
func (c *taskCompany) add(kind string, r object, createdDaysAgo int) object {
	c.createdAt = c.daysAgo(createdDaysAgo)
	if prefix := c.prefixes[kind]; prefix != "" {
		r["id"] = c.newID(prefix)
	}
	r["createdAt"] = timestamp.Format(c.createdAt)
	r["updatedAt"] = r["createdAt"]
	c.lines = append(c.lines, taskLine{kind, r})
	return r
}

func (c *taskCompany) between(least, most int) int { return least + c.IntN(most-least+1) }

func oneOf[T any](c *taskCompany, values ...T) T { return values[c.IntN(len(values))] }

// sample returns n of the values, in a random order.
func sample[T any](c *taskCompany, n int, values []T) (out []T) {
	for _, i := range c.Perm(len(values))[:n] {
		out = append(out, values[i])
	}
	return out
}

var (
	taskSentences = []string{
		"I came back from two days in the hills and everything was where I had left it.", "After the last update the list takes eight seconds to open.",
		"Sync stops at 99 % and says nothing about why.", "I write with gloves on, and most buttons are too small for that.",
		"My colleague sees a different version of the same page.", "The export has all pictures, but in the wrong order.",
		"We are a team of six, and everyone can delete everything.", "Support answered within the hour, which I did not expect.",
		"The price went up by a third and I learned it from my bank.", "Search finds a word that I wrote three years ago in a second.",
	}
	taskSubjects  = []string{"offline maps", "dark theme", "voice notes", "glove mode", "PDF export", "photo search", "team roles", "font size", "sync status", "tide tables", "bird lists"}
	taskCountries = []string{"de", "gb", "pt", "us"}
)

func (c *taskCompany) prose(n int) string { return strings.Join(sample(c, n, taskSentences), " ") }

// title returns a title that is unique in the company.
func (c *taskCompany) title() string {
	c.titleCount++
	return fmt.Sprintf("%s %d", taskSubjects[c.titleCount%len(taskSubjects)], c.titleCount)
}

// addReviews adds n reviews and mentions from the last 200 days.
func (c *taskCompany) addReviews(n int) (out []object) {
	for i := range n {
		rating, posted := oneOf(c, 1, 1, 2, 3, 4, 5, 5), c.between(0, 200)
		r := object{
			"kind": "review", "source": oneOf(c, "app_store", "google_play"), "externalId": fmt.Sprintf("%08d-%d", c.IntN(1e8), i), "authorName": fmt.Sprintf("reader-%04d", c.IntN(1e4)),
			"title": c.title(), "body": c.prose(c.between(2, 6)), "rating": rating, "appVersion": oneOf(c, "4.1.0", "4.2.1", "4.3.0"), "territory": oneOf(c, "US", "GB", "DE", "PT"),
			"locale": oneOf(c, "en-US", "en-GB", "de-DE", "pt-PT"), "postedAt": timestamp.Format(c.daysAgo(posted)), "fetchedAt": timestamp.Format(today), "flags": []string{},
			"sentiment":   []string{"negative", "negative", "neutral", "positive", "positive"}[rating-1],
			"replyStatus": oneOf(c, "none", "none", "none", "posted", "skipped", "draft", "needs_review", "approved"),
		}
		if rating <= 3 {
			r["flags"], r["priority"] = sample(c, c.IntN(3), []string{"money", "defect", "legal", "safety", "churn"}), c.between(1, 9)
		}
		if c.IntN(5) == 0 {
			r["kind"], r["source"], r["externalUrl"] = "mention", "reddit", fmt.Sprintf("https://reddit.example/r/fieldnotes/%06x", c.IntN(1<<24))
			delete(r, "rating")
		}
		if status := r["replyStatus"]; status != "none" && status != "skipped" {
			r["replyBody"] = "Thank you for telling us. " + c.prose(2)
		}
		out = append(out, c.add("feedback", r, posted))
	}
	return out
}

// addBrand adds a brand kit, and returns the words that the company avoids.
func (c *taskCompany) addBrand() (avoidWords []string) {
	avoidWords = sample(c, 3, []string{"every word", "seamless", "synergy", "simply", "game changer", "unleash"})
	c.add("brand-kit", object{
		"voiceTone": []string{"calm", "plain", "warm"}, "voiceGuidelines": "Write as one person to another. " + c.prose(4), "voiceExamples": sample(c, 4, taskSentences),
		"avoidWords": avoidWords, "artStyle": "Photographs in natural light.", "context": c.prose(8), "colors": object{"primary": "#2f5d50", "accent": "#e0a458"},
	}, 300)
	return avoidWords
}

// addMetric adds the definition of a metric. more has further properties, or other values.
func (c *taskCompany) addMetric(key, name string, more object) {
	r := object{"key": key, "name": name, "description": c.prose(1), "unit": "count", "aggregation": "sum", "polarity": "up_is_good", "kind": "measured", "source": "product database", "needsReview": false}
	maps.Copy(r, more)
	c.add("metric-definition", r, 100)
}

// addPoints adds a point for each of the given number of days up to yesterday. value returns the
// value of a day.
func (c *taskCompany) addPoints(key string, dims object, days int, value func(daysAgo int) float64) (out []object) {
	for n := days; n >= 1; n-- {
		at := today.AddDate(0, 0, -n)
		r := object{"metricKey": key, "grain": "day", "ts": timestamp.Format(at), "value": value(n), "source": "product database", "ingestedAt": timestamp.Format(at.Add(23 * time.Hour))}
		if dims != nil {
			r["dims"] = dims
		}
		c.lines = append(c.lines, taskLine{"metric-point", r})
		out = append(out, r)
	}
	return out
}

// addSignups adds sign-ups by country, and metrics that no task uses. trend returns the factor by
// which a country's usual number is multiplied on a day.
func (c *taskCompany) addSignups(days int, trend func(country string, daysAgo int) float64) (points []object) {
	for _, name := range []string{"Activations", "Invitations", "Tickets", "Trials", "Exports"} {
		c.addMetric("product."+strings.ToLower(name), name, nil)
		c.addPoints("product."+strings.ToLower(name), nil, 30, func(int) float64 { return float64(c.IntN(900)) })
	}
	c.addMetric("growth.signups", "Sign-ups", object{"dimensions": []string{"country"}})
	for _, country := range taskCountries {
		base := float64(c.between(8, 40))
		points = append(points, c.addPoints("growth.signups", object{"country": country}, days, func(n int) float64 {
			return float64(int(base * trend(country, n) * (0.8 + 0.4*c.Float64())))
		})...)
	}
	return points
}

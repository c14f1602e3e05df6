package functions_test

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	mathrand "math/rand/v2"
	"testing"
	"time"

	"growthworkspace/functions"
	"growthworkspace/shared/auth"
	"growthworkspace/shared/fault"
	"growthworkspace/shared/keys"
	"growthworkspace/shared/testkit/apitest"
	"growthworkspace/shared/timestamp"
)

// overviewCompany is a company with random records, for the tests of the overview.
type overviewCompany struct {
	*mathrand.Rand
	*apitest.Service

	zone   *time.Location
	lines  map[string][]json.RawMessage // by record type
	unread map[string]bool              // the posts that a key that may only draft wrote
	keys   []keys.Key                   // in addition to the one that calls
}

// overviewZones are the time zones of the companies. Clocks change in none of them around the time
// of the tests.
var overviewZones = []string{"UTC", "Europe/Berlin", "America/Los_Angeles", "Asia/Kolkata", "Pacific/Kiritimati"}

// newOverviewCompany stores a company with random records. The same seed gives the same records.
func newOverviewCompany(t *testing.T, seed uint64) *overviewCompany {
	t.Helper()
	c := &overviewCompany{Rand: mathrand.New(mathrand.NewPCG(seed, 25)), Service: apitest.New(t, functions.Operations), lines: map[string][]json.RawMessage{}, unread: map[string]bool{}}
	c.Clock.Advance(time.Duration(c.IntN(14*24*60)) * time.Minute)
	zone, err := time.LoadLocation(overviewZones[c.IntN(len(overviewZones))])
	if err != nil {
		t.Fatal(err)
	}
	c.zone = zone
	c.add(t, "company", object{"id": c.CompanyID, "name": "Northwind", "timezone": zone.String(), "createdAt": c.ago(400)})
	c.addReviews(t)
	c.addPosts(t)
	c.addChannels(t)
	c.addMetrics(t)
	c.addAudits(t)
	c.addBoards(t)
	for _, kind := range functions.Transfers(c.Table) {
		if lines := c.lines[kind.Name]; len(lines) > 0 {
			importLines(t, c.Service, kind.Name, lines...)
		}
	}
	c.addKeys(t)
	return c
}

func (c *overviewCompany) add(t *testing.T, kind string, r object) {
	t.Helper()
	c.lines[kind] = append(c.lines[kind], marshal(t, r))
}

// ago returns a random time in a number of days up to now.
func (c *overviewCompany) ago(days float64) string {
	return timestamp.Format(c.Clock.Now().Add(-time.Duration(c.Float64() * days * 24 * float64(time.Hour))))
}

// ahead is like ago, for a time after now.
func (c *overviewCompany) ahead(days float64) string {
	return timestamp.Format(c.Clock.Now().Add(time.Duration(c.Float64() * days * 24 * float64(time.Hour))))
}

func anyOf[T any](c *overviewCompany, values ...T) T { return values[c.IntN(len(values))] }

// soonOrLong returns a time of a claim: some minutes ago, or days ago.
func (c *overviewCompany) soonOrLong() string {
	return timestamp.Format(c.Clock.Now().Add(-anyOf(c, 14*time.Minute, 15*time.Minute-time.Millisecond, 16*time.Minute, 49*time.Hour)))
}

func (c *overviewCompany) addReviews(t *testing.T) {
	for n := range c.IntN(40) {
		r := object{
			"id": fmt.Sprintf("fbk_%d", n), "source": anyOf(c, "app_store", "google_play", "reddit"), "externalId": fmt.Sprint(n), "kind": "review", "body": "Words " + fmt.Sprint(n),
			"replyStatus": anyOf(c, "none", "none", "none", "needs_review", "posting", "failed", "posted", "draft"), "createdAt": c.ago(20), "updatedAt": c.soonOrLong(),
		}
		if c.IntN(5) > 0 {
			r["rating"] = 1 + c.IntN(5)
		}
		if c.IntN(3) == 0 {
			r["priority"] = c.IntN(4)
		}
		if c.IntN(3) == 0 {
			r["flags"] = []string{anyOf(c, "money", "defect", "legal", "safety", "churn")}
		}
		if c.IntN(10) > 0 {
			r["postedAt"] = c.ago(25)
		}
		c.add(t, "feedback", r)
	}
}

func (c *overviewCompany) addPosts(t *testing.T) {
	for n := range c.IntN(40) {
		r := object{
			"id": fmt.Sprintf("pst_%d", n), "platform": anyOf(c, "x", "instagram", "push"), "body": "Words " + fmt.Sprint(n), "createdAt": c.ago(20), "updatedAt": c.soonOrLong(),
			"status": anyOf(c, "draft", "scheduled", "publishing", "published", "failed"),
		}
		if r["status"] != "draft" || c.IntN(2) == 0 {
			r["scheduledFor"] = anyOf(c, c.ago(20), c.ahead(20), c.soonOrLong())
		}
		switch r["status"] {
		case "published":
			r["publishedAt"] = c.ago(20)
			r["scheduledFor"] = r["publishedAt"]
		case "draft":
			if c.IntN(2) == 0 {
				r["drafted"], c.unread[r["id"].(string)] = []string{"body"}, true
			}
		}
		c.add(t, "post", r)
	}
}

func (c *overviewCompany) addChannels(t *testing.T) {
	for n := range c.IntN(8) {
		r := object{
			"id": fmt.Sprintf("chn_%d", n), "platform": anyOf(c, "x", "instagram"), "name": "Account", "status": anyOf(c, "connected", "connected", "expiring", "disconnected", "error"),
			"active": c.IntN(3) > 0, "lastCheckedAt": c.ago(3), "createdAt": c.ago(100),
		}
		if c.IntN(2) == 0 {
			r["credentialsValid"] = c.IntN(2) == 0
		}
		if c.IntN(2) == 0 {
			r["credentialsExpireAt"] = anyOf(c, c.ago(3), c.ahead(3))
		}
		c.add(t, "channel", r)
	}
}

// addMetrics adds metrics with whole numbers as values, so that sums are exact, and goals.
func (c *overviewCompany) addMetrics(t *testing.T) {
	today := c.Clock.Now().UTC().Truncate(24 * time.Hour)
	for n := range c.IntN(16) {
		key := fmt.Sprintf("a.m%02d", n)
		r := object{
			"id": fmt.Sprintf("mdf_%d", n), "key": key, "polarity": anyOf(c, "up_is_good", "down_is_good", "neutral"), "kind": "measured",
			"needsReview": c.IntN(4) == 0, "createdAt": c.ago(200), "updatedAt": c.ago(100),
		}
		if aggregation := anyOf(c, "sum", "sum", "avg", "min", "max", "last", "none", ""); aggregation != "" {
			r["aggregation"] = aggregation
		}
		c.add(t, "metric-definition", r)
		share, newest, series := c.Float64(), anyOf(c, -1, 0, 1, 2, 3, 4, 5, 20), anyOf(c, 1, 1, 2)
		for daysAgo := newest; daysAgo < 70; daysAgo++ {
			for s := range series {
				if c.Float64() > share {
					continue
				}
				p := object{"metricKey": key, "grain": "day", "ts": timestamp.Format(today.AddDate(0, 0, -daysAgo)), "value": c.IntN(100) - 10, "ingestedAt": c.ago(1)}
				if series > 1 {
					p["dims"] = object{"part": fmt.Sprint(s)}
				}
				if c.IntN(20) == 0 {
					p["value"] = nil
				}
				c.add(t, "metric-point", p)
			}
		}
	}
	for n := range c.IntN(10) {
		r := object{
			"id": fmt.Sprintf("bgl_%d", n), "name": "Goal", "metricKey": anyOf(c, "", "custom.") + fmt.Sprintf("a.m%02d", c.IntN(16)), "status": anyOf(c, "active", "active", "active", "achieved"),
			"createdAt": c.ago(120),
		}
		if c.IntN(6) > 0 {
			r["baselineValue"], r["targetValue"] = c.IntN(50), c.IntN(1500)
		}
		if c.IntN(6) > 0 {
			r["dueAt"] = anyOf(c, c.ago(3), c.ahead(3), c.ahead(100))
		}
		if c.IntN(2) == 0 {
			r["priority"] = c.IntN(5)
		}
		c.add(t, "brand-goal", r)
	}
}

func (c *overviewCompany) addAudits(t *testing.T) {
	for n := range c.IntN(12) {
		r := object{
			"id": fmt.Sprintf("aud_%d", n), "rootUrl": anyOf(c, "https://a.example", "https://b.example", "https://c.example"), "status": anyOf(c, "complete", "complete", "running", "failed"),
			"startedAt": c.ago(30), "createdAt": c.ago(30),
		}
		for _, name := range []string{"scoreSeo", "scoreAeo", "scoreGeo"} {
			if c.IntN(4) > 0 {
				r[name] = c.IntN(6) + 60
			}
		}
		c.add(t, "audit", r)
	}
}

func (c *overviewCompany) addBoards(t *testing.T) {
	for n := range c.IntN(5) {
		board := fmt.Sprintf("brd_%d", n)
		c.add(t, "board", object{"id": board, "name": "Board", "active": c.IntN(4) > 0, "createdAt": c.ago(100), "updatedAt": c.ago(50)})
		for i := range c.IntN(3) {
			c.add(t, "item", object{"id": fmt.Sprintf("itm_%d%d", n, i), "roadmapId": board, "slug": fmt.Sprintf("item-%d", i), "title": "Item", "status": anyOf(c, "draft", "published", "archived"), "createdAt": c.ago(50)})
		}
	}
}

func (c *overviewCompany) addKeys(t *testing.T) {
	t.Helper()
	for range c.IntN(4) {
		days := anyOf(c, 1, 13, 15, 100)
		key, _, err := c.Keys.Issue(t.Context(), c.CompanyID, keys.Grant{
			Name: "Key", Scopes: []auth.Scope{auth.PlanRead}, APIVersion: fault.Version, ExpiresAt: c.Clock.Now().AddDate(0, 0, days),
		}, rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		c.keys = append(c.keys, key)
	}
}

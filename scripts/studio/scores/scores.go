// Package scores compares the scores of a site's audits.
package scores

import (
	"math"

	"growthworkspace/scripts/studio/units"
	"growthworkspace/shared/client"
)

// Score is one of an audit's scores, with the same score in the previous audit.
type Score struct {
	Name, Text, Before string // Text is the score, and Before is the previous one; each is empty if there is none
	Change             string
	Good               string // "good", "bad" or "even"; empty if there is nothing to compare with
}

// Previous returns the newest complete audit in older that is of the same site as a, or nil if
// there is none.
func Previous(older []client.AuditSummary, a client.AuditSummary) *client.AuditSummary {
	for i := range older {
		if older[i].ID != a.ID && older[i].Status.Or("") == client.OptimiseAuditStatusComplete && SameSite(older[i], a) {
			return &older[i]
		}
	}
	return nil
}

// SameSite reports whether two audits are of the same site. It compares their site ids or, if
// neither audit has one, their root URLs.
func SameSite(a, b client.AuditSummary) bool {
	if a.SiteID.Or("") != "" || b.SiteID.Or("") != "" {
		return a.SiteID.Or("") == b.SiteID.Or("")
	}
	return a.RootURL.Or("") != "" && a.RootURL.Or("") == b.RootURL.Or("")
}

// Of returns the scores of an audit. before is the audit to compare them with; it may be nil.
func Of(a client.AuditSummary, before *client.AuditSummary) []Score {
	if before == nil {
		before = &client.AuditSummary{}
	}
	return []Score{
		newScore("SEO", a.ScoreSEO, before.ScoreSEO), newScore("AEO", a.ScoreAEO, before.ScoreAEO), newScore("GEO", a.ScoreGEO, before.ScoreGEO),
	}
}

func newScore(name string, now, before client.Optional[float64]) Score {
	out := Score{Name: name}
	v, hasNow := now.Get()
	old, hasBefore := before.Get()
	if hasNow {
		out.Text = units.Number(v, 0, 1)
	}
	if hasBefore {
		out.Before = units.Number(old, 0, 1)
	}
	if hasNow && hasBefore {
		out.Change, out.Good = Difference(v, old)
	}
	return out
}

// Difference formats the difference between two scores. A higher score is better.
func Difference(now, before float64) (text, good string) {
	switch delta := math.Round((now-before)*10) / 10; {
	case delta > 0:
		return "+" + units.Number(delta, 0, 1), "good"
	case delta < 0:
		return "−" + units.Number(-delta, 0, 1), "bad"
	}
	return "±0", "even"
}

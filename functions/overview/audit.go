package overview

import (
	"fmt"
	"math"
	"strings"
)

// audit is what the rules read of an audit.
type audit struct {
	ID         string
	SiteID     *string
	RootURL    *string
	Status     *string
	StartedAt  *string
	FinishedAt *string
	ScoreSeo   *float64
	ScoreAeo   *float64
	ScoreGeo   *float64
	Error      *string
}

// auditsMax is how many audits are read, the latest ones.
const auditsMax = 200

func (r *reader) startAudits() *records[audit] {
	return startList[audit](r, "list_optimise_audits", map[string]any{"limit": 50}, auditsMax, nil)
}

// site identifies the site of an audit: its id or, if it has none, its address.
func (a audit) site() string { return value(first(a.SiteID, a.RootURL), a.ID) }

// previousOf returns the newest complete audit of the same site in older, or an audit without
// scores.
func previousOf(a audit, older []audit) audit {
	for _, o := range older {
		if o.site() == a.site() && value(o.Status, "") == "complete" {
			return o
		}
	}
	return audit{}
}

// problem says which scores are lower than before, or why the audit failed. It returns "" if
// neither applies.
func (a audit) problem(before audit) string {
	if value(a.Status, "") == "failed" {
		return "failed: " + value(a.Error, "no reason is stored")
	}
	var fell []string
	for _, s := range []struct {
		name        string
		now, before *float64
	}{
		{"SEO", a.ScoreSeo, before.ScoreSeo}, {"AEO", a.ScoreAeo, before.ScoreAeo}, {"GEO", a.ScoreGeo, before.ScoreGeo},
	} {
		if s.now != nil && s.before != nil && math.Round((*s.now-*s.before)*10) < 0 {
			fell = append(fell, fmt.Sprintf("%s %.4g from %.4g", s.name, *s.now, *s.before))
		}
	}
	return strings.Join(fell, ", ")
}

// auditsToAttend judges the newest audit of each site that is not running.
func auditsToAttend(audits *records[audit]) Attention {
	var items []AttentionItem
	judged := map[string]bool{}
	for i, a := range audits.all {
		if value(a.Status, "") == "running" || judged[a.site()] {
			continue
		}
		judged[a.site()] = true
		if why := a.problem(previousOf(a, audits.all[i+1:])); why != "" {
			items = append(items, item(a.ID, a.Status, first(a.FinishedAt, a.StartedAt), why, a.RootURL))
		}
	}
	return attentionOf(KindAuditFallen, oldestFirst(items), audits.more)
}

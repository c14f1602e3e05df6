package studio

import (
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"growthworkspace/scripts/studio/chart"
	"growthworkspace/scripts/studio/civiltime"
	"growthworkspace/scripts/studio/scores"
	"growthworkspace/scripts/studio/units"
	"growthworkspace/shared/client"
)

// sitesData is the data for the sites template.
type sitesData struct {
	Sites    []client.Site
	NoSites  *failure
	Site     *client.Site // nil if the page shows the audits of all sites
	Missing  bool         // the requested site does not exist
	Goals    []client.SiteGoal
	NoGoals  *failure
	Audits   []auditRow
	NoAudits *failure
	More     string // the address of the page with older audits, or empty
	MayWrite bool
	clock    civiltime.Clock
}

type auditRow struct {
	client.AuditSummary

	Scores []scores.Score
	Path   string
	Fell   bool // at least one score is lower than in the previous audit
}

// auditsPerPage is the maximum number of audits on one page.
const auditsPerPage = 50

// everySite is the value of the site parameter that selects all audits, including those of deleted
// sites.
const everySite = "all"

// addSiteScreens adds the pages for sites, their goals and their audits.
func (s *Studio) addSiteScreens(page, handle func(string, func(*pageRequest) *view)) {
	page("GET /sites", s.sites)
	page("GET /audits/{id}", s.audit)
	handle("GET /audits/{id}/findings.json", s.findingsFile)
	addRecordScreens(page, "/sites", (*pageRequest).siteScreens)
	addRecordScreens(page, "/sites/{site}/goals", (*pageRequest).siteGoalScreens)
}

func (pr *pageRequest) listSites() *result[client.Page[client.Site]] {
	return startCall(pr, "optimise:read", "The sites", bound(pr.api.ListOptimiseSites, client.ListOptimiseSitesInput{}))
}

func (pr *pageRequest) listAudits(site, cursor string) *result[client.Page[client.AuditSummary]] {
	in := client.ListOptimiseAuditsInput{Limit: client.Value(auditsPerPage), SiteID: optional(site), Cursor: optional(cursor)}
	return startCall(pr, "optimise:read", "The audits, newest first", bound(pr.api.ListOptimiseAudits, in))
}

func (s *Studio) sites(v *pageRequest) *view {
	q := v.r.URL.Query()
	d := &sitesData{MayWrite: v.may("optimise:write")}
	out := &view{page: "sites", place: "Sites", title: "Sites", data: d}
	sites := v.listSites()
	v.wait()
	d.Sites, d.NoSites = sites.Value.Items, sites.Failure
	if d.NoSites != nil {
		out.status = d.NoSites.status()
		return out
	}
	wanted := q.Get("site")
	at := slices.IndexFunc(d.Sites, func(site client.Site) bool { return site.ID == wanted })
	switch {
	case at >= 0:
		d.Site = &d.Sites[at]
	case wanted == "" && len(d.Sites) > 0:
		d.Site = &d.Sites[0]
	case wanted != "" && wanted != everySite:
		d.Missing, out.status = true, http.StatusNotFound
		return out
	}
	site := ""
	goals := &result[client.Page[client.SiteGoal]]{}
	if d.Site != nil {
		site = d.Site.ID
		goals = startCall(v, "optimise:read", "The goals of the site",
			bound(v.api.ListOptimiseGoals, client.ListOptimiseGoalsInput{SiteID: site}))
	}
	audits := v.listAudits(site, q.Get("cursor"))
	v.wait()
	d.clock = v.clock()
	d.Goals, d.NoGoals, d.NoAudits = goals.Value.Items, goals.Failure, audits.Failure
	d.Audits = auditRows(audits.Value.Items)
	if next := audits.Value.Next; next != "" {
		if site == "" {
			site = everySite
		}
		d.More = "/sites?" + url.Values{"site": {site}, "cursor": {next}}.Encode()
	}
	return out
}

// auditRows pairs each audit with the previous complete audit of the same site.
func auditRows(audits []client.AuditSummary) (out []auditRow) {
	for i, a := range audits {
		row := auditRow{AuditSummary: a, Path: "/audits/" + url.PathEscape(a.ID)}
		before := scores.Previous(audits[i+1:], a)
		row.Scores = scores.Of(a, before)
		row.Fell = slices.ContainsFunc(row.Scores, func(s scores.Score) bool { return s.Good == "bad" })
		if before != nil {
			row.Path += "?" + url.Values{"before": {before.ID}}.Encode()
		}
		out = append(out, row)
	}
	return out
}

// Chart draws the scores of the complete audits, oldest first. It draws nothing if there are fewer
// than two, or if the page shows the audits of all sites.
func (d *sitesData) Chart() template.HTML {
	l := chart.Line{Title: "Scores of each audit", Unit: units.Unit{Name: "score"}, Series: []chart.Series{{Name: "SEO"}, {Name: "AEO"}, {Name: "GEO"}}}
	for _, a := range slices.Backward(d.Audits) {
		at, started := a.StartedAt.Get()
		if a.Status.Or("") != client.OptimiseAuditStatusComplete || !started {
			continue
		}
		l.Ticks, l.Names = append(l.Ticks, at.In(d.clock.Location).Format("Jan 2")), append(l.Names, d.clock.Stamp(at))
		for i, value := range []client.Optional[float64]{a.ScoreSEO, a.ScoreAEO, a.ScoreGEO} {
			v, ok := value.Get()
			l.Series[i].Values = append(l.Series[i].Values, chart.Value{V: v, OK: ok})
		}
	}
	if len(l.Names) < 2 || d.Site == nil {
		return ""
	}
	l.OpenIndex = len(l.Names)
	return l.SVG()
}

// siteScreens returns the screens that create, edit and delete sites.
func (pr *pageRequest) siteScreens() recordScreens[client.Site] {
	sitePath := func(s client.Site) string { return "/sites?" + url.Values{"site": {s.ID}}.Encode() }
	return recordScreens[client.Site]{
		place: "Sites", noun: "site", kind: kindNamed("site"), path: "/sites", back: "/sites", home: sitePath,
		deletion: "Its goals are deleted, too; its audits stay, under All audits. It cannot be undone.",
		id:       func(s client.Site) string { return s.ID },
		get: func(id string) call[client.Site] {
			return bound(pr.api.GetOptimiseSite, client.GetOptimiseSiteInput{SiteID: id})
		},
		remove: func(id string) call[client.Deleted] {
			return bound(pr.api.DeleteOptimiseSite, client.DeleteOptimiseSiteInput{SiteID: id})
		},
		fields: func(s client.Site) []*field {
			return []*field{
				{Name: "name", Label: "Name", Kind: "text", Required: true, Stored: s.Name.Or("")},
				{Name: "domains", Label: "Domains", Kind: "list", Hint: "One on each line, such as www.example.com.", Stored: strings.Join(s.Domains.Or(nil), "\n")},
				{Name: "timezone", Label: "Time zone", Kind: "text", Hint: "A name such as Europe/Berlin.", Stored: s.Timezone.Or("")},
				{Name: "active", Label: "In use", Kind: "flag", Stored: strconv.FormatBool(s.Active.Or(true))},
			}
		},
		facts: func(s client.Site) (out []fact) {
			if key := s.SiteKey.Or(""); key != "" {
				out = append(out, fact{"Key for the site's pages, which is public", key})
			}
			return out
		},
		save: func(c *formChanges, id string) call[client.Site] {
			name, domains, zone, active := c.requiredText("name"), c.list("domains"), c.text("timezone"), c.flag("active")
			if id != "" {
				return bound(pr.api.UpdateOptimiseSite, client.UpdateOptimiseSiteInput{
					SiteID: id, Name: name, Domains: domains, Timezone: zone, Active: active,
				})
			}
			return bound(pr.api.CreateOptimiseSite, client.CreateOptimiseSiteInput{
				Name: name.Or(""), Domains: domains, Timezone: zone, Active: active,
			})
		},
	}
}

// siteGoalScreens returns the screens that create, edit and delete goals of a site. The address
// contains the site's id.
func (pr *pageRequest) siteGoalScreens() recordScreens[client.SiteGoal] {
	site := pr.r.PathValue("site")
	return recordScreens[client.SiteGoal]{
		place: "Sites", noun: "goal", kind: kindNamed("site-goal"), path: "/sites/" + url.PathEscape(site) + "/goals",
		back:     "/sites?" + url.Values{"site": {site}}.Encode(),
		deletion: "The site stays. It cannot be undone.",
		id:       func(g client.SiteGoal) string { return g.ID },
		get: func(id string) call[client.SiteGoal] {
			return bound(pr.api.GetOptimiseGoal, client.GetOptimiseGoalInput{SiteID: site, GoalID: id})
		},
		remove: func(id string) call[client.Deleted] {
			return bound(pr.api.DeleteOptimiseGoal, client.DeleteOptimiseGoalInput{SiteID: site, GoalID: id})
		},
		fields: siteGoalFields,
		save: func(c *formChanges, id string) call[client.SiteGoal] {
			name, pattern, active := c.requiredText("name"), c.requiredText("pattern"), c.flag("active")
			kind, match := enumValue[client.OptimiseGoalKind](c.text("kind")), enumValue[client.OptimiseGoalMatch](c.text("matchType"))
			value, order := c.decimal("value"), c.integer("order")
			if id != "" {
				return bound(pr.api.UpdateOptimiseGoal, client.UpdateOptimiseGoalInput{
					SiteID: site, GoalID: id, Name: name, Kind: kind, MatchType: match, Pattern: pattern, Value: value, Order: order, Active: active,
				})
			}
			return bound(pr.api.CreateOptimiseGoal, client.CreateOptimiseGoalInput{
				SiteID: site, Name: name.Or(""), Kind: client.OptimiseGoalKind(typedField(c.sent, "kind")),
				MatchType: client.OptimiseGoalMatch(typedField(c.sent, "matchType")), Pattern: pattern.Or(""), Value: value, Order: order, Active: active,
			})
		},
	}
}

func siteGoalFields(g client.SiteGoal) []*field {
	return []*field{
		{Name: "name", Label: "Name", Kind: "text", Required: true, Hint: "What a visitor has done, such as Trial started.", Stored: g.Name.Or("")},
		{Name: "kind", Label: "Counts", Kind: "choice", Required: true, Hint: "The path of a page view, or the name of an event.", Stored: string(g.Kind.Or(client.OptimiseGoalKindPath)),
			Choices: []string{string(client.OptimiseGoalKindPath), string(client.OptimiseGoalKindEvent)}},
		{Name: "matchType", Label: "Match", Kind: "choice", Required: true, Hint: "How the pattern is matched; regex is RE2.", Stored: string(g.MatchType.Or(client.OptimiseGoalMatchExact)),
			Choices: []string{string(client.OptimiseGoalMatchExact), string(client.OptimiseGoalMatchPrefix), string(client.OptimiseGoalMatchContains), string(client.OptimiseGoalMatchRegex)}},
		{Name: "pattern", Label: "Pattern", Kind: "text", Required: true, Hint: "Such as /welcome, or trial_started.", Stored: g.Pattern.Or("")},
		{Name: "value", Label: "Worth", Kind: "number", Hint: "What one success is worth, in your own unit.", Stored: typedNumber(g.Value)},
		{Name: "order", Label: "Order", Kind: "number", Hint: "A whole number; lower ones come first.", Stored: typedNumber(g.Order)},
		{Name: "active", Label: "In use", Kind: "flag", Stored: strconv.FormatBool(g.Active.Or(true))},
	}
}

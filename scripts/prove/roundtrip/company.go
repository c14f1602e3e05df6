package roundtrip

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strings"

	"growthworkspace/functions"
	"growthworkspace/scripts/prove/testbed"
)

// The values of the closed lists in scripts/docs/reference/records.md.
var (
	itemStatuses  = []any{"draft", "in_review", "published", "archived"}
	sources       = []any{"app_store", "google_play", "reddit"}
	sentiments    = []any{"positive", "neutral", "negative"}
	replyStatuses = []any{"none", "draft", "needs_review", "approved", "posting", "posted", "failed", "skipped"}
	platforms     = []any{"x", "instagram", "tiktok", "facebook", "reddit", "push"}
	postStatuses  = []any{"draft", "scheduled", "publishing", "published", "failed"}
	ideaStatuses  = []any{"suggested", "accepted", "rejected"}
	auditStatuses = []any{"running", "complete", "failed"}
	booleans      = []any{true, false}
)

// size is the number of records of a type at full scale, and the least number at any scale.
type size struct {
	kind        string
	full, least int
}

// sizes has each type before the types that refer to it.
var sizes = []size{
	{"company", 1, 1}, {"brand-kit", 1, 1}, {"board", 110, 6}, {"item", 2000, 60}, {"feedback", 10_000, 600}, {"metric-definition", 260, 26},
	{"metric-point", 24_000, 2000}, {"site", 12, 12}, {"site-goal", 132, 132}, {"audit", 240, 70}, {"content-plan", 130, 8}, {"content-idea", 900, 80},
	{"post", 5000, 400}, {"channel", 14, 14}, {"content-type", 230, 20}, {"brand-goal", 230, 20},
}

// boardsWithItems is the number of boards that have items.
const boardsWithItems = 3

// company is a generated company.
type company struct {
	records map[string][]record // by type

	ideasWithPosts int // the number of ideas that have posts, and that the list of posts is filtered by
	random         *rand.Rand
	values         map[string]map[string][]any // the values of fields that vary, by type and field; nil: null
	optional       map[string][]string         // the fields that may be null, by type
}

// newCompany returns the company of a scale, the same one each time. Its records are copies of the demo company's. Every
// closed list has every value and null, many times and numbers are equal, so that orders have ties, and texts have unusual
// characters.
func newCompany(scale float64) (*company, error) {
	of := func(kind string, full, least int) int { return max(least, int(float64(full)*scale)) }
	c := &company{records: map[string][]record{}, random: rand.New(rand.NewPCG(7, 11)), optional: map[string][]string{}, ideasWithPosts: of("", 30, 4)}
	c.values = map[string]map[string][]any{
		"item":              {"status": append(itemStatuses, nil), "sortOrder": {-100, -99, -1, 0, 1, 2, 3, 5, 8, 13, 99, 100, nil}},
		"feedback":          {"source": append(sources, nil), "sentiment": append(sentiments, nil), "replyStatus": append(replyStatuses, nil), "priority": {-1, -0.5, 0, 0.5, 1, 1.5, 2, 2.5, 3, nil}},
		"metric-definition": {"needsReview": append(booleans, nil)},
		"site-goal":         {"order": {0, 1, 2, 3, 4, nil}},
		"audit":             {"status": append(auditStatuses, nil)},
		"content-idea":      {"status": append(ideaStatuses, nil)},
		"post":              {"platform": append(platforms, nil), "status": append(postStatuses, nil)},
		"channel":           {"platform": append(platforms, nil)},
	}
	from := testbed.NewRecords()
	for _, s := range sizes {
		n := of(s.kind, s.full, s.least)
		for i := range n {
			r := record(from.Nth(s.kind, i))
			if err := c.vary(s.kind, i, r); err != nil {
				return nil, err
			}
			c.records[s.kind] = append(c.records[s.kind], r.plain())
		}
		c.refer(s.kind)
	}
	c.publish()
	return c, nil
}

// refer lets the types that follow refer to the records of a type.
func (c *company) refer(kind string) {
	ids := c.ids(kind)
	switch kind {
	case "board": // most items are on the first board
		c.values["item"]["roadmapId"] = []any{ids[0], ids[0], ids[0], ids[1], ids[2]}
	case "site":
		c.values["site-goal"]["siteId"] = ids[1:] // the first site has no goals
		c.values["audit"]["siteId"] = append(slices.Clone(ids), nil)
	case "content-plan": // the first seven plans have all ideas
		c.values["content-idea"]["planId"] = append(slices.Clone(ids[:min(7, len(ids)-1)]), nil)
	case "content-idea":
		c.values["post"]["ideaId"] = append(slices.Clone(ids[:c.ideasWithPosts]), nil)
	}
}

// awkward are texts that often break encoders.
var awkward = []string{"café", "naïve", "übersicht", "日本語", "🌲", "<b>&</b>", `"quoted"`, "line\nbreak", "tab\there", "don't", ""}

// vary gives the n-th record of a type other values, nulls and awkward texts.
func (c *company) vary(kind string, n int, r record) error {
	if _, known := c.optional[kind]; !known {
		fields, err := optional(kind, r)
		if err != nil {
			return err
		}
		c.optional[kind] = fields
	}
	for _, name := range []string{"title", "name", "summary", "body", "description", "brief", "guidance", "replyBody"} {
		if text := r.text(name); text != "" && c.random.IntN(4) == 0 {
			r[name] = text + " " + awkward[c.random.IntN(len(awkward))]
		}
	}
	for _, name := range c.optional[kind] {
		if c.random.IntN(10) == 0 {
			r[name] = nil
		}
	}
	for _, name := range sortedKeys(c.values[kind]) {
		values := c.values[kind][name]
		r[name] = values[c.random.IntN(len(values))]
	}
	switch {
	case kind == "audit" && n == 1: // larger than a DynamoDB item
		r["findings"] = []any{strings.Repeat("Findings of a large site, each of them a sentence. ", 20_000), record{"deep": []any{1, 2.5, nil, true}}}
	case kind == "brand-kit":
		r["colors"], r["voiceExamples"] = record{"primary": "#123456", "more": []any{nil, 1e21, -0.25}}, []any{}
	}
	return nil
}

// optional returns the fields that an import does not require. Points keep their grain, value and dimensions.
func optional(kind string, r record) (names []string, err error) {
	if slices.Contains([]string{"company", "brand-kit"}, kind) {
		return nil, nil // there is only one record
	}
	for _, t := range functions.Transfers(nil) {
		for _, name := range sortedKeys(r) {
			if t.Name != kind || name == "id" || kind == "metric-point" && slices.Contains([]string{"grain", "value", "dims"}, name) {
				continue
			}
			without := record{}
			for other, value := range r {
				if other != name {
					without[other] = value
				}
			}
			text, err := json.Marshal(without)
			if err != nil {
				return nil, err
			}
			if _, problems := t.Check(text); len(problems) == 0 {
				names = append(names, name)
			}
		}
	}
	return names, nil
}

// publish makes every third item of the first board live, with a snapshot of the board. Some other items get an earlier
// publishedVersion.
func (c *company) publish() {
	board := c.records["board"][0]
	var live []any
	for n, r := range c.records["item"] {
		switch {
		case r["roadmapId"] == board["id"] && n%3 == 0:
			r["publishedVersion"] = 3.0
			shown := record{}
			for _, name := range []string{"id", "slug", "title", "summary", "columnId", "categoryIds", "sortOrder", "targetLabel"} {
				shown[name] = r[name]
			}
			live = append(live, shown)
		case n%11 == 0:
			r["publishedVersion"] = 2.0
		}
	}
	board["publishedVersion"], board["publishedAt"], board["snapshot"] = 3.0, "2026-07-01T00:00:00.000Z", live
}

func (c *company) total() (n int) {
	for _, records := range c.records {
		n += len(records)
	}
	return n
}

func (c *company) ids(kind string) (ids []any) {
	for _, r := range c.records[kind] {
		ids = append(ids, r["id"])
	}
	return ids
}

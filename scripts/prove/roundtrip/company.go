package roundtrip

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strings"

	"growthworkspace/functions"
	"growthworkspace/scripts/prove/testbed"
)

// size is the number of records of a type in a company at full scale, and the minimum at any scale.
type size struct{ full, least int }

// sizes lists the types whose size is not usual. At full scale, usual is more than one page.
var (
	usual = size{230, 20}
	sizes = map[string]size{
		"company": {1, 1}, "brand-kit": {1, 1}, "board": {110, 6}, "item": {2000, 60}, "feedback": {10_000, 600}, "metric-definition": {260, 26},
		"metric-point": {24_000, 2000}, "site": {12, 12}, "site-goal": {132, 132}, "audit": {240, 70}, "content-plan": {130, 8},
		"content-idea": {900, 80}, "post": {5000, 400}, "channel": {14, 14},
	}
)

// boardsWithItems is the number of boards that share the items; the other boards are empty.
const boardsWithItems = 3

// company is a generated company.
type company struct {
	typed   []typed
	records map[string][]record

	ideasWithPosts int // the number of ideas that have posts and are used as filters of the list of posts
	random         *rand.Rand
	values         map[string]map[string][]any // the values of fields that vary, by type and field; nil means null
	optional       map[string][]string         // the fields that may be null, by type
}

// newCompany creates a company at this scale, the same one each time. It copies the demo company's
// records until there are enough. Every enum field takes every value and null. Times and numbers
// are often equal, because sorting bugs show up in ties. Strings include characters that often
// break encoders.
func newCompany(scale float64) (*company, error) {
	of := func(s size) int { return max(s.least, int(float64(s.full)*scale)) }
	c := &company{records: map[string][]record{}, random: rand.New(rand.NewPCG(7, 11)), optional: map[string][]string{}, ideasWithPosts: of(size{30, 4})}
	c.values = map[string]map[string][]any{
		"item":      {"sortOrder": {-100, -99, -1, 0, 1, 2, 3, 5, 8, 13, 99, 100, nil}},
		"feedback":  {"priority": {-100, -99, -1, 0, 1, 2, 3, 10, 99, nil}},
		"site-goal": {"order": {0, 1, 2, 3, 4, nil}},
	}
	var err error
	if c.typed, err = typedLists(); err != nil {
		return nil, err
	}
	for _, l := range c.typed {
		kind, _, _ := kindOf(l.operation)
		for _, f := range l.filters {
			if f.values != nil && l.operation != pointsOperation {
				if values := f.values; f.name == "replyStatus" { // an import turns null into none
					c.vary(kind, f.name, values)
				} else {
					c.vary(kind, f.name, append(values, nil))
				}
			}
		}
	}
	c.vary("channel", "platform", c.values["post"]["platform"])
	from := testbed.NewRecords()
	for _, t := range functions.Transfers(nil) { // a type comes after those that it refers to
		s, known := sizes[t.Name]
		if !known {
			s = usual
		}
		for i := range of(s) {
			r := record(from.Nth(t.Name, i))
			if err := c.change(t.Name, i, r); err != nil {
				return nil, err
			}
			c.records[t.Name] = append(c.records[t.Name], r.plain())
		}
		c.refer(t.Name)
	}
	c.publish()
	return c, nil
}

// vary sets the values that a field of the records of a type gets.
func (c *company) vary(kind, field string, values []any) {
	if c.values[kind] == nil {
		c.values[kind] = map[string][]any{}
	}
	c.values[kind][field] = values
}

// refer makes later records refer to the records of a type.
func (c *company) refer(kind string) {
	ids := c.ids(kind)
	switch kind {
	case "board": // most items are on the first
		c.vary("item", "roadmapId", []any{ids[0], ids[0], ids[0], ids[1], ids[2]})
	case "site":
		c.vary("site-goal", "siteId", ids[1:]) // the first has none
		c.vary("audit", "siteId", append(slices.Clone(ids), nil))
	case "content-plan": // the first plans have many ideas, and the others have none
		c.vary("content-idea", "planId", append(slices.Clone(ids[:min(7, len(ids)-1)]), nil))
	case "content-idea":
		c.vary("post", "ideaId", append(slices.Clone(ids[:c.ideasWithPosts]), nil))
	}
}

// awkward contains strings that often break encoders.
var awkward = []string{"café", "naïve", "übersicht", "日本語", "🌲", "<b>&</b>", `"quoted"`, "line\nbreak", "tab\there", "don't", ""}

// change varies the n-th record of a type: it sets different values, nulls and awkward strings.
func (c *company) change(kind string, n int, r record) error {
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
	fit(kind, r)
	switch {
	case kind == "audit" && n == 1: // larger than a DynamoDB item
		r["findings"] = []any{strings.Repeat("Findings of a large site, each of them a sentence. ", 20_000), record{"deep": []any{1, 2.5, nil, true}}}
	case kind == "brand-kit":
		r["colors"], r["voiceExamples"] = record{"primary": "#123456", "more": []any{nil, 1e21, -0.25}}, []any{}
	}
	return nil
}

// fit corrects combinations of values that an import would reject.
func fit(kind string, r record) {
	switch {
	case kind == "metric-definition" && r["kind"] != "derived":
		r["formula"] = nil
		if r["kind"] == "split" && r["dimensions"] == nil {
			r["dimensions"] = []any{"plan"}
		}
	case kind == "audit" && r["status"] == "running":
		r["finishedAt"] = nil
	case kind == "post":
		if r["platform"] != "push" {
			r["destination"] = nil
		}
		if r["status"] == "scheduled" && r["scheduledFor"] == nil {
			r["scheduledFor"] = "2026-08-20T08:00:00.000Z"
		}
	}
}

// optional returns the fields that an import does not require. Points keep their grain, value and
// dimensions.
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

// publish makes every third item of the first board live, with a snapshot of the board. Some other
// items get an earlier publishedVersion.
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

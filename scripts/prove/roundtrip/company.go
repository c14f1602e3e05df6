package roundtrip

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strings"

	"growthworkspace/functions"
	"growthworkspace/scripts/prove/testbed"
)

// recordCount says how many records of a type a company has: the number at scale 1, and the minimum
// at any scale.
type recordCount struct{ full, min int }

// recordCounts contains the types whose number of records is not defaultCount. At scale 1,
// defaultCount is more than one page of a list.
var (
	defaultCount = recordCount{230, 20}
	recordCounts = map[string]recordCount{
		"company": {1, 1}, "brand-kit": {1, 1}, "board": {110, 6}, "item": {2000, 60}, "feedback": {10_000, 600}, "metric-definition": {260, 26},
		"metric-point": {24_000, 2000}, "site": {12, 12}, "site-goal": {132, 132}, "audit": {240, 70}, "content-plan": {130, 8},
		"content-idea": {900, 80}, "post": {5000, 400}, "channel": {14, 14},
	}
)

// boardsWithItems is the number of boards that have items. The other boards are empty.
const boardsWithItems = 3

// generatedCompany is a company whose records were generated for this proof.
type generatedCompany struct {
	listLines []listLine
	records   map[string][]record

	ideasWithPosts int // the number of ideas that have posts
	random         *rand.Rand
	values         map[string]map[string][]any // by type and field, the values that changeRecord chooses from; nil means null
	optionalByKind map[string][]string         // the fields that may be null, by type of record
}

// newGeneratedCompany generates a company. The same scale always gives the same company. It copies
// the demo company's records until there are enough, and varies them. For every enum field, each
// value and null occur in at least one record. Times and numbers are often equal, because sorting
// bugs show up in ties. Strings include characters that often break encoders.
func newGeneratedCompany(scale float64) (*generatedCompany, error) {
	countAtScale := func(s recordCount) int { return max(s.min, int(float64(s.full)*scale)) }
	c := &generatedCompany{records: map[string][]record{}, random: rand.New(rand.NewPCG(7, 11)), optionalByKind: map[string][]string{}, ideasWithPosts: countAtScale(recordCount{30, 4})}
	c.values = map[string]map[string][]any{
		"item":      {"sortOrder": {-100, -99, -1, 0, 1, 2, 3, 5, 8, 13, 99, 100, nil}},
		"feedback":  {"priority": {-100, -99, -1, 0, 1, 2, 3, 10, 99, nil}},
		"site-goal": {"order": {0, 1, 2, 3, 4, nil}},
	}
	var err error
	if c.listLines, err = listLines(); err != nil {
		return nil, err
	}
	for _, l := range c.listLines {
		kind, _, _ := kindOfList(l.operation)
		for _, f := range l.filters {
			if f.values != nil && l.operation != pointsOperation {
				if values := f.values; f.name == "replyStatus" { // an import replaces a null replyStatus with "none"
					c.setValues(kind, f.name, values)
				} else {
					c.setValues(kind, f.name, append(values, nil))
				}
			}
		}
	}
	c.setValues("channel", "platform", c.values["post"]["platform"])
	generator := testbed.NewRecordGenerator()
	for _, t := range functions.Transfers(nil) { // in this order, a type comes after the types that it refers to
		s, known := recordCounts[t.Name]
		if !known {
			s = defaultCount
		}
		for i := range countAtScale(s) {
			r := record(generator.Record(t.Name, i))
			if err := c.changeRecord(t.Name, i, r); err != nil {
				return nil, err
			}
			c.records[t.Name] = append(c.records[t.Name], r.normalise())
		}
		c.addReferences(t.Name)
	}
	c.publish()
	return c, nil
}

// setValues sets the values from which changeRecord chooses the value of a field.
func (c *generatedCompany) setValues(kind, field string, values []any) {
	if c.values[kind] == nil {
		c.values[kind] = map[string][]any{}
	}
	c.values[kind][field] = values
}

// addReferences makes the ids of the records of the given type available as references in records
// that are generated later.
func (c *generatedCompany) addReferences(kind string) {
	ids := c.ids(kind)
	switch kind {
	case "board": // repeat the first board, so that it has most of the items
		c.setValues("item", "roadmapId", []any{ids[0], ids[0], ids[0], ids[1], ids[2]})
	case "site":
		c.setValues("site-goal", "siteId", ids[1:]) // leave out the first site, so that it has no goals
		c.setValues("audit", "siteId", append(slices.Clone(ids), nil))
	case "content-plan": // choose few plans, so that they have many ideas and the others have none
		c.setValues("content-idea", "planId", append(slices.Clone(ids[:min(7, len(ids)-1)]), nil))
	case "content-idea":
		c.setValues("post", "ideaId", append(slices.Clone(ids[:c.ideasWithPosts]), nil))
	}
}

// awkwardStrings contains strings that often break encoders.
var awkwardStrings = []string{"café", "naïve", "übersicht", "日本語", "🌲", "<b>&</b>", `"quoted"`, "line\nbreak", "tab\there", "don't", ""}

// changeRecord varies the n-th record of a type. It sets random values, nulls and strings that
// often break encoders.
func (c *generatedCompany) changeRecord(kind string, n int, r record) error {
	if _, known := c.optionalByKind[kind]; !known {
		fields, err := optionalFields(kind, r)
		if err != nil {
			return err
		}
		c.optionalByKind[kind] = fields
	}
	for _, name := range []string{"title", "name", "summary", "body", "description", "brief", "guidance", "replyBody"} {
		if text := r.text(name); text != "" && c.random.IntN(4) == 0 {
			r[name] = text + " " + awkwardStrings[c.random.IntN(len(awkwardStrings))]
		}
	}
	for _, name := range c.optionalByKind[kind] {
		if c.random.IntN(10) == 0 {
			r[name] = nil
		}
	}
	for _, name := range sortedKeys(c.values[kind]) {
		values := c.values[kind][name]
		r[name] = values[c.random.IntN(len(values))]
	}
	makeValid(kind, r)
	switch {
	case kind == "audit" && n == 1: // these findings are larger than an item in DynamoDB may be
		r["findings"] = []any{strings.Repeat("Findings of a large site, each of them a sentence. ", 20_000), record{"deep": []any{1, 2.5, nil, true}}}
	case kind == "brand-kit":
		r["colors"], r["voiceExamples"] = record{"primary": "#123456", "more": []any{nil, 1e21, -0.25}}, []any{}
	}
	return nil
}

// makeValid corrects combinations of values that an import would reject.
func makeValid(kind string, r record) {
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

// optionalFields returns the fields of a record that an import does not require. For metric points,
// it leaves out grain, value and dims, so that these always have values.
func optionalFields(kind string, r record) (names []string, err error) {
	if slices.Contains([]string{"company", "brand-kit"}, kind) {
		return nil, nil // a company has only one such record, so none of its fields is set to null
	}
	for _, t := range functions.Transfers(nil) {
		for _, name := range sortedKeys(r) {
			if t.Name != kind || name == "id" || kind == "metric-point" && slices.Contains([]string{"grain", "value", "dims"}, name) {
				continue
			}
			reduced := record{}
			for other, value := range r {
				if other != name {
					reduced[other] = value
				}
			}
			text, err := json.Marshal(reduced)
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

// publish makes every third item of the first board live, as if the board had been published. Some
// other items get an earlier publishedVersion.
func (c *generatedCompany) publish() {
	board := c.records["board"][0]
	var live []any
	for n, r := range c.records["item"] {
		switch {
		case r["roadmapId"] == board["id"] && n%3 == 0:
			r["publishedVersion"] = 3.0
			liveItem := record{}
			for _, name := range []string{"id", "slug", "title", "summary", "columnId", "categoryIds", "sortOrder", "targetLabel"} {
				liveItem[name] = r[name]
			}
			live = append(live, liveItem)
		case n%11 == 0:
			r["publishedVersion"] = 2.0
		}
	}
	board["publishedVersion"], board["publishedAt"], board["snapshot"] = 3.0, "2026-07-01T00:00:00.000Z", live
}

func (c *generatedCompany) total() (n int) {
	for _, records := range c.records {
		n += len(records)
	}
	return n
}

func (c *generatedCompany) ids(kind string) (ids []any) {
	for _, r := range c.records[kind] {
		ids = append(ids, r["id"])
	}
	return ids
}

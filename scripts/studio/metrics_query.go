package studio

import (
	"net/url"
	"slices"
	"strings"
	"time"

	"growthworkspace/scripts/studio/period"
)

// metricQuery is the request in an address.
type metricQuery struct {
	key, split string // the metric and the dimension; both may be empty
	find       string // words in the names of the listed metrics; may be empty
	grain      period.Grain
	rng        period.Range
	now        time.Time
	complaint  string     // about an invalid range; the page then shows the usual one
	values     url.Values // the address
}

func (v *pageRequest) metricQuery() metricQuery {
	q := v.r.URL.Query()
	out := metricQuery{key: q.Get("key"), split: q.Get("split"), find: strings.TrimSpace(q.Get("find")), now: v.Now().UTC(), values: url.Values{}}
	var err error
	if out.rng, err = period.ParseRange(q.Get("range"), q.Get("from"), q.Get("to"), out.now); err != nil {
		out.complaint = err.Error()
	}
	out.grain = period.Grain(q.Get("grain"))
	if !out.grain.Valid() || !out.rng.Allows(out.grain) {
		out.grain = out.rng.Default()
	}
	for _, name := range []string{"key", "range", "from", "to", "grain", "split"} {
		if text := q.Get(name); text != "" {
			out.values.Set(name, text)
		}
	}
	return out
}

// withKey returns the query for a metric.
func (q metricQuery) withKey(key string) metricQuery {
	q.key, q.values = key, copyOf(q.values)
	q.values.Set("key", key)
	return q
}

// with returns the address with other choices: names and values in turn; an empty value removes.
func (q metricQuery) with(path string, pairs ...string) string {
	values := copyOf(q.values)
	for i := 0; i+1 < len(pairs); i += 2 {
		if values.Del(pairs[i]); pairs[i+1] != "" {
			values.Set(pairs[i], pairs[i+1])
		}
	}
	return path + "?" + values.Encode()
}

// menu returns the links to the metrics that match the search, in groups: those with a goal, those
// of each area in the keys, and new ones.
func (q metricQuery) menu(all []metric) (groups []menuGroup) {
	for _, m := range all {
		if !containsWords(m.Name+" "+m.Key, q.find) {
			continue
		}
		note, group := "", m.group()
		if m.NeedsReview {
			note = "new"
		}
		if len(groups) == 0 || groups[len(groups)-1].Name != group {
			groups = append(groups, menuGroup{Name: group})
		}
		last := &groups[len(groups)-1]
		last.Links = append(last.Links, choice{m.Name, q.with("/metrics", "key", m.Key, "split", "", "grain", "", "find", q.find), note, m.Key == q.key})
	}
	return groups
}

// group names the group of a metric in the menu.
func (m metric) group() string {
	area, _, dotted := strings.Cut(strings.TrimPrefix(m.Key, "custom."), ".")
	switch {
	case m.NeedsReview:
		return "New"
	case len(m.Goals) > 0:
		return "With a goal"
	case !dotted:
		return "Others"
	}
	return words(area)
}

// controls returns the links and the form for other ranges.
func (q metricQuery) controls() *periodControls {
	out := &periodControls{Range: q.rng, From: dayText(q.rng.From), To: dayText(q.rng.To), Key: q.key, Split: q.split}
	for _, r := range period.Ranges(q.now) {
		out.Ranges = append(out.Ranges, choice{r.Name, q.with("/metrics", "range", r.ID, "from", "", "to", "", "grain", ""), "", q.rng.ID == r.ID})
	}
	return out
}

// grains returns the links to the grains that the range allows.
func (q metricQuery) grains() (links []choice) {
	for _, g := range []period.Grain{period.Day, period.Week, period.Month} {
		if q.rng.Allows(g) {
			links = append(links, choice{capital(g), q.with("/metrics", "grain", string(g)), "", q.grain == g})
		}
	}
	return links
}

func capital(g period.Grain) string { return strings.ToUpper(string(g[:1])) + string(g[1:]) }

// splits returns the links to the dimensions of the metric.
func (q metricQuery) splits(dimensions []string) (links []choice) {
	if len(dimensions) == 0 && q.split == "" {
		return nil
	}
	links = append(links, choice{"All", q.with("/metrics", "split", ""), "", q.split == ""})
	for _, name := range slices.Sorted(slices.Values(dimensions)) {
		links = append(links, choice{"by " + words(name), q.with("/metrics", "split", name), "", q.split == name})
	}
	return links
}

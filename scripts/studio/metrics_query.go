package studio

import (
	"net/url"
	"slices"
	"strings"
	"time"

	"growthworkspace/scripts/studio/period"
	"growthworkspace/scripts/studio/phrase"
)

// metricQuery holds the query parameters of the metrics page, after parsing.
type metricQuery struct {
	key, split   string // the metric's key and the dimension to split by; both may be empty
	searchText   string // words to search for in the names and keys of the metrics; may be empty
	grain        period.Grain
	dateRange    period.Range
	now          time.Time
	rangeProblem string     // why the range is invalid, so that the page shows the default range; empty if it is valid
	values       url.Values // the query parameters of the address, without find
}

func (pr *pageRequest) metricQuery() metricQuery {
	q := pr.r.URL.Query()
	out := metricQuery{key: q.Get("key"), split: q.Get("split"), searchText: strings.TrimSpace(q.Get("find")), now: pr.Now().UTC(), values: url.Values{}}
	var err error
	if out.dateRange, err = period.ParseRange(q.Get("range"), q.Get("from"), q.Get("to"), out.now); err != nil {
		out.rangeProblem = err.Error()
	}
	out.grain = period.Grain(q.Get("grain"))
	if !out.grain.Valid() || !out.dateRange.Allows(out.grain) {
		out.grain = out.dateRange.DefaultGrain()
	}
	for _, name := range []string{"key", "range", "from", "to", "grain", "split", "hide"} {
		if text := q.Get(name); text != "" {
			out.values.Set(name, text)
		}
	}
	return out
}

// withKey returns a copy of the query for a different metric.
func (q metricQuery) withKey(key string) metricQuery {
	q.key, q.values = key, copyOf(q.values)
	q.values.Set("key", key)
	return q
}

// pathWith returns the address of a page with the parameters of this query, some of them changed.
// pairs alternates between the names and the new values of parameters. An empty value removes the
// parameter.
func (q metricQuery) pathWith(path string, pairs ...string) string {
	values := copyOf(q.values)
	for i := 0; i+1 < len(pairs); i += 2 {
		if values.Del(pairs[i]); pairs[i+1] != "" {
			values.Set(pairs[i], pairs[i+1])
		}
	}
	return path + "?" + values.Encode()
}

// menu returns links to the metrics that match the search. The first group has the metrics with a
// goal, and the last has the new metrics. Between them is one group for each area. The area is the
// part of a key before the first dot.
func (q metricQuery) menu(all []metric) (groups []menuGroup) {
	for _, m := range all {
		if !containsWords(m.Name+" "+m.Key, q.searchText) {
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
		last.Links = append(last.Links, choice{m.Name, q.pathWith("/metrics", "key", m.Key, "split", "", "grain", "", "find", q.searchText), note, m.Key == q.key})
	}
	return groups
}

// group returns the name of the metric's group in the menu.
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
	return phrase.Words(area)
}

// controls returns the links to other ranges, and the values of the form for a custom range.
func (q metricQuery) controls() *periodControls {
	out := &periodControls{Range: q.dateRange, From: dayText(q.dateRange.From), To: dayText(q.dateRange.To), Key: q.key, Split: q.split}
	for _, r := range period.Ranges(q.now) {
		out.Ranges = append(out.Ranges, choice{r.Name, q.pathWith("/metrics", "range", r.ID, "from", "", "to", "", "grain", ""), "", q.dateRange.ID == r.ID})
	}
	return out
}

// grains returns links that show the range by day, week or month, as far as its length allows.
func (q metricQuery) grains() (links []choice) {
	for _, g := range []period.Grain{period.Day, period.Week, period.Month} {
		if q.dateRange.Allows(g) {
			links = append(links, choice{capitalize(g), q.pathWith("/metrics", "grain", string(g)), "", q.grain == g})
		}
	}
	return links
}

func capitalize(g period.Grain) string { return strings.ToUpper(string(g[:1])) + string(g[1:]) }

// splits returns a link that shows the metric as one line, followed by one link for each dimension
// by which the metric can be split.
func (q metricQuery) splits(dimensions []string) (links []choice) {
	if len(dimensions) == 0 && q.split == "" {
		return nil
	}
	links = append(links, choice{"All", q.pathWith("/metrics", "split", ""), "", q.split == ""})
	for _, name := range slices.Sorted(slices.Values(dimensions)) {
		links = append(links, choice{"by " + phrase.Words(name), q.pathWith("/metrics", "split", name), "", q.split == name})
	}
	return links
}

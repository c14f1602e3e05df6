package roundtrip

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"growthworkspace/functions"
)

// listing is a list of the API and its expected records.
type listing struct {
	operation string
	path      string // after the company
	limit     int    // of a page; 0: the list is not paged
	filters   []filter
	fixed     url.Values // parameters of every request
	records   []record   // expected without filters, in order
	kind      string     // the type of the records
	leave     []string   // fields that the list leaves out
	newest    bool       // later pages have older records, and each page has its oldest record first
	windows   []window
}

// filter is a query parameter that selects the records whose field has a value.
type filter struct {
	name   string
	field  string
	values []any
}

// window is a pair of the parameters from and to; an empty one is not sent.
type window struct{ from, to string }

// lists returns every list of the service with its filters. It returns an error when a list of the API is missing here.
func (c *company) lists() (all []listing, err error) {
	sorted := func(kind string, keep func(record) bool, order ...func(a, b record) int) []record {
		var out []record
		for _, r := range c.records[kind] {
			if keep == nil || keep(r) {
				out = append(out, r)
			}
		}
		slices.SortFunc(out, by(append(order, ascending("id"))...))
		return out
	}
	all = []listing{
		{operation: "list_plan_boards", path: "/plan/boards", limit: 100, kind: "board", leave: []string{"snapshot"}, records: sorted("board", nil, ascending("createdAt"))},
		{
			operation: "list_feedback", path: "/feedback", limit: 200, kind: "feedback",
			records: sorted("feedback", nil, ascending("priority"), descending("postedAt")),
			filters: []filter{{"source", "source", sources}, {"sentiment", "sentiment", sentiments}, {"replyStatus", "replyStatus", replyStatuses}},
		},
		{
			operation: "list_metric_definitions", path: "/metrics/definitions", limit: 200, kind: "metric-definition",
			records: sorted("metric-definition", nil, ascending("key")), filters: []filter{{"needsReview", "needsReview", booleans}},
		},
		{operation: "list_optimise_sites", path: "/optimise/sites", kind: "site", records: sorted("site", nil, ascending("createdAt"))},
		{
			operation: "list_optimise_audits", path: "/optimise/audits", limit: 50, kind: "audit", leave: []string{"findings"},
			records: sorted("audit", nil, descending("startedAt")),
			filters: []filter{{"siteId", "siteId", c.ids("site")}, {"status", "status", auditStatuses}},
		},
		{operation: "list_broadcast_plans", path: "/broadcast/plans", limit: 100, kind: "content-plan", records: sorted("content-plan", nil, descending("createdAt"))},
		{
			operation: "list_broadcast_ideas", path: "/broadcast/ideas", limit: 200, kind: "content-idea", records: sorted("content-idea", nil, descending("createdAt")),
			filters: []filter{{"planId", "planId", c.ids("content-plan")}, {"status", "status", ideaStatuses}},
		},
		{
			operation: "list_broadcast_posts", path: "/broadcast/posts", limit: 200, kind: "post", records: sorted("post", nil, latest),
			filters: []filter{{"platform", "platform", platforms}, {"status", "status", postStatuses}, {"ideaId", "ideaId", c.ids("content-idea")[:c.ideasWithPosts+2]}},
		},
		{operation: "list_broadcast_channels", path: "/broadcast/channels", kind: "channel", records: sorted("channel", nil, ascending("platform"))},
		{operation: "list_context_content_types", path: "/context/content-types", limit: 200, kind: "content-type", records: sorted("content-type", nil, ascending("name"))},
		{operation: "list_context_goals", path: "/context/goals", limit: 200, kind: "brand-goal", records: sorted("brand-goal", nil, ascending("createdAt"))},
	}
	for _, board := range c.ids("board")[:boardsWithItems+1] { // the last of these and all others have no items
		all = append(all, listing{
			operation: "list_plan_items", path: fmt.Sprintf("/plan/boards/%s/items", board), limit: 200, kind: "item",
			records: sorted("item", func(r record) bool { return r["roadmapId"] == board }, ascending("sortOrder"), ascending("createdAt")),
			filters: []filter{{"status", "status", itemStatuses}},
		})
	}
	for _, site := range c.ids("site") {
		all = append(all, listing{
			operation: "list_optimise_goals", path: fmt.Sprintf("/optimise/sites/%s/goals", site), kind: "site-goal",
			records: sorted("site-goal", func(r record) bool { return r["siteId"] == site }, ascending("order")),
		})
	}
	all = append(all, c.pointLists()...)
	for _, op := range functions.Operations(nil) {
		here := slices.ContainsFunc(all, func(l listing) bool { return l.operation == op.ID })
		if op.IsList() && !here && op.ID != "list_companies" && op.ID != "list_keys" {
			return nil, fmt.Errorf("%s is not in the round trip: add it to lists in scripts/prove/roundtrip/lists.go", op.ID)
		}
	}
	return all, nil
}

// pointLists returns the lists of points of each metric and grain, with windows of time.
func (c *company) pointLists() (all []listing) {
	series := map[string][]record{}
	for _, r := range c.records["metric-definition"] { // also metrics without points
		series[r.text("key")+" day"] = nil
	}
	for _, r := range c.records["metric-point"] {
		name := r.text("metricKey") + " " + r.text("grain")
		series[name] = append(series[name], r)
	}
	empty := 0
	for _, name := range sortedKeys(series) {
		key, grain, _ := strings.Cut(name, " ")
		points := series[name]
		if len(points) == 0 {
			if empty++; empty > 2 { // two empty lists are enough
				continue
			}
		}
		slices.SortStableFunc(points, ascending("ts")) // compare orders points with equal ts
		l := listing{
			operation: "list_metric_points", path: "/metrics/points", limit: 1000, kind: "metric-point", records: points, newest: true,
			fixed: url.Values{"metricKey": {key}, "grain": {grain}}, windows: []window{{}},
		}
		if len(points) > 0 {
			middle, _ := time.Parse(stamp, points[len(points)/2].text("ts"))
			day, after := middle.Format(time.DateOnly), middle.AddDate(0, 0, 1).Format(time.DateOnly)
			early := middle.AddDate(0, 0, -45).Format(time.DateOnly)
			l.windows = append(l.windows, window{"", day}, window{after, ""}, window{day, day}, window{early, after}, window{"1999-01-01", "1999-12-31"})
		}
		all = append(all, l)
	}
	return all
}

const stamp = "2006-01-02T15:04:05.000Z"

// by returns an order that uses each order in turn until one differs.
func by(orders ...func(a, b record) int) func(a, b record) int {
	return func(a, b record) int {
		for _, order := range orders {
			if c := order(a, b); c != 0 {
				return c
			}
		}
		return 0
	}
}

// ascending returns an order by a field, the lowest first, null last.
func ascending(field string) func(a, b record) int {
	return func(a, b record) int { return compare(a[field], b[field], 1) }
}

// descending returns an order by a field, the greatest first, null last.
func descending(field string) func(a, b record) int {
	return func(a, b record) int { return compare(a[field], b[field], -1) }
}

// latest is the order of posts: by scheduledFor, else by createdAt, the latest first.
func latest(a, b record) int {
	at := func(r record) any {
		if r["scheduledFor"] != nil {
			return r["scheduledFor"]
		}
		return r["createdAt"]
	}
	return compare(at(a), at(b), -1)
}

func compare(a, b any, sign int) int {
	switch {
	case a == nil && b == nil:
		return 0
	case a == nil:
		return 1
	case b == nil:
		return -1
	}
	if x, ok := a.(float64); ok {
		y := b.(float64)
		switch {
		case x < y:
			return -sign
		case x > y:
			return sign
		}
		return 0
	}
	return sign * strings.Compare(a.(string), b.(string))
}

// expected returns the records that a response must have.
func (l listing) expected(chosen map[string]string, w window) []record {
	var out []record
	for _, r := range l.records {
		if l.passes(r, chosen) && w.contains(r.text("ts")) {
			out = append(out, r)
		}
	}
	return out
}

func (l listing) passes(r record, chosen map[string]string) bool {
	for _, f := range l.filters {
		if want, ok := chosen[f.name]; ok && (r[f.field] == nil || fmt.Sprint(r[f.field]) != want) {
			return false
		}
	}
	return true
}

// contains reports whether a time is in the window.
func (w window) contains(ts string) bool {
	if w == (window{}) {
		return true
	}
	day := ts[:len(time.DateOnly)]
	return (w.from == "" || day >= w.from) && (w.to == "" || day <= w.to)
}

// combinations returns every choice of filters, the empty one first.
func (l listing) combinations() []map[string]string {
	all := []map[string]string{{}}
	for _, f := range l.filters {
		for _, chosen := range all {
			for _, value := range f.values {
				with := map[string]string{f.name: fmt.Sprint(value)}
				for k, v := range chosen {
					with[k] = v
				}
				all = append(all, with)
			}
		}
	}
	return all
}

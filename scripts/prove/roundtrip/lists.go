package roundtrip

import (
	"cmp"
	"fmt"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	"growthworkspace/functions"
	"growthworkspace/shared/api"
	"growthworkspace/shared/schema/jsonschema"
	"growthworkspace/shared/timestamp"
)

// expectedList is a list operation of the API, with the records that it must return.
type expectedList struct {
	operation       string
	path            string // the path of the list after the company's path
	limit           int    // the maximum page size; 0 if the list is not paged
	filters         []filter
	fixedParameters url.Values // query parameters that every request for the list has
	records         []record   // the records that the list must have without filters, in order
	kind            string     // the type of the records
	ignoredFields   []string   // fields of the records that the list leaves out
	newestFirst     bool       // the first page has the newest records, but within a page the oldest record comes first
	windows         []window
	timeOf          func(record) any // returns the time to which the parameters "from" and "to" apply
	dayParameters   [2]string        // the names of the two parameters that bound a window; if empty, "from" and "to"
}

// orderParameters maps an operation to two query parameters, and to the order of its list if these
// parameters are sent.
var orderParameters = map[string]struct {
	days  [2]string
	order string
}{"list_feedback": {[2]string{"postedFrom", "postedTo"}, "-postedAt"}}

// readyRecords contains the operations that list only the records that a program can claim. It maps
// each operation to a function that reports whether its list contains a record at a given time.
var readyRecords = map[string]func(r record, now string) bool{
	"list_due_posts": func(r record, now string) bool {
		at, _ := r["scheduledFor"].(string)
		return r["status"] == "scheduled" && at != "" && at <= now
	},
	"list_approved_replies": func(r record, _ string) bool {
		text, _ := r["replyBody"].(string)
		return r["replyStatus"] == "approved" && text != ""
	},
}

// filter is a query parameter that selects records by the value of the field with the same name.
type filter struct {
	name   string
	values []any
}

// window contains the query parameters "from", "to" and "order". A parameter is not sent if it is
// empty.
type window struct{ from, to, order string }

// windowsAround returns windows that begin or end on the day of a record or the day after, and one
// that contains no records.
func windowsAround(at time.Time) []window {
	day, after := at.Format(time.DateOnly), at.AddDate(0, 0, 1).Format(time.DateOnly)
	early := at.AddDate(0, 0, -45).Format(time.DateOnly)
	return []window{{to: day}, {from: after}, {from: day, to: day}, {from: early, to: after}, {from: "1999-01-01", to: "1999-12-31"}}
}

// parentRecords are the records whose ids the path of a list may contain, such as boards. field is
// the name of the field in which a record of the list has its parent's id.
type parentRecords struct {
	field string
	ids   []any
}

// lists returns every list in the hand-typed tables, with its filters. It fails if the service has
// a list that is not in the tables.
func (c *generatedCompany) lists() (all []expectedList, err error) {
	parents := map[string]parentRecords{
		"{boardId}": {"roadmapId", c.ids("board")[:boardsWithItems+1]}, // the last of these boards has no items
		"{siteId}":  {"siteId", c.ids("site")},
	}
	ids := map[string][]any{"siteId": c.ids("site"), "planId": c.ids("content-plan"), "ideaId": c.ids("content-idea")[:c.ideasWithPosts+2]}
	for _, l := range c.listLines {
		if l.operation == pointsOperation { // see pointLists
			continue
		}
		kind, shown, leave := kindOfList(l.operation)
		if kind == "" {
			return nil, fmt.Errorf("functions/testdata has an order of %s, whose records no area's transfer.go declares: write -", l.operation)
		}
		for _, order := range l.orders {
			for _, field := range fieldsOf(order) {
				if !slices.Contains(shown, field) {
					return nil, fmt.Errorf("functions/testdata has %s in the order of %s, which is no field of it", l.operation, field)
				}
			}
		}
		list := expectedList{operation: l.operation, path: l.path, limit: l.limit, kind: kind, ignoredFields: leave}
		dayOrder := orderParameters[l.operation]
		for _, f := range l.filters {
			if slices.Contains(dayOrder.days[:], f.name) {
				continue
			}
			if f.values == nil {
				f.values = ids[f.name]
			}
			if f.values == nil {
				return nil, fmt.Errorf("%s is filtered by %s: add its values to ids in scripts/prove/roundtrip/lists.go", l.operation, f.name)
			}
			list.filters = append(list.filters, f)
		}
		placeholder := placeholderPattern.FindString(l.path)
		if placeholder == "" {
			list.records = slices.SortedFunc(slices.Values(c.records[kind]), l.compare)
			if isReady, ok := readyRecords[l.operation]; ok {
				now := timestamp.Format(time.Now())
				list.records = slices.DeleteFunc(list.records, func(r record) bool { return !isReady(r, now) })
			}
			if l.hasWindowParameters {
				list.addWindows(l.orders[0])
			}
			all = append(all, list)
			if dayOrder.order != "" {
				all = append(all, list.withDays(dayOrder.days, dayOrder.order))
			}
			continue
		}
		parent, known := parents[placeholder]
		if !known {
			return nil, fmt.Errorf("%s is under %s: add it to parents in scripts/prove/roundtrip/lists.go", l.operation, placeholder)
		}
		for _, id := range parent.ids {
			one := list
			one.path = strings.ReplaceAll(l.path, placeholder, id.(string))
			for _, r := range c.records[kind] {
				if r[parent.field] == id {
					one.records = append(one.records, r)
				}
			}
			slices.SortFunc(one.records, l.compare)
			all = append(all, one)
		}
	}
	all = append(all, c.pointLists()...)
	for _, op := range functions.Operations(nil) {
		isListed := slices.ContainsFunc(all, func(l expectedList) bool { return l.operation == op.ID })
		if kind, _, _ := kindOfList(op.ID); kind != "" && op.HasCompanyID() && !isListed {
			return nil, fmt.Errorf("%s is not in the round trip: add its line, with its order, to functions/testdata/additions.tsv", op.ID)
		}
	}
	return all, nil
}

// addWindows adds windows to a list that has the parameters "from", "to" and "order". It adds the
// windows around the list's middle record, each in both orders.
func (l *expectedList) addWindows(order string) {
	l.timeOf, l.windows = valueGetter(order), []window{{}}
	timed := slices.DeleteFunc(slices.Clone(l.records), func(r record) bool { return l.timeOf(r) == nil })
	all := []window{{}}
	if len(timed) > 0 {
		middle, _ := time.Parse(timestampLayout, l.timeOf(timed[len(timed)/2]).(string))
		all = append(all, windowsAround(middle)...)
	}
	for _, w := range all {
		w.order = "asc"
		l.windows = append(l.windows, w)
	}
	l.windows = append(l.windows, all[1:]...)
}

// withDays returns the list that is expected if the two parameters in `days` are sent. The list
// contains only the records in which the field that `order` names is not null. It is sorted by that
// field.
func (l expectedList) withDays(days [2]string, order string) expectedList {
	l.dayParameters, l.timeOf = days, valueGetter(order)
	l.records = slices.DeleteFunc(slices.Clone(l.records), func(r record) bool { return l.timeOf(r) == nil })
	byTime, byID := comparatorBy(order), comparatorBy("id")
	slices.SortFunc(l.records, func(a, b record) int { return cmp.Or(byTime(a, b), byID(a, b)) })
	middle, _ := time.Parse(timestampLayout, l.timeOf(l.records[len(l.records)/2]).(string))
	l.windows = windowsAround(middle)
	return l
}

var placeholderPattern = regexp.MustCompile(`\{[a-zA-Z]+\}`)

// kindOfList returns the type of record that an operation lists, the fields that the list shows,
// and those that it leaves out. kind is empty if the operation is not a list of records that can be
// imported.
func kindOfList(operation string) (kind string, shown, ignored []string) {
	operations := functions.Operations(nil)
	i := slices.IndexFunc(operations, func(op api.Operation) bool { return op.ID == operation && op.IsList() })
	if i < 0 {
		return "", nil, nil
	}
	listed := operations[i].Output.Field(0).Type.Elem()
	shown = jsonschema.Record(listed, nil).PropertyOrder
	for _, t := range functions.Transfers(nil) {
		embeds := func(f reflect.StructField) bool { return f.Anonymous && f.Type == listed }
		if t.Record == listed || slices.ContainsFunc(reflect.VisibleFields(t.Record), embeds) {
			whole := jsonschema.Record(t.Record, nil).PropertyOrder
			return t.Name, shown, slices.DeleteFunc(whole, func(name string) bool { return slices.Contains(shown, name) })
		}
	}
	return "", nil, nil
}

// pointsOperation is the operation that lists metric points.
const pointsOperation = "list_metric_points"

// pointLists returns one list of points for each metric and grain, with windows around the middle
// point. It leaves out weeks and months that the service may compute from days, because the tests
// of functions/metrics check those.
func (c *generatedCompany) pointLists() (all []expectedList) {
	series := map[string][]record{}
	computed := map[string]bool{}
	for _, r := range c.records["metric-definition"] { // so that metrics without points are included, too
		series[r.text("key")+" day"] = nil
		computed[r.text("key")] = r["aggregation"] != nil && r["aggregation"] != "none" && r["kind"] != "derived"
	}
	for _, r := range c.records["metric-point"] {
		if computed[r.text("metricKey")] && r["grain"] != "day" {
			continue
		}
		name := r.text("metricKey") + " " + r.text("grain")
		series[name] = append(series[name], r)
	}
	empty := 0
	for _, name := range sortedKeys(series) {
		key, grain, _ := strings.Cut(name, " ")
		points := series[name]
		if len(points) == 0 {
			if empty++; empty > 2 { // two metrics without points are enough
				continue
			}
		}
		slices.SortStableFunc(points, comparatorBy("ts")) // the service also sorts by series id, which it generates itself
		l := expectedList{
			operation: pointsOperation, path: "/metrics/points", limit: 1000, kind: "metric-point", records: points, newestFirst: true,
			fixedParameters: url.Values{"metricKey": {key}, "grain": {grain}}, windows: []window{{}}, timeOf: valueGetter("ts"),
		}
		if len(points) > 0 {
			middle, _ := time.Parse(timestampLayout, points[len(points)/2].text("ts"))
			l.windows = append(l.windows, windowsAround(middle)...)
		}
		all = append(all, l)
	}
	return all
}

const timestampLayout = "2006-01-02T15:04:05.000Z"

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

// expectedRecords returns the records that the list must contain with the chosen filters and the
// window w.
func (l expectedList) expectedRecords(chosen map[string]string, w window) []record {
	var out []record
	for _, r := range l.records {
		if l.matches(r, chosen) && (w.from+w.to == "" || w.contains(l.timeOf(r))) {
			out = append(out, r)
		}
	}
	if w.order == "asc" {
		slices.Reverse(out)
	}
	return out
}

func (l expectedList) matches(r record, chosen map[string]string) bool {
	for _, f := range l.filters {
		if want, ok := chosen[f.name]; ok && (r[f.name] == nil || fmt.Sprint(r[f.name]) != want) {
			return false
		}
	}
	return true
}

// contains reports whether the window contains a time. It returns false if at is null.
func (w window) contains(at any) bool {
	text, known := at.(string)
	if !known {
		return false
	}
	day := text[:len(time.DateOnly)]
	return (w.from == "" || day >= w.from) && (w.to == "" || day <= w.to)
}

// combinations returns every combination of filter values. The first one is empty.
func (l expectedList) combinations() []map[string]string {
	all := []map[string]string{{}}
	for _, f := range l.filters {
		for _, chosen := range all {
			for _, value := range f.values {
				extended := map[string]string{f.name: fmt.Sprint(value)}
				for k, v := range chosen {
					extended[k] = v
				}
				all = append(all, extended)
			}
		}
	}
	return all
}

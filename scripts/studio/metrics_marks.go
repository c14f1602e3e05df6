package studio

import (
	"cmp"
	"fmt"
	"html/template"
	"slices"
	"strings"
	"time"

	"growthworkspace/scripts/studio/chart"
	"growthworkspace/scripts/studio/period"
	"growthworkspace/scripts/studio/phrase"
	"growthworkspace/scripts/studio/scores"
	"growthworkspace/shared/client"
)

// markKind is a kind of dated record that the charts of metrics mark.
type markKind struct {
	ID    string // the value in addresses, and the CSS class
	Name  string // in the legend
	scope string
}

// The kinds of marks, in the order of their lanes.
var markKinds = []markKind{
	{"releases", "Roadmap published", "plan:read"},
	{"posts", "Posts sent", "broadcast:read"},
	{"audits", "Audits", "optimise:read"},
}

// Limits of the marks. They keep the number of calls and the page small.
const (
	markPostsMax  = 100 // the maximum number of posts to read
	markAuditsMax = 50  // the maximum number of audits to read, the latest ones
	marksDrawnMax = 10  // the maximum number of marks of one kind in a chart
	markTextsMax  = 4   // the maximum number of records that one mark names
	marksListed   = 20  // the maximum number of records in the list below the chart
)

// markReads holds the calls for the marks of a chart. The field of a kind that is not read is nil.
type markReads struct {
	boards       *result[client.Page[client.Board]]
	posts        *result[client.Page[client.Post]]
	audits       *result[client.Page[client.AuditSummary]]
	skippedKinds []string // the names of the kinds that are not read because the page may make no more calls
}

// leavesRoomForMarks reports whether the calls for the marks can start together with those for the
// points, before it is known whether the metric is computed from others, whose points need calls,
// too. An unsplit metric by week or month has no room for that, because it also reads the days of
// the current week or month.
func (q metricQuery) leavesRoomForMarks() bool { return q.grain == period.Day || q.split != "" }

// hides reports whether the user has switched off a kind of marks.
func (q metricQuery) hides(kind string) bool {
	return slices.Contains(strings.Split(q.values.Get("hide"), ","), kind)
}

// readMarks starts the calls for the marks that the user has not switched off.
func (pr *pageRequest) readMarks(q metricQuery) *markReads {
	out := &markReads{}
	w := q.dateRange.Window(q.grain, q.now)
	for _, kind := range markKinds {
		switch {
		case q.hides(kind.ID) || !pr.may(kind.scope):
			continue
		case pr.callsLeft() == 0:
			out.skippedKinds = append(out.skippedKinds, kind.Name)
			continue
		}
		switch kind.ID {
		case "releases":
			out.boards = startCall(pr, kind.scope, "When the roadmap was published",
				bound(pr.api.ListPlanBoards, client.ListPlanBoardsInput{Limit: client.Value(100)}))
		case "posts":
			in := client.ListBroadcastPostsInput{
				Status: client.Value(client.BroadcastPostStatusPublished), From: client.Value(client.Day(w.Buckets[0])), To: client.Value(client.Day(q.grain.Next(w.Buckets[len(w.Buckets)-1], 1))), Limit: client.Value(markPostsMax),
			}
			out.posts = startCall(pr, kind.scope, "The posts that were sent", bound(pr.api.ListBroadcastPosts, in))
		case "audits":
			out.audits = startCall(pr, kind.scope, "The latest audits",
				bound(pr.api.ListOptimiseAudits, client.ListOptimiseAuditsInput{Limit: client.Value(markAuditsMax)}))
		}
	}
	return out
}

// marksView contains the marks of a chart and their legend.
type marksView struct {
	Kinds  []markLegend
	Notes  []string      // what is missing, and why
	Listed []datedRecord // newest first
	Total  int           // how many records there are in the range of the chart
}

// markLegend is the legend's entry for one kind of marks.
type markLegend struct {
	Name   string
	Symbol template.HTML
	Hidden bool
	Count  int
	Switch string // the address of the page with this kind switched on or off

	records []datedRecord
	lane    chart.Lane
}

// datedRecord is a record with the time at which the chart marks it.
type datedRecord struct {
	At         time.Time
	Text, Path string
}

// Date formats the UTC day of the record, because the days of a chart are in UTC.
func (d datedRecord) Date() string { return formatDay(d.At) }

// view returns the marks of a chart. The calls must have ended.
func (r *markReads) view(q metricQuery) *marksView {
	out := &marksView{}
	w := q.dateRange.Window(q.grain, q.now)
	start, end := w.Buckets[0], q.grain.Next(w.Buckets[len(w.Buckets)-1], 1)
	for n, kind := range markKinds {
		legend := markLegend{Name: kind.Name, Hidden: q.hides(kind.ID), Symbol: chart.Symbol(kind.ID, n)}
		var failed *failure
		var cut bool
		switch kind.ID {
		case "releases":
			legend.records, failed = r.releases()
		case "posts":
			legend.records, cut, failed = r.sentPosts()
		case "audits":
			legend.records, cut, failed = r.finishedAudits(start)
		}
		if slices.Contains(r.skippedKinds, kind.Name) {
			out.Notes = append(out.Notes, kind.Name+": not read, because this chart needs many requests. Choose steps of a day.")
			continue
		}
		if failed != nil {
			out.Notes = append(out.Notes, kind.Name+": not read. "+failed.Text())
			continue
		}
		legend.records = slices.DeleteFunc(legend.records, func(d datedRecord) bool { return d.At.Before(start) || !d.At.Before(end) })
		slices.SortStableFunc(legend.records, func(a, b datedRecord) int { return b.At.Compare(a.At) })
		if legend.Count = len(legend.records); cut {
			out.Notes = append(out.Notes, kind.Name+": only the latest were read.")
		}
		var more bool
		if legend.lane, more = laneOf(kind.ID, legend.records, w); more {
			out.Notes = append(out.Notes, fmt.Sprintf("%s: the latest %d marks are drawn.", kind.Name, marksDrawnMax))
		}
		legend.Switch = q.pathWith("/metrics", "hide", q.toggledHide(kind.ID))
		if !legend.Hidden && !r.wasRead(kind.ID) {
			continue // the key lacks the scope
		}
		out.Kinds = append(out.Kinds, legend)
		out.Listed = append(out.Listed, legend.records...)
	}
	slices.SortStableFunc(out.Listed, func(a, b datedRecord) int { return b.At.Compare(a.At) })
	out.Total = len(out.Listed)
	out.Listed = out.Listed[:min(out.Total, marksListed)]
	return out
}

// wasRead reports whether a kind of marks was read.
func (r *markReads) wasRead(kind string) bool {
	switch kind {
	case "releases":
		return r.boards != nil
	case "posts":
		return r.posts != nil
	}
	return r.audits != nil
}

// toggledHide returns the value of the "hide" parameter that switches one kind on if it is off, or
// off if it is on.
func (q metricQuery) toggledHide(kind string) string {
	var hidden []string
	for _, k := range markKinds {
		if q.hides(k.ID) != (k.ID == kind) {
			hidden = append(hidden, k.ID)
		}
	}
	return strings.Join(hidden, ",")
}

// releases returns the latest publish of each board. The API does not return earlier ones.
func (r *markReads) releases() (out []datedRecord, failed *failure) {
	if r.boards == nil {
		return nil, nil
	}
	for _, b := range r.boards.Value.Items {
		if at, ok := b.PublishedAt.Get(); ok {
			out = append(out, datedRecord{at.UTC(), fmt.Sprintf("%s published, version %d", phrase.Excerpt(b.Name.Or("Roadmap"), 24), b.PublishedVersion.Or(0)), boardPath(b.ID)})
		}
	}
	return out, r.boards.Failure
}

func (r *markReads) sentPosts() (out []datedRecord, cut bool, failed *failure) {
	if r.posts == nil {
		return nil, false, nil
	}
	for _, p := range r.posts.Value.Items {
		if at, ok := p.PublishedAt.Get(); ok {
			out = append(out, datedRecord{at.UTC(), phrase.Words(string(p.Platform.Or(""))) + ": " + phrase.Excerpt(cmp.Or(p.Title.Or(""), p.Body.Or(""), "(no text)"), 34), "/posts/" + p.ID})
		}
	}
	return out, r.posts.Value.Next != "", r.posts.Failure
}

// finishedAudits returns the audits that have ended, with the scores that changed. start is the
// first day of the chart.
func (r *markReads) finishedAudits(start time.Time) (out []datedRecord, cut bool, failed *failure) {
	if r.audits == nil {
		return nil, false, nil
	}
	all := r.audits.Value.Items
	for i, a := range all {
		at, ok := a.FinishedAt.Get()
		if !ok || a.Status.Or("") == client.OptimiseAuditStatusRunning {
			continue
		}
		text := "Audit failed"
		if a.Status.Or("") == client.OptimiseAuditStatusComplete {
			text = "Audit: " + scoresText(scores.Of(a, scores.Previous(all[i+1:], a)))
		}
		out = append(out, datedRecord{at.UTC(), text, "/audits/" + a.ID})
	}
	cut = r.audits.Value.Next != "" && len(all) > 0 && !all[len(all)-1].StartedAt.Or(time.Time{}).Before(start)
	return out, cut, r.audits.Failure
}

// scoresText formats the scores of an audit, such as "SEO 65 (−19), AEO 80".
func scoresText(all []scores.Score) string {
	var parts []string
	for _, s := range all {
		switch {
		case s.Text == "":
		case s.Change == "":
			parts = append(parts, s.Name+" "+s.Text)
		default:
			parts = append(parts, s.Name+" "+s.Text+" ("+s.Change+")")
		}
	}
	return cmp.Or(strings.Join(parts, ", "), "complete")
}

// lanes returns the lanes of the kinds that are switched on.
func (m *marksView) lanes() (out []chart.Lane) {
	for _, kind := range m.Kinds {
		out = append(out, kind.lane)
	}
	return out
}

// laneOf returns the marks of records in the buckets of a window. The records must be inside the
// window, newest first. cut is true if there are more marks than are drawn.
func laneOf(class string, records []datedRecord, w period.Window) (lane chart.Lane, cut bool) {
	lane.Class = class
	for _, d := range records {
		i := len(w.Buckets) - 1
		for i > 0 && d.At.Before(w.Buckets[i]) {
			i--
		}
		last := len(lane.Marks) - 1
		if last < 0 || lane.Marks[last].Bucket != i {
			if len(lane.Marks) == marksDrawnMax {
				cut = true
				break
			}
			lane.Marks = append(lane.Marks, chart.Mark{Bucket: i})
			last++
		}
		lane.Marks[last].Texts = append(lane.Marks[last].Texts, d.Text)
	}
	slices.Reverse(lane.Marks) // the arrow keys go from left to right
	for i := range lane.Marks {
		if texts := lane.Marks[i].Texts; len(texts) > markTextsMax {
			lane.Marks[i].Texts = append(texts[:markTextsMax-1:markTextsMax-1], fmt.Sprintf("and %d more", len(texts)-markTextsMax+1))
		}
	}
	return lane, cut
}

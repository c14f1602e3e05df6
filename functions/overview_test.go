package functions_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"growthworkspace/functions"
	"growthworkspace/functions/overview"
	"growthworkspace/shared/auth"
	"growthworkspace/shared/testkit/apitest"
	"growthworkspace/shared/timestamp"
)

// expectedKind is what an overview must say of a kind.
type expectedKind struct {
	Kind  string
	Count int
	Since string   // the earliest time; empty if none is known
	First []string // the ids of the first records
}

// overviewOracle computes an overview from the exported records of a company. It shares no code with
// the service.
type overviewOracle struct {
	c       *overviewCompany
	records companyRecords
	now     time.Time
	out     []expectedKind
}

// found is a record that needs a person.
type found struct {
	id, at string
	order  []float64 // compared before at
}

func (o *overviewOracle) add(kind string, all []found) {
	slices.SortFunc(all, func(a, b found) int {
		return cmp.Or(slices.Compare(a.order, b.order), cmp.Compare(cmp.Or(a.at, "~"), cmp.Or(b.at, "~")), cmp.Compare(a.id, b.id))
	})
	e := expectedKind{Kind: kind, Count: len(all)}
	for n, f := range all {
		if n < 3 {
			e.First = append(e.First, f.id)
		}
		if f.at != "" && (e.Since == "" || f.at < e.Since) {
			e.Since = f.at
		}
	}
	if e.Count > 0 {
		o.out = append(o.out, e)
	}
}

// match returns the records of a type for which keep returns true, with their times.
func (o *overviewOracle) match(kind string, at func(object) string, keep func(object) bool) (out []found) {
	for _, r := range o.records[kind] {
		if keep(r) {
			out = append(out, found{id: r.text("id"), at: at(r)})
		}
	}
	return out
}

func timeOf(text string) time.Time {
	t, _ := timestamp.Parse(text)
	return t
}

func field(names ...string) func(object) string {
	return func(r object) string {
		for _, name := range names {
			if text := r.text(name); text != "" {
				return text
			}
		}
		return ""
	}
}

func (o *overviewOracle) addReviews() {
	old := func(text string) bool { return o.now.Sub(timeOf(text)) > 15*time.Minute }
	status := func(want string) func(object) bool {
		return func(r object) bool { return r.text("replyStatus") == want }
	}
	number := func(r object, name string) float64 {
		if n, ok := r[name].(float64); ok {
			return n
		}
		return math.MaxFloat64
	}
	byUrgency := func(all []found) []found {
		for i, f := range all {
			r := o.records["feedback"][f.id]
			all[i].order = []float64{number(r, "priority"), number(r, "rating"), -float64(timeOf(r.text("postedAt")).UnixMilli())}
			if r.text("postedAt") == "" {
				all[i].order[2] = math.MaxFloat64
			}
		}
		slices.SortFunc(all, func(a, b found) int { return cmp.Or(slices.Compare(a.order, b.order), cmp.Compare(a.id, b.id)) })
		for i := range all { // ties are broken by the id alone
			all[i].order = []float64{float64(i)}
		}
		return all
	}
	urgent := func(r object) bool {
		return number(r, "rating") <= 2 || number(r, "priority") <= 1 || slices.Contains(r.texts("flags"), "legal") || slices.Contains(r.texts("flags"), "safety")
	}
	updated, posted := field("updatedAt", "createdAt"), field("postedAt", "createdAt")
	o.add("reply_to_approve", byUrgency(o.match("feedback", updated, status("needs_review"))))
	o.add("review_urgent", byUrgency(o.match("feedback", posted, func(r object) bool { return status("none")(r) && urgent(r) })))
	o.add("review_unanswered", byUrgency(o.match("feedback", posted, func(r object) bool { return status("none")(r) && !urgent(r) })))
	o.add("reply_failed", o.match("feedback", updated, status("failed")))
	o.add("reply_stuck", o.match("feedback", updated, func(r object) bool { return status("posting")(r) && old(r.text("updatedAt")) }))
}

func (o *overviewOracle) addPosts() {
	old := func(text string) bool { return o.now.Sub(timeOf(text)) > 15*time.Minute }
	updated := field("updatedAt", "createdAt")
	o.add("post_overdue", o.match("post", field("scheduledFor"), func(r object) bool { return r.text("status") == "scheduled" && old(r.text("scheduledFor")) }))
	o.add("post_failed", o.match("post", updated, func(r object) bool { return r.text("status") == "failed" }))
	o.add("post_stuck", o.match("post", updated, func(r object) bool { return r.text("status") == "publishing" && old(r.text("updatedAt")) }))
	o.add("post_unread", o.match("post", updated, func(r object) bool { return r.text("status") == "draft" && o.c.unread[r.text("id")] }))
	o.add("channel_broken", o.match("channel", field("lastCheckedAt"), func(r object) bool {
		expires, ok := r["credentialsExpireAt"].(string)
		return r["active"] != false && (slices.Contains([]string{"error", "disconnected", "expiring"}, r.text("status")) || r["credentialsValid"] == false || ok && !timeOf(expires).After(o.now))
	}))
}

// lastDay returns the last date that is over in the zone and in UTC.
func (o *overviewOracle) lastDay() time.Time {
	local, utc := o.now.In(o.c.zone).Format(time.DateOnly), o.now.UTC().Format(time.DateOnly)
	day, _ := time.Parse(time.DateOnly, min(local, utc)) // formatted above
	return day.AddDate(0, 0, -1)
}

// combine combines values by an aggregation; the newest comes last.
func combine(aggregation string, values []float64) (float64, bool) {
	if len(values) == 0 {
		return 0, false
	}
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	switch aggregation {
	case "sum":
		return sum, true
	case "avg":
		return sum / float64(len(values)), true
	case "min":
		return slices.Min(values), true
	case "max":
		return slices.Max(values), true
	case "last":
		return values[len(values)-1], true
	}
	return 0, false
}

// daily returns the metric's total of each day. The parts of a metric whose aggregation is avg, last
// or none have none.
func (o *overviewOracle) daily(d object) map[string]float64 {
	parts, split := map[string][]float64{}, false
	for _, p := range o.records["metric-point"] {
		if p.text("metricKey") == d.text("key") {
			split = split || p["dims"] != nil
			if v, ok := p["value"].(float64); ok {
				day := p.text("ts")[:10]
				parts[day] = append(parts[day], v)
			}
		}
	}
	out := map[string]float64{}
	for day, values := range parts {
		aggregation := "last"
		if split {
			aggregation = d.text("aggregation")
			if aggregation == "avg" || aggregation == "last" {
				return nil
			}
		}
		if v, ok := combine(aggregation, values); ok {
			out[day] = v
		}
	}
	return out
}

// window combines the days from first to last.
func window(d object, daily map[string]float64, first, last time.Time) (float64, bool) {
	var values []float64
	for at := first; !at.After(last); at = at.AddDate(0, 0, 1) {
		if v, ok := daily[at.Format(time.DateOnly)]; ok {
			values = append(values, v)
		}
	}
	return combine(d.text("aggregation"), values)
}

// metrics returns the definitions that an overview reads.
func (o *overviewOracle) metrics(most int) (out []object) {
	goalRank := func(d object) int {
		for n, g := range o.activeGoals() {
			if strings.TrimPrefix(g.text("metricKey"), "custom.") == d.text("key") {
				return n
			}
		}
		return math.MaxInt
	}
	for _, d := range o.records["metric-definition"] {
		if goalRank(d) < math.MaxInt || d.text("aggregation") != "" && d.text("aggregation") != "none" {
			out = append(out, d)
		}
	}
	slices.SortFunc(out, func(a, b object) int {
		return cmp.Or(cmp.Compare(goalRank(a), goalRank(b)), cmp.Compare(b.text("updatedAt"), a.text("updatedAt")), cmp.Compare(a.text("key"), b.text("key")))
	})
	return out[:min(len(out), most)]
}

// activeGoals returns the active goals, the most important first.
func (o *overviewOracle) activeGoals() (out []object) {
	for _, g := range o.records["brand-goal"] {
		if g.text("status") == "active" {
			out = append(out, g)
		}
	}
	priority := func(g object) float64 {
		if n, ok := g["priority"].(float64); ok {
			return n
		}
		return math.MaxFloat64
	}
	slices.SortFunc(out, func(a, b object) int {
		return cmp.Or(cmp.Compare(priority(a), priority(b)), cmp.Compare(a.text("createdAt"), b.text("createdAt")), cmp.Compare(a.text("id"), b.text("id")))
	})
	return out
}

// newest returns the newest whole day with a value, of the 28 that are read.
func (o *overviewOracle) newest(daily map[string]float64) (time.Time, bool) {
	for n := range 28 {
		if at := o.lastDay().AddDate(0, 0, -n); hasDay(daily, at) {
			return at, true
		}
	}
	return time.Time{}, false
}

func hasDay(daily map[string]float64, at time.Time) bool {
	_, ok := daily[at.Format(time.DateOnly)]
	return ok
}

func (o *overviewOracle) addMetrics() {
	var stale []found
	for _, d := range o.metrics(12) {
		daily := o.daily(d)
		newest, ok := o.newest(daily)
		n := 0
		for i := range 14 {
			if at := newest.AddDate(0, 0, -i); hasDay(daily, at) && !at.Before(o.lastDay().AddDate(0, 0, -27)) {
				n++
			}
		}
		if ok && n >= 7 && o.lastDay().Sub(newest) > 2*24*time.Hour {
			stale = append(stale, found{id: d.text("id"), at: timestamp.Format(newest)})
		}
	}
	o.add("metric_stale", stale)
	o.add("metric_to_confirm", o.match("metric-definition", field("createdAt"), func(r object) bool { return r["needsReview"] == true }))
}

// judge returns a goal's kind and pace; each is empty if there is none.
func (o *overviewOracle) judge(g object, metrics []object) (kind, pace string) {
	due, hasDue := g["dueAt"].(string)
	overdue := hasDue && o.now.UTC().Format(time.DateOnly) > timeOf(due).Format(time.DateOnly)
	if overdue {
		kind = "goal_overdue"
	}
	i := slices.IndexFunc(metrics, func(d object) bool { return d.text("key") == strings.TrimPrefix(g.text("metricKey"), "custom.") })
	target, hasTarget := g["targetValue"].(float64)
	baseline, hasBaseline := g["baselineValue"].(float64)
	if i < 0 || !hasTarget || !hasBaseline || baseline == target {
		return kind, ""
	}
	d := metrics[i]
	month := time.Date(o.now.UTC().Year(), o.now.UTC().Month(), 1, 0, 0, 0, 0, time.UTC)
	end := month
	v, ok := window(d, o.daily(d), month.AddDate(0, -1, 0), month.AddDate(0, 0, -1))
	if d.text("aggregation") == "last" {
		if now, hasNow := window(d, o.daily(d), month, month.AddDate(0, 1, -1)); hasNow {
			v, ok, end = now, true, o.now
		}
	}
	if !ok {
		return kind, ""
	}
	reached := target > baseline && v >= target || target < baseline && v <= target
	created := timeOf(g.text("createdAt"))
	if hasDue && created.Before(end) && created.Before(timeOf(due)) {
		share := min(1, end.Sub(created).Seconds()/timeOf(due).Sub(created).Seconds())
		beyond := (v-baseline)/(target-baseline) - share
		switch {
		case reached || beyond >= 0.05:
			pace = "ahead"
		case beyond >= 0:
			pace = "on"
		default:
			pace = "behind"
		}
	}
	switch {
	case reached:
		kind = "goal_reached"
	case kind == "" && pace == "behind":
		kind = "goal_behind"
	}
	return kind, pace
}

func (o *overviewOracle) addGoals() {
	metrics := o.metrics(12)
	byKind := map[string][]found{}
	for _, g := range o.activeGoals() {
		kind, _ := o.judge(g, metrics)
		byKind[kind] = append(byKind[kind], found{id: g.text("id"), at: g.text("dueAt")})
	}
	for _, kind := range []string{"goal_behind", "goal_reached", "goal_overdue"} {
		o.add(kind, byKind[kind])
	}
}

func (o *overviewOracle) addRest(t *testing.T) {
	t.Helper()
	var audits []object
	for _, a := range o.records["audit"] {
		if a.text("status") != "running" {
			audits = append(audits, a)
		}
	}
	slices.SortFunc(audits, func(a, b object) int { return cmp.Compare(b.text("startedAt"), a.text("startedAt")) })
	var fallen []found
	seen := map[string]bool{}
	for i, a := range audits {
		if seen[a.text("rootUrl")] {
			continue
		}
		seen[a.text("rootUrl")] = true
		fell := a.text("status") == "failed"
		before := slices.IndexFunc(audits[i+1:], func(b object) bool { return b.text("rootUrl") == a.text("rootUrl") && b.text("status") == "complete" })
		for _, name := range []string{"scoreSeo", "scoreAeo", "scoreGeo"} {
			if before >= 0 && a[name] != nil && audits[i+1+before][name] != nil {
				fell = fell || a.number(name) < audits[i+1+before].number(name)
			}
		}
		if fell {
			fallen = append(fallen, found{id: a.text("id"), at: cmp.Or(a.text("finishedAt"), a.text("startedAt"))})
		}
	}
	o.add("audit_fallen", fallen)
	o.add("roadmap_unpublished", o.match("board", field("publishedAt", "updatedAt"), func(b object) bool {
		for _, i := range o.records["item"] {
			if i.text("roadmapId") == b.text("id") && i.text("status") == "published" && b["active"] != false {
				return true
			}
		}
		return false
	}))
	var expiring []found
	for _, k := range o.c.keys {
		if timeOf(*k.ExpiresAt).Sub(o.now) < 14*24*time.Hour {
			expiring = append(expiring, found{id: k.ID, at: *k.ExpiresAt})
		}
	}
	o.add("key_expiring", expiring)
}

func newOverviewOracle(t *testing.T, c *overviewCompany) *overviewOracle {
	t.Helper()
	o := &overviewOracle{c: c, records: exportCompany(t, c.Service, functions.Transfers(c.Table)), now: c.Clock.Now(), out: []expectedKind{}}
	o.addReviews()
	o.addPosts()
	o.addMetrics()
	o.addGoals()
	o.addRest(t)
	return o
}

// expectedMetrics returns the metrics of an overview.
func (o *overviewOracle) expectedMetrics() []overview.OverviewMetric {
	out := []overview.OverviewMetric{}
	for _, d := range o.metrics(12) {
		m := overview.OverviewMetric{Key: d.text("key"), Name: d.text("key")}
		daily := o.daily(d)
		if newest, ok := o.newest(daily); ok {
			m.Through = new(newest.Format(time.DateOnly))
			m.Comparison = comparison(d, daily, newest.AddDate(0, 0, -6), newest, o.lastDay().AddDate(0, 0, -27))
		}
		out = append(out, m)
	}
	return out
}

// comparison compares days with the same number of days a week before, none of which is before
// earliest.
func comparison(d object, daily map[string]float64, first, last, earliest time.Time) (out overview.Comparison) {
	later := func(at time.Time) time.Time {
		if at.Before(earliest) {
			return earliest
		}
		return at
	}
	now, ok := window(d, daily, later(first), last)
	before, hasBefore := window(d, daily, later(first.AddDate(0, 0, -7)), last.AddDate(0, 0, -7))
	if ok {
		out.Value = &now
	}
	if hasBefore {
		out.Previous = &before
	}
	if ok && hasBefore && before != 0 {
		out.Change = new(math.Round((now-before)/math.Abs(before)*1e4) / 1e4)
		if now != before && d.text("polarity") != "neutral" {
			out.Better = new((now > before) == (d.text("polarity") == "up_is_good"))
		}
	}
	return out
}

// kindsOf returns what a response says of each kind.
func kindsOf(o overview.CompanyOverview) []expectedKind {
	out := []expectedKind{}
	for _, a := range o.Attention {
		e := expectedKind{Kind: string(a.Kind), Count: int(a.Count)}
		if a.Since != nil {
			e.Since = *a.Since
		}
		for _, i := range a.Items {
			e.First = append(e.First, i.ID)
		}
		out = append(out, e)
	}
	return out
}

// shortenTo leaves out the records that a response of limited size leaves out, but at least one of
// each kind must be shown.
func shortenTo(got, want []expectedKind) []expectedKind {
	want = slices.Clone(want)
	for i := range want {
		if i < len(got) && len(got[i].First) > 0 {
			want[i].First = want[i].First[:min(len(want[i].First), len(got[i].First))]
		}
	}
	return want
}

// Ensure an overview says of each kind what the exported records of a random company say, and that
// it stays within its size. Its metrics have the values of their days.
func TestOverview(t *testing.T) {
	t.Parallel()
	companies := uint64(200)
	if testing.Short() {
		companies = 6
	}
	seen := map[string]int{}
	for seed := range companies {
		c := newOverviewCompany(t, seed)
		o := newOverviewOracle(t, c)
		r := c.Call(t, c.IssueKey(t), "get_company_overview", nil)
		var got overview.CompanyOverview
		if r.Decode(t, &got); r.Status != http.StatusOK || len(r.Body) > 8<<10 || len(got.Missing) > 0 || got.AsOf != timestamp.Format(o.now) {
			t.Fatalf("seed %d: status %d, %d bytes: %s", seed, r.Status, len(r.Body), r.Body)
		}
		kinds := kindsOf(got)
		if diff := gocmp.Diff(shortenTo(kinds, o.out), kinds); diff != "" {
			t.Fatalf("seed %d, %s (-want +got):\n%s", seed, c.zone, diff)
		}
		want := o.expectedMetrics()
		if diff := gocmp.Diff(want[:min(len(want), len(got.Metrics))], got.Metrics); diff != "" || len(got.Metrics) < len(want) && len(r.Body) < 7000 {
			t.Fatalf("seed %d, %s: %d of %d metrics (-want +got):\n%s", seed, c.zone, len(got.Metrics), len(want), diff)
		}
		for _, k := range o.out {
			seen[k.Kind]++
		}
		o.checkWeeks(t, seed)
	}
	for _, kind := range overview.Kind("").Values() {
		if seen[kind] == 0 && !testing.Short() {
			t.Errorf("no company has the kind %s", kind)
		}
	}
}

// checkWeeks compares the last week and this one with the exported records.
func (o *overviewOracle) checkWeeks(t *testing.T, seed uint64) {
	t.Helper()
	key := o.c.IssueKey(t)
	local := o.now.In(o.c.zone)
	today := time.Date(local.Year(), local.Month(), local.Day(), 0, 0, 0, 0, time.UTC)
	monday := today.AddDate(0, 0, -(int(today.Weekday())+6)%7)
	for name, first := range map[string]time.Time{"this": monday, "": monday.AddDate(0, 0, -7), isoName(monday.AddDate(0, 0, -14)): monday.AddDate(0, 0, -14)} {
		arguments := map[string]any{}
		if name != "" {
			arguments["week"] = name
		}
		r := o.c.Call(t, key, "get_company_week", arguments)
		var got overview.CompanyWeek
		if r.Decode(t, &got); r.Status != http.StatusOK {
			t.Fatalf("seed %d: week %q: status %d: %s", seed, name, r.Status, r.Body)
		}
		want := o.week(first)
		if diff := gocmp.Diff(want, got); diff != "" {
			t.Fatalf("seed %d, week %q, %s (-want +got):\n%s", seed, name, o.c.zone, diff)
		}
	}
}

func isoName(day time.Time) string {
	year, week := day.ISOWeek()
	return fmt.Sprintf("%04d-W%02d", year, week)
}

// week computes the week that begins on a Monday.
func (o *overviewOracle) week(monday time.Time) overview.CompanyWeek {
	out := overview.CompanyWeek{
		Week: isoName(monday), From: monday.Format(time.DateOnly), To: monday.AddDate(0, 0, 6).Format(time.DateOnly), TimeZone: o.c.zone.String(),
		Missing: []auth.Scope{}, Metrics: []overview.WeekMetric{}, Publishes: &[]overview.WeekPublish{}, Audits: &[]overview.WeekAudit{},
		Reviews: &overview.WeekReviews{Stars: make([]int64, 5)}, Posts: &overview.WeekPosts{Next: []overview.NextPost{}},
	}
	through := monday.AddDate(0, 0, 6)
	if last := o.lastDay(); last.Before(through) {
		through = last
	}
	if out.Complete = through.Equal(monday.AddDate(0, 0, 6)); !through.Before(monday) {
		out.Through = new(through.Format(time.DateOnly))
	}
	start := time.Date(monday.Year(), monday.Month(), monday.Day(), 0, 0, 0, 0, o.c.zone)
	end, until := start.AddDate(0, 0, 7), o.now.AddDate(0, 0, -7)
	if start.Before(until) {
		until = start
	}
	in := func(text string) bool {
		at := timeOf(text)
		return text != "" && !at.Before(start) && at.Before(end) && !at.After(o.now)
	}
	o.addWeekReviews(out.Reviews, in, start, until)
	o.addWeekPosts(out.Posts, in)
	for _, d := range o.metrics(20) {
		m := overview.WeekMetric{Key: d.text("key"), Name: d.text("key")}
		if out.Through != nil {
			m.Comparison = comparison(d, o.daily(d), monday, through, monday.AddDate(0, 0, -7))
		}
		for _, g := range o.activeGoals() {
			if target, ok := g["targetValue"].(float64); ok && m.Goal == nil && strings.TrimPrefix(g.text("metricKey"), "custom.") == d.text("key") {
				m.Goal = &overview.MetricGoal{ID: g.text("id"), Target: target}
				if due := g.text("dueAt"); due != "" {
					m.Goal.DueAt = &due
				}
				if _, pace := o.judge(g, o.metrics(20)); pace != "" {
					m.Goal.Pace = new(overview.Pace(pace))
				}
			}
		}
		out.Metrics = append(out.Metrics, m)
	}
	o.addWeekAudits(&out, in)
	return out
}

func (o *overviewOracle) addWeekReviews(out *overview.WeekReviews, in func(string) bool, start, until time.Time) {
	sum, rated := 0.0, 0.0
	for _, f := range o.records["feedback"] {
		if slices.Contains([]string{"none", "needs_review"}, f.text("replyStatus")) {
			out.Waiting++
		}
		posted := f.text("postedAt")
		if before := timeOf(posted); posted != "" && !before.Before(start.AddDate(0, 0, -7)) && before.Before(until) {
			out.PreviousCount++
		}
		if !in(posted) {
			continue
		}
		out.Count++
		if stars, ok := f["rating"].(float64); ok {
			out.Stars[int(stars)-1]++
			sum, rated = sum+stars, rated+1
		}
	}
	if rated > 0 {
		out.Average = new(math.Round(sum/rated*100) / 100)
	}
}

func (o *overviewOracle) addWeekPosts(out *overview.WeekPosts, in func(string) bool) {
	for _, p := range o.records["post"] {
		switch {
		case p.text("status") == "published" && in(p.text("publishedAt")):
			out.Published++
		case p.text("status") == "failed" && in(p.text("scheduledFor")):
			out.Failed++
		case p.text("status") == "scheduled" && !timeOf(p.text("scheduledFor")).Before(o.now):
			platform := p.text("platform")
			out.Next = append(out.Next, overview.NextPost{ID: p.text("id"), Platform: &platform, Title: p.text("body"), ScheduledFor: p.text("scheduledFor")})
		}
	}
	slices.SortFunc(out.Next, func(a, b overview.NextPost) int { return cmp.Compare(a.ScheduledFor, b.ScheduledFor) })
	out.Next = out.Next[:min(len(out.Next), 5)]
}

func (o *overviewOracle) addWeekAudits(out *overview.CompanyWeek, in func(string) bool) {
	var complete []object
	for _, a := range o.records["audit"] {
		if a.text("status") == "complete" {
			complete = append(complete, a)
		}
	}
	slices.SortFunc(complete, func(a, b object) int { return cmp.Compare(b.text("startedAt"), a.text("startedAt")) })
	score := func(a object, name string) *float64 {
		if n, ok := a[name].(float64); ok {
			return &n
		}
		return nil
	}
	for i, a := range complete {
		if !in(cmp.Or(a.text("finishedAt"), a.text("startedAt"))) || len(*out.Audits) == 5 {
			continue
		}
		url := a.text("rootUrl")
		before := object{}
		if n := slices.IndexFunc(complete[i+1:], func(b object) bool { return b.text("rootUrl") == url }); n >= 0 {
			before = complete[i+1+n]
		}
		*out.Audits = append(*out.Audits, overview.WeekAudit{
			ID: a.text("id"), RootURL: &url, ScoreSeo: score(a, "scoreSeo"), ScoreAeo: score(a, "scoreAeo"), ScoreGeo: score(a, "scoreGeo"),
			PreviousSeo: score(before, "scoreSeo"), PreviousAeo: score(before, "scoreAeo"), PreviousGeo: score(before, "scoreGeo"),
		})
	}
}

// overviewScopes are the scopes that the parts of an overview need, with the kinds that need them.
var overviewScopes = map[auth.Scope]string{
	auth.CompanyRead: "", auth.PlanRead: "roadmap_", auth.FeedbackRead: "re", auth.MetricsRead: "metric_", auth.OptimiseRead: "audit_",
	auth.BroadcastRead: "post_ channel_", auth.ContextRead: "goal_", auth.KeysRead: "key_",
}

// Ensure every set of read scopes sees exactly the kinds of its scopes, and the names of the others.
func TestOverviewScopes(t *testing.T) {
	t.Parallel()
	c := newOverviewCompany(t, 4)
	o := newOverviewOracle(t, c)
	var scopes []auth.Scope
	for _, scope := range auth.Scopes() {
		if _, isPart := overviewScopes[scope]; isPart {
			scopes = append(scopes, scope)
		}
	}
	for set := range 1 << len(scopes) {
		if testing.Short() && set%37 != 0 && set != 1<<len(scopes)-1 {
			continue
		}
		granted, missing, prefixes := []auth.Scope{auth.CompanyWrite}, []auth.Scope{}, []string{}
		for n, scope := range scopes {
			if set>>n&1 == 0 {
				missing = append(missing, scope)
			} else {
				granted, prefixes = append(granted, scope), append(prefixes, strings.Fields(overviewScopes[scope])...)
			}
		}
		key := c.IssueKey(t, granted...)
		var got overview.CompanyOverview
		c.Call(t, key, "get_company_overview", nil).Decode(t, &got)
		hasKind := func(kind string) bool {
			return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(kind, p) })
		}
		want := slices.DeleteFunc(slices.Clone(o.out), func(e expectedKind) bool { return !hasKind(e.Kind) })
		kinds := kindsOf(got)
		if slices.Contains(missing, auth.MetricsRead) || slices.Contains(missing, auth.CompanyRead) || slices.Contains(missing, auth.ContextRead) { // goals need metrics, and metrics the goals and the time zone
			depends := func(e expectedKind) bool {
				return strings.HasPrefix(e.Kind, "goal_") && hasKind(e.Kind) || e.Kind == "metric_stale" && hasKind(e.Kind)
			}
			want, kinds = slices.DeleteFunc(want, depends), slices.DeleteFunc(kinds, depends)
		}
		if diff := gocmp.Diff(shortenTo(kinds, want), kinds); diff != "" || !slices.Equal(got.Missing, missing) {
			t.Errorf("%v: missing %v (-want +got):\n%s", granted, got.Missing, diff)
		}
		c.checkWeekScopes(t, key, missing)
	}
}

func (c *overviewCompany) checkWeekScopes(t *testing.T, key string, missing []auth.Scope) {
	t.Helper()
	missing = slices.DeleteFunc(slices.Clone(missing), func(s auth.Scope) bool { return s == auth.KeysRead })
	var got overview.CompanyWeek
	c.Call(t, key, "get_company_week", nil).Decode(t, &got)
	lacks := func(s auth.Scope) bool { return slices.Contains(missing, s) }
	if !slices.Equal(got.Missing, missing) || lacks(auth.FeedbackRead) != (got.Reviews == nil) || lacks(auth.BroadcastRead) != (got.Posts == nil) ||
		lacks(auth.PlanRead) != (got.Publishes == nil) || lacks(auth.OptimiseRead) != (got.Audits == nil) || lacks(auth.MetricsRead) && len(got.Metrics) > 0 {
		t.Errorf("a week without %v: %+v", missing, got)
	}
}

// Ensure a malformed week and one that has not begun are refused, in the company's time zone.
func TestWeekArgument(t *testing.T) {
	t.Parallel()
	s := start(t, nil) // its company has no time zone, and it is Tuesday of week 33
	key := s.IssueKey(t)
	for week, want := range map[string]int{"2026-W33": 200, "this": 200, "2026-W34": 400, "2026-W54": 400, "2026-33": 400, "last": 400, "": 400, "2999-W01": 400} {
		r := s.Call(t, key, "get_company_week", map[string]any{"week": week})
		if r.Status != want || want == 400 && !strings.Contains(r.Body, "query.week: ") {
			t.Errorf("%q: status %d, want %d: %s", week, r.Status, want, r.Body)
		}
	}
}

// Ensure a week lists the publishes of its days, the newest first, also those that a later publish
// has replaced, and that a published board needs nobody.
func TestWeekPublishes(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	key := s.IssueKey(t)
	var want []overview.WeekPublish
	for _, title := range []string{"One", "Two"} {
		s.Call(t, key, "create_plan_item", map[string]any{"boardId": "brd_1", "title": title, "status": "published"})
		s.Clock.Advance(8 * 24 * time.Hour)
		var p struct {
			PublishedVersion int64
			PublishedAt      string
		}
		s.Call(t, key, "publish_plan_board", map[string]any{"boardId": "brd_1"}).Decode(t, &p)
		want = append(want, overview.WeekPublish{BoardID: "brd_1", Version: p.PublishedVersion, PublishedAt: p.PublishedAt})
	}
	for week, publishes := range map[string][]overview.WeekPublish{"2026-W34": want[:1], "2026-W35": want[1:], "2026-W33": {}} {
		var got overview.CompanyWeek
		if s.Call(t, key, "get_company_week", map[string]any{"week": week}).Decode(t, &got); got.Publishes == nil || !slices.Equal(*got.Publishes, publishes) {
			t.Errorf("%s: %+v, want %+v", week, got.Publishes, publishes)
		}
	}
	var got overview.CompanyOverview
	s.Call(t, key, "get_company_overview", nil).Decode(t, &got)
	if slices.ContainsFunc(got.Attention, func(a overview.Attention) bool { return a.Kind == overview.KindRoadmapUnpublished }) {
		t.Errorf("%+v", got.Attention)
	}
}

// Ensure counts stop at 1,000, and that more reviews do not cost more.
func TestOverviewBounds(t *testing.T) {
	t.Parallel()
	apitest.SkipIfShort(t)
	s := apitest.New(t, functions.Operations)
	used := &useRecorder{}
	s.Handler = functions.Handler(s.ServingTable, s.Config(slog.New(used)))
	importLines(t, s, "company", marshal(t, object{"id": s.CompanyID, "name": "Northwind"}))
	storeWaitingReviews(t, s, 0, 1200)
	key := s.IssueKey(t)
	read := func() (float64, overview.CompanyOverview) {
		var got overview.CompanyOverview
		if r := s.Call(t, key, "get_company_overview", nil); r.Status != http.StatusOK {
			t.Errorf("status %d: %s", r.Status, r.Body)
		} else {
			r.Decode(t, &got)
		}
		return used.readUnits, got
	}
	units, got := read()
	storeWaitingReviews(t, s, 1200, 3000)
	after, _ := read()
	if len(got.Attention) != 1 || got.Attention[0].Count != 1000 || !got.Attention[0].More || after > units+5 {
		t.Errorf("%g units with 1,200 reviews, %g with 3,000: %+v", units, after, got.Attention)
	}
}

// storeWaitingReviews imports reviews without a reply.
func storeWaitingReviews(t *testing.T, s *apitest.Service, from, to int) {
	t.Helper()
	var lines []json.RawMessage
	for n := from; n < to; n++ {
		lines = append(lines, marshal(t, object{"id": fmt.Sprintf("fbk_%d", n), "source": "reddit", "externalId": fmt.Sprint(n), "body": "Words", "replyStatus": "none"}))
	}
	for batch := range slices.Chunk(lines, 200) {
		importLines(t, s, "feedback", batch...)
	}
}

package studio

import (
	"fmt"
	"math"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"growthworkspace/scripts/studio/chart"
	"growthworkspace/scripts/studio/period"
	"growthworkspace/scripts/studio/phrase"
	"growthworkspace/scripts/studio/series"
	"growthworkspace/scripts/studio/units"
	"growthworkspace/shared/client"
)

// Details returns the numbers behind the tile's change: how the metric's days combine, and the two
// values that are compared, with their days.
func (t tile) Details() string {
	if !t.Value.OK || t.Change == "" {
		return ""
	}
	w := t.Window
	text := t.How() + "; full days: " + t.Unit.Short(t.FinishedValue.V) + ", " + w.Text(w.Buckets, w.OpenIndex)
	if !t.Partial() {
		text = t.How() + ", " + w.Text(w.Buckets, w.OpenIndex)
	}
	text += " against "
	if t.Partial() {
		text += t.Unit.Short(t.BeforeValue.V) + ", "
	}
	return text + t.Against()
}

// Against names the days with which the tile's value is compared.
func (t tile) Against() string { return t.Window.Text(t.Window.Against, len(t.Window.Against)) }

// pointsBetween returns the points from the first to the last day.
func pointsBetween(points []client.Point, first, last time.Time) []client.Point {
	return slices.DeleteFunc(slices.Clone(points), func(p client.Point) bool {
		at := p.TS.Or(time.Time{})
		return at.Before(first) || at.After(last)
	})
}

func minTime(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

func maxTime(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// goalBar is an active goal of a metric, drawn as a bar.
type goalBar struct {
	Text  string  // the goal, and the value needed per day
	Share float64 // the length of the bar, from 0 to 1
	Class string  // "good", "bad" or "even"
}

// goalBar returns the bar of the metric's first active goal, or nil if it has none with a target. A
// goal for a total is a goal for the month in which it is due, or for this month if it has no date.
// A goal for any other metric is compared with the value of this month. points are the metric's
// daily points of this month.
func (m metric) goalBar(points []client.Point, unit units.Unit, now time.Time) *goalBar {
	target, ok := m.Target()
	if !ok {
		return nil
	}
	goal := m.Goals[0]
	p := goalProgress{metric: m, unit: unit, target: target, today: period.Day.Start(now)}
	p.due, p.hasDue = goal.DueAt.Get()
	p.due = period.Day.Start(p.due.UTC())
	p.baseline, p.hasBaseline = goal.BaselineValue.Get()
	var days []time.Time
	for at := period.Month.Start(p.today); !at.After(p.today); at = at.AddDate(0, 0, 1) {
		days = append(days, at)
	}
	values := series.MoneyOf(points).BucketValues(points, days)
	p.value, p.fullDaysValue = m.Combine(values), m.Combine(values[:len(values)-1])
	if p.fullDays = len(values) - 1; !p.value.OK {
		return &goalBar{Text: "goal " + unit.Short(target), Class: "even"}
	}
	if p.hasDue && p.today.After(p.due) {
		return &goalBar{fmt.Sprintf("goal %s was due %s", unit.Short(target), p.due.Format("Jan 2")), p.share(), "bad"}
	}
	if m.Total() {
		return p.totalBar()
	}
	return p.levelBar()
}

// goalProgress is what is known about a goal.
type goalProgress struct {
	metric

	unit                 units.Unit
	target, baseline     float64
	hasBaseline, hasDue  bool
	today, due           time.Time
	value, fullDaysValue chart.Value // this month's value, with today (value) and without it (fullDaysValue)
	fullDays             int         // the number of days of this month that have ended
}

// lowerIsBetter reports whether the goal is reached from above, such as fewer refunds.
func (p goalProgress) lowerIsBetter() bool {
	if p.hasBaseline && p.baseline != p.target {
		return p.target < p.baseline
	}
	return p.Polarity == client.MetricsPolarityDownIsGood
}

// totalBar returns the bar of a goal for a metric whose daily values add up.
func (p goalProgress) totalBar() *goalBar {
	month := period.Month.Start(p.today)
	end := period.Month.Next(month, 1) // the end of the days in which the goal has to be reached
	if p.hasDue && p.due.Before(end) {
		end = p.due.AddDate(0, 0, 1)
	}
	pace, hasPace := 0.0, p.fullDaysValue.OK && p.fullDays > 0
	if hasPace {
		pace = p.fullDaysValue.V / float64(p.fullDays)
	}
	out := &goalBar{Class: "even"}
	var need float64
	when, sofar, needed := "this month", "so far", " a day needed"
	if p.hasDue && period.Month.Start(p.due).After(month) { // the goal is for a later month
		month = period.Month.Start(p.due)
		need = p.target / daysBetween(month, period.Month.Next(month, 1))
		when, sofar, needed, out.Share = "in "+month.Format("January"), "now", " a day then", 0
		if need > 0 {
			out.Share = pace / need
		}
	} else {
		need = (p.target - p.value.V) / daysBetween(p.today, end)
		out.Share = p.value.V / p.target
	}
	goal := "goal " + p.unit.Short(p.target) + " " + when + ": "
	switch {
	case p.lowerIsBetter() && need < 0:
		out.Text, out.Class = goal+"exceeded", "bad"
		return out
	case p.lowerIsBetter():
		out.Text = goal + "at most " + p.perDay(need, math.Floor) + " a day"
	case need <= 0:
		out.Text, out.Class = goal+"reached", "good"
		return out
	default:
		out.Text = goal + p.perDay(need, math.Ceil) + needed
	}
	if hasPace {
		out.Text += ", " + p.perDay(pace, math.Round) + " " + sofar
		switch {
		case (pace >= need) != p.lowerIsBetter() || pace == need:
			out.Class = "good"
		case when == "this month": // a goal for a later month is not behind yet
			out.Class = "bad"
		}
	}
	return out
}

// levelBar returns the bar of a goal for a metric whose daily values do not add up, such as a
// rating.
func (p goalProgress) levelBar() *goalBar {
	out := &goalBar{Text: "goal " + p.unit.Short(p.target), Share: p.share(), Class: "even"}
	rest := p.target - p.value.V
	switch {
	case rest == 0, p.lowerIsBetter() == (rest > 0):
		out.Text, out.Class = out.Text+": reached", "good"
	case p.hasDue && p.Aggregation == client.MetricsAggregationLast:
		out.Text += fmt.Sprintf(" by %s: %s a day needed", p.due.Format("Jan 2"), p.signedPerDay(rest/daysBetween(p.today, p.due.AddDate(0, 0, 1))))
	case p.hasDue:
		out.Text += fmt.Sprintf(" by %s: %s to go", p.due.Format("Jan 2"), p.unit.Text(round(math.Abs(rest))))
	default:
		out.Text += ": " + p.unit.Text(round(math.Abs(rest))) + " to go"
	}
	return out
}

// share returns how far the value has come from the baseline to the target, from 0 to 1.
func (p goalProgress) share() float64 {
	switch {
	case p.hasBaseline && p.baseline != p.target && !p.Total():
		return (p.value.V - p.baseline) / (p.target - p.baseline)
	case p.target != 0:
		return p.value.V / p.target
	}
	return 0
}

// perDay formats a daily value. It rounds large counts to whole numbers with roundCount.
func (p goalProgress) perDay(v float64, roundCount func(float64) float64) string {
	if p.unit.Whole() && math.Abs(v) >= 10 {
		return p.unit.Short(roundCount(v))
	}
	return p.unit.Short(round(v))
}

// signedPerDay is like perDay, but adds a plus or minus sign and rounds large counts up.
func (p goalProgress) signedPerDay(v float64) string {
	if v < 0 {
		return "−" + p.perDay(-v, math.Ceil)
	}
	return "+" + p.perDay(v, math.Ceil)
}

// round rounds a value to two digits, because more digits would suggest an exact prediction.
func round(v float64) float64 {
	if v == 0 {
		return 0
	}
	scale := math.Pow10(1 - int(math.Floor(math.Log10(math.Abs(v)))))
	return math.Round(v*scale) / scale
}

func daysBetween(from, to time.Time) float64 { return max(1, to.Sub(from).Hours()/24) }

// reviewTile shows the reviews of the last seven days.
type reviewTile struct {
	Count    string
	Before   string // the number of reviews in the seven days before; empty if unknown
	Average  string // the average number of stars; empty if no review has stars
	Answered int    // the number of reviews with a posted reply, or one that is being posted
	Approved int    // the number of reviews whose reply is approved but not posted
	Failure  *failure
}

// Replies says how many of the reviews have a reply.
func (t reviewTile) Replies() string {
	text := fmt.Sprintf("%d answered", t.Answered)
	if t.Approved > 0 {
		text += ", " + phrase.Plural(t.Approved, "reply approved", "replies approved")
	}
	return text
}

// reviewTileMax is the maximum number of reviews that the tile reads.
const reviewTileMax = 100

// readReviewTile starts the call for the tile of reviews. Once the call has ended, finish returns
// the tile, or nil if the key may not read reviews.
func (pr *pageRequest) readReviewTile() (finish func() *reviewTile) {
	if !pr.may("feedback:read") {
		return func() *reviewTile { return nil }
	}
	now := pr.Now()
	read := pr.listReviews("The reviews of two weeks", reviewFilter{since: client.Day(now.UTC().AddDate(0, 0, -14))}, reviewTileMax)
	return func() *reviewTile {
		if read.Failure != nil {
			return &reviewTile{Failure: read.Failure}
		}
		return reviewTileOf(read.Value, now)
	}
}

// reviewTileOf counts the reviews of a page that lists the newest first. A mention has no stars,
// and counts as a review.
func reviewTileOf(page client.Page[client.Feedback], now time.Time) *reviewTile {
	out := &reviewTile{}
	week, before, sum, rated := 0, 0, 0, 0
	oldest := now
	for _, f := range page.Items {
		at := f.PostedAt.Or(time.Time{})
		oldest = at
		switch {
		case at.After(now) || at.Before(now.AddDate(0, 0, -14)):
			continue
		case at.Before(now.AddDate(0, 0, -7)):
			before++
			continue
		}
		week++
		if stars, ok := f.Rating.Get(); ok && stars >= 1 && stars <= 5 {
			sum, rated = sum+stars, rated+1
		}
		switch f.ReplyStatus.Or("") {
		case client.FeedbackReplyStatusPosted, client.FeedbackReplyStatusPosting:
			out.Answered++
		case client.FeedbackReplyStatusApproved:
			out.Approved++
		}
	}
	if out.Count = fmt.Sprint(week); page.Next != "" && !oldest.Before(now.AddDate(0, 0, -7)) {
		out.Count += "+"
	}
	if page.Next == "" || oldest.Before(now.AddDate(0, 0, -14)) {
		out.Before = fmt.Sprint(before)
	}
	if rated > 0 {
		out.Average = units.Number(float64(sum)/float64(rated), 1, 1)
	}
	return out
}

// pinsMax is the maximum number of pinned metrics. It is how many metrics the overview can read.
const pinsMax = 3

// pinAge is how long a browser keeps the pins.
const pinAge = 400 * 24 * time.Hour // the longest time that browsers allow

// pinPattern matches the company ids and metric keys that may be part of a cookie.
var pinPattern = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,200}$`)

// pinCookie returns the name of the cookie with the keys of the pinned metrics. It contains the
// company, because studios of several companies on one machine share their cookies.
func pinCookie(company string) string { return "workspace-pins-" + company }

// pins returns the keys of the metrics that this browser has pinned, in the order of the tiles.
func (pr *pageRequest) pins(company string) (keys []string) {
	c, err := pr.r.Cookie(pinCookie(company))
	if err != nil || company == "" { // there is no cookie
		return nil
	}
	for key := range strings.SplitSeq(c.Value, "|") {
		if key != "" && !slices.Contains(keys, key) && len(keys) < pinsMax {
			keys = append(keys, key)
		}
	}
	return keys
}

// pin pins a metric to the overview, or removes it. Each person chooses their own pins, so these
// are stored in the person's browser and not in the company.
func (s *Studio) pin(v *pageRequest) *view {
	form := v.r.PostForm
	company, key := form.Get("company"), form.Get("key")
	back := "/"
	if q := form.Get("back"); q != "" {
		back = "/metrics?" + q
	}
	if !pinPattern.MatchString(company) || !pinPattern.MatchString(key) {
		return v.finish(back, notice{Bad: true, Text: "This metric cannot be pinned."})
	}
	keys := slices.DeleteFunc(v.pins(company), func(k string) bool { return k == key })
	msg := notice{Record: form.Get("name"), Text: "No longer pinned."}
	if form.Get("pin") == "true" {
		msg.Text = "Pinned in this browser."
		if back != "/" {
			msg.More, msg.Link = "/", "Overview"
		}
		if len(keys) == pinsMax {
			msg.Text += fmt.Sprintf(" The overview has room for %d, so %s is no longer pinned.", pinsMax, keys[pinsMax-1])
			keys = keys[:pinsMax-1]
		}
		keys = append([]string{key}, keys...)
	}
	http.SetCookie(v.w, &http.Cookie{
		Name: pinCookie(company), Value: strings.Join(keys, "|"), Path: "/", MaxAge: int(pinAge.Seconds()), HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: s.shared,
	})
	return v.finish(back, msg)
}

// pinForm is the button that pins a metric.
type pinForm struct {
	Company, Key, Name string
	Pinned             bool
	Back               string // the query of the metric's page; empty if the button is on the overview
}

// pinForm returns the button that pins a metric, or nil if the company is unknown.
func (pr *pageRequest) pinForm(m metric, back string) *pinForm {
	company := pr.companyID()
	if company == "" {
		return nil
	}
	return &pinForm{company, m.Key, m.Name, slices.Contains(pr.pins(company), m.Key), back}
}

// companyID returns the id of the company that was read for the frame, or "" if it is unknown.
func (pr *pageRequest) companyID() string {
	if company := pr.frameData().company; company != nil {
		return company.Value.ID
	}
	return ""
}

// sortedByPins returns the metrics, with the pinned ones first.
func sortedByPins(all []metric, pins []string) []metric {
	out := slices.Clone(all)
	rank := func(m metric) int {
		if i := slices.Index(pins, m.Key); i >= 0 {
			return i
		}
		return len(pins)
	}
	slices.SortStableFunc(out, func(a, b metric) int { return rank(a) - rank(b) })
	return out
}

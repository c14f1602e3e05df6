package studio

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"growthworkspace/scripts/studio/report"
)

// weekData is the data for the week template.
type weekData struct {
	report.Report

	Weeks   []weekChoice // the latest weeks, newest first
	Earlier string       // the address of the week before; empty if the report could not be read
	Later   string       // the address of the next week; empty if it has not begun
	Failure *failure     // why the report could not be read
	Problem string       // what is wrong with the week in the address; empty if nothing is
}

type weekChoice struct {
	Name, Text string
	Current    bool
}

// weeksListed is how many weeks the page lists. The address may name any other week.
const weeksListed = 26

// week shows the report of a week, which the command "workspace report" prints.
func (s *Studio) week(v *pageRequest) *view {
	d := &weekData{}
	out := &view{page: "week", place: "Week", title: "Weekly report", data: d}
	rep, err := v.readReport()
	v.wait()
	d.Report = rep
	switch {
	case err == nil:
		out.title = rep.Title
		d.setWeeks(rep, v.Now())
	case errors.Is(err, report.ErrNothingRead):
		d.Problem, out.status = "There is nothing to show: "+err.Error()+".", http.StatusForbidden
	case errors.Is(err, report.ErrFuture), errors.Is(err, errInvalidWeek):
		d.Problem, out.status = "No such week: "+err.Error()+".", http.StatusBadRequest
		d.setWeeks(report.Report{}, v.Now())
	default:
		d.Failure = failureOf(err, "")
		d.Failure.cause = v.causeOf(d.Failure)
		out.status = d.Failure.status()
	}
	return out
}

// weekFile responds with the report as a file that users can send to others, in HTML or Markdown.
func (s *Studio) weekFile(contentType, extension string, format func(report.Report) ([]byte, error)) func(*pageRequest) *view {
	return func(v *pageRequest) *view {
		rep, err := v.readReport()
		var text []byte
		if err == nil {
			text, err = format(rep)
		}
		if err != nil {
			http.Error(v.w, "The report could not be created: "+err.Error(), http.StatusBadGateway)
			return nil
		}
		v.w.Header().Set("Content-Type", contentType+"; charset=utf-8")
		v.w.Header().Set("Content-Disposition", `attachment; filename="week-`+rep.Week+extension+`"`)
		_, _ = v.w.Write(text) // ignore the error: the client disconnected
		return nil
	}
}

// readReport reads the report of the week in the address, or of the last week. Its calls do not
// count towards callsMax, because package report has its own limit.
func (pr *pageRequest) readReport() (report.Report, error) {
	name := cmp.Or(pr.r.URL.Query().Get("week"), report.LastWeek)
	if err := report.CheckWeek(name); err != nil {
		return report.Report{}, fmt.Errorf("%w %w", errInvalidWeek, err)
	}
	rec := &recorder{}
	rep, err := report.Read(context.WithValue(pr.ctx, recorderKey{}, rec), pr.api, name, pr.Now())
	pr.mu.Lock()
	defer pr.mu.Unlock()
	pr.calls = append(pr.calls, rec.sortedCalls()...)
	return rep, err
}

// errInvalidWeek means that the address contains no valid week.
var errInvalidWeek = errors.New("the week in the address")

// setWeeks sets the weeks that the user can choose. The report may be empty.
func (d *weekData) setWeeks(rep report.Report, now time.Time) {
	today := now
	if zone, err := time.LoadLocation(rep.TimeZone); err == nil {
		today = now.In(zone)
	}
	monday := today.AddDate(0, 0, -(int(today.Weekday())+6)%7)
	for i := range weeksListed {
		at := monday.AddDate(0, 0, -7*i)
		text := at.Format("Jan 2") + " to " + at.AddDate(0, 0, 6).Format("Jan 2, 2006")
		switch i {
		case 0:
			text = "This week, " + text
		case 1:
			text = "Last week, " + text
		}
		d.Weeks = append(d.Weeks, weekChoice{weekName(at), text, weekName(at) == rep.Week})
	}
	first, err := time.Parse(time.DateOnly, rep.From)
	if err != nil {
		return
	}
	d.Earlier = weekPath(first.AddDate(0, 0, -7))
	if next := first.AddDate(0, 0, 7); weekName(next) <= weekName(monday) {
		d.Later = weekPath(next)
	}
}

// Listed reports whether the list of weeks contains the week of the report.
func (d *weekData) Listed() bool {
	for _, w := range d.Weeks {
		if w.Current {
			return true
		}
	}
	return false
}

// weekName returns the name of the ISO week that contains a date, such as 2026-W47.
func weekName(date time.Time) string {
	year, number := date.ISOWeek()
	return fmt.Sprintf("%04d-W%02d", year, number)
}

func weekPath(date time.Time) string { return "/week?week=" + weekName(date) }

// recorderKey is the key of a recorder in a context.
type recorderKey struct{}

// recorder records the API requests of a package that sends its own calls.
type recorder struct {
	mu    sync.Mutex
	calls []*apiCall
}

// add records a request. A retry does not count as another call.
func (r *recorder) add(request *http.Request) {
	_, path, _ := strings.Cut(request.URL.Path, "/companies/")
	_, path, inCompany := strings.Cut(path, "/")
	if !inCompany {
		path = strings.TrimPrefix(request.URL.Path, "/v1/")
	}
	c := &apiCall{Label: path, Method: request.Method, URL: request.URL.String()}
	r.mu.Lock()
	defer r.mu.Unlock()
	if !slices.ContainsFunc(r.calls, func(other *apiCall) bool { return other.Method == c.Method && other.URL == c.URL }) {
		r.calls = append(r.calls, c)
	}
}

// sortedCalls returns the calls, sorted by address. They are sent concurrently, so the order in
// which they were recorded means nothing.
func (r *recorder) sortedCalls() []*apiCall {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.SortedFunc(slices.Values(r.calls), func(a, b *apiCall) int { return cmp.Compare(a.URL, b.URL) })
}

// ReviewsPath returns the address of the week's reviews with the given number of stars, or of all
// the week's reviews if stars is 0.
func (d *weekData) ReviewsPath(stars int) string {
	path := daysPath(d.From, d.To)
	if stars > 0 {
		path += "&stars=" + strconv.Itoa(stars)
	}
	return path
}

// waitingCount is the number of replies or reviews that wait now, in words, and the page that lists
// them. Path is empty if there are none.
type waitingCount struct{ Text, Path string }

// WaitingCounts returns how many replies and reviews wait now.
func (d *weekData) WaitingCounts() (out []waitingCount) {
	for _, c := range []waitingCount{{d.Reviews.Approvals, "needs_review"}, {d.Reviews.NoReply, "waiting"}, {d.Reviews.NotPosted, "failed"}} {
		switch {
		case c.Text == "":
		case strings.HasPrefix(c.Text, "0 "):
			out = append(out, waitingCount{Text: c.Text})
		default:
			out = append(out, waitingCount{c.Text, "/reviews?show=" + c.Path})
		}
	}
	return out
}

// MetricPath returns the address of a metric's page.
func (d *weekData) MetricPath(m report.Metric) string { return metricPath(m.Key) }

func reportMarkdown(r report.Report) ([]byte, error) { return []byte(r.Markdown()), nil }

package studio

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"

	"growthworkspace/scripts/studio/attention"
	"growthworkspace/scripts/studio/civiltime"
	"growthworkspace/shared/client"
)

// clock returns the clock of the company's time zone. Call it only after the calls of readFrame
// have returned, because they read the time zone.
func (pr *pageRequest) clock() civiltime.Clock {
	company := pr.frameData().company
	if company == nil || company.Failure != nil {
		return civiltime.Clock{Location: time.UTC, Name: "UTC", Note: "the company's time zone could not be read"}
	}
	return civiltime.ClockOf(company.Value.Timezone.Or(""))
}

// calendarData is the data of the calendar template.
type calendarData struct {
	Clock   civiltime.Clock
	Month   time.Time // the first day of the month
	Weeks   [][]calendarDay
	Undated []shownPost // drafts and failed posts without a time
	Failure *failure
	Capped  string // the first day for which some posts are not loaded; empty if all posts are loaded

	MayWrite bool
}

type calendarDay struct {
	Day                time.Time
	Other, Today, Past bool // Other is set if the day is not in the month that the page shows
	Posts              []shownPost
	More               int // the number of posts of the day that are not in Posts
}

// Date returns the day in the format that addresses use.
func (d calendarDay) Date() string { return client.Day(d.Day) }

// Label returns the day in words.
func (d calendarDay) Label() string { return d.Day.Format("Monday, January 2") }

// shownPost is a post in a list.
type shownPost struct {
	client.Post

	At      time.Time // zero: unset
	Overdue bool      // the post is due but was not sent
	Clock   civiltime.Clock
	Seen    string // the version of the post when the page was loaded
}

// Movable reports whether the post can be moved to a different time.
func (p shownPost) Movable() bool { return !isSent(p.Post) }

// Text returns the text that a list shows for the post: its title or, if it has none, its body.
func (p shownPost) Text() string { return p.Title.Or(p.Body.Or("(no text)")) }

// State returns the post's status. A post that has no status counts as a draft.
func (p shownPost) State() string { return string(p.Status.Or(client.BroadcastPostStatusDraft)) }

func shownPostOf(p client.Post, c civiltime.Clock, now time.Time) shownPost {
	out := shownPost{Post: p, Clock: c, Seen: version(p.UpdatedAt), Overdue: attention.Overdue(p, now)}
	if at, ok := p.ScheduledFor.Get(); ok {
		out.At = at
	} else if at, ok := p.PublishedAt.Get(); ok {
		out.At = at
	}
	return out
}

const (
	monthLayout      = "2006-01"
	monthPostsMax    = 200 // the maximum number of posts that one request reads
	postsPerDayMax   = 4   // the maximum number of posts that the calendar shows for a day
	undatedDraftsMax = 100 // the number of newest drafts that are searched for posts without a time
)

func (s *Studio) calendar(v *pageRequest) *view {
	d := &calendarData{MayWrite: v.may("broadcast:write")}
	out := &view{page: "calendar", place: "Posts", title: "Posts", data: d}
	month, err := time.Parse(monthLayout, v.r.URL.Query().Get("month"))
	useCurrent := err != nil // no month was requested, so the page shows the current month
	if useCurrent {
		month = monthOf(civiltime.DateOf(v.Now(), time.UTC))
	}
	posts := v.listMonth(month, "")
	drafts := v.listPosts("Drafts", client.ListBroadcastPostsInput{Status: client.Value(client.BroadcastPostStatusDraft), Limit: client.Value(undatedDraftsMax)})
	v.wait()
	d.Clock = v.clock()
	now := civiltime.DateOf(v.Now(), d.Clock.Location)
	if localMonth := monthOf(now); useCurrent && !localMonth.Equal(month) { // around midnight, the current month in the company's time zone may differ from the one in UTC
		month = localMonth
		posts = v.listMonth(month, "")
		v.wait()
	}
	d.Month, d.Failure = month, posts.Failure
	if d.Failure != nil {
		out.status = d.Failure.status()
		return out
	}
	all, next := posts.Value.Items, posts.Value.Next
	if next != "" {
		more := v.listMonth(month, next)
		v.wait()
		all, next = append(all, more.Value.Items...), more.Value.Next
		if more.Failure != nil {
			next = "failed"
		}
	}
	if next != "" {
		d.Capped = client.Day(civiltime.DateOf(all[len(all)-1].ScheduledFor.Or(time.Time{}), d.Clock.Location))
	}
	d.fill(all, v.Now())
	for _, p := range drafts.Value.Items {
		if shown := shownPostOf(p, d.Clock, v.Now()); shown.At.IsZero() {
			d.Undated = append(d.Undated, shown)
		}
	}
	return out
}

func monthOf(day time.Time) time.Time {
	return time.Date(day.Year(), day.Month(), 1, 0, 0, 0, 0, time.UTC)
}

// gridOf returns the first and the last day that the calendar of a month shows. It shows whole
// weeks, starting on Monday.
func gridOf(month time.Time) (first, last time.Time) {
	weekday := func(t time.Time) int { return (int(t.Weekday()) + 6) % 7 } // 0: Monday
	last = month.AddDate(0, 1, -1)
	return month.AddDate(0, 0, -weekday(month)), last.AddDate(0, 0, 6-weekday(last))
}

// listMonth reads the posts that the calendar of a month shows. It reads one more day at each end,
// because the service filters by UTC days, and a day in the company's time zone overlaps the next
// or the previous day in UTC.
func (pr *pageRequest) listMonth(month time.Time, cursor string) *result[client.Page[client.Post]] {
	first, last := gridOf(month)
	in := client.ListBroadcastPostsInput{
		From: client.Value(client.Day(first.AddDate(0, 0, -1))), To: client.Value(client.Day(last.AddDate(0, 0, 1))),
		Order: client.Value("asc"), Limit: client.Value(monthPostsMax), Cursor: optional(cursor),
	}
	return pr.listPosts("The posts of the month", in)
}

func (pr *pageRequest) listPosts(label string, in client.ListBroadcastPostsInput) *result[client.Page[client.Post]] {
	return startCall(pr, "broadcast:read", label, bound(pr.api.ListBroadcastPosts, in))
}

// fill distributes the posts over the days of the calendar.
func (d *calendarData) fill(posts []client.Post, now time.Time) {
	byDay := map[time.Time][]shownPost{}
	for _, p := range posts {
		shown := shownPostOf(p, d.Clock, now)
		if shown.At.IsZero() {
			if p.Status.Or("") == client.BroadcastPostStatusFailed {
				d.Undated = append(d.Undated, shown)
			}
			continue
		}
		day := civiltime.DateOf(shown.At, d.Clock.Location)
		byDay[day] = append(byDay[day], shown)
	}
	first, last := gridOf(d.Month)
	today := civiltime.DateOf(now, d.Clock.Location)
	var week []calendarDay
	for day := first; !day.After(last); day = day.AddDate(0, 0, 1) {
		all := byDay[day]
		slices.SortStableFunc(all, func(a, b shownPost) int { return a.At.Compare(b.At) })
		shown := all[:min(len(all), postsPerDayMax)]
		week = append(week, calendarDay{
			Day: day, Other: day.Month() != d.Month.Month(), Today: day.Equal(today), Past: day.Before(today), Posts: shown, More: len(all) - len(shown),
		})
		if len(week) == 7 {
			d.Weeks, week = append(d.Weeks, week), nil
		}
	}
}

// MonthAtOffset returns the month that comes the given number of months after d.Month, in the
// format that addresses use. The number may be negative.
func (d *calendarData) MonthAtOffset(months int) string {
	return d.Month.AddDate(0, months, 0).Format(monthLayout)
}

// Name returns the month in words.
func (d *calendarData) Name() string { return d.Month.Format("January 2006") }

// Empty reports whether the page shows no post.
func (d *calendarData) Empty() bool {
	for _, week := range d.Weeks {
		if slices.ContainsFunc(week, func(day calendarDay) bool { return len(day.Posts) > 0 }) {
			return false
		}
	}
	return len(d.Undated) == 0
}

// postListData is the data of the post list template.
type postListData struct {
	Clock     civiltime.Clock
	Tabs      []tab
	Status    string
	Platform  string
	Platforms []string
	Day       string // the only day whose posts are listed; empty if the list is not limited to a day
	Rows      []shownPost
	More      string // the address of the next page of posts, or empty
	Failure   *failure

	MayWrite bool
}

// postsPerPage is the number of posts on one page of the list.
const postsPerPage = 100

func (s *Studio) postList(v *pageRequest) *view {
	q := v.r.URL.Query()
	d := &postListData{Status: q.Get("status"), Platform: q.Get("platform"), Platforms: platforms(), MayWrite: v.may("broadcast:write")}
	out := &view{page: "postlist", place: "Posts", title: "Posts", data: d}
	in := client.ListBroadcastPostsInput{
		Limit: client.Value(postsPerPage), Cursor: optional(q.Get("cursor")),
		Status: optional(client.BroadcastPostStatus(d.Status)), Platform: optional(client.BroadcastPlatform(d.Platform)),
	}
	filters := url.Values{}
	for _, name := range []string{"status", "platform", "day"} {
		if q.Get(name) != "" {
			filters.Set(name, q.Get(name))
		}
	}
	for _, t := range []tab{{Name: "All"}, {ID: "scheduled", Name: "Scheduled"}, {ID: overdueTab, Name: "Overdue"}, {ID: "draft", Name: "Drafts"}, {ID: "failed", Name: "Failed"}, {ID: "published", Name: "Published"}} {
		other := copyOf(filters)
		other.Set("status", t.ID)
		t.Path, t.Current = "/posts/list?"+other.Encode(), t.ID == d.Status
		d.Tabs = append(d.Tabs, t)
	}
	day, err := time.Parse(time.DateOnly, q.Get("day"))
	if err == nil {
		d.Day = day.Format("Monday, January 2, 2006")
		in.From, in.To = client.Value(client.Day(day.AddDate(0, 0, -1))), client.Value(client.Day(day.AddDate(0, 0, 1)))
		in.Order, in.Limit = client.Value("asc"), client.Value(monthPostsMax)
	}
	if d.Status == string(client.BroadcastPostStatusScheduled) {
		in.Order = client.Value("asc") // list the posts that are due soonest first
	}
	posts := &result[client.Page[client.Post]]{}
	if d.Status == overdueTab {
		d.Day = ""
		posts = v.listOverdue(d.Platform, q.Get("cursor"), postsPerPage)
	} else {
		posts = v.listPosts("The posts", in)
	}
	v.wait()
	d.Clock = v.clock()
	if d.Failure = posts.Failure; d.Failure != nil {
		out.status = d.Failure.status()
		return out
	}
	for _, p := range posts.Value.Items {
		if d.Status == overdueTab && !attention.Overdue(p, v.Now()) {
			continue
		}
		if shown := shownPostOf(p, d.Clock, v.Now()); d.Day == "" || !shown.At.IsZero() && civiltime.DateOf(shown.At, d.Clock.Location).Equal(day) {
			d.Rows = append(d.Rows, shown)
		}
	}
	if next := posts.Value.Next; next != "" {
		filters.Set("cursor", next)
		d.More = "/posts/list?" + filters.Encode()
	}
	return out
}

// overdueTab is the id of the tab that lists the posts that are due but were not sent.
const overdueTab = "overdue"

// listOverdue lists all posts that were due before tomorrow, the oldest first. The caller leaves
// out those that are due later today.
func (pr *pageRequest) listOverdue(platform, cursor string, limit int) *result[client.Page[client.Post]] {
	return pr.listPosts("Overdue posts", client.ListBroadcastPostsInput{
		Status: client.Value(client.BroadcastPostStatusScheduled), To: client.Value(client.Day(pr.Now().UTC())),
		Platform: optional(client.BroadcastPlatform(platform)), Order: client.Value("asc"), Limit: client.Value(limit), Cursor: optional(cursor),
	})
}

func platforms() (out []string) {
	for _, p := range []client.BroadcastPlatform{
		client.BroadcastPlatformX, client.BroadcastPlatformInstagram, client.BroadcastPlatformTiktok, client.BroadcastPlatformFacebook,
		client.BroadcastPlatformReddit, client.BroadcastPlatformPush,
	} {
		out = append(out, string(p))
	}
	return out
}

// movePost moves a post to a different day and keeps its time of day. A post that has no time yet
// is scheduled in the morning.
func (s *Studio) movePost(v *pageRequest) *view {
	form, id := v.r.PostForm, v.r.PathValue("id")
	c := civiltime.ClockOf(form.Get("zone"))
	back := url.Values{"month": {form.Get("month")}}
	refuse := func(why string) *view { return v.redirectWithNotice("/posts", back, notice{Bad: true, Text: why}) }
	day, err := time.Parse(time.DateOnly, form.Get("day"))
	if err != nil {
		return refuse("Not moved: there is no such day.")
	}
	got := v.getPost(id)
	v.wait()
	switch {
	case got.Failure != nil:
		return refuse("Not moved: " + got.Failure.Text())
	case version(got.Value.UpdatedAt) != form.Get("seen"):
		return refuse("Somebody changed the post after you looked, so it was not moved.")
	}
	at, scheduled := got.Value.ScheduledFor.Get()
	at = at.In(c.Location)
	if !scheduled {
		at = defaultPostTime(day)
	}
	newTime := day.Add(time.Duration(at.Hour())*time.Hour + time.Duration(at.Minute())*time.Minute + time.Duration(at.Second())*time.Second + time.Duration(at.Nanosecond()))
	times := civiltime.Times(newTime, c.Location)
	switch {
	case len(times) == 0:
		return refuse("Not moved: " + skippedTimeText(newTime, c) + " Open the post to give it another time.")
	case times[0].Before(v.Now()) && got.Value.Status.Or("") == client.BroadcastPostStatusScheduled:
		return refuse("Not moved: " + c.Moment(times[0]) + " is over, and a scheduled post would be sent at once.")
	}
	in := client.UpdateBroadcastPostInput{PostID: id, ScheduledFor: client.Value(times[0])}
	res := startCall(v, "broadcast:write", "Move the post",
		bound(v.api.UpdateBroadcastPost, in), client.IfMatch(got.ETag))
	v.wait()
	switch {
	case res.Failure != nil && res.Failure.Status == http.StatusPreconditionFailed:
		return refuse("Somebody changed the post after you looked, so it was not moved.")
	case res.Failure != nil:
		return refuse("Not moved: " + res.Failure.Text())
	}
	text := "Moved to " + c.Moment(times[0]) + "."
	if len(times) > 1 {
		text += fmt.Sprintf(" The clocks go back on that day, so this time occurs twice: the post has the first (%s). Open it to choose the second.", offset(times[0]))
	}
	before := client.UpdateBroadcastPostInput{PostID: id, ScheduledFor: got.Value.ScheduledFor}
	if !scheduled {
		before.ScheduledFor = client.Null[time.Time]()
	}
	return v.redirectWithNotice("/posts", back, notice{Record: postName(res.Value), Text: text, Undo: undoPost(res, before)})
}

// defaultPostTime returns the default time of a post for which the user chose only a day.
func defaultPostTime(day time.Time) time.Time { return day.Add(9 * time.Hour) }

// skippedTimeText tells the user that the typed time does not exist, because the clocks skip it
// when they go forward.
func skippedTimeText(typed time.Time, c civiltime.Clock) string {
	before, after, ok := civiltime.Skipped(typed, c.Location)
	if !ok {
		return "There is no such time in " + c.Name + "."
	}
	return fmt.Sprintf("There is no %s on %s in %s: the clocks go from %s to %s.", typed.Format("15:04"), typed.Format("January 2"), c.Name, before.Format("15:04"), after.Format("15:04"))
}

// offset formats the UTC offset of a time, preceded by the zone's abbreviation if it has one.
func offset(at time.Time) string {
	name, _ := at.Zone()
	if name == "" || name[0] == '+' || name[0] == '-' {
		return at.Format("UTC-07:00")
	}
	return name + ", " + at.Format("UTC-07:00")
}

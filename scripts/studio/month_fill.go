package studio

import (
	"net/url"
	"slices"
	"strings"
	"time"

	"growthworkspace/scripts/studio/civiltime"
	"growthworkspace/scripts/studio/phrase"
	"growthworkspace/shared/client"
)

// fillData is the data for the page that turns accepted ideas into drafts for a month.
type fillData struct {
	Clock      civiltime.Clock
	Month      time.Time // the first day of the month
	Rows       []fillRow
	Once       string // the prefix of the idempotency keys
	NoIdeas    *failure
	NoPosts    *failure
	More       bool   // there are more accepted ideas than the page has read
	Used       int    // the number of accepted ideas that already have a post
	Waiting    string // the number of ideas not yet accepted; empty if it is 0 or unknown
	Platforms  []string
	MayWrite   bool
	thisMonth  time.Time
	now        time.Time
	channels   []client.Channel
	noChannels bool // the channels could not be read
}

// fillRow is an idea with the day that the page suggests for its post.
type fillRow struct {
	client.Idea

	Day      string // a day, as the value of a date field
	Platform string
}

// fillMax is the maximum number of drafts that the page creates at once.
const fillMax = 10

// Name returns the month in words.
func (d *fillData) Name() string { return d.Month.Format("January 2006") }

const monthsOffered = 4

// Months returns the months from which the user can choose.
func (d *fillData) Months() (out []tab) {
	for n := range monthsOffered {
		month := d.thisMonth.AddDate(0, n, 0)
		out = append(out, tab{Name: month.Format("Jan 2006"), Path: "/posts/fill?month=" + month.Format(monthLayout), Current: month.Equal(d.Month)})
	}
	return out
}

// Problem returns the reason why posts on a platform are not sent. It returns "" if the account
// works or is unknown.
func (d *fillData) Problem(platform string) string {
	if d.noChannels {
		return ""
	}
	return accountProblem(d.channels, platform, d.now)
}

// Mark returns a short label if posts on a platform are not sent. It returns "" if they are sent,
// or if that is unknown.
func (d *fillData) Mark(platform string) string {
	switch {
	case d.Problem(platform) == "":
		return ""
	case channelOf(d.channels, client.BroadcastPlatform(platform)) == nil:
		return "no account"
	}
	return "broken"
}

// Problems returns the reasons why drafts on the suggested platforms would not be sent.
func (d *fillData) Problems() (out []string) {
	for _, row := range d.Rows {
		if why := d.Problem(row.Platform); why != "" && !slices.Contains(out, why) {
			out = append(out, why)
		}
	}
	return out
}

// Value returns the month in the format that addresses use.
func (d *fillData) Value() string { return d.Month.Format(monthLayout) }

// fillPage suggests a free day of a month for each accepted idea that has no post yet.
func (s *Studio) fillPage(v *pageRequest) *view {
	d := &fillData{Platforms: platforms(), Once: newIdempotencyKey(), MayWrite: v.may("broadcast:write")}
	out := &view{page: "fill", place: "Posts", title: "Fill the month", data: d}
	d.now = v.Now()
	d.thisMonth = monthOf(civiltime.DateOf(v.Now(), time.UTC))
	var err error
	if d.Month, err = time.Parse(monthLayout, v.r.URL.Query().Get("month")); err != nil {
		d.Month = d.thisMonth
	}
	ideas := v.listIdeas(client.BroadcastIdeaStatusAccepted, "The accepted ideas")
	suggested := v.listIdeas(client.BroadcastIdeaStatusSuggested, "The suggested ideas")
	channels := v.listChannels()
	month := v.listMonth(d.Month, "")
	v.wait()
	d.channels, d.noChannels = channels.Value.Items, channels.Failure != nil
	if waiting := len(suggested.Value.Items); waiting > 0 {
		d.Waiting = formatCount(waiting, suggested.Value.Next != "")
	}
	d.Clock, d.NoIdeas, d.NoPosts = v.clock(), ideas.Failure, month.Failure
	if d.NoIdeas != nil {
		out.status = d.NoIdeas.status()
		return out
	}
	offered := ideas.Value.Items[:min(len(ideas.Value.Items), fillMax, v.callsLeft())]
	d.More = len(offered) < len(ideas.Value.Items) || ideas.Value.Next != ""
	posts := make([]*result[client.Page[client.Post]], len(offered))
	for n, i := range offered {
		posts[n] = v.listPosts("Whether "+phrase.Excerpt(i.Title.Or("the idea"), 40)+" has a post", client.ListBroadcastPostsInput{IdeaID: client.Value(i.ID), Limit: client.Value(1)})
	}
	v.wait()
	var unused []client.Idea
	for n, i := range offered {
		if posts[n].Failure != nil {
			d.NoPosts = posts[n].Failure
		} else if len(posts[n].Value.Items) == 0 {
			unused = append(unused, i)
		} else {
			d.Used++
		}
	}
	d.suggest(unused, month.Value.Items, v.Now())
	return out
}

func (pr *pageRequest) listIdeas(status client.BroadcastIdeaStatus, label string) *result[client.Page[client.Idea]] {
	return startCall(pr, "broadcast:read", label, bound(pr.api.ListBroadcastIdeas, client.ListBroadcastIdeasInput{
		Status: client.Value(status), Limit: client.Value(ideasPerPage),
	}))
}

// suggest gives each idea the day for which it was suggested if that day is free, and spreads all
// other ideas evenly over the remaining free days.
func (d *fillData) suggest(ideas []client.Idea, posts []client.Post, now time.Time) {
	taken := map[string]bool{}
	for _, p := range posts {
		if at, ok := p.ScheduledFor.Get(); ok {
			taken[client.Day(civiltime.DateOf(at, d.Clock.Location))] = true
		}
	}
	var free []string
	for day := d.Month; day.Month() == d.Month.Month(); day = day.AddDate(0, 0, 1) {
		if name := client.Day(day); day.After(civiltime.DateOf(now, d.Clock.Location)) && !taken[name] {
			free = append(free, name)
		}
	}
	for _, i := range ideas {
		row := fillRow{Idea: i, Platform: platformOf(nil, nil, i, d.channels, now)}
		if at, ok := i.SuggestedFor.Get(); ok {
			if n := slices.Index(free, client.Day(civiltime.DateOf(at, d.Clock.Location))); n >= 0 {
				row.Day = free[n]
				free = slices.Delete(free, n, n+1)
			}
		}
		d.Rows = append(d.Rows, row)
	}
	left := 0
	for _, row := range d.Rows {
		if row.Day == "" {
			left++
		}
	}
	used := 0
	for n := range d.Rows {
		if d.Rows[n].Day == "" && len(free) > 0 {
			d.Rows[n].Day = free[min(used*len(free)/left, len(free)-1)]
			used++
		}
	}
}

// fill creates a draft for each ticked idea. The undo deletes all of them.
func (s *Studio) fill(v *pageRequest) *view {
	form := v.r.PostForm
	zone := civiltime.ClockOf(form.Get("zone"))
	back := url.Values{"month": {form.Get("month")}}
	ticked := form["idea"]
	if len(ticked) == 0 {
		return v.redirectWithNotice("/posts/fill", back, notice{Bad: true, Text: "Nothing was created: tick an idea."})
	}
	ticked = ticked[:min(len(ticked), fillMax)]
	got := make([]*result[client.Idea], len(ticked))
	for n, id := range ticked {
		got[n] = v.getIdea(id)
	}
	v.wait()
	var results []*result[client.Post]
	var problems []string
	for n, id := range ticked {
		at, problem := fillTime(form.Get("day."+id), zone)
		if got[n].Failure != nil {
			problem = got[n].Failure.Text()
		}
		if problem != "" {
			problems = append(problems, recordHeading(phrase.Excerpt(got[n].Value.Title.Or("An idea"), 60))+" "+problem)
			continue
		}
		title, body := postTextFromIdea(got[n].Value, form.Get("platform."+id))
		in := client.CreateBroadcastPostInput{
			Platform: client.BroadcastPlatform(form.Get("platform." + id)), IdeaID: client.Value(id), ScheduledFor: client.Value(at),
			Title: optional(title), Body: body, Status: client.Value(client.BroadcastPostStatusDraft),
		}
		results = append(results, startCall(v, "broadcast:write", "A draft",
			bound(v.api.CreateBroadcastPost, in), client.IdempotencyKey(form.Get("once")+id)))
	}
	v.wait()
	var created []*result[client.Post]
	for _, p := range results {
		if p.Failure != nil {
			problems = append(problems, "A draft was not created: "+p.Failure.Text())
			continue
		}
		created = append(created, p)
	}
	msg := notice{Bad: len(problems) > 0, Text: strings.Join(append([]string{"Created " + phrase.Plural(len(created), "draft", "drafts") + ". Nothing is sent until you schedule it."}, problems...), " ")}
	if len(created) > 0 {
		msg.Undo = undoNewPosts(created)
	}
	return v.redirectWithNotice("/posts", back, msg)
}

// fillTime returns the time of a draft on a day, or why there is none.
func fillTime(text string, zone civiltime.Clock) (at time.Time, problem string) {
	day, err := time.Parse(time.DateOnly, text)
	if err != nil {
		return at, "choose a day."
	}
	times := civiltime.Times(defaultPostTime(day), zone.Location)
	if len(times) == 0 {
		return at, skippedTimeText(defaultPostTime(day), zone)
	}
	return times[0], ""
}

// undoNewPosts returns an undo that deletes posts that were just created together. It keeps posts
// that somebody has changed since then.
func undoNewPosts(created []*result[client.Post]) undo {
	return func(v *pageRequest) notice {
		out := notice{Text: "Undone."}
		for _, p := range created {
			if n := undoNewPost(p)(v); n.Bad {
				out.Bad, out.Text = true, out.Text+" "+recordHeading(n.Record)+" "+n.Text
			}
		}
		return out
	}
}

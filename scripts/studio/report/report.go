// Package report puts a company's week on one page: metrics and brand goals compared with the week
// before, reviews, the roadmap, posts and audits. It reads only the public API, through
// shared/client, so it needs nothing but a key. Read returns the report, and its methods format it
// for a terminal, as Markdown and as one HTML file for an e-mail.
package report

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"growthworkspace/scripts/studio/attention"
	"growthworkspace/scripts/studio/batch"
	"growthworkspace/scripts/studio/civiltime"
	"growthworkspace/scripts/studio/phrase"
	"growthworkspace/scripts/studio/scores"
	"growthworkspace/shared/client"
)

// Report is a company's week. Strings from reviews, posts and other records are shortened to one
// line, but not escaped.
type Report struct {
	Company  string    `json:"company"` // empty if unknown
	Week     string    `json:"week"`    // such as 2026-W47
	Title    string    `json:"title"`
	From     string    `json:"from"` // the first day
	To       string    `json:"to"`   // the last day
	TimeZone string    `json:"timeZone"`
	ZoneNote string    `json:"zoneNote,omitempty"` // why the zone is not the company's
	Over     bool      `json:"over"`               // the week is over
	Days     string    `json:"days"`               // the days whose values are compared with the week before, such as "Mon to Wed"
	ReadAt   time.Time `json:"readAt"`
	ReadText string    `json:"-"`

	Metrics     []Metric    `json:"metrics"`
	MoreMetrics int         `json:"moreMetrics"` // how many metrics the report leaves out
	Goals       []Goal      `json:"goals"`
	Reviews     Reviews     `json:"reviews"`
	Roadmap     []Board     `json:"roadmap"` // boards that were published in the week or after it
	Posts       Posts       `json:"posts"`
	Audits      []Audit     `json:"audits"`
	NotRead     []batch.Gap `json:"notRead"`
	Calls       int         `json:"calls"` // how many requests the report sent, without retries; each counts against the read quota
}

// Goal is an active brand goal.
type Goal struct {
	ID    string              `json:"-"` // used only for links, like the ids of other records
	Name  string              `json:"name"`
	State attention.GoalState `json:"state,omitempty"`
	Text  string              `json:"text"`
	Share float64             `json:"share"` // the progress from the baseline to the target, from 0 to 1; 0 if unknown
}

// Reviews are the reviews and mentions of the week.
type Reviews struct {
	Read      bool     `json:"read"`
	Count     int      `json:"count"`
	More      bool     `json:"more"` // there are more reviews than Count
	Before    int      `json:"before"`
	HasBefore bool     `json:"hasBefore"`
	Stars     [5]int   `json:"stars"`     // the numbers of reviews with 1, 2, 3, 4 and 5 stars
	Mentions  int      `json:"mentions"`  // the number of reviews without stars
	Average   string   `json:"average"`   // the average number of stars; empty if no review has stars
	Approvals string   `json:"approvals"` // how many replies wait for approval now; empty if unknown
	NoReply   string   `json:"noReply"`   // how many reviews have no reply now; empty if unknown
	NotPosted string   `json:"notPosted"` // how many replies could not be posted; empty if none or unknown
	Waiting   []string `json:"waiting"`   // the most urgent reviews that wait for a person

	WaitingIDs []string `json:"-"` // the ids of the reviews in Waiting
	Worst      *Review  `json:"-"` // the latest of the week's reviews with the fewest stars; nil if none has stars
}

// Review is a review in the report.
type Review struct {
	ID, Title, Text, By string
	Stars               int
}

// Board is a roadmap board that was published.
type Board struct {
	Name           string   `json:"name"`
	Text           string   `json:"text"`    // when the board was published, in words
	PublishedLater bool     `json:"since"`   // the latest publish was after the week, so it is unknown what was published in the week
	Created        []string `json:"created"` // titles of live items that were created in the week
	Edited         []string `json:"edited"`  // titles of live items that were edited in the week, before the publish
	Live           string   `json:"live"`    // how many items visitors see
}

// Posts contains the posts of the week and the upcoming ones.
type Posts struct {
	Read    bool   `json:"read"`
	Sent    []Post `json:"sent"`
	Failed  []Post `json:"failed"`
	Overdue string `json:"overdue"` // how many posts are overdue now; empty if none

	NextRead bool   `json:"nextRead"`
	Next     []Post `json:"next"`
}

// Post is a post in the report.
type Post struct {
	ID       string `json:"-"`
	When     string `json:"when"`
	Platform string `json:"platform"`
	Text     string `json:"text"`
	Reason   string `json:"reason,omitempty"` // why the post failed

	at time.Time
}

// Audit is an audit that ended in the week.
type Audit struct {
	ID      string         `json:"-"`
	Site    string         `json:"site"`
	When    string         `json:"when"`
	Scores  []scores.Score `json:"scores"`
	Problem string         `json:"problem,omitempty"` // which scores fell, or why it failed
}

// The names of the report's parts, for the gaps in NotRead.
const (
	partCompany = "company"
	partMetrics = "metrics"
	partGoals   = "goals"
	partReviews = "reviews"
	partRoadmap = "roadmap"
	partPosts   = "posts"
	partAudits  = "audits"
)

// Limits of a report. They keep the number of calls and the size of the page small.
const (
	metricsMax     = 10
	goalMetricsMax = 6
	goalsMax       = 20  // the maximum number of goals that are listed
	reviewPagesMax = 5   // the maximum number of pages of 200 reviews, for both weeks together
	boardsMax      = 3   // the maximum number of boards whose items are read
	boardRowsMax   = 6   // the maximum number of boards that are listed
	itemsMax       = 200 // the maximum number of items read for each board
	titlesMax      = 8   // the maximum number of titles listed for each kind
	waitingMax     = 5
	postsMax       = 200 // the maximum number of posts that are read
	sentMax        = 12  // the maximum number of posts listed for each kind
	nextMax        = 5
	auditsMax      = 50
)

// ErrFuture means that the week has not begun.
var ErrFuture = errors.New("the week has not begun")

// ErrNothingRead means that the key has none of the scopes that the report needs.
var ErrNothingRead = errors.New("the key has no scope that reads metrics, goals, reviews, the roadmap, posts or audits, so there is nothing to report")

// builder holds the calls of one report, and builds the report from their results.
type builder struct {
	*batch.Reader
	span

	company                              *batch.Result[client.Company]
	definitions                          *batch.Result[client.Page[client.Definition]]
	goals                                *batch.Result[client.Page[client.Goal]]
	approvals, unanswered, failedReplies *batch.Result[client.Page[client.Feedback]]
	boards                               *batch.Result[client.Page[client.Board]]
	scheduled, posts                     *batch.Result[client.Page[client.Post]]
	audits                               *batch.Result[client.Page[client.AuditSummary]]
	metrics                              []*metricCalls
	reviews                              *batch.Result[reviewPages]
	live                                 []*batch.Result[client.Page[client.LiveItem]]
	items                                []*batch.Result[client.Page[client.Item]]
}

// Read reads the report of a week. name is LastWeek, ThisWeek or an ISO week; see CheckWeek. The
// week is in the company's time zone. Read sends at most 48 calls, in three steps. Further pages of
// reviews take up to four more steps. NotRead lists the parts that could not be read. Read returns
// ErrFuture, ErrNothingRead, or an error if the service rejects the key or cannot be reached.
func Read(ctx context.Context, api *client.Client, name string, now time.Time) (Report, error) {
	reader, err := batch.NewReader(ctx, api)
	if err != nil {
		return Report{}, err
	}
	r := &builder{Reader: reader}
	r.startLists()
	r.Wait()
	if r.Sent() == 0 {
		return Report{}, ErrNothingRead
	}
	clock := r.companyClock()
	week, err := weekNamed(name, civiltime.DateOf(now, clock.Location))
	if err != nil {
		return Report{}, err
	}
	if r.span = newSpan(week, clock, now); now.Before(r.start) {
		return Report{}, fmt.Errorf("%s: %w in %s", week, ErrFuture, clock.Name)
	}
	judge := r.startWeek()
	r.Wait()
	return r.report(judge()), nil
}

// FailedParts returns the parts that could not be read, apart from those whose scope the key lacks.
func (r Report) FailedParts() []batch.Gap {
	return slices.DeleteFunc(slices.Clone(r.NotRead), func(g batch.Gap) bool { return !g.Failed })
}

// startLists starts the calls that do not depend on the week.
func (build *builder) startLists() {
	build.company = batch.Start(build.Reader, partCompany, "company:read", func(ctx context.Context) (client.Company, error) { return build.API.GetCompany(ctx) })
	build.definitions = attention.ListDefinitions(build.Reader, partMetrics)
	build.goals = attention.ListGoals(build.Reader, partGoals)
	waiting := func(status client.FeedbackReplyStatus) *batch.Result[client.Page[client.Feedback]] {
		return attention.ListReviews(build.Reader, partReviews, client.ListFeedbackInput{ReplyStatus: client.Value(status), Limit: client.Value(200)})
	}
	build.approvals, build.unanswered, build.failedReplies = waiting(client.FeedbackReplyStatusNeedsReview), waiting(client.FeedbackReplyStatusNone), waiting(client.FeedbackReplyStatusFailed)
	build.boards = attention.ListBoards(build.Reader, partRoadmap)
	build.scheduled = attention.ListPosts(build.Reader, partPosts, client.ListBroadcastPostsInput{
		Status: client.Value(client.BroadcastPostStatusScheduled), Order: client.Value("asc"), Limit: client.Value(50),
	})
	build.audits = attention.ListAudits(build.Reader, partAudits, auditsMax)
}

// companyClock returns the clock of the company's time zone, or of UTC if the company could not be
// read.
func (build *builder) companyClock() civiltime.Clock {
	if !build.company.Known {
		return civiltime.Clock{Location: time.UTC, Name: "UTC", Note: "the company's time zone could not be read"}
	}
	return civiltime.ClockOf(build.company.Value.Timezone.Or(""))
}

// startWeek starts the calls that depend on the week. The service filters by UTC days, so the calls
// read one more day at each end.
func (build *builder) startWeek() (judge func() []attention.Judgement) {
	build.startMetrics()
	active := slices.DeleteFunc(slices.Clone(build.goals.Value.Items), func(g client.Goal) bool { return g.Status.Or("") != client.ContextGoalStatusActive })
	judge = attention.JudgeGoals(build.Reader, partGoals, active, build.definitions.Value.Items, goalMetricsMax, build.now)
	if build.May("feedback:read") {
		build.reviews = build.startReviews()
	}
	build.posts = attention.ListPosts(build.Reader, partPosts, client.ListBroadcastPostsInput{
		From: client.Value(client.Day(build.monday.AddDate(0, 0, -8))), To: client.Value(client.Day(build.monday.AddDate(0, 0, 7))), // a post may be sent late
		Order: client.Value("desc"), Limit: client.Value(postsMax),
	})
	build.startBoards()
	return judge
}

// startBoards starts the calls for the items of the boards that were published in the week.
func (build *builder) startBoards() {
	if build.boards.Value.Next != "" {
		build.AddGap(batch.Gap{Part: partRoadmap, Reason: fmt.Sprintf("only the first %d boards were read", len(build.boards.Value.Items))})
	}
	boards := slices.DeleteFunc(build.boards.Value.Items, func(b client.Board) bool {
		at, published := b.PublishedAt.Get()
		return !published || at.Before(build.start)
	})
	slices.SortStableFunc(boards, func(a, b client.Board) int {
		return b.PublishedAt.Or(time.Time{}).Compare(a.PublishedAt.Or(time.Time{}))
	})
	build.boards.Value.Items = boards
	build.live, build.items = make([]*batch.Result[client.Page[client.LiveItem]], len(boards)), make([]*batch.Result[client.Page[client.Item]], len(boards))
	started := 0
	for i, b := range boards {
		if at, _ := b.PublishedAt.Get(); !build.inWeek(at) || started == boardsMax {
			continue
		}
		started++
		build.live[i] = batch.Start(build.Reader, partRoadmap, "plan:read", func(ctx context.Context) (client.Page[client.LiveItem], error) {
			return build.API.ListPlanLiveItems(ctx, client.ListPlanLiveItemsInput{BoardID: b.ID, Limit: client.Value(itemsMax)})
		})
		build.items[i] = batch.Start(build.Reader, partRoadmap, "plan:read", func(ctx context.Context) (client.Page[client.Item], error) {
			return build.API.ListPlanItems(ctx, client.ListPlanItemsInput{BoardID: b.ID, Limit: client.Value(itemsMax)})
		})
	}
}

// report combines the results of the calls into a report.
func (build *builder) report(goals []attention.Judgement) Report {
	out := Report{
		Company: phrase.Excerpt(build.company.Value.Name.Or(""), 80), Week: build.Week.String(), Title: build.title(),
		From: client.Day(build.monday), To: client.Day(build.monday.AddDate(0, 0, 6)), TimeZone: build.clock.Name, ZoneNote: build.clock.Note,
		Over: build.over(), Days: build.days(), ReadAt: build.now.UTC(), ReadText: build.clock.Moment(build.now),
		Goals: build.goalsOf(goals), Roadmap: build.roadmap(), Posts: build.postsOfWeek(), Audits: build.auditsOfWeek(),
	}
	out.Metrics, out.MoreMetrics = build.metricRows()
	out.Reviews = build.reviewsOfWeek()
	out.NotRead, out.Calls = build.Gaps(), build.Sent()+1
	return out
}

func (build *builder) goalsOf(all []attention.Judgement) []Goal {
	out := []Goal{}
	if len(all) > goalsMax {
		build.AddGap(batch.Gap{Part: partGoals, Reason: fmt.Sprintf("only the %d with the highest priority are listed, of %d", goalsMax, len(all))})
		all = all[:goalsMax]
	}
	for _, j := range all {
		g := Goal{ID: j.ID, Name: phrase.Excerpt(j.Name(), 80), State: j.State, Text: j.Text()}
		baseline, hasBaseline := j.BaselineValue.Get()
		target, hasTarget := j.TargetValue.Get()
		if j.HasValue && hasBaseline && hasTarget && baseline != target {
			g.Share = min(1, max(0, (j.Value-baseline)/(target-baseline)))
		}
		out = append(out, g)
	}
	return out
}

// roadmap returns the boards that were published in the week or after it.
func (build *builder) roadmap() []Board {
	out := []Board{}
	left := 0
	for i, b := range build.boards.Value.Items {
		if len(out) == boardRowsMax {
			left++
			continue
		}
		at := b.PublishedAt.Or(time.Time{})
		row := Board{Name: phrase.Excerpt(b.Name.Or(b.ID), 60), Created: []string{}, Edited: []string{}}
		row.Text = fmt.Sprintf("version %d, published %s", b.PublishedVersion.Or(0), build.clock.Soon(at))
		switch row.PublishedLater = !build.inWeek(at); {
		case row.PublishedLater:
			row.Text += ", after this week (earlier versions are not listed here)"
		case build.live[i] == nil:
			row.Text += "; its items were not read"
		case build.live[i].Known && build.items[i].Known:
			row.setItems(build.span, at, build.live[i].Value, build.items[i].Value)
		}
		out = append(out, row)
	}
	if left > 0 {
		out = append(out, Board{Name: phrase.Plural(left, "more board", "more boards"), Text: "published in the week or after it", Created: []string{}, Edited: []string{}})
	}
	return out
}

// setItems sets which live items were created and edited in the week. A live item shows the content
// at the time of the publish, so an edit after it does not count.
func (b *Board) setItems(s span, publishedAt time.Time, live client.Page[client.LiveItem], items client.Page[client.Item]) {
	byID := map[string]client.Item{}
	for _, i := range items.Items {
		byID[i.ID] = i
	}
	for _, l := range live.Items {
		i := byID[l.ID]
		created, edited := i.CreatedAt.Or(time.Time{}), i.UpdatedAt.Or(time.Time{})
		switch title := phrase.Excerpt(l.Title, 80); {
		case s.inWeek(created):
			b.Created = append(b.Created, title)
		case s.inWeek(edited) && !edited.After(publishedAt):
			b.Edited = append(b.Edited, title)
		}
	}
	b.Created, b.Edited = listUpTo(b.Created, titlesMax), listUpTo(b.Edited, titlesMax)
	b.Live = countText(len(live.Items), live.Next != "", "item", "items") + " live"
}

// listUpTo returns the first elements of a list. If it leaves out any, it adds an element that says
// how many.
func listUpTo(all []string, limit int) []string {
	if len(all) <= limit {
		return all
	}
	return append(all[:limit:limit], fmt.Sprintf("and %d more", len(all)-limit))
}

// countText formats a number of records with its noun. If more is true, there are more than n.
func countText(n int, more bool, one, many string) string {
	if more {
		return fmt.Sprintf("%d+ %s", n, many)
	}
	return phrase.Plural(n, one, many)
}

func (build *builder) postsOfWeek() Posts {
	out := Posts{Read: build.posts.Known, NextRead: build.scheduled.Known, Sent: []Post{}, Failed: []Post{}, Next: []Post{}}
	if build.posts.Value.Next != "" {
		build.AddGap(batch.Gap{Part: partPosts, Reason: fmt.Sprintf("only the %d latest of the week were read", postsMax)})
	}
	for _, p := range build.posts.Value.Items {
		switch p.Status.Or("") {
		case client.BroadcastPostStatusPublished:
			if at := p.PublishedAt.Or(p.ScheduledFor.Or(time.Time{})); build.inWeek(at) {
				out.Sent = append(out.Sent, build.post(p, at))
			}
		case client.BroadcastPostStatusFailed:
			if at := p.ScheduledFor.Or(p.UpdatedAt.Or(time.Time{})); build.inWeek(at) {
				out.Failed = append(out.Failed, build.post(p, at))
			}
		}
	}
	byTime := func(a, b Post) int { return a.at.Compare(b.at) }
	slices.SortStableFunc(out.Sent, byTime)
	slices.SortStableFunc(out.Failed, byTime)
	overdue := 0
	for _, p := range build.scheduled.Value.Items {
		if attention.Overdue(p, build.now.Add(-attention.Grace)) {
			overdue++
		} else if len(out.Next) < nextMax {
			out.Next = append(out.Next, build.post(p, p.ScheduledFor.Or(build.now)))
		}
	}
	if overdue > 0 {
		out.Overdue = countText(overdue, overdue == len(build.scheduled.Value.Items) && build.scheduled.Value.Next != "", "post", "posts") + " overdue now"
	}
	return out
}

func (build *builder) post(p client.Post, at time.Time) Post {
	return Post{
		ID: p.ID, at: at, When: build.clock.Soon(at), Platform: phrase.Words(string(p.Platform.Or(""))),
		Text: phrase.Excerpt(cmp.Or(p.Title.Or(""), p.Body.Or(""), "(no text)"), 70), Reason: phrase.Excerpt(p.FailureReason.Or(""), 80),
	}
}

// auditsOfWeek returns the audits that ended in the week, newest first.
func (build *builder) auditsOfWeek() []Audit {
	out := []Audit{}
	all := build.audits.Value.Items
	for i, a := range all {
		at := a.FinishedAt.Or(a.StartedAt.Or(time.Time{}))
		if status := a.Status.Or(""); status != client.OptimiseAuditStatusComplete && status != client.OptimiseAuditStatusFailed || !build.inWeek(at) {
			continue
		}
		row := Audit{ID: a.ID, Site: phrase.Excerpt(a.RootURL.Or("a site"), 60), When: build.clock.Soon(at), Problem: attention.AuditProblem(a, all[i+1:])}
		if a.Status.Or("") == client.OptimiseAuditStatusComplete {
			row.Scores = scores.Of(a, scores.Previous(all[i+1:], a))
		}
		out = append(out, row)
	}
	if build.audits.Value.Next != "" && len(all) > 0 && !all[len(all)-1].StartedAt.Or(time.Time{}).Before(build.start) {
		build.AddGap(batch.Gap{Part: partAudits, Reason: fmt.Sprintf("only the %d latest were read", auditsMax)})
	}
	return out
}

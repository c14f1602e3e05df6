// Package attention finds what needs a person, such as reviews that wait for a reply, posts that
// were not sent, and goals that are behind. It uses only the public API, through shared/client, so
// a key is all that it needs.
package attention

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"growthworkspace/scripts/studio/batch"
	"growthworkspace/scripts/studio/phrase"
	"growthworkspace/scripts/studio/scores"
	"growthworkspace/scripts/studio/series"
	"growthworkspace/shared/client"
)

// Status lists what needs a person at one moment.
type Status struct {
	CheckedAt  time.Time   `json:"checkedAt"`
	Needs      []Need      `json:"needs"`      // at most one need of each kind, the most urgent kind first; empty if nothing needs a person
	NotChecked []batch.Gap `json:"notChecked"` // what could not be read
	Calls      int         `json:"calls"`      // how many requests the check sent, without retries; each counts against the read quota
}

// Need counts the records of one kind that need a person.
type Need struct {
	Kind  string   `json:"kind"`
	Count int      `json:"count"`
	More  bool     `json:"more"` // there are more records than Count
	Text  string   `json:"text"` // what needs a person, with the name of the first record
	IDs   []string `json:"ids"`  // the ids of the first records, the most urgent first
}

// The kinds of needs, in the order in which Read returns them.
const (
	KindApproval = "replies to approve"
	KindReview   = "reviews without a reply"
	KindReply    = "replies not posted"
	KindOverdue  = "posts overdue"
	KindFailed   = "posts not sent"
	KindChannel  = "channels failing"
	KindBoard    = "boards unpublished"
	KindGoal     = "goals"
	KindAudit    = "audits"
)

// The names of the check's parts, for the gaps in NotChecked.
const (
	partReviews  = "reviews"
	partPosts    = "posts"
	partChannels = "channels"
	partBoards   = "boards"
	partGoals    = "goals"
	partMetrics  = "metrics of goals"
	partAudits   = "audits"
)

// Limits of the check. They keep the number of calls small.
const (
	reviewsMax = 200 // the maximum number of waiting reviews to count
	postsMax   = 50  // the maximum number of posts of each status to count
	boardsMax  = 10  // the maximum number of boards to preview
	goalsMax   = 10  // the maximum number of metrics to read for goals
	auditsMax  = 50  // the maximum number of audits to read, the latest ones
	idsMax     = 5   // the maximum number of ids in a need
)

// Grace is how long after its time an unsent post counts as overdue, and how long a claim may last
// until its record counts as stuck. A dispatcher that runs every few minutes needs some time.
const Grace = 15 * time.Minute

// ErrNothingChecked means that the key has none of the scopes that the check needs.
var ErrNothingChecked = errors.New("the key has no scope that reads reviews, posts, boards, goals or audits, so nothing was checked")

// check holds the calls that one check makes.
type check struct {
	*batch.Reader

	now time.Time

	approvals, unanswered, failedReplies, stuckReplies *batch.Result[client.Page[client.Feedback]]
	scheduled, failedPosts, stuckPosts                 *batch.Result[client.Page[client.Post]]
	channels                                           *batch.Result[client.Page[client.Channel]]
	boards                                             *batch.Result[client.Page[client.Board]]
	previews                                           []*batch.Result[client.Preview]
	goals                                              *batch.Result[client.Page[client.Goal]]
	definitions                                        *batch.Result[client.Page[client.Definition]]
	audits                                             *batch.Result[client.Page[client.AuditSummary]]
}

// Read checks what needs a person. It sends at most 33 calls in three steps, and fewer if the key
// lacks scopes. NotChecked lists the parts that could not be read. Read returns an error if the
// service rejects the key or cannot be reached, and ErrNothingChecked if the key may read no part.
func Read(ctx context.Context, api *client.Client, now time.Time) (Status, error) {
	r, err := batch.NewReader(ctx, api)
	if err != nil {
		return Status{}, err
	}
	c := &check{Reader: r, now: now}
	c.startLists()
	c.Wait()
	if c.Sent() == 0 {
		return Status{}, ErrNothingChecked
	}
	c.startPreviews()
	judge := c.startGoals()
	c.Wait()
	out := Status{CheckedAt: now.UTC(), Needs: []Need{}}
	for _, n := range []Need{
		c.needApprovals(), c.needReviews(), c.needReplies(),
		c.needOverdue(), c.needFailedPosts(), c.needChannels(), c.needBoards(), c.needGoals(judge()), c.needAudits(),
	} {
		if n.Count > 0 {
			n.IDs = n.IDs[:min(len(n.IDs), idsMax)]
			out.Needs = append(out.Needs, n)
		}
	}
	out.NotChecked, out.Calls = c.Gaps(), c.Sent()+1
	return out, nil
}

// Complete reports whether every part was read, apart from parts whose scope the key lacks and
// lists that are too long.
func (s Status) Complete() bool {
	return !slices.ContainsFunc(s.NotChecked, func(g batch.Gap) bool { return g.Failed })
}

func (c *check) startLists() {
	reviews := func(status client.FeedbackReplyStatus, limit int) *batch.Result[client.Page[client.Feedback]] {
		return ListReviews(c.Reader, partReviews, client.ListFeedbackInput{ReplyStatus: client.Value(status), Limit: client.Value(limit)})
	}
	c.approvals, c.unanswered = reviews(client.FeedbackReplyStatusNeedsReview, reviewsMax), reviews(client.FeedbackReplyStatusNone, reviewsMax)
	c.failedReplies, c.stuckReplies = reviews(client.FeedbackReplyStatusFailed, postsMax), reviews(client.FeedbackReplyStatusPosting, postsMax)
	posts := func(status client.BroadcastPostStatus, order string) *batch.Result[client.Page[client.Post]] {
		return ListPosts(c.Reader, partPosts, client.ListBroadcastPostsInput{Status: client.Value(status), Order: client.Value(order), Limit: client.Value(postsMax)})
	}
	c.scheduled = posts(client.BroadcastPostStatusScheduled, "asc") // overdue posts come first

	// Ascending order lists stuck posts first.
	c.failedPosts, c.stuckPosts = posts(client.BroadcastPostStatusFailed, "desc"), posts(client.BroadcastPostStatusPublishing, "asc")

	c.channels = batch.Start(c.Reader, partChannels, "broadcast:read", func(ctx context.Context) (client.Page[client.Channel], error) {
		return c.API.ListBroadcastChannels(ctx, client.ListBroadcastChannelsInput{})
	})
	c.boards = ListBoards(c.Reader, partBoards)
	c.goals = ListGoals(c.Reader, partGoals)
	if c.May("context:read") {
		c.definitions = ListDefinitions(c.Reader, partMetrics)
	}
	c.audits = ListAudits(c.Reader, partAudits, auditsMax)
}

// ListReviews starts a call that lists reviews.
func ListReviews(r *batch.Reader, part string, in client.ListFeedbackInput) *batch.Result[client.Page[client.Feedback]] {
	return batch.Start(r, part, "feedback:read", func(ctx context.Context) (client.Page[client.Feedback], error) { return r.API.ListFeedback(ctx, in) })
}

// ListPosts starts a call that lists posts.
func ListPosts(r *batch.Reader, part string, in client.ListBroadcastPostsInput) *batch.Result[client.Page[client.Post]] {
	return batch.Start(r, part, "broadcast:read", func(ctx context.Context) (client.Page[client.Post], error) {
		return r.API.ListBroadcastPosts(ctx, in)
	})
}

// ListBoards starts a call that lists the first 100 roadmap boards.
func ListBoards(r *batch.Reader, part string) *batch.Result[client.Page[client.Board]] {
	return batch.Start(r, part, "plan:read", func(ctx context.Context) (client.Page[client.Board], error) {
		return r.API.ListPlanBoards(ctx, client.ListPlanBoardsInput{Limit: client.Value(100)})
	})
}

// ListGoals starts a call that lists all brand goals.
func ListGoals(r *batch.Reader, part string) *batch.Result[client.Page[client.Goal]] {
	return batch.Start(r, part, "context:read", func(ctx context.Context) (client.Page[client.Goal], error) {
		return r.API.ListContextGoals(ctx, client.ListContextGoalsInput{Limit: client.Value(200)})
	})
}

// ListDefinitions starts a call that lists the first 200 metrics.
func ListDefinitions(r *batch.Reader, part string) *batch.Result[client.Page[client.Definition]] {
	return batch.Start(r, part, "metrics:read", func(ctx context.Context) (client.Page[client.Definition], error) {
		return r.API.ListMetricDefinitions(ctx, client.ListMetricDefinitionsInput{Limit: client.Value(200)})
	})
}

// ListAudits starts a call that lists the latest audits.
func ListAudits(r *batch.Reader, part string, limit int) *batch.Result[client.Page[client.AuditSummary]] {
	return batch.Start(r, part, "optimise:read", func(ctx context.Context) (client.Page[client.AuditSummary], error) {
		return r.API.ListOptimiseAudits(ctx, client.ListOptimiseAuditsInput{Limit: client.Value(limit)})
	})
}

// addGapIfTruncated adds a gap if a list contains more records than were read.
func addGapIfTruncated[T any](r *batch.Reader, part string, list *batch.Result[client.Page[T]]) {
	if list.Value.Next != "" {
		r.AddGap(batch.Gap{Part: part, Reason: fmt.Sprintf("only the first %d were read", len(list.Value.Items))})
	}
}

// startPreviews starts the previews of the boards in use.
func (c *check) startPreviews() {
	boards := slices.DeleteFunc(c.boards.Value.Items, func(b client.Board) bool { return !b.Active.Or(true) })
	if len(boards) > boardsMax {
		slices.SortStableFunc(boards, func(a, b client.Board) int {
			return b.UpdatedAt.Or(time.Time{}).Compare(a.UpdatedAt.Or(time.Time{}))
		})
		c.AddGap(batch.Gap{Part: partBoards, Reason: fmt.Sprintf("only the %d that changed last were previewed, of %s", boardsMax, countText(len(boards), c.boards.Value.Next != ""))})
		boards = boards[:boardsMax]
	}
	addGapIfTruncated(c.Reader, partBoards, c.boards)
	c.boards.Value.Items = boards
	for _, b := range boards {
		c.previews = append(c.previews, batch.Start(c.Reader, partBoards, "plan:read", func(ctx context.Context) (client.Preview, error) {
			return c.API.PreviewPlanPublish(ctx, client.PreviewPlanPublishInput{BoardID: b.ID})
		}))
	}
}

// startGoals starts the calls that Judge needs. Once the calls have ended, judge returns the goals
// with their states.
func (c *check) startGoals() (judge func() []Judgement) {
	if c.definitions == nil {
		return func() []Judgement { return nil }
	}
	addGapIfTruncated(c.Reader, partGoals, c.goals)
	addGapIfTruncated(c.Reader, partMetrics, c.definitions)
	return JudgeGoals(c.Reader, partMetrics, c.goals.Value.Items, c.definitions.Value.Items, goalsMax, c.now)
}

// JudgeGoals starts the calls that read the goals' metrics. It reads at most limit metrics,
// starting with those of the highest-priority goals. Once the calls have ended, judge returns all
// goals with their states.
func JudgeGoals(r *batch.Reader, part string, goals []client.Goal, definitions []client.Definition, limit int, now time.Time) (judge func() []Judgement) {
	metrics := map[string]*series.Metric{}
	for _, m := range series.Of(definitions, nil) {
		metrics[strings.TrimPrefix(m.Key, "custom.")] = &m
	}
	goals = slices.Clone(goals)
	slices.SortStableFunc(goals, func(a, b client.Goal) int { return cmp.Compare(a.Priority.Or(1e9), b.Priority.Or(1e9)) })
	months := map[string]*batch.Result[client.Page[client.Point]]{} // by the metric's key
	left := 0
	for _, g := range goals {
		key := strings.TrimPrefix(g.MetricKey.Or(""), "custom.")
		m := metrics[key]
		if !NeedsPoints(g) || m == nil || m.Kind == client.MetricsKindDerived || months[key] != nil {
			continue
		}
		if len(months) == limit {
			left++
			continue
		}
		months[key] = startMonths(r, m.Key, now)
	}
	if left > 0 {
		r.AddGap(batch.Gap{Part: part, Reason: fmt.Sprintf("%s of goals with a lower priority were not read", phrase.Plural(left, "metric", "metrics"))})
	}
	return func() (out []Judgement) {
		for _, g := range goals {
			key := strings.TrimPrefix(g.MetricKey.Or(""), "custom.")
			var points []client.Point
			if result := months[key]; result != nil {
				if points = result.Value.Items; result.Err != nil && !IsTotalRefusal(result.Err) {
					r.AddFailure(part, result.Err)
				}
			}
			out = append(out, Judge(g, metrics[key], points, now))
		}
		return out
	}
}

func startMonths(r *batch.Reader, key string, now time.Time) *batch.Result[client.Page[client.Point]] {
	from, to := GoalMonths(now)
	in := client.ListMetricPointsInput{
		MetricKey: key, Grain: client.Value(client.MetricsGrainMonth), From: client.Value(client.Day(from)), To: client.Value(client.Day(to)), Total: client.Value(true),
	}
	return batch.Try(r, func(ctx context.Context) (client.Page[client.Point], error) { return r.API.ListMetricPoints(ctx, in) })
}

// IsTotalRefusal reports whether err is the service's refusal to return the total of a metric
// because its parts, such as the average of each country, do not add up to a total.
func IsTotalRefusal(err error) bool {
	var refused *client.Error
	return errors.As(err, &refused) && refused.Status == 400 && strings.Contains(strings.Join(refused.Messages, " "), "seriesId")
}

func (c *check) needApprovals() Need {
	n, first := reviewNeed(KindApproval, c.approvals)
	n.Text = n.number("reply", "replies") + " to approve, first: " + first
	return n
}

func (c *check) needReviews() Need {
	n, first := reviewNeed(KindReview, c.unanswered)
	n.Text = n.number("review", "reviews") + " without a reply, first: " + first
	return n
}

// reviewNeed returns a need that concerns reviews, without its text, and the name of the most
// urgent review.
func reviewNeed(kind string, list *batch.Result[client.Page[client.Feedback]]) (n Need, first string) {
	reviews := ByUrgency(list.Value.Items)
	n = Need{Kind: kind, Count: len(reviews), More: list.Value.Next != ""}
	for _, f := range reviews {
		n.IDs = append(n.IDs, f.ID)
	}
	if n.Count > 0 {
		first = ReviewName(reviews[0])
	}
	return n, first
}

// ReviewName returns a name for a review: its stars and its first words.
func ReviewName(f client.Feedback) string {
	name := phrase.Words(string(f.Source.Or("")))
	if rating, ok := f.Rating.Get(); ok {
		name = phrase.Stars(rating)
	}
	return name + " " + phrase.Excerpt(cmp.Or(f.Title.Or(""), f.Body.Or(""), "(no text)"), 40)
}

func (c *check) needReplies() Need {
	stuck := slices.DeleteFunc(c.stuckReplies.Value.Items, func(f client.Feedback) bool { return f.UpdatedAt.Or(time.Time{}).After(c.now.Add(-Grace)) })
	all := slices.Concat(c.failedReplies.Value.Items, stuck)
	n := Need{Kind: KindReply, Count: len(all), More: c.failedReplies.Value.Next != "" || c.stuckReplies.Value.Next != ""}
	for _, f := range all {
		n.IDs = append(n.IDs, f.ID)
	}
	if n.Count > 0 {
		n.Text = fmt.Sprintf("%s failed or stuck in posting, first: %s", n.number("reply", "replies"), ReviewName(all[0]))
	}
	return n
}

func (c *check) needOverdue() Need {
	n := Need{Kind: KindOverdue}
	for _, p := range c.scheduled.Value.Items {
		if !Overdue(p, c.now.Add(-Grace)) {
			continue
		}
		if n.Count++; n.Count == 1 {
			n.Text = fmt.Sprintf(", the first for %s: %s", elapsedText(c.now, p.ScheduledFor.Or(c.now)), PostName(p))
		}
		n.IDs = append(n.IDs, p.ID)
	}
	n.More = n.Count > 0 && n.Count == len(c.scheduled.Value.Items) && c.scheduled.Value.Next != ""
	n.Text = n.number("post", "posts") + " overdue" + n.Text
	return n
}

func (c *check) needFailedPosts() Need {
	stuck := slices.DeleteFunc(c.stuckPosts.Value.Items, func(p client.Post) bool { return p.UpdatedAt.Or(time.Time{}).After(c.now.Add(-Grace)) })
	all := slices.Concat(c.failedPosts.Value.Items, stuck)
	n := Need{Kind: KindFailed, Count: len(all), More: c.failedPosts.Value.Next != "" || c.stuckPosts.Value.Next != ""}
	for _, p := range all {
		n.IDs = append(n.IDs, p.ID)
	}
	if n.Count > 0 {
		n.Text = fmt.Sprintf("%s failed or stuck in sending: %s", n.number("post", "posts"), PostName(all[0]))
		if reason := all[0].FailureReason.Or(""); reason != "" {
			n.Text += " (" + phrase.Excerpt(reason, 40) + ")"
		}
	}
	return n
}

// PostName returns a name for a post: its platform and its first words.
func PostName(p client.Post) string {
	return phrase.Words(string(p.Platform.Or(""))) + ", " + phrase.Excerpt(cmp.Or(p.Title.Or(""), p.Body.Or(""), "(no text)"), 40)
}

func (c *check) needChannels() Need {
	n := Need{Kind: KindChannel}
	for _, channel := range c.channels.Value.Items {
		why, fails := ChannelProblem(channel, c.now)
		if !fails || !channel.Active.Or(true) {
			continue
		}
		if n.Count++; n.Count == 1 {
			n.Text = fmt.Sprintf(": %s (%s)", ChannelName(channel), phrase.Excerpt(why, 50))
		}
		n.IDs = append(n.IDs, channel.ID)
	}
	n.Text = n.number("channel fails", "channels fail") + n.Text
	return n
}

func (c *check) needBoards() Need {
	n := Need{Kind: KindBoard}
	for i, b := range c.boards.Value.Items {
		p := c.previews[i].Value
		if len(p.Added)+len(p.Updated)+len(p.Removed) == 0 { // HasChanges is also true for an empty board that was never published
			continue
		}
		if n.Count++; n.Count == 1 {
			n.Text = fmt.Sprintf(": %s (%d added, %d changed, %d removed)", phrase.Excerpt(b.Name.Or(b.ID), 30), len(p.Added), len(p.Updated), len(p.Removed))
		}
		n.IDs = append(n.IDs, b.ID)
	}
	n.Text = n.number("board has", "boards have") + " unpublished changes" + n.Text
	return n
}

func (c *check) needGoals(goals []Judgement) Need {
	n := Need{Kind: KindGoal}
	for _, state := range []GoalState{GoalPast, GoalBehind} {
		for _, g := range goals {
			if g.State != state {
				continue
			}
			if n.Count++; n.Count == 1 {
				n.Text = ": " + phrase.Excerpt(g.Name(), 30) + " (" + g.Text() + ")"
			}
			n.IDs = append(n.IDs, g.ID)
		}
	}
	n.Text = n.number("goal is", "goals are") + " behind or past the due date" + n.Text
	return n
}

func (c *check) needAudits() Need {
	n := Need{Kind: KindAudit}
	seen := map[string]bool{}
	audits := c.audits.Value.Items
	for i, a := range audits {
		site := a.SiteID.Or(a.RootURL.Or(a.ID))
		if a.Status.Or("") == client.OptimiseAuditStatusRunning || seen[site] {
			continue
		}
		seen[site] = true
		why := AuditProblem(a, audits[i+1:])
		if why == "" {
			continue
		}
		if n.Count++; n.Count == 1 {
			n.Text = fmt.Sprintf(": %s (%s)", phrase.Excerpt(a.RootURL.Or("a site"), 40), why)
		}
		n.IDs = append(n.IDs, a.ID)
	}
	n.Text = n.number("site's last audit", "sites' last audits") + " fell or failed" + n.Text
	return n
}

// AuditProblem says which scores of an audit are lower than in the previous audit, or why the audit
// failed. It returns "" if neither applies. older contains the audits before a, newest first.
func AuditProblem(a client.AuditSummary, older []client.AuditSummary) string {
	if a.Status.Or("") == client.OptimiseAuditStatusFailed {
		return "failed: " + phrase.Excerpt(a.Error.Or("no reason is stored"), 50)
	}
	var fell []string
	for _, s := range scores.Of(a, scores.Previous(older, a)) {
		if s.Good == "bad" {
			fell = append(fell, s.Name+" "+s.Text+", "+s.Change)
		}
	}
	return strings.Join(fell, "; ")
}

// number formats the count with its noun.
func (n Need) number(one, many string) string {
	if n.Count == 1 && !n.More {
		return "1 " + one
	}
	return countText(n.Count, n.More) + " " + many
}

// countText formats the number n. If more is set, it adds a plus sign, because there are more than
// n.
func countText(n int, more bool) string {
	if more {
		return fmt.Sprintf("%d+", n)
	}
	return fmt.Sprint(n)
}

// elapsedText formats the time between at and now, such as "3 days".
func elapsedText(now, at time.Time) string {
	switch d := now.Sub(at); {
	case d < time.Hour:
		return phrase.Plural(int(d/time.Minute), "minute", "minutes")
	case d < 48*time.Hour:
		return phrase.Plural(int(d/time.Hour), "hour", "hours")
	default:
		return phrase.Plural(int(d/(24*time.Hour)), "day", "days")
	}
}

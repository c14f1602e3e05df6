package studio

import (
	"slices"
	"strconv"
	"time"

	"growthworkspace/scripts/studio/attention"
	"growthworkspace/scripts/studio/civiltime"
	"growthworkspace/scripts/studio/period"
	"growthworkspace/scripts/studio/phrase"
	"growthworkspace/scripts/studio/series"
	"growthworkspace/shared/client"
)

// overviewData is the data for the overview template.
type overviewData struct {
	Start  *startData // nil if the page does not show the first steps
	Ranges []period.Range
	Range  period.Range
	Tiles  []tile
	More   int      // the number of metrics without a tile
	NoTile *failure // why tiles are missing
	NoGoal *failure // why goals are unknown
	Week   *reviewTile

	Reviews   []client.Feedback
	Waiting   string
	NoReviews *failure

	Clock    civiltime.Clock // formats the times of the posts
	Posts    *result[client.Page[client.Post]]
	Next     []client.Post
	Overdue  *result[client.Page[client.Post]] // the posts that were due before tomorrow
	Failed   *result[client.Page[client.Post]]
	Boards   *result[client.Page[client.Board]]
	Channels *result[client.Page[client.Channel]]
	Audits   *result[client.Page[client.AuditSummary]]
	Troubles []trouble
	Activity *overviewActivity // nil if the service has no feed of changes
	Today    time.Time
	now      time.Time
}

// tile shows one metric on the overview.
type tile struct {
	metric
	series.Comparison

	Failure *failure
	NoTotal bool     // whether the metric's series cannot be combined into a total
	Goal    *goalBar // nil if the metric has no active goal
	Pin     *pinForm // nil if nothing can be pinned
}

// trouble is something that needs attention, usually because it has stopped working.
type trouble struct {
	Badge, Tone     string // one word, and the CSS class of its colour
	What, Why, Path string // what has stopped working, the reason, and the page that shows it
	At              time.Time
	Checked         bool // whether At is the time of the last check
}

// reviewsShownMax is the maximum number of waiting reviews that the overview lists.
const reviewsShownMax = 5

// Limits on the scheduled posts on the overview. It reads more posts than it lists, because it
// leaves out posts that were due earlier today.
const (
	postsShownMax = 5
	postsReadMax  = 50
)

func (s *Studio) overview(v *pageRequest) *view {
	now := v.Now().UTC()
	d := &overviewData{Today: period.Day.Start(now), now: now}
	for _, r := range period.Ranges(now) {
		if r.DefaultGrain() == period.Day { // longer ranges are drawn by week or month, which only the metrics page offers
			d.Ranges = append(d.Ranges, r)
		}
	}
	var err error
	if d.Range, err = period.ParseRange(v.r.URL.Query().Get("range"), "", "", now); err != nil || d.Range.DefaultGrain() != period.Day {
		d.Range = d.Ranges[0]
	}
	definitions := v.listDefinitions()
	goals := v.listGoals()
	v.readWaiting()
	v.startOverviewReads(d)
	week := v.readReviewTile()
	activity := v.readActivity()
	v.wait()
	d.Week = week()

	d.NoTile, d.NoGoal = definitions.Failure, goals.Failure
	firstSteps := v.startFirstSteps(d, definitions)
	v.readTiles(d, metricsOf(definitions.Value.Items, goals.Value.Items), now)
	d.Clock = v.clock()
	d.setReviewsAndPosts(v.frameData())
	d.addOverdue()
	d.addTroubles()
	d.addUnconfirmed(definitions.Value.Items)
	d.Start, d.Activity = firstSteps(), activity()
	return &view{page: "overview", place: "Overview", title: "Overview", data: d}
}

func (pr *pageRequest) listDefinitions() *result[client.Page[client.Definition]] {
	return startCall(pr, "metrics:read", "The metrics",
		bound(pr.api.ListMetricDefinitions, client.ListMetricDefinitionsInput{Limit: client.Value(200)}))
}

func (pr *pageRequest) listGoals() *result[client.Page[client.Goal]] {
	return startCall(pr, "context:read", "The brand goals",
		bound(pr.api.ListContextGoals, client.ListContextGoalsInput{Limit: client.Value(200)}))
}

// startOverviewReads starts the calls that read posts, boards, channels and audits.
func (pr *pageRequest) startOverviewReads(d *overviewData) {
	d.Posts = startCall(pr, "broadcast:read", "The next posts",
		bound(pr.api.ListBroadcastPosts, client.ListBroadcastPostsInput{
			Status: client.Value(client.BroadcastPostStatusScheduled), From: client.Value(client.Day(d.Today)),
			Order: client.Value("asc"), Limit: client.Value(postsReadMax),
		}))
	d.Overdue = pr.listOverdue("", "", postsReadMax)
	d.Failed = startCall(pr, "broadcast:read", "Posts that failed",
		bound(pr.api.ListBroadcastPosts, client.ListBroadcastPostsInput{
			Status: client.Value(client.BroadcastPostStatusFailed), Limit: client.Value(3),
		}))
	d.Channels = pr.listChannels()
	d.Boards = startCall(pr, "plan:read", "The roadmap boards",
		bound(pr.api.ListPlanBoards, client.ListPlanBoardsInput{Limit: client.Value(100)}))
	d.Audits = startCall(pr, "optimise:read", "The latest audits",
		bound(pr.api.ListOptimiseAudits, client.ListOptimiseAuditsInput{Limit: client.Value(20)}))
}

// readTiles reads the points of as many metrics as the limit on the page's calls allows, and adds a
// tile for each of these metrics.
func (pr *pageRequest) readTiles(d *overviewData, all []metric, now time.Time) {
	d.More = len(all)
	all = sortedByPins(slices.DeleteFunc(all, func(m metric) bool { return m.Kind == client.MetricsKindDerived }), pr.pins(pr.companyID()))
	shown := all[:min(len(all), pr.callsLeft())]
	d.More -= len(shown)
	w := d.Range.Window(period.Day, now)
	last := w.Buckets[len(w.Buckets)-1]
	from, to := minTime(w.First(), period.Month.Start(now)), maxTime(last, period.Day.Start(now)) // the bar of a goal needs the points of this month
	points := make([]*result[client.Page[client.Point]], len(shown))
	for i, m := range shown {
		points[i] = pr.listPoints(m.Name+", by day", m.Key, period.Day, from, to, true)
	}
	pr.wait()
	for i, m := range shown {
		t := tile{metric: m, Failure: points[i].Failure, Pin: pr.pinForm(m, "")}
		inRange := pointsBetween(points[i].Value.Items, w.First(), last)
		if t.Failure == nil {
			t.Comparison = m.Compare(inRange, w)
		}
		if t.NoTotal = t.Failure.isTotalRefusal() || len(inRange) > 0 && series.CountKnown(t.Now)+series.CountKnown(t.Before) == 0; !t.NoTotal && t.Failure == nil {
			t.Goal = m.goalBar(points[i].Value.Items, t.Unit, now)
		}
		d.Tiles = append(d.Tiles, t)
	}
}

// setReviewsAndPosts sets the most urgent reviews that wait for a reply, and the next posts.
func (d *overviewData) setReviewsAndPosts(k *frameData) {
	if d.NoReviews = k.needsReview.Failure; d.NoReviews == nil {
		d.NoReviews = k.noReply.Failure
	}
	d.Reviews = attention.ByUrgency(k.needsReview.Value.Items, k.noReply.Value.Items)
	d.Reviews = d.Reviews[:min(len(d.Reviews), reviewsShownMax)]
	d.Waiting = k.badge()
	for _, p := range d.Posts.Value.Items {
		if !attention.Overdue(p, d.now) && len(d.Next) < postsShownMax {
			d.Next = append(d.Next, p)
		}
	}
}

// addOverdue adds a trouble for the posts that are due but were not sent.
func (d *overviewData) addOverdue() {
	late := slices.DeleteFunc(slices.Clone(d.Overdue.Value.Items), func(p client.Post) bool { return !attention.Overdue(p, d.now) })
	if len(late) == 0 {
		return
	}
	oldest := late[0].ScheduledFor.Or(d.now)
	t := trouble{
		Badge: "overdue", Tone: "red", What: phrase.Plural(len(late), "post", "posts") + " overdue", Path: "/posts/list?status=" + overdueTab,
		Why: "the oldest was due " + d.Clock.Moment(oldest) + " and was not sent",
	}
	switch len(late) {
	case 1:
		t.What, t.Path = "Post on "+phrase.Words(string(late[0].Platform.Or("")))+": "+postName(late[0]), "/posts/"+late[0].ID
		t.Why = "it was due " + d.Clock.Moment(oldest) + " and was not sent"
	case postsReadMax:
		t.What = strconv.Itoa(postsReadMax) + " or more posts overdue"
	}
	d.Troubles = append(d.Troubles, t)
}

// Partial reports whether the tile's value includes today, which has not ended. The tile's change
// is computed only from days that have ended.
func (t tile) Partial() bool { return t.Window.OpenIndex < t.Window.FutureIndex }

// addTroubles collects what has stopped working. For each site, it looks only at the newest audit
// that is no longer running.
func (d *overviewData) addTroubles() {
	for _, c := range d.Channels.Value.Items {
		why, hasProblem := attention.ChannelProblem(c, d.now)
		if !hasProblem {
			continue
		}
		t := trouble{Badge: "broken", Tone: "red", What: attention.ChannelName(c) + " account", Why: why, Path: accountsPath + "#" + c.ID, At: c.LastCheckedAt.Or(time.Time{}), Checked: true}
		if attention.ChannelSends(c, d.now) {
			t.Badge, t.Tone = "soon", "amber"
		}
		d.Troubles = append(d.Troubles, t)
	}
	for _, p := range d.Failed.Value.Items {
		d.Troubles = append(d.Troubles, trouble{Badge: "failed", Tone: "red", What: "Post on " + phrase.Words(string(p.Platform.Or(""))) + ": " + postName(p), Why: p.FailureReason.Or("it was not sent"), Path: "/posts/" + p.ID, At: p.UpdatedAt.Or(time.Time{})})
	}
	seen := map[string]bool{}
	for _, a := range d.Audits.Value.Items {
		site := a.SiteID.Or(a.RootURL.Or(a.ID))
		if a.Status.Or("") == client.OptimiseAuditStatusRunning || seen[site] {
			continue
		}
		seen[site] = true
		if a.Status.Or("") == client.OptimiseAuditStatusFailed {
			d.Troubles = append(d.Troubles, trouble{Badge: "failed", Tone: "red", What: "Audit of " + a.RootURL.Or("a site"), Why: a.Error.Or("it failed"), Path: "/audits/" + a.ID, At: a.StartedAt.Or(time.Time{})})
		}
	}
}

// addUnconfirmed adds a trouble for each metric that was created by a push and that nobody has
// confirmed yet.
func (d *overviewData) addUnconfirmed(all []client.Definition) {
	for _, m := range all {
		if m.NeedsReview.Or(false) && len(d.Troubles) < troublesMax {
			d.Troubles = append(d.Troubles, trouble{Badge: "new", Tone: "blue", What: "New metric " + m.Name.Or(m.Key), Why: "a push has created it: give it a name and a unit, and confirm it", Path: metricPath(m.Key), At: m.CreatedAt.Or(time.Time{})})
		}
	}
}

// troublesMax is the length of the list of troubles at which addUnconfirmed stops adding to it.
const troublesMax = 12

// Published returns the board that was published most recently, or nil if none was.
func (d *overviewData) Published() *client.Board {
	var last *client.Board
	for i, b := range d.Boards.Value.Items {
		at, ok := b.PublishedAt.Get()
		if ok && (last == nil || at.After(last.PublishedAt.Or(time.Time{}))) {
			last = &d.Boards.Value.Items[i]
		}
	}
	return last
}

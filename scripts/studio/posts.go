package studio

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"growthworkspace/scripts/studio/attention"
	"growthworkspace/scripts/studio/civiltime"
	"growthworkspace/scripts/studio/phrase"
	"growthworkspace/shared/client"
)

// postData is the data for the post template.
type postData struct {
	Form            *form
	Action          string       // the address that the form is sent to
	Post            *client.Post // nil for a new post
	State           string       // the post's status; empty for a new post
	Idea            *client.Idea // the idea from which a new post is written
	IdeaID          string
	NoIdea          *failure
	Clock           civiltime.Clock
	Month           string // the month of the calendar that the page links back to
	Failure         *failure
	Channel         *client.Channel // the account that sends the post; nil if it is unknown
	Trouble         string          // why the account does not work; empty if it works or is unknown
	ExpiryWarning   string          // says that the account will stop working soon; empty if it will not
	Platform        string
	Cards           postPreview
	NoCopy          *failure // why the post to duplicate could not be read
	Copied          string   // the name of the post that the new post duplicates; empty if there is none
	ChannelsFailure *failure
	Kept            bool // the form contains values that the user typed, so it is shown even if the post cannot be read
	Locked          bool // the post can no longer change, because it is being sent or was sent
	Overdue         bool // the post is due but was not sent
	MayWrite        bool
	Last            *lastChange
}

// Others returns the platforms to which the post can be duplicated.
func (d *postData) Others() []string {
	return slices.DeleteFunc(platforms(), func(p string) bool { return p == d.Platform })
}

// isSent reports whether the post is being sent or was sent. Such a post can no longer be changed.
func isSent(p client.Post) bool {
	status := p.Status.Or("")
	return status == client.BroadcastPostStatusPublishing || status == client.BroadcastPostStatusPublished
}

func (pr *pageRequest) getPost(id string) *result[client.Post] {
	return startCall(pr, "broadcast:read", "The post",
		bound(pr.api.GetBroadcastPost, client.GetBroadcastPostInput{PostID: id}))
}

// postFields returns the form fields for a post on a platform. A post without an id is a new one.
func postFields(p client.Post, platform string, c civiltime.Clock, typed url.Values) []*field {
	due := ""
	at, dated := p.ScheduledFor.Get()
	if dated {
		due = c.Input(at)
	}
	fields := []*field{
		{Name: "body", Label: "Text", Kind: "long", Required: true, Stored: p.Body.Or("")},
		{Name: "scheduledFor", Label: "When", Kind: "time", Hint: "Date and time in " + c.Name + ".", Stored: due},
	}
	if p.ID == "" {
		choice := &field{Name: "platform", Label: "Platform", Kind: "choice", Required: true, Hint: "It cannot be changed later. Preview shows the fields of another one.", Suggested: platform, Choices: platforms()}
		fields = append([]*field{choice}, fields...)
	}
	if which := occurrenceField(at, dated, c, typed); which != nil {
		fields = append(fields, which)
	}
	add := func(f *field) {
		if hasField(platform, f.Name, f.Stored) {
			fields = append(fields, f)
		}
	}
	add(&field{Name: "title", Label: "Title", Kind: "text", Stored: p.Title.Or("")})
	add(&field{Name: "destination", Label: "Segment", Kind: "text", Hint: "Who gets it.", Stored: p.Destination.Or("")})
	add(&field{Name: "deepLink", Label: "Link", Kind: "text", Hint: "What the post opens.", Stored: p.DeepLink.Or("")})
	add(&field{Name: "hashtags", Label: "Hashtags", Kind: "list", Hint: "Separated by spaces or lines, with or without #.", Stored: strings.Join(p.Hashtags.Or(nil), "\n")})
	return append(fields, &field{Name: "media", Label: "Pictures and videos", Kind: "media", Hint: "Their web addresses. The service stores no files.", Stored: storedPictures(p)})
}

// occurrenceField returns a field for a local time that occurs twice because the clocks go back.
// The field asks which of the two times is meant. occurrenceField returns nil if the time occurs
// only once.
func occurrenceField(at time.Time, dated bool, c civiltime.Clock, typed url.Values) *field {
	stored, times := "", []time.Time(nil)
	if dated {
		if times = civiltime.Times(at.In(c.Location), c.Location); len(times) > 1 {
			stored = "first"
			if !at.Before(times[1]) {
				stored = "second"
			}
		}
	}
	if localTime, err := time.Parse(civiltime.Layout, typedField(typed, "scheduledFor")); err == nil {
		times = civiltime.Times(localTime, c.Location)
	}
	if len(times) < 2 {
		return nil
	}
	return &field{
		Name: "which", Label: "Which of the two", Kind: "choice", Choices: []string{"first", "second"}, Stored: stored,
		Hint: "The clocks go back, so this time occurs twice: first " + offset(times[0]) + ", then " + offset(times[1]) + ".",
	}
}

func (s *Studio) post(v *pageRequest) *view { return v.postPage(nil, nil) }

// postPage shows a post and its form. After a failed write, typed contains the values that the user
// typed, and refused says why the write failed.
func (pr *pageRequest) postPage(typed url.Values, refused *failure) *view {
	id, q := pr.r.PathValue("id"), pr.r.URL.Query()
	d := &postData{Action: "/posts", IdeaID: q.Get("idea"), MayWrite: pr.may("broadcast:write")}
	out := &view{page: "post", place: "Posts", title: "New post", data: d}
	if typed != nil {
		d.IdeaID = typed.Get("idea")
		pr.readFrame()
	}
	if refused != nil {
		out.status = refused.status()
	}
	channels := pr.listChannels()
	got, idea, original := &result[client.Post]{}, &result[client.Idea]{}, &result[client.Post]{}
	copyID := q.Get("copy")
	if id != "" {
		got = pr.getPost(id)
	} else if copyID != "" {
		original = pr.getPost(copyID)
	} else if d.IdeaID != "" {
		idea = pr.getIdea(d.IdeaID)
	}
	pr.wait()
	stored := got.Value
	last := pr.startLastChange(changedRecord{client.ChangeTypePost, stored.ID, string(stored.Status.Or("")), stored.UpdatedAt})
	pr.wait()
	d.Last = last()
	if d.Clock = pr.clock(); typed != nil {
		d.Clock = civiltime.ClockOf(typed.Get("zone")) // the time zone in which the time was typed
	}
	d.Failure, d.ChannelsFailure = got.Failure, channels.Failure
	month := pr.Now()
	if id != "" {
		d.Post, d.Action, out.title = &stored, "/posts/"+id, "Post"
		d.State, d.Locked, d.Overdue = shownPostOf(stored, d.Clock, pr.Now()).State(), isSent(stored), attention.Overdue(stored, pr.Now())
		month = stored.ScheduledFor.Or(month)
		if got.Failure != nil {
			out.status = got.Failure.status()
		}
	}
	if d.Platform = string(stored.Platform.Or("")); id == "" {
		d.Platform = platformOf(typed, q, idea.Value, channels.Value.Items, pr.Now())
	}
	d.setChannel(channels.Value.Items, pr.Now())
	d.Form = newForm("the post", "/posts/"+id, got.ETag, d.MayWrite && !d.Locked, postFields(stored, d.Platform, d.Clock, typed)...)
	if id == "" {
		d.Form.Back = "/posts"
		if d.NoCopy = original.Failure; copyID != "" && d.NoCopy == nil && typed == nil {
			d.IdeaID = original.Value.IdeaID.Or("")
			d.Copied = postName(original.Value)
			d.fillFrom(original.Value)
		}
		if d.Copied = cmp.Or(d.Copied, typed.Get("copied")); d.Copied != "" {
			out.title = "Copy of “" + d.Copied + "”, not saved yet"
		}
		if d.NoIdea = idea.Failure; d.IdeaID != "" && d.NoIdea == nil && copyID == "" {
			d.Idea = &idea.Value
		}
		if typed == nil {
			d.suggest(q.Get("day"), pr.Now())
		}
		if day, err := time.Parse(time.DateOnly, q.Get("day")); err == nil {
			month = day
		}
	}
	d.Month = month.In(d.Clock.Location).Format(monthLayout)
	if typed != nil {
		d.Form.restore(typed, refused, refused != nil && id != "" && d.Failure == nil)
		d.Kept = true
	}
	d.Cards = previewOf(d.Form, d.Platform, stored.ThreadParts.Or(nil))
	d.Form.field("body").Hint = d.Cards.Count
	return out
}

// accountProblem returns the reason why posts on a platform are not sent. It returns "" if the
// platform's account works.
func accountProblem(all []client.Channel, platform string, now time.Time) string {
	c := channelOf(all, client.BroadcastPlatform(platform))
	if c == nil {
		return "No " + phrase.Words(platform) + " account is connected, so its posts may not be sent."
	}
	if why, hasProblem := attention.ChannelProblem(*c, now); hasProblem && !attention.ChannelSends(*c, now) {
		return "The " + phrase.Words(platform) + " account is not working: " + strings.TrimRight(why, ".") + ". Its posts will not be sent."
	}
	return ""
}

// setChannel sets the account that sends the post, and why it does not work or will stop working.
func (d *postData) setChannel(all []client.Channel, now time.Time) {
	d.Channel = channelOf(all, client.BroadcastPlatform(d.Platform))
	if d.Channel == nil {
		return
	}
	why, hasProblem := attention.ChannelProblem(*d.Channel, now)
	switch {
	case !hasProblem:
	case attention.ChannelSends(*d.Channel, now):
		d.ExpiryWarning = "will stop working soon"
		if at, ok := d.Channel.CredentialsExpireAt.Get(); ok && at.After(now) {
			d.ExpiryWarning = "works until " + d.Clock.Moment(at)
		}
	default:
		d.Trouble = strings.TrimRight(why, ".")
	}
}

// fillFrom fills in the form of a new post from another post. The time is not copied, so that
// nothing is sent twice by accident.
func (d *postData) fillFrom(p client.Post) {
	for _, f := range postFields(p, d.Platform, d.Clock, nil) {
		if f.Name == "scheduledFor" || f.Name == "which" || !hasField(d.Platform, f.Name, "") && f.Name != "body" && f.Name != "media" {
			continue
		}
		d.Form.field(f.Name).Text = f.Stored
	}
}

// suggest fills in the form of a new post, using the day that the user chose and the idea.
func (d *postData) suggest(day string, now time.Time) {
	set := func(name, text string) {
		for _, f := range d.Form.Fields {
			if f.Name == name {
				f.Text = text
			}
		}
	}
	if d.Idea != nil {
		title, body := postTextFromIdea(*d.Idea, d.Platform)
		set("title", title)
		set("body", body)
		if at, ok := d.Idea.SuggestedFor.Get(); ok && at.After(now) {
			set("scheduledFor", d.Clock.Input(at))
		}
	}
	if date, err := time.Parse(time.DateOnly, day); err == nil {
		localTime := defaultPostTime(date)
		times := civiltime.Times(localTime, d.Clock.Location)
		if len(times) > 0 && times[0].Before(now) && civiltime.DateOf(now, d.Clock.Location).Equal(date) {
			localTime = now.In(d.Clock.Location).Truncate(time.Hour).Add(time.Hour) // for today, the start of the next hour
		}
		set("scheduledFor", localTime.Format(civiltime.Layout))
	}
}

// postTextFromIdea returns the initial title and text of a post that is written from an idea. On a
// platform without titles, the text begins with the idea's title.
func postTextFromIdea(i client.Idea, platform string) (title, body string) {
	title, body = i.Title.Or(""), i.Summary.Or("")
	switch {
	case body == "":
		return "", title
	case title == "" || hasField(platform, "title", ""):
		return title, body
	}
	return "", title + "\n\n" + body
}

// channelOf returns the active account on a platform, or nil if there is none.
func channelOf(all []client.Channel, platform client.BroadcastPlatform) *client.Channel {
	for i, c := range all {
		if c.Platform.Or("") == platform && c.Active.Or(true) {
			return &all[i]
		}
	}
	return nil
}

// due returns the time at which a post is due, as typed in the form. changed is that time only if
// the user changed it, and absent otherwise.
func (c *formChanges) due(zone civiltime.Clock) (changed client.Optional[time.Time], at time.Time) {
	typed, which := typedField(c.sent, "scheduledFor"), typedField(c.sent, "which")
	same := typed == renderedField(c.sent, "scheduledFor") && which == renderedField(c.sent, "which")
	c.anyChanged = c.anyChanged || !same
	if typed == "" {
		if same {
			return client.Optional[time.Time]{}, at
		}
		return client.Null[time.Time](), at
	}
	localTime, err := time.Parse(civiltime.Layout, typed)
	if err != nil {
		localTime, err = time.Parse(civiltime.Layout+":05", typed)
	}
	if err != nil {
		c.addProblem("scheduledFor", "must be a date and a time such as 2026-08-12T09:30")
		return client.Optional[time.Time]{}, at
	}
	times := civiltime.Times(localTime, zone.Location)
	switch {
	case len(times) == 0:
		c.addProblem("scheduledFor", skippedTimeText(localTime, zone))
		return client.Optional[time.Time]{}, at
	case len(times) == 1:
		at = times[0]
	case which == "first":
		at = times[0]
	case which == "second":
		at = times[1]
	case !same:
		c.addProblem("which", "Choose one.")
		return client.Optional[time.Time]{}, at
	}
	if same {
		return client.Optional[time.Time]{}, at
	}
	return client.Value(at), at
}

// savePost creates a post, or stores the changes to one. The post's new status depends on the
// button that the user pressed.
func (s *Studio) savePost(v *pageRequest) *view {
	id, typed := v.r.PathValue("id"), v.r.PostForm
	collectPictures(typed)
	if typed.Get("do") == "preview" {
		return v.postPage(typed, nil)
	}
	c, zone := formChanges{sent: typed}, civiltime.ClockOf(typed.Get("zone"))
	in, at := c.postUpdate(id, zone)
	state := client.BroadcastPostStatus(typed.Get("state"))
	switch typed.Get("do") {
	case "schedule":
		in.Status = client.Value(client.BroadcastPostStatusScheduled)
	case "unschedule":
		in.Status = client.Value(client.BroadcastPostStatusDraft)
	}
	_, timeChanged := in.ScheduledFor.Get()
	_, statusChanged := in.Status.Get()
	state = in.Status.Or(state)
	if state == client.BroadcastPostStatusScheduled && (timeChanged || statusChanged) && !at.IsZero() && at.Before(v.Now()) {
		c.addProblem("scheduledFor", "This time has passed, so the post would be sent immediately. Choose a later one.")
	}
	if typed.Get("do") == "schedule" && typedField(typed, "scheduledFor") == "" {
		c.addProblem("scheduledFor", "Choose when it is sent.")
	}
	if c.problem != nil {
		return v.postPage(typed, c.problem)
	}
	if id != "" && !c.anyChanged && !statusChanged {
		return v.redirectWithNotice("/posts/"+id, nil, notice{Text: "Nothing was changed."})
	}
	res := v.writePost(in, typed)
	v.wait()
	if res.Failure != nil {
		return v.postPage(typed, res.Failure)
	}
	msg := notice{Record: postName(res.Value), Text: savedText(res.Value, zone)}
	if id == "" {
		msg.Undo, msg.back = undoNewPost(res), "/posts" // not the page of the post, because the undo deletes the post
		return v.redirectWithNotice("/posts/"+res.Value.ID, nil, msg)
	}
	reverse := formChanges{sent: revertedForm(typed)}
	before, _ := reverse.postUpdate(id, zone)
	if statusChanged {
		before.Status = client.Value(client.BroadcastPostStatus(typed.Get("state")))
	}
	if reverse.problem == nil {
		msg.Undo = undoPost(res, before)
	}
	return v.redirectWithNotice("/posts/"+res.Value.ID, nil, msg)
}

// postUpdate returns the changes that the user made in a form, and the time that the form contains.
func (c *formChanges) postUpdate(id string, zone civiltime.Clock) (in client.UpdateBroadcastPostInput, at time.Time) {
	in = client.UpdateBroadcastPostInput{
		PostID: id, Title: c.text("title"), Body: c.requiredText("body"), Hashtags: c.tags(), Media: c.pictures(), Destination: c.text("destination"), DeepLink: c.text("deepLink"),
	}
	in.ScheduledFor, at = c.due(zone)
	return in, at
}

// postName returns the title of a post or, if it has none, its first words.
func postName(p client.Post) string {
	return cmp.Or(p.Title.Or(""), phrase.Excerpt(p.Body.Or(""), 60), "The post")
}

// undoPost returns an undo that restores a post to its state before a change. It returns nil if the
// earlier status is one that only the dispatcher can set. The undo refuses to schedule a post in
// the past, because the post would be sent at once.
func undoPost(stored *result[client.Post], before client.UpdateBroadcastPostInput) undo {
	switch before.Status.Or("") {
	case "", client.BroadcastPostStatusDraft, client.BroadcastPostStatusScheduled:
	default:
		return nil
	}
	record := postName(stored.Value)
	return func(v *pageRequest) notice {
		at, dated := before.ScheduledFor.Get()
		if !dated {
			at, dated = stored.Value.ScheduledFor.Get()
		}
		status := before.Status.Or(stored.Value.Status.Or(""))
		if status == client.BroadcastPostStatusScheduled && dated && at.Before(v.Now()) {
			return notice{Record: record, Bad: true, Text: "Not undone: its time has passed, so it would be sent immediately."}
		}
		return undoCall(record, "broadcast:write", stored.ETag, bound(v.api.UpdateBroadcastPost, before))(v)
	}
}

// undoNewPost returns an undo that deletes a post that was just created.
func undoNewPost(stored *result[client.Post]) undo {
	return func(v *pageRequest) notice {
		return undoCall(postName(stored.Value), "broadcast:write", stored.ETag,
			bound(v.api.DeleteBroadcastPost, client.DeleteBroadcastPostInput{PostID: stored.Value.ID}))(v)
	}
}

// writePost starts the call that creates or changes a post.
func (pr *pageRequest) writePost(in client.UpdateBroadcastPostInput, typed url.Values) *result[client.Post] {
	return startCall(pr, "broadcast:write", "The post", func(ctx context.Context, options ...client.CallOption) (client.Post, error) {
		if in.PostID != "" {
			return pr.api.UpdateBroadcastPost(ctx, in, append(options, client.IfMatch(typed.Get("etag")))...)
		}
		create := client.CreateBroadcastPostInput{
			Platform: client.BroadcastPlatform(typedField(typed, "platform")), Title: in.Title, Body: in.Body.Or(""), Hashtags: in.Hashtags, Media: picturesToCreate(in.Media),
			Destination: in.Destination, DeepLink: in.DeepLink, ScheduledFor: in.ScheduledFor, Status: in.Status, IdeaID: optional(typed.Get("idea")),
		}
		return pr.api.CreateBroadcastPost(ctx, create, append(options, client.IdempotencyKey(typed.Get("once")))...)
	})
}

// savedText describes what a save did to a post.
func savedText(p client.Post, c civiltime.Clock) string {
	at, dated := p.ScheduledFor.Get()
	switch {
	case p.Status.Or("") == client.BroadcastPostStatusScheduled && dated:
		return "Saved. It is scheduled for " + c.Moment(at) + " (" + c.Name + ")."
	case p.Status.Or("") == client.BroadcastPostStatusFailed:
		return "Saved. It is sent only when you schedule it again."
	}
	return "Saved as a draft: nothing is sent until you schedule it."
}

// deletePost deletes a post, unless somebody has changed it since the page was loaded.
func (s *Studio) deletePost(v *pageRequest) *view {
	id, typed := v.r.PathValue("id"), v.r.PostForm
	in := client.DeleteBroadcastPostInput{PostID: id}
	res := startCall(v, "broadcast:write", "Delete the post",
		bound(v.api.DeleteBroadcastPost, in), client.IfMatch(typed.Get("etag")))
	v.wait()
	switch {
	case res.Failure != nil && res.Failure.Status == http.StatusPreconditionFailed:
		return v.redirectWithNotice("/posts/"+id, nil, notice{Record: typed.Get("record"), Bad: true, Text: "Somebody changed the post after you looked, so it was not deleted. This is its current state."})
	case res.Failure != nil:
		return v.redirectWithNotice("/posts/"+id, nil, notice{Record: typed.Get("record"), Bad: true, Text: "Not deleted: " + res.Failure.Text()})
	}
	return v.redirectWithNotice("/posts", url.Values{"month": {typed.Get("month")}}, notice{Record: typed.Get("record"), Text: "Deleted."})
}

func (pr *pageRequest) getIdea(id string) *result[client.Idea] {
	return startCall(pr, "broadcast:read", "The idea",
		bound(pr.api.GetBroadcastIdea, client.GetBroadcastIdeaInput{IdeaID: id}))
}

func (pr *pageRequest) listChannels() *result[client.Page[client.Channel]] {
	return startCall(pr, "broadcast:read", "The channels",
		bound(pr.api.ListBroadcastChannels, client.ListBroadcastChannelsInput{}))
}

package broadcast

import (
	"context"
	"net/url"
	"unicode/utf8"

	"growthworkspace/shared/claim"
	"growthworkspace/shared/fault"
	"growthworkspace/shared/table"
	"growthworkspace/shared/timestamp"
)

// The dispatcher sends posts that are due to their platform, and this service records the outcome. No HTTP operation does
// it; the command `workspace due` does the same on a command line.
//
//	Store.DuePosts         lists the posts that are due, of one company
//	Store.ClaimPost        locks one for this dispatcher: scheduled or failed → publishing
//	Store.ReportPublished  publishing → published
//	Store.ReportFailed     publishing → failed; the post can be edited, scheduled and claimed again
//	Store.RetryPost        publishing → scheduled, to be sent later
//
// The dispatcher sends what the claim returned, not what was listed before. While a post is publishing the API rejects
// edits and deletes with conflict. Store.StuckPosts lists old claims; see package claim. So a post is sent twice only
// where somebody decides it.

// Dispatch is a post with the claim on it.
type Dispatch struct {
	Post
	claim.Claim
}

// dispatches are claimed while they are publishing.
var dispatches = claim.Kind[Dispatch]{
	Name: "post", Prefix: postIDs, Busy: string(PostStatusPublishing),
	Status: func(d Dispatch) string { return d.status() },
	Key:    func(companyID, postID string) table.Key { return recordKey(companyID, kindPost, postID) },
	KeysOf: func(d Dispatch) table.Keys { return postKeys(d.Post) },
	Index:  table.GSI2, Partitions: func(companyID string) []string { return postsIn(companyID, PostStatusPublishing) },
}

// Outcome is what a platform tells of a post that it took; all may be null.
type Outcome struct {
	ExternalID  *string // up to 200 characters
	ExternalURL *string // http or https, up to 2,000 characters
	PublishedAt *string // RFC 3339; null: now
}

// The limits of what a report brings.
const (
	externalIDChars  = 200
	externalURLChars = 2000
	reasonChars      = 2000
)

// Check returns fault.BadRequest for an outcome that is out of its limits, and names each field.
func (o Outcome) Check() error {
	var problems []string
	if o.ExternalID != nil && utf8.RuneCountInString(*o.ExternalID) > externalIDChars {
		problems = append(problems, "externalId: must have at most 200 characters")
	}
	if o.ExternalURL != nil && (!webAddress(*o.ExternalURL) || utf8.RuneCountInString(*o.ExternalURL) > externalURLChars) {
		problems = append(problems, "externalUrl: must be an http or https address of at most 2000 characters")
	}
	if o.PublishedAt != nil {
		if _, ok := timestamp.Parse(*o.PublishedAt); !ok {
			problems = append(problems, "publishedAt: must be a time such as 2026-08-11T09:30:00Z")
		}
	}
	if len(problems) > 0 {
		return &fault.Error{Code: fault.BadRequest, Messages: problems}
	}
	return nil
}

func webAddress(s string) bool {
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != ""
}

// CheckReason returns fault.BadRequest for a reason that has not 1 to 2,000 characters.
func CheckReason(reason string) error {
	if n := utf8.RuneCountInString(reason); n == 0 || n > reasonChars {
		return fault.Invalid("failureReason", "must have 1 to %d characters", reasonChars)
	}
	return nil
}

// due reports whether the time of a scheduled post has come. One without a time, which an import may bring, is not due.
func (p Post) due(now string) bool {
	return p.is(PostStatusScheduled) && p.ScheduledFor != nil && *p.ScheduledFor <= now
}

func (p Post) is(status PostStatus) bool { return p.Status != nil && *p.Status == status }

func (p Post) status() string {
	if p.Status == nil {
		return "without a status"
	}
	return string(*p.Status)
}

// claim moves a post that is due, or one that failed, to publishing. An edit may have moved the time since the post was
// listed, so the time is checked here, where it is a condition on the write. claim is idempotent: a retry after a lost
// response finds its own claim.
func (d *Dispatch) claim(c claim.Claim) error {
	switch now := *c.ClaimedAt; {
	case dispatches.Has(*d, c):
		return nil
	case !d.is(PostStatusScheduled) && !d.is(PostStatusFailed):
		return fault.New(fault.Conflict, "the post is %s; only one that is scheduled or failed can be claimed", d.status())
	case d.ScheduledFor != nil && *d.ScheduledFor > now:
		return fault.New(fault.Conflict, "the post is not due before %s", *d.ScheduledFor)
	case d.ScheduledFor == nil && d.is(PostStatusScheduled):
		return fault.New(fault.Conflict, "the post has no scheduledFor, so it is never due")
	}
	d.move(PostStatusPublishing)
	d.Claim = c
	return nil
}

// published records that the post was sent. Repeating the same report succeeds; a different one is a conflict.
func (d *Dispatch) published(claimID string, o Outcome, now string) error {
	repeated, err := dispatches.Report(*d, claimID, string(PostStatusPublished))
	switch {
	case err != nil:
		return err
	case repeated && agrees(o.ExternalID, d.ExternalID) && agrees(o.ExternalURL, d.ExternalURL) && agrees(normalised(o.PublishedAt), d.PublishedAt):
		return nil
	case repeated:
		return fault.New(fault.Conflict, "the post was reported published before, with other values")
	}
	d.move(PostStatusPublished)
	d.ExternalID, d.ExternalURL, d.PublishedAt = o.ExternalID, o.ExternalURL, normalised(o.PublishedAt)
	if d.PublishedAt == nil {
		d.PublishedAt = &now
	}
	return nil
}

// failed records why nothing was sent. Repeating the same report succeeds; a different one is a conflict.
func (d *Dispatch) failed(claimID, reason string) error {
	repeated, err := dispatches.Report(*d, claimID, string(PostStatusFailed))
	switch {
	case err != nil:
		return err
	case repeated && agrees(&reason, d.FailureReason):
		return nil
	case repeated:
		return fault.New(fault.Conflict, "the post was reported failed before, with another reason")
	}
	d.move(PostStatusFailed)
	d.FailureReason = &reason
	return nil
}

// retry releases the claim without an outcome.
func (d *Dispatch) retry(claimID string) error {
	repeated, err := dispatches.Report(*d, claimID, string(PostStatusScheduled))
	switch {
	case err != nil || repeated:
		return err
	case d.ScheduledFor == nil:
		return fault.New(fault.Conflict, "the post has no scheduledFor, so it would never be due; report it failed")
	}
	d.move(PostStatusScheduled)
	return nil
}

// move forgets an earlier failure: each state of a post tells of its last attempt only.
func (d *Dispatch) move(to PostStatus) { d.Status, d.FailureReason = &to, nil }

// agrees reports whether a repeated report has the stored value, or none.
func agrees(said, stored *string) bool {
	return said == nil || stored != nil && *said == *stored
}

// DuePosts returns the company's posts that are scheduled for now or before, the earliest first, at most limit of them,
// and the position to go on from, empty at the end. See claim.Ready. Posts of every platform are among them, and posts
// without one, which an import may bring: report those failed.
func (s Store) DuePosts(ctx context.Context, companyID, after string, limit int) (due []Post, next string, err error) {
	if after == "" {
		after = table.Newest(nil) // posts without any time are beyond it
	}
	now := s.table.Now()
	q := table.Query{Index: table.GSI2, Partitions: postsIn(companyID, PostStatusScheduled), Descending: true, After: after}
	return claim.Ready(ctx, s.table, q, limit, Post.latestFirst, func(p Post) (ready, more bool) {
		at := table.FirstTime(p.ScheduledFor, p.CreatedAt)
		return p.due(now), at != nil && *at <= now
	})
}

// postsIn returns the partitions of all posts with a status, one for each platform and one for none.
func postsIn(companyID string, status PostStatus) (out []string) {
	for _, platform := range parts[Platform](nil, Platform("").Values()) {
		out = append(out, postsOf(companyID, platform, string(status)))
	}
	return out
}

// StuckPosts returns the company's posts whose dispatcher has probably died. See claim.Kind.
func (s Store) StuckPosts(ctx context.Context, companyID, claimedBefore string) ([]Dispatch, error) {
	return dispatches.Stuck(ctx, s.table, companyID, claimedBefore)
}

// ClaimPost moves a post from scheduled, when it is due, or from failed to publishing, and returns it as it is then,
// with the id of the claim: that is what to send. fault.ErrNotFound when there is no such post, fault.Conflict when it
// is in another state or not due yet.
//
// After any other error the claim may have been created or not. If it was, StuckPosts lists the post in due time.
func (s Store) ClaimPost(ctx context.Context, companyID, postID string) (Dispatch, error) {
	c := claim.New(s.table)
	return dispatches.Change(ctx, s.table, companyID, postID, func(d *Dispatch) error { return d.claim(c) })
}

// ReportPublished moves a post from publishing to published, with what the platform told. fault.ErrNotFound when there
// is no such post; fault.BadRequest for an outcome that is out of its limits; fault.Conflict when the claim does not
// hold the post, because a report ended it, another claim came after it or an import replaced the post.
//
// A report may be repeated, for instance after a lost response: the same values, or none, change nothing and
// succeed; other values are a fault.Conflict. The empty claim id is that of a post which an import brought as publishing;
// its report cannot be repeated.
func (s Store) ReportPublished(ctx context.Context, companyID, postID, claimID string, o Outcome) (Dispatch, error) {
	if err := o.Check(); err != nil {
		return Dispatch{}, err
	}
	now := s.table.Now()
	return dispatches.Change(ctx, s.table, companyID, postID, func(d *Dispatch) error { return d.published(claimID, o, now) })
}

// ReportFailed moves a post from publishing to failed, with the reason, 1 to 2,000 characters. Errors and repetition as
// of ReportPublished. Only report what was not sent: a failed post can be claimed and scheduled again.
func (s Store) ReportFailed(ctx context.Context, companyID, postID, claimID, reason string) (Dispatch, error) {
	if err := CheckReason(reason); err != nil {
		return Dispatch{}, err
	}
	return dispatches.Change(ctx, s.table, companyID, postID, func(d *Dispatch) error { return d.failed(claimID, reason) })
}

// RetryPost moves a post from publishing back to scheduled, where it is due at once: for a dispatcher that could not
// send it now. It also makes the post editable again. Errors and repetition as of ReportPublished; fault.Conflict also
// for a post without a scheduledFor, which would never be due.
func (s Store) RetryPost(ctx context.Context, companyID, postID, claimID string) (Dispatch, error) {
	return dispatches.Change(ctx, s.table, companyID, postID, func(d *Dispatch) error { return d.retry(claimID) })
}

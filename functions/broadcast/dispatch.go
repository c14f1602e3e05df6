package broadcast

import (
	"context"
	"unicode/utf8"

	"growthworkspace/shared/claim"
	"growthworkspace/shared/fault"
	"growthworkspace/shared/schema"
	"growthworkspace/shared/table"
	"growthworkspace/shared/timestamp"
)

// The dispatcher sends due posts to their platform, and this service records the outcome. The
// methods below are the dispatcher's interface. The operations in claim.go and the command
// `workspace due` call them.
//
//	Store.DuePosts         lists the due posts of one company
//	Store.ClaimPost        locks a post for this dispatcher: scheduled or failed → publishing
//	Store.ReportPublished  publishing → published
//	Store.ReportFailed     publishing → failed; the post can be edited, scheduled and claimed again
//	Store.RetryPost        publishing → scheduled, to be sent later
//
// The dispatcher sends the post that ClaimPost returned, not the one that DuePosts listed. While a
// post is publishing, the API rejects edits and deletes with conflict. A claim does not expire;
// list_post_claims lists the claims (see package claim). A post is therefore sent twice only if
// someone decides to retry it.

// ClaimedPost is a post together with its claim.
type ClaimedPost struct {
	Post
	claim.Claim
}

// claimedPostKind configures package claim for posts. A post is claimed while its status is
// publishing.
var claimedPostKind = claim.Kind[ClaimedPost]{
	Name: "post", Prefix: posts.Prefix, ClaimedStatus: string(PostStatusPublishing),
	Status: func(d ClaimedPost) string { return d.status() },
	Key:    posts.Key,
	KeysOf: func(d ClaimedPost) table.Keys { return posts.Keys(d.Post) },
	Index:  table.GSI2, Partitions: func(companyID string) []string { return partitionsWithStatus(companyID, nil, PostStatusPublishing) },
}

// Outcome is what a platform returned for a published post. Each field may be null.
type Outcome struct {
	ExternalID  *string // up to 200 characters
	ExternalURL *string // http or https, up to 2,000 characters
	PublishedAt *string // RFC 3339; null means now
}

// The maximum lengths of the fields of a report.
const (
	externalIDChars  = 200
	externalURLChars = 2000
	ReasonChars      = 2000
)

// Check returns fault.BadRequest with a message for each invalid field.
func (o Outcome) Check() error {
	var problems []string
	if o.ExternalID != nil && utf8.RuneCountInString(*o.ExternalID) > externalIDChars {
		problems = append(problems, "externalId: must have at most 200 characters")
	}
	if o.ExternalURL != nil && (schema.CheckFormat("web", *o.ExternalURL) != "" || utf8.RuneCountInString(*o.ExternalURL) > externalURLChars) {
		problems = append(problems, "externalUrl: must be an http or https address with a host, of at most 2000 characters")
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

// CheckReason returns fault.BadRequest unless the reason has 1 to 2,000 characters.
func CheckReason(reason string) error {
	if n := utf8.RuneCountInString(reason); n == 0 || n > ReasonChars {
		return fault.Invalid("failureReason", "must have 1 to %d characters", ReasonChars)
	}
	return nil
}

// isDue reports whether a scheduled post is due. A post without a time, which an import may create,
// is never due.
func (p Post) isDue(now string) bool {
	return p.hasStatus(PostStatusScheduled) && p.ScheduledFor != nil && *p.ScheduledFor <= now
}

func (p Post) hasStatus(status PostStatus) bool { return p.Status != nil && *p.Status == status }

func (p Post) status() string {
	if p.Status == nil {
		return "without a status"
	}
	return string(*p.Status)
}

// setClaim moves a due or failed post to publishing. An edit may have changed the post's time since
// it was listed, so setClaim checks the time again as part of the conditional write. It does
// nothing if c has already been set by an attempt whose response was lost.
func (p *ClaimedPost) setClaim(c claim.Claim) error {
	switch now := *c.ClaimedAt; {
	case claimedPostKind.IsHeldBy(*p, c):
		return nil
	case !p.hasStatus(PostStatusScheduled) && !p.hasStatus(PostStatusFailed):
		return fault.New(fault.Conflict, "the post is %s; only scheduled or failed posts can be claimed", p.status())
	case p.ScheduledFor != nil && *p.ScheduledFor > now:
		return fault.New(fault.Conflict, "the post is not due before %s", *p.ScheduledFor)
	case p.ScheduledFor == nil && p.hasStatus(PostStatusScheduled):
		return fault.New(fault.Conflict, "the post has no scheduledFor, so it is never due")
	}
	p.setStatus(PostStatusPublishing)
	p.Claim = c
	return nil
}

// markPublished records that the post was sent. A repeated report with the same values succeeds.
// One with different values is a conflict.
func (p *ClaimedPost) markPublished(claimID string, o Outcome, now string) error {
	repeated, err := claimedPostKind.CheckReport(*p, claimID, string(PostStatusPublished))
	switch {
	case err != nil:
		return err
	case repeated && matchesReport(o.ExternalID, p.ExternalID) && matchesReport(o.ExternalURL, p.ExternalURL) && matchesReport(normaliseTime(o.PublishedAt), p.PublishedAt):
		return nil
	case repeated:
		return fault.New(fault.Conflict, "the post was already reported published, with other values")
	}
	p.setStatus(PostStatusPublished)
	p.ExternalID, p.ExternalURL, p.PublishedAt = o.ExternalID, o.ExternalURL, normaliseTime(o.PublishedAt)
	if p.PublishedAt == nil {
		p.PublishedAt = &now
	}
	return nil
}

// markFailed records why the post was not sent. A repeated report with the same reason succeeds.
// One with a different reason is a conflict.
func (p *ClaimedPost) markFailed(claimID, reason string) error {
	repeated, err := claimedPostKind.CheckReport(*p, claimID, string(PostStatusFailed))
	switch {
	case err != nil:
		return err
	case repeated && matchesReport(&reason, p.FailureReason):
		return nil
	case repeated:
		return fault.New(fault.Conflict, "the post was already reported failed, with another reason")
	}
	p.setStatus(PostStatusFailed)
	p.FailureReason = &reason
	return nil
}

// markForRetry releases the claim and schedules the post again. Repeating it changes nothing.
func (p *ClaimedPost) markForRetry(claimID string) error {
	repeated, err := claimedPostKind.CheckReport(*p, claimID, string(PostStatusScheduled))
	switch {
	case err != nil || repeated:
		return err
	case p.ScheduledFor == nil:
		return fault.New(fault.Conflict, "the post has no scheduledFor, so it would never be due; report it failed")
	}
	p.setStatus(PostStatusScheduled)
	return nil
}

// setStatus sets the status and clears the failure of an earlier attempt.
func (p *ClaimedPost) setStatus(to PostStatus) { p.Status, p.FailureReason = &to, nil }

// matchesReport reports whether the value of a repeated report is nil or equals the stored one.
func matchesReport(reported, stored *string) bool {
	return reported == nil || stored != nil && *reported == *stored
}

// DuePosts returns a page of the company's due posts, earliest first. See claim.ListReady. If
// platform is nil, it includes the posts for all platforms, and those without a platform, which an
// import may create. The dispatcher should report posts without a platform as failed.
func (s Store) DuePosts(ctx context.Context, companyID string, platform *Platform, after string, limit int) (table.Page[Post], error) {
	if after == "" {
		after = table.DescendingTimeKey(nil) // skips the posts without a time, which come first
	}
	now := s.table.Now()
	q := table.Query{Index: table.GSI2, Partitions: partitionsWithStatus(companyID, platform, PostStatusScheduled), Descending: true, After: after}
	return claim.ListReady(ctx, s.table, q, limit, Post.sortKey, func(p Post) (ready, more bool) {
		at := table.FirstSetTime(p.ScheduledFor, p.CreatedAt)
		return p.isDue(now), at != nil && *at <= now
	})
}

// partitionsWithStatus returns the partition of the posts with this platform and status. If
// platform is nil, it returns the partitions for all platforms, and the one for posts without a
// platform.
func partitionsWithStatus(companyID string, platform *Platform, status PostStatus) (out []string) {
	for _, part := range keyParts(platform, Platform("").Values()) {
		out = append(out, postsByStatusPartition(companyID, part, string(status)))
	}
	return out
}

// ClaimPost moves a due or failed post to publishing and returns it with the id of the claim. The
// dispatcher sends the returned post. Returns fault.ErrNotFound when the post does not exist, and
// fault.Conflict when it has a different status or is not due yet.
//
// After any other error the claim may or may not exist. If it does, list_post_claims lists
// the post.
func (s Store) ClaimPost(ctx context.Context, companyID, postID string) (ClaimedPost, error) {
	c := claim.New(s.table)
	return claimedPostKind.Modify(ctx, s.table, companyID, postID, func(d *ClaimedPost) error { return d.setClaim(c) }, ClaimedPost.claimResponse)
}

// ReportPublished moves a post from publishing to published and stores what the platform returned.
// Returns fault.ErrNotFound when the post does not exist, and fault.BadRequest when the outcome is
// invalid. Returns fault.Conflict when the claim is no longer valid because a report released it,
// the post was claimed again, or an import replaced the post.
//
// A report may be repeated, for instance after a lost response. With the same values, or without
// values, it succeeds and changes nothing; with different values it returns fault.Conflict. A post
// that an import created as publishing has an empty claim id, and its report cannot be repeated.
func (s Store) ReportPublished(ctx context.Context, companyID, postID, claimID string, o Outcome) (ClaimedPost, error) {
	if err := o.Check(); err != nil {
		return ClaimedPost{}, err
	}
	now := s.table.Now()
	return claimedPostKind.Modify(ctx, s.table, companyID, postID, func(d *ClaimedPost) error { return d.markPublished(claimID, o, now) }, ClaimedPost.reportResponse)
}

// ReportFailed moves a post from publishing to failed and stores the reason, which must have 1 to
// 2,000 characters. Errors and repeated reports are handled as in ReportPublished. A post may be
// reported as failed only if it was not sent, because a failed post can be claimed and scheduled
// again.
func (s Store) ReportFailed(ctx context.Context, companyID, postID, claimID, reason string) (ClaimedPost, error) {
	if err := CheckReason(reason); err != nil {
		return ClaimedPost{}, err
	}
	return claimedPostKind.Modify(ctx, s.table, companyID, postID, func(d *ClaimedPost) error { return d.markFailed(claimID, reason) }, ClaimedPost.reportResponse)
}

// RetryPost moves a post from publishing back to scheduled, because the dispatcher could not send
// it now. The post is due again immediately and can be edited. Errors and repeated reports are
// handled as in ReportPublished. Also returns fault.Conflict for a post without a scheduledFor,
// which would never be due.
func (s Store) RetryPost(ctx context.Context, companyID, postID, claimID string) (ClaimedPost, error) {
	return claimedPostKind.Modify(ctx, s.table, companyID, postID, func(d *ClaimedPost) error { return d.markForRetry(claimID) }, ClaimedPost.reportResponse)
}

func normaliseTime(sent *string) *string {
	if sent == nil {
		return nil
	}
	text := timestamp.Normalise(*sent)
	return &text
}

package broadcast

import (
	"net/url"
	"unicode/utf8"

	"growthworkspace/shared/fault"
	"growthworkspace/shared/timestamp"
)

// What follows is the dispatcher's contract (decisions.md §3, §14): no HTTP operation, but the moves of a post that
// belong to whoever sends it. The command `workspace due` is the same on a command line. A dispatcher
//
//  1. lists what is due (Store.DuePosts), of each company,
//  2. claims a post (Store.ClaimPost), which moves it to publishing,
//  3. sends what the claim returned, and nothing it read before,
//  4. reports (ReportPublished, ReportFailed) or gives the post back to be tried again (RetryPost), with the claim's id.
//
// Of any number of dispatchers exactly one gets a claim, because it is a condition on the write; from then on the API
// refuses to edit and to delete the post (conflict), and a report with another claim's id is refused. A claim never
// ends by itself, because nobody here can know whether a dispatcher that died had sent the post: it is in
// Store.StuckPosts then, and the operator looks at the platform and reports in its place. So a post is never sent twice
// but where somebody decides it.

// Dispatch is a post as the dispatcher has it: with the claim that holds it while it is publishing, or that held it last.
// Export leaves the claim out, and an import ends it.
type Dispatch struct {
	Post

	ClaimID   *string `json:"claimId"`   // clm_…; null when no dispatcher had the post since it was imported or created
	ClaimedAt *string `json:"claimedAt"` // when the claim was made
}

// claimPrefix begins the id of a claim.
const claimPrefix = "clm"

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

// due tells whether the time of a scheduled post has come. One without a time, which an import may bring, is not due.
func (p Post) due(now string) bool {
	return p.is(PostStatusScheduled) && p.ScheduledFor != nil && *p.ScheduledFor <= now
}

func (p Post) is(status PostStatus) bool { return p.Status != nil && *p.Status == status }

// claim moves a post that is due, or one that failed, to publishing. An edit may have moved the time since the post was
// listed, so the time is looked at here, where it is a condition on the write. That the post has this very claim is
// what a write leaves whose answer was lost.
func (d *Dispatch) claim(claimID, now string) error {
	switch {
	case d.is(PostStatusPublishing) && d.heldBy(claimID):
		return nil
	case !d.is(PostStatusScheduled) && !d.is(PostStatusFailed):
		return fault.New(fault.Conflict, "the post is %s; only one that is scheduled or failed can be claimed", d.status())
	case d.ScheduledFor != nil && *d.ScheduledFor > now:
		return fault.New(fault.Conflict, "the post is not due before %s", *d.ScheduledFor)
	case d.ScheduledFor == nil && d.is(PostStatusScheduled):
		return fault.New(fault.Conflict, "the post has no scheduledFor, so it is never due")
	}
	d.move(PostStatusPublishing)
	d.ClaimID, d.ClaimedAt = &claimID, &now
	return nil
}

// published ends a claim with success. Said again, it is heard again; said otherwise, it is refused.
func (d *Dispatch) published(claimID string, o Outcome, now string) error {
	if d.repeats(claimID, PostStatusPublished) {
		if agrees(o.ExternalID, d.ExternalID) && agrees(o.ExternalURL, d.ExternalURL) && agrees(normalised(o.PublishedAt), d.PublishedAt) {
			return nil
		}
		return fault.New(fault.Conflict, "the post was reported published before, with other values")
	}
	if err := d.checkHeld(claimID); err != nil {
		return err
	}
	d.move(PostStatusPublished)
	d.ExternalID, d.ExternalURL, d.PublishedAt = o.ExternalID, o.ExternalURL, normalised(o.PublishedAt)
	if d.PublishedAt == nil {
		d.PublishedAt = &now
	}
	return nil
}

// failed ends a claim with the reason why nothing was sent.
func (d *Dispatch) failed(claimID, reason string) error {
	if d.repeats(claimID, PostStatusFailed) {
		if agrees(&reason, d.FailureReason) {
			return nil
		}
		return fault.New(fault.Conflict, "the post was reported failed before, with another reason")
	}
	if err := d.checkHeld(claimID); err != nil {
		return err
	}
	d.move(PostStatusFailed)
	d.FailureReason = &reason
	return nil
}

// retry ends a claim as if it had not been.
func (d *Dispatch) retry(claimID string) error {
	if d.repeats(claimID, PostStatusScheduled) {
		return nil
	}
	if err := d.checkHeld(claimID); err != nil {
		return err
	}
	if d.ScheduledFor == nil {
		return fault.New(fault.Conflict, "the post has no scheduledFor, so it would never be due; report it failed")
	}
	d.move(PostStatusScheduled)
	return nil
}

// move forgets an earlier failure: each state of a post tells of its last attempt only.
func (d *Dispatch) move(to PostStatus) { d.Status, d.FailureReason = &to, nil }

// heldBy tells whether a claim is the last one that the post had. The empty id is that of a post that has none, which
// an import brought as publishing.
func (d *Dispatch) heldBy(claimID string) bool {
	if d.ClaimID == nil {
		return claimID == ""
	}
	return *d.ClaimID == claimID
}

// repeats tells whether a report was heard before: the post has that state, and this claim was its last. A post without a
// claim remembers no report.
func (d *Dispatch) repeats(claimID string, to PostStatus) bool {
	return claimID != "" && d.is(to) && d.heldBy(claimID)
}

func (d *Dispatch) checkHeld(claimID string) error {
	switch {
	case !d.is(PostStatusPublishing):
		return fault.New(fault.Conflict, "the post is %s; the claim does not hold it any more", d.status())
	case !d.heldBy(claimID):
		return fault.New(fault.Conflict, "another claim holds the post")
	}
	return nil
}

func (p Post) status() string {
	if p.Status == nil {
		return "without a status"
	}
	return string(*p.Status)
}

// agrees tells whether a repeated report says what was said, as far as it says anything.
func agrees(said, stored *string) bool {
	return said == nil || stored != nil && *said == *stored
}

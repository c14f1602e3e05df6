package broadcast

import (
	"context"
	"slices"
	"strings"

	"growthworkspace/shared/fault"
	"growthworkspace/shared/id"
	"growthworkspace/shared/table"
)

// DuePosts returns the company's posts that are scheduled for now or before, the earliest first, at most limit of them,
// and the position to go on from, empty at the end. Every platform is in it, and so are posts without one, which an
// import may bring: report those failed.
//
// It reads index partitions, which lag a write by milliseconds: a post that is listed may have been claimed, edited or
// deleted, which its claim finds out. There is no list over companies, because no index lacks the company.
func (s Store) DuePosts(ctx context.Context, companyID, after string, limit int) (due []Post, next string, err error) {
	if after == "" {
		after = table.Newest(nil) // posts without any time are beyond it
	}
	now := s.table.Now()
	q := table.Query{Index: table.GSI2, Partitions: postsIn(companyID, PostStatusScheduled), Descending: true, After: after, Limit: limit + 1}
	due = []Post{}
	for {
		page, more, err := table.List[Post](ctx, s.table, q)
		if err != nil {
			return nil, "", err
		}
		for _, p := range page {
			if at := table.FirstTime(p.ScheduledFor, p.CreatedAt); at == nil || *at > now {
				return due, "", nil
			}
			if !p.due(now) {
				continue
			}
			if len(due) == limit {
				return due, due[limit-1].latestFirst(), nil
			}
			due = append(due, p)
		}
		if more == "" {
			return due, "", nil
		}
		q.After = more
	}
}

// postsIn returns the partitions of all posts with a status, one for each platform and one for none.
func postsIn(companyID string, status PostStatus) (out []string) {
	for _, platform := range parts[Platform](nil, Platform("").Values()) {
		out = append(out, postsOf(companyID, platform, string(status)))
	}
	return out
}

// StuckPosts returns the company's posts that are publishing under a claim that was made at claimedBefore or earlier, a
// timestamp as records have it, or under none: those whose dispatcher has probably died. The oldest claim comes first.
// They are for the operator to look at, since only the platform knows whether they were sent; see ReportPublished.
func (s Store) StuckPosts(ctx context.Context, companyID, claimedBefore string) ([]Dispatch, error) {
	partitions := postsIn(companyID, PostStatusPublishing)
	found := make([][]Dispatch, len(partitions))
	err := table.Parallel(len(partitions), len(partitions), func(n int) (err error) {
		found[n], err = table.Whole[Dispatch](ctx, s.table, table.Collection{Index: table.GSI2, Partition: partitions[n]})
		return err
	})
	if err != nil {
		return nil, err
	}
	stuck := slices.DeleteFunc(slices.Concat(found...), func(d Dispatch) bool { return d.ClaimedAt != nil && *d.ClaimedAt > claimedBefore })
	slices.SortFunc(stuck, func(a, b Dispatch) int { return strings.Compare(a.claimOrder(), b.claimOrder()) })
	return stuck, nil
}

// claimOrder puts posts without a claim first: nobody works on them.
func (d Dispatch) claimOrder() string {
	if d.ClaimedAt == nil {
		return table.Join("", d.ID)
	}
	return table.Join(*d.ClaimedAt, d.ID)
}

// ClaimPost moves a post from scheduled, when it is due, or from failed to publishing, and returns it as it is then,
// with the id of the claim: that is what to send. fault.ErrNotFound when there is no such post, fault.Conflict when it
// is in another state or not due yet: leave it to whom it belongs.
//
// After any other error the claim may have been made or not. If it was, the post is in StuckPosts in due time.
func (s Store) ClaimPost(ctx context.Context, companyID, postID string) (Dispatch, error) {
	claimID, now := s.table.NewID(claimPrefix), s.table.Now()
	return s.dispatch(ctx, companyID, postID, func(d *Dispatch) error { return d.claim(claimID, now) })
}

// ReportPublished moves a post from publishing to published, with what the platform told. fault.ErrNotFound when there
// is no such post; fault.BadRequest for an outcome that is out of its limits; fault.Conflict when the claim does not
// hold the post, because a report ended it, another claim came after it or an import replaced the post.
//
// A report may be repeated, for instance when its answer was lost: the same values, or none, change nothing and
// succeed; other values are a fault.Conflict. The empty claim id is that of a post which an import brought as publishing;
// its report cannot be repeated.
func (s Store) ReportPublished(ctx context.Context, companyID, postID, claimID string, o Outcome) (Dispatch, error) {
	if err := o.Check(); err != nil {
		return Dispatch{}, err
	}
	now := s.table.Now()
	return s.dispatch(ctx, companyID, postID, func(d *Dispatch) error { return d.published(claimID, o, now) })
}

// ReportFailed moves a post from publishing to failed, with the reason, 1 to 2,000 characters. Errors and repetition as
// of ReportPublished. Only report what was not sent: a failed post can be claimed and scheduled again.
func (s Store) ReportFailed(ctx context.Context, companyID, postID, claimID, reason string) (Dispatch, error) {
	if err := CheckReason(reason); err != nil {
		return Dispatch{}, err
	}
	return s.dispatch(ctx, companyID, postID, func(d *Dispatch) error { return d.failed(claimID, reason) })
}

// RetryPost moves a post from publishing back to scheduled, where it is due at once: for a dispatcher that could not
// send it now. It also makes the post editable again. Errors and repetition as of ReportPublished; fault.Conflict also
// for a post without a scheduledFor, which would never be due.
func (s Store) RetryPost(ctx context.Context, companyID, postID, claimID string) (Dispatch, error) {
	return s.dispatch(ctx, companyID, postID, func(d *Dispatch) error { return d.retry(claimID) })
}

// dispatch changes a post and its claim by compare-and-set (table.Modify), so that every rule is a condition on the write.
func (s Store) dispatch(ctx context.Context, companyID, postID string, change func(*Dispatch) error) (Dispatch, error) {
	if !id.Valid(id.Post, postID) { // what is typed on a command line must not become another key
		return Dispatch{}, fault.ErrNotFound
	}
	keysOf := func(d Dispatch) table.Keys { return postKeys(d.Post) }
	return table.Modify(ctx, s.table, recordKey(companyID, kindPost, postID), keysOf, change)
}

package overview

import (
	"slices"
	"time"

	"growthworkspace/shared/timestamp"
)

// post is what the rules read of a post.
type post struct {
	ID            string
	Platform      *string
	Title, Body   *string
	Status        *string
	ScheduledFor  *string
	PublishedAt   *string
	FailureReason *string
	CreatedAt     *string
	UpdatedAt     *string
}

// postReads are the reads of posts that were not sent.
type postReads struct{ scheduled, failed, publishing, drafted *records[post] }

func (r *reader) startPosts(arguments map[string]any, most int, keep func(post) bool) *records[post] {
	arguments["limit"] = pageMax
	return startList(r, "list_broadcast_posts", arguments, most, keep)
}

func (r *reader) startPostReads() postReads {
	overdue := timestamp.Format(r.now().Add(-stuckAfter))
	return postReads{
		r.startPosts(map[string]any{"status": "scheduled", "order": "asc", "to": overdue}, countMax,
			func(p post) bool { return p.isOverdue(r.now()) }),
		r.startPosts(map[string]any{"status": "failed"}, countMax, nil),
		r.startPosts(map[string]any{"status": "publishing"}, countMax, nil),
		startDraftedPosts(r),
	}
}

func (p post) isOverdue(now time.Time) bool { return isBefore(p.ScheduledFor, now.Add(-stuckAfter)) }

func (r *reader) postsToAttend(reads postReads) []Attention {
	entries := func(posts []post, at func(post) *string) (out []AttentionItem) {
		for _, p := range posts {
			detail := value(first(p.FailureReason, p.Platform), "")
			out = append(out, item(p.ID, p.Status, at(p), detail, p.Title, p.Body))
		}
		return oldestFirst(out)
	}
	updated := func(p post) *string { return first(p.UpdatedAt, p.CreatedAt) }
	due := func(p post) *string { return p.ScheduledFor }
	stuck := slices.DeleteFunc(slices.Clone(reads.publishing.all), func(p post) bool { return r.isRecent(p.UpdatedAt) })
	return []Attention{
		attentionOf(KindPostOverdue, entries(reads.scheduled.all, due), reads.scheduled.more),
		attentionOf(KindPostFailed, entries(reads.failed.all, updated), reads.failed.more),
		attentionOf(KindPostStuck, entries(stuck, updated), reads.publishing.more),
		attentionOf(KindPostUnread, entries(reads.drafted.all, updated), reads.drafted.more),
	}
}

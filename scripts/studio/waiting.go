package studio

import (
	"fmt"
	"sync"
	"time"

	"growthworkspace/shared/client"
)

// waitingMax is the maximum number of reviews on one page of the API. The badge counts no more
// waiting reviews than this.
const waitingMax = 200

// badgeAge is how long the badge shows a count before the studio counts the reviews again.
const badgeAge = 30 * time.Second

// badge holds the last count of waiting reviews. Pages show the count while it is fresh. Otherwise,
// the browser loads the badge after the page, because counting is slow: it reads two lists of
// complete reviews.
type badge struct {
	mu     sync.Mutex
	text   string
	at     time.Time // zero: not counted
	writes int
}

// get returns the count, and whether it is still fresh enough to be shown.
func (b *badge) get(now time.Time) (text string, fresh bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text, !b.at.IsZero() && now.Sub(b.at) < badgeAge
}

// drop discards the count after a write.
func (b *badge) drop() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.at, b.writes = time.Time{}, b.writes+1
}

// writeCount returns the number of writes so far. Call it before reading the reviews to count, and
// pass its result to set.
func (b *badge) writeCount() (writes int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.writes
}

// set stores a count, unless there was a write after writeCount returned the given number of
// writes. In that case, the count may already be wrong.
func (b *badge) set(text string, now time.Time, writes int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if writes == b.writes {
		b.text, b.at = text, now
	}
}

// readWaiting starts the calls that list the reviews that wait for a reply.
func (pr *pageRequest) readWaiting() {
	k := pr.frameData()
	k.writes = pr.badge.writeCount()
	k.needsReview = pr.listReviews("Replies to approve", reviewFilter{status: client.FeedbackReplyStatusNeedsReview}, waitingMax)
	k.noReply = pr.listReviews("Reviews without a reply", reviewFilter{status: client.FeedbackReplyStatusNone}, waitingMax)
}

// waitingBadge returns the text of the badge in the sidebar. pending is true if the reviews have to
// be counted first.
func (s *Studio) waitingBadge(k *frameData) (text string, pending bool) {
	if k.needsReview == nil {
		text, fresh := s.badge.get(s.Now())
		if !fresh {
			return "", s.may("feedback:read")
		}
		return text, false
	}
	if k.hasCounts() {
		s.badge.set(k.badge(), s.Now(), k.writes)
	}
	return k.badge(), false
}

// badgeFragment responds with the badge's text. The text is empty if no review is waiting, or if
// the count is unknown.
func (s *Studio) badgeFragment(v *pageRequest) *view {
	text, fresh := s.badge.get(s.Now())
	if !fresh {
		v.readWaiting()
		v.wait()
		text, _ = s.waitingBadge(v.frameData())
	}
	v.w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = fmt.Fprint(v.w, text) // ignore the error: the client disconnected
	return nil
}

// hasCounts reports whether both counts of waiting reviews were read from the service.
func (f *frameData) hasCounts() bool { return f.needsReview.Failure == nil && f.noReply.Failure == nil }

// badge returns the number of reviews that wait for a reply, as text. The text is empty if there
// are none, or if they could not be read.
func (f *frameData) badge() string {
	if !f.hasCounts() {
		return ""
	}
	n, more := f.waiting()
	if n == 0 {
		return ""
	}
	return formatCount(n, more)
}

// formatCount formats the number of records in a list. n is the number of records that were read,
// and more says whether the list contains more.
func formatCount(n int, more bool) string {
	if more || n > waitingMax {
		return fmt.Sprintf("%d+", min(n, waitingMax))
	}
	return fmt.Sprint(n)
}

// waiting returns how many waiting reviews were read, and whether there are more.
func (f *frameData) waiting() (n int, more bool) {
	return len(f.needsReview.Value.Items) + len(f.noReply.Value.Items), f.needsReview.Value.Next != "" || f.noReply.Value.Next != ""
}

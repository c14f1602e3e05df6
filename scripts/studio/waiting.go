package studio

import (
	"fmt"
	"sync"
	"time"

	"growthworkspace/shared/client"
)

// waitingMax is the largest page of reviews. The badge counts waiting reviews up to this number.
const waitingMax = 200

// badgeAge is how long a counted badge is shown without counting again.
const badgeAge = 30 * time.Second

// badge is the last count of waiting reviews. A page shows it while it is fresh. Otherwise the page
// reads it after it was shown, because counting reads two lists of whole reviews.
type badge struct {
	mu     sync.Mutex
	text   string
	at     time.Time // zero: not counted
	writes int
}

// get returns the count if it is fresh.
func (b *badge) get(now time.Time) (text string, fresh bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text, !b.at.IsZero() && now.Sub(b.at) < badgeAge
}

// drop forgets the count after a write.
func (b *badge) drop() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.at, b.writes = time.Time{}, b.writes+1
}

// begin returns a number to give to set, before the reviews are read.
func (b *badge) begin() (writes int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.writes
}

// set keeps a count, unless there was a write since the reviews were read.
func (b *badge) set(text string, now time.Time, writes int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if writes == b.writes {
		b.text, b.at = text, now
	}
}

// readWaiting starts the calls for the reviews that wait for a person.
func (v *pageRequest) readWaiting() {
	k := v.frameData()
	k.writes = v.badge.begin()
	k.needsReview = v.listReviews("Replies to approve", reviewFilter{status: client.FeedbackReplyStatusNeedsReview}, waitingMax)
	k.noReply = v.listReviews("Reviews without a reply", reviewFilter{status: client.FeedbackReplyStatusNone}, waitingMax)
}

// waitingBadge returns the badge of the sidebar. pending reports that it has to be counted first.
func (s *Studio) waitingBadge(k *frameData) (text string, pending bool) {
	if k.needsReview == nil {
		text, fresh := s.badge.get(s.Now())
		if !fresh {
			return "", s.may("feedback:read")
		}
		return text, false
	}
	if k.counted() {
		s.badge.set(k.badge(), s.Now(), k.writes)
	}
	return k.badge(), false
}

// badgeFragment writes the badge as text; empty: nothing waits, or it is unknown.
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

// counted reports whether the waiting reviews were read.
func (k *frameData) counted() bool { return k.needsReview.Failure == nil && k.noReply.Failure == nil }

// badge counts the reviews that wait for a person.
func (k *frameData) badge() string {
	if !k.counted() {
		return ""
	}
	n, more := k.waiting()
	if n == 0 {
		return ""
	}
	return counted(n, more)
}

// counted formats the number of records if n were read.
func counted(n int, more bool) string {
	if more || n > waitingMax {
		return fmt.Sprintf("%d+", min(n, waitingMax))
	}
	return fmt.Sprint(n)
}

// waiting returns how many of the loaded reviews wait, and whether there are more.
func (k *frameData) waiting() (n int, more bool) {
	return len(k.needsReview.Value.Items) + len(k.noReply.Value.Items), k.needsReview.Value.Next != "" || k.noReply.Value.Next != ""
}

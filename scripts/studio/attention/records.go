package attention

import (
	"cmp"
	"math"
	"slices"
	"time"

	"growthworkspace/scripts/studio/phrase"
	"growthworkspace/shared/client"
)

// Overdue reports whether a scheduled post is due but was not sent.
func Overdue(p client.Post, now time.Time) bool {
	at, ok := p.ScheduledFor.Get()
	return ok && at.Before(now) && p.Status.Or("") == client.BroadcastPostStatusScheduled
}

// ByUrgency merges lists and sorts the reviews. The lowest priority number comes first, then the
// fewest stars, then the newest review. The API does not sort by stars, so only the loaded reviews
// are in this order.
func ByUrgency(lists ...[]client.Feedback) []client.Feedback {
	out := slices.Concat(lists...)
	slices.SortStableFunc(out, func(a, b client.Feedback) int {
		const last = math.MaxInt
		return cmp.Or(
			cmp.Compare(a.Priority.Or(last), b.Priority.Or(last)),
			cmp.Compare(a.Rating.Or(last), b.Rating.Or(last)),
			b.PostedAt.Or(time.Time{}).Compare(a.PostedAt.Or(time.Time{})),
			cmp.Compare(a.ID, b.ID))
	})
	return out
}

// The service does not limit the texts of an account, because they come with an import.
const (
	channelNameMax  = 80
	channelErrorMax = 200
)

// ChannelProblem returns in words why a channel fails or will soon fail. fails is false if the
// channel works.
func ChannelProblem(c client.Channel) (why string, fails bool) {
	status := c.Status.Or("")
	valid, checked := c.CredentialsValid.Get()
	switch {
	case status == client.BroadcastChannelStatusError || status == client.BroadcastChannelStatusDisconnected || status == client.BroadcastChannelStatusExpiring:
		why = phrase.Words(string(status))
	case checked && !valid:
		why = "its credentials are not valid"
	default:
		return "", false
	}
	if text, ok := c.LastError.Get(); ok && text != "" {
		why += ": " + phrase.Excerpt(text, channelErrorMax)
	}
	return why, true
}

// ChannelName returns a name for a channel: its platform and its account.
func ChannelName(c client.Channel) string {
	return phrase.Words(string(c.Platform.Or(""))) + " " + phrase.Excerpt(c.Handle.Or(c.Name.Or("")), channelNameMax)
}

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

// The lengths at which an account's name and error are truncated. The service does not limit them,
// because they come from an import.
const (
	channelNameMax  = 80
	channelErrorMax = 200
)

// ChannelSends reports whether the service hands the channel's posts to the program that sends
// them. It is true even for a channel whose credentials will expire soon.
func ChannelSends(c client.Channel, now time.Time) bool {
	return channelFailure(c, now) == ""
}

// channelFailure returns why a channel does not send, by the rules of the service. It returns "" if
// the channel sends.
func channelFailure(c client.Channel, now time.Time) string {
	status := c.Status.Or("")
	expireAt, expires := c.CredentialsExpireAt.Get()
	switch {
	case status == client.BroadcastChannelStatusError || status == client.BroadcastChannelStatusDisconnected:
		return phrase.Words(string(status))
	case !c.CredentialsValid.Or(true):
		return "its credentials are not valid"
	case expires && !expireAt.After(now):
		return "its credentials have expired"
	}
	return ""
}

// ChannelProblem describes why a channel fails or will soon fail. fails is false if the channel
// still works.
func ChannelProblem(c client.Channel, now time.Time) (why string, fails bool) {
	why = channelFailure(c, now)
	switch {
	case why != "":
	case c.Status.Or("") == client.BroadcastChannelStatusExpiring:
		why = phrase.Words(string(client.BroadcastChannelStatusExpiring))
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

package overview

import (
	"strings"
	"time"
)

// channel is what the rules read of a connected account.
type channel struct {
	ID                  string
	Platform            *string
	Name, Handle        *string
	Status              *string
	CredentialsValid    *bool
	CredentialsExpireAt *string
	LastCheckedAt       *string
	LastError           *string
	Active              *bool
	UpdatedAt           *string
}

// problem says why an account in use does not send, or will soon stop. It returns "" for an account
// that works or is not in use.
func (c channel) problem(now time.Time) string {
	status := value(c.Status, "")
	switch {
	case !value(c.Active, true):
		return ""
	case status == "error", status == "disconnected":
		return status
	case !value(c.CredentialsValid, true):
		return "its credentials are not valid"
	case isBefore(c.CredentialsExpireAt, now.Add(time.Millisecond)):
		return "its credentials have expired"
	case status == "expiring":
		return status
	}
	return ""
}

func (r *reader) startChannels() *records[channel] {
	return startList[channel](r, "list_broadcast_channels", map[string]any{}, countMax, nil)
}

func (r *reader) channelsToAttend(channels *records[channel]) Attention {
	var items []AttentionItem
	for _, c := range channels.all {
		why := c.problem(r.now())
		if why == "" {
			continue
		}
		if c.LastError != nil && *c.LastError != "" {
			why += ": " + *c.LastError
		}
		title := strings.TrimSpace(value(c.Platform, "") + " " + value(first(c.Handle, c.Name), ""))
		items = append(items, item(c.ID, c.Status, first(c.LastCheckedAt, c.UpdatedAt), why, &title))
	}
	return attentionOf(KindChannelBroken, oldestFirst(items), channels.more)
}

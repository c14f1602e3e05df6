package broadcast

import (
	"context"
	"fmt"
	"math"
	"strings"

	"growthworkspace/shared/record"
	"growthworkspace/shared/table"
)

// Channel is a connected account on a platform. This service does not store its token.
type Channel struct {
	ID                  string         `json:"id"`
	CompanyID           string         `json:"companyId"`
	Platform            *Platform      `json:"platform"`
	Name                *string        `json:"name"`
	Handle              *string        `json:"handle" doc:"the account's name on the platform"`
	ExternalID          *string        `json:"externalId" doc:"the platform's own id"`
	ExternalURL         *string        `json:"externalUrl" format:"web" doc:"the account's URL on the platform"`
	Status              *ChannelStatus `json:"status" doc:"state of the connection"`
	CredentialsValid    *bool          `json:"credentialsValid" doc:"whether the credentials worked when last checked; null: never checked"`
	CredentialsExpireAt *string        `json:"credentialsExpireAt" format:"date-time" doc:"when the credentials expire"`
	LastCheckedAt       *string        `json:"lastCheckedAt" format:"date-time" doc:"when the credentials were last checked"`
	LastError           *string        `json:"lastError" doc:"the error of the last check"`
	Active              *bool          `json:"active" doc:"whether the channel is in use"`
	CreatedAt           *string        `json:"createdAt" format:"date-time"`
	UpdatedAt           *string        `json:"updatedAt" format:"date-time"`
}

// ChannelStatus is the state of a connection.
type ChannelStatus string

// The statuses in which a channel cannot be used.
const (
	ChannelDisconnected ChannelStatus = "disconnected"
	ChannelError        ChannelStatus = "error"
)

// Values implements schema.Enum.
func (ChannelStatus) Values() []string {
	return []string{"connected", "expiring", string(ChannelDisconnected), string(ChannelError)}
}

var channels = record.Kind[Channel]{
	Name: "channel", Plural: "channels", Prefix: "chn", Path: "broadcast/channels", Parameter: "channelId", SortPrefix: "channel",
	Change:     "channel",
	Columns:    "platform status name handle active credentialsValid:valid credentialsExpireAt:expires lastError",
	Consistent: true, Order: Channel.sortKey,
}

// sortKey returns the sort position of a channel in the list. Channels are ordered by platform and
// then by id. Channels without a platform come last.
func (c Channel) sortKey() string {
	platform := "~"
	if c.Platform != nil {
		platform = string(*c.Platform)
	}
	return table.JoinKey(platform, c.ID)
}

// problem returns the reason a channel cannot send anything at the given time, or "" if there is no
// known reason.
func (c Channel) problem(at string) string {
	switch {
	case c.Active != nil && !*c.Active:
		return "is not in use"
	case c.Status != nil && (*c.Status == ChannelDisconnected || *c.Status == ChannelError):
		return "has the status " + string(*c.Status)
	case c.CredentialsValid != nil && !*c.CredentialsValid:
		return "has credentials that are not valid"
	case c.CredentialsExpireAt != nil && *c.CredentialsExpireAt <= at:
		return "has credentials that expire at " + *c.CredentialsExpireAt
	}
	return ""
}

// notedChannelsMax is the maximum number of channels that a note lists.
const notedChannelsMax = 5

// channelNote returns a note if a scheduled post cannot be sent because no channel for its platform
// will work when the post is due. Otherwise it returns "".
func (s service) channelNote(ctx context.Context, companyID string, p Post) string {
	if !p.hasStatus(PostStatusScheduled) || p.Platform == nil {
		return ""
	}
	all, err := s.channels.Page(ctx, companyID, "", math.MaxInt)
	if err != nil {
		return fmt.Sprintf("The post is scheduled, but whether a channel for %s works could not be read.", *p.Platform)
	}
	at := *p.ScheduledFor
	if p.UpdatedAt != nil { // an imported post may not have it
		at = max(at, *p.UpdatedAt) // a post scheduled in the past is due immediately
	}
	var found []string
	for _, c := range all.Records {
		if c.Platform == nil || *c.Platform != *p.Platform {
			continue
		}
		problem := c.problem(at)
		if problem == "" {
			return ""
		}
		found = append(found, c.ID+" "+problem)
	}
	if len(found) == 0 {
		return fmt.Sprintf("The post is scheduled, but the company has no channel for %s to send it over.", *p.Platform)
	}
	return fmt.Sprintf("The post is scheduled, but no channel for %s works when it is due: %s.", *p.Platform, strings.Join(found[:min(len(found), notedChannelsMax)], ", "))
}

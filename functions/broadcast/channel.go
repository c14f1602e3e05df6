package broadcast

import (
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

// Values implements schema.Enum.
func (ChannelStatus) Values() []string {
	return []string{"connected", "expiring", "disconnected", "error"}
}

var channels = record.Kind[Channel]{
	Name: "channel", Plural: "channels", Prefix: "chn", Path: "broadcast/channels", Parameter: "channelId", SortPrefix: "channel",
	Consistent: true, Order: Channel.sortKey,
}

// sortKey returns the sort position of a channel in the list: by platform, and channels without a
// platform last.
func (c Channel) sortKey() string {
	platform := "~"
	if c.Platform != nil {
		platform = string(*c.Platform)
	}
	return table.JoinKey(platform, c.ID)
}

package broadcast

import (
	"context"

	"growthworkspace/shared/api"
	"growthworkspace/shared/table"
)

// Channel is a connected account on a platform (decisions.md §2). Its token is not here: no record of this service
// holds one.
type Channel struct {
	ID                  string         `json:"id"`
	CompanyID           string         `json:"companyId"`
	Platform            *Platform      `json:"platform"`
	Name                *string        `json:"name"`
	Handle              *string        `json:"handle" doc:"the account's name on the platform"`
	ExternalID          *string        `json:"externalId" doc:"the platform's own id"`
	ExternalURL         *string        `json:"externalUrl" doc:"the account's address on the platform"`
	Status              *ChannelStatus `json:"status" doc:"how the connection is"`
	CredentialsValid    *bool          `json:"credentialsValid" doc:"whether the credentials worked when last checked; null: never checked"`
	CredentialsExpireAt *string        `json:"credentialsExpireAt" format:"date-time" doc:"when the credentials stop working"`
	LastCheckedAt       *string        `json:"lastCheckedAt" format:"date-time" doc:"when the credentials were last tried"`
	LastError           *string        `json:"lastError" doc:"what went wrong when they were"`
	Active              *bool          `json:"active" doc:"whether the channel is in use"`
	CreatedAt           *string        `json:"createdAt" format:"date-time"`
	UpdatedAt           *string        `json:"updatedAt" format:"date-time"`
}

// ChannelStatus is how a connection is.
type ChannelStatus string

// Values is schema.Enum.
func (ChannelStatus) Values() []string {
	return []string{"connected", "expiring", "disconnected", "error"}
}

// byPlatform is the order of channels (decisions.md §1): by the platform's name, those without one last.
func (c Channel) byPlatform() string {
	platform := "~"
	if c.Platform != nil {
		platform = string(*c.Platform)
	}
	return table.Join(platform, c.ID)
}

type listChannelsInput struct{}

func (s service) listChannels(ctx context.Context, caller api.Caller, _ listChannelsInput) (api.List[Channel], error) {
	channels, err := s.store.ListChannels(ctx, caller.CompanyID)
	if err != nil {
		return api.List[Channel]{}, err
	}
	return api.NewList(channels, ""), nil
}

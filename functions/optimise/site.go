package optimise

import (
	"context"

	"growthworkspace/shared/api"
)

// Site is a measured site.
type Site struct {
	ID          string   `json:"id"`
	CompanyID   string   `json:"companyId"`
	Name        *string  `json:"name"`
	SiteKey     *string  `json:"siteKey" doc:"public; placed in the customer's pages next to the collector; grants no access to this API"`
	Domains     []string `json:"domains" doc:"the domains that serve the site"`
	Timezone    *string  `json:"timezone" doc:"IANA time zone name"`
	Active      *bool    `json:"active" doc:"whether the site is in use"`
	LastEventAt *string  `json:"lastEventAt" format:"date-time" doc:"when the collector last reported; an old time means it stopped"`
	CreatedAt   *string  `json:"createdAt" format:"date-time"`
	UpdatedAt   *string  `json:"updatedAt" format:"date-time"`
}

type listSitesInput struct{}

func (s service) listSites(ctx context.Context, caller api.Caller, _ listSitesInput) (api.List[Site], error) {
	sites, err := s.store.ListSites(ctx, caller.CompanyID)
	if err != nil {
		return api.List[Site]{}, err
	}
	return api.NewList(sites, ""), nil
}

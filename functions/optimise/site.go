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

type listSitesInput struct {
	Cursor api.Cursor `query:"cursor"`
}

func (s service) listSites(ctx context.Context, caller api.Caller, in listSitesInput) (api.List[Site], error) {
	sites, err := s.store.ListSites(ctx, caller.CompanyID, string(in.Cursor))
	if err != nil {
		return api.List[Site]{}, err
	}
	return api.NewList(sites), nil
}

type getSiteInput struct {
	SiteID string `path:"siteId"`
}

func (s service) getSite(ctx context.Context, caller api.Caller, in getSiteInput) (Site, error) {
	return s.store.GetSite(ctx, caller.CompanyID, in.SiteID)
}

type createSiteInput struct {
	api.Idempotent

	Name     string   `json:"name" min:"1" max:"200" doc:"a name for people"`
	Domains  []string `json:"domains" items:"50" each:"253" format:"host" doc:"host names without scheme or port"`
	Timezone *string  `json:"timezone" max:"100" format:"timezone" doc:"IANA name"`
	Active   bool     `json:"active" default:"true" doc:"whether it is in use"`
}

func (s service) createSite(ctx context.Context, caller api.Caller, in createSiteInput) (Site, error) {
	return s.store.CreateSite(ctx, caller.CompanyID, Site{Name: &in.Name, Domains: in.Domains, Timezone: in.Timezone, Active: &in.Active})
}

type updateSiteInput struct {
	api.Condition

	SiteID   string                  `path:"siteId"`
	Name     *string                 `json:"name" min:"1" max:"200" doc:"a name for people"`
	Domains  api.Clearable[[]string] `json:"domains" items:"50" each:"253" format:"host" doc:"host names without scheme or port; replaces the list"`
	Timezone api.Clearable[*string]  `json:"timezone" max:"100" format:"timezone" doc:"IANA name"`
	Active   *bool                   `json:"active" doc:"whether it is in use"`
}

func (s service) updateSite(ctx context.Context, caller api.Caller, in updateSiteInput) (Site, error) {
	return s.store.ModifySite(ctx, caller.CompanyID, in.SiteID, func(site *Site) error {
		if err := in.Condition.Check(*site); err != nil {
			return err
		}
		api.Set(&site.Name, in.Name)
		in.Domains.Apply(&site.Domains)
		in.Timezone.Apply(&site.Timezone)
		api.Set(&site.Active, in.Active)
		return nil
	})
}

type deleteSiteInput struct {
	api.Condition

	SiteID string `path:"siteId"`
}

func (s service) deleteSite(ctx context.Context, caller api.Caller, in deleteSiteInput) (api.Deleted, error) {
	check := func(site Site) error { return in.Condition.Check(site) }
	if err := s.store.RemoveSite(ctx, caller.CompanyID, in.SiteID, check); err != nil {
		return api.Deleted{}, err
	}
	return api.Deleted{ID: in.SiteID, Deleted: true}, nil
}

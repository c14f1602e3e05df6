package optimise

import (
	"context"

	"growthworkspace/shared/record"
	"growthworkspace/shared/table"
)

// siteStore stores sites. Removing a site removes its goals, too.
type siteStore struct {
	record.Store[Site]

	table *table.Client
}

// Insert stores a new site like record.Store.Insert, with a new site key.
func (s siteStore) Insert(ctx context.Context, companyID string, site Site) (Site, error) {
	site.SiteKey = new(s.table.NewPublicKey())
	return s.Store.Insert(ctx, companyID, site)
}

// Remove deletes a site and its goals, like table.RemoveParent.
func (s siteStore) Remove(ctx context.Context, companyID, siteID string, check func(Site) error) error {
	return table.RemoveParent(ctx, s.table, s.Key(companyID, siteID), table.ParentRemoval[Site]{
		Check:          check,
		RemoveChildren: func(ctx context.Context) error { return s.removeGoals(ctx, companyID, siteID) },
	})
}

// removeGoals deletes the goals of a deleted site. It reads the goals of all sites, because
// the index that lists a single site's goals may not contain the newest goal yet.
func (s siteStore) removeGoals(ctx context.Context, companyID, siteID string) error {
	all := goals.Collection(companyID)
	all.Consistent = true
	var found []table.Key
	err := table.ForEach(ctx, s.table, all, func(g struct {
		ID     string `store:"id"`
		SiteID string `store:"siteId"`
	}) error {
		if g.SiteID == siteID {
			found = append(found, goals.Key(companyID, g.ID))
		}
		return nil
	})
	if err != nil {
		return err
	}
	return s.table.BatchDelete(ctx, found)
}

package optimise

import (
	"context"

	"growthworkspace/shared/idempotency"
	"growthworkspace/shared/table"
)

// sitesMax bounds creates. An import may bring more.
const sitesMax = 200

func siteKey(companyID, siteID string) table.Key { return key(companyID, siteKind, siteID) }

func keysOfSite(s Site) table.Keys { return table.Keys{Key: siteKey(s.CompanyID, s.ID)} }

// ListSites returns the company's sites behind a position, ordered by createdAt.
func (s Store) ListSites(ctx context.Context, companyID, after string) (table.Page[Site], error) {
	sites, err := table.Whole[Site](ctx, s.table, collection(companyID, siteKind))
	return table.PageOf(sites, func(s Site) string { return table.Join(table.SortTime(s.CreatedAt), s.ID) }, after, len(sites)), err
}

// GetSite returns a site. Returns fault.ErrNotFound when there is none.
func (s Store) GetSite(ctx context.Context, companyID, siteID string) (Site, error) {
	return table.Get[Site](ctx, s.table, siteKey(companyID, siteID))
}

// CreateSite stores a new site and sets its id, company, key and times. Returns conflict when the company has sitesMax of them.
func (s Store) CreateSite(ctx context.Context, companyID string, site Site) (Site, error) {
	if err := table.Room(ctx, s.table, collection(companyID, siteKind), sitesMax, "sites"); err != nil {
		return Site{}, err
	}
	now, publicKey := s.table.Now(), s.table.NewPublicKey()
	site.ID, site.CompanyID, site.SiteKey, site.CreatedAt, site.UpdatedAt = s.table.NewID(siteIDs), companyID, &publicKey, &now, &now
	return site, idempotency.Insert(ctx, s.table, site, keysOfSite(site), site)
}

// ModifySite changes a site by compare-and-set, as table.Modify does.
func (s Store) ModifySite(ctx context.Context, companyID, siteID string, change func(*Site) error) (Site, error) {
	return table.Modify(ctx, s.table, siteKey(companyID, siteID), keysOfSite, change)
}

// RemoveSite deletes a site and its goals, as table.RemoveParent does.
func (s Store) RemoveSite(ctx context.Context, companyID, siteID string, check func(Site) error) error {
	return table.RemoveParent(ctx, s.table, siteKey(companyID, siteID), table.Removal[Site]{
		Check: check,
		Sweep: func(ctx context.Context) error { return s.sweepGoals(ctx, companyID, siteID) },
	})
}

// sweepGoals deletes the goals of a site that is gone. It reads the goals of all sites, because the index of one site may not
// have its newest goal yet.
func (s Store) sweepGoals(ctx context.Context, companyID, siteID string) error {
	all := collection(companyID, goalKind)
	all.Consistent = true
	var found []table.Key
	err := table.Each(ctx, s.table, all, func(g struct {
		ID     string `store:"id"`
		SiteID string `store:"siteId"`
	}) error {
		if g.SiteID == siteID {
			found = append(found, goalKey(companyID, g.ID))
		}
		return nil
	})
	if err != nil {
		return err
	}
	return s.table.Delete(ctx, found)
}

package optimise

import (
	"context"
	"errors"
	"slices"

	"growthworkspace/shared/fault"
	"growthworkspace/shared/idempotency"
	"growthworkspace/shared/parallel"
	"growthworkspace/shared/record"
	"growthworkspace/shared/resource"
	"growthworkspace/shared/table"
)

// goalStore stores the goals of one site. It does not embed record.Store, because the methods of
// record.Store do not take the site into account and would reach goals of other sites.
type goalStore struct {
	siteID string
	goals  record.Store[SiteGoal]
	sites  siteStore
	table  *table.Client
}

// Goals returns the store of a site's goals.
func (s Store) Goals(siteID string) resource.Store[SiteGoal] {
	return goalStore{siteID, s.goals, s.Sites, s.table}
}

// goalsOfSite returns the collection of a site's goals, in the order of the list.
func goalsOfSite(companyID, siteID string) table.Collection {
	return table.Collection{Index: table.GSI1, Partition: partition(companyID, goalsPart, siteID)}
}

// Page returns a page of the site's goals, in the order of the list. It returns fault.ErrNotFound
// if the site does not exist.
func (s goalStore) Page(ctx context.Context, companyID, after string, limit int) (table.Page[SiteGoal], error) {
	var found []SiteGoal
	err := parallel.Both(
		func() (err error) {
			_, err = s.sites.Get(ctx, companyID, s.siteID)
			return err
		},
		func() (err error) {
			found, err = table.ReadAll[SiteGoal](ctx, s.table, goalsOfSite(companyID, s.siteID))
			return err
		},
	)
	return table.PageOf(found, SiteGoal.sortPosition, after, limit), err
}

// Get returns a goal of the site. It returns fault.ErrNotFound if the site does not exist, or if
// the goal does not exist or is on another site.
func (s goalStore) Get(ctx context.Context, companyID, goalID string) (g SiteGoal, err error) {
	item, err := s.readItem(ctx, companyID, goalID)
	if err != nil {
		return g, err
	}
	return g, table.Decode(item, &g)
}

// readItem reads a goal and its site in one call. It returns fault.ErrNotFound if either is
// missing. An interrupted removal of a site can leave goals without a site.
func (s goalStore) readItem(ctx context.Context, companyID, goalID string) (table.Item, error) {
	key := s.goals.Key(companyID, goalID)
	items, err := table.BatchGetItems(ctx, s.table, []table.Key{s.sites.Key(companyID, s.siteID), key})
	if err != nil {
		return nil, err
	}
	n := slices.IndexFunc(items, func(item table.Item) bool { return table.KeyOf(item) == key })
	if n < 0 || len(items) < 2 {
		return nil, fault.ErrNotFound
	}
	var g SiteGoal
	if err := table.Decode(items[n], &g); err != nil {
		return nil, err
	}
	return items[n], s.checkSite(g)
}

// checkSite returns fault.ErrNotFound if the goal is on another site. An import may have moved it
// there.
func (s goalStore) checkSite(g SiteGoal) error {
	if g.SiteID != s.siteID {
		return fault.ErrNotFound
	}
	return nil
}

// Insert stores a new goal of the site and sets the goal's id, site, company and times. It returns
// a conflict if the site already has the maximum number of goals (goals.Limit), and
// fault.ErrNotFound if the site does not exist.
func (s goalStore) Insert(ctx context.Context, companyID string, g SiteGoal) (SiteGoal, error) {
	if err := table.CheckLimit(ctx, s.table, goalsOfSite(companyID, s.siteID), goals.Limit, goals.Plural); err != nil {
		if _, siteErr := s.sites.Get(ctx, companyID, s.siteID); siteErr != nil { // the goals may be left over from an interrupted removal of the site
			err = siteErr
		}
		return SiteGoal{}, err
	}
	s.goals.SetIdentity(companyID, &g)
	g.SiteID = s.siteID
	err := idempotency.Transact(ctx, s.table, g, s.table.WriteChild(s.sites.Key(companyID, s.siteID)), s.table.WriteCreate(s.goals.Keys(g), g))
	var canceled *table.CanceledError
	if errors.As(err, &canceled) {
		if _, missing := canceled.Failed(0); missing {
			err = fault.ErrNotFound
		}
	}
	return g, err
}

// Modify changes a goal of the site by compare-and-set, like table.Modify.
func (s goalStore) Modify(ctx context.Context, companyID, goalID string, change func(*SiteGoal) error) (SiteGoal, error) {
	item, err := s.readItem(ctx, companyID, goalID)
	if err != nil {
		return SiteGoal{}, err
	}
	return table.ModifyItem(ctx, s.table, s.goals.Key(companyID, goalID), item, s.goals.Keys, func(g *SiteGoal) error {
		if err := s.checkSite(*g); err != nil {
			return err
		}
		return change(g)
	})
}

// Remove deletes a goal of the site, like table.Remove.
func (s goalStore) Remove(ctx context.Context, companyID, goalID string, check func(SiteGoal) error) error {
	if _, err := s.readItem(ctx, companyID, goalID); err != nil {
		return err
	}
	_, err := table.Remove(ctx, s.table, s.goals.Key(companyID, goalID), func(g SiteGoal) error {
		if err := s.checkSite(g); err != nil {
			return err
		}
		return check(g)
	})
	return err
}

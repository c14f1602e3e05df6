package optimise

import (
	"context"
	"errors"
	"slices"

	"growthworkspace/shared/fault"
	"growthworkspace/shared/idempotency"
	"growthworkspace/shared/parallel"
	"growthworkspace/shared/table"
)

// goalsMax bounds the creates of a site. An import may bring more.
const goalsMax = 200

func goalKey(companyID, goalID string) table.Key { return key(companyID, goalKind, goalID) }

func keysOfGoal(g SiteGoal) table.Keys {
	return table.Keys{
		Key:  goalKey(g.CompanyID, g.ID),
		GSI1: table.Key{PK: partition(g.CompanyID, goalsOf, g.SiteID), SK: table.Join(table.SortNumber(g.Order), g.ID)},
	}
}

// goalsOfSite returns the goals of a site, in order.
func goalsOfSite(companyID, siteID string) table.Collection {
	return table.Collection{Index: table.GSI1, Partition: partition(companyID, goalsOf, siteID)}
}

// ListGoals returns the goals of a site behind a position, ordered by their Order field. Returns fault.ErrNotFound when
// there is no such site.
func (s Store) ListGoals(ctx context.Context, companyID, siteID, after string) (table.Page[SiteGoal], error) {
	var goals []SiteGoal
	err := parallel.Both(
		func() (err error) {
			_, err = s.GetSite(ctx, companyID, siteID)
			return err
		},
		func() (err error) {
			goals, err = table.Whole[SiteGoal](ctx, s.table, goalsOfSite(companyID, siteID))
			return err
		},
	)
	return table.PageOf(goals, func(g SiteGoal) string { return keysOfGoal(g).GSI1.SK }, after, len(goals)), err
}

// GetGoal returns a goal of a site. Returns fault.ErrNotFound when there is no such site, or the goal is of another one.
func (s Store) GetGoal(ctx context.Context, companyID, siteID, goalID string) (g SiteGoal, err error) {
	item, err := s.readGoal(ctx, companyID, siteID, goalID)
	if err != nil {
		return g, err
	}
	return g, table.Decode(item, &g)
}

// readGoal reads a goal and its site at once. A goal whose site is gone belongs to a removal that was cut off, so it is not found.
func (s Store) readGoal(ctx context.Context, companyID, siteID, goalID string) (table.Item, error) {
	at := goalKey(companyID, goalID)
	items, err := table.ManyItems(ctx, s.table, []table.Key{siteKey(companyID, siteID), at})
	if err != nil {
		return nil, err
	}
	n := slices.IndexFunc(items, func(item table.Item) bool { return table.KeyOf(item) == at })
	if n < 0 || len(items) < 2 {
		return nil, fault.ErrNotFound
	}
	var g SiteGoal
	if err := table.Decode(items[n], &g); err != nil {
		return nil, err
	}
	return items[n], ofSite(g, siteID)
}

// ofSite returns fault.ErrNotFound when the goal is of another site. An import may move a goal.
func ofSite(g SiteGoal, siteID string) error {
	if g.SiteID != siteID {
		return fault.ErrNotFound
	}
	return nil
}

// CreateGoal stores a new goal of a site and sets its id, site, company and times. Returns conflict when the site has goalsMax of
// them, and fault.ErrNotFound when there is no such site.
func (s Store) CreateGoal(ctx context.Context, companyID, siteID string, g SiteGoal) (SiteGoal, error) {
	if err := table.Room(ctx, s.table, goalsOfSite(companyID, siteID), goalsMax, "goals of this site"); err != nil {
		if _, missing := s.GetSite(ctx, companyID, siteID); missing != nil { // what is left of a removal that was cut off is no obstacle
			err = missing
		}
		return SiteGoal{}, err
	}
	now := s.table.Now()
	g.ID, g.CompanyID, g.SiteID, g.CreatedAt, g.UpdatedAt = s.table.NewID(goalIDs), companyID, siteID, &now, &now
	err := idempotency.Transact(ctx, s.table, g, s.table.WriteChild(siteKey(companyID, siteID)), s.table.WriteNew(keysOfGoal(g), g))
	var canceled *table.CanceledError
	if errors.As(err, &canceled) {
		if _, missing := canceled.Failed(0); missing {
			err = fault.ErrNotFound
		}
	}
	return g, err
}

// ModifyGoal changes a goal of a site by compare-and-set, as table.Modify does.
func (s Store) ModifyGoal(ctx context.Context, companyID, siteID, goalID string, change func(*SiteGoal) error) (SiteGoal, error) {
	item, err := s.readGoal(ctx, companyID, siteID, goalID)
	if err != nil {
		return SiteGoal{}, err
	}
	return table.ModifyRead(ctx, s.table, goalKey(companyID, goalID), item, keysOfGoal, func(g *SiteGoal) error {
		if err := ofSite(*g, siteID); err != nil {
			return err
		}
		return change(g)
	})
}

// RemoveGoal deletes a goal of a site, as table.Remove does.
func (s Store) RemoveGoal(ctx context.Context, companyID, siteID, goalID string, check func(SiteGoal) error) error {
	if _, err := s.readGoal(ctx, companyID, siteID, goalID); err != nil {
		return err
	}
	_, err := table.Remove(ctx, s.table, goalKey(companyID, goalID), func(g SiteGoal) error {
		if err := ofSite(g, siteID); err != nil {
			return err
		}
		return check(g)
	})
	return err
}

package optimise

import (
	"context"

	"growthworkspace/shared/table"
)

// Store stores sites, goals and audits in the partition <company>#optimise. The findings of each audit have a partition of
// their own, so that reading megabytes does not use up the throughput of the shared one.
//
//	access                          key
//	site; all sites                 site#<siteId>; the prefix site#, bounded, ordered in memory
//	goal                            goal#<goalId>
//	goals of a site, in order       GSI1 <company>#optimise#goals#<siteId> / order#goalId, bounded
//	audit, without its findings     audit#<auditId>
//	all audits, newest first        GSI1 <company>#optimise#audits / startedAt#auditId, later times first
//	... with a status               GSI2 <company>#optimise#audits#<status> / the same; an audit with a null status is not in this index
//	... of a site, with a status    GSI3 <company>#optimise#audits#<siteId>#<status> / the same; an audit with a null site is not in this index
//	... of a site                   the same partitions, merged: one for each status, and `none` for a null status
//	findings of an audit            <company>#optimise#findings#<auditId> / generation#n; the audit has the generation
type Store struct{ table *table.Client }

// NewStore returns a store over the table.
func NewStore(t *table.Client) Store { return Store{t} }

const (
	area      = "optimise"
	siteKind  = "site"
	goalKind  = "goal"
	auditKind = "audit"

	// Parts of the keys of narrower partitions.
	goalsOf    = "goals"
	auditsOf   = "audits"
	findingsOf = "findings"
	noStatus   = "none" // for audits without a status, which an import may contain
)

func partition(companyID string, narrower ...string) string {
	return table.Partition(companyID, area, narrower...)
}

func key(companyID string, parts ...string) table.Key {
	return table.Key{PK: partition(companyID), SK: table.Join(parts...)}
}

// collection returns all records of a kind, ordered by id.
func collection(companyID, kind string) table.Collection {
	return table.Collection{Partition: partition(companyID), Prefix: table.Join(kind, "")}
}

func siteKey(companyID, siteID string) table.Key { return key(companyID, siteKind, siteID) }

func keysOfSite(s Site) table.Keys { return table.Keys{Key: siteKey(s.CompanyID, s.ID)} }

func keysOfGoal(g SiteGoal) table.Keys {
	return table.Keys{
		Key:  key(g.CompanyID, goalKind, g.ID),
		GSI1: table.Key{PK: partition(g.CompanyID, goalsOf, g.SiteID), SK: table.Join(table.SortNumber(g.Order), g.ID)},
	}
}

// ListSites returns the company's sites, ordered by createdAt.
func (s Store) ListSites(ctx context.Context, companyID string) ([]Site, error) {
	sites, err := table.Whole[Site](ctx, s.table, collection(companyID, siteKind))
	if err != nil {
		return nil, err
	}
	ordered, _ := table.Page(sites, func(s Site) string { return table.Join(table.SortTime(s.CreatedAt), s.ID) }, "", len(sites))
	return ordered, nil
}

// ListGoals returns the goals of a site, ordered by their Order field. Returns fault.ErrNotFound when there is no such
// site.
func (s Store) ListGoals(ctx context.Context, companyID, siteID string) ([]SiteGoal, error) {
	var goals []SiteGoal
	err := table.Both(
		func() (err error) {
			_, err = table.Get[Site](ctx, s.table, siteKey(companyID, siteID))
			return err
		},
		func() (err error) {
			of := table.Collection{Index: table.GSI1, Partition: partition(companyID, goalsOf, siteID)}
			goals, err = table.Whole[SiteGoal](ctx, s.table, of)
			return err
		},
	)
	return goals, err
}

package optimise

import (
	"growthworkspace/shared/record"
	"growthworkspace/shared/table"
)

// Store stores sites, goals and audits in the partition <company>#optimise. The findings of each
// audit have their own partition, so that reading megabytes does not use up the throughput of the
// shared partition.
//
//	access                          key
//	site; all sites                 site#<siteId>; the prefix site#, bounded, ordered in memory
//	goal                            goal#<goalId>, read with its site; the prefix goal# for the removal of a site
//	goals of a site, in order       GSI1 <company>#optimise#goals#<siteId> / order#goalId, bounded
//	audit, without its findings     audit#<auditId>
//	all audits, newest first        GSI1 <company>#optimise#audits / startedAt#auditId, later times first
//	... with a status               GSI2 <company>#optimise#audits#<status> / the same; an audit with a null status is not in this index
//	... of a site, with a status    GSI3 <company>#optimise#audits#<siteId>#<status> / the same; an audit with a null site is not in this index
//	... of a site                   the same partitions, merged: one for each status, and `none` for a null status
//	draft of findings; old ones     draft#<draftId>; the prefix draft#, up to a time
//	findings of an audit            <company>#optimise#findings#<auditId> / generation#n; the audit has the generation
type Store struct {
	Sites  siteStore
	Audits auditStore

	goals record.Store[SiteGoal] // of all sites
	table *table.Client
}

// NewStore returns a store over the table.
func NewStore(t *table.Client) Store {
	return Store{siteStore{sites.Store(t), t}, auditStore{audits.Store(t), t}, goals.Store(t), t}
}

const (
	area      = "optimise"
	draftKind = "draft"

	// Parts of partition keys. Each of these partitions holds only some of the area's records.
	goalsPart    = "goals"
	auditsPart   = "audits"
	findingsPart = "findings"
	noStatus     = "none" // stands for a null status, which an import may contain
)

func partition(companyID string, moreParts ...string) string {
	return table.Partition(companyID, area, moreParts...)
}

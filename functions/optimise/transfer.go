package optimise

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"growthworkspace/shared/fault"
	"growthworkspace/shared/id"
	"growthworkspace/shared/table"
	"growthworkspace/shared/transfer"
)

// Limits of an import and an export.
const (
	recordBytesMax = 300_000 // of a record without findings: it must fit into a table item of 400 KB, with its keys
	writeBytes     = 8 << 20 // of chunks that wait to be written together
	parallelReads  = 16
	parallelAudits = 4 // whose findings an export holds at once
)

// Transfers returns the types of records that can be imported and exported (design.md §7).
func Transfers(t *table.Client) []transfer.Type {
	s := NewStore(t)
	return []transfer.Type{
		transfer.Define("site", id.Site, checkSite, s.importSites, s.eachSite),
		transfer.Define("site-goal", id.SiteGoal, checkGoal, s.importGoals, s.eachGoal),
		transfer.Define("audit", id.Audit, checkAudit, s.importAudits, s.eachAudit),
	}
}

func checkSite(s *Site) []string { return checkSize(s) }

func checkGoal(g *SiteGoal) []string { return append(checkSiteID(&g.SiteID), checkSize(g)...) }

func checkAudit(a *Audit) []string {
	problems := append(checkSiteID(a.SiteID), checkSize(a.AuditSummary)...)
	if a.Findings == nil {
		return problems
	}
	var text bytes.Buffer
	if err := json.Compact(&text, a.Findings); err != nil {
		return append(problems, "record.findings: "+err.Error())
	}
	if text.Len() > findingsBytesMax {
		return append(problems, fmt.Sprintf("record.findings: must have at most %d bytes, has %d", findingsBytesMax, text.Len()))
	}
	a.Findings = text.Bytes()
	return problems
}

// checkSiteID checks what becomes part of a key. The site need not be there: records may come in any order.
func checkSiteID(siteID *string) []string {
	if siteID == nil || id.Valid(id.Site, *siteID) {
		return nil
	}
	return []string{fmt.Sprintf("record.siteId: must be %s_ and 1 to 40 characters of 0-9 and a-z", id.Site)}
}

func checkSize(record any) []string { return transfer.CheckSize(record, recordBytesMax) }

func (s Store) importSites(ctx context.Context, companyID string, sites []Site) error {
	var items []table.Item
	for _, site := range lastOf(sites, func(s Site) string { return s.ID }) {
		site.CompanyID = companyID
		items = append(items, s.table.NewItem(keysOfSite(site), site))
	}
	return s.table.Put(ctx, items)
}

func (s Store) importGoals(ctx context.Context, companyID string, goals []SiteGoal) error {
	var items []table.Item
	for _, g := range lastOf(goals, func(g SiteGoal) string { return g.ID }) {
		g.CompanyID = companyID
		items = append(items, s.table.NewItem(keysOfGoal(g), g))
	}
	return s.table.Put(ctx, items)
}

// importAudits writes the new chunks, then the audits that name them, then deletes the chunks that the audits named
// before. Whoever reads meanwhile gets an audit as it was or as it is, whole. No audit will name a deleted generation
// again, so two imports at once, or one that dies halfway, can leave chunks that nobody names, but never a gap.
func (s Store) importAudits(ctx context.Context, companyID string, audits []Audit) error {
	audits = lastOf(audits, func(a Audit) string { return a.ID })
	replaced, err := s.chunksOf(ctx, companyID, audits)
	if err != nil {
		return err
	}
	var items, waiting []table.Item
	size := 0
	for _, a := range audits {
		stored := storedAudit{AuditSummary: a.AuditSummary}
		stored.CompanyID = companyID
		chunks, err := s.packFindings(&stored, a.Findings)
		if err != nil {
			return err
		}
		items = append(items, s.table.NewItem(keysOfAudit(stored), stored))
		waiting = append(waiting, chunks...)
		if size += len(a.Findings); size > writeBytes { // counted before packing, which only makes a batch smaller
			if err := s.table.Put(ctx, waiting); err != nil {
				return err
			}
			waiting, size = nil, 0
		}
	}
	if err := s.table.Put(ctx, waiting); err != nil {
		return err
	}
	if err := s.table.Put(ctx, items); err != nil {
		return err
	}
	return s.table.Delete(ctx, replaced)
}

// chunksOf returns where the chunks are that the audits name as they are stored now.
func (s Store) chunksOf(ctx context.Context, companyID string, audits []Audit) ([]table.Key, error) {
	found := make([][]table.Key, len(audits))
	err := table.Parallel(len(audits), parallelReads, func(n int) error {
		stored, err := table.Get[storedAudit](ctx, s.table, auditKey(companyID, audits[n].ID))
		if errors.Is(err, fault.ErrNotFound) {
			return nil
		}
		found[n] = stored.chunkKeys()
		return err
	})
	return slices.Concat(found...), err
}

func (s Store) eachSite(ctx context.Context, companyID string, visit func(Site) error) error {
	return each(ctx, s.table, collection(companyID, siteKind), visit)
}

func (s Store) eachGoal(ctx context.Context, companyID string, visit func(SiteGoal) error) error {
	return each(ctx, s.table, collection(companyID, goalKind), visit)
}

// eachAudit fetches the findings of a few audits at a time: those of a page may be gigabytes.
func (s Store) eachAudit(ctx context.Context, companyID string, visit func(Audit) error) error {
	return table.Each(ctx, s.table, collection(companyID, auditKind), func(page []storedAudit) error {
		for few := range slices.Chunk(page, parallelAudits) {
			audits := make([]Audit, len(few))
			err := table.Parallel(len(few), parallelAudits, func(n int) (err error) {
				audits[n], err = s.withFindings(ctx, few[n])
				return err
			})
			if err != nil {
				return err
			}
			for _, a := range audits {
				if err := visit(a); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// withFindings completes an audit that was just read; or reads it again, when an import has replaced its findings since.
func (s Store) withFindings(ctx context.Context, stored storedAudit) (Audit, error) {
	if stored.Generation == nil {
		return Audit{stored.AuditSummary, nil}, nil
	}
	chunks, err := s.chunks(ctx, stored.CompanyID, stored.ID, false)
	if err != nil {
		return Audit{}, err
	}
	findings, misfit := stored.findings(chunks)
	if misfit != nil {
		return s.GetAudit(ctx, stored.CompanyID, stored.ID)
	}
	return Audit{stored.AuditSummary, findings}, nil
}

func each[T any](ctx context.Context, t *table.Client, from table.Collection, visit func(T) error) error {
	return table.Each(ctx, t, from, func(page []T) error {
		for _, record := range page {
			if err := visit(record); err != nil {
				return err
			}
		}
		return nil
	})
}

// lastOf keeps the last of the records with one identity, in the order of the file.
func lastOf[T any](records []T, identity func(T) string) []T {
	last := make(map[string]int, len(records))
	for n, r := range records {
		last[identity(r)] = n
	}
	kept := make([]T, 0, len(last))
	for n, r := range records {
		if last[identity(r)] == n {
			kept = append(kept, r)
		}
	}
	return kept
}

package optimise

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"growthworkspace/shared/fault"
	"growthworkspace/shared/parallel"
	"growthworkspace/shared/table"
	"growthworkspace/shared/transfer"
)

// Limits of imports and exports.
const (
	writeBytes     = 8 << 20 // findings per batch of chunk writes
	parallelReads  = 16
	parallelAudits = 4 // audits whose findings an export holds in memory
)

// The prefixes of ids.
const (
	siteIDs  = "sit"
	goalIDs  = "gol"
	auditIDs = "aud"
)

// Transfers returns the record types that can be imported and exported.
func Transfers(t *table.Client) []transfer.Type {
	s := NewStore(t)
	of := func(kind string) func(string) table.Collection {
		return func(companyID string) table.Collection { return collection(companyID, kind) }
	}
	sites := transfer.Keep[createSiteInput](transfer.Stored("site", siteIDs, transfer.CheckSize, t, keysOfSite, func(s *Site) *string { return &s.CompanyID },
		transfer.Each[Site](t, of(siteKind))))
	goals := transfer.Existing(transfer.Keep[createGoalInput](transfer.Define("site-goal", goalIDs, checkGoal, s.importGoals, transfer.Each[SiteGoal](t, of(goalKind)))),
		transfer.ByKey(t, func(companyID string, g SiteGoal) table.Key { return goalKey(companyID, g.ID) }), s.addGoals)
	goals = transfer.Unique(goals, func(g SiteGoal) []transfer.Claim { return []transfer.Claim{{Text: "goal " + g.ID, Owner: g.SiteID}} })
	return []transfer.Type{
		transfer.Named(sites, func(s Site) string { return nameOf(s.ID) }),
		transfer.Child(goals, func(g SiteGoal) (name, problem string) { return nameOf(g.SiteID), "record.siteId: " + noSite(g) },
			transfer.Orphans(t, func(companyID string, g SiteGoal) table.Key { return siteKey(companyID, g.SiteID) })),
		transfer.Existing(transfer.Keep[createAuditInput](transfer.Define("audit", auditIDs, checkAudit, s.importAudits, s.eachAudit)),
			transfer.ByKey(t, func(companyID string, a Audit) table.Key { return auditKey(companyID, a.ID) }), s.addAudits),
	}
}

// nameOf returns the name of a site among the records of a file.
func nameOf(siteID string) string { return "site " + siteID }

// noSite is the problem of a goal without its site.
func noSite(g SiteGoal) string { return "there is no site " + g.SiteID }

// importGoals replaces goals, also those of another site. It refuses goals whose site has been deleted since the file was checked.
func (s Store) importGoals(ctx context.Context, companyID string, goals []SiteGoal) error {
	_, err := s.storeGoals(ctx, companyID, goals, s.table.WriteAny)
	return err
}

// addGoals stores goals whose ids are free, and returns how many it skipped because another caller has created them. It refuses
// the same ones as importGoals.
func (s Store) addGoals(ctx context.Context, companyID string, goals []SiteGoal, _ transfer.File) (skipped int, err error) {
	return s.storeGoals(ctx, companyID, goals, s.table.WriteNew)
}

func (s Store) storeGoals(ctx context.Context, companyID string, goals []SiteGoal, write func(table.Keys, any) table.Write) (skipped int, err error) {
	return transfer.PutUnits(ctx, s.table, goals, func(g SiteGoal) (table.Key, table.Unit) {
		g.CompanyID = companyID
		keys := keysOfGoal(g)
		return keys.Key, table.Unit{Writes: []table.Write{write(keys, g)}, Parent: new(siteKey(companyID, g.SiteID))}
	}, func(g SiteGoal, f table.Failure) (problem string, err error) {
		if f.Orphan {
			problem = "record.siteId: " + noSite(g)
		}
		return problem, nil
	})
}

// checkGoal validates siteId, which becomes part of a key and is no part of a body.
func checkGoal(g *SiteGoal) []string {
	return append(transfer.CheckID("siteId", siteIDs, &g.SiteID), transfer.CheckSize(g)...)
}

// checkPeriod returns the problem of finishedAt that a create with the same values would have. finishedAt of an audit that ended
// may be unknown.
func (a AuditSummary) checkPeriod() (problems []string) {
	if a.FinishedAt == nil {
		return nil
	}
	var invalid *fault.Error
	if errors.As(a.finish(a.StartedAt, a.FinishedAt, ""), &invalid) {
		for _, problem := range invalid.Messages {
			problems = append(problems, "record."+strings.TrimPrefix(problem, "body."))
		}
	}
	return problems
}

func checkAudit(a *Audit) []string {
	problems := append(a.checkPeriod(), transfer.CheckSize(&a.AuditSummary)...)
	if a.Findings == nil {
		return problems
	}
	var text bytes.Buffer
	if err := json.Compact(&text, a.Findings); err != nil {
		return append(problems, "record.findings: "+err.Error())
	}
	if text.Len() > findingsBytesMax {
		return append(problems, fmt.Sprintf("record.findings: must have at most %d bytes as compact JSON, has %d", findingsBytesMax, text.Len()))
	}
	a.Findings = text.Bytes()
	return problems
}

// importAudits writes the new chunks, then the audits that refer to them, then deletes the chunks that the audits referred
// to before. A concurrent reader gets the old audit or the new one, each with all of its findings. A deleted generation is
// never referred to again, so concurrent or aborted imports can leave unused chunks behind but never a missing one.
func (s Store) importAudits(ctx context.Context, companyID string, audits []Audit) error {
	audits = transfer.LastWins(audits, func(a Audit) string { return a.ID })
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
		if size += len(a.Findings); size > writeBytes { // the size before packing, so a batch is smaller than this
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

// addAudits stores audits whose ids are free, and returns how many it skipped because another caller has created them.
func (s Store) addAudits(ctx context.Context, companyID string, audits []Audit, _ transfer.File) (skipped int, err error) {
	for _, a := range transfer.LastWins(audits, func(a Audit) string { return a.ID }) {
		stored := storedAudit{AuditSummary: a.AuditSummary}
		stored.CompanyID = companyID
		chunks, err := s.packFindings(&stored, a.Findings)
		if err != nil {
			return skipped, err
		}
		if err := s.table.Put(ctx, chunks); err != nil {
			return skipped, err
		}
		taken, err := s.table.Add(ctx, []table.Item{s.table.NewItem(keysOfAudit(stored), stored)})
		if err == nil && taken > 0 {
			skipped++
			err = s.table.Delete(ctx, stored.chunkKeys())
		}
		if err != nil {
			return skipped, err
		}
	}
	return skipped, nil
}

// chunksOf returns the keys of the chunks that the stored versions of the audits refer to.
func (s Store) chunksOf(ctx context.Context, companyID string, audits []Audit) ([]table.Key, error) {
	found := make([][]table.Key, len(audits))
	err := parallel.Do(len(audits), parallelReads, func(n int) error {
		stored, err := table.Get[storedAudit](ctx, s.table, auditKey(companyID, audits[n].ID))
		if errors.Is(err, fault.ErrNotFound) {
			return nil
		}
		found[n] = stored.chunkKeys()
		return err
	})
	return slices.Concat(found...), err
}

// eachAudit calls visit for every audit of the company. It reads the findings of a few audits at a time, because those of
// a whole page can be gigabytes.
func (s Store) eachAudit(ctx context.Context, companyID string, visit func(Audit) error) error {
	var few []storedAudit
	visitFew := func() error {
		audits := make([]Audit, len(few))
		err := parallel.Do(len(few), parallelAudits, func(n int) (err error) {
			audits[n], err = s.withFindings(ctx, few[n])
			return err
		})
		few = few[:0]
		for _, a := range audits {
			if err == nil {
				err = visit(a)
			}
		}
		return err
	}
	each := transfer.Each[storedAudit](s.table, func(companyID string) table.Collection { return collection(companyID, auditKind) })
	err := each(ctx, companyID, func(a storedAudit) error {
		if few = append(few, a); len(few) < parallelAudits {
			return nil
		}
		return visitFew()
	})
	if err != nil {
		return err
	}
	return visitFew()
}

// withFindings adds the findings to an audit that was just read. It reads the audit again when an import has replaced its
// findings since.
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

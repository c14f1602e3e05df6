package optimise

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"growthworkspace/shared/api"
	"growthworkspace/shared/fault"
	"growthworkspace/shared/parallel"
	"growthworkspace/shared/table"
	"growthworkspace/shared/transfer"
)

// Limits of imports and exports.
const (
	chunkBatchBytes      = 8 << 20 // maximum bytes of findings in one batch of chunk writes
	auditReadConcurrency = 16
	exportBatchMax       = 4 // maximum number of audits whose findings an export holds in memory
)

// Transfers returns the record types that can be imported and exported.
func Transfers(t *table.Client) []transfer.Type {
	s := NewStore(t)
	return []transfer.Type{
		s.Sites.TransferAs(siteKind{s.Sites.Stored()}),
		transfer.Define(goals.Name, goals.Prefix, goalKind{s.goals.Stored()}, transfer.RulesOf[SiteGoal, api.CreateBody[SiteGoal]]()),
		transfer.Define(s.Audits.Name, s.Audits.Prefix, auditKind{s.Audits}, transfer.RulesOf[Audit, createAuditInput]()),
	}
}

// siteKind imports and exports sites.
type siteKind struct{ transfer.Stored[Site] }

// Entry implements transfer.Kind.
func (siteKind) Entry(s Site) transfer.Entry { return transfer.Entry{Name: importName(s.ID)} }

// goalKind imports and exports goals. The site of each goal must exist.
type goalKind struct{ transfer.Stored[SiteGoal] }

// Entry implements transfer.Kind.
func (goalKind) Entry(g SiteGoal) transfer.Entry {
	return transfer.Entry{Group: importName(g.SiteID), Unique: []transfer.UniqueText{{Text: "goal " + g.ID, Owner: g.SiteID}}}
}

// Verify implements transfer.Kind.
func (k goalKind) Verify(ctx context.Context, companyID string, records []SiteGoal) ([]transfer.Problem, error) {
	return transfer.Orphans(ctx, k.Table, records, func(g SiteGoal) (site table.Key, name, problem string) {
		return sites.Key(companyID, g.SiteID), importName(g.SiteID), "record.siteId: " + missingSiteProblem(g)
	})
}

// importName returns the name by which records in an import file refer to a site.
func importName(siteID string) string { return "site " + siteID }

// missingSiteProblem returns the message for a goal whose site does not exist.
func missingSiteProblem(g SiteGoal) string { return "there is no site " + g.SiteID }

// Import implements transfer.Kind. It replaces stored goals with the same ids, even those on another
// site. It refuses goals whose site has been deleted since the file was checked.
func (k goalKind) Import(ctx context.Context, companyID string, records []SiteGoal, m transfer.Mode) (skipped int, err error) {
	write := k.Table.WritePut
	if m.OnlyNew {
		write = k.Table.WriteCreate
	}
	return transfer.PutUnits(ctx, k.Table, records, func(g SiteGoal) (table.Key, table.Unit) {
		keys := k.KeysOf(companyID, &g)
		return keys.Key, table.Unit{Writes: []table.Write{write(keys, g)}, Parent: new(sites.Key(companyID, g.SiteID))}
	}, func(g SiteGoal, f table.Failure) (problem string, err error) {
		if f.Orphan {
			problem = "record.siteId: " + missingSiteProblem(g)
		}
		return problem, nil
	})
}

// Check validates siteId, which becomes part of a table key. The API does not check it in a body,
// because there it is part of the path.
func (goalKind) Check(g *SiteGoal) []string {
	return append(transfer.CheckID("siteId", sites.Prefix, &g.SiteID), transfer.CheckSize(g)...)
}

// checkPeriod returns the message with which a create would refuse the audit's finishedAt. Unlike
// in a create, finishedAt may be null even if the audit is not running.
func (a AuditSummary) checkPeriod() (problems []string) {
	if a.FinishedAt == nil {
		return nil
	}
	var invalid *fault.Error
	if errors.As(a.setFinishedAt(a.StartedAt, a.FinishedAt, ""), &invalid) {
		for _, problem := range invalid.Messages {
			problems = append(problems, "record."+strings.TrimPrefix(problem, "body."))
		}
	}
	return problems
}

// auditKind imports and exports audits with their findings.
type auditKind struct{ auditStore }

// Exist implements transfer.Kind.
func (k auditKind) Exist(ctx context.Context, companyID string, audits []Audit) ([]bool, error) {
	return transfer.ExistByKey(ctx, k.table, audits, func(a Audit) table.Key { return k.Key(companyID, a.ID) })
}

// Check implements transfer.Kind.
func (auditKind) Check(a *Audit) []string {
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

// Import implements transfer.Kind.
func (k auditKind) Import(ctx context.Context, companyID string, audits []Audit, m transfer.Mode) (skipped int, err error) {
	audits = transfer.KeepLast(audits, func(a Audit) string { return a.ID })
	if m.OnlyNew {
		return k.addAudits(ctx, companyID, audits)
	}
	return 0, k.importAudits(ctx, companyID, audits)
}

// importAudits writes the new chunks, then the audits that refer to them, then deletes the chunks
// that the audits referred to before. A concurrent reader gets the old audit or the new one, with
// all of its findings. No audit ever refers to a deleted generation again, so concurrent or aborted
// imports can leave unused chunks, but never an audit with missing chunks.
func (s auditStore) importAudits(ctx context.Context, companyID string, audits []Audit) error {
	oldChunkKeys, err := s.storedChunkKeys(ctx, companyID, audits)
	if err != nil {
		return err
	}
	var items, pendingChunks []table.Item
	size := 0
	for _, a := range audits {
		stored := storedAudit{AuditSummary: a.AuditSummary}
		stored.CompanyID = companyID
		chunks, err := s.packFindings(&stored, a.Findings)
		if err != nil {
			return err
		}
		items = append(items, s.table.NewItem(s.Keys(stored), stored))
		pendingChunks = append(pendingChunks, chunks...)
		if size += len(a.Findings); size > chunkBatchBytes { // before compression, so the batch itself is smaller
			if err := s.table.BatchPut(ctx, pendingChunks); err != nil {
				return err
			}
			pendingChunks, size = nil, 0
		}
	}
	if err := s.table.BatchPut(ctx, pendingChunks); err != nil {
		return err
	}
	if err := s.table.BatchPut(ctx, items); err != nil {
		return err
	}
	return s.table.BatchDelete(ctx, oldChunkKeys)
}

// addAudits stores audits that are not stored yet, and returns how many it skipped because another
// caller has created them.
func (s auditStore) addAudits(ctx context.Context, companyID string, audits []Audit) (skipped int, err error) {
	for _, a := range audits {
		stored := storedAudit{AuditSummary: a.AuditSummary}
		stored.CompanyID = companyID
		chunks, err := s.packFindings(&stored, a.Findings)
		if err != nil {
			return skipped, err
		}
		if err := s.table.BatchPut(ctx, chunks); err != nil {
			return skipped, err
		}
		existing, err := s.table.InsertMissing(ctx, []table.Item{s.table.NewItem(s.Keys(stored), stored)})
		if err == nil && existing > 0 {
			skipped++
			err = s.table.BatchDelete(ctx, stored.chunkKeys())
		}
		if err != nil {
			return skipped, err
		}
	}
	return skipped, nil
}

// storedChunkKeys returns the keys of the chunks that the stored versions of the audits refer to.
func (s auditStore) storedChunkKeys(ctx context.Context, companyID string, audits []Audit) ([]table.Key, error) {
	found := make([][]table.Key, len(audits))
	err := parallel.Do(len(audits), auditReadConcurrency, func(n int) error {
		stored, err := table.Get[storedAudit](ctx, s.table, s.Key(companyID, audits[n].ID))
		if errors.Is(err, fault.ErrNotFound) {
			return nil
		}
		found[n] = stored.chunkKeys()
		return err
	})
	return slices.Concat(found...), err
}

// Export implements transfer.Kind. It reads the findings of a few audits at a time, because the
// findings of a whole page can be gigabytes.
func (k auditKind) Export(ctx context.Context, companyID string, visit func(Audit) error) error {
	var batch []storedAudit
	visitBatch := func() error {
		audits := make([]Audit, len(batch))
		err := parallel.Do(len(batch), exportBatchMax, func(n int) (err error) {
			audits[n], err = k.withFindings(ctx, batch[n])
			return err
		})
		batch = batch[:0]
		for _, a := range audits {
			if err == nil {
				err = visit(a)
			}
		}
		return err
	}
	each := transfer.ExportEach[storedAudit](k.table, k.Collection)
	err := each(ctx, companyID, func(a storedAudit) error {
		if batch = append(batch, a); len(batch) < exportBatchMax {
			return nil
		}
		return visitBatch()
	})
	if err != nil {
		return err
	}
	return visitBatch()
}

// withFindings adds the findings to an audit that was just read. If an import has replaced the
// findings since then, it reads the audit again.
func (s auditStore) withFindings(ctx context.Context, stored storedAudit) (Audit, error) {
	if stored.Generation == nil {
		return Audit{stored.AuditSummary, nil}, nil
	}
	chunks, err := s.chunks(ctx, stored.CompanyID, stored.ID, false)
	if err != nil {
		return Audit{}, err
	}
	findings, mismatch := stored.findings(chunks)
	if mismatch != nil {
		return s.Get(ctx, stored.CompanyID, stored.ID)
	}
	return Audit{stored.AuditSummary, findings}, nil
}

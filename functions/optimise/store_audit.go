package optimise

import (
	"context"
	"encoding/json"
	"fmt"

	"growthworkspace/shared/table"
)

// storedAudit is an audit as it is stored. The findings, even small ones, are in separate chunks. Three indexes copy all
// fields of an audit, so inline findings would be written four times and read by every list, to save half a read unit
// when an audit is fetched.
type storedAudit struct {
	AuditSummary

	Generation *string `store:"findingsGeneration"` // null: no findings
	Chunks     *int64  `store:"findingsChunks"`
}

func auditKey(companyID, auditID string) table.Key { return key(companyID, auditKind, auditID) }

func keysOfAudit(a storedAudit) table.Keys {
	order := table.Join(table.Newest(a.StartedAt), a.ID)
	keys := table.Keys{Key: auditKey(a.CompanyID, a.ID)}
	keys.GSI1 = table.Key{PK: partition(a.CompanyID, auditsOf), SK: order}
	status := noStatus
	if a.Status != nil {
		status = string(*a.Status)
		keys.GSI2 = table.Key{PK: partition(a.CompanyID, auditsOf, status), SK: order}
	}
	if a.SiteID != nil {
		keys.GSI3 = table.Key{PK: partition(a.CompanyID, auditsOf, *a.SiteID, status), SK: order}
	}
	return keys
}

// AuditFilter selects audits. A nil field matches all. SiteID must be a valid id, because it becomes part of a key.
type AuditFilter struct {
	SiteID *string
	Status *AuditStatus
}

// ListAudits returns a page of audits as JSON texts, newest first, and the position of the next page.
func (s Store) ListAudits(ctx context.Context, companyID string, f AuditFilter, after string, limit int) (page []json.RawMessage, next string, err error) {
	q := table.Query{Index: table.GSI1, Partitions: []string{partition(companyID, auditsOf)}, After: after, Limit: limit}
	switch {
	case f.SiteID != nil && f.Status != nil:
		q.Index, q.Partitions = table.GSI3, []string{partition(companyID, auditsOf, *f.SiteID, string(*f.Status))}
	case f.SiteID != nil:
		q.Index, q.Partitions = table.GSI3, nil
		for _, status := range append(AuditStatus("").Values(), noStatus) {
			q.Partitions = append(q.Partitions, partition(companyID, auditsOf, *f.SiteID, status))
		}
	case f.Status != nil:
		q.Index, q.Partitions = table.GSI2, []string{partition(companyID, auditsOf, string(*f.Status))}
	}
	return table.ListTexts[AuditSummary](ctx, s.table, q)
}

// GetAudit returns an audit with its findings. Returns fault.ErrNotFound when there is none.
//
// The audit and the chunks are read in parallel, and the chunks with eventual consistency, at half the price. An import
// between the two reads can make them mismatch. Then both are read again, with strong consistency. A second mismatch
// means a second import within milliseconds, or missing chunks.
func (s Store) GetAudit(ctx context.Context, companyID, auditID string) (Audit, error) {
	var misfit error
	for _, consistent := range []bool{false, true} {
		var stored storedAudit
		var chunks []chunk
		err := table.Both(
			func() (err error) {
				stored, err = table.Get[storedAudit](ctx, s.table, auditKey(companyID, auditID))
				return err
			},
			func() (err error) {
				chunks, err = s.chunks(ctx, companyID, auditID, consistent)
				return err
			},
		)
		if err != nil {
			return Audit{}, err
		}
		var findings json.RawMessage
		if findings, misfit = stored.findings(chunks); misfit == nil {
			return Audit{stored.AuditSummary, findings}, nil
		}
	}
	return Audit{}, fmt.Errorf("get audit: %w", misfit)
}

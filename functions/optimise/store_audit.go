package optimise

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"growthworkspace/shared/api"
	"growthworkspace/shared/fault"
	"growthworkspace/shared/idempotency"
	"growthworkspace/shared/parallel"
	"growthworkspace/shared/record"
	"growthworkspace/shared/table"
)

// storedAudit is an audit as it is stored. Its findings are stored in separate chunks, even if they
// are small. Three indexes contain copies of all fields of an audit, so findings in this record
// would be written four times and read by every list. In return, a read of a single audit would
// cost only half a read unit less.
type storedAudit struct {
	AuditSummary

	Chunks *int64  `store:"findingsChunks"` // number of chunks in the generation
	Digest *string `store:"findingsDigest"` // digest of the findings; nil if there are none, or if they were stored before this attribute existed
}

type auditStore struct {
	record.Store[storedAudit]

	table *table.Client
}

var audits = record.Kind[storedAudit]{
	Name: "audit", Plural: "audits", Prefix: "aud", Path: "optimise/audits", Parameter: "auditId", SortPrefix: "audit",
	Change:  "audit",
	Columns: "startedAt:started status scoreSeo:seo scoreAeo:aeo scoreGeo:geo rootUrl:url pagesAudited:pages summary error siteId",
	Indexes: storedAudit.indexKeys,
}

func (a storedAudit) indexKeys() (keys table.Keys) {
	sortKey := table.JoinKey(table.DescendingTimeKey(a.StartedAt), a.ID)
	keys.GSI1 = table.Key{PK: partition(a.CompanyID, auditsPart), SK: sortKey}
	status := noStatus
	if a.Status != nil {
		status = string(*a.Status)
		keys.GSI2 = table.Key{PK: partition(a.CompanyID, auditsPart, status), SK: sortKey}
	}
	if a.SiteID != nil {
		keys.GSI3 = table.Key{PK: partition(a.CompanyID, auditsPart, *a.SiteID, status), SK: sortKey}
	}
	return keys
}

// AuditFilter selects audits. A nil field matches any value. SiteID must be a valid id, because it
// becomes part of a key.
type AuditFilter struct {
	SiteID *string
	Status *AuditStatus
}

// List returns a page of audits as raw JSON, newest first.
func (s auditStore) List(ctx context.Context, companyID string, f AuditFilter, after string, limit int) (table.Page[json.RawMessage], error) {
	q := table.Query{Index: table.GSI1, Partitions: []string{partition(companyID, auditsPart)}, After: after, Limit: limit}
	switch {
	case f.SiteID != nil && f.Status != nil:
		q.Index, q.Partitions = table.GSI3, []string{partition(companyID, auditsPart, *f.SiteID, string(*f.Status))}
	case f.SiteID != nil:
		q.Index, q.Partitions = table.GSI3, nil
		for _, status := range append(AuditStatus("").Values(), noStatus) {
			q.Partitions = append(q.Partitions, partition(companyID, auditsPart, *f.SiteID, status))
		}
	case f.Status != nil:
		q.Index, q.Partitions = table.GSI2, []string{partition(companyID, auditsPart, string(*f.Status))}
	}
	return table.ListJSON[AuditSummary](ctx, s.table, q)
}

// Get returns an audit with its findings. It returns fault.ErrNotFound if the audit does not exist.
//
// The audit and the chunks are read in parallel, the chunks with eventual consistency, which costs
// half as much. If an import runs between the two reads, the chunks may not match the audit. Then
// both are read again, with strong consistency. A second mismatch means that there was a second
// import within milliseconds, or that chunks are missing.
func (s auditStore) Get(ctx context.Context, companyID, auditID string) (Audit, error) {
	var mismatch error
	for _, consistent := range []bool{false, true} {
		var stored storedAudit
		var chunks []findingsChunk
		err := parallel.Both(
			func() (err error) {
				stored, err = table.Get[storedAudit](ctx, s.table, s.Key(companyID, auditID))
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
		if findings, mismatch = stored.findings(chunks); mismatch == nil {
			return Audit{stored.AuditSummary, findings}, nil
		}
	}
	return Audit{}, fmt.Errorf("get audit: %w", mismatch)
}

// Insert stores a new audit with its findings, which may be nil. It sets the audit's id, company
// and times.
func (s auditStore) Insert(ctx context.Context, companyID string, a AuditSummary, findings json.RawMessage) (AuditSummary, error) {
	stored := storedAudit{AuditSummary: a}
	s.SetIdentity(companyID, &stored)
	chunks, err := s.packFindings(&stored, findings)
	if err != nil {
		return AuditSummary{}, err
	}
	if len(chunks) == 0 {
		return stored.AuditSummary, idempotency.Insert(ctx, s.table, stored.AuditSummary, s.Keys(stored), stored)
	}
	d := s.newDraft(stored)
	if err := s.storeDraft(ctx, companyID, d, chunks); err != nil {
		return AuditSummary{}, err
	}
	err = idempotency.Transact(ctx, s.table, stored.AuditSummary,
		s.table.WriteCreate(s.Keys(stored), stored), s.table.WriteDelete(findingsDraftKey(companyID, d), "attribute_exists(pk)", nil, nil))
	if err != nil {
		return AuditSummary{}, err
	}
	s.removeOldDrafts(ctx, companyID)
	return stored.AuditSummary, nil
}

// Modify changes an audit by compare-and-set, like table.Modify, and replaces its findings if the
// request contains findings that differ from the stored ones.
func (s auditStore) Modify(
	ctx context.Context, companyID, auditID string, change func(*AuditSummary) error, findings api.Clearable[json.RawMessage],
) (AuditSummary, error) {
	digest := findingsDigest(findings.Value)
	var before storedAudit
	after, err := table.Modify(ctx, s.table, s.Key(companyID, auditID), s.Keys, func(a *storedAudit) error {
		before = *a
		if err := change(&a.AuditSummary); err != nil { // checked first, so that a refused change does not store megabytes
			return err
		}
		if findings.Sent && !a.hasFindings(digest) {
			return errOtherFindings
		}
		return nil
	})
	if !errors.Is(err, errOtherFindings) {
		return after.AuditSummary, err
	}
	next := before
	next.Generation, next.Chunks, next.Digest = nil, nil, nil
	chunks, err := s.packFindings(&next, findings.Value)
	if err != nil {
		return AuditSummary{}, err
	}
	return s.replaceFindings(ctx, companyID, before, next, chunks, change)
}

// errOtherFindings means that the stored audit has other findings than those in the request or,
// once the new ones are stored, than those that they replace.
var errOtherFindings = errors.New("the audit has other findings")

// replaceFindings applies a change to an audit and replaces its findings. `before` is the stored
// audit, which refers to the old findings. `next` is the audit that refers to the new findings.
// `chunks` contains the new findings, which replaceFindings stores first.
func (s auditStore) replaceFindings(
	ctx context.Context, companyID string, before, next storedAudit, chunks []table.Item, change func(*AuditSummary) error,
) (AuditSummary, error) {
	var drafts []findingsDraft
	for {
		drafts = append(drafts, s.newDraft(before, next))
		if err := s.storeDraft(ctx, companyID, drafts[len(drafts)-1], chunks); err != nil {
			return AuditSummary{}, err
		}
		after, err := table.Modify(ctx, s.table, s.Key(companyID, before.ID), s.Keys, func(a *storedAudit) error {
			if !equalStrings(a.Generation, before.Generation) {
				before = *a
				return errOtherFindings
			}
			if err := change(&a.AuditSummary); err != nil {
				return err
			}
			a.Generation, a.Chunks, a.Digest = next.Generation, next.Chunks, next.Digest
			return nil
		})
		if errors.Is(err, errOtherFindings) { // try again with a draft that also lists the chunks of the other write
			chunks = nil
			continue
		}
		if err == nil {
			s.finishDrafts(ctx, companyID, drafts, after)
			s.removeOldDrafts(ctx, companyID)
			return after.AuditSummary, nil
		}
		var publicErr *fault.Error
		if errors.As(err, &publicErr) && publicErr.Code.Status() < http.StatusInternalServerError {
			s.finishDrafts(ctx, companyID, drafts, before)
		}
		return AuditSummary{}, err // after any other error, the audit may refer to the old or the new findings, so the drafts stay
	}
}

func equalStrings(a, b *string) bool { return a == b || a != nil && b != nil && *a == *b }

// Remove deletes an audit and its findings, like table.RemoveParent.
func (s auditStore) Remove(ctx context.Context, companyID, auditID string, check func(AuditSummary) error) error {
	return table.RemoveParent(ctx, s.table, s.Key(companyID, auditID), table.ParentRemoval[storedAudit]{
		Check:          func(a storedAudit) error { return check(a.AuditSummary) },
		RemoveChildren: func(ctx context.Context) error { return s.removeFindings(ctx, companyID, auditID) },
	})
}

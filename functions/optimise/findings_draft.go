package optimise

import (
	"context"
	"errors"
	"slices"
	"time"

	"growthworkspace/shared/fault"
	"growthworkspace/shared/id"
	"growthworkspace/shared/table"
)

// One transaction cannot write all chunks of an audit's findings. Therefore a write first stores a
// draft, which lists the new chunks and the chunks that they replace. If the process then crashes,
// the draft remains. The next time that the company writes findings, that request deletes the
// listed chunks that the audit does not refer to.

// findingsDraft records a write of findings that is in progress or was interrupted.
type findingsDraft struct {
	SK      string   `store:"sk"`
	AuditID string   `store:"auditId"`
	Chunks  []string `store:"chunks"` // sort keys of the chunks
}

const (
	draftIDPrefix = "drf"

	// draftExpiry is the age at which a draft counts as old. The request that stored such a draft
	// must have ended, because a request takes at most 9 seconds.
	draftExpiry = time.Hour

	// draftsMax is the maximum number of old drafts that one request deletes.
	draftsMax = 3
)

func findingsDraftKey(companyID string, d findingsDraft) table.Key {
	return table.Key{PK: partition(companyID), SK: d.SK}
}

// newDraft returns a draft that lists the chunks of all given versions of an audit.
func (s auditStore) newDraft(versions ...storedAudit) findingsDraft {
	d := findingsDraft{SK: table.JoinKey(draftKind, s.table.NewID(draftIDPrefix)), AuditID: versions[0].ID}
	for _, v := range versions {
		for _, k := range v.chunkKeys() {
			d.Chunks = append(d.Chunks, k.SK)
		}
	}
	return d
}

// storeDraft stores a draft and then the chunks.
func (s auditStore) storeDraft(ctx context.Context, companyID string, d findingsDraft, chunks []table.Item) error {
	if err := s.table.BatchPut(ctx, []table.Item{s.table.NewItem(table.Keys{Key: findingsDraftKey(companyID, d)}, d)}); err != nil {
		return err
	}
	return s.table.BatchPut(ctx, chunks)
}

// finishDrafts deletes the chunks that are listed in an audit's drafts but that the audit does not
// refer to. Then it deletes the drafts. The write has already succeeded or failed, so an error here
// is only logged, and the drafts are left to a later request.
func (s auditStore) finishDrafts(ctx context.Context, companyID string, drafts []findingsDraft, a storedAudit) {
	var unusedKeys, finishedKeys []table.Key
	used := a.chunkKeys()
	for _, d := range drafts {
		for _, sk := range d.Chunks {
			k := table.Key{PK: partition(companyID, findingsPart, d.AuditID), SK: sk}
			if !slices.Contains(used, k) && !slices.Contains(unusedKeys, k) {
				unusedKeys = append(unusedKeys, k)
			}
		}
		finishedKeys = append(finishedKeys, findingsDraftKey(companyID, d))
	}
	err := s.table.BatchDelete(ctx, unusedKeys)
	if err == nil {
		err = s.table.BatchDelete(ctx, finishedKeys)
	}
	table.RequestOf(ctx).AddFailure(err)
}

// removeOldDrafts removes the company's old drafts and their unused chunks. A failure is only
// logged.
func (s auditStore) removeOldDrafts(ctx context.Context, companyID string) {
	oldDrafts := table.Collection{
		Partition: partition(companyID), Prefix: table.JoinKey(draftKind, ""),
		Until: table.JoinKey(draftKind, id.LowerBound(draftIDPrefix, s.table.Clock()().Add(-draftExpiry))),
	}
	drafts, err := table.ReadAll[findingsDraft](ctx, s.table, oldDrafts)
	table.RequestOf(ctx).AddFailure(err)
	for _, d := range drafts[:min(len(drafts), draftsMax)] {
		a, err := table.Get[storedAudit](ctx, s.table, s.Key(companyID, d.AuditID))
		if err != nil && !errors.Is(err, fault.ErrNotFound) {
			table.RequestOf(ctx).AddFailure(err)
			return
		}
		s.finishDrafts(ctx, companyID, []findingsDraft{d}, a)
	}
}

// removeFindings deletes all chunks of a deleted audit.
func (s auditStore) removeFindings(ctx context.Context, companyID, auditID string) error {
	collection := table.Collection{Partition: partition(companyID, findingsPart, auditID), Consistent: true}
	var found []table.Key
	err := table.ForEach(ctx, s.table, collection, func(c struct {
		SK string `store:"sk"`
	}) error {
		found = append(found, table.Key{PK: collection.Partition, SK: c.SK})
		return nil
	})
	if err != nil {
		return err
	}
	return s.table.BatchDelete(ctx, found)
}

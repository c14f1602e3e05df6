package feedback

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"growthworkspace/shared/fault"
	"growthworkspace/shared/parallel"
	"growthworkspace/shared/table"
	"growthworkspace/shared/transfer"
)

// Merge stores reviews and replies as an app store shows them. It follows the rules of a push: a
// record is identified by its source and externalId, and a null field keeps its stored value. There
// are two more rules:
//
//   - A record whose postedAt is before the stored one is an older version, and is not written.
//   - A reply with the status posted replaces a stored reply whose status is null, none or posted.
//     Any other stored reply is the company's own work and is kept; Merged.NotMergedText is then
//     set.
//
// Replies with any other status in records are ignored, and Merged.NotMergedText is set for them,
// too. Each record is one conditional write, so a failed call can be repeated. Merge returns an
// outcome for each record. It refuses a record that would be invalid once merged with the stored
// one (transfer.RefusedRecords). If several records have the same identity, only the last one is
// merged.
func (s Store) Merge(ctx context.Context, companyID string, records []Feedback) ([]transfer.Merged, error) {
	m := mergeState{Store: s, companyID: companyID, records: records, merged: make([]transfer.Merged, len(records)), problems: make([]string, len(records))}
	left := transfer.LastIndexes(records, func(f Feedback) identity { ident, _ := identityOfRecord(f); return ident })
	for n, f := range records {
		m.merged[n].Outcome = transfer.MergedUnchanged
		if f.Source == nil {
			m.problems[n] = "record.source: is required to merge a record"
		}
	}
	left = slices.DeleteFunc(left, func(n int) bool { return m.problems[n] != "" })
	var err error
	for attempt := 0; len(left) > 0; attempt++ {
		if attempt == importAttemptsMax {
			return nil, table.ErrTooMuchContention
		}
		if left, err = m.attempt(ctx, left); err != nil {
			return nil, err
		}
	}
	refused := transfer.RefusedRecords{}
	for n, problem := range m.problems {
		if problem != "" {
			refused[n] = problem
		}
	}
	return m.merged, refused.Err()
}

type mergeState struct {
	Store

	companyID string
	records   []Feedback
	merged    []transfer.Merged
	problems  []string // one message per record; empty if the record was not refused
}

// attempt merges the records with the given indexes. It returns the indexes of those that must be
// tried again, because another caller created or deleted them at the same time.
func (m *mergeState) attempt(ctx context.Context, indexes []int) (retry []int, err error) {
	identities := make([]identity, len(indexes))
	for i, n := range indexes {
		identities[i], _ = identityOfRecord(m.records[n]) // Merge has already refused records without an identity
	}
	stored, err := m.FindByIdentities(ctx, m.companyID, identities)
	if err != nil {
		return nil, err
	}
	now := m.table.Now()
	var units []table.Unit
	var created, others []int // indexes of identities
	for i, n := range indexes {
		if stored[i].item != nil || stored[i].idConflict {
			others = append(others, i)
			continue
		}
		m.merged[n] = m.records[n].creationOutcome(identities[i])
		f := m.newRecord(m.records[n], identities[i], now)
		units = append(units, table.Unit{Writes: []table.Write{m.table.WriteCreate(keysOf(f), f), m.writeReferenceCheck(m.companyID, identities[i], stored[i].danglingID)}})
		created = append(created, i)
	}
	failures, err := m.table.StoreUnits(ctx, units)
	if err != nil {
		return nil, err
	}
	for _, f := range failures {
		retry = append(retry, indexes[created[f.UnitIndex]])
	}
	overtaken := make([]bool, len(others))
	err = parallel.Do(len(others), pushConcurrency, func(k int) error {
		i := others[k]
		err := m.mergeOne(ctx, indexes[i], identities[i], stored[i], now)
		if overtaken[k] = errors.Is(err, table.ErrExists) || errors.Is(err, fault.ErrNotFound); overtaken[k] {
			return nil
		}
		return err
	})
	for k, isOvertaken := range overtaken {
		if isOvertaken {
			retry = append(retry, indexes[others[k]])
		}
	}
	return retry, err
}

func (m *mergeState) newRecord(f Feedback, ident identity, now string) Feedback {
	f.ID, f.CompanyID = ident.feedbackID(), m.companyID
	f.FetchedAt, f.CreatedAt, f.UpdatedAt = &now, &now, &now
	if f.Kind == nil {
		f.Kind = new(KindReview)
	}
	if !f.hasStoreReply() {
		f.ReplyBody, f.ReplyStatus = nil, new(ReplyStatusNone)
	}
	return f
}

func (f Feedback) creationOutcome(ident identity) transfer.Merged {
	return transfer.Merged{Outcome: transfer.MergedCreated, NotMergedText: f.ignoredReplyProblem(ident.feedbackID())}
}

// ignoredReplyProblem returns a message if the record has a reply that a merge ignores because it
// is not posted. storedID is the id under which the record is stored.
func (f Feedback) ignoredReplyProblem(storedID string) string {
	if f.ReplyBody == nil || *f.ReplyBody == "" || f.hasStoreReply() {
		return ""
	}
	return fmt.Sprintf("%s: the reply in the file, which is %s, was left out: only replies that are posted are merged", storedID, f.status())
}

// mergeOne merges record n into the stored record. If there is no stored record, it creates one
// under a new id, because another record has the derived id. It returns table.ErrExists or
// fault.ErrNotFound if another caller has created or deleted the record in the meantime.
func (m *mergeState) mergeOne(ctx context.Context, n int, ident identity, stored storedMatch, now string) error {
	if stored.item == nil {
		m.merged[n] = m.records[n].creationOutcome(ident)
		return m.createWithReference(ctx, ident, m.newRecord(m.records[n], ident, now), stored.danglingID)
	}
	_, err := table.ModifyItem(ctx, m.table, feedbackKey(m.companyID, stored.feedbackID), stored.item, keysOfClaimed, func(p *ClaimedReply) error {
		f, before := &p.Feedback, p.Feedback
		m.merged[n], m.problems[n] = f.merge(m.records[n])
		if m.problems[n] != "" {
			*f = before
		}
		if m.merged[n].Outcome == transfer.MergedOlder || reflect.DeepEqual(before, *f) {
			return nil
		}
		m.merged[n].Outcome, f.FetchedAt = transfer.MergedUpdated, &now
		return nil
	})
	return err
}

// hasStoreReply reports whether the record has a reply that its app store shows.
func (f Feedback) hasStoreReply() bool {
	return f.status() == ReplyStatusPosted && f.ReplyBody != nil && *f.ReplyBody != ""
}

// merge updates the stored record f with a record from an app store. The outcome is
// transfer.MergedOlder if that record is older. Otherwise it is transfer.MergedUnchanged, and the
// caller must set transfer.MergedUpdated if f has changed.
func (f *Feedback) merge(from Feedback) (m transfer.Merged, problem string) {
	m.Outcome = transfer.MergedUnchanged
	if f.PostedAt != nil && from.PostedAt != nil && truncateToSecond(*from.PostedAt) < truncateToSecond(*f.PostedAt) {
		m.Outcome = transfer.MergedOlder
		return m, ""
	}
	if from.Kind != nil && f.Kind != nil && *from.Kind != *f.Kind {
		return m, fmt.Sprintf("record.kind: must be %s: the kind of a stored record does not change", *f.Kind)
	}
	setUnlessNull(&f.Kind, from.Kind)
	setUnlessNull(&f.ExternalURL, from.ExternalURL)
	setUnlessNull(&f.AuthorName, from.AuthorName)
	setUnlessNull(&f.Title, from.Title)
	setUnlessNull(&f.Body, from.Body)
	setUnlessNull(&f.Rating, from.Rating)
	setUnlessNull(&f.AppVersion, from.AppVersion)
	setUnlessNull(&f.Territory, from.Territory)
	setUnlessNull(&f.Locale, from.Locale)
	setUnlessNull(&f.PostedAt, from.PostedAt)
	setUnlessNull(&f.Priority, from.Priority)
	setUnlessNull(&f.Sentiment, from.Sentiment)
	if from.Flags != nil {
		f.Flags = from.Flags
	}
	if f.Rating != nil && f.Kind != nil && *f.Kind == KindMention && from.Rating != nil {
		return m, "record.rating: " + ratingProblem
	}
	if !from.hasStoreReply() {
		m.NotMergedText = from.ignoredReplyProblem(f.ID)
		return m, ""
	}
	switch f.status() {
	case ReplyStatusNone, ReplyStatusPosted:
		f.ReplyBody, f.ReplyStatus = from.ReplyBody, from.ReplyStatus
	default:
		m.NotMergedText = fmt.Sprintf("%s: already answered at the store; the own reply, which is %s, stays", f.ID, f.status())
	}
	return m, ""
}

func setUnlessNull[T any](field **T, value *T) {
	if value != nil {
		*field = value
	}
}

// truncateToSecond returns a stored time without fractions of a second. Only some of an app store's
// exports contain milliseconds, so the fraction cannot tell which version is older.
func truncateToSecond(at string) string { return at[:min(len(at), len("2006-01-02T15:04:05"))] }

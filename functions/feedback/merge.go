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

// Merge stores records as an app store shows them, by the rules of a push: a record is identified
// by its source and externalId, and a null field keeps its stored value. There are two more rules:
//
//   - A record whose postedAt is before the stored one is an older version, and is not written.
//   - A reply with the status posted replaces a stored reply whose status is null, none or posted.
//     Any other stored reply is the company's own work and stays; Merged.Kept says so.
//
// A reply with any other status is left out, and Merged.Kept says so, too. Each record is one
// conditional write, so Merge can be repeated. It returns an outcome for each record. A record that
// is not valid together with the stored one is refused (transfer.RefusedRecords). Of several
// records with one identity, the last one counts.
func (s Store) Merge(ctx context.Context, companyID string, records []Feedback) ([]transfer.Merged, error) {
	m := merging{Store: s, companyID: companyID, records: records, merged: make([]transfer.Merged, len(records)), problems: make([]string, len(records))}
	left := transfer.LastIndexes(records, func(f Feedback) identity { who, _ := identityOfRecord(f); return who })
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

// merging holds the state of one call to Merge.
type merging struct {
	Store

	companyID string
	records   []Feedback
	merged    []transfer.Merged
	problems  []string // of each record; empty if it was merged
}

// attempt merges the records with the given indexes. It returns the indexes of those that another
// caller has created or deleted at the same time.
func (m *merging) attempt(ctx context.Context, indexes []int) (left []int, err error) {
	identities := make([]identity, len(indexes))
	for i, n := range indexes {
		identities[i], _ = identityOfRecord(m.records[n]) // Merge has left out those that have none
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
		m.merged[n] = m.records[n].createdByMerge(identities[i])
		f := m.newRecord(m.records[n], identities[i], now)
		units = append(units, table.Unit{Writes: []table.Write{m.table.WriteCreate(keysOf(f), f), m.checkReference(m.companyID, identities[i], stored[i].danglingID)}})
		created = append(created, i)
	}
	failures, err := m.table.StoreUnits(ctx, units)
	if err != nil {
		return nil, err
	}
	for _, f := range failures {
		left = append(left, indexes[created[f.UnitIndex]])
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
	for k, again := range overtaken {
		if again {
			left = append(left, indexes[others[k]])
		}
	}
	return left, err
}

// newRecord returns the record to create.
func (m *merging) newRecord(f Feedback, who identity, now string) Feedback {
	f.ID, f.CompanyID = who.feedbackID(), m.companyID
	f.FetchedAt, f.CreatedAt, f.UpdatedAt = &now, &now, &now
	if f.Kind == nil {
		f.Kind = new(KindReview)
	}
	if !f.hasStoreReply() {
		f.ReplyBody, f.ReplyStatus = nil, new(ReplyStatusNone)
	}
	return f
}

// createdByMerge returns the result of a merge that creates a record.
func (f Feedback) createdByMerge(who identity) transfer.Merged {
	return transfer.Merged{Outcome: transfer.MergedCreated, Kept: f.leftOutReply(who.feedbackID())}
}

// leftOutReply returns a message if the record has a reply that a merge leaves out, because it is
// not posted. storedID is the id under which the record is stored.
func (f Feedback) leftOutReply(storedID string) string {
	if f.ReplyBody == nil || *f.ReplyBody == "" || f.hasStoreReply() {
		return ""
	}
	return fmt.Sprintf("%s: the reply in the file, which is %s, was left out: only replies that are posted are merged", storedID, f.status())
}

// mergeOne merges a record that is stored, or creates it under a new id if its own is taken. It
// returns table.ErrExists or fault.ErrNotFound if another caller was faster.
func (m *merging) mergeOne(ctx context.Context, n int, who identity, stored storedMatch, now string) error {
	if stored.item == nil {
		m.merged[n] = m.records[n].createdByMerge(who)
		return m.createWithReference(ctx, who, m.newRecord(m.records[n], who, now), stored.danglingID)
	}
	_, err := table.ModifyItem(ctx, m.table, feedbackKey(m.companyID, stored.feedbackID), stored.item, keysOf, func(f *Feedback) error {
		before := *f
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

// merge applies what an app store shows to a stored record. The outcome is transfer.MergedOlder or
// transfer.MergedUnchanged; the caller finds out whether the record has changed.
func (f *Feedback) merge(from Feedback) (m transfer.Merged, problem string) {
	m.Outcome = transfer.MergedUnchanged
	if f.PostedAt != nil && from.PostedAt != nil && second(*from.PostedAt) < second(*f.PostedAt) {
		m.Outcome = transfer.MergedOlder
		return m, ""
	}
	if from.Kind != nil && f.Kind != nil && *from.Kind != *f.Kind {
		return m, fmt.Sprintf("record.kind: must be %s: the kind of a stored record does not change", *f.Kind)
	}
	keepNull(&f.Kind, from.Kind)
	keepNull(&f.ExternalURL, from.ExternalURL)
	keepNull(&f.AuthorName, from.AuthorName)
	keepNull(&f.Title, from.Title)
	keepNull(&f.Body, from.Body)
	keepNull(&f.Rating, from.Rating)
	keepNull(&f.AppVersion, from.AppVersion)
	keepNull(&f.Territory, from.Territory)
	keepNull(&f.Locale, from.Locale)
	keepNull(&f.PostedAt, from.PostedAt)
	keepNull(&f.Priority, from.Priority)
	keepNull(&f.Sentiment, from.Sentiment)
	if from.Flags != nil {
		f.Flags = from.Flags
	}
	if f.Rating != nil && f.Kind != nil && *f.Kind == KindMention && from.Rating != nil {
		return m, "record.rating: " + ratingProblem
	}
	if !from.hasStoreReply() {
		m.Kept = from.leftOutReply(f.ID)
		return m, ""
	}
	switch f.status() {
	case ReplyStatusNone, ReplyStatusPosted:
		f.ReplyBody, f.ReplyStatus = from.ReplyBody, from.ReplyStatus
	default:
		m.Kept = fmt.Sprintf("%s: already answered at the store; the own reply, which is %s, stays", f.ID, f.status())
	}
	return m, ""
}

// keepNull sets a field unless the new value is null.
func keepNull[T any](field **T, value *T) {
	if value != nil {
		*field = value
	}
}

// second returns a stored time without the fraction of its second. Some exports of an app store
// have milliseconds and others have none, so the fraction can't tell which version is older.
func second(at string) string { return at[:min(len(at), len("2006-01-02T15:04:05"))] }

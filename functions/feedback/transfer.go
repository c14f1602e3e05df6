package feedback

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"

	"growthworkspace/shared/table"
	"growthworkspace/shared/transfer"
)

// feedbackIDs is the prefix of ids.
const feedbackIDs = "fbk"

// Transfers returns the record types that can be imported and exported.
func Transfers(t *table.Client) []transfer.Type {
	return []transfer.Type{
		transfer.Existing(transfer.Define("feedback", feedbackIDs, checkFeedback, NewStore(t).Import,
			transfer.Each[Feedback](t, collection)), NewStore(t).exist, NewStore(t).add),
	}
}

// checkFeedback returns the problems that a push with the same values would have, but for long texts, and gives a record
// without a reply the status none.
func checkFeedback(f *Feedback) (problems []string) {
	if f.ReplyStatus == nil {
		f.ReplyStatus = new(ReplyStatusNone)
	}
	switch r := f.Rating; {
	case r == nil:
	case f.Kind != nil && *f.Kind == KindMention:
		problems = append(problems, "record.rating: "+noRating)
	case *r < 1 || *r > 5:
		problems = append(problems, "record.rating: must be a whole number, between 1 and 5")
	}
	problems = append(problems, transfer.CheckWeb("externalUrl", f.ExternalURL)...)
	return append(problems, transfer.CheckSize(f)...)
}

// exist reports for each record whether one with its id, or with its source and externalId, is stored.
func (s Store) exist(ctx context.Context, companyID string, records []Feedback) ([]bool, error) {
	exist, err := transfer.ByKey(s.table, func(companyID string, f Feedback) table.Key { return feedbackKey(companyID, f.ID) })(ctx, companyID, records)
	if err != nil {
		return nil, err
	}
	var missing []identity
	for n, f := range records {
		if who, ok := identityOf(f); ok && !exist[n] && !slices.Contains(missing, who) { // a batch is small
			missing = append(missing, who)
		}
	}
	stored, err := s.FindAll(ctx, companyID, missing)
	if err != nil {
		return nil, err
	}
	known := map[identity]bool{}
	for i, found := range stored {
		known[missing[i]] = found.item != nil
	}
	for n, f := range records {
		if who, ok := identityOf(f); ok {
			exist[n] = exist[n] || known[who]
		}
	}
	return exist, nil
}

// DeriveID implements transfer.Derived: a line without an id is the record that a push of its source and externalId means.
func (f *Feedback) DeriveID() (problem string) {
	who, ok := identityOf(*f)
	if !ok {
		return "record.source: is required in a record without id"
	}
	f.ID = who.feedbackID()
	return ""
}

// Import replaces records, whatever is stored, and writes the references by which pushes find records with ids of their
// own. A record with the derived id replaces the one that is stored for its source and externalId, under that one's id.
func (s Store) Import(ctx context.Context, companyID string, records []Feedback) error {
	owned := slices.Clone(records)
	for n := range owned {
		owned[n].CompanyID = companyID
	}
	if err := s.redirect(ctx, companyID, owned); err != nil {
		return err
	}
	owned = transfer.LastWins(owned, func(f Feedback) string { return f.ID })
	var references []reference
	for _, f := range owned {
		if who, ok := identityOf(f); ok && f.ID != who.feedbackID() {
			references = append(references, reference{SK: referenceKey(companyID, who).SK, FeedbackID: f.ID})
		}
	}
	// References first: one that leads nowhere does no harm, and a record without one would be pushed a second time.
	var items []table.Item
	for _, r := range transfer.LastWins(references, func(r reference) string { return r.SK }) {
		items = append(items, s.table.NewItem(table.Keys{Key: table.Key{PK: table.Partition(companyID, area), SK: r.SK}}, r))
	}
	for _, f := range owned {
		items = append(items, s.table.NewItem(keysOf(f), f))
	}
	return s.table.Put(ctx, items)
}

// addersMax bounds the concurrent writes of one add.
const addersMax = 8

// add stores records whose identity the company does not have, and returns how many it skipped because it has them now.
func (s Store) add(ctx context.Context, companyID string, records []Feedback, _ transfer.File) (skipped int, err error) {
	var found atomic.Int64
	records = transfer.LastWins(records, func(f Feedback) string { return f.ID })
	err = table.Parallel(len(records), addersMax, func(n int) error {
		f := records[n]
		f.CompanyID = companyID
		err := s.table.Transact(ctx, s.addWrites(f, true)...)
		var canceled *table.CanceledError
		if !errors.As(err, &canceled) {
			return err
		}
		known, err := s.exist(ctx, companyID, []Feedback{f})
		if err != nil {
			return err
		}
		if !known[0] { // the reference of its identity leads to a record that is gone
			if err = s.table.Transact(ctx, s.addWrites(f, false)...); !errors.As(err, &canceled) {
				return err
			}
		}
		found.Add(1)
		return nil
	})
	return int(found.Load()), err
}

// addWrites returns the writes that store a record and its reference if there is none under its id or with its identity. alone
// also requires that the identity has no reference.
func (s Store) addWrites(f Feedback, alone bool) []table.Write {
	writes := []table.Write{s.table.WriteNew(keysOf(f), f)}
	who, ok := identityOf(f)
	if !ok {
		return writes
	}
	key := referenceKey(f.CompanyID, who)
	if derived := who.feedbackID(); f.ID != derived {
		refer := s.table.WriteAny
		if alone {
			refer = s.table.WriteNew
		}
		return append(writes, refer(table.Keys{Key: key}, reference{SK: key.SK, FeedbackID: f.ID}), s.table.CheckAbsent(feedbackKey(f.CompanyID, derived)))
	}
	if alone {
		writes = append(writes, s.table.CheckAbsent(key))
	}
	return writes
}

// redirect gives records with the derived id the id under which a record of their identity is stored, if it is another one.
func (s Store) redirect(ctx context.Context, companyID string, records []Feedback) error {
	at := map[identity][]int{}
	var references []table.Key
	for n, f := range records {
		if who, ok := identityOf(f); ok && f.ID == who.feedbackID() {
			if at[who] == nil {
				references = append(references, referenceKey(companyID, who))
			}
			at[who] = append(at[who], n)
		}
	}
	known, err := s.itemsByKey(ctx, references)
	if err != nil || len(known) == 0 {
		return err
	}
	var referred []identity
	for who := range at {
		if known[referenceKey(companyID, who)] != nil {
			referred = append(referred, who)
		}
	}
	stored, err := s.FindAll(ctx, companyID, referred)
	for i, found := range stored {
		for _, n := range at[referred[i]] {
			if found.item != nil {
				records[n].ID = found.feedbackID
			}
		}
	}
	return err
}

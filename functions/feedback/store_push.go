package feedback

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"reflect"
	"slices"

	"growthworkspace/shared/fault"
	"growthworkspace/shared/id"
	"growthworkspace/shared/idempotency"
	"growthworkspace/shared/parallel"
	"growthworkspace/shared/table"
)

// A push identifies a record by its source and externalId. The id of a pushed record is derived
// from both, so two pushes can never create two records for the same review. An import keeps the
// ids in its file. If such an id is not the derived one, the import also writes a reference to the
// record, under a key that is derived in the same way, so that a push can find the record.

// identity is what identifies a review or mention in a push.
type identity struct {
	source     Source
	externalID string
}

// identityOfRecord returns the identity of a record. ok is false for a record without a source,
// because no push can refer to it.
func identityOfRecord(f Feedback) (i identity, ok bool) {
	if f.Source == nil {
		return identity{}, false
	}
	return identity{*f.Source, f.ExternalID}, true
}

// compare defines an order of identities, like cmp.Compare.
func (i identity) compare(other identity) int {
	return cmp.Or(cmp.Compare(i.source, other.source), cmp.Compare(i.externalID, other.externalID))
}

// feedbackID returns the derived id: the one under which a push creates the record. It is a digest,
// so it does not reveal when the record was created.
func (i identity) feedbackID() string {
	sum := sha256.Sum256([]byte(string(i.source) + "\n" + i.externalID))
	return id.FromBytes(feedbackIDPrefix, [16]byte(sum[:16]))
}

// identityReference points from an identity to a record whose id is not the derived one.
type identityReference struct {
	SK         string `store:"sk"`
	FeedbackID string `store:"feedbackId"`
}

func referenceKey(companyID string, ident identity) table.Key {
	digest := ident.feedbackID()[len(feedbackIDPrefix)+1:]
	return table.Key{PK: table.Partition(companyID, area), SK: table.JoinKey(referenceKind, digest)}
}

// storedMatch is what the table contains for an identity.
type storedMatch struct {
	feedbackID string
	item       table.Item // the record, nil if there is none
	idConflict bool       // whether no record has the identity and the derived id belongs to a record whose identity an import changed
	danglingID string     // the id in the reference, set only if no record with this identity is stored under that id
}

// recordToChange returns the stored record or, if there is none, a new record to which the change
// can be applied.
func (s storedMatch) recordToChange(companyID string, c recordChange) (f Feedback, err error) {
	if s.item != nil {
		err = table.Decode(s.item, &f)
		return f, err
	}
	kind := c.pushed[0].Kind
	if kind == nil {
		kind = new(KindReview)
	}
	return Feedback{
		ID: c.identity.feedbackID(), CompanyID: companyID, Source: &c.identity.source, ExternalID: c.identity.externalID,
		Kind: kind, ReplyStatus: new(ReplyStatusNone),
	}, nil
}

// FindByIdentities returns what is stored for each of the given identities, in the same order. The
// identities must be distinct. This takes one round trip, or two if a record was imported with an
// id other than the derived one.
func (s Store) FindByIdentities(ctx context.Context, companyID string, identities []identity) ([]storedMatch, error) {
	var keys []table.Key
	for _, i := range identities {
		keys = append(keys, feedbackKey(companyID, i.feedbackID()), referenceKey(companyID, i))
	}
	items, err := s.itemsByKey(ctx, keys)
	if err != nil {
		return nil, err
	}
	out := make([]storedMatch, len(identities))
	var referencedKeys []table.Key
	referencedIDs := map[int]string{}
	for n, i := range identities {
		if out[n], err = matchIdentity(items[feedbackKey(companyID, i.feedbackID())], i); err != nil {
			return nil, err
		}
		var reference identityReference
		if item := items[referenceKey(companyID, i)]; item != nil && out[n].item == nil {
			if err := table.Decode(item, &reference); err != nil {
				return nil, err
			}
			referencedIDs[n] = reference.FeedbackID
			if at := feedbackKey(companyID, reference.FeedbackID); !slices.Contains(referencedKeys, at) { // at most 100 keys, so a linear search is fast enough
				referencedKeys = append(referencedKeys, at)
			}
		}
	}
	if len(referencedKeys) == 0 {
		return out, nil
	}
	if items, err = s.itemsByKey(ctx, referencedKeys); err != nil {
		return nil, err
	}
	for n, feedbackID := range referencedIDs {
		other, err := matchIdentity(items[feedbackKey(companyID, feedbackID)], identities[n])
		if err != nil {
			return nil, err
		}
		if other.item != nil {
			out[n] = other
		} else {
			out[n].danglingID = feedbackID
		}
	}
	return out, nil
}

// matchIdentity returns the stored record only if it has the identity. An import can change the
// identity of a stored record, so the derived id or a reference may lead to a record with a
// different identity.
func matchIdentity(item table.Item, i identity) (storedMatch, error) {
	if item == nil {
		return storedMatch{}, nil
	}
	var f Feedback
	if err := table.Decode(item, &f); err != nil {
		return storedMatch{}, err
	}
	if ident, ok := identityOfRecord(f); !ok || ident != i {
		return storedMatch{idConflict: f.ID == i.feedbackID()}, nil
	}
	return storedMatch{feedbackID: f.ID, item: item}, nil
}

func (s Store) itemsByKey(ctx context.Context, keys []table.Key) (map[table.Key]table.Item, error) {
	items, err := table.BatchGetItems(ctx, s.table, keys)
	out := make(map[table.Key]table.Item, len(items))
	for _, item := range items {
		out[table.KeyOf(item)] = item
	}
	return out, err
}

// pushConcurrency bounds the concurrent writes of a push.
const pushConcurrency = 16

// pushAttemptsMax is the maximum number of attempts to write one record while other callers create
// or delete it.
const pushAttemptsMax = 16

// Push applies each change to the stored record that FindByIdentities returned for it. Each change
// is one compare-and-set, so repeating a push that failed half-way completes it. A change that
// alters nothing is not written. Before its first write, Push claims the request's Idempotency-Key.
// It returns the numbers of records that it created and updated. If a change has become invalid,
// because its record has been changed since it was read, Push returns a conflict that a retry
// resolves.
func (s Store) Push(ctx context.Context, companyID string, changes []recordChange, stored []storedMatch) (created, updated int, err error) {
	if err := idempotency.Reserve(ctx, s.table); err != nil {
		return 0, 0, err
	}
	outcomes := make([]pushOutcome, len(changes))
	err = parallel.Do(len(changes), pushConcurrency, func(n int) (err error) {
		outcomes[n], err = s.pushOne(ctx, companyID, changes[n], stored[n])
		return err
	})
	for _, o := range outcomes {
		switch o {
		case outcomeCreated:
			created++
		case outcomeUpdated:
			updated++
		case outcomeUnchanged:
		}
	}
	return created, updated, err
}

// pushOutcome is what a change did to its record.
type pushOutcome int

const (
	outcomeUnchanged pushOutcome = iota
	outcomeCreated
	outcomeUpdated
)

func (s Store) pushOne(ctx context.Context, companyID string, c recordChange, stored storedMatch) (pushOutcome, error) {
	for range pushAttemptsMax {
		out, err := s.tryPush(ctx, companyID, c, stored)
		if !errors.Is(err, table.ErrExists) && !errors.Is(err, fault.ErrNotFound) {
			return out, err
		}
		matches, err := s.FindByIdentities(ctx, companyID, []identity{c.identity})
		if err != nil {
			return outcomeUnchanged, err
		}
		stored = matches[0]
	}
	return outcomeUnchanged, table.ErrTooMuchContention
}

// tryPush writes one change. It returns table.ErrExists when another caller has created the record,
// and fault.ErrNotFound when another caller has deleted it.
func (s Store) tryPush(ctx context.Context, companyID string, c recordChange, stored storedMatch) (pushOutcome, error) {
	now := s.table.Now()
	if stored.item == nil {
		f, err := stored.recordToChange(companyID, c)
		if err != nil {
			return outcomeUnchanged, err
		}
		c.apply(&f) // the problems have already been reported
		f.FetchedAt, f.CreatedAt, f.UpdatedAt = &now, &now, &now
		if stored.idConflict {
			return outcomeCreated, s.createWithReference(ctx, c.identity, f, stored.danglingID)
		}
		return outcomeCreated, s.create(ctx, c.identity, f, stored.danglingID)
	}
	out := outcomeUnchanged
	_, err := table.ModifyItem(ctx, s.table, feedbackKey(companyID, stored.feedbackID), stored.item, keysOfClaimed, func(p *ClaimedReply) error {
		f, before := &p.Feedback, p.Feedback
		if len(c.apply(f)) > 0 { // happens only if the record has changed since the push was validated
			return fault.RetryableConflict("a record of this push was changed at the same moment; nothing more of the push is stored, try again")
		}
		out = outcomeUnchanged
		if !reflect.DeepEqual(before, *f) {
			out, f.FetchedAt = outcomeUpdated, &now
		}
		return nil
	})
	return out, err
}

// create creates a record under the derived id. Returns table.ErrExists if a record with that id
// already exists, or if the identity has been imported under a different id since the lookup.
func (s Store) create(ctx context.Context, ident identity, f Feedback, danglingID string) error {
	err := s.table.Transact(ctx, s.table.WriteCreate(keysOf(f), f), s.writeReferenceCheck(f.CompanyID, ident, danglingID))
	var canceled *table.CanceledError
	if errors.As(err, &canceled) {
		return table.ErrExists
	}
	return err
}

// createWithReference creates a record under a new id, with a reference to it. Only one of several
// concurrent pushes can write the reference or replace a dangling one. The others get
// table.ErrExists.
func (s Store) createWithReference(ctx context.Context, ident identity, f Feedback, danglingID string) error {
	f.ID = s.table.NewID(feedbackIDPrefix)
	keys := table.Keys{Key: referenceKey(f.CompanyID, ident)}
	reference := identityReference{SK: keys.SK, FeedbackID: f.ID}
	write := s.table.WriteCreate(keys, reference)
	if danglingID != "" {
		write = s.table.WritePutIfEqual(keys, reference, "feedbackId", table.String(danglingID))
	}
	err := s.table.Transact(ctx, s.table.WriteCreate(keysOf(f), f), write)
	var canceled *table.CanceledError
	if errors.As(err, &canceled) {
		return table.ErrExists
	}
	return err
}

// Remove deletes one record, and in the same transaction the reference that points to it, so a
// later push or import of the same identity creates a new record. check may reject the deletion by
// returning an error, as in table.Modify. Returns fault.ErrNotFound when the record does not exist.
func (s Store) Remove(ctx context.Context, companyID, feedbackID string, check func(Feedback) error) error {
	return table.RemoveAndWrite(ctx, s.table, feedbackKey(companyID, feedbackID), func(f Feedback) ([]table.Write, error) {
		if err := check(f); err != nil {
			return nil, err
		}
		ident, ok := identityOfRecord(f)
		if !ok || f.ID == ident.feedbackID() {
			return nil, nil
		}
		key := referenceKey(companyID, ident)
		reference, err := table.Get[identityReference](ctx, s.table, key)
		if errors.Is(err, fault.ErrNotFound) || err == nil && reference.FeedbackID != f.ID {
			return nil, nil
		}
		deleteReference := s.table.WriteDelete(key, "#to = :id", map[string]string{"#to": "feedbackId"}, table.Item{":id": table.String(f.ID)})
		return []table.Write{deleteReference}, err
	})
}

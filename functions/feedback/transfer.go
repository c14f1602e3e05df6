package feedback

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"

	"growthworkspace/shared/parallel"
	"growthworkspace/shared/table"
	"growthworkspace/shared/transfer"
)

const feedbackIDPrefix = "fbk"

// Transfers returns the record types that can be imported and exported.
func Transfers(t *table.Client) []transfer.Type {
	return []transfer.Type{transfer.Define("feedback", feedbackIDPrefix, feedbackKind{NewStore(t)},
		transfer.RulesOf[Feedback, pushedFeedback](), transfer.RulesOf[Feedback, updateFeedbackReplyInput]())}
}

// feedbackKind imports, merges and exports records.
type feedbackKind struct{ Store }

// Check returns a problem if a mention has a rating. It sets a null reply status to
// ReplyStatusNone.
func (feedbackKind) Check(f *Feedback) (problems []string) {
	if f.ReplyStatus == nil {
		f.ReplyStatus = new(ReplyStatusNone)
	}
	if f.Rating != nil && f.Kind != nil && *f.Kind == KindMention {
		problems = append(problems, "record.rating: "+ratingProblem)
	}
	return append(problems, transfer.CheckSize(f)...)
}

// Entry returns the record's identity as a string that must be unique in a file. If a file assigned
// two ids to the same identity, the order of the writes would decide which id is kept.
func (feedbackKind) Entry(f Feedback) (e transfer.Entry) {
	if ident, ok := identityOfRecord(f); ok {
		e.Unique = []transfer.UniqueText{{Text: "source " + string(ident.source) + " with externalId " + ident.externalID, Owner: f.ID}}
	}
	return e
}

// Exist reports, for each record, whether the table contains a record with the same id, or with the
// same source and externalId.
func (k feedbackKind) Exist(ctx context.Context, companyID string, records []Feedback) ([]bool, error) {
	exist, err := transfer.ExistByKey(ctx, k.table, records, func(f Feedback) table.Key { return feedbackKey(companyID, f.ID) })
	if err != nil {
		return nil, err
	}
	var missing []identity
	for n, f := range records {
		if ident, ok := identityOfRecord(f); ok && !exist[n] && !slices.Contains(missing, ident) { // a batch is small, so a linear search is fast enough
			missing = append(missing, ident)
		}
	}
	stored, err := k.FindByIdentities(ctx, companyID, missing)
	if err != nil {
		return nil, err
	}
	known := map[identity]bool{}
	for i, found := range stored {
		known[missing[i]] = found.item != nil
	}
	for n, f := range records {
		if ident, ok := identityOfRecord(f); ok {
			exist[n] = exist[n] || known[ident]
		}
	}
	return exist, nil
}

// DeriveID implements transfer.IDDeriver: a record without an id gets the id that a push would
// derive from its source and externalId.
func (f *Feedback) DeriveID() (problem string) {
	ident, ok := identityOfRecord(*f)
	if !ok {
		return "record.source: is required in a record without id"
	}
	f.ID = ident.feedbackID()
	return ""
}

// importAttemptsMax is the maximum number of attempts to write imported records while other callers
// create or delete records with the same identities.
const importAttemptsMax = 16

// Export implements transfer.Kind.
func (k feedbackKind) Export(ctx context.Context, companyID string, visit func(Feedback) error) error {
	return transfer.ExportEach[Feedback](k.table, allRecords)(ctx, companyID, visit)
}

// Import implements transfer.Kind. It also writes the references through which pushes find records
// whose ids are not derived. If a record's identity is already stored under a different id, Import
// replaces that record and keeps its id, or skips it. The write is conditional: it fails if the
// identity has been stored under yet another id in the meantime.
func (k feedbackKind) Import(ctx context.Context, companyID string, records []Feedback, m transfer.Mode) (skipped int, err error) {
	if m.OnlyNew {
		return k.addRecords(ctx, companyID, records)
	}
	return 0, k.importRecords(ctx, companyID, records)
}

func (s Store) importRecords(ctx context.Context, companyID string, records []Feedback) error {
	left := slices.Clone(records)
	for n := range left {
		left[n].CompanyID = companyID
	}
	for range importAttemptsMax {
		units, records, err := s.importUnits(ctx, companyID, left)
		if err != nil {
			return err
		}
		failures, err := s.table.StoreUnits(ctx, units)
		if err != nil || len(failures) == 0 {
			return err
		}
		left = nil
		for _, f := range failures {
			left = append(left, records[f.UnitIndex])
		}
	}
	return table.ErrTooMuchContention
}

// importUnits returns the writes for the records, and the records with the ids under which they are
// stored.
func (s Store) importUnits(ctx context.Context, companyID string, records []Feedback) (units []table.Unit, imported []Feedback, err error) {
	var identities []identity
	for _, f := range records {
		if ident, ok := identityOfRecord(f); ok {
			identities = append(identities, ident)
		}
	}
	slices.SortFunc(identities, identity.compare)
	identities = slices.Compact(identities)
	stored, err := s.FindByIdentities(ctx, companyID, identities)
	if err != nil {
		return nil, nil, err
	}
	matches := make(map[identity]storedMatch, len(identities))
	for n, ident := range identities {
		matches[ident] = stored[n]
	}
	for _, f := range records {
		if ident, ok := identityOfRecord(f); ok && matches[ident].item != nil {
			f.ID = matches[ident].feedbackID
		}
		imported = append(imported, f)
	}
	imported = transfer.KeepLast(imported, func(f Feedback) string { return f.ID })
	for _, f := range imported {
		ident, ok := identityOfRecord(f)
		if !ok {
			units = append(units, table.Unit{Writes: []table.Write{s.table.WritePut(keysOf(f), f)}})
			continue
		}
		units = append(units, table.Unit{Writes: s.importWrites(f, ident, matches[ident])})
	}
	return units, imported, nil
}

// The attribute names in a condition on a record's identity.
var identityNames = map[string]string{"#source": "source", "#external": "externalId"}

func (i identity) attributeValues() table.Item {
	return table.Item{":source": table.String(string(i.source)), ":external": table.String(i.externalID)}
}

// importWrites returns the writes for a record. They are conditional: they fail if the record's
// identity is stored under a different id, which can be the derived id or the one in its reference.
func (s Store) importWrites(f Feedback, ident identity, stored storedMatch) []table.Write {
	derived := ident.feedbackID()
	if f.ID == derived {
		if stored.item != nil {
			return []table.Write{s.table.WritePutIf(keysOf(f), f, "#source = :source AND #external = :external", identityNames, ident.attributeValues())}
		}
		return []table.Write{s.table.WritePut(keysOf(f), f), s.writeReferenceCheck(f.CompanyID, ident, stored.danglingID)}
	}
	key := referenceKey(f.CompanyID, ident)
	referenceWrite := s.table.WritePutIf(table.Keys{Key: key}, identityReference{SK: key.SK, FeedbackID: f.ID}, "attribute_not_exists(pk) OR #to IN (:id, :astray)",
		map[string]string{"#to": "feedbackId"}, table.Item{":id": table.String(f.ID), ":astray": table.String(stored.danglingID)})
	identityCheck := s.table.WriteCheck(feedbackKey(f.CompanyID, derived), "attribute_not_exists(pk) OR NOT (#source = :source AND #external = :external)",
		identityNames, ident.attributeValues())
	return []table.Write{s.table.WritePut(keysOf(f), f), referenceWrite, identityCheck}
}

// writeReferenceCheck returns a condition check that fails if the identity has a reference, unless
// that reference contains danglingID.
func (s Store) writeReferenceCheck(companyID string, ident identity, danglingID string) table.Write {
	return s.table.WriteCheck(referenceKey(companyID, ident), "attribute_not_exists(pk) OR #to = :astray",
		map[string]string{"#to": "feedbackId"}, table.Item{":astray": table.String(danglingID)})
}

// addConcurrency limits the concurrent writes in one call of addRecords.
const addConcurrency = 8

// addRecords stores records whose ids and identities the company does not have yet. It returns the
// number of records that it skipped because another caller has stored them in the meantime.
func (k feedbackKind) addRecords(ctx context.Context, companyID string, records []Feedback) (skipped int, err error) {
	var found atomic.Int64
	records = transfer.KeepLast(records, func(f Feedback) string { return f.ID })
	err = parallel.Do(len(records), addConcurrency, func(n int) error {
		f := records[n]
		f.CompanyID = companyID
		err := k.table.Transact(ctx, k.addWrites(f, true)...)
		var canceled *table.CanceledError
		if !errors.As(err, &canceled) {
			return err
		}
		known, err := k.Exist(ctx, companyID, []Feedback{f})
		if err != nil {
			return err
		}
		if !known[0] { // the write failed because of a reference to a deleted record
			if err = k.table.Transact(ctx, k.addWrites(f, false)...); !errors.As(err, &canceled) {
				return err
			}
		}
		found.Add(1)
		return nil
	})
	return int(found.Load()), err
}

// addWrites returns the writes that store a record and its reference. They are conditional: they
// fail if a record with the same id or identity exists. If noReference is true, they also fail if
// the identity has a reference.
func (s Store) addWrites(f Feedback, noReference bool) []table.Write {
	writes := []table.Write{s.table.WriteCreate(keysOf(f), f)}
	ident, ok := identityOfRecord(f)
	if !ok {
		return writes
	}
	key := referenceKey(f.CompanyID, ident)
	if derived := ident.feedbackID(); f.ID != derived {
		writeReference := s.table.WritePut
		if noReference {
			writeReference = s.table.WriteCreate
		}
		return append(writes, writeReference(table.Keys{Key: key}, identityReference{SK: key.SK, FeedbackID: f.ID}), s.table.WriteCheckAbsent(feedbackKey(f.CompanyID, derived)))
	}
	if noReference {
		writes = append(writes, s.table.WriteCheckAbsent(key))
	}
	return writes
}

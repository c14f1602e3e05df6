package metrics

import (
	"context"
	"encoding/json"
	"errors"

	"growthworkspace/shared/fault"
	"growthworkspace/shared/table"
)

// Store stores metric definitions and points:
//
//	access                             key                                                          index
//	definitions, all or by key         <company>#metrics / def#<key>                                base
//	a definition by id                 <company>#metrics / defid#<id>, the key; then by key         base
//	definitions, needsReview           <company>#metrics#needsreview#<true|false> / <key>           GSI2, sparse
//	points of a metric, newest first   <company>#metrics / pt#<key>#<grain>#<period>#<seriesId>     base
//
// Each value of the filter needsReview has its own partition, so a page reads only what it returns. A definition whose
// needsReview is null is in neither. Points are packed; see Grain.split and pointRecord.
type Store struct{ table *table.Client }

// NewStore returns a store over the table.
func NewStore(t *table.Client) Store { return Store{t} }

// now returns the current time as a normalised timestamp.
func (s Store) now() string { return s.table.Now() }

const (
	definitionPrefix   = "def#"
	definitionIDPrefix = "defid#"
	pointPrefix        = "pt#"
)

func partition(companyID string) string { return table.Partition(companyID, "metrics") }

func definitionKey(companyID, key string) table.Key {
	return table.Key{PK: partition(companyID), SK: definitionPrefix + key}
}

func definitionIDKey(companyID, definitionID string) table.Key {
	return table.Key{PK: partition(companyID), SK: definitionIDPrefix + definitionID}
}

// definitionName is the record that finds a definition by its id. It may name a key whose definition has another id by now:
// whoever reads it compares the id.
type definitionName struct {
	Key string `json:"key"`
}

func reviewPartition(companyID string, review Review) string {
	return table.Partition(companyID, "metrics", "needsreview", string(review))
}

func keysOf(d Definition) table.Keys {
	keys := table.Keys{Key: definitionKey(d.CompanyID, d.Key)}
	if review := reviewOf(d); review != "" {
		keys.GSI2 = table.Key{PK: reviewPartition(d.CompanyID, review), SK: d.Key}
	}
	return keys
}

// writeNewDefinition returns the writes that create a definition with its id. Their conditions are that no definition has the
// key or the metric's other name.
func (s Store) writeNewDefinition(d Definition) []table.Write {
	writes := []table.Write{s.table.WriteNew(keysOf(d), d), s.writeDefinitionName(d)}
	if other := otherName(d.Key); other != "" {
		writes = append(writes, s.table.CheckAbsent(definitionKey(d.CompanyID, other)))
	}
	return writes
}

// writeDefinitionName returns the write of a definition's id. It has no condition.
func (s Store) writeDefinitionName(d Definition) table.Write {
	return s.table.WriteAny(table.Keys{Key: definitionIDKey(d.CompanyID, d.ID)}, definitionName{d.Key})
}

// ModifyDefinition changes the definition with an id by compare-and-set, as table.Modify does. Returns fault.ErrNotFound when
// the company has none.
func (s Store) ModifyDefinition(ctx context.Context, companyID, definitionID string, change func(*Definition) error) (Definition, error) {
	modify := func(key string) (Definition, error) {
		return table.Modify(ctx, s.table, definitionKey(companyID, key), keysOf, func(d *Definition) error {
			if d.ID != definitionID {
				return fault.ErrNotFound
			}
			return change(d)
		})
	}
	name, err := table.Get[definitionName](ctx, s.table, definitionIDKey(companyID, definitionID))
	if err == nil {
		var d Definition
		if d, err = modify(name.Key); !errors.Is(err, fault.ErrNotFound) {
			return d, err
		}
	}
	if !errors.Is(err, fault.ErrNotFound) {
		return Definition{}, err
	}
	key, err := s.findDefinition(ctx, companyID, definitionID)
	if err != nil {
		return Definition{}, err
	}
	return modify(key)
}

// findDefinition returns the key of the definition with an id by reading all definitions, and stores the record that finds it
// from then on. That record is missing or wrong for definitions that were stored without it, or replaced by an import.
// Returns fault.ErrNotFound when no definition has the id.
func (s Store) findDefinition(ctx context.Context, companyID, definitionID string) (key string, err error) {
	var found *Definition
	err = table.Each(ctx, s.table, definitionsOf(companyID), func(d Definition) error {
		if d.ID == definitionID {
			found = &d
		}
		return nil
	})
	if err != nil {
		return "", err
	}
	if found == nil {
		return "", fault.ErrNotFound
	}
	return found.Key, s.table.Transact(ctx, s.writeDefinitionName(*found))
}

// definedKeys returns the keys of all definitions, in order.
func (s Store) definedKeys(ctx context.Context, companyID string) (keys []string, err error) {
	err = table.Each(ctx, s.table, definitionsOf(companyID), func(d Definition) error {
		keys = append(keys, d.Key)
		return nil
	})
	return keys, err
}

// definitionsOf returns all definitions of a company, read with strong consistency.
func definitionsOf(companyID string) table.Collection {
	return table.Collection{Partition: partition(companyID), Prefix: definitionPrefix, Consistent: true}
}

// ListDefinitions returns a page of the definitions that match review, ordered by key, as JSON texts, and the position of
// the next page. An empty review matches all.
func (s Store) ListDefinitions(ctx context.Context, companyID string, review Review, after string, limit int) (page []json.RawMessage, next string, err error) {
	q := table.Query{Partitions: []string{partition(companyID)}, Prefix: definitionPrefix, After: after, Limit: limit}
	if review != "" {
		q = table.Query{Index: table.GSI2, Partitions: []string{reviewPartition(companyID, review)}, After: after, Limit: limit}
	}
	return table.ListTexts[Definition](ctx, s.table, q)
}

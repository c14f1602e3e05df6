package metrics

import (
	"context"
	"encoding/json"

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

// ListDefinitions returns a page of the definitions that match review, ordered by key, as JSON texts, and the position of
// the next page. An empty review matches all.
func (s Store) ListDefinitions(ctx context.Context, companyID string, review Review, after string, limit int) (page []json.RawMessage, next string, err error) {
	q := table.Query{Partitions: []string{partition(companyID)}, Prefix: definitionPrefix, After: after, Limit: limit}
	if review != "" {
		q = table.Query{Index: table.GSI2, Partitions: []string{reviewPartition(companyID, review)}, After: after, Limit: limit}
	}
	return table.ListTexts[Definition](ctx, s.table, q)
}

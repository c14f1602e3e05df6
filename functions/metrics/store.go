package metrics

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"growthworkspace/shared/fault"
	"growthworkspace/shared/idempotency"
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
// Each value of the filter needsReview has its own partition, so a page reads only what it returns.
// A definition whose needsReview is null is in neither partition. Points are packed; see
// Grain.recordLocation and pointRecord.
type Store struct {
	table        *table.Client
	deleteMargin time.Duration // the time that a delete of points leaves before the deadline
	unitsMax     float64       // the maximum number of read units for a page of a total or of one series
}

// NewStore returns a store over the table.
func NewStore(t *table.Client) Store { return Store{t, deleteTimeMargin, listingUnitsMax} }

// now returns the current time as a normalised timestamp.
func (s Store) now() string { return s.table.Now() }

const (
	definitionPrefix      = "def#"
	definitionIDKeyPrefix = "defid#"
	pointPrefix           = "pt#"
)

const area = "metrics"

func partition(companyID string) string { return table.Partition(companyID, area) }

func definitionKey(companyID, key string) table.Key {
	return table.Key{PK: partition(companyID), SK: definitionPrefix + key}
}

func definitionIDKey(companyID, definitionID string) table.Key {
	return table.Key{PK: partition(companyID), SK: definitionIDKeyPrefix + definitionID}
}

// definitionIDRecord is the id record of a definition: it maps the definition's id to its key. It
// can be stale, because a definition with a different id may now have that key. Readers therefore
// check that the definition with that key still has the id.
type definitionIDRecord struct {
	Key string `json:"key"`
}

func reviewPartition(companyID string, review ReviewFilter) string {
	return table.Partition(companyID, area, "needsreview", string(review))
}

func keysOf(d Definition) table.Keys {
	keys := table.Keys{Key: definitionKey(d.CompanyID, d.Key)}
	if review := reviewFilterOf(d); review != "" {
		keys.GSI2 = table.Key{PK: reviewPartition(d.CompanyID, review), SK: d.Key}
	}
	return keys
}

// writeNewDefinition returns the writes that create a definition and its id record. They are
// conditional: they fail if a definition with the same key or with the metric's other name exists.
// `origin` is the idempotency.Fingerprint of the push that creates the definition. It is empty
// unless that push takes several transactions.
func (s Store) writeNewDefinition(d Definition, origin string) []table.Write {
	record := any(d)
	if origin != "" {
		record = pushedDefinitionRecord{d, &origin}
	}
	idWrite := s.table.WritePut(table.Keys{Key: definitionIDKey(d.CompanyID, d.ID)}, definitionIDRecord{d.Key})
	writes := []table.Write{s.table.WriteCreate(keysOf(d), record), idWrite}
	if other := aliasOf(d.Key); other != "" {
		writes = append(writes, s.table.WriteCheckAbsent(definitionKey(d.CompanyID, other)))
	}
	return writes
}

// GetDefinition returns the definition with the given id. Returns fault.ErrNotFound when the
// company has no such definition.
func (s Store) GetDefinition(ctx context.Context, companyID, definitionID string) (Definition, error) {
	key, err := s.keyOfDefinition(ctx, companyID, definitionID)
	if err != nil {
		return Definition{}, err
	}
	d, err := table.Get[Definition](ctx, s.table, definitionKey(companyID, key))
	if err == nil && d.ID != definitionID {
		err = fault.ErrNotFound
	}
	if err != nil {
		return Definition{}, err
	}
	return d, nil
}

// keyOfDefinition returns the key in the id record. The definition under that key may have another
// id.
func (s Store) keyOfDefinition(ctx context.Context, companyID, definitionID string) (string, error) {
	idRecord, err := table.Get[definitionIDRecord](ctx, s.table, definitionIDKey(companyID, definitionID))
	return idRecord.Key, err
}

// InsertDefinition stores a new definition and sets its id, company and times. Returns
// fault.Conflict when the metric already has a definition under either of its names.
func (s Store) InsertDefinition(ctx context.Context, companyID string, d Definition) (Definition, error) {
	now := s.table.Now()
	d.ID, d.CompanyID, d.CreatedAt, d.UpdatedAt = s.table.NewID(definitionIDPrefix), companyID, &now, &now
	err := idempotency.Transact(ctx, s.table, d, s.writeNewDefinition(d, "")...)
	var canceled *table.CanceledError
	if errors.As(err, &canceled) {
		existingKey := d.Key
		if _, taken := canceled.Failed(0); !taken {
			existingKey = aliasOf(d.Key)
		}
		return Definition{}, fault.New(fault.Conflict, "body.key: the metric is already defined, as %s", existingKey)
	}
	return d, err
}

// ModifyDefinition changes the definition with the given id by compare-and-set, as table.Modify
// does. Returns fault.ErrNotFound when the company has no such definition.
func (s Store) ModifyDefinition(ctx context.Context, companyID, definitionID string, change func(*Definition) error) (d Definition, err error) {
	key, err := s.keyOfDefinition(ctx, companyID, definitionID)
	if err != nil {
		return d, err
	}
	return table.Modify(ctx, s.table, definitionKey(companyID, key), keysOf, func(d *Definition) error {
		if d.ID != definitionID {
			return fault.ErrNotFound
		}
		return change(d)
	})
}

// RemoveDefinition deletes the definition with the given id, unless `check` returns an error.
// Returns fault.ErrNotFound when the company has no such definition, and fault.Conflict when its
// metric has points. A push that creates a record of points increments a counter in the
// definition's record, in the same transaction. So if both run at once, either the delete sees the
// new count and looks for points again, or the push finds no definition and starts again.
func (s Store) RemoveDefinition(ctx context.Context, companyID, definitionID string, check func(Definition) error) error {
	key, err := s.keyOfDefinition(ctx, companyID, definitionID)
	if err != nil {
		return err
	}
	return table.RemoveParent(ctx, s.table, definitionKey(companyID, key), table.ParentRemoval[Definition]{
		Check: func(d Definition) error {
			if d.ID != definitionID {
				return fault.ErrNotFound
			}
			return check(d)
		},
		CheckNoChildren: func(ctx context.Context) error { return s.checkNoPoints(ctx, companyID, key) },
		ExtraWrites:     []table.Write{s.table.WriteDelete(definitionIDKey(companyID, definitionID), "", nil, nil)},
	})
}

// checkNoPoints returns fault.Conflict if points are stored under a key.
func (s Store) checkNoPoints(ctx context.Context, companyID, key string) error {
	prefix := pointPrefix + table.JoinKey(key, "")
	in := pointsRequest(companyID, prefix, prefix+afterAllKeys)
	in.ConsistentRead, in.Limit = aws.Bool(true), aws.Int32(1)
	out, err := s.table.Query(ctx, in)
	if err == nil && len(out.Items) > 0 {
		err = fault.New(fault.Conflict, "the metric %s has points; delete its points of every grain first", key)
	}
	return err
}

// definedKeys returns the keys of all definitions, in order.
func (s Store) definedKeys(ctx context.Context, companyID string) (keys []string, err error) {
	err = table.ForEach(ctx, s.table, definitionsOf(companyID), func(d Definition) error {
		keys = append(keys, d.Key)
		return nil
	})
	return keys, err
}

// definitionsOf returns all definitions of a company, read with strong consistency.
func definitionsOf(companyID string) table.Collection {
	return table.Collection{Partition: partition(companyID), Prefix: definitionPrefix, Consistent: true}
}

// ListDefinitions returns a page of the definitions that match the filter, as JSON, ordered by key.
// An empty filter matches all definitions.
func (s Store) ListDefinitions(ctx context.Context, companyID string, review ReviewFilter, after string, limit int) (table.Page[json.RawMessage], error) {
	q := table.Query{Partitions: []string{partition(companyID)}, Prefix: definitionPrefix, After: after, Limit: limit}
	if review != "" {
		q = table.Query{Index: table.GSI2, Partitions: []string{reviewPartition(companyID, review)}, After: after, Limit: limit}
	}
	return table.ListJSON[Definition](ctx, s.table, q)
}

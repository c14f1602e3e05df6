package metrics

import (
	"context"
	"errors"
	"slices"

	"growthworkspace/shared/idempotency"
	"growthworkspace/shared/table"
)

// pushRecordsMax is how many point records one transaction of a push writes. A transaction accepts a hundred writes. Each
// record may bring the three writes of a new definition, and one write remembers the response. The transaction's 4 MB are
// enough for 25 records of 53 weeks with the longest texts.
const pushRecordsMax = 24

// pushWidth bounds the concurrent transactions of a push. 500 points of 500 series need this many.
const pushWidth = 21

// Definitions returns the definitions that exist for the given keys, by key. The keys must be distinct.
func (s Store) Definitions(ctx context.Context, companyID string, keys []string) (map[string]Definition, error) {
	at := make([]table.Key, len(keys))
	for i, key := range keys {
		at[i] = definitionKey(companyID, key)
	}
	found, err := table.Many[Definition](ctx, s.table, at)
	known := make(map[string]Definition, len(found))
	for _, d := range found {
		known[d.Key] = d
	}
	return known, err
}

// pushWrite is one write of a push.
type pushWrite struct {
	write   table.Write
	creates string // the key of the definition that it creates; empty when it sets points
}

// Push stores new definitions, which need no id, and points with identities (Point.Identify). It returns the keys of the
// definitions that it created, even with an error (but for a panic). Returns table.ErrExists when one of the definitions, or
// one with the other name of its metric, exists by now; the caller then reads the definitions again and repeats the push,
// which is safe as with PutPoints.
//
// A push of up to pushRecordsMax records is one transaction and stores everything or nothing. It remembers the response to
// an Idempotency-Key, which respond returns for the created keys. A larger push claims that key first. It is several
// concurrent transactions, with each definition next to points of its metric. When it fails half-way, some series and
// periods are stored and others are not; repeating the push completes it.
func (s Store) Push(ctx context.Context, companyID string, fresh []Definition, points []Point, respond func(created []string) PushResult) (created []string, err error) {
	updates, err := packPoints(companyID, points)
	if err != nil {
		return nil, err
	}
	if len(updates) == 1 && len(fresh) == 0 && !idempotency.Keyed(ctx) {
		return nil, s.updatePoints(ctx, updates[0]) // costs half as much as a transaction
	}
	parts := s.pushParts(companyID, fresh, updates)
	if len(parts) == 1 {
		created = createdBy(parts[0])
		if err := s.pushPart(ctx, parts[0], respond(created)); err != nil {
			return nil, err
		}
		return created, nil
	}
	if err := idempotency.Claim(ctx, s.table); err != nil {
		return nil, err
	}
	failures := make([]error, len(parts))
	panicked := table.Parallel(len(parts), pushWidth, func(n int) error {
		failures[n] = s.pushPart(ctx, parts[n], nil)
		return nil // the other parts are stored all the same
	})
	if panicked != nil {
		return nil, panicked
	}
	for n, failure := range failures {
		if failure == nil {
			created = append(created, createdBy(parts[n])...)
		}
		if failure != nil && (err == nil || errors.Is(err, table.ErrExists)) {
			err = failure // an error that a repetition cannot fix takes precedence over ErrExists
		}
	}
	return created, err
}

// pushParts returns the writes of each transaction. A definition is in the transaction with the first points of its metric.
func (s Store) pushParts(companyID string, fresh []Definition, updates []*pointUpdate) (parts [][]pushWrite) {
	definitions := make(map[string]Definition, len(fresh))
	for _, d := range fresh {
		definitions[d.Key] = d
	}
	for some := range slices.Chunk(updates, pushRecordsMax) {
		var part []pushWrite
		for _, u := range some {
			key := u.record.MetricKey
			if d, ok := definitions[key]; ok {
				delete(definitions, key)
				d.ID, d.CompanyID = s.table.NewID(definitionIDs), companyID
				for _, w := range s.writeNewDefinition(d) {
					part = append(part, pushWrite{write: w})
				}
				part[len(part)-1].creates = key
			}
			at, update, names, values := u.expression()
			part = append(part, pushWrite{write: s.table.WriteUpdate(at, update, "", names, values)})
		}
		parts = append(parts, part)
	}
	return parts
}

// createdBy returns the keys of the definitions that a part creates.
func createdBy(part []pushWrite) (keys []string) {
	for _, w := range part {
		if w.creates != "" {
			keys = append(keys, w.creates)
		}
	}
	return keys
}

// pushPart makes the writes of a part. A response is stored with them; nil for a part of a larger push.
func (s Store) pushPart(ctx context.Context, part []pushWrite, response any) error {
	writes := make([]table.Write, len(part))
	for i, w := range part {
		writes[i] = w.write
	}
	var err error
	if response == nil {
		err = s.table.Transact(ctx, writes...)
	} else {
		err = idempotency.Transact(ctx, s.table, response, writes...)
	}
	var canceled *table.CanceledError
	if errors.As(err, &canceled) { // only the definitions have conditions
		return table.ErrExists
	}
	return err
}

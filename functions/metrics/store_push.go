package metrics

import (
	"context"
	"errors"
	"slices"

	"growthworkspace/shared/table"
)

// pushRecordsMax is how many records of points one transaction of a push writes, beside the definitions of their metrics.
// A transaction takes a hundred writes, but no more than 4 MB of records: 25 that hold 53 weeks each, all their texts as
// long as they may be, are just below that.
const pushRecordsMax = 25

// pushWidth bounds how many transactions of a push are made at once: all that 500 points of as many series need.
const pushWidth = 20

// Definitions returns the definitions of those keys that have one, by key. Keys must be distinct.
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
	creates string // the key of the definition that it makes; empty: it sets points
}

// Push stores new definitions, which need no id, and points that Point.Identify has been through, as PutPoints does. It
// returns the keys of the definitions that it made, also with an error. table.ErrExists when one of the definitions has
// come to be; the caller looks again and pushes all of it again, which is as safe as it is for PutPoints.
//
// A push of up to pushRecordsMax records is one transaction: all of it is stored or nothing. A larger one is several, side
// by side, each definition beside points of its own metric: when it fails half-way, some series and periods are stored
// and others are not, and to push it again completes it.
func (s Store) Push(ctx context.Context, companyID string, fresh []Definition, points []Point) (created []string, err error) {
	updates, err := packPoints(companyID, points)
	if err != nil {
		return nil, err
	}
	if len(updates) == 1 && len(fresh) == 0 {
		return nil, s.updatePoints(ctx, updates[0]) // half the price of a transaction
	}
	parts := s.pushParts(companyID, fresh, updates)
	failures := make([]error, len(parts))
	_ = table.Parallel(len(parts), pushWidth, func(n int) error {
		failures[n] = s.pushPart(ctx, parts[n])
		return nil
	})
	for n, failure := range failures {
		for _, w := range parts[n] {
			if failure == nil && w.creates != "" {
				created = append(created, w.creates)
			}
		}
		if failure != nil && (err == nil || errors.Is(err, table.ErrExists)) {
			err = failure // what cannot be mended by looking again comes first
		}
	}
	return created, err
}

// pushParts are the writes of each transaction. A definition is in that of the first points of its metric.
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
				part = append(part, pushWrite{s.table.WriteNew(keysOf(d), d), key})
			}
			at, update, names, values := u.expression()
			part = append(part, pushWrite{write: s.table.WriteUpdate(at, update, "", names, values)})
		}
		parts = append(parts, part)
	}
	return parts
}

func (s Store) pushPart(ctx context.Context, part []pushWrite) error {
	writes := make([]table.Write, len(part))
	for i, w := range part {
		writes[i] = w.write
	}
	err := s.table.Transact(ctx, writes...)
	var canceled *table.CanceledError
	if errors.As(err, &canceled) { // of a definition, because nothing else has a condition
		return table.ErrExists
	}
	return err
}

package metrics

import (
	"context"
	"errors"
	"slices"
	"sync"

	"growthworkspace/shared/idempotency"
	"growthworkspace/shared/parallel"
	"growthworkspace/shared/table"
	"growthworkspace/shared/timestamp"
)

// pushRecordsMax is the maximum number of point records that one transaction of a push writes. A
// transaction accepts a hundred writes. Each record may also need three writes for a new
// definition, and one write stores the response. The transaction limit of 4 MB is enough for 25
// records of 53 weeks with the longest strings.
const pushRecordsMax = 24

// pushConcurrency limits the concurrent transactions of a push. 500 points of 500 different series
// need this many.
const pushConcurrency = 21

// DefinitionsByKey returns the definitions that exist for the given keys, as a map by key. The keys
// must be distinct.
func (s Store) DefinitionsByKey(ctx context.Context, companyID string, keys []string) (map[string]Definition, error) {
	tableKeys := make([]table.Key, len(keys))
	for i, key := range keys {
		tableKeys[i] = definitionKey(companyID, key)
	}
	found, err := table.BatchGet[Definition](ctx, s.table, tableKeys)
	known := make(map[string]Definition, len(found))
	for _, d := range found {
		known[d.Key] = d
	}
	return known, err
}

// pushedDefinitionRecord is a definition together with the push that created it.
type pushedDefinitionRecord struct {
	Definition

	Origin *string `store:"pushOrigin"` // see idempotency.Fingerprint; set only by a push of several transactions
}

// readPushedDefinitions returns the definitions that exist for the keys of a push, as a map by key.
// In `createdEarlier`, it returns the keys of the definitions that an earlier attempt of this push
// created before it crashed or failed.
func (s Store) readPushedDefinitions(ctx context.Context, companyID string, keys []string) (known map[string]Definition, createdEarlier []string, err error) {
	tableKeys := make([]table.Key, len(keys))
	for i, key := range keys {
		tableKeys[i] = definitionKey(companyID, key)
	}
	found, err := table.BatchGet[pushedDefinitionRecord](ctx, s.table, tableKeys)
	known = make(map[string]Definition, len(found))
	now, _ := timestamp.Parse(s.now())
	origin, since := idempotency.Fingerprint(ctx), timestamp.Format(now.Add(-idempotency.ResponseTTL))
	for _, d := range found {
		known[d.Key] = d.Definition
		if d.Origin != nil && *d.Origin == origin && d.CreatedAt != nil && *d.CreatedAt > since {
			createdEarlier = append(createdEarlier, d.Key)
		}
	}
	return known, createdEarlier, err
}

// Push stores new definitions and points. It sets the ids of the definitions; the points must
// already have identities (see Point.Identify). The map known contains the definitions that exist,
// by key. Push returns the keys of the definitions that it created, even with an error, but not
// after a panic. Returns table.ErrExists when one of the definitions, or one with the metric's
// other name, already exists, or when a definition that the push expects to exist has been deleted.
// The caller then reads the definitions again and repeats the push, which is safe for the same
// reasons as repeating PutPoints.
//
// A push of up to pushRecordsMax records is one transaction and stores everything or nothing. It
// also stores the response for an Idempotency-Key, which it gets by calling respond with the
// created keys. A larger push claims the Idempotency-Key first and then runs several concurrent
// transactions. If it fails half-way, some series and periods are stored and others are not.
// Repeating the push completes it. The feed of changes reports each transaction, so it also reports
// what a failed push has stored.
//
// No point is stored without a definition. RemoveDefinition does not delete a definition while a
// record of its points exists, so a push that changes a record only requires that the record
// exists. If a record is missing, one transaction creates it and increments a counter in the
// definition's record.
func (s Store) Push(ctx context.Context, companyID string, known map[string]Definition, newDefinitions []Definition, points []Point, respond func(created []string) PushResult) (created []string, err error) {
	updates, err := s.packPoints(companyID, points, idsOf(known))
	if err != nil {
		return nil, err
	}
	if len(updates) == 1 && len(newDefinitions) == 0 && !idempotency.HasKey(ctx) {
		exists, err := s.updatePoints(ctx, updates[0], recordExistsCondition) // costs half as much as a transaction
		if err != nil || exists {
			return nil, err
		}
		updates[0].isNew = true
	}
	p := s.newPushJob(companyID, newDefinitions, updates)
	if len(p.parts) == 1 {
		return p.storePart(ctx, p.parts[0], respond)
	}
	p.origin = idempotency.Fingerprint(ctx)
	if err := idempotency.Reserve(ctx, s.table); err != nil {
		return nil, err
	}
	failures, createdBy := make([]error, len(p.parts)), make([][]string, len(p.parts))
	panicErr := parallel.Do(len(p.parts), pushConcurrency, func(n int) error {
		createdBy[n], failures[n] = p.storePart(ctx, p.parts[n], nil)
		return nil // nil, so that the other parts are still stored
	})
	if panicErr != nil {
		return nil, panicErr
	}
	for _, failure := range failures {
		if failure != nil && (err == nil || errors.Is(err, table.ErrExists)) {
			err = failure // an error that repeating the push cannot fix takes precedence over ErrExists
		}
	}
	return slices.Concat(createdBy...), err
}

// pushJob is a push in progress.
type pushJob struct {
	Store
	companyID string
	parts     [][]*pointUpdate // the records of each transaction
	metrics   map[string]*pushedMetric
	origin    string // the fingerprint to store with new definitions; empty if the push has only one part
}

// pushedMetric is the state of one metric in a push.
type pushedMetric struct {
	sync.Mutex                // held by a transaction that writes the metric's definition, because two such transactions would conflict
	wasUndefined  bool        // whether the metric had no definition when the push began
	newDefinition *Definition // the definition to create; nil if it exists
	newID         string      // the id of the definition if this push creates it
}

// newPushJob divides the records into parts. It keeps the records of a metric next to each other.
func (s Store) newPushJob(companyID string, newDefinitions []Definition, updates []*pointUpdate) *pushJob {
	p := &pushJob{Store: s, companyID: companyID, metrics: map[string]*pushedMetric{}}
	for _, d := range newDefinitions {
		p.metrics[d.Key] = &pushedMetric{wasUndefined: true, newDefinition: &d}
	}
	place := map[string]int{}
	for n, u := range updates {
		key := u.record.MetricKey
		if _, known := place[key]; !known {
			place[key] = n
		}
		if p.metrics[key] == nil {
			p.metrics[key] = &pushedMetric{}
		}
		u.isNew = u.isNew || p.metrics[key].wasUndefined
	}
	slices.SortStableFunc(updates, func(a, b *pointUpdate) int { return place[a.record.MetricKey] - place[b.record.MetricKey] })
	for part := range slices.Chunk(updates, pushRecordsMax) {
		markRecords(part, updates[0].mark)
		p.parts = append(p.parts, part)
	}
	return p
}

// markRecords gives the first record of each metric in a part the write token of the push, so that
// the feed of changes reports every part. Reporting only one part would not be enough: that part
// may fail, or a reader may read the points before another part is stored.
func markRecords(part []*pointUpdate, token string) {
	marked := map[string]bool{}
	for _, u := range part {
		if key := u.record.MetricKey; !marked[key] {
			u.mark, marked[key] = token, true
		}
	}
}

// pushPartAttemptsMax limits the attempts to store a part. The first attempt may find that some
// records are new. Later attempts fail only if they lose races with callers that create or delete
// one of the records.
const pushPartAttemptsMax = 16

// storePart stores a part, and returns the keys of the definitions that it created. The part's
// transaction also stores the response, unless `respond` is nil because the part belongs to a
// larger push.
func (p *pushJob) storePart(ctx context.Context, part []*pointUpdate, respond func(created []string) PushResult) (created []string, err error) {
	for range pushPartAttemptsMax {
		var mispredicted bool
		created, mispredicted, err = p.tryPart(ctx, part, respond)
		if !mispredicted {
			return created, err
		}
	}
	return nil, table.ErrTooMuchContention
}

// tryPart makes the writes of a part in one transaction. If nothing was stored because a record
// unexpectedly exists or is missing, tryPart corrects the record's isNew and returns `mispredicted`
// as true.
func (p *pushJob) tryPart(ctx context.Context, part []*pointUpdate, respond func(created []string) PushResult) (created []string, mispredicted bool, err error) {
	defer p.lockMetrics(part)()
	var writes []table.Write
	updatesByWrite, done := map[int]*pointUpdate{}, map[string]bool{}
	for _, u := range part {
		key := u.record.MetricKey
		switch newDefinition := p.metrics[key].newDefinition; {
		case done[key]:
		case newDefinition != nil:
			newDefinition.ID, newDefinition.CompanyID = p.table.NewID(definitionIDPrefix), p.companyID
			p.metrics[key].newID = newDefinition.ID
			writes = append(writes, p.writeNewDefinition(*newDefinition, p.origin)...)
			created, done[key] = append(created, key), true
		case u.isNew:
			writes = append(writes, p.table.WriteChild(definitionKey(p.companyID, key)))
			done[key] = true
		}
		if m := p.metrics[key]; m.wasUndefined {
			u.definitionID = m.newID
		}
		updatesByWrite[len(writes)] = u
		writes = append(writes, p.writePoints(u))
	}
	if respond == nil {
		err = p.table.Transact(ctx, writes...)
	} else {
		err = idempotency.Transact(ctx, p.table, respond(created), writes...)
	}
	var canceled *table.CanceledError
	switch {
	case err == nil:
		for _, key := range created {
			p.metrics[key].newDefinition = nil
		}
		return created, false, nil
	case !errors.As(err, &canceled):
		return nil, false, err
	}
	for n := range writes {
		if _, failed := canceled.Failed(n); !failed {
			continue
		}
		u := updatesByWrite[n]
		if u == nil {
			return nil, false, table.ErrExists
		}
		u.isNew = !u.isNew
	}
	return nil, true, nil
}

// lockMetrics locks the metrics whose definitions the part writes, in the same order for all parts.
func (p *pushJob) lockMetrics(part []*pointUpdate) (unlock func()) {
	var locked []*pushedMetric
	for _, u := range part {
		m := p.metrics[u.record.MetricKey]
		if (u.isNew || m.wasUndefined) && (len(locked) == 0 || locked[len(locked)-1] != m) {
			m.Lock()
			locked = append(locked, m)
		}
	}
	return func() {
		for _, m := range locked {
			m.Unlock()
		}
	}
}

func idsOf(definitions map[string]Definition) map[string]string {
	ids := make(map[string]string, len(definitions))
	for key, d := range definitions {
		ids[key] = d.ID
	}
	return ids
}

// Package recorder records in each company's feed what the table's stream says about its records.
// It consumes the stream, so that no request does any work for the feed. See
// scripts/docs/explanation/changes.md.
package recorder

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"growthworkspace/functions"
	"growthworkspace/shared/change"
	"growthworkspace/shared/parallel"
	"growthworkspace/shared/table"
)

// Recorder records changes. Safe for concurrent use, one call of Record for each shard at a time.
type Recorder struct {
	table   *table.Client
	sources []change.Source
	park    func(context.Context, Parked) error
}

// Parked names a record of the stream that could not be read.
type Parked struct {
	ShardID        string `json:"shardId"`
	SequenceNumber string `json:"sequenceNumber"`
	PK             string `json:"pk"`
	SK             string `json:"sk"`
	Reason         string `json:"reason"`
}

// New returns a recorder over the table. The client must be an operator's (table.Client.AsOperator).
// park keeps for the operator what could not be read. It may get the same record several times.
func New(t *table.Client, park func(context.Context, Parked) error) *Recorder {
	return &Recorder{t, functions.ChangeSources(), park}
}

// companiesWidth is how many feeds one batch is appended to in parallel.
const companiesWidth = 8

// Record records the changes in a batch of one shard. It is idempotent: it recognises what it has
// recorded already, even if the batches have other bounds now. After an error, the same records must
// be delivered again before any later records of the shard.
func (r *Recorder) Record(ctx context.Context, shardID string, records []change.StreamRecord) error {
	if shardID == "" {
		return errors.New("record changes: the batch names no shard; the event source mapping needs a tumbling window")
	}
	var companies []string // in the order of their first change
	batches := map[string][]change.Occurrence{}
	for _, record := range records {
		companyID, o, ok, err := r.occurrence(ctx, shardID, record)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		if batches[companyID] == nil {
			companies = append(companies, companyID)
		}
		batches[companyID] = append(batches[companyID], o)
	}
	errs := make([]error, len(companies)) // the failure of one company's feed does not stop the others
	err := parallel.Do(len(companies), companiesWidth, func(n int) error {
		errs[n] = change.Append(ctx, r.table, companies[n], shardID, batches[companies[n]])
		return nil
	})
	return errors.Join(err, errors.Join(errs...))
}

// occurrence returns what a record of the stream says about a company's record. ok is false if the
// write changed no record, or is not reported.
func (r *Recorder) occurrence(ctx context.Context, shardID string, record change.StreamRecord) (companyID string, o change.Occurrence, ok bool, err error) {
	w, ok := write(record)
	if !ok || table.IsSameRevision(record.Old, record.New) || table.WriterOf(record.New) == table.ImportWriter {
		return "", o, false, nil
	}
	o = change.Occurrence{KeyID: table.WriterOf(record.New), OccurredAt: record.WrittenAt, SequenceNumber: record.SequenceNumber}
	for _, s := range r.sources {
		o.Type = s.Type
		if o.Event, ok, err = recognise(s, w); err != nil {
			o.Event = change.Event{RecordID: recordID(o.Event, w), Action: change.Unknown}
			err = r.park(ctx, Parked{shardID, record.SequenceNumber, record.Key.PK, record.Key.SK, err.Error()})
			return w.CompanyID, o, true, err
		}
		if ok {
			if o.Action == change.Deleted { // a deletion of some points of a record leaves a writer, the others do not
				o.KeyID = ""
			}
			return w.CompanyID, o, true, nil
		}
	}
	return "", o, false, nil
}

// eventBytesMax is the maximum size of an event's record id and status. A sort key, which contains
// the id of most records, has at most 1,024 bytes. A packet of the longest fits into an item.
const eventBytesMax = 1100

// recognise calls the source. A panic becomes an error, and so does an event that is too large for
// the feed.
func recognise(s change.Source, w change.Write) (e change.Event, ok bool, err error) {
	defer parallel.Recover(&err)
	e, ok, err = s.Recognise(w)
	if len(e.RecordID)+len(e.Status) > eventBytesMax {
		return change.Event{}, ok, fmt.Errorf("%w: its id or its status is too long", table.ErrUnreadable)
	}
	return e, ok, err
}

// write returns the write of an item that belongs to a company.
func write(record change.StreamRecord) (w change.Write, ok bool) {
	parts := strings.Split(record.Key.PK, "#")
	if len(parts) < 2 || slices.Contains([]string{table.KeysArea, change.Area}, parts[1]) {
		return w, false
	}
	return change.Write{CompanyID: parts[0], Area: parts[1], Narrower: parts[2:], SK: record.Key.SK, Old: record.Old, New: record.New}, true
}

// recordID returns the id of the record that an unreadable write changed: that of the event if the
// source knows it, otherwise the last part of the sort key.
func recordID(e change.Event, w change.Write) string {
	if e.RecordID != "" {
		return e.RecordID
	}
	return w.SK[strings.LastIndex(w.SK, "#")+1:]
}

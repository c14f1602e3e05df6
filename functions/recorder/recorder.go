// Package recorder records the changes to each company's records in its feed. It reads them from
// the table's stream, so no request does any work for the feed. See
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

// Recorder records changes. It is safe for concurrent use, provided that only one call of Record
// runs at a time for each shard.
type Recorder struct {
	table   *table.Client
	sources []change.Source
	park    func(context.Context, ParkedRecord) error
}

// ParkedRecord identifies a record of the stream that could not be read.
type ParkedRecord struct {
	ShardID        string `json:"shardId"`
	SequenceNumber string `json:"sequenceNumber"`
	PK             string `json:"pk"`
	SK             string `json:"sk"`
	Reason         string `json:"reason"`
}

// New returns a recorder over the table. The client must be an operator's
// (table.Client.AsOperator). The function `park` must keep an unreadable stream record for the
// operator. It may get the same record several times.
func New(t *table.Client, park func(context.Context, ParkedRecord) error) *Recorder {
	return &Recorder{t, functions.ChangeSources(), park}
}

// companyConcurrency is the maximum number of feeds that one batch is appended to in parallel.
const companyConcurrency = 8

// Record adds the changes in a batch of one shard to the feeds. It is idempotent: it skips what it
// has already recorded, even if the batches now begin and end at different records. After an error,
// the same records must be delivered again before any later records of the shard.
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
	errs := make([]error, len(companies)) // a failure in one company's feed does not stop the others
	err := parallel.Do(len(companies), companyConcurrency, func(n int) error {
		errs[n] = change.Append(ctx, r.table, companies[n], shardID, batches[companies[n]])
		return nil
	})
	return errors.Join(err, errors.Join(errs...))
}

// occurrence returns the change that a stream record reports, and its company. It returns false if
// the write changed no record or must not be reported.
func (r *Recorder) occurrence(ctx context.Context, shardID string, record change.StreamRecord) (companyID string, o change.Occurrence, ok bool, err error) {
	w, ok := writeOf(record)
	if !ok || table.IsSameRevision(record.Old, record.New) || table.WriterOf(record.New) == table.ImportWriter {
		return "", o, false, nil
	}
	o = change.Occurrence{KeyID: table.WriterOf(record.New), OccurredAt: record.WrittenAt, SequenceNumber: record.SequenceNumber}
	for _, s := range r.sources {
		o.Type = s.Type
		if o.Event, ok, err = recognise(s, w); err != nil {
			o.Event = change.Event{RecordID: recordID(o.Event, w), Action: change.Unknown}
			err = r.park(ctx, ParkedRecord{shardID, record.SequenceNumber, record.Key.PK, record.Key.SK, err.Error()})
			return w.CompanyID, o, true, err
		}
		if ok {
			if o.Action == change.Deleted { // a deletion names no API key, even if some of the record's points remain and name one
				o.KeyID = ""
			}
			return w.CompanyID, o, true, nil
		}
	}
	return "", o, false, nil
}

// eventBytesMax is the maximum total size of an event's record id and status. Most record ids are
// part of a sort key, which has at most 1,024 bytes. A packet full of events of the maximum size
// fits into an item.
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

// writeOf returns the write that a stream record describes. It returns false if the item belongs to
// no company, or to the area of keys or of feeds.
func writeOf(record change.StreamRecord) (w change.Write, ok bool) {
	parts := strings.Split(record.Key.PK, "#")
	if len(parts) < 2 || slices.Contains([]string{table.KeysArea, change.Area}, parts[1]) {
		return w, false
	}
	return change.Write{CompanyID: parts[0], Area: parts[1], SubPartition: parts[2:], SK: record.Key.SK, Old: record.Old, New: record.New}, true
}

// recordID returns the id of the record that an unreadable write changed: the event's RecordID if
// the source set it, otherwise the last part of the sort key.
func recordID(e change.Event, w change.Write) string {
	if e.RecordID != "" {
		return e.RecordID
	}
	return w.SK[strings.LastIndex(w.SK, "#")+1:]
}

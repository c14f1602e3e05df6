package serve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/aws/smithy-go"

	"growthworkspace/functions/recorder"
	"growthworkspace/scripts/workspace/tableconn"
	"growthworkspace/shared/change"
	"growthworkspace/shared/localdb"
	"growthworkspace/shared/stream"
	"growthworkspace/shared/table"
)

// Pauses of the feed's reader: when the stream has no more records, and after an error.
const (
	streamPause = 100 * time.Millisecond
	errorPause  = 2 * time.Second
)

// feedRecorder reads the engine's stream and adds the changes of a local table to the companies'
// feeds. In an AWS account, a Lambda function of the stack does that.
type feedRecorder struct {
	session  *tableconn.Session
	stream   *stream.Reader
	recorder *recorder.Recorder
	log      *slog.Logger
	last     string // the sequence number of the last record whose change is in the feeds
	unmarked int    // the number of records since the stream was marked
}

// markInterval is how many records are recorded before the stream is marked, so that the engine
// drops them. Until then, they take up some kilobytes each, and are read again after a restart.
const markInterval = 500

// openFeedRecorder switches the engine's stream on. It returns nil for a table in an AWS account
// and for an engine without streams. In the second case, it also tells session.ServingTable that
// there is no feed.
func openFeedRecorder(ctx context.Context, session *tableconn.Session, log *slog.Logger) (*feedRecorder, error) {
	if session.Engine == nil {
		return nil, nil
	}
	reader, err := session.EnableStream(ctx)
	var refused smithy.APIError
	if errors.As(err, &refused) || errors.Is(err, stream.ErrNoStream) {
		log.WarnContext(ctx, "no feed of changes: the engine has no streams", "error", err)
		session.MarkNoStream()
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	f := &feedRecorder{session: session, stream: reader, log: log}
	f.recorder = recorder.New(session.Table, f.park)
	return f, nil
}

// park logs a record that cannot be read. It does not put the record into a queue, because the
// operator sees the log.
func (f *feedRecorder) park(ctx context.Context, p recorder.ParkedRecord) error {
	f.log.ErrorContext(ctx, "a record of the stream cannot be read", "record", p)
	return nil
}

// run records changes until ctx is done or the engine stops. Changes that it has not recorded by
// then are recorded after the next start, because the engine keeps its stream.
func (f *feedRecorder) run(ctx context.Context) {
	ctx, stop := f.session.Context(ctx)
	defer stop()
	last := ""
	for {
		delivered, err := f.stream.Poll(ctx, f.record)
		if err == nil {
			err = f.mark(ctx)
		}
		pause := streamPause
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			if text := err.Error(); text != last { // log an error once, not at each retry
				f.log.Error("changes are not recorded", "error", err)
				last = text
			}
			pause = errorPause
		case delivered > 0:
			last, pause = "", 0
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
	}
}

// record adds the changes in a batch to the feeds.
func (f *feedRecorder) record(ctx context.Context, shardID string, records []change.StreamRecord) error {
	if err := f.recorder.Record(ctx, shardID, records); err != nil {
		return err
	}
	f.last, f.unmarked = records[len(records)-1].SequenceNumber, f.unmarked+len(records)
	return nil
}

// streamMark is the item that localdb.StreamMark describes.
type streamMark struct {
	SequenceNumber string `store:"sequenceNumber"`
}

// mark tells the engine of a data folder which records of the stream it may drop. A second server
// with the same engine may not have read these records. It does not need them, because their
// changes are in the feeds.
func (f *feedRecorder) mark(ctx context.Context) error {
	if f.unmarked < markInterval || f.session.Data == "" {
		return nil
	}
	t := f.session.Table
	keys := table.Keys{Key: table.Key{PK: localdb.StreamMark, SK: "read"}}
	if err := t.Transact(ctx, t.WritePut(keys, streamMark{f.last})); err != nil {
		return fmt.Errorf("mark the stream: %w", err)
	}
	f.unmarked = 0
	return nil
}

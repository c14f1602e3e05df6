package serve

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/aws/smithy-go"

	"growthworkspace/functions/company"
	"growthworkspace/functions/recorder"
	"growthworkspace/scripts/workspace/tableconn"
	"growthworkspace/shared/change"
	"growthworkspace/shared/stream"
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
}

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
	if err := f.ensureFeeds(ctx); err != nil && ctx.Err() == nil {
		f.log.Error("not every company has a feed of changes: run workspace changes enable", "error", err)
	}
	last := ""
	for {
		delivered, err := f.stream.Poll(ctx, f.recorder.Record)
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

// ensureFeeds creates the feeds of companies that an earlier version created.
func (f *feedRecorder) ensureFeeds(ctx context.Context) error {
	ids, _, err := company.NewStore(f.session.Table).IDs(ctx)
	for _, id := range ids {
		_, err1 := change.EnsureCounter(ctx, f.session.Table, id)
		err = errors.Join(err, err1)
	}
	return err
}

package faults

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"growthworkspace/shared/change"
	apiclient "growthworkspace/shared/client"
	"growthworkspace/shared/stream"
	"growthworkspace/shared/table"
)

// recorderCount is the number of server processes that record the same changes concurrently.
const recorderCount = 2

// lastChangeTimeout is how long it may take until the followers have read the change made by the
// last write. It allows for a very busy machine.
const lastChangeTimeout = 10 * time.Minute

// checkFeed kills servers while clients create, change and delete items, and while followers read
// the feed. Each of the servers also records changes. At the end, the feed must contain each write
// in the stream exactly once. The changes of each item must be in the order of the stream, and each
// follower must have read the same changes.
func checkFeed(ctx context.Context, t *checkRun, kills int) (err error) {
	t.recordsChanges = true
	if err := t.table.EnableStream(ctx); err != nil {
		return err
	}
	reader, err := t.companyWithBoard(ctx, t.serve(t.transport)) // a server that is not killed, for the followers
	if err != nil {
		return err
	}
	if err := t.table.Transact(ctx, change.WriteCounter(t.table, reader.id)); err != nil {
		return err
	}
	processes := make([]*server, recorderCount)
	for n := range processes {
		if processes[n], err = t.startServer(ctx); err != nil {
			return err
		}
	}
	followers := []*feedFollower{{limit: 200}, {limit: 20}}
	stopFollowing := startFollowers(ctx, reader, followers)
	w := newItemWriters()
	for n := range kills {
		stopWriting := w.start(ctx, reader.company, processes...)
		<-time.After(time.Duration(t.random.float() * float64(400*time.Millisecond)))
		index := n % recorderCount
		if err := processes[index].kill(); err != nil {
			return err
		}
		if processes[index], err = t.startServer(ctx); err != nil {
			return err
		}
		stopWriting()
	}
	last, err := w.create(ctx, newClient(processes[0].base, reader.company))
	if err != nil {
		return fmt.Errorf("the last write: %w", err)
	}
	err = stopFollowing(last)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		t.violate("after %s the feed lacks the last write; the servers say %q and %q", lastChangeTimeout, processes[0].log, processes[1].log)
		err = nil
	}
	if err != nil {
		return err
	}
	return t.compareFeed(ctx, reader.id, followers, w, kills)
}

// compareFeed compares what the followers have read with the stream.
func (cr *checkRun) compareFeed(ctx context.Context, companyID string, followers []*feedFollower, w *itemWriters, kills int) error {
	want := map[string][]string{} // the actions of each item, in the order of the stream
	total := 0
	partition := table.Partition(companyID, "plan")
	err := stream.New(tableOptions(cr.engine.Endpoint, cr.transport, callTimeout)).Drain(ctx, func(_ context.Context, _ string, records []change.StreamRecord) error {
		for _, r := range records {
			if id, ok := strings.CutPrefix(r.Key.SK, "item#"); ok && r.Key.PK == partition && !table.IsSameRevision(r.Old, r.New) {
				want[id] = append(want[id], string(change.Write{Old: r.Old, New: r.New}.Action()))
				total++
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for n, f := range followers {
		got, ids := map[string][]string{}, map[string]bool{}
		for _, c := range f.changes {
			cr.require(!ids[c.ID], "follower %d gets the change %s twice", n, c.ID)
			ids[c.ID] = true
			got[c.RecordID] = append(got[c.RecordID], string(c.Action))
		}
		for id := range want {
			switch {
			case len(got[id]) > len(want[id]):
				cr.violate("follower %d gets a change of %s twice: %v, in the stream %v", n, id, got[id], want[id])
			case !slices.Equal(got[id], want[id]):
				cr.violate("follower %d misses a change of %s, or gets it in another order: %v, in the stream %v", n, id, got[id], want[id])
			}
		}
		cr.require(len(got) <= len(want), "follower %d gets changes of %d items, and the stream has %d", n, len(got), len(want))
		cr.require(slices.EqualFunc(f.changes, followers[0].changes, func(a, b apiclient.Change) bool { return a.ID == b.ID }), "followers 0 and %d get the changes in different orders", n)
	}
	for id := range w.acknowledged {
		cr.require(len(want[id]) > 0, "the acknowledged create of %s is not in the stream", id)
	}
	cr.addFigure("%d kills of %d recorders", kills, recorderCount)
	cr.addFigure("%d changes of %d items", total, len(want))
	return nil
}

// feedFollower reads a feed and keeps what it has read.
type feedFollower struct {
	limit   int
	changes []apiclient.Change
	after   string
}

// startFollowers starts the followers. The returned stop function takes the id of the last item. It
// waits until every follower has read the creation of that item, and returns
// context.DeadlineExceeded if that takes longer than lastChangeTimeout.
func startFollowers(ctx context.Context, c *client, followers []*feedFollower) (stop func(lastID string) error) {
	ctx, cancel := context.WithCancel(ctx)
	last := make(chan string, len(followers))
	errs := make([]error, len(followers))
	var wait sync.WaitGroup
	for n, f := range followers {
		wait.Go(func() { errs[n] = f.follow(ctx, c, last) })
	}
	return func(lastID string) error {
		defer cancel()
		for range followers {
			last <- lastID
		}
		wait.Wait()
		return errors.Join(errs...)
	}
}

// follow reads the feed until it has read the creation of the item whose id arrives on the channel
// `last`.
func (f *feedFollower) follow(ctx context.Context, c *client, last <-chan string) error {
	api, err := apiclient.New(c.base, c.key, apiclient.WithHTTPClient(&http.Client{Transport: engineTransport(""), Timeout: time.Minute}))
	if err != nil {
		return err
	}
	lastID := ""
	for {
		if err := f.read(ctx, api); err != nil {
			return err
		}
		if lastID != "" && slices.ContainsFunc(f.changes, func(c apiclient.Change) bool { return c.RecordID == lastID }) {
			return nil
		}
		select {
		case lastID = <-last:
			last = nil // the other ids are for the other followers
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, lastChangeTimeout)
			defer cancel()
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// read reads to the end of the feed.
func (f *feedFollower) read(ctx context.Context, api *apiclient.Client) error {
	for more := true; more; {
		in := apiclient.ListChangesInput{Types: apiclient.Value("item"), Limit: apiclient.Value(f.limit)}
		if f.after != "" {
			in.After = apiclient.Value(f.after)
		}
		page, err := api.ListChanges(ctx, in)
		if err != nil {
			return fmt.Errorf("read the feed: %w", err)
		}
		f.changes = append(f.changes, page.Items...)
		f.after, more = page.After, page.HasMore
	}
	return nil
}

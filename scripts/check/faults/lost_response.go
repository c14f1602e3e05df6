package faults

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"sync/atomic"
	"time"

	"growthworkspace/shared/parallel"
)

const (
	lossClients        = 8   // concurrent clients, each with its own company
	lossShare          = 0.4 // the share of the table's responses to writes that the "loss-key" check loses; more than retries can hide
	lossesMax          = 2   // how many responses to each write the "loss" check loses; the third attempt succeeds
	requestAttemptsMax = 100 // the maximum number of times that a client sends a request
)

// lossyClients is a group of concurrent clients in a check that loses responses.
type lossyClients struct {
	*checkRun
	clients []*client
	lost    atomic.Int64
}

func newLossyClients(ctx context.Context, t *checkRun, lose func(call string, attempt int) bool) (*lossyClients, error) {
	c := &lossyClients{checkRun: t}
	base := t.serve(loseResponses(t.transport, &c.lost, lose))
	for range lossClients {
		client, err := t.companyWithBoard(ctx, base)
		if err != nil {
			return nil, err
		}
		c.clients = append(c.clients, client)
	}
	return c, nil
}

// forEachRequest calls the function do with every number from 0 to n-1. It gives the numbers to the
// clients in turn. The clients run concurrently.
func (c *lossyClients) forEachRequest(n int, do func(client *client, n int) error) error {
	return parallel.Do(lossClients, lossClients, func(clientIndex int) error {
		for i := clientIndex; i < n; i += lossClients {
			if err := do(c.clients[clientIndex], i); err != nil {
				return err
			}
		}
		return nil
	})
}

// countTitles counts how many times each title occurs among the records of a type, and adds the
// counts to `seen`.
func (c *lossyClients) countTitles(ctx context.Context, kind string, seen map[string]int) error {
	for _, client := range c.clients {
		records, err := export[struct{ Title string }](ctx, c.testbed, client.id, kind)
		if err != nil {
			return err
		}
		for _, r := range records {
			seen[r.Title]++
		}
	}
	return nil
}

// checkLostResponsesWithKey checks requests that create a record with an Idempotency-Key, while
// responses from the table are lost. The clients retry every failed request, and each request must
// create exactly one record. If omitKey is set, the clients retry without the key, which is the bug
// that a test injects.
func checkLostResponsesWithKey(ctx context.Context, t *checkRun, requests int, omitKey bool) error {
	c, err := newLossyClients(ctx, t, func(call string, _ int) bool { return isWrite(call) && t.random.chance(lossShare) })
	if err != nil {
		return err
	}
	var repeated, replayed atomic.Int64
	create := func(client *client, n int) error {
		title := fmt.Sprintf("Create %d", n)
		path, body := "plan/boards/brd_1/items", map[string]any{"title": title}
		if n/lossClients%2 == 1 {
			path, body = "broadcast/posts", map[string]any{"platform": "x", "title": title, "body": "Text"}
		}
		header := []string{"Idempotency-Key", title}
		for try := range requestAttemptsMax {
			out, err := client.call(ctx, http.MethodPost, path, body, header...)
			if err != nil {
				return fmt.Errorf("create: %w", err)
			}
			if try > 0 {
				repeated.Add(1)
			}
			if out.header.Get("Idempotent-Replayed") == "true" {
				replayed.Add(1)
			}
			switch {
			case out.status == http.StatusOK:
				return nil
			case out.status == http.StatusConflict && out.retryAfter() > 0: // an earlier attempt with the same key is still running
				<-time.After(out.retryAfter())
			case !out.failed():
				t.violate("create %d, try %d: %d %s", n, try+1, out.status, out.body)
				return nil
			}
			if omitKey {
				header = nil
			}
		}
		t.violate("create %d failed %d times", n, requestAttemptsMax)
		return nil
	}
	if err := c.forEachRequest(requests, create); err != nil {
		return err
	}
	seen := map[string]int{}
	for _, kind := range []string{"item", "post"} {
		if err := c.countTitles(ctx, kind, seen); err != nil {
			return err
		}
	}
	duplicates, missing := 0, 0
	for n := range requests {
		title := fmt.Sprintf("Create %d", n)
		t.require(seen[title] > 0, "%s was acknowledged and is not stored", title)
		t.require(seen[title] < 2, "%s is stored %d times", title, seen[title])
		if duplicates += max(0, seen[title]-1); seen[title] == 0 {
			missing++
		}
	}
	t.addFigure("%d creates with an Idempotency-Key, %d responses of the table lost, %d requests retried after a failure, %d replayed",
		requests, c.lost.Load(), repeated.Load(), replayed.Load())
	t.addFigure("%d duplicates, %d missing", duplicates, missing)
	return nil
}

// lifecycleRecords lists the kinds of record that the clients of checkLostResponses create, change
// and delete.
var lifecycleRecords = []struct {
	createPath, recordPath string
	body                   map[string]any
}{
	{"plan/boards/brd_1/items", "plan/items/", map[string]any{}},
	{"broadcast/posts", "broadcast/posts/", map[string]any{"platform": "x", "body": "Text"}},
}

const lifecycleSteps = 5

// checkLostResponses checks requests without an Idempotency-Key, while the first lossesMax
// responses to each write to the table are lost. Every client creates a record, changes it twice
// and deletes it. Each request must succeed and take effect exactly once.
func checkLostResponses(ctx context.Context, t *checkRun, requests int) error {
	c, err := newLossyClients(ctx, t, func(call string, attempt int) bool { return isWrite(call) && attempt <= lossesMax })
	if err != nil {
		return err
	}
	l := &lifecycleRun{lossyClients: c}
	if err := c.forEachRequest(requests/lifecycleSteps, func(client *client, n int) error { return l.runLifecycle(ctx, client, n) }); err != nil {
		return err
	}
	if err := l.publishVersions(ctx); err != nil {
		return err
	}
	duplicates := 0
	for _, kind := range []string{"item", "post"} {
		left := map[string]int{}
		if err := c.countTitles(ctx, kind, left); err != nil {
			return err
		}
		for _, n := range left {
			duplicates += n
		}
		t.require(len(left) == 0, "records of the type %s remain, although all were deleted: %v", kind, left)
	}
	t.addFigure("%d requests without a key, %d responses of the table lost, %d in a row for each write", l.requests.Load(), c.lost.Load(), lossesMax)
	t.addFigure("%d failed, %d duplicates", l.failed.Load(), duplicates)
	return nil
}

type lifecycleRun struct {
	*lossyClients
	requests, failed atomic.Int64
}

func (l *lifecycleRun) runLifecycle(ctx context.Context, c *client, n int) error {
	kind, title := lifecycleRecords[n/lossClients%len(lifecycleRecords)], fmt.Sprintf("Life %d", n)
	body := map[string]any{"title": title}
	maps.Copy(body, kind.body)
	var record struct{ ID string }
	if ok, err := l.mustSend(ctx, c, http.MethodPost, kind.createPath, body, &record); err != nil || !ok {
		return err
	}
	for change := range 2 {
		var changed struct{ Title string }
		want := fmt.Sprintf("%s, change %d", title, change)
		ok, err := l.mustSend(ctx, c, http.MethodPatch, kind.recordPath+record.ID, map[string]any{"title": want}, &changed)
		if err != nil || !ok {
			return err
		}
		l.require(changed.Title == want, "life %d: a change to %q returns %q", n, want, changed.Title)
	}
	var deleted struct{ Deleted bool }
	if ok, err := l.mustSend(ctx, c, http.MethodDelete, kind.recordPath+record.ID, nil, &deleted); err != nil || !ok {
		return err
	}
	l.require(deleted.Deleted, "life %d: a delete returns deleted false", n)
	l.requests.Add(1)
	out, err := c.call(ctx, http.MethodGet, kind.recordPath+record.ID, nil)
	l.require(err != nil || out.status == http.StatusNotFound, "life %d: a read of the deleted record returns %d", n, out.status)
	return err
}

// mustSend sends a request that must succeed, and reports whether it did.
func (l *lifecycleRun) mustSend(ctx context.Context, c *client, method, path string, body, into any) (ok bool, err error) {
	l.requests.Add(1)
	out, err := c.call(ctx, method, path, body)
	if err != nil {
		return false, fmt.Errorf("%s %s: %w", method, path, err)
	}
	if out.status != http.StatusOK {
		l.failed.Add(1)
		l.violate("%s %s: %d %s", method, path, out.status, out.body)
		return false, nil
	}
	return true, out.decode(into)
}

// publishVersions publishes a board ten times. The version must increase by exactly one each time.
func (l *lifecycleRun) publishVersions(ctx context.Context) error {
	const count = 10
	c := l.clients[0]
	var item struct{ ID string }
	ok, err := l.mustSend(ctx, c, http.MethodPost, "plan/boards/brd_1/items", map[string]any{"title": "Version 0", "status": "published"}, &item)
	if err != nil || !ok {
		return err
	}
	for want := 1; want <= count; want++ {
		change := map[string]any{"title": fmt.Sprintf("Version %d", want)}
		if ok, err := l.mustSend(ctx, c, http.MethodPatch, "plan/items/"+item.ID, change, &struct{}{}); err != nil || !ok {
			return err
		}
		var done struct{ PublishedVersion int }
		if ok, err := l.mustSend(ctx, c, http.MethodPost, publishPath, nil, &done); err != nil || !ok {
			return err
		}
		l.require(done.PublishedVersion == want, "publish %d created version %d", want, done.PublishedVersion)
	}
	_, err = l.mustSend(ctx, c, http.MethodDelete, "plan/items/"+item.ID, nil, &struct{}{})
	return err
}

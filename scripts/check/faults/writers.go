package faults

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
)

// itemWriters create, change and delete items while servers are killed.
type itemWriters struct {
	mu           sync.Mutex
	acknowledged map[string]bool // the items whose creation was acknowledged
	deleted      map[string]bool // the items for which a delete was sent, acknowledged or not
}

func newItemWriters() *itemWriters {
	return &itemWriters{acknowledged: map[string]bool{}, deleted: map[string]bool{}}
}

const itemPath = "plan/items/" // followed by the id

// create creates an item and returns its id.
func (w *itemWriters) create(ctx context.Context, c *client) (id string, err error) {
	out, err := c.call(ctx, http.MethodPost, itemsPath, map[string]any{"title": "Item"})
	if err != nil {
		return "", err
	}
	var item struct{ ID string }
	if out.status != http.StatusOK {
		return "", fmt.Errorf("status %d: %s", out.status, out.body)
	}
	if err := out.decode(&item); err != nil {
		return "", err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.acknowledged[item.ID] = true
	return item.ID, nil
}

func (w *itemWriters) remove(ctx context.Context, c *client, id string) error {
	w.mu.Lock()
	w.deleted[id] = true
	w.mu.Unlock()
	_, err := c.call(ctx, http.MethodDelete, itemPath+id, nil)
	return err
}

// writersPerServer is the number of clients that write through each server. Each creates at most
// itemsPerWriter items before the next kill. Otherwise, the feed would grow with the time that a
// busy machine takes to start a server.
const (
	writersPerServer = 4
	itemsPerWriter   = 20
)

// start starts clients for each server. A client stops when its server does not respond. The
// returned stop function stops all clients and waits for their last responses.
func (w *itemWriters) start(ctx context.Context, company company, processes ...*server) (stop func()) {
	var ended atomic.Bool
	var wait sync.WaitGroup
	for i := range writersPerServer * len(processes) {
		c := newClient(processes[i%len(processes)].base, company)
		wait.Go(func() {
			for n := 0; n < itemsPerWriter && !ended.Load(); n++ {
				id, err := w.create(ctx, c)
				if err == nil {
					_, err = c.call(ctx, http.MethodPatch, itemPath+id, map[string]any{"title": "Changed"})
				}
				if err == nil && n%4 == 0 {
					err = w.remove(ctx, c, id)
				}
				if err != nil {
					return
				}
			}
		})
	}
	return func() { ended.Store(true); wait.Wait() }
}

// verify requires that every acknowledged item is stored.
func (w *itemWriters) verify(ctx context.Context, t *checkRun, companyID string) error {
	records, err := export[item](ctx, t.testbed, companyID, "item")
	stored := map[string]bool{}
	for _, i := range records {
		stored[i.ID] = true
	}
	for id := range w.acknowledged {
		t.require(err != nil || stored[id] || w.deleted[id], "the acknowledged item %s is lost", id)
	}
	return err
}

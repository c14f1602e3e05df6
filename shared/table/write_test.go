package table_test

import (
	"errors"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"growthworkspace/shared/fault"
	"growthworkspace/shared/table"
)

// Ensure inserting a second record with the same key is rejected, and the first one stays.
func TestInsertTwice(t *testing.T) {
	t.Parallel()
	c, _ := newTestClient(t, nil)
	n := insert(t, c, newNote(c))
	other := n
	other.Text = ptr("other")
	if err := c.Insert(t.Context(), keysOf(other), other); !errors.Is(err, table.ErrExists) {
		t.Errorf("got %v", err)
	}
	requireStored(t, c, n)
}

// Ensure a retry after a lost response recognises its own write.
func TestInsertAfterALostResponse(t *testing.T) {
	t.Parallel()
	for lost := range 3 {
		p := responseLosingProxy("PutItem", lost)
		c, _ := newTestClient(t, p)
		n := insert(t, c, newNote(c))
		if p.count("PutItem") != lost+1 {
			t.Errorf("%d calls", p.count("PutItem"))
		}
		requireStored(t, c, n)
	}
	c, _ := newTestClient(t, responseLosingProxy("PutItem", 3)) // every attempt loses its response, so the caller gets an error
	n := newNote(c)
	if err := c.Insert(t.Context(), keysOf(n), n); err == nil || errors.Is(err, table.ErrExists) {
		t.Errorf("got %v", err)
	}
}

func requireStored(t *testing.T, c *table.Client, want note) {
	t.Helper()
	got, err := table.Get[note](t.Context(), c, noteKey(want.Company, want.ID))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("stored record (-want +got):\n%s", diff)
	}
}

// Ensure a record is removed once and returned in its last state, and a second removal returns
// fault.ErrNotFound.
func TestRemove(t *testing.T) {
	t.Parallel()
	c, _ := newTestClient(t, nil)
	n := insert(t, c, newNote(c))
	key := noteKey(n.Company, n.ID)
	calls := 0
	removed, err := table.Remove(t.Context(), c, key, func(note) error {
		if calls++; calls == 1 {
			_, err := modify(t, c, n, func(n *note) error { n.Count = 5; return nil })
			return err
		}
		return nil
	})
	if err != nil || calls != 2 || removed.Count != 5 {
		t.Errorf("%d, seen %d times: %v", removed.Count, calls, err)
	}
	if _, err := table.Remove(t.Context(), c, key, func(note) error { return nil }); !errors.Is(err, fault.ErrNotFound) {
		t.Errorf("a second time: %v", err)
	}

	n = insert(t, c, newNote(c)) // another delete wins the race
	key = noteKey(n.Company, n.ID)
	_, err = table.Remove(t.Context(), c, key, func(note) error { return c.BatchDelete(t.Context(), []table.Key{key}) })
	if !errors.Is(err, fault.ErrNotFound) {
		t.Errorf("a lost race: %v", err)
	}
}

// Ensure a delete whose response was lost succeeds, instead of reporting a missing record.
func TestRemoveAfterALostResponse(t *testing.T) {
	t.Parallel()
	p := responseLosingProxy("DeleteItem", 1)
	c, _ := newTestClient(t, p)
	n := insert(t, c, newNote(c))
	removed, err := table.Remove(t.Context(), c, noteKey(n.Company, n.ID), func(note) error { return nil })
	if err != nil || removed.ID != n.ID || p.count("DeleteItem") != 2 {
		t.Errorf("%v, %d calls", err, p.count("DeleteItem"))
	}
}

// Ensure exactly one of many concurrent deletes succeeds.
func TestRemoveConcurrently(t *testing.T) {
	t.Parallel()
	c, _ := newTestClient(t, nil)
	n := insert(t, c, newNote(c))
	errs := make([]error, 12)
	var wait sync.WaitGroup
	for i := range errs {
		wait.Go(func() {
			_, errs[i] = table.Remove(t.Context(), c, noteKey(n.Company, n.ID), func(note) error { return nil })
		})
	}
	wait.Wait()
	won := 0
	for _, err := range errs {
		switch {
		case err == nil:
			won++
		case !errors.Is(err, fault.ErrNotFound):
			t.Errorf("error %v, want none or %v", err, fault.ErrNotFound)
		}
	}
	if won != 1 {
		t.Errorf("%d won", won)
	}
}

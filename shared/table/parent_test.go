package table_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"testing"

	"growthworkspace/shared/fault"
	"growthworkspace/shared/table"
)

func childKey(n note, id string) table.Key {
	return table.Key{PK: table.Partition(n.Company, "notes"), SK: table.JoinKey("child", n.ID, id)}
}

func createChild(ctx context.Context, c *table.Client, n note, id string) error {
	k := childKey(n, id)
	return c.Transact(ctx, c.WriteChild(noteKey(n.Company, n.ID)), c.WriteCreate(table.Keys{Key: k}, note{ID: id}))
}

func listChildren(ctx context.Context, c *table.Client, n note) ([]note, error) {
	return table.ReadAll[note](ctx, c, table.Collection{
		Partition: table.Partition(n.Company, "notes"), Prefix: table.JoinKey("child", n.ID, ""), Consistent: true,
	})
}

var errHasChildren = errors.New("has children")

// removalWithoutChildren returns a ParentRemoval that removes a note only if it has no children.
func removalWithoutChildren(c *table.Client, n note) table.ParentRemoval[note] {
	return table.ParentRemoval[note]{
		Check: func(note) error { return nil },
		CheckNoChildren: func(ctx context.Context) error {
			found, err := listChildren(ctx, c, n)
			if err == nil && len(found) > 0 {
				err = errHasChildren
			}
			return err
		},
		RemoveChildren: func(context.Context) error { return nil },
	}
}

// removalWithChildren returns a ParentRemoval that removes a note together with its children.
func removalWithChildren(c *table.Client, n note) table.ParentRemoval[note] {
	r := removalWithoutChildren(c, n)
	r.CheckNoChildren = nil
	r.RemoveChildren = func(ctx context.Context) error {
		found, err := listChildren(ctx, c, n)
		if err != nil {
			return err
		}
		var keys []table.Key
		for _, child := range found {
			keys = append(keys, childKey(n, child.ID))
		}
		return c.BatchDelete(ctx, keys)
	}
	return r
}

func remove(t *testing.T, c *table.Client, n note, r table.ParentRemoval[note]) error {
	t.Helper()
	return table.RemoveParent(t.Context(), c, noteKey(n.Company, n.ID), r)
}

// countPartitionRecords returns how many records the partition of a note contains.
func countPartitionRecords(t *testing.T, c *table.Client, n note) int {
	t.Helper()
	all, err := table.ReadAll[struct {
		SK string `store:"sk"`
	}](t.Context(), c, table.Collection{Partition: table.Partition(n.Company, "notes"), Consistent: true})
	if err != nil {
		t.Fatal(err)
	}
	return len(all)
}

// Ensure a parent with children is removed only together with them, and nothing is left. It can be
// removed only once, and no child can be created under it afterwards.
func TestRemoveParent(t *testing.T) {
	t.Parallel()
	c, _ := newTestClient(t, nil)
	n := insert(t, c, newNote(c))
	if err := createChild(t.Context(), c, n, "a"); err != nil {
		t.Fatal(err)
	}
	if err := remove(t, c, n, removalWithoutChildren(c, n)); !errors.Is(err, errHasChildren) || countPartitionRecords(t, c, n) != 2 {
		t.Errorf("with a child: %v", err)
	}
	rejectingRemoval := removalWithChildren(c, n)
	rejectingRemoval.Check = func(got note) error { return fmt.Errorf("reject %s", got.ID) }
	if err := remove(t, c, n, rejectingRemoval); err == nil || err.Error() != "reject "+n.ID || countPartitionRecords(t, c, n) != 2 {
		t.Errorf("rejected: %v", err)
	}
	if err := remove(t, c, n, removalWithChildren(c, n)); err != nil || countPartitionRecords(t, c, n) != 0 {
		t.Errorf("%v, %d records are left", err, countPartitionRecords(t, c, n))
	}
	if err := remove(t, c, n, removalWithChildren(c, n)); !errors.Is(err, fault.ErrNotFound) {
		t.Errorf("again: %v", err)
	}
	var canceled *table.CanceledError
	if err := createChild(t.Context(), c, n, "b"); !errors.As(err, &canceled) || countPartitionRecords(t, c, n) != 0 {
		t.Errorf("a child of a removed parent: %v", err)
	}
}

// Ensure the transaction that removes a parent also makes the writes in ExtraWrites.
func TestRemoveParentWithExtraWrites(t *testing.T) {
	t.Parallel()
	c, _ := newTestClient(t, nil)
	n, other := insert(t, c, newNote(c)), insert(t, c, newNote(c))
	r := removalWithChildren(c, n)
	r.ExtraWrites = []table.Write{c.WriteDelete(noteKey(other.Company, other.ID), "attribute_exists(pk)", nil, nil)}
	if err := remove(t, c, n, r); err != nil || countPartitionRecords(t, c, other) != 0 {
		t.Errorf("%d records of the other are left, want none: %v", countPartitionRecords(t, c, other), err)
	}
}

// Ensure a removal without RemoveChildren makes only a read and a transaction, leaves no marker,
// and rejects a parent with children.
func TestRemoveParentWithoutChildren(t *testing.T) {
	t.Parallel()
	p := &faultProxy{}
	c, _ := newTestClient(t, p)
	n, other := insert(t, c, newNote(c)), insert(t, c, newNote(c))
	r := removalWithoutChildren(c, n)
	r.RemoveChildren, r.ExtraWrites = nil, []table.Write{c.WriteDelete(noteKey(other.Company, other.ID), "", nil, nil)}
	if err := createChild(t.Context(), c, n, "a"); err != nil {
		t.Fatal(err)
	}
	if err := remove(t, c, n, r); !errors.Is(err, errHasChildren) || countPartitionRecords(t, c, n) != 2 {
		t.Errorf("with a child: %v", err)
	}
	if err := c.BatchDelete(t.Context(), []table.Key{childKey(n, "a")}); err != nil {
		t.Fatal(err)
	}
	before := p.count("")
	err := remove(t, c, n, r)
	calls := p.count("") - before
	if err != nil || calls != 3 { // the third call checks for children
		t.Errorf("%d calls, want 3: %v", calls, err)
	}
	if mine, theirs := countPartitionRecords(t, c, n), countPartitionRecords(t, c, other); mine != 0 || theirs != 0 {
		t.Errorf("%d and %d records are left, want none", mine, theirs)
	}
	if err := remove(t, c, n, r); !errors.Is(err, fault.ErrNotFound) {
		t.Errorf("again: %v", err)
	}
}

// Ensure that a removal that is interrupted at any of its calls leaves the parent either removed or
// intact, and that the next removal completes it.
func TestRemovalCrashes(t *testing.T) {
	t.Parallel()
	for callsAllowed := 1; ; callsAllowed++ {
		p := &faultProxy{}
		c, _ := newTestClient(t, p)
		n := insert(t, c, newNote(c))
		for _, id := range []string{"a", "b"} {
			if err := createChild(t.Context(), c, n, id); err != nil {
				t.Fatal(err)
			}
		}
		before := p.count("")
		ctx, stop := context.WithCancel(t.Context())
		p.respond = func(_ string, pass func() (*http.Response, error), _ *http.Request) (*http.Response, error) {
			if p.count("") > before+callsAllowed {
				stop()
				return nil, context.Canceled
			}
			return pass()
		}
		removalErr := table.RemoveParent(ctx, c, noteKey(n.Company, n.ID), removalWithChildren(c, n))
		stop()
		p.respond = nil
		if _, err := table.Get[note](t.Context(), c, noteKey(n.Company, n.ID)); err != nil && !errors.Is(err, fault.ErrNotFound) {
			t.Fatalf("error %v, want none or %v", err, fault.ErrNotFound)
		}
		retryErr := remove(t, c, n, removalWithChildren(c, n))
		if removalErr == nil {
			if !errors.Is(retryErr, fault.ErrNotFound) {
				t.Errorf("after a whole removal: %v", retryErr)
			}
			if callsAllowed < 4 {
				t.Errorf("a removal of %d calls", callsAllowed)
			}
			return
		}
		if retryErr != nil || countPartitionRecords(t, c, n) != 0 {
			t.Errorf("after %d calls: %v, %d records are left", callsAllowed, retryErr, countPartitionRecords(t, c, n))
		}
	}
}

// Ensure a removal and concurrent creations of children leave either the parent with all of its
// children, or nothing.
func TestRemovalRaces(t *testing.T) {
	t.Parallel()
	for _, withChildren := range []bool{false, true} {
		c, _ := newTestClient(t, nil)
		rounds := 30
		if testing.Short() {
			rounds = 5
		}
		for range rounds {
			n := insert(t, c, newNote(c))
			r := removalWithoutChildren(c, n)
			if withChildren {
				r = removalWithChildren(c, n)
			}
			var wait sync.WaitGroup
			var removeErr error
			var createErrs [3]error
			wait.Go(func() { removeErr = remove(t, c, n, r) })
			for i := range createErrs {
				wait.Go(func() { createErrs[i] = createChild(t.Context(), c, n, fmt.Sprint(i)) })
			}
			wait.Wait()
			left, want := countPartitionRecords(t, c, n), 0
			if removeErr != nil {
				want = 1
				for _, err := range createErrs {
					if err == nil {
						want++
					}
				}
			}
			if left != want || removeErr != nil && !errors.Is(removeErr, errHasChildren) {
				t.Fatalf("%d records are left, want %d: %v, %v", left, want, removeErr, createErrs)
			}
		}
	}
}

// Ensure exactly one of several concurrent removals succeeds, and the others return
// fault.ErrNotFound.
func TestConcurrentRemovals(t *testing.T) {
	t.Parallel()
	c, _ := newTestClient(t, nil)
	rounds := 20
	if testing.Short() {
		rounds = 5
	}
	for range rounds {
		n := insert(t, c, newNote(c))
		if err := createChild(t.Context(), c, n, "a"); err != nil {
			t.Fatal(err)
		}
		var wait sync.WaitGroup
		var errs [8]error
		for i := range errs {
			wait.Go(func() { errs[i] = remove(t, c, n, removalWithChildren(c, n)) })
		}
		wait.Wait()
		successes := 0
		for _, err := range errs {
			if err == nil {
				successes++
			} else if !errors.Is(err, fault.ErrNotFound) {
				t.Errorf("error %v, want none or %v", err, fault.ErrNotFound)
			}
		}
		if successes != 1 || countPartitionRecords(t, c, n) != 0 {
			t.Errorf("%d removals succeed, %d records are left", successes, countPartitionRecords(t, c, n))
		}
	}
}

// Ensure a removal detects a child that is created after it looked for children.
func TestChildDuringRemoval(t *testing.T) {
	t.Parallel()
	c, _ := newTestClient(t, nil)
	for _, earlier := range []int{0, 1} { // children that were created and deleted before
		n := insert(t, c, newNote(c))
		for range earlier {
			if err := errors.Join(createChild(t.Context(), c, n, "z"), c.BatchDelete(t.Context(), []table.Key{childKey(n, "z")})); err != nil {
				t.Fatal(err)
			}
		}
		r := removalWithoutChildren(c, n)
		checkNoChildren, checks := r.CheckNoChildren, 0
		r.CheckNoChildren = func(ctx context.Context) error {
			err := checkNoChildren(ctx)
			if checks++; checks == 1 {
				err = errors.Join(err, createChild(ctx, c, n, "a"))
			}
			return err
		}
		if err := remove(t, c, n, r); !errors.Is(err, errHasChildren) || checks != 2 || countPartitionRecords(t, c, n) != 2 {
			t.Errorf("%v after %d checks, %d records", err, checks, countPartitionRecords(t, c, n))
		}
	}
}

// Ensure a removal succeeds even if the response to its first or its last transaction is lost.
func TestRemovalWithLostResponse(t *testing.T) {
	t.Parallel()
	for first := range 2 {
		c, _ := newTestClient(t, responseLosingProxyFrom("TransactWriteItems", first+1, 1))
		n := insert(t, c, newNote(c))
		if err := remove(t, c, n, removalWithChildren(c, n)); err != nil || countPartitionRecords(t, c, n) != 0 {
			t.Errorf("%v, %d records are left", err, countPartitionRecords(t, c, n))
		}
	}
}

// Ensure creating a child does not make a concurrent update of the parent start again.
func TestChildKeepsRevision(t *testing.T) {
	t.Parallel()
	c, _ := newTestClient(t, nil)
	n := insert(t, c, newNote(c))
	calls := 0
	_, err := modify(t, c, n, func(n *note) error {
		n.Count++
		if calls++; calls > 1 {
			return nil
		}
		return createChild(t.Context(), c, *n, "a")
	})
	if err != nil || calls != 1 {
		t.Errorf("%v, %d attempts", err, calls)
	}
}

// Ensure CheckLimit returns an error at and above the limit, but not below it.
func TestCheckLimit(t *testing.T) {
	t.Parallel()
	c, _ := newTestClient(t, nil)
	n := insert(t, c, newNote(c))
	collection := table.Collection{Partition: table.Partition(n.Company, "notes"), Prefix: table.JoinKey("note", "")}
	for limit, want := range map[int]string{2: "", 1: "there are 1 notes already, which is the limit; delete one first"} {
		err := table.CheckLimit(t.Context(), c, collection, limit, "notes")
		if want == "" && err == nil {
			continue
		}
		if e := fault.PublicError(err); want == "" || e.Code != fault.Conflict || e.Messages[0] != want {
			t.Errorf("limit %d: error %v, want %q", limit, err, want)
		}
	}
}

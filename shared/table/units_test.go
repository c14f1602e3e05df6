package table_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"growthworkspace/shared/table"
)

// childUnit returns a unit that creates a child of the given parent. The child's text has the given
// size in bytes.
func childUnit(c *table.Client, parent note, id string, size int) table.Unit {
	child := note{ID: id, Text: new(strings.Repeat("x", size))}
	return table.Unit{Writes: []table.Write{c.WriteCreate(table.Keys{Key: childKey(parent, id)}, child)}, Parent: new(noteKey(parent.Company, parent.ID))}
}

// Ensure units whose condition fails are left out and reported, and all others are stored, in as
// few transactions as possible.
func TestStoreUnits(t *testing.T) {
	t.Parallel()
	p := &faultProxy{}
	c, _ := newTestClient(t, p)
	parent, other, missing := newNote(c), newNote(c), newNote(c)
	for _, n := range []note{parent, other} {
		if err := c.Insert(t.Context(), keysOf(n), n); err != nil {
			t.Fatal(err)
		}
	}
	if err := createChild(t.Context(), c, parent, "017"); err != nil {
		t.Fatal(err)
	}
	before := p.count("TransactWriteItems")
	var units []table.Unit
	for n := range 120 {
		units = append(units, childUnit(c, parent, fmt.Sprintf("%03d", n), 1))
	}
	units[50] = childUnit(c, missing, "050", 1)
	units[60] = childUnit(c, other, "060", 1)
	failures, err := c.StoreUnits(t.Context(), units)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]table.Failure{{UnitIndex: 17}, {UnitIndex: 50, Orphan: true}}, failures, cmpopts.IgnoreFields(table.Failure{}, "Stored")); diff != "" {
		t.Fatalf("failures (-want +got):\n%s", diff)
	}
	if failures[0].Stored == nil {
		t.Error("the failure of unit 17 lacks the stored record")
	}
	if n := p.count("TransactWriteItems") - before; n != 3 { // two transactions, and a repeat of the first
		t.Errorf("%d transactions", n)
	}
	for n, want := range map[*note]int{&parent: 118, &other: 1, &missing: 0} {
		if got, err := listChildren(t.Context(), c, *n); err != nil || len(got) != want {
			t.Errorf("%d children, %v, want %d", len(got), err, want)
		}
	}
	if failures, err := c.StoreUnits(t.Context(), nil); len(failures) > 0 || err != nil {
		t.Errorf("no units: failures %+v, want none: %v", failures, err)
	}
}

// Ensure a transaction contains at most a megabyte, and no key twice.
func TestStoreUnitsDivides(t *testing.T) {
	t.Parallel()
	p := &faultProxy{}
	c, _ := newTestClient(t, p)
	n := newNote(c)
	if err := c.Insert(t.Context(), keysOf(n), n); err != nil {
		t.Fatal(err)
	}
	var units []table.Unit
	for i := range 9 {
		units = append(units, childUnit(c, n, fmt.Sprint(i), 300_000)) // three of these units fit into one transaction
	}
	replacement := childUnit(c, n, "8", 1)
	replacement.Writes[0] = c.WritePut(table.Keys{Key: childKey(n, "8")}, note{ID: "8", Text: new("again")})
	failures, err := c.StoreUnits(t.Context(), append(units, replacement))
	if err != nil || len(failures) > 0 || p.count("TransactWriteItems") != 4 {
		t.Errorf("%+v, %v, %d transactions", failures, err, p.count("TransactWriteItems"))
	}
	got, err := listChildren(t.Context(), c, n)
	if last := got[len(got)-1]; err != nil || len(got) != 9 || *last.Text != "again" {
		t.Errorf("%d children, the last one has %d bytes, %v", len(got), len(*last.Text), err)
	}
}

// Ensure a removal does not remove the parent if units were stored after the removal looked for
// children. Units whose parent is removed must be reported as orphans.
func TestStoreUnitsAndARemoval(t *testing.T) {
	t.Parallel()
	c, _ := newTestClient(t, nil)
	n := newNote(c)
	if err := c.Insert(t.Context(), keysOf(n), n); err != nil {
		t.Fatal(err)
	}
	r := removalWithoutChildren(c, n)
	checkNoChildren := r.CheckNoChildren
	stored := false
	r.CheckNoChildren = func(ctx context.Context) error {
		err := checkNoChildren(ctx)
		if !stored {
			stored = true
			if failures, err := c.StoreUnits(ctx, []table.Unit{childUnit(c, n, "1", 1)}); len(failures) > 0 || err != nil {
				t.Errorf("failures %+v, want none: %v", failures, err)
			}
		}
		return err
	}
	if err := table.RemoveParent(t.Context(), c, noteKey(n.Company, n.ID), r); !errors.Is(err, errHasChildren) {
		t.Errorf("error %v, want %v", err, errHasChildren)
	}
	if err := table.RemoveParent(t.Context(), c, noteKey(n.Company, n.ID), removalWithChildren(c, n)); err != nil {
		t.Fatal(err)
	}
	if failures, err := c.StoreUnits(t.Context(), []table.Unit{childUnit(c, n, "2", 1)}); len(failures) != 1 || !failures[0].Orphan || err != nil {
		t.Errorf("failures %+v, want an orphan: %v", failures, err)
	}
}

// Ensure StoreUnits stops at an error of the table, and still returns the failures before it.
func TestStoreUnitsEndsWithAnError(t *testing.T) {
	t.Parallel()
	calls := 0
	p := &faultProxy{respond: func(call string, pass func() (*http.Response, error), r *http.Request) (*http.Response, error) {
		if call == "TransactWriteItems" {
			if calls++; calls > 2 {
				return callRejectingProxy("", "ResourceNotFoundException", 400, 1).respond(call, pass, r)
			}
		}
		return pass()
	}}
	c, _ := newTestClient(t, p)
	n := newNote(c)
	if err := c.Insert(t.Context(), keysOf(n), n); err != nil {
		t.Fatal(err)
	}
	var units []table.Unit
	for i := range 150 {
		units = append(units, childUnit(c, n, fmt.Sprintf("%03d", i), 1))
	}
	units[3] = childUnit(c, newNote(c), "orphan", 1)
	failures, err := c.StoreUnits(t.Context(), units)
	if err == nil || !slices.EqualFunc(failures, []int{3}, func(f table.Failure, want int) bool { return f.UnitIndex == want }) {
		t.Errorf("failures %+v, want unit 3 and an error: %v", failures, err)
	}
}

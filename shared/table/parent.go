package table

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"growthworkspace/shared/fault"
)

// A parent is a record that others belong to: a board has items and snapshots, a site has goals, an
// audit has findings. They can be more than one transaction deletes, so the parent goes first. From
// then on nobody finds it or creates anything under it, and a marker tells which deletion has to be
// finished.

// childrenAttr is how many children were created under a parent. It only grows, so two deletions of
// children and one creation cannot look like no change.
const childrenAttr = "children"

// removedKind is the first part of the sort key of a marker. The key of the parent follows.
const removedKind = "removed"

// WriteChild counts a child on its parent's record. It belongs into the transaction that creates
// the child. Its condition is that the parent exists. The revision of the parent stays, so the
// creation disturbs no update of it.
func (c *Client) WriteChild(parent Key) Write { return c.WriteChildren(parent, 1) }

// WriteChildren is WriteChild for n children that one transaction creates, or replaces: a child
// that was there is counted again, which does no harm, because only a change of the count has a
// meaning.
func (c *Client) WriteChildren(parent Key, n int) Write {
	return c.WriteUpdate(parent, "ADD #children :n", "attribute_exists(pk)",
		map[string]string{"#children": childrenAttr}, Item{":n": Number(int64(n))})
}

// Removal says how a parent is removed. T is its record.
type Removal[T any] struct {
	// Check may reject the removal of the record with an error, under the same condition as in
	// Modify.
	Check func(T) error
	// Childless returns an error if the parent has children that must be deleted first. It reads
	// with strong consistency. A child that is created after it is called makes the removal start
	// again. nil: children go along.
	Childless func(ctx context.Context) error
	// Also are more writes of the transaction that removes the parent.
	Also []Write
	// Sweep deletes what belongs to the parent. It is called once the parent is gone, perhaps more
	// than once. nil: the record and Also are all there is.
	Sweep func(ctx context.Context) error
}

// RemoveParent deletes a record and all that belongs to it. First one transaction replaces the
// record by a marker, so it is gone for every reader at once. Then Sweep runs, and last the marker
// goes. A call for a record that is gone finishes a removal that ended early, and succeeds. Of
// several calls at the same time exactly one succeeds: the one that deletes the marker, which need
// not be the one that stored it. Returns fault.ErrNotFound to the others and if there is neither
// record nor marker, and ErrContended after very many lost races. Without a Sweep one transaction
// does it all, and there is no marker.
func RemoveParent[T any](ctx context.Context, c *Client, key Key, r Removal[T]) error {
	if r.Sweep == nil {
		return bury(ctx, c, key, r)
	}
	marker := Key{key.PK, Join(removedKind, key.SK)}
	r.Also = append(slices.Clone(r.Also), c.WriteAny(Keys{Key: marker}, struct{}{}))
	if err := bury(ctx, c, key, r); errors.Is(err, fault.ErrNotFound) {
		if _, err := c.get(ctx, marker); err != nil {
			return err
		}
	} else if err != nil {
		return err
	}
	if err := r.Sweep(ctx); err != nil {
		return fmt.Errorf("finish a removal: %w", err)
	}
	err := c.Transact(ctx, c.WriteDelete(marker, "attribute_exists(pk)", nil, nil)) // a transaction: a retry recognises its own delete
	var canceled *CanceledError
	if errors.As(err, &canceled) {
		return fault.ErrNotFound
	}
	return err
}

// bury deletes the record and makes the writes of r.Also.
func bury[T any](ctx context.Context, c *Client, key Key, r Removal[T]) error {
	return RemoveWith(ctx, c, key, func(record T) ([]Write, error) {
		if err := r.Check(record); err != nil || r.Childless == nil {
			return r.Also, err
		}
		return r.Also, r.Childless(ctx)
	})
}

// RemoveWith deletes one record and makes other writes in the same transaction, by compare-and-set.
// others returns these writes for the record, or an error that rejects the deletion under the same
// condition as in Modify. It is called again when the record has changed, when a child was created
// under it, or when the condition of one of its writes failed. Returns fault.ErrNotFound if there
// is no record, and ErrContended after very many lost races.
func RemoveWith[T any](ctx context.Context, c *Client, key Key, others func(T) ([]Write, error)) error {
	for range contendedMax {
		stored, err := c.get(ctx, key)
		if err != nil {
			return err
		}
		var record T
		if err := Decode(stored, &record); err != nil {
			return err
		}
		also, err := others(record)
		if err != nil {
			return err
		}
		e := newExpression()
		condition := *e.unchanged(stored) + " AND " + e.sameChildren(stored)
		err = c.Transact(ctx, append([]Write{c.WriteDelete(key, condition, e.names, e.values)}, also...)...)
		var canceled *CanceledError
		if !errors.As(err, &canceled) {
			return err
		}
	}
	return ErrContended
}

// sameChildren returns the condition that no child was created since stored was read.
func (e *expression) sameChildren(stored Item) string {
	e.names["#children"] = childrenAttr
	count := stored[childrenAttr]
	if count == nil {
		return "attribute_not_exists(#children)"
	}
	e.values[":children"] = count
	return "#children = :children"
}

// Room returns an error for a create in a bounded collection that has limit records or more:
// conflict, which names the limit and what the records are, in the plural. It reads the collection,
// in parallel with the check of the caller's key. Creates at the same moment can together exceed
// the limit by a few.
func Room(ctx context.Context, c *Client, of Collection, limit int, what string) error {
	full := fault.New(fault.Conflict, "there are %d %s already, which is the limit; delete one first", limit, what)
	n := 0
	err := Each(ctx, c, of, func(struct {
		SK string `store:"sk"`
	}) error {
		if n++; n >= limit {
			return full
		}
		return nil
	})
	return err
}

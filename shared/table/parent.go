package table

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"growthworkspace/shared/fault"
)

// A parent is a record that others belong to: a board has items and snapshots, a site has goals, an
// audit has findings. A parent can have more children than one transaction can delete, so the
// parent is deleted first. After that it can no longer be found, and nothing can be created under
// it. A marker records that the deletion must be finished.

// childCountAttr counts the children that were ever created under a parent. The count never
// decreases, so a creation is visible even if children were deleted too.
const childCountAttr = "children"

// removedParentKind is the first part of the sort key of a marker. The parent's sort key follows.
const removedParentKind = "removed"

// WriteChild returns a write that increments the child count in a parent's record. The write
// belongs in the transaction that creates the child. It fails if the parent does not exist. It does
// not change the revision of the parent, so it does not interfere with updates of the parent.
func (c *Client) WriteChild(parent Key) Write { return c.WriteChildren(parent, 1) }

// WriteChildren is WriteChild for n children that one transaction creates or replaces. A replaced
// child is counted again, which is harmless, because it matters only whether the count has changed.
func (c *Client) WriteChildren(parent Key, n int) Write {
	return c.WriteUpdate(parent, "ADD #children :n", "attribute_exists(pk)",
		map[string]string{"#children": childCountAttr}, Item{":n": Number(int64(n))})
}

// ParentRemoval describes how a parent is removed. T is the type of its record.
type ParentRemoval[T any] struct {
	// Check may reject the removal with an error. As in Modify, it is called again if the record
	// has changed since it was read.
	Check func(T) error
	// CheckNoChildren returns an error if the parent has children that must be deleted first. It
	// reads with strong consistency. If a child is created after the call, the removal starts
	// again. If CheckNoChildren is nil, the children are deleted with the parent.
	CheckNoChildren func(ctx context.Context) error
	// ExtraWrites contains further writes for the transaction that removes the parent.
	ExtraWrites []Write
	// RemoveChildren deletes what belongs to the parent. It is called after the parent is gone,
	// perhaps more than once. If RemoveChildren is nil, there is nothing to delete except the
	// record and what ExtraWrites delete.
	RemoveChildren func(ctx context.Context) error
}

// RemoveParent deletes a record and everything that belongs to it. First, one transaction replaces
// the record with a marker, so the record is gone for every reader at once. Then RemoveChildren
// runs, and finally the marker is deleted. If the record is gone but its marker is left, a call
// finishes the interrupted removal and succeeds. Exactly one of several concurrent calls succeeds:
// the one that deletes the marker, which need not be the one that stored it. The others return
// fault.ErrNotFound, as does a call that finds neither record nor marker. RemoveParent returns
// ErrTooMuchContention after losing very many races. If RemoveChildren is nil, one transaction does
// everything and stores no marker.
func RemoveParent[T any](ctx context.Context, c *Client, key Key, r ParentRemoval[T]) error {
	if r.RemoveChildren == nil {
		return removeParentRecord(ctx, c, key, r)
	}
	marker := Key{key.PK, JoinKey(removedParentKind, key.SK)}
	r.ExtraWrites = append(slices.Clone(r.ExtraWrites), c.WritePut(Keys{Key: marker}, struct{}{}))
	if err := removeParentRecord(ctx, c, key, r); errors.Is(err, fault.ErrNotFound) {
		if _, err := c.get(ctx, marker); err != nil {
			return err
		}
	} else if err != nil {
		return err
	}
	if err := r.RemoveChildren(ctx); err != nil {
		return fmt.Errorf("finish a removal: %w", err)
	}
	err := c.Transact(ctx, c.WriteDelete(marker, "attribute_exists(pk)", nil, nil)) // a transaction, so that DynamoDB recognises a retry after a lost response
	var canceled *CanceledError
	if errors.As(err, &canceled) {
		return fault.ErrNotFound
	}
	return err
}

// removeParentRecord deletes the record and applies r.ExtraWrites, in one transaction.
func removeParentRecord[T any](ctx context.Context, c *Client, key Key, r ParentRemoval[T]) error {
	return RemoveAndWrite(ctx, c, key, func(record T) ([]Write, error) {
		if err := r.Check(record); err != nil || r.CheckNoChildren == nil {
			return r.ExtraWrites, err
		}
		return r.ExtraWrites, r.CheckNoChildren(ctx)
	})
}

// RemoveAndWrite deletes one record by compare-and-set and makes other writes in the same
// transaction. The function writesFor returns these writes for the record, or an error that rejects
// the deletion. It is called again if the record has changed, if a child was created under it, or
// if the condition of one of the writes failed. RemoveAndWrite returns fault.ErrNotFound if the
// record does not exist, and ErrTooMuchContention after losing very many races.
func RemoveAndWrite[T any](ctx context.Context, c *Client, key Key, writesFor func(T) ([]Write, error)) error {
	return c.removeAndWrite(ctx, key, reflect.TypeFor[T](), func(record any) ([]Write, error) { return writesFor(*record.(*T)) })
}

func (c *Client) removeAndWrite(ctx context.Context, key Key, t reflect.Type, writesFor func(record any) ([]Write, error)) error {
	for range modifyAttemptsMax {
		stored, err := c.get(ctx, key)
		if err != nil {
			return err
		}
		record, err := decodeNew(stored, t)
		if err != nil {
			return err
		}
		otherWrites, err := writesFor(record)
		if err != nil {
			return err
		}
		e := newUpdateExpression()
		condition := *e.unchangedCondition(stored) + " AND " + e.sameChildrenCondition(stored)
		err = c.Transact(ctx, append([]Write{c.WriteDelete(key, condition, e.names, e.values)}, otherWrites...)...)
		var canceled *CanceledError
		if !errors.As(err, &canceled) {
			return err
		}
	}
	return ErrTooMuchContention
}

// sameChildrenCondition returns the condition that no child has been created since the item in
// stored was read.
func (e *updateExpression) sameChildrenCondition(stored Item) string {
	e.names["#children"] = childCountAttr
	count := stored[childCountAttr]
	if count == nil {
		return "attribute_not_exists(#children)"
	}
	e.values[":children"] = count
	return "#children = :children"
}

// CheckLimit returns an error if a bounded collection already has limit records or more. The error
// is a conflict that states the limit and the kind of records, as pluralNoun. CheckLimit reads the
// collection in parallel with the check of the caller's key. Concurrent creates can exceed the
// limit by a few records.
func CheckLimit(ctx context.Context, c *Client, collection Collection, limit int, pluralNoun string) error {
	errFull := fault.New(fault.Conflict, "there are %d %s already, which is the limit; delete one first", limit, pluralNoun)
	n := 0
	err := ForEach(ctx, c, collection, func(struct {
		SK string `store:"sk"`
	}) error {
		if n++; n >= limit {
			return errFull
		}
		return nil
	})
	return err
}

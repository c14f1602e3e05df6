package table

import (
	"context"
	"errors"
)

// Unit contains the writes for one of many records that are stored together. Either all of its
// writes are made or none.
type Unit struct {
	Writes []Write
	Parent *Key // the record that counts the new record as a child, as with WriteChild; nil: no parent
}

// Failure describes why a unit was not stored.
type Failure struct {
	UnitIndex  int  // index of the unit
	Orphan     bool // the parent of the unit does not exist
	WriteIndex int  // the index of the unit's first write whose condition failed; 0 for an orphan
	Stored     Item // the record under the key of that write; nil if there is none
}

// StoreUnits makes the writes of units, with as many units as fit in each transaction. If a
// condition of a unit fails, the transaction is repeated without that unit. Each transaction makes
// one write per parent to count its children. After an error, the writes of earlier transactions
// remain stored.
//
// A transaction costs two write units for each kilobyte of each write, which is twice as much as
// BatchPut, plus two for each parent.
func (c *Client) StoreUnits(ctx context.Context, units []Unit) (failures []Failure, err error) {
	for begin := 0; begin < len(units); {
		t := newUnitBatch()
		for t.add(begin+len(t.units), units) {
		}
		begin += len(t.units)
		failed, err := c.storeBatch(ctx, t)
		if failures = append(failures, failed...); err != nil {
			return failures, err
		}
	}
	return failures, nil
}

// unitBatch is a run of units that fits into one transaction.
type unitBatch struct {
	units      []Unit
	firstUnit  int          // the index of the first unit
	writeCount int          // number of writes, including those that count children
	bytes      int          // size of the records to put
	keys       map[Key]bool // keys already written; DynamoDB accepts only one write for each key
	parents    map[Key]bool
}

func newUnitBatch() *unitBatch {
	return &unitBatch{keys: map[Key]bool{}, parents: map[Key]bool{}}
}

// add adds units[n] if it fits, and reports whether it does. The first unit of a batch always fits.
func (b *unitBatch) add(n int, units []Unit) bool {
	if n >= len(units) {
		return false
	}
	u, writes, bytes := units[n], b.writeCount, b.bytes
	for _, w := range u.Writes {
		if w.Put != nil {
			bytes += itemBytes(w.Put.Item)
		}
		if b.keys[writtenKey(w)] {
			return false
		}
	}
	writes += len(u.Writes)
	if u.Parent != nil && !b.parents[*u.Parent] {
		writes++
	}
	if len(b.units) == 0 {
		b.firstUnit = n
	} else if writes > TransactionMax || bytes > batchBytesMax {
		return false
	}
	b.units, b.writeCount, b.bytes = append(b.units, u), writes, bytes
	for _, w := range u.Writes {
		b.keys[writtenKey(w)] = true
	}
	if u.Parent != nil {
		b.parents[*u.Parent] = true
	}
	return true
}

func writtenKey(w Write) Key {
	switch {
	case w.Put != nil:
		return KeyOf(w.Put.Item)
	case w.Update != nil:
		return KeyOf(w.Update.Key)
	case w.Delete != nil:
		return KeyOf(w.Delete.Key)
	}
	return KeyOf(w.ConditionCheck.Key)
}

// storeBatch makes one transaction, and repeats it without the units that fail.
func (c *Client) storeBatch(ctx context.Context, t *unitBatch) (failures []Failure, err error) {
	left := make([]int, len(t.units))
	for n := range left {
		left[n] = n
	}
	for len(left) > 0 {
		writes, starts, parents := t.writesOf(c, left)
		err := c.Transact(ctx, writes...)
		var canceled *CanceledError
		if !errors.As(err, &canceled) {
			return failures, err
		}
		missingParents := map[Key]bool{}
		for n, parent := range parents {
			_, missingParents[parent] = canceled.Failed(len(writes) - len(parents) + n)
		}
		var rest []int
		for n, at := range left {
			if f, failed := t.units[at].failure(canceled, starts[n], missingParents); failed {
				f.UnitIndex = t.firstUnit + at
				failures = append(failures, f)
			} else {
				rest = append(rest, at)
			}
		}
		left = rest
	}
	return failures, nil
}

// writesOf returns the writes of some of the units, the index of each unit's first write, and the
// parents. The writes that count the parents' children come last.
func (b *unitBatch) writesOf(c *Client, indexes []int) (writes []Write, starts []int, parents []Key) {
	children := map[Key]int{}
	for _, at := range indexes {
		starts = append(starts, len(writes))
		writes = append(writes, b.units[at].Writes...)
		if parent := b.units[at].Parent; parent != nil {
			if children[*parent]++; children[*parent] == 1 {
				parents = append(parents, *parent)
			}
		}
	}
	for _, parent := range parents {
		writes = append(writes, c.WriteChildren(parent, children[parent]))
	}
	return writes, starts, parents
}

// failure returns the reason a unit cannot be stored, if there is one. The parameter begin is the
// index of the unit's first write in the transaction.
func (u Unit) failure(canceled *CanceledError, begin int, missingParents map[Key]bool) (f Failure, failed bool) {
	if u.Parent != nil && missingParents[*u.Parent] {
		return Failure{Orphan: true}, true
	}
	for n := range u.Writes {
		if stored, failed := canceled.Failed(begin + n); failed {
			return Failure{WriteIndex: n, Stored: stored}, true
		}
	}
	return Failure{}, false
}

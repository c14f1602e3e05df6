package table

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"growthworkspace/shared/fault"
	"growthworkspace/shared/parallel"
)

// modifyAttemptsMax bounds how many times a compare-and-set starts again. After each lost race, it
// continues with the winner's record, so a race of n writers ends after n rounds. Usually the
// deadline of the request comes first.
const modifyAttemptsMax = 500

// NewItem returns the item of a new record: its fields, its keys, rev 1 and a new write token.
func (c *Client) NewItem(keys Keys, record any) Item {
	item := Encode(record)
	maps.Copy(item, keys.item())
	keys.addIndexKeysTo(item)
	item[revAttr] = Number(1)
	item[writeIDAttr] = String(c.newID(writeTokenPrefix))
	return item
}

func (k Keys) addIndexKeysTo(item Item) {
	for n, key := range [...]Key{k.GSI1, k.GSI2, k.GSI3, k.GSI4, k.GSI5} {
		if i := GSI1 + Index(n); key.PK != "" {
			item[i.PK()], item[i.SK()] = String(key.PK), String(key.SK)
		}
	}
}

// Insert creates a record. It is idempotent: a retry after a lost response finds its own write and
// succeeds. It returns ErrExists if another write has created a record with the same key.
func (c *Client) Insert(ctx context.Context, keys Keys, record any) error {
	return c.insert(ctx, c.NewItem(keys, record))
}

// insertConcurrency is how many records InsertMissing writes in parallel.
const insertConcurrency = 8

// InsertMissing creates the records whose keys are free, each in its own write, and returns how
// many keys were taken. It never replaces a record.
func (c *Client) InsertMissing(ctx context.Context, items []Item) (existing int, err error) {
	var found atomic.Int64
	err = parallel.Do(len(items), insertConcurrency, func(n int) error {
		err := c.insert(ctx, items[n])
		if errors.Is(err, ErrExists) {
			found.Add(1)
			return nil
		}
		return err
	})
	return int(found.Load()), err
}

func (c *Client) insert(ctx context.Context, item Item) error {
	err := c.PutItem(ctx, &dynamodb.PutItemInput{
		Item:                                item,
		ConditionExpression:                 aws.String("attribute_not_exists(pk)"),
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	})
	var failed *types.ConditionalCheckFailedException
	if errors.As(err, &failed) {
		if sameWrite(failed.Item, item[writeIDAttr]) || isRecentWrite(failed.Item, item[writeIDAttr]) {
			return nil
		}
		return ErrExists
	}
	return err
}

func sameWrite(stored Item, writeID types.AttributeValue) bool {
	return stored[writeIDAttr] != nil && reflect.DeepEqual(stored[writeIDAttr], writeID)
}

// Modify changes one record by compare-and-set. It reads the record, in parallel with the check of
// the caller's key. It calls change to edit the record, and writes the difference on the condition
// that no other write intervened. If one did, Modify starts again with the new record. So anything
// that the change function checks still holds when the record is written.
//
// updatedAt changes only when a value changes that is not silent, and never decreases (NowAfter).
// If no value changes, nothing is written. The changed record has exactly the index keys that
// keysOf returns. If change returns an error, Modify returns it unwrapped and writes nothing.
// Modify returns fault.ErrNotFound if the record does not exist, and ErrTooMuchContention after
// losing very many races.
func Modify[T any](ctx context.Context, c *Client, key Key, keysOf func(T) Keys, change func(*T) error) (T, error) {
	return ModifyWith(ctx, c, key, WithKeys(keysOf, change), nil)
}

// ModifyWith is Modify with a change function that also returns the keys of the changed record, and
// with a custom write. commit gets a pointer to the changed record, and the update that writes it.
// commit must make the update in a transaction, as the first write, and return the error of
// Transact. If commit is nil, the update is written alone.
func ModifyWith[T any](ctx context.Context, c *Client, key Key, change func(*T) (Keys, error), commit func(record any, update Write) error) (T, error) {
	return toRecord[T](c.modify(ctx, nil, modification{key, reflect.TypeFor[T](), func(record any) (Keys, error) { return change(record.(*T)) }, commit}))
}

// ModifyItem is Modify for a record that has already been read. It starts with the attributes in
// stored.
func ModifyItem[T any](ctx context.Context, c *Client, key Key, stored Item, keysOf func(T) Keys, change func(*T) error) (T, error) {
	withKeys := WithKeys(keysOf, change)
	return toRecord[T](c.modify(ctx, stored, modification{key, reflect.TypeFor[T](), func(record any) (Keys, error) { return withKeys(record.(*T)) }, nil}))
}

// modification is a change to a record. Its functions get a pointer to the record.
type modification struct {
	key        Key
	recordType reflect.Type
	change     func(record any) (Keys, error)
	commit     func(record any, update Write) error // nil: the update is written alone
}

// WithKeys returns a change function for ModifyWith.
func WithKeys[T any](keysOf func(T) Keys, change func(*T) error) func(*T) (Keys, error) {
	return func(record *T) (keys Keys, err error) {
		if err = change(record); err == nil {
			keys = keysOf(*record)
		}
		return keys, err
	}
}

// toRecord returns the record that a pointer points to, or the zero record for nil.
func toRecord[T any](pointer any, err error) (record T, _ error) {
	if p, ok := pointer.(*T); ok {
		record = *p
	}
	return record, err
}

// decodeNew decodes an item into a new value of the type record, and returns a pointer to it.
func decodeNew(item Item, record reflect.Type) (pointer any, err error) {
	pointer = reflect.New(record).Interface()
	return pointer, Decode(item, pointer)
}

// modify returns a pointer to the changed record, or nil with an error. It reads the record if
// stored is nil.
func (c *Client) modify(ctx context.Context, stored Item, m modification) (record any, err error) {
	if stored == nil {
		if stored, err = c.get(ctx, m.key); err != nil {
			return nil, err
		}
	}
	for range modifyAttemptsMax {
		before, err1 := decodeNew(stored, m.recordType)
		after, err2 := decodeNew(stored, m.recordType)
		if err := errors.Join(err1, err2); err != nil {
			return nil, err
		}
		keys, err := m.change(after)
		if err != nil {
			return nil, err
		}
		current, wanted := c.itemsToCompare(stored, before, after, keys)
		if wanted == nil {
			return before, nil
		}
		item, lost, err := c.update(ctx, m, stored, current, wanted)
		if err != nil {
			return nil, err
		}
		if !lost {
			return decodeNew(item, m.recordType)
		}
		stored = item
	}
	return nil, ErrTooMuchContention
}

// itemsToCompare returns the fields and index keys of a record before and after a change. The
// parameters before and after are pointers to the record. The index keys before the change are the
// stored ones. wanted is nil if no field has changed.
func (c *Client) itemsToCompare(stored Item, before, after any, keys Keys) (current, wanted Item) {
	current, wanted = Encode(before), Encode(after)
	if maps.EqualFunc(wanted, current, equalAttribute) {
		return current, nil
	}
	copyIndexKeysTo(current, stored)
	keys.addIndexKeysTo(wanted)
	p := recordTypeOf(reflect.TypeOf(after).Elem())
	_, isField := p.byName[updatedAtAttr]
	if last := stored[updatedAtAttr]; (isField || last != nil) && p.changesVisibly(current, wanted) {
		var previous *string
		if last, ok := last.(*types.AttributeValueMemberS); ok {
			previous = &last.Value
		}
		wanted[updatedAtAttr] = String(c.NowAfter(previous))
	}
	return current, wanted
}

func copyIndexKeysTo(to, from Item) {
	for _, i := range Indexes() {
		for _, name := range [...]string{i.PK(), i.SK()} {
			if key := from[name]; key != nil {
				to[name] = key
			}
		}
	}
}

// Reindex sets a stored record's index keys to those that keysOf returns, and removes all others.
// The parameter stored contains the record's attributes as they were last read. Apart from the
// index keys, Reindex changes only the revision, so that a concurrent update starts over. written
// is false if the keys were already correct or the record has been deleted.
func Reindex[T any](ctx context.Context, c *Client, stored Item, keysOf func(T) Keys) (written bool, err error) {
	key := KeyOf(stored)
	for range modifyAttemptsMax {
		var record T
		if err := Decode(stored, &record); err != nil {
			return false, err
		}
		current, wanted := Item{}, Item{}
		copyIndexKeysTo(current, stored)
		keysOf(record).addIndexKeysTo(wanted)
		if maps.EqualFunc(wanted, current, equalAttribute) {
			return false, nil
		}
		var lost bool
		stored, lost, err = c.update(ctx, modification{key: key}, stored, current, wanted)
		switch {
		case errors.Is(err, fault.ErrNotFound):
			return false, nil
		case err != nil || !lost:
			return err == nil, err
		}
	}
	return false, ErrTooMuchContention
}

// update writes the difference between `current` and `wanted` if the stored revision is still the
// one that was read. If another write came first, lost is true and item is the record after that
// write.
func (c *Client) update(ctx context.Context, m modification, stored, current, wanted Item) (item Item, lost bool, err error) {
	writeID := String(c.newID(writeTokenPrefix))
	e := newUpdateExpression()
	e.set(revAttr, "#rev + :one")
	e.names["#rev"], e.values[":one"] = revAttr, Number(1)
	e.setValue(writeIDAttr, writeID)
	if recent := c.nextRecentWrites(stored); len(recent) > 0 {
		e.setValue(recentWritesAttr, &types.AttributeValueMemberL{Value: recent})
	} else if stored[recentWritesAttr] != nil {
		e.remove(recentWritesAttr)
	}
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		if !equalAttribute(wanted[name], current[name]) {
			e.setValue(name, wanted[name])
		}
	}
	for _, name := range slices.Sorted(maps.Keys(current)) {
		if _, kept := wanted[name]; !kept {
			e.remove(name)
		}
	}
	condition := e.unchangedCondition(stored)
	if m.commit != nil {
		return m.transact(c.WriteUpdate(m.key, *e.expression(), *condition, e.names, e.values), itemAfterUpdate(stored, wanted, writeID))
	}
	out, err := c.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		Key: m.key.item(), UpdateExpression: e.expression(), ConditionExpression: condition,
		ExpressionAttributeNames: e.names, ExpressionAttributeValues: e.values, ReturnValues: types.ReturnValueAllNew,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	})
	var failed *types.ConditionalCheckFailedException
	switch {
	case errors.As(err, &failed) && len(failed.Item) == 0:
		return nil, false, fault.ErrNotFound
	case errors.As(err, &failed) && isRecentWrite(failed.Item, writeID): // this update succeeded, and others have written since
		return itemAfterUpdate(stored, wanted, writeID), false, nil
	case errors.As(err, &failed):
		return failed.Item, !sameWrite(failed.Item, writeID), nil
	case err != nil:
		return nil, false, err
	}
	return out.Attributes, false, nil
}

// transact is like Client.update, but m.commit makes the update in a transaction with other writes.
// The parameter wanted is the record after the update.
func (m modification) transact(update Write, wanted Item) (item Item, lost bool, err error) {
	record, err := decodeNew(wanted, m.recordType)
	if err != nil {
		return nil, false, err
	}
	err = m.commit(record, update)
	var canceled *CanceledError
	if !errors.As(err, &canceled) {
		return wanted, false, err
	}
	stored, lost := canceled.Failed(0)
	switch {
	case !lost: // the condition of another write failed
		return nil, false, err
	case len(stored) == 0:
		return nil, false, fault.ErrNotFound
	case sameWrite(stored, wanted[writeIDAttr]) || isRecentWrite(stored, wanted[writeIDAttr]): // the response was lost, and the engine did not recognise the retry
		return wanted, false, nil
	}
	return stored, true, nil
}

// itemAfterUpdate returns the record as an update left it.
func itemAfterUpdate(stored, wanted Item, writeID types.AttributeValue) Item {
	item := maps.Clone(wanted)
	item[writeIDAttr] = writeID
	if rev, ok := stored[revAttr].(*types.AttributeValueMemberN); ok {
		if n, err := strconv.ParseInt(rev.Value, 10, 64); err == nil {
			item[revAttr] = Number(n + 1)
		}
	}
	return item
}

// Remove deletes one record by compare-and-set and returns it. check may reject the deletion with
// an error. As in Modify, check is called again if another write intervened. Remove returns
// fault.ErrNotFound if the record does not exist.
func Remove[T any](ctx context.Context, c *Client, key Key, check func(T) error) (T, error) {
	return toRecord[T](c.remove(ctx, key, reflect.TypeFor[T](), func(record any) error { return check(*record.(*T)) }))
}

func (c *Client) remove(ctx context.Context, key Key, t reflect.Type, check func(record any) error) (record any, err error) {
	stored, err := c.get(ctx, key)
	if err != nil {
		return nil, err
	}
	for range modifyAttemptsMax {
		record, err := decodeNew(stored, t)
		if err != nil {
			return nil, err
		}
		if err := check(record); err != nil {
			return nil, err
		}
		e := newUpdateExpression()
		condition := e.unchangedCondition(stored)
		deleted, remaining, err := c.DeleteIf(ctx, key, *condition, e.names, e.values)
		switch {
		case err != nil || deleted:
			return record, err
		case remaining == nil:
			return nil, fault.ErrNotFound
		}
		stored = remaining
	}
	return nil, ErrTooMuchContention
}

// DeleteIf deletes a record if a condition holds. The condition must not hold for a missing record.
// If the condition fails, remaining is the stored record, or nil if there is none. DeleteIf is
// idempotent: a retry after a lost response finds no record and succeeds. condition is a DynamoDB
// expression; names and values define its placeholders.
func (c *Client) DeleteIf(ctx context.Context, key Key, condition string, names map[string]string, values Item) (deleted bool, remaining Item, err error) {
	attempts, err := c.deleteItem(ctx, &dynamodb.DeleteItemInput{
		Key: key.item(), ConditionExpression: &condition, ExpressionAttributeNames: names, ExpressionAttributeValues: values,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	})
	var failed *types.ConditionalCheckFailedException
	switch {
	case errors.As(err, &failed) && len(failed.Item) == 0:
		return attempts > 1, nil, nil
	case errors.As(err, &failed):
		return false, failed.Item, nil
	}
	return err == nil, nil, err
}

// updateExpression collects the parts of an update expression. Every name is a placeholder, so no
// field can collide with a reserved word.
type updateExpression struct {
	names         map[string]string
	values        Item
	sets, removes []string
}

func newUpdateExpression() *updateExpression {
	return &updateExpression{names: map[string]string{}, values: Item{}}
}

func (e *updateExpression) addName(attribute string) string {
	placeholder := "#n" + strconv.Itoa(len(e.names))
	e.names[placeholder] = attribute
	return placeholder
}

func (e *updateExpression) set(attribute, formula string) {
	e.sets = append(e.sets, e.addName(attribute)+" = "+formula)
}

func (e *updateExpression) setValue(attribute string, value types.AttributeValue) {
	placeholder := fmt.Sprintf(":v%d", len(e.values))
	e.values[placeholder] = value
	e.set(attribute, placeholder)
}

// unchangedCondition returns the condition that the record has not been written since the item in
// stored was read. It checks both rev and writeId: a record that was deleted and recreated, or
// replaced by an import, starts at the same rev, and an update in a transaction keeps the writeId.
func (e *updateExpression) unchangedCondition(stored Item) *string {
	condition := "#rev = :rev"
	e.names["#rev"], e.values[":rev"] = revAttr, stored[revAttr]
	if writeID := stored[writeIDAttr]; writeID != nil {
		condition += " AND #written = :written"
		e.names["#written"], e.values[":written"] = writeIDAttr, writeID
	}
	return &condition
}

func (e *updateExpression) remove(attribute string) {
	e.removes = append(e.removes, e.addName(attribute))
}

func (e *updateExpression) expression() *string {
	text := "SET " + strings.Join(e.sets, ", ")
	if len(e.removes) > 0 {
		text += " REMOVE " + strings.Join(e.removes, ", ")
	}
	return &text
}

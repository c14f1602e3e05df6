package table

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// TransactionMax is the maximum number of writes in one DynamoDB transaction.
const TransactionMax = 100

// Write is one write of a transaction. The constructors below create it.
type Write = types.TransactWriteItem

// CanceledError means that conditions of a transaction failed, so nothing was written. It
// identifies the writes whose conditions failed.
type CanceledError struct{ failed map[int]Item }

func (e *CanceledError) Error() string {
	return fmt.Sprintf("the conditions of %d writes failed", len(e.failed))
}

// Failed reports whether the condition of the n-th write failed. It returns the stored record under
// that write's key, or nil if there is none.
func (e *CanceledError) Failed(n int) (stored Item, failed bool) {
	stored, failed = e.failed[n]
	return stored, failed
}

// conflictRetriesMax bounds how many times a transaction that conflicts with another is retried.
// The pauses before the retries start at conflictDelay and double.
const (
	conflictRetriesMax = 8
	conflictDelay      = 10 * time.Millisecond
)

// Transact makes all writes or none. It returns a *CanceledError if a condition failed. DynamoDB
// recognises a retry after a lost response by the token that the SDK sends.
func (c *Client) Transact(ctx context.Context, writes ...Write) error {
	if err := c.waitForPermit(ctx); err != nil {
		return err
	}
	if len(writes) > TransactionMax {
		return fmt.Errorf("transact: %d writes, at most %d are allowed", len(writes), TransactionMax)
	}
	wr, prepared := c.writerOf(ctx), make([]Write, len(writes))
	for i, w := range writes {
		prepared[i] = wr.applyTo(w)
	}
	for attempt := 0; ; attempt++ {
		out, err := c.db.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{
			TransactItems: prepared, ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal,
		})
		var canceled *types.TransactionCanceledException
		switch {
		case err == nil:
			var units float64
			for _, consumed := range out.ConsumedCapacity {
				units += capacityUnits(&consumed)
			}
			addUnits(ctx, 0, units)
			return nil
		case !errors.As(err, &canceled):
			countFailed(ctx)
			return wrapCallError("transact", err)
		}
		countFailed(ctx)
		failed, retryable := map[int]Item{}, true
		for i, reason := range canceled.CancellationReasons {
			switch aws.ToString(reason.Code) {
			case "ConditionalCheckFailed":
				failed[i] = reason.Item
			case "", "None", "TransactionConflict", "ThrottlingError", "ProvisionedThroughputExceeded":
			default:
				retryable = false // the write itself is invalid, so a retry would fail, too
			}
		}
		if len(failed) > 0 {
			return &CanceledError{failed}
		}
		if !retryable {
			return wrapCallError("transact", err)
		}
		if attempt == conflictRetriesMax {
			return wrapUnavailable("transact", err)
		}
		if err := SleepJittered(ctx, conflictDelay<<min(attempt, 4)); err != nil {
			return err
		}
	}
}

// TransactGet reads the attributes of several records in one transaction, so no write takes effect
// between the reads. The results are in the order of the keys, with nil for a missing record. It
// costs twice the units of GetItem. It returns ErrTooMuchContention if a concurrent write of one of
// the records cancels the transaction.
func TransactGet(ctx context.Context, c *Client, keys ...Key) ([]Item, error) {
	in := &dynamodb.TransactGetItemsInput{ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal}
	for _, key := range keys {
		in.TransactItems = append(in.TransactItems, types.TransactGetItem{Get: &types.Get{TableName: &c.name, Key: key.item()}})
	}
	for attempt := 0; ; attempt++ {
		out, err := c.db.TransactGetItems(ctx, in)
		if err == nil {
			for _, consumed := range out.ConsumedCapacity { // one element, because there is one table
				countRead(ctx, &consumed)
			}
			items := make([]Item, len(keys))
			for n, response := range out.Responses {
				items[n] = response.Item
			}
			return items, nil
		}
		countFailed(ctx)
		var canceled *types.TransactionCanceledException
		if !errors.As(err, &canceled) {
			return nil, wrapCallError("get at once", err)
		}
		codes := map[string]bool{}
		for _, reason := range canceled.CancellationReasons {
			codes[aws.ToString(reason.Code)] = true
		}
		switch {
		case codes["TransactionConflict"]:
			return nil, ErrTooMuchContention
		case !codes["ThrottlingError"] && !codes["ProvisionedThroughputExceeded"]:
			return nil, wrapCallError("get at once", err)
		case attempt == conflictRetriesMax:
			return nil, wrapUnavailable("get at once", err)
		}
		if err := SleepJittered(ctx, conflictDelay<<min(attempt, 4)); err != nil {
			return nil, err
		}
	}
}

// SleepJittered waits before a contended call is retried, for a random time between 0.5 and 1.5
// times d. It returns the context's error if the context is done first.
func SleepJittered(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d/2 + rand.N(d)):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

const returnOld = types.ReturnValuesOnConditionCheckFailureAllOld

// WriteCreate creates a record. It fails if a record with the same key exists.
func (c *Client) WriteCreate(keys Keys, record any) Write {
	return Write{Put: &types.Put{
		TableName: &c.name, Item: c.NewItem(keys, record),
		ConditionExpression: aws.String("attribute_not_exists(pk)"), ReturnValuesOnConditionCheckFailure: returnOld,
	}}
}

// WritePut creates a record, or replaces the existing one with the same key.
func (c *Client) WritePut(keys Keys, record any) Write {
	return Write{Put: &types.Put{TableName: &c.name, Item: c.NewItem(keys, record)}}
}

// WritePutIf creates or replaces a record if a condition holds. condition is a DynamoDB expression;
// names and values define its placeholders.
func (c *Client) WritePutIf(keys Keys, record any, condition string, names map[string]string, values Item) Write {
	w := c.WriteCreate(keys, record)
	w.Put.ConditionExpression, w.Put.ExpressionAttributeNames, w.Put.ExpressionAttributeValues = &condition, names, values
	return w
}

// WritePutIfEqual replaces a record if its field still has the given value.
func (c *Client) WritePutIfEqual(keys Keys, record any, field string, value types.AttributeValue) Write {
	return Write{Put: &types.Put{
		TableName: &c.name, Item: c.NewItem(keys, record), ConditionExpression: aws.String("#f = :v"),
		ExpressionAttributeNames: map[string]string{"#f": field}, ExpressionAttributeValues: Item{":v": value},
		ReturnValuesOnConditionCheckFailure: returnOld,
	}}
}

// WriteCheckExists returns a Write that changes nothing, but fails if the record does not exist.
func (c *Client) WriteCheckExists(key Key) Write { return c.check(key, "attribute_exists(pk)") }

// WriteCheckAbsent returns a Write that changes nothing, but fails if the record exists.
func (c *Client) WriteCheckAbsent(key Key) Write { return c.check(key, "attribute_not_exists(pk)") }

func (c *Client) check(key Key, condition string) Write {
	return Write{ConditionCheck: &types.ConditionCheck{
		TableName: &c.name, Key: key.item(), ConditionExpression: &condition,
		ReturnValuesOnConditionCheckFailure: returnOld,
	}}
}

// WriteUpdate changes attributes of a record if a condition holds. update and condition are
// DynamoDB expressions; names and values define their placeholders. An empty condition always
// holds, and a missing record is then created.
func (c *Client) WriteUpdate(key Key, update, condition string, names map[string]string, values Item) Write {
	u := &types.Update{
		TableName: &c.name, Key: key.item(), UpdateExpression: &update,
		ExpressionAttributeNames: names, ExpressionAttributeValues: values, ReturnValuesOnConditionCheckFailure: returnOld,
	}
	if condition != "" {
		u.ConditionExpression = &condition
	}
	return Write{Update: u}
}

// WriteCheck requires that a condition holds for a record, without changing the record.
func (c *Client) WriteCheck(key Key, condition string, names map[string]string, values Item) Write {
	return Write{ConditionCheck: &types.ConditionCheck{
		TableName: &c.name, Key: key.item(), ConditionExpression: &condition,
		ExpressionAttributeNames: names, ExpressionAttributeValues: values, ReturnValuesOnConditionCheckFailure: returnOld,
	}}
}

// WriteDelete deletes a record if a condition holds. An empty condition always holds, even for a
// missing record.
func (c *Client) WriteDelete(key Key, condition string, names map[string]string, values Item) Write {
	d := &types.Delete{
		TableName: &c.name, Key: key.item(),
		ExpressionAttributeNames: names, ExpressionAttributeValues: values, ReturnValuesOnConditionCheckFailure: returnOld,
	}
	if condition != "" {
		d.ConditionExpression = &condition
	}
	return Write{Delete: d}
}

package table

import (
	"context"
	"slices"

	"growthworkspace/shared/parallel"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// BatchGetMax is the maximum number of records that DynamoDB returns in one call.
const BatchGetMax = 100

// batchGetConcurrency bounds how many calls BatchGet makes in parallel.
const batchGetConcurrency = 16

// BatchGet reads records by their keys, which must be distinct, with strong consistency. It makes
// one call per BatchGetMax keys, up to batchGetConcurrency of them in parallel, so it usually takes
// one round trip. It ignores keys without a record. The order of the result is undefined.
func BatchGet[T any](ctx context.Context, c *Client, keys []Key) ([]T, error) {
	items, err := BatchGetItems(ctx, c, keys)
	if err != nil {
		return nil, err
	}
	return decodeAll[T](items)
}

// BatchGetItems is like BatchGet but returns the records' attributes. It is for records of several
// types, and for records that the caller then changes with ModifyItem.
func BatchGetItems(ctx context.Context, c *Client, keys []Key) ([]Item, error) {
	return c.batchGetAll(ctx, keys, true)
}

// BatchGetItemsEventually is like BatchGetItems but reads with eventual consistency, which costs
// half as much. The result may not include the most recent writes.
func BatchGetItemsEventually(ctx context.Context, c *Client, keys []Key) ([]Item, error) {
	return c.batchGetAll(ctx, keys, false)
}

func (c *Client) batchGetAll(ctx context.Context, keys []Key, consistent bool) ([]Item, error) {
	parts := slices.Collect(slices.Chunk(keys, BatchGetMax))
	found := make([][]Item, len(parts))
	err := parallel.Do(len(parts), batchGetConcurrency, func(n int) (err error) {
		found[n], err = c.batchGet(ctx, parts[n], consistent)
		return err
	})
	if err != nil {
		return nil, err
	}
	return slices.Concat(found...), nil
}

// batchGet makes one call, and further calls for the keys that DynamoDB leaves unprocessed.
func (c *Client) batchGet(ctx context.Context, keys []Key, consistent bool) (items []Item, err error) {
	wanted := types.KeysAndAttributes{ConsistentRead: &consistent}
	for _, key := range keys {
		wanted.Keys = append(wanted.Keys, key.item())
	}
	for try := range batchAttemptsMax {
		out, err := c.db.BatchGetItem(ctx, &dynamodb.BatchGetItemInput{
			RequestItems:           map[string]types.KeysAndAttributes{c.name: wanted},
			ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal,
		})
		if err != nil {
			countFailed(ctx)
			return nil, wrapCallError("batch get", err)
		}
		var units float64
		for _, consumed := range out.ConsumedCapacity {
			units += capacityUnits(&consumed)
		}
		addUnits(ctx, units, 0)
		items = append(items, out.Responses[c.name]...)
		left, ok := out.UnprocessedKeys[c.name]
		if !ok || len(left.Keys) == 0 {
			return items, nil
		}
		wanted.Keys = left.Keys
		if err := SleepJittered(ctx, batchDelay<<min(try, 6)); err != nil {
			return nil, err
		}
	}
	return nil, wrapUnavailable("batch get", errThrottled)
}

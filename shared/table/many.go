package table

import (
	"context"
	"slices"

	"growthworkspace/shared/parallel"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// ManyMax is the maximum number of records that DynamoDB returns in one call.
const ManyMax = 100

// manyWidth bounds how many calls Many makes in parallel.
const manyWidth = 16

// Many reads records by their keys, which must be distinct, with strong consistency. It makes one
// call per ManyMax keys, all in parallel, so it takes one round trip. It ignores keys without a
// record. The order of the result is undefined.
func Many[T any](ctx context.Context, c *Client, keys []Key) ([]T, error) {
	items, err := ManyItems(ctx, c, keys)
	if err != nil {
		return nil, err
	}
	return decodeAll[T](items)
}

// ManyItems is like Many but returns attributes. It is for records of several types, and for
// records that are changed next (ModifyRead).
func ManyItems(ctx context.Context, c *Client, keys []Key) ([]Item, error) {
	parts := slices.Collect(slices.Chunk(keys, ManyMax))
	found := make([][]Item, len(parts))
	err := parallel.Do(len(parts), manyWidth, func(n int) (err error) {
		found[n], err = c.many(ctx, parts[n])
		return err
	})
	if err != nil {
		return nil, err
	}
	return slices.Concat(found...), nil
}

// many makes one call, and further calls for the keys that DynamoDB leaves unprocessed.
func (c *Client) many(ctx context.Context, keys []Key) (items []Item, err error) {
	wanted := types.KeysAndAttributes{ConsistentRead: new(true)}
	for _, key := range keys {
		wanted.Keys = append(wanted.Keys, key.item())
	}
	for try := range batchTries {
		out, err := c.db.BatchGetItem(ctx, &dynamodb.BatchGetItemInput{
			RequestItems:           map[string]types.KeysAndAttributes{c.name: wanted},
			ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal,
		})
		if err != nil {
			countFailed(ctx)
			return nil, failure("batch get", err)
		}
		var units float64
		for _, consumed := range out.ConsumedCapacity {
			units += capacity(&consumed)
		}
		count(ctx, units, 0)
		items = append(items, out.Responses[c.name]...)
		left, ok := out.UnprocessedKeys[c.name]
		if !ok || len(left.Keys) == 0 {
			return items, nil
		}
		wanted.Keys = left.Keys
		if err := Pause(ctx, batchPause<<min(try, 6)); err != nil {
			return nil, err
		}
	}
	return nil, unavailable("batch get", errThrottled)
}

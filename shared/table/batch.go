package table

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"growthworkspace/shared/auth"
	"growthworkspace/shared/meter"
)

// BatchMax is how many items one batch takes.
const BatchMax = 25

const batchBytesMax = 8 << 20 // of the 16 MB that a request may have, by our rough count

// batchTries bounds how often the rest of a batch that the table could not take at once is sent again.
const batchTries = 12

// Put writes items unconditionally, replacing what is under their keys: for imports, which say what a record is.
// Items of one call must have distinct keys. It sends at most BatchMax at a time, one batch after the other.
func (c *Client) Put(ctx context.Context, items []Item) error {
	if err := auth.Await(ctx); err != nil {
		return err
	}
	for len(items) > 0 {
		n, size := 0, 0
		for n < len(items) && n < BatchMax && (n == 0 || size < batchBytesMax) {
			size += itemBytes(items[n])
			n++
		}
		requests := make([]types.WriteRequest, n)
		for i := range requests {
			requests[i].PutRequest = &types.PutRequest{Item: items[i]}
		}
		if err := c.batch(ctx, requests); err != nil {
			return err
		}
		items = items[n:]
	}
	return nil
}

// Delete deletes what is under keys, where there is anything.
func (c *Client) Delete(ctx context.Context, keys []Key) error {
	if err := auth.Await(ctx); err != nil {
		return err
	}
	for len(keys) > 0 {
		n := min(len(keys), BatchMax)
		requests := make([]types.WriteRequest, n)
		for i := range requests {
			requests[i].DeleteRequest = &types.DeleteRequest{Key: keys[i].item()}
		}
		if err := c.batch(ctx, requests); err != nil {
			return err
		}
		keys = keys[n:]
	}
	return nil
}

func (c *Client) batch(ctx context.Context, requests []types.WriteRequest) error {
	for try := range batchTries {
		out, err := c.db.BatchWriteItem(ctx, &dynamodb.BatchWriteItemInput{
			RequestItems:           map[string][]types.WriteRequest{c.name: requests},
			ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal,
		})
		if err != nil {
			return fmt.Errorf("batch write: %w", err)
		}
		var units float64
		for _, consumed := range out.ConsumedCapacity {
			units += capacity(&consumed)
		}
		meter.From(ctx).Add(0, units)
		requests = out.UnprocessedItems[c.name]
		if len(requests) == 0 {
			return nil
		}
		pause := 25 * time.Millisecond << min(try, 6)
		select {
		case <-time.After(pause/2 + rand.N(pause)):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return errors.New("batch write: the table is throttling; try again later")
}

// itemBytes counts the texts and binaries of an item, which is where large ones are large.
func itemBytes(item Item) (n int) {
	for _, a := range item {
		switch a := a.(type) {
		case *types.AttributeValueMemberS:
			n += len(a.Value)
		case *types.AttributeValueMemberB:
			n += len(a.Value)
		case *types.AttributeValueMemberL:
			for _, e := range a.Value {
				if s, ok := e.(*types.AttributeValueMemberS); ok {
					n += len(s.Value)
				}
			}
		}
	}
	return n
}

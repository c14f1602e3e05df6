package table

import (
	"context"
	"encoding/base64"
	"errors"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// BatchMax is the maximum number of items that DynamoDB accepts in one batch.
const BatchMax = 25

// batchBytesMax bounds a batch of large items. DynamoDB accepts 16 MB of JSON, but a request must
// also be sent within the timeout of an attempt, which is one second.
const batchBytesMax = 1 << 20

// batchAttemptsMax bounds how many times a batch is sent while items remain unprocessed.
const batchAttemptsMax = 12

// batchDelay is the pause before the first retry. The pause doubles with every retry, up to 64
// times batchDelay.
const batchDelay = 25 * time.Millisecond

// BatchPut writes items unconditionally, replacing existing records with the same keys. It is for
// imports. The items of one call must have distinct keys. BatchPut sends batches of at most
// BatchMax items, one after another.
func (c *Client) BatchPut(ctx context.Context, items []Item) error {
	if err := c.waitForPermit(ctx); err != nil {
		return err
	}
	wr := c.writerOf(ctx)
	for len(items) > 0 {
		n, size := 0, 0
		for n < len(items) && n < BatchMax && (n == 0 || size < batchBytesMax) {
			size += itemBytes(items[n])
			n++
		}
		requests := make([]types.WriteRequest, n)
		for i := range requests {
			requests[i].PutRequest = &types.PutRequest{Item: wr.applyToItem(items[i])}
		}
		if err := c.batchWrite(ctx, requests); err != nil {
			return err
		}
		items = items[n:]
	}
	return nil
}

// BatchDelete deletes the records with the given keys. It ignores keys without a record.
func (c *Client) BatchDelete(ctx context.Context, keys []Key) error {
	if err := c.waitForPermit(ctx); err != nil {
		return err
	}
	for len(keys) > 0 {
		n := min(len(keys), BatchMax)
		requests := make([]types.WriteRequest, n)
		for i := range requests {
			requests[i].DeleteRequest = &types.DeleteRequest{Key: keys[i].item()}
		}
		if err := c.batchWrite(ctx, requests); err != nil {
			return err
		}
		keys = keys[n:]
	}
	return nil
}

// errThrottled means that DynamoDB left items unprocessed on every attempt.
var errThrottled = errors.New("DynamoDB throttles the table")

func (c *Client) batchWrite(ctx context.Context, requests []types.WriteRequest) error {
	for try := range batchAttemptsMax {
		// This loop retries throttled batches itself, so the SDK makes fewer attempts.
		out, err := c.db.BatchWriteItem(ctx, &dynamodb.BatchWriteItemInput{
			RequestItems:           map[string][]types.WriteRequest{c.name: requests},
			ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal,
		}, func(o *dynamodb.Options) { o.Retryer = retry.AddWithMaxAttempts(o.Retryer, attemptsMax) })
		switch {
		case throttleErrors.IsErrorThrottle(err) == aws.TrueTernary: // DynamoDB returns an error only if it throttled the whole batch
			countFailed(ctx)
		case err != nil:
			countFailed(ctx)
			return wrapCallError("batch write", err)
		default:
			var units float64
			for _, consumed := range out.ConsumedCapacity {
				units += capacityUnits(&consumed)
			}
			addUnits(ctx, 0, units)
			if requests = out.UnprocessedItems[c.name]; len(requests) == 0 {
				return nil
			}
		}
		pause := batchDelay << min(try, 6)
		if end, limited := ctx.Deadline(); limited && time.Until(end) < 2*pause+throttledCallMax {
			break // no time for another try: report the failure before the caller's deadline
		}
		if err := SleepJittered(ctx, pause); err != nil {
			return err
		}
	}
	return wrapUnavailable("batch write", errThrottled)
}

// itemBytes returns the size of an item in a JSON request.
func itemBytes(item Item) (n int) {
	for name, a := range item {
		n += jsonBytes(name) + attributeBytes(a)
	}
	return n
}

func attributeBytes(a types.AttributeValue) (n int) {
	const overhead = 10 // overhead of every value: its type and punctuation
	switch a := a.(type) {
	case *types.AttributeValueMemberS:
		n = jsonBytes(a.Value)
	case *types.AttributeValueMemberN:
		n = len(a.Value)
	case *types.AttributeValueMemberB:
		n = base64.StdEncoding.EncodedLen(len(a.Value))
	case *types.AttributeValueMemberM:
		n = itemBytes(a.Value)
	case *types.AttributeValueMemberL:
		for _, e := range a.Value {
			n += attributeBytes(e)
		}
	}
	return n + overhead
}

// jsonBytes returns an upper bound on the length of a string with its JSON escapes.
func jsonBytes(s string) (n int) {
	for i := range len(s) {
		switch c := s[i]; {
		case c < ' ':
			n += len(`\u0000`)
		case c == '"' || c == '\\':
			n += 2
		default:
			n++
		}
	}
	return n
}

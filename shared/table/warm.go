package table

import (
	"context"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"growthworkspace/shared/id"
)

// warmTimeout bounds Warm. If DynamoDB does not respond in this time, the first request reports the
// failure.
const warmTimeout = time.Second

// Warm opens the given number of connections, each by reading a record that does not exist, so that
// the first request needs no handshake and runs warmed-up code. A function calls it at startup,
// before the CPU is throttled. Errors are ignored, because startup must not fail if a request may
// succeed.
//
// It reads from a keys partition, because every function may read these partitions.
func (c *Client) Warm(ctx context.Context, connections int) {
	ctx, cancel := context.WithTimeout(ctx, warmTimeout)
	defer cancel()
	var wait sync.WaitGroup
	for range connections {
		wait.Go(func() {
			_, _ = c.db.GetItem(ctx, &dynamodb.GetItemInput{
				TableName: &c.name, Key: Key{PK: Partition(id.FromBytes(id.CompanyPrefix, [16]byte{}), KeysArea), SK: "warm"}.item(),
			}, func(o *dynamodb.Options) { o.RetryMaxAttempts = 1 })
		})
	}
	wait.Wait()
}

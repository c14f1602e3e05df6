package table

import (
	"context"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"growthworkspace/shared/id"
)

// warmTimeout bounds what Warm takes. A table that does not answer in this time is for the first request to report.
const warmTimeout = time.Second

// Warm opens so many connections, each with a read of a record that does not exist, so that the first request finds the
// handshakes made and the code of a call used once. For a function's start, where the CPU is not throttled yet. What
// fails is left to the first request: a start must not fail where a request may succeed.
//
// The record's partition has the form of that of a company's keys, which every function may read (design.md §4).
func (c *Client) Warm(ctx context.Context, connections int) {
	ctx, cancel := context.WithTimeout(ctx, warmTimeout)
	defer cancel()
	var wait sync.WaitGroup
	for range connections {
		wait.Go(func() {
			_, _ = c.db.GetItem(ctx, &dynamodb.GetItemInput{
				TableName: &c.name, Key: Key{PK: Partition(id.FromBytes(id.Company, [16]byte{}), KeysArea), SK: "warm"}.item(),
			}, func(o *dynamodb.Options) { o.RetryMaxAttempts = 1 })
		})
	}
	wait.Wait()
}

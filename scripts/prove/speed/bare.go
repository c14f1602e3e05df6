//go:build linux

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"growthworkspace/shared/engine"
	"growthworkspace/shared/table"
)

// bareItem is a point as an item of its own, the way a program without packing stores one.
func bareItem(l line) table.Item {
	key, _ := l.Record["metricKey"].(string)
	ts, _ := l.Record["ts"].(time.Time)
	value, _ := l.Record["value"].(float64)
	return table.Item{
		"pk": table.String("bare#metrics"), "sk": table.String("pt#" + key + "#day#" + ts.Format(time.DateOnly)), "metricKey": table.String(key), "grain": table.String("day"),
		"ts": table.String(ts.Format(time.RFC3339)), "value": table.Float(value), "source": table.String("import"),
	}
}

// bareItems are what the bare loop writes: what pack makes of each line, else what the import wrote, keys of the indexes
// included.
func (w workspace) bareItems(ctx context.Context, n int, make func(int) line, pack func(line) table.Item, partition string) (func(i int) table.Item, error) {
	if pack != nil {
		return func(i int) table.Item {
			if i >= n {
				return nil
			}
			return pack(make(i))
		}, nil
	}
	e, err := engine.Open(ctx, engine.Options{Data: w.data})
	if err != nil {
		return nil, err
	}
	var items []table.Item
	err = readPartition(ctx, dynamo(e), workspaceTable, partition, func(page []table.Item) error {
		items = append(items, page...)
		return nil
	})
	if err == nil && len(items) != n {
		err = fmt.Errorf("%d records are in the table, want %d", len(items), n)
	}
	return func(i int) table.Item {
		if i >= n {
			return nil
		}
		return items[i]
	}, errors.Join(err, e.Close())
}

// bare writes the items in batches and reads them again, over an engine of its own.
func (b *bench) bare(ctx context.Context, item func(int) table.Item) (wrote, read time.Duration, err error) {
	s, err := newStage(ctx, nil, true, b.log)
	if err != nil {
		return 0, 0, err
	}
	defer s.Close()
	begin := time.Now()
	partition, err := s.writeAll(ctx, item)
	if err != nil {
		return 0, 0, err
	}
	wrote = time.Since(begin)
	begin = time.Now()
	err = s.readAll(ctx, partition)
	return wrote, time.Since(begin), err
}

func (s *stage) writeAll(ctx context.Context, item func(int) table.Item) (partition string, err error) {
	const batchMost = 25
	batches := make(chan []types.WriteRequest)
	errs := make(chan error, lanes)
	var wait sync.WaitGroup
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for range lanes {
		wait.Go(func() {
			for batch := range batches {
				for len(batch) > 0 && ctx.Err() == nil {
					out, err := s.dynamo.BatchWriteItem(ctx, &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{tableName: batch}})
					if err != nil {
						cancel()
						errs <- err
						break
					}
					batch = out.UnprocessedItems[tableName]
				}
			}
		})
	}
	var batch []types.WriteRequest
	for i := 0; ; i++ {
		next := item(i)
		if next != nil {
			if pk, ok := next["pk"].(*types.AttributeValueMemberS); ok {
				partition = pk.Value
			}
			batch = append(batch, types.WriteRequest{PutRequest: &types.PutRequest{Item: next}})
		}
		if len(batch) == batchMost || next == nil && len(batch) > 0 {
			batches <- batch
			batch = nil
		}
		if next == nil || ctx.Err() != nil {
			break
		}
	}
	close(batches)
	wait.Wait()
	close(errs)
	for err := range errs {
		return "", fmt.Errorf("write a batch: %w", err)
	}
	return partition, ctx.Err()
}

// readAll reads the partition from its begin to its end, and spells what it reads.
func (s *stage) readAll(ctx context.Context, partition string) error {
	encoder := json.NewEncoder(io.Discard)
	return readPartition(ctx, s.dynamo, tableName, partition, func(page []table.Item) error { return encoder.Encode(page) })
}

func readPartition(ctx context.Context, db *dynamodb.Client, name, partition string, visit func([]table.Item) error) error {
	condition := "pk = :pk"
	in := &dynamodb.QueryInput{TableName: &name, KeyConditionExpression: &condition, ExpressionAttributeValues: table.Item{":pk": table.String(partition)}}
	for {
		out, err := db.Query(ctx, in)
		if err != nil {
			return fmt.Errorf("read a page: %w", err)
		}
		if err := visit(out.Items); err != nil {
			return fmt.Errorf("take a page: %w", err)
		}
		if len(out.LastEvaluatedKey) == 0 {
			return nil
		}
		in.ExclusiveStartKey = out.LastEvaluatedKey
	}
}

//go:build linux

package speed

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"growthworkspace/scripts/prove/testbed"
	"growthworkspace/shared/parallel"
	"growthworkspace/shared/table"
	"growthworkspace/shared/testkit/engine"
)

// The numbers of records to import with --scale 1.
const (
	importFeedbackCount = 100_000
	importPointCount    = 1_000_000
)

// measureTransfer compares the speed of `workspace import` and `workspace export` with that of bare
// loops of BatchWriteItem and Query. The commands and the loops use separate engines of the same
// kind.
func (b *bench) measureTransfer(ctx context.Context) ([]goal, error) {
	dir, err := os.MkdirTemp("", "speed-*")
	if err != nil {
		return nil, fmt.Errorf("create a folder for the imports: %w", err)
	}
	defer os.RemoveAll(dir)
	w, err := testbed.BuildWorkspace(ctx, dir)
	if err != nil {
		return nil, err
	}
	m := &transferRunner{Workspace: w, dir: dir, records: testbed.NewRecordGenerator()}
	var goals []goal
	for _, k := range []struct {
		area, kind   string
		n            int
		baselineItem func(n int) table.Item // returns the item that the bare loop writes for the n-th record; if nil, the loop writes what the import wrote
	}{{"feedback", "feedback", int(importFeedbackCount * b.Scale), nil}, {"metrics", "metric-point", int(importPointCount * b.Scale), m.baselinePoint}} {
		small, _, err := m.importRecords(ctx, k.kind, k.n/10)
		if err != nil {
			return nil, err
		}
		large, company, err := m.importRecords(ctx, k.kind, k.n)
		if err != nil {
			return nil, err
		}
		exported, err := m.run(ctx, "export", "--company", company, filepath.Join(dir, "out.jsonl"))
		if err != nil {
			return nil, err
		}
		partition := table.Partition(company, k.area)
		if k.baselineItem == nil {
			if k.baselineItem, err = m.importedItems(ctx, k.n, partition); err != nil {
				return nil, err
			}
		} else {
			partition = baselinePartition
		}
		writeTime, readTime, err := b.measureBaseline(ctx, filepath.Join(dir, k.area), partition, k.n, k.baselineItem)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(b.log, "%d %s: import %.1f s, bare %.1f s; export %.1f s, bare %.1f s; memory %.0f MiB, of a tenth %.0f MiB\n", k.n, k.area,
			large.took.Seconds(), writeTime.Seconds(), exported.took.Seconds(), readTime.Seconds(), large.residentMiB, small.residentMiB)
		goals = append(goals,
			goal{"time of an import of " + k.area + ", to a bare BatchWriteItem loop", large.took.Seconds() / writeTime.Seconds(), 1 / 0.8},
			goal{"time of an export of " + k.area + ", to a bare Query loop", exported.took.Seconds() / readTime.Seconds(), 1 / 0.8},
			goal{"memory of an import of " + k.area + ", to an import of a tenth", large.residentMiB / small.residentMiB, 1.5})
	}
	return goals, nil
}

// transferRunner imports and exports records with the workspace program.
type transferRunner struct {
	testbed.Workspace
	dir     string
	records testbed.RecordGenerator
}

// runUsage is the time and memory that one command used.
type runUsage struct {
	took        time.Duration
	residentMiB float64
}

// run runs a command and polls its memory. It does not use the maximum that the system reports when
// the command exits, because that includes the memory of this process, which forked the command.
func (m *transferRunner) run(ctx context.Context, args ...string) (r runUsage, err error) {
	begin := time.Now()
	var out bytes.Buffer
	cmd, err := m.Start(ctx, &out, args...)
	if err != nil {
		return r, fmt.Errorf("start the workspace command: %w", err)
	}
	ended, peak := make(chan struct{}), make(chan float64)
	go func() {
		most := 0.0
		for {
			if resident, err := testbed.PeakMemory(cmd.Process.Pid); err == nil { // on error, the process is still starting or has just exited
				most = float64(resident) / (1 << 20)
			}
			select {
			case <-time.After(50 * time.Millisecond):
			case <-ended:
				peak <- most
				return
			}
		}
	}()
	err = testbed.WaitCommand(cmd, &out, nil)
	r.took = time.Since(begin)
	close(ended)
	r.residentMiB = <-peak
	return r, err
}

// importRecords creates a company and imports n records of a type into it.
func (m *transferRunner) importRecords(ctx context.Context, kind string, n int) (r runUsage, companyID string, err error) {
	if companyID, err = m.CreateCompany(ctx); err != nil {
		return r, "", err
	}
	name := filepath.Join(m.dir, "in.jsonl")
	f, err := os.Create(name)
	if err != nil {
		return r, "", err
	}
	out := bufio.NewWriter(f)
	encoder := json.NewEncoder(out)
	for i := 0; i < n && err == nil; i++ {
		err = encoder.Encode(map[string]any{"type": kind, "record": m.records.Record(kind, i)})
	}
	if err := errors.Join(err, out.Flush(), f.Close()); err != nil {
		return r, "", err
	}
	r, err = m.run(ctx, "import", "--company", companyID, name)
	return r, companyID, err
}

// baselinePartition is the partition to which the bare loop writes metric points.
const baselinePartition = "bare#metrics"

// baselinePoint returns an item with only the n-th point. A program that does not pack several
// points into one item would store a point like this.
func (m *transferRunner) baselinePoint(n int) table.Item {
	item := table.Item{"pk": table.String(baselinePartition)}
	point := m.records.Record("metric-point", n)
	key := "pt"
	for _, name := range []string{"metricKey", "grain", "ts", "source"} {
		text, _ := point[name].(string)
		item[name] = table.String(text)
		key += "#" + text
	}
	value, _ := point["value"].(float64)
	item["sk"], item["value"] = table.String(fmt.Sprintf("%s#%v", key, point["dims"])), table.Float(value)
	return item
}

// importedItems returns the items of the records that an import wrote to a partition, with their
// index keys. It skips other items, such as references to imported reviews, because the bare loop
// does not write them.
func (m *transferRunner) importedItems(ctx context.Context, n int, partition string) (func(n int) table.Item, error) {
	e, err := engine.Open(ctx, engine.Options{Data: m.Data})
	if err != nil {
		return nil, err
	}
	var items []table.Item
	err = readPartition(ctx, dynamoClient(e), workspaceTable, partition, func(page []table.Item) error {
		for _, item := range page {
			if item["id"] != nil {
				items = append(items, item)
			}
		}
		return nil
	})
	if err == nil && len(items) != n {
		err = fmt.Errorf("the table has %d records, want %d", len(items), n)
	}
	return func(n int) table.Item { return items[n] }, errors.Join(err, e.Close())
}

// workspaceTable is the name of the workspace program's local table.
const workspaceTable = "workspace"

// measureBaseline writes n items in batches to a new engine and reads them back. It returns how
// long the writes and the reads took.
func (b *bench) measureBaseline(ctx context.Context, data, partition string, n int, item func(n int) table.Item) (writeTime, readTime time.Duration, err error) {
	bed, err := testbed.Open(ctx, testbed.Options{Data: data, Log: b.log})
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, bed.Close()) }()
	const batchMax, lanes = 25, 8 // the number of items in a batch and the number of concurrent batches, as in an import
	db := dynamoClient(bed.Engine)
	begin := time.Now()
	err = parallel.Do((n+batchMax-1)/batchMax, lanes, func(batch int) error {
		var writes []types.WriteRequest
		for i := batch * batchMax; i < min(n, (batch+1)*batchMax); i++ {
			writes = append(writes, types.WriteRequest{PutRequest: &types.PutRequest{Item: item(i)}})
		}
		for len(writes) > 0 {
			out, err := db.BatchWriteItem(ctx, &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{testbed.TableName: writes}})
			if err != nil {
				return fmt.Errorf("write a batch: %w", err)
			}
			writes = out.UnprocessedItems[testbed.TableName]
		}
		return nil
	})
	if err != nil {
		return 0, 0, err
	}
	writeTime, begin = time.Since(begin), time.Now()
	encoder := json.NewEncoder(io.Discard)
	err = readPartition(ctx, db, testbed.TableName, partition, func(page []table.Item) error { return encoder.Encode(page) })
	return writeTime, time.Since(begin), err
}

// readPartition reads a whole partition and calls visit with each page.
func readPartition(ctx context.Context, db *dynamodb.Client, name, partition string, visit func([]table.Item) error) error {
	condition := "pk = :pk"
	in := &dynamodb.QueryInput{TableName: &name, KeyConditionExpression: &condition, ExpressionAttributeValues: table.Item{":pk": table.String(partition)}}
	for {
		out, err := db.Query(ctx, in)
		if err != nil {
			return fmt.Errorf("read a page: %w", err)
		}
		if err := visit(out.Items); err != nil {
			return err
		}
		if len(out.LastEvaluatedKey) == 0 {
			return nil
		}
		in.ExclusiveStartKey = out.LastEvaluatedKey
	}
}

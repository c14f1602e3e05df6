package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"growthworkspace/infra"
)

// tableState is the state of a table as DynamoDB describes it. It is the zero value if the table
// does not exist.
type tableState struct {
	name      string
	status    types.TableStatus
	keys      string // the primary key
	indexes   []index
	streamARN string           // the stream with old and new images; empty if the table has no such stream
	warm      []warmThroughput // that of the table and of each index
}

// warmThroughput is the throughput that a table or an index can serve at once, by the parameter that
// raises it.
type warmThroughput struct {
	name  string
	units map[string]int64
}

func newWarmThroughput(name string, reads, writes *int64) warmThroughput {
	return warmThroughput{name, map[string]int64{infra.ParamWarmReads: aws.ToInt64(reads), infra.ParamWarmWrites: aws.ToInt64(writes)}}
}

// table requests the state of a table from DynamoDB.
func (a *account) table(ctx context.Context, name string) (tableState, error) {
	response, err := a.tables.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &name})
	if _, missing := errors.AsType[*types.ResourceNotFoundException](err); missing {
		return tableState{}, nil
	}
	if err != nil {
		return tableState{}, fmt.Errorf("read the table %s: %w", name, err)
	}
	t := response.Table
	out := tableState{name: name, status: t.TableStatus, keys: keySchema(t.KeySchema).String()}
	if w := t.WarmThroughput; w != nil {
		out.warm = append(out.warm, newWarmThroughput("the table", w.ReadUnitsPerSecond, w.WriteUnitsPerSecond))
	}
	for _, i := range t.GlobalSecondaryIndexes {
		name := aws.ToString(i.IndexName)
		out.indexes = append(out.indexes, index{indexKeys: keysOf(name, i.KeySchema, i.Projection), status: i.IndexStatus})
		if w := i.WarmThroughput; w != nil {
			out.warm = append(out.warm, newWarmThroughput("the index "+name, w.ReadUnitsPerSecond, w.WriteUnitsPerSecond))
		}
	}
	if s := t.StreamSpecification; s != nil && aws.ToBool(s.StreamEnabled) && s.StreamViewType == types.StreamViewTypeNewAndOldImages {
		out.streamARN = aws.ToString(t.LatestStreamArn)
	}
	return out, nil
}

func (t tableState) exists() bool { return t.status != "" }

// checkUsable returns an error unless the table exists, can be used now, and has the keys of this
// service.
func (t tableState) checkUsable(table, region, wantedKeys string) error {
	switch {
	case !t.exists():
		return fmt.Errorf("there is no table %s in %s: --table needs an existing table in the same account and region", table, region)
	case t.status != types.TableStatusActive && t.status != types.TableStatusUpdating:
		return fmt.Errorf("the table %s is %s: wait until it is ACTIVE (aws dynamodb wait table-exists --table-name %s)", table, t.status, table)
	case t.keys != wantedKeys:
		return fmt.Errorf("the table %s cannot be used: its keys are %s instead of %s, so it does not belong to this service", table, t.keys, wantedKeys)
	}
	return nil
}

// index returns an index of the table, and reports whether there is one.
func (t tableState) index(name string) (index, bool) {
	n := slices.IndexFunc(t.indexes, func(i index) bool { return i.name == name })
	if n < 0 {
		return index{}, false
	}
	return t.indexes[n], true
}

// pendingChanges describes what DynamoDB is changing in the table. It is empty if the table is
// ready for the next change.
func (t tableState) pendingChanges() string {
	var parts []string
	if t.status != types.TableStatusActive {
		parts = append(parts, "the table is "+string(t.status))
	}
	for _, i := range t.indexes {
		if i.status != types.IndexStatusActive {
			parts = append(parts, "the index "+i.name+" is "+string(i.status))
		}
	}
	return strings.Join(parts, ", ")
}

// The first and the longest pause between two requests for the state of a table.
const (
	pauseMin = time.Second
	pauseMax = 15 * time.Second
)

// waitForTable calls describePending with the state of the table until describePending returns an
// empty string. It prints any other result to d.out. The SDK has no waiter for an index.
func (d *deployer) waitForTable(ctx context.Context, name string, describePending func(tableState) string) error {
	lastReason := ""
	for pause := pauseMin; ; pause = min(2*pause, pauseMax) {
		t, err := d.account.table(ctx, name)
		if err != nil {
			return err
		}
		if !t.exists() {
			return fmt.Errorf("the table %s was deleted", name)
		}
		reason := describePending(t)
		if reason == "" {
			return nil
		}
		if reason != lastReason {
			fmt.Fprintf(d.out, "waiting   %s\n", reason)
			lastReason = reason
		}
		if d.pause(ctx, pause) != nil {
			return fmt.Errorf("interrupted while %s; DynamoDB continues without this program. Run this again", reason)
		}
	}
}

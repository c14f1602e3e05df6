package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// tableState is the state of a table as DynamoDB describes it. It is the zero value if the table
// does not exist.
type tableState struct {
	name      string
	status    string
	keys      []string // the attributes of the primary key
	indexes   []tableIndex
	streamARN string // the stream with old and new images; empty if the table has no such stream
}

// tableIndex is an index of a table in the account.
type tableIndex struct {
	indexKeys
	status      string // CREATING, UPDATING, DELETING or ACTIVE
	backfilling bool   // whether DynamoDB is backfilling a new index; only then can the index be deleted before it is ACTIVE
}

// indexKeys identifies an index. DynamoDB cannot change any of these fields.
type indexKeys struct {
	name       string
	keys       string // the key attributes, each with its key type, HASH or RANGE
	projection string
}

// table requests the state of a table from DynamoDB.
func (a *account) table(ctx context.Context, name string) (tableState, error) {
	var response struct {
		Table struct {
			TableStatus            string
			KeySchema              keySchema
			GlobalSecondaryIndexes []struct {
				IndexName, IndexStatus string
				Backfilling            bool
				KeySchema              keySchema
				Projection             projection
			}
			StreamSpecification struct {
				StreamEnabled  bool
				StreamViewType string
			}
			LatestStreamArn string
		}
	}
	err := a.callDynamoDB(ctx, "DescribeTable", map[string]any{"TableName": name}, &response)
	var refused *awsError
	if errors.As(err, &refused) && refused.code == "ResourceNotFoundException" {
		return tableState{}, nil
	}
	if err != nil {
		return tableState{}, fmt.Errorf("read the table %s: %w", name, err)
	}
	t := response.Table
	out := tableState{name: name, status: t.TableStatus}
	for _, key := range t.KeySchema {
		out.keys = append(out.keys, key.AttributeName)
	}
	for _, i := range t.GlobalSecondaryIndexes {
		out.indexes = append(out.indexes, tableIndex{indexKeys{i.IndexName, i.KeySchema.String(), i.Projection.String()}, i.IndexStatus, i.Backfilling})
	}
	if t.StreamSpecification.StreamEnabled && t.StreamSpecification.StreamViewType == "NEW_AND_OLD_IMAGES" {
		out.streamARN = t.LatestStreamArn
	}
	return out, nil
}

func (t tableState) exists() bool { return t.status != "" }

// checkUsable returns an error unless the table exists and can be used now.
func (t tableState) checkUsable(table, region string) error {
	switch {
	case !t.exists():
		return fmt.Errorf("there is no table %s in %s: --table needs an existing table in the same account and region", table, region)
	case t.status != "ACTIVE" && t.status != "UPDATING":
		return fmt.Errorf("the table %s is %s: wait until it is ACTIVE (aws dynamodb wait table-exists --table-name %s)", table, t.status, table)
	}
	return nil
}

// index returns an index of the table, and reports whether there is one.
func (t tableState) index(name string) (tableIndex, bool) {
	for _, i := range t.indexes {
		if i.name == name {
			return i, true
		}
	}
	return tableIndex{}, false
}

// pendingChanges describes what DynamoDB is changing in the table. It is empty if the table is
// ready for the next change.
func (t tableState) pendingChanges() string {
	var parts []string
	if t.status != "ACTIVE" {
		parts = append(parts, "the table is "+t.status)
	}
	for _, i := range t.indexes {
		if i.status != "ACTIVE" {
			parts = append(parts, "the index "+i.name+" is "+i.status)
		}
	}
	return strings.Join(parts, ", ")
}

// keySchema and projection are types that DynamoDB's API and CloudFormation's templates have in
// common.
type keySchema []struct{ AttributeName, KeyType string }

func (k keySchema) String() string {
	var parts []string
	for _, key := range k {
		parts = append(parts, key.AttributeName+" "+key.KeyType)
	}
	return strings.Join(parts, ", ")
}

type projection struct {
	ProjectionType   string
	NonKeyAttributes []string `json:",omitempty"`
}

func (p projection) String() string {
	return strings.Join(append([]string{p.ProjectionType}, p.NonKeyAttributes...), " ")
}

func (a *account) callDynamoDB(ctx context.Context, action string, in, out any) error {
	return a.callJSON(ctx, "dynamodb", "1.0", "DynamoDB_20120810."+action, in, out)
}

// createIndex adds an index to a table. DynamoDB backfills it afterwards.
func (a *account) createIndex(ctx context.Context, table string, i index) error {
	return a.updateIndex(ctx, map[string]any{
		"TableName": table, "AttributeDefinitions": i.attributes,
		"GlobalSecondaryIndexUpdates": []any{map[string]any{"Create": i.core()}},
	})
}

func (a *account) deleteIndex(ctx context.Context, table, name string) error {
	return a.updateIndex(ctx, map[string]any{
		"TableName":                   table,
		"GlobalSecondaryIndexUpdates": []any{map[string]any{"Delete": map[string]any{"IndexName": name}}},
	})
}

func (a *account) updateIndex(ctx context.Context, request map[string]any) error {
	return a.callDynamoDB(ctx, "UpdateTable", request, &struct{}{})
}

// The first and the longest pause between two requests for the state of a table.
const (
	pauseMin = time.Second
	pauseMax = 15 * time.Second
)

// waitForTable calls describePending with the state of the table until describePending returns an
// empty string. It prints any other result to d.out.
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

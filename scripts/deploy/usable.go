package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"growthworkspace/infra"
)

// tableDefinition is the definition of a table as the properties of a CloudFormation resource. It
// includes only the properties that the stack's table sets.
type tableDefinition struct {
	TableName                        string `json:",omitempty"`
	BillingMode                      string
	AttributeDefinitions             []attributeDefinition
	KeySchema                        keySchema
	GlobalSecondaryIndexes           []indexDefinition `json:",omitempty"`
	DeletionProtectionEnabled        bool
	PointInTimeRecoverySpecification struct{ PointInTimeRecoveryEnabled bool }
	SSESpecification                 struct{ SSEEnabled bool }
	StreamSpecification              *streamSpecification     `json:",omitempty"`
	TimeToLiveSpecification          *timeToLiveSpecification `json:",omitempty"`
}

type attributeDefinition struct{ AttributeName, AttributeType string }

type indexDefinition struct {
	IndexName  string
	KeySchema  keySchema
	Projection projection
}

type streamSpecification struct{ StreamViewType string }

type timeToLiveSpecification struct {
	AttributeName string
	Enabled       bool
}

// wantedTable returns the table's definition in this version.
func wantedTable() (out tableDefinition) {
	resource := infra.JSON(infra.New().PlainResources()).(map[string]any)[infra.TableID].(map[string]any)
	properties := resource["Properties"].(map[string]any)
	delete(properties, "TableName") // an expression that resolves to the name of an adopted table
	text, err := json.Marshal(properties)
	if err == nil {
		err = json.Unmarshal(text, &out)
	}
	if err != nil {
		panic("deploy: the model's table is not as expected: " + err.Error())
	}
	return out
}

// tableDefinition requests the definition of an existing table from AWS.
func (a *account) tableDefinition(ctx context.Context, name string) (out tableDefinition, err error) {
	var described struct {
		Table struct {
			AttributeDefinitions   []attributeDefinition
			KeySchema              keySchema
			GlobalSecondaryIndexes []struct {
				indexDefinition
				IndexStatus string
			}
			BillingModeSummary        struct{ BillingMode string }
			DeletionProtectionEnabled bool
			SSEDescription            struct{ Status string }
			StreamSpecification       struct {
				StreamEnabled bool
				streamSpecification
			}
		}
	}
	var ttl struct {
		TimeToLiveDescription struct{ AttributeName, TimeToLiveStatus string }
	}
	var backups struct {
		ContinuousBackupsDescription struct {
			PointInTimeRecoveryDescription struct{ PointInTimeRecoveryStatus string }
		}
	}
	request := map[string]any{"TableName": name}
	err = errors.Join(
		a.callDynamoDB(ctx, "DescribeTable", request, &described),
		a.callDynamoDB(ctx, "DescribeTimeToLive", request, &ttl),
		a.callDynamoDB(ctx, "DescribeContinuousBackups", request, &backups))
	if err != nil {
		return out, fmt.Errorf("read the table %s: %w", name, err)
	}
	t := described.Table
	out = tableDefinition{
		TableName: name, BillingMode: valueOr(t.BillingModeSummary.BillingMode, "PROVISIONED"), AttributeDefinitions: t.AttributeDefinitions,
		KeySchema: t.KeySchema, DeletionProtectionEnabled: t.DeletionProtectionEnabled,
	}
	for _, i := range t.GlobalSecondaryIndexes {
		if i.IndexStatus != "DELETING" {
			out.GlobalSecondaryIndexes = append(out.GlobalSecondaryIndexes, i.indexDefinition)
		}
	}
	out.PointInTimeRecoverySpecification.PointInTimeRecoveryEnabled = backups.ContinuousBackupsDescription.PointInTimeRecoveryDescription.PointInTimeRecoveryStatus == "ENABLED"
	out.SSESpecification.SSEEnabled = t.SSEDescription.Status == "ENABLED" || t.SSEDescription.Status == "ENABLING"
	if t.StreamSpecification.StreamEnabled {
		out.StreamSpecification = &t.StreamSpecification.streamSpecification
	}
	if status := ttl.TimeToLiveDescription.TimeToLiveStatus; status == "ENABLED" || status == "ENABLING" {
		out.TimeToLiveSpecification = &timeToLiveSpecification{ttl.TimeToLiveDescription.AttributeName, true}
	}
	return out, nil
}

// tableDifference is one difference between a table and the definition.
type tableDifference struct {
	what    string
	command string // the AWS CLI arguments that fix the difference; empty if no command can
	// isFatal reports whether the difference would make the functions fail. Other differences only
	// cost money, or mean that there is no backup or no feed of changes.
	isFatal bool
}

// differences compares a table with the wanted definition. It does not report missing or extra
// indexes, because a deploy adds and removes them.
func (t tableDefinition) differences(wanted tableDefinition) (out []tableDifference) {
	add := func(differs, isFatal bool, what, command string) {
		if differs {
			out = append(out, tableDifference{what, command, isFatal})
		}
	}
	add(t.KeySchema.String() != wanted.KeySchema.String(), true,
		fmt.Sprintf("its keys are %s instead of %s, so it does not belong to this service", t.KeySchema, wanted.KeySchema), "")
	for _, a := range wanted.AttributeDefinitions {
		n := slices.IndexFunc(t.AttributeDefinitions, func(b attributeDefinition) bool { return b.AttributeName == a.AttributeName })
		if n >= 0 {
			actual := t.AttributeDefinitions[n].AttributeType
			add(actual != a.AttributeType, true, fmt.Sprintf("its key attribute %s has the type %s instead of %s", a.AttributeName, actual, a.AttributeType), "")
		}
	}
	for _, i := range wanted.GlobalSecondaryIndexes {
		n := slices.IndexFunc(t.GlobalSecondaryIndexes, func(j indexDefinition) bool { return j.IndexName == i.IndexName })
		if n < 0 {
			continue
		}
		actual := t.GlobalSecondaryIndexes[n]
		add(actual.KeySchema.String() != i.KeySchema.String() || actual.Projection.String() != i.Projection.String(), true,
			fmt.Sprintf("its index %s has the keys %s and projects %s, instead of %s and %s; remove it, and a deploy adds it again",
				i.IndexName, actual.KeySchema, actual.Projection, i.KeySchema, i.Projection),
			`update-table --global-secondary-index-updates '[{"Delete":{"IndexName":"`+i.IndexName+`"}}]'`)
	}
	add(t.BillingMode != wanted.BillingMode, false, "its capacity is "+t.BillingMode+" instead of "+wanted.BillingMode, "update-table --billing-mode "+wanted.BillingMode)
	add(wanted.DeletionProtectionEnabled && !t.DeletionProtectionEnabled, false, "it is not protected from deletion", "update-table --deletion-protection-enabled")
	add(wanted.PointInTimeRecoverySpecification.PointInTimeRecoveryEnabled && !t.PointInTimeRecoverySpecification.PointInTimeRecoveryEnabled, false,
		"point-in-time recovery is off", "update-continuous-backups --point-in-time-recovery-specification PointInTimeRecoveryEnabled=true")
	add(wanted.SSESpecification.SSEEnabled && !t.SSESpecification.SSEEnabled, false, "its key is not one of the account", "update-table --sse-specification Enabled=true,SSEType=KMS")
	add(t.StreamSpecification == nil, false, "it has no stream, so there is no feed of changes",
		"update-table --stream-specification StreamEnabled=true,StreamViewType="+wanted.StreamSpecification.StreamViewType)
	add(t.StreamSpecification != nil && *t.StreamSpecification != *wanted.StreamSpecification, false,
		"its stream does not have the old and new images, so there is no feed of changes", "update-table --stream-specification StreamEnabled=false")
	add(t.TimeToLiveSpecification == nil, false, "time to live is off, so expired records stay",
		"update-time-to-live --time-to-live-specification Enabled=true,AttributeName="+wanted.TimeToLiveSpecification.AttributeName)
	if ttl := t.TimeToLiveSpecification; ttl != nil {
		add(*ttl != *wanted.TimeToLiveSpecification, false, "time to live uses the attribute "+ttl.AttributeName+" instead of "+wanted.TimeToLiveSpecification.AttributeName,
			"update-time-to-live --time-to-live-specification Enabled=false,AttributeName="+ttl.AttributeName)
	}
	return out
}

// text describes the difference and the command that fixes it. awsFlags are flags for the AWS CLI.
func (x tableDifference) text(table, awsFlags string) string {
	if x.command == "" {
		return x.what
	}
	action, arguments, _ := strings.Cut(x.command, " ")
	return fmt.Sprintf("%s:\n            aws dynamodb %s%s --table-name %s %s", x.what, action, awsFlags, table, arguments)
}

// checkUsable returns an error if the functions would not work with the table. It prints all other
// differences between the table and the definition.
func (t tableDefinition) checkUsable(out io.Writer, awsFlags string) error {
	var fatal []error
	var others []string
	for _, x := range t.differences(wantedTable()) {
		if text := x.text(t.TableName, awsFlags); x.isFatal {
			fatal = append(fatal, errors.New(text))
		} else {
			others = append(others, text)
		}
	}
	if len(fatal) > 0 {
		return fmt.Errorf("the table %s cannot be used:\n%w", t.TableName, errors.Join(fatal...))
	}
	if len(others) > 0 {
		fmt.Fprintf(out, "note      the table %s differs from the definition in this version. --adopt fixes every difference; these commands fix one each:\n          %s\n", t.TableName, strings.Join(others, "\n          "))
	}
	return nil
}

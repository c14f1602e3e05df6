package main

import (
	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsdynamodb"
	"github.com/aws/jsii-runtime-go"

	"growthworkspace/infra"
	"growthworkspace/shared/table"
)

func (s stack) table() {
	var attributes []any
	var indexes []any
	for _, i := range append([]table.Index{table.Base}, table.Indexes()...) {
		for _, name := range []string{i.PK(), i.SK()} {
			attributes = append(attributes, &awsdynamodb.CfnTable_AttributeDefinitionProperty{AttributeName: &name, AttributeType: jsii.String("S")})
		}
		if i != table.Base {
			indexes = append(indexes, &awsdynamodb.CfnTable_GlobalSecondaryIndexProperty{
				IndexName: jsii.String(i.Name()), KeySchema: keySchema(i),
				Projection: &awsdynamodb.CfnTable_ProjectionProperty{ProjectionType: jsii.String("ALL")},
			})
		}
	}
	t := awsdynamodb.NewCfnTable(s.scope, jsii.String(infra.TableID), &awsdynamodb.CfnTableProps{
		BillingMode: jsii.String("PAY_PER_REQUEST"), AttributeDefinitions: attributes, KeySchema: keySchema(table.Base),
		GlobalSecondaryIndexes: indexes, DeletionProtectionEnabled: true,
		PointInTimeRecoverySpecification: &awsdynamodb.CfnTable_PointInTimeRecoverySpecificationProperty{PointInTimeRecoveryEnabled: true},
		SseSpecification:                 &awsdynamodb.CfnTable_SSESpecificationProperty{SseEnabled: true},
		StreamSpecification:              &awsdynamodb.CfnTable_StreamSpecificationProperty{StreamViewType: jsii.String("NEW_AND_OLD_IMAGES")},
		TimeToLiveSpecification: &awsdynamodb.CfnTable_TimeToLiveSpecificationProperty{
			AttributeName: jsii.String(infra.TTLAttribute), Enabled: true,
		},
	})
	s.only(t, infra.IfNewTable)
	keep(t, awscdk.RemovalPolicy_RETAIN)
}

func keySchema(i table.Index) []any {
	return []any{
		&awsdynamodb.CfnTable_KeySchemaProperty{AttributeName: jsii.String(i.PK()), KeyType: jsii.String("HASH")},
		&awsdynamodb.CfnTable_KeySchemaProperty{AttributeName: jsii.String(i.SK()), KeyType: jsii.String("RANGE")},
	}
}

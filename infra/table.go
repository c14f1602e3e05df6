package infra

import "growthworkspace/shared/table"

// TableID is the logical id of the table.
const TableID = "Table"

// tableName returns the name of the stack's own table, or of the table in ParamTable.
func tableName() Object { return IfCondition(ifNewTable, Ref(TableID), Ref(ParamTable)) }

// tableARN returns the ARN of the table or of one of its indexes. It is built from the name, so
// that it is also correct for an existing table.
func tableARN(index table.Index) Object {
	text := "arn:${AWS::Partition}:dynamodb:${AWS::Region}:${AWS::AccountId}:table/${Name}"
	if index != table.Base {
		text += "/index/" + index.Name()
	}
	return Object{{"Fn::Sub", List{text, Object{{"Name", tableName()}}}}}
}

// tableResource returns the table. It outlives its stack, and cannot be deleted until an operator
// turns off its deletion protection.
func tableResource() Object {
	var attributes, indexes List
	for _, i := range append([]table.Index{table.Base}, table.Indexes()...) {
		attributes = append(attributes, attributeDefinition(i.PK()), attributeDefinition(i.SK()))
		if i != table.Base {
			indexes = append(indexes, Object{
				{"IndexName", i.Name()}, {"KeySchema", keySchema(i)},
				{"Projection", Object{{"ProjectionType", "ALL"}}},
			})
		}
	}
	return onlyIf(ifNewTable, onDelete("Retain", resource("AWS::DynamoDB::Table", Object{
		{"BillingMode", "PAY_PER_REQUEST"},
		{"AttributeDefinitions", attributes},
		{"KeySchema", keySchema(table.Base)},
		{"GlobalSecondaryIndexes", indexes},
		{"DeletionProtectionEnabled", true},
		{"PointInTimeRecoverySpecification", Object{{"PointInTimeRecoveryEnabled", true}}},
		{"SSESpecification", Object{{"SSEEnabled", true}}},
		{"StreamSpecification", Object{{"StreamViewType", "NEW_AND_OLD_IMAGES"}}},
		{"TimeToLiveSpecification", Object{{"AttributeName", "ttl"}, {"Enabled", true}}},
	})))
}

func attributeDefinition(name string) Object {
	return Object{{"AttributeName", name}, {"AttributeType", "S"}}
}

func keySchema(i table.Index) List {
	return List{
		Object{{"AttributeName", i.PK()}, {"KeyType", "HASH"}},
		Object{{"AttributeName", i.SK()}, {"KeyType", "RANGE"}},
	}
}

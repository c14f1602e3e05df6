package infra

import "growthworkspace/shared/table"

// TTLAttribute holds the second after which DynamoDB may delete a record by itself.
const TTLAttribute = "ttl"

const TableID = "Table"

// tableName is the name of the table: that of the stack's own, or the one that the operator named.
func tableName() Object { return If(IfNewTable, Ref(TableID), Ref(ParamTable)) }

// tableARN is the table's address, or that of one of its indexes. Built from the name, it holds for either table.
func tableARN(index table.Index) Object {
	text := "arn:${AWS::Partition}:dynamodb:${AWS::Region}:${AWS::AccountId}:table/${Name}"
	if index != table.Base {
		text += "/index/" + index.Name()
	}
	return Object{{"Fn::Sub", List{text, Object{{"Name", tableName()}}}}}
}

// tableResource is the table. It outlives its stack, and cannot be deleted before its protection is taken off.
func tableResource() Object {
	var attributes, indexes List
	for _, i := range append([]table.Index{table.Base}, table.Indexes()...) {
		attributes = append(attributes, attribute(i.PK()), attribute(i.SK()))
		if i != table.Base {
			indexes = append(indexes, Object{
				{"IndexName", i.Name()}, {"KeySchema", keySchema(i)},
				{"Projection", Object{{"ProjectionType", "ALL"}}},
			})
		}
	}
	return Object{
		{"Type", "AWS::DynamoDB::Table"},
		{"Condition", IfNewTable},
		{"DeletionPolicy", "Retain"},
		{"UpdateReplacePolicy", "Retain"},
		{"Properties", Object{
			{"BillingMode", "PAY_PER_REQUEST"},
			{"AttributeDefinitions", attributes},
			{"KeySchema", keySchema(table.Base)},
			{"GlobalSecondaryIndexes", indexes},
			{"DeletionProtectionEnabled", true},
			{"PointInTimeRecoverySpecification", Object{{"PointInTimeRecoveryEnabled", true}}},
			{"SSESpecification", Object{{"SSEEnabled", true}}},
			{"StreamSpecification", Object{{"StreamViewType", "NEW_AND_OLD_IMAGES"}}},
			{"TimeToLiveSpecification", Object{{"AttributeName", TTLAttribute}, {"Enabled", true}}},
		}},
	}
}

func attribute(name string) Object {
	return Object{{"AttributeName", name}, {"AttributeType", "S"}}
}

func keySchema(i table.Index) List {
	return List{
		Object{{"AttributeName", i.PK()}, {"KeyType", "HASH"}},
		Object{{"AttributeName", i.SK()}, {"KeyType", "RANGE"}},
	}
}

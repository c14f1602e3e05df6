package infra

import "growthworkspace/shared/table"

// TableID is the logical id of the table.
const TableID = "Table"

// The table is in one of three states, depending on ParamTable and ParamAdopted:
//
//	new       ParamTable is empty; CloudFormation creates the table and names it
//	existing  ParamTable names the table, which is not a resource of the stack
//	adopted   like existing, but a resource import has made the table the resource TableID
//
// The update that imports the table changes nothing else. So tableName, from which the functions,
// policies, alarms, dashboard and outputs get the name, has the same text and the same value
// before, during and after an import: it does not depend on ParamAdopted. Keeping the name in a
// Systems Manager parameter would need one more resource. Every use of the name would then be an
// attribute, which CloudFormation resolves only during a deployment.

// tableName returns the name of the table: the generated name if CloudFormation named the table,
// otherwise ParamTable.
func tableName() Object { return IfCondition(ifNewTable, Ref(TableID), Ref(ParamTable)) }

// tableARNs returns the ARNs of the table or of its indexes. While the stack switches to a second
// table, it also returns the ARNs of that table. The ARNs are built from the name, so they are also
// correct for an existing table.
func tableARNs(indexes ...table.Index) (out List) {
	for _, i := range indexes {
		out = append(out, Object{{"Fn::Sub", List{tableARN("Name", i), Object{{"Name", tableName()}}}}})
	}
	for _, i := range indexes {
		out = append(out, IfCondition(ifSecondTable, Sub(tableARN(ParamSecondTable, i)), Ref("AWS::NoValue")))
	}
	return out
}

// tableARN returns the template string of an ARN, in which Fn::Sub replaces the table's name.
func tableARN(name string, index table.Index) string {
	text := "arn:${AWS::Partition}:dynamodb:${AWS::Region}:${AWS::AccountId}:table/${" + name + "}"
	if index != table.Base {
		text += "/index/" + index.Name()
	}
	return text
}

// tableResource returns the table. It is retained when its stack is deleted, and cannot be deleted
// until an operator turns off its deletion protection. Only an adopted table has a TableName,
// because setting the property would replace a table that CloudFormation named.
func tableResource() Object {
	var attributes, indexes List
	for _, i := range append([]table.Index{table.Base}, table.Indexes()...) {
		attributes = append(attributes, attributeDefinition(i.PK()), attributeDefinition(i.SK()))
		if i != table.Base {
			indexes = append(indexes, append(Object{
				{"IndexName", i.Name()}, {"KeySchema", keySchema(i)},
				{"Projection", Object{{"ProjectionType", "ALL"}}},
			}, throughput()...))
		}
	}
	return onlyIf(ifOwnTable, onDelete("Retain", resource("AWS::DynamoDB::Table", append(Object{
		{"TableName", IfCondition(ifNewTable, Ref("AWS::NoValue"), Ref(ParamTable))},
		{"BillingMode", "PAY_PER_REQUEST"},
		{"AttributeDefinitions", attributes},
		{"KeySchema", keySchema(table.Base)},
		{"GlobalSecondaryIndexes", indexes},
		{"DeletionProtectionEnabled", true},
		{"PointInTimeRecoverySpecification", Object{{"PointInTimeRecoveryEnabled", true}}},
		{"SSESpecification", Object{{"SSEEnabled", true}}},
		{"StreamSpecification", Object{{"StreamViewType", "NEW_AND_OLD_IMAGES"}}},
		{"TimeToLiveSpecification", Object{{"AttributeName", "ttl"}, {"Enabled", true}}},
	}, throughput()...))))
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

// Package table is the one DynamoDB table: its definition as data, the client, and the few ways in which areas read
// and write it. The areas' store.go files say what the keys are; this package knows how a conditional write, a page of
// a list or a merge of several index partitions is done. design.md §4.
//
// Every record is an item with pk, sk, the keys of the indexes that it is in, its fields under their JSON names (a
// null field is absent), and two of ours: rev counts its writes, for compare-and-set, and writeId names the last one,
// so that a write whose answer was lost is recognised instead of repeated.
package table

import (
	"errors"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"growthworkspace/shared/fault"
)

// Index names where a query looks: the base table or one of its indexes.
type Index int

// Base is the table itself; the others are its sparse, overloaded global secondary indexes (projection ALL). There is
// no local one: it would cap a collection at 10 GB and stop the partition from splitting for heat.
const (
	Base Index = iota
	GSI1
	GSI2
	GSI3
	GSI4
)

// Indexes lists the global secondary indexes.
func Indexes() []Index { return []Index{GSI1, GSI2, GSI3, GSI4} }

// Name is the index's name in the table definition; empty for the base table.
func (i Index) Name() string { return [...]string{"", "gsi1", "gsi2", "gsi3", "gsi4"}[i] }

// PK and SK are the names of the key attributes.
func (i Index) PK() string { return i.Name() + "pk" }

// SK is the name of the sort-key attribute.
func (i Index) SK() string { return i.Name() + "sk" }

// Our own attributes of a record, beside its fields.
const (
	revAttr       = "rev"
	writeIDAttr   = "writeId"
	updatedAtAttr = "updatedAt"
)

// TTL is the attribute that says from when a record is no more, in seconds of Unix time. DynamoDB deletes such records within
// days, engines on a developer's machine never; who reads one treats it as absent.
const TTL = "ttl"

// KeysArea names the partition of a company's keys, which every function may reach as far as authentication needs.
const KeysArea = "keys"

// Partition returns the partition of a collection: the company, the area and what narrows it further. It is the only
// place that spells a partition key, so that each one begins with the company (`dynamodb:LeadingKeys`).
func Partition(companyID, area string, narrower ...string) string {
	return Join(append([]string{companyID, area}, narrower...)...)
}

// Join spells a key of several parts. No part may contain the separator; ids, slugs, metric keys and the values of
// closed lists cannot, and whatever comes from a caller is checked before it gets here.
func Join(parts ...string) string { return strings.Join(parts, "#") }

// Key is where a record is in the base table.
type Key struct{ PK, SK string }

// Keys is where a record is in the base table and in each index; an index whose key is left zero does not have it.
type Keys struct {
	Key
	GSI1, GSI2, GSI3, GSI4 Key
}

// Errors of this package, beside fault.ErrNotFound for a record that is not there. Anything else is a fault of the
// table or the network.
var (
	ErrExists = errors.New("the record exists")
	// ErrContended says that a compare-and-set lost to other writers again and again. It is for the caller to read.
	ErrContended = fault.Busy("too many others are writing the same record; try again")
)

// Definition returns the request that creates the table, which is also what the infrastructure is compared with.
func Definition(name string) *dynamodb.CreateTableInput {
	in := &dynamodb.CreateTableInput{
		TableName:   &name,
		BillingMode: types.BillingModePayPerRequest,
		KeySchema:   keySchema(Base),
	}
	for _, i := range append([]Index{Base}, Indexes()...) {
		in.AttributeDefinitions = append(in.AttributeDefinitions,
			types.AttributeDefinition{AttributeName: aws.String(i.PK()), AttributeType: types.ScalarAttributeTypeS},
			types.AttributeDefinition{AttributeName: aws.String(i.SK()), AttributeType: types.ScalarAttributeTypeS})
		if i != Base {
			in.GlobalSecondaryIndexes = append(in.GlobalSecondaryIndexes, types.GlobalSecondaryIndex{
				IndexName: aws.String(i.Name()), KeySchema: keySchema(i),
				Projection: &types.Projection{ProjectionType: types.ProjectionTypeAll},
			})
		}
	}
	return in
}

func keySchema(i Index) []types.KeySchemaElement {
	return []types.KeySchemaElement{
		{AttributeName: aws.String(i.PK()), KeyType: types.KeyTypeHash},
		{AttributeName: aws.String(i.SK()), KeyType: types.KeyTypeRange},
	}
}

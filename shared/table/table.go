// Package table defines the service's one DynamoDB table and its client: conditional writes,
// transactions, batches, pages of lists, and lists that are merged from several index partitions.
// The first comment of each area's store.go defines the area's keys. The reasons are in
// scripts/docs/explanation/table.md.
//
// Every record is an item with pk, sk, the keys of its indexes, and its fields under their JSON
// names. A null field is absent. Three more attributes belong to this package. rev counts the
// record's writes, for compare-and-set. writeId is the write token of the last write. If the
// response of a write was lost, the retry finds its own token and does not write again. writtenBy
// is the key that made the last write (WriterAttr).
package table

import (
	"errors"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"growthworkspace/shared/fault"
)

// Index is the base table or one of its indexes.
type Index int

// Base is the table itself. The others are its sparse, overloaded global secondary indexes. The table
// has no local secondary indexes: they would limit a collection to 10 GB and keep a partition from
// splitting under load.
const (
	Base Index = iota
	GSI1
	GSI2
	GSI3
	GSI4
	GSI5
)

// Indexes returns the global secondary indexes. Each of their partitions belongs to one company.
func Indexes() []Index { return []Index{GSI1, GSI2, GSI3, GSI4, GSI5} }

// Name returns the name of the index in the table definition. It is empty for the base table.
func (i Index) Name() string {
	return [...]string{"", "gsi1", "gsi2", "gsi3", "gsi4", "gsi5"}[i]
}

// PK returns the name of the partition-key attribute.
func (i Index) PK() string { return i.Name() + "pk" }

// SK returns the name of the sort-key attribute.
func (i Index) SK() string { return i.Name() + "sk" }

// The attributes of a record that this package sets; updatedAt is also a field of most records.
const (
	revAttr       = "rev"
	writeIDAttr   = WriteIDAttr
	updatedAtAttr = "updatedAt"
)

// WriteIDAttr is the attribute with the write token of a record's last write. Outside of this
// package, only code that has its own write expressions sets it. The feed of changes reports a
// write that changes it.
const WriteIDAttr = "writeId"

// TTLAttr is the attribute with a record's expiry time as a Unix time in seconds. DynamoDB deletes
// expired records within days and local engines never do, so readers must treat an expired record
// as absent.
const TTLAttr = "ttl"

// KeysArea is the area that contains a company's API keys. Every function has as much access to the
// area's partition as authentication needs.
const KeysArea = "keys"

// Partition returns the partition key of a collection, made of the company, the area and further
// parts. Only this function creates partition keys, so each one begins with the company
// (`dynamodb:LeadingKeys`). The operator's partitions are the exception (operator.go).
func Partition(companyID, area string, moreParts ...string) string {
	return JoinKey(append([]string{companyID, area}, moreParts...)...)
}

// JoinKey joins the parts of a key. No part may contain the separator. Ids, slugs, metric keys and
// enum values cannot contain it, and values from a caller are checked before they get here.
func JoinKey(parts ...string) string { return strings.Join(parts, "#") }

// Key is the primary key of a record in the base table.
type Key struct{ PK, SK string }

func (k Key) item() Item { return Item{Base.PK(): String(k.PK), Base.SK(): String(k.SK)} }

// KeyOf returns the key of an item, or the zero Key if it has none.
func KeyOf(item Item) Key {
	pk, _ := item[Base.PK()].(*types.AttributeValueMemberS)
	sk, _ := item[Base.SK()].(*types.AttributeValueMemberS)
	if pk == nil || sk == nil {
		return Key{}
	}
	return Key{pk.Value, sk.Value}
}

// Keys are the keys of a record in the base table and in each index. If the key for an index is
// zero, the record is not in that index.
type Keys struct {
	Key
	GSI1, GSI2, GSI3, GSI4, GSI5 Key
}

// Errors that this package defines. Its functions also return fault.ErrNotFound for a missing
// record, and fault.ErrUnavailable for a call that DynamoDB throttled on every attempt. Any other
// error is a failure of DynamoDB or the network.
var (
	ErrExists = errors.New("the record already exists")
	// ErrUnreadable means that an attribute does not have the type of the record's field.
	ErrUnreadable = errors.New("unreadable record")
	// ErrTooMuchContention means that a compare-and-set lost to other writers too many times.
	// Clients see its message.
	ErrTooMuchContention = fault.RetryableConflict("too many concurrent writes to the same record; try again")
)

// CreateTableInput returns the request that creates the table in local engines and tests. Package
// infra declares the same table for AWS.
func CreateTableInput(name string) *dynamodb.CreateTableInput {
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

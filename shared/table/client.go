package table

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go/middleware"

	"growthworkspace/shared/fairqueue"
	"growthworkspace/shared/id"
	"growthworkspace/shared/timestamp"
)

// Options configure a Client. They replace the SDK's package config, which would slow the start of
// a Lambda function; only the command line uses that package.
type Options struct {
	Name               string
	Region             string
	Endpoint           string // empty: DynamoDB itself
	Credentials        aws.CredentialsProvider
	Transport          http.RoundTripper // nil: a pooled transport that tries the root certificates of AWS first (roots.go)
	Timeout            time.Duration     // timeout of one attempt; zero: one second
	MaxConcurrentCalls int               // maximum number of concurrent calls, which companies share (package fairqueue); further calls wait; zero: no limit
	Now                func() time.Time
	NewID              id.Generator
	Random             io.Reader // source of randomness for public keys; nil: crypto/rand
	NoStream           bool      // the table has no stream, so changes to its records are not recorded

	// Operator returns the name of whoever runs a command, for the operator's trail. If it is nil,
	// the name is "operator".
	Operator func(context.Context) string
}

// Client reads and writes the table. A write needs a permit: a context with a Request whose key was
// verified. A Client is safe for concurrent use.
type Client struct {
	db       *dynamodb.Client
	name     string
	now      func() time.Time
	newID    id.Generator
	random   io.Reader
	operator bool // writes without a Request in the context are permitted
	noStream bool
	isImport bool // see AsImport

	operatorName func(context.Context) string
}

// New returns a client. It makes no call.
func New(o Options) *Client {
	if o.Timeout == 0 {
		o.Timeout = attemptTimeout
	}
	if o.Random == nil {
		o.Random = rand.Reader
	}
	if o.Transport == nil {
		t := http.DefaultTransport.(*http.Transport).Clone()
		t.MaxIdleConnsPerHost = 64 // a merge queries several partitions at once; the default of 2 would close most connections
		t.DialTLSContext = newDialer(amazonRoots(), nil).DialTLSContext
		t.ForceAttemptHTTP2 = false // DynamoDB uses HTTP/1.1
		o.Transport = t
	}
	if o.Operator == nil {
		o.Operator = func(context.Context) string { return "operator" }
	}
	db := dynamodb.New(dynamodb.Options{
		Region:      o.Region,
		Credentials: o.Credentials,
		HTTPClient:  &http.Client{Transport: checksumTransport{o.Transport}, Timeout: o.Timeout},
		Retryer:     newRetryer(),
		// checksumTransport verifies the checksum instead.
		DisableValidateResponseChecksum: true,
	}, func(d *dynamodb.Options) {
		if o.Endpoint != "" {
			d.BaseEndpoint = &o.Endpoint
		}
		if o.MaxConcurrentCalls > 0 {
			d.APIOptions = append(d.APIOptions, limitConcurrency(fairqueue.New(o.MaxConcurrentCalls)))
		}
	})
	return &Client{db: db, name: o.Name, now: o.Now, newID: o.NewID, random: o.Random, noStream: o.NoStream, operatorName: o.Operator}
}

// AsOperator returns a client for the operator's command line and the tests. Its writes need no
// permit if the context has no Request. Handlers never use such a client.
func (c *Client) AsOperator() *Client {
	o := *c
	o.operator = true
	return &o
}

// HasStream reports whether the table has a stream of changes.
func (c *Client) HasStream() bool { return !c.noStream }

// Name returns the table's name.
func (c *Client) Name() string { return c.name }

// Now returns the current time in the format of timestamp fields.
func (c *Client) Now() string { return timestamp.Format(c.now()) }

// NowAfter returns the new updatedAt of a record whose updatedAt was previous; nil means that it
// had none. The result is the current time or one millisecond after previous, whichever is later.
// So updatedAt never decreases, even if the writers' clocks disagree.
func (c *Client) NowAfter(previous *string) string {
	now := c.Now()
	if previous == nil {
		return now
	}
	before, ok := timestamp.Parse(*previous)
	if !ok {
		return now
	}
	return max(now, timestamp.Format(before.Add(time.Millisecond)), *previous) // *previous matters only for the last millisecond of the year 9999
}

// Clock returns the client's clock.
func (c *Client) Clock() func() time.Time { return c.now }

// NewID returns a new id with the given prefix.
func (c *Client) NewID(prefix string) string { return c.newID(prefix) }

// NewPublicKey returns a new publishable key, such as the publicKey of a board. The key authorises
// nothing.
func (c *Client) NewPublicKey() string { return id.NewPublicKey(c.random) }

// Create creates the table if it does not exist, adds the indexes that an older version's table
// lacks, and waits until the table and its indexes are active. An index that is not active lacks
// existing records. Create is for local engines and tests; in an AWS account, the CloudFormation
// stack does this.
func (c *Client) Create(ctx context.Context) error {
	_, err := c.db.CreateTable(ctx, CreateTableInput(c.name))
	var exists *types.ResourceInUseException
	if errors.As(err, &exists) {
		err = c.addIndexes(ctx)
	}
	if err != nil {
		return fmt.Errorf("create table %s: %w", c.name, err)
	}
	waiter := dynamodb.NewTableExistsWaiter(c.db, func(o *dynamodb.TableExistsWaiterOptions) {
		o.MinDelay = 50 * time.Millisecond
		retryable := o.Retryable
		o.Retryable = func(ctx context.Context, in *dynamodb.DescribeTableInput, out *dynamodb.DescribeTableOutput, err error) (bool, error) {
			again, err := retryable(ctx, in, out, err)
			return again || err == nil && !indexesActive(out.Table), err
		}
	})
	if err := waiter.Wait(ctx, &dynamodb.DescribeTableInput{TableName: &c.name}, 5*time.Minute); err != nil {
		return fmt.Errorf("wait for table %s: %w", c.name, err)
	}
	return nil
}

// indexesActive reports whether every index of a table is active, which means that it contains all
// records. An emulator of AWS may report no status.
func indexesActive(t *types.TableDescription) bool {
	return t != nil && !slices.ContainsFunc(t.GlobalSecondaryIndexes, func(i types.GlobalSecondaryIndexDescription) bool {
		return i.IndexStatus != types.IndexStatusActive && i.IndexStatus != ""
	})
}

// addIndexes adds the missing indexes one at a time, as DynamoDB requires.
func (c *Client) addIndexes(ctx context.Context) error {
	found, err := c.db.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &c.name})
	if err != nil {
		return err
	}
	wanted := CreateTableInput(c.name)
	for _, index := range wanted.GlobalSecondaryIndexes {
		if slices.ContainsFunc(found.Table.GlobalSecondaryIndexes, func(have types.GlobalSecondaryIndexDescription) bool {
			return *have.IndexName == *index.IndexName
		}) {
			continue
		}
		add := &types.CreateGlobalSecondaryIndexAction{IndexName: index.IndexName, KeySchema: index.KeySchema, Projection: index.Projection}
		_, err := c.db.UpdateTable(ctx, &dynamodb.UpdateTableInput{
			TableName: &c.name, AttributeDefinitions: wanted.AttributeDefinitions,
			GlobalSecondaryIndexUpdates: []types.GlobalSecondaryIndexUpdate{{Create: add}},
		})
		if err != nil {
			return fmt.Errorf("add the index %s: %w", *index.IndexName, err)
		}
	}
	return nil
}

// EnableStream gives the table a stream with the old and the new image of each write. It does
// nothing if the table already has such a stream. It is for local engines and tests.
func (c *Client) EnableStream(ctx context.Context) error {
	found, err := c.db.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &c.name})
	if err != nil {
		return fmt.Errorf("enable the stream of %s: %w", c.name, err)
	}
	if s := found.Table.StreamSpecification; s != nil && aws.ToBool(s.StreamEnabled) && s.StreamViewType == types.StreamViewTypeNewAndOldImages {
		return nil
	}
	_, err = c.db.UpdateTable(ctx, &dynamodb.UpdateTableInput{TableName: &c.name, StreamSpecification: &types.StreamSpecification{
		StreamEnabled: aws.Bool(true), StreamViewType: types.StreamViewTypeNewAndOldImages,
	}})
	if err != nil {
		return fmt.Errorf("enable the stream of %s: %w", c.name, err)
	}
	return nil
}

// Drop deletes the table. It is for tests.
func (c *Client) Drop(ctx context.Context) error {
	_, err := c.db.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: &c.name})
	return err
}

// The methods below call the SDK. They set the table's name and WriterAttr, count the capacity
// units, and delay writes until they are permitted. Areas rarely need these methods: see Get, List,
// Modify and Transact.

// GetItem reads one item with strong consistency, so a read by id sees every earlier write.
func (c *Client) GetItem(ctx context.Context, in *dynamodb.GetItemInput) (*dynamodb.GetItemOutput, error) {
	in.TableName, in.ConsistentRead, in.ReturnConsumedCapacity = &c.name, aws.Bool(true), types.ReturnConsumedCapacityTotal
	out, err := c.db.GetItem(ctx, in)
	if err != nil {
		countFailed(ctx)
		return nil, wrapCallError("get item", err)
	}
	countRead(ctx, out.ConsumedCapacity)
	return out, nil
}

// queryUnitsMin is the number of capacity units that DynamoDB charges for a query that finds
// nothing. DynamoDB Local reports no units for such a query.
const queryUnitsMin = 0.5

// pageRecords is the maximum number of records that a Query or Scan reads when its caller sets no
// limit. DynamoDB stops at 1 MB in any case. Without a limit, a local engine reads to the end of
// the partition or table for each page, so the time of an export would grow with the square of its
// size.
const pageRecords = 1000

// Query reads one page of a partition. The options apply only to this call.
func (c *Client) Query(ctx context.Context, in *dynamodb.QueryInput, options ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	in.TableName, in.ReturnConsumedCapacity = &c.name, types.ReturnConsumedCapacityTotal
	if in.Limit == nil {
		in.Limit = aws.Int32(pageRecords)
	}
	out, err := c.db.Query(ctx, in, options...)
	if err != nil {
		countFailed(ctx)
		return nil, wrapCallError("query", err)
	}
	addUnits(ctx, max(capacityUnits(out.ConsumedCapacity), queryUnitsMin), 0)
	return out, nil
}

// Scan reads one page of the whole table. Only the operator's command line uses it: the functions'
// roles deny it.
func (c *Client) Scan(ctx context.Context, in *dynamodb.ScanInput) (*dynamodb.ScanOutput, error) {
	in.TableName, in.ReturnConsumedCapacity = &c.name, types.ReturnConsumedCapacityTotal
	if in.Limit == nil {
		in.Limit = aws.Int32(pageRecords)
	}
	out, err := c.db.Scan(ctx, in)
	if err != nil {
		countFailed(ctx)
		return nil, wrapCallError("scan", err)
	}
	countRead(ctx, out.ConsumedCapacity)
	return out, nil
}

// IsEmpty reports whether the table has no items, expired ones included. Like Scan, it is only for
// the operator's command line.
func (c *Client) IsEmpty(ctx context.Context) (bool, error) {
	out, err := c.Scan(ctx, &dynamodb.ScanInput{Limit: aws.Int32(1), ConsistentRead: aws.Bool(true)})
	return err == nil && len(out.Items) == 0, err
}

// UpdateItem changes one item.
func (c *Client) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput) (*dynamodb.UpdateItemOutput, error) {
	if err := c.waitForPermit(ctx); err != nil {
		return nil, err
	}
	in.UpdateExpression, in.ExpressionAttributeValues = c.writerOf(ctx).applyToUpdate(in.UpdateExpression, in.ExpressionAttributeValues)
	return c.updateItem(ctx, in)
}

// UpdateKey is UpdateItem for the write that verifies a key. It needs no permit, because permits
// depend on this write. It keeps the record's WriterAttr. It returns an error for a record outside
// KeysArea.
func (c *Client) UpdateKey(ctx context.Context, in *dynamodb.UpdateItemInput) (*dynamodb.UpdateItemOutput, error) {
	if !strings.HasSuffix(KeyOf(in.Key).PK, JoinKey("", KeysArea)) {
		return nil, fmt.Errorf("update a key: the partition %q has no keys", KeyOf(in.Key).PK)
	}
	return c.updateItem(ctx, in)
}

func (c *Client) updateItem(ctx context.Context, in *dynamodb.UpdateItemInput) (*dynamodb.UpdateItemOutput, error) {
	in.TableName, in.ReturnConsumedCapacity = &c.name, types.ReturnConsumedCapacityTotal
	out, err := c.db.UpdateItem(ctx, in)
	if err != nil {
		countFailed(ctx)
		return nil, wrapCallError("update item", err)
	}
	countWrite(ctx, out.ConsumedCapacity)
	return out, nil
}

// PutItem replaces one item.
func (c *Client) PutItem(ctx context.Context, in *dynamodb.PutItemInput) error {
	if err := c.waitForPermit(ctx); err != nil {
		return err
	}
	in.Item = c.writerOf(ctx).applyToItem(in.Item)
	in.TableName, in.ReturnConsumedCapacity = &c.name, types.ReturnConsumedCapacityTotal
	out, err := c.db.PutItem(ctx, in)
	if err != nil {
		countFailed(ctx)
		return wrapCallError("put item", err)
	}
	countWrite(ctx, out.ConsumedCapacity)
	return nil
}

// DeleteItem deletes one item.
func (c *Client) DeleteItem(ctx context.Context, in *dynamodb.DeleteItemInput) error {
	_, err := c.deleteItem(ctx, in)
	return err
}

// deleteItem is like DeleteItem, but also returns how many times the request was sent. If that is
// more than once, a response may have been lost.
func (c *Client) deleteItem(ctx context.Context, in *dynamodb.DeleteItemInput) (attempts int, err error) {
	if err := c.waitForPermit(ctx); err != nil {
		return 0, err
	}
	in.TableName, in.ReturnConsumedCapacity = &c.name, types.ReturnConsumedCapacityTotal
	out, err := c.db.DeleteItem(ctx, in, func(o *dynamodb.Options) {
		o.APIOptions = append(o.APIOptions, func(s *middleware.Stack) error {
			count := func(ctx context.Context, in middleware.FinalizeInput, next middleware.FinalizeHandler) (middleware.FinalizeOutput, middleware.Metadata, error) {
				attempts++
				return next.HandleFinalize(ctx, in)
			}
			return s.Finalize.Insert(middleware.FinalizeMiddlewareFunc("CountAttempts", count), "Retry", middleware.After)
		})
	})
	if err != nil {
		countFailed(ctx)
		return attempts, wrapCallError("delete item", err)
	}
	countWrite(ctx, out.ConsumedCapacity)
	return attempts, nil
}

func countRead(ctx context.Context, units *types.ConsumedCapacity) {
	addUnits(ctx, capacityUnits(units), 0)
}

func countWrite(ctx context.Context, units *types.ConsumedCapacity) {
	addUnits(ctx, 0, capacityUnits(units))
}

// countFailed counts a failed call, without units, because DynamoDB reports units only for
// successful calls.
func countFailed(ctx context.Context) { addUnits(ctx, 0, 0) }

func capacityUnits(units *types.ConsumedCapacity) float64 {
	if units == nil || units.CapacityUnits == nil {
		return 0
	}
	return *units.CapacityUnits
}

// waitForPermit waits until it is known whether writes are permitted. If they are not, it returns
// the refusal, the context's error or ErrNoPermit.
func (c *Client) waitForPermit(ctx context.Context) error { return waitForPermit(ctx, c.operator) }

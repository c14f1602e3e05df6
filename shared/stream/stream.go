// Package stream reads a table's stream from an engine. The local server and tests use it; in an
// AWS account, Lambda reads the stream.
package stream

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"

	"growthworkspace/shared/change"
	"growthworkspace/shared/table"
)

// Consume handles a batch of records from one shard, in the order of the shard. After an error, the
// same records are delivered again, perhaps in other batches.
type Consume func(ctx context.Context, shardID string, records []change.StreamRecord) error

// Reader delivers the records of a stream that it has not delivered yet. A new Reader starts with
// the oldest records in the stream. It is not safe for concurrent use.
type Reader struct {
	streams   *dynamodbstreams.Client
	table     string
	streamARN string // empty until it is known
	shards    []*shard
	isDrained bool // whether the last Poll delivered nothing
}

// shard is a shard of the stream, and how far it has been read.
type shard struct {
	id, parent    string
	iterator      *string // nil before the first read
	lastDelivered string  // the last sequence number; empty if there is none
	isFinished    bool    // nothing will follow
}

// batchRecordsMax is the maximum number of records in a batch, as in the event source of the stack.
const batchRecordsMax = 100

// New returns a reader of a table's stream. It sends no request.
func New(o table.Options) *Reader {
	transport := o.Transport
	if transport == nil {
		transport = http.DefaultTransport
	}
	return &Reader{table: o.Name, streams: dynamodbstreams.New(dynamodbstreams.Options{
		Region: o.Region, Credentials: o.Credentials, HTTPClient: &http.Client{Transport: transport},
	}, func(d *dynamodbstreams.Options) {
		if o.Endpoint != "" {
			d.BaseEndpoint = &o.Endpoint
		}
	})}
}

// ErrNoStream means that the table has no stream. See table.Client.EnableStream.
var ErrNoStream = errors.New("the table has no stream")

// Drain delivers every remaining record of the stream.
func (r *Reader) Drain(ctx context.Context, consume Consume) error {
	for {
		n, err := r.Poll(ctx, consume)
		if err != nil || n == 0 {
			return err
		}
	}
}

// Poll delivers the next batch of each shard and returns the number of records that it delivered. A
// shard is delivered only after the parent from which it was split, so the writes to one item are
// delivered in order.
func (r *Reader) Poll(ctx context.Context, consume Consume) (delivered int, err error) {
	// An engine may look at every record of a shard to describe it, so while there are records, only
	// read them.
	if len(r.shards) == 0 || r.isDrained {
		if err := r.findShards(ctx); err != nil {
			return 0, fmt.Errorf("read the stream: %w", err)
		}
	}
	var errs []error
	for _, s := range r.shards {
		if s.isFinished || slices.ContainsFunc(r.shards, func(p *shard) bool { return p.id == s.parent && !p.isFinished }) {
			continue
		}
		n, err := r.readBatch(ctx, s, consume)
		delivered, errs = delivered+n, append(errs, err)
	}
	r.isDrained = delivered == 0
	return delivered, errors.Join(errs...)
}

// findShards adds the shards that are new since the last call, and removes those that no longer
// exist.
func (r *Reader) findShards(ctx context.Context) error {
	if r.streamARN == "" {
		streams, err := r.streams.ListStreams(ctx, &dynamodbstreams.ListStreamsInput{TableName: &r.table})
		if err != nil {
			return err
		}
		if len(streams.Streams) == 0 {
			return ErrNoStream
		}
		r.streamARN = *streams.Streams[len(streams.Streams)-1].StreamArn
	}
	in := &dynamodbstreams.DescribeStreamInput{StreamArn: &r.streamARN}
	listed := map[string]bool{}
	for {
		out, err := r.streams.DescribeStream(ctx, in)
		if err != nil {
			return err
		}
		for _, found := range out.StreamDescription.Shards {
			listed[*found.ShardId] = true
			if !slices.ContainsFunc(r.shards, func(s *shard) bool { return s.id == *found.ShardId }) {
				r.shards = append(r.shards, &shard{id: *found.ShardId, parent: aws.ToString(found.ParentShardId)})
			}
		}
		if in.ExclusiveStartShardId = out.StreamDescription.LastEvaluatedShardId; in.ExclusiveStartShardId == nil {
			r.shards = slices.DeleteFunc(r.shards, func(s *shard) bool { return !listed[s.id] })
			return nil
		}
	}
}

// readBatch delivers the next batch of a shard.
func (r *Reader) readBatch(ctx context.Context, s *shard, consume Consume) (delivered int, err error) {
	if s.iterator == nil {
		if s.iterator, err = r.startIterator(ctx, s); err != nil {
			return 0, fmt.Errorf("read the stream: %w", err)
		}
	}
	out, err := r.streams.GetRecords(ctx, &dynamodbstreams.GetRecordsInput{ShardIterator: s.iterator, Limit: aws.Int32(batchRecordsMax)})
	if err != nil {
		s.iterator = nil // it may have expired
		return 0, fmt.Errorf("read the stream: %w", err)
	}
	records := make([]change.StreamRecord, len(out.Records))
	for n, record := range out.Records {
		if records[n], err = convertRecord(record.Dynamodb); err != nil {
			return 0, fmt.Errorf("read the stream: %w", err)
		}
	}
	if len(records) > 0 {
		if err := consume(ctx, s.id, records); err != nil {
			return 0, err
		}
		s.lastDelivered = records[len(records)-1].SequenceNumber
	}
	s.iterator, s.isFinished = out.NextShardIterator, out.NextShardIterator == nil
	return len(records), nil
}

func (r *Reader) startIterator(ctx context.Context, s *shard) (*string, error) {
	in := &dynamodbstreams.GetShardIteratorInput{StreamArn: &r.streamARN, ShardId: &s.id, ShardIteratorType: types.ShardIteratorTypeTrimHorizon}
	if s.lastDelivered != "" {
		in.ShardIteratorType, in.SequenceNumber = types.ShardIteratorTypeAfterSequenceNumber, &s.lastDelivered
	}
	out, err := r.streams.GetShardIterator(ctx, in)
	var trimmed *types.TrimmedDataAccessException
	if errors.As(err, &trimmed) && s.lastDelivered != "" { // the stream has dropped the delivered record, so the shard now begins with a later record
		s.lastDelivered = ""
		return r.startIterator(ctx, s)
	}
	if err != nil {
		return nil, err
	}
	return out.ShardIterator, nil
}

// Package recorder records in a company's feed what the table's stream says about its records. It
// consumes the stream, so no request does any work for the feed.
package recorder

import (
	"context"

	"growthworkspace/shared/change"
	"growthworkspace/shared/table"
)

// Recorder records changes.
type Recorder struct {
	table *table.Client
	park  func(context.Context, Parked) error
}

// Parked names a record of the stream that could not be read.
type Parked struct {
	ShardID        string    `json:"shardId"`
	SequenceNumber string    `json:"sequenceNumber"`
	Key            table.Key `json:"key"`
	Reason         string    `json:"reason"`
}

// New returns a recorder over the table. The client must be an operator's (table.Client.AsOperator).
// park keeps a record that could not be read for the operator; its error stops the recorder.
func New(t *table.Client, park func(context.Context, Parked) error) *Recorder {
	return &Recorder{t, park}
}

// Record records the changes that a batch of one shard contains, in order. It may be repeated with
// the same batch, or with any other batch that continues where an earlier one began: what is
// recorded already is recognised. After an error, the same records must be delivered again before
// any later ones.
func (r *Recorder) Record(ctx context.Context, shardID string, records []change.StreamRecord) error {
	return nil
}

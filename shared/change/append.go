package change

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"growthworkspace/shared/table"
	"growthworkspace/shared/timestamp"
)

// Occurrence is the event that a stream record reports, together with the other data that a Change
// needs.
type Occurrence struct {
	Event

	Type           Type
	KeyID          string // empty if an operator made the change, or if it is a deletion
	OccurredAt     time.Time
	SequenceNumber string
}

// counter is the head of a feed as stored.
type counter struct {
	Last   int64           `store:"last"` // the position of the last packet
	Shards json.RawMessage `store:"shards"`
}

// shardState records how much of a shard is already in the feed.
type shardState struct {
	Last string `json:"last"` // a sequence number
	At   int64  `json:"at"`   // when Last was recorded, as a Unix time in seconds
}

// shardStateRetention is how long the state of a shard is kept after its last packet. The stream
// keeps its records for 24 hours, so nothing older can be delivered again.
const shardStateRetention = 25 * time.Hour

// appendAttemptsMax is the maximum number of attempts to append a packet while other shards keep
// appending theirs first. The pause between attempts grows to at most appendDelayMax.
const (
	appendAttemptsMax = 30
	appendDelay       = 5 * time.Millisecond
	appendDelayMax    = 200 * time.Millisecond
)

// Append adds a batch of occurrences from one shard to a company's feed. The occurrences must be in
// stream order. Append is idempotent: it drops occurrences that are already recorded, even if they
// came in different batches. It does nothing if the company has no feed. It returns
// table.ErrTooMuchContention if too many other shards write to the feed at the same time.
func Append(ctx context.Context, t *table.Client, companyID, shardID string, occurrences []Occurrence) error {
	for batch := range slices.Chunk(occurrences, PacketChangesMax) {
		if err := appendPacket(ctx, t, companyID, shardID, batch); err != nil {
			return fmt.Errorf("append to the feed of %s: %w", companyID, err)
		}
	}
	return nil
}

func appendPacket(ctx context.Context, t *table.Client, companyID, shardID string, batch []Occurrence) error {
	for attempt := range appendAttemptsMax {
		item, err := table.GetItem(ctx, t, CounterKey(companyID))
		if err != nil || len(item) == 0 {
			return err
		}
		var head counter
		if err := table.Decode(item, &head); err != nil {
			return err
		}
		writes, err := head.appendWrites(t, companyID, shardID, batch)
		if err != nil || writes == nil {
			return err
		}
		var canceled *table.CanceledError
		if err = t.Transact(ctx, writes...); !errors.As(err, &canceled) {
			return err
		}
		// Either another packet was appended first, or this one was appended and the response was
		// lost. The next read of the counter shows which.
		if err := table.SleepJittered(ctx, min(appendDelay<<min(attempt, 10), appendDelayMax)); err != nil {
			return err
		}
	}
	return table.ErrTooMuchContention
}

// appendWrites returns the transaction that appends the new occurrences of a batch. It creates a
// packet and updates the feed's counter, on the condition that no other packet was appended since
// head was read. appendWrites returns nil if the batch contains nothing new.
func (c counter) appendWrites(t *table.Client, companyID, shardID string, batch []Occurrence) ([]table.Write, error) {
	shards := map[string]shardState{}
	if len(c.Shards) > 0 {
		if err := json.Unmarshal(c.Shards, &shards); err != nil {
			return nil, fmt.Errorf("decode the counter: %w", err)
		}
	}
	known := shards[shardID].Last
	batch = slices.DeleteFunc(slices.Clone(batch), func(o Occurrence) bool { return !isLater(o.SequenceNumber, known) })
	if len(batch) == 0 {
		return nil, nil
	}
	now := t.Clock()()
	for id, s := range shards {
		if time.Unix(s.At, 0).Before(now.Add(-shardStateRetention)) {
			delete(shards, id)
		}
	}
	shards[shardID] = shardState{batch[len(batch)-1].SequenceNumber, now.Unix()}
	text, err := json.Marshal(shards)
	if err != nil {
		return nil, err
	}
	position := max(c.Last+1, now.UnixMicro())
	keys, packet := newPacket(companyID, position, c.Last, changesOf(companyID, shardID, batch))
	names := map[string]string{"#last": "last", "#shards": "shards"}
	values := table.Item{":position": table.Number(position), ":shards": table.String(string(text))}
	condition := "attribute_exists(pk) AND attribute_not_exists(#last)"
	if c.Last > 0 {
		condition, values[":last"] = "#last = :last", table.Number(c.Last)
	}
	return []table.Write{
		t.WriteUpdate(CounterKey(companyID), "SET #last = :position, #shards = :shards", condition, names, values),
		t.WriteCreate(keys, packet),
	}, nil
}

// isLater reports whether sequence number a comes after b in the same shard. Sequence numbers are
// whole numbers without leading zeros. An empty one comes before all others.
func isLater(a, b string) bool {
	if len(a) != len(b) {
		return len(a) > len(b)
	}
	return a > b
}

// changesOf returns the changes in a batch. Occurrences with the same type, record and non-empty
// group become one change.
func changesOf(companyID, shardID string, batch []Occurrence) []Change {
	type groupKey struct {
		t               Type
		recordID, group string
	}
	seen := map[groupKey]bool{}
	var out []Change
	for _, o := range batch {
		g := groupKey{o.Type, o.RecordID, o.Group}
		if o.Group != "" && seen[g] {
			continue
		}
		seen[g] = true
		digest := sha256.Sum256([]byte(strings.Join([]string{companyID, shardID, o.SequenceNumber, string(o.Type)}, "\x00")))
		c := Change{
			ID: newID(o.OccurredAt, digest[:idDigestBytes]), CompanyID: companyID, Type: o.Type, RecordID: o.RecordID, Action: o.Action,
			OccurredAt: timestamp.Format(o.OccurredAt),
		}
		if o.Status != "" {
			c.Status = &o.Status
		}
		if o.KeyID != "" {
			c.KeyID = &o.KeyID
		}
		out = append(out, c)
	}
	return out
}

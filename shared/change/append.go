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

// Occurrence is an event of a record of the stream, with what a Change needs besides.
type Occurrence struct {
	Event

	Type           Type
	KeyID          string // empty: an operator, or a deletion
	OccurredAt     time.Time
	SequenceNumber string
}

// counter is the head of a feed as stored.
type counter struct {
	Last   int64           `store:"last"` // the position of the last packet
	Shards json.RawMessage `store:"shards"`
}

// shardState is how far a shard has been recorded.
type shardState struct {
	Last string `json:"last"` // a sequence number
	At   int64  `json:"at"`   // when it was recorded, as a Unix time in seconds
}

// shardKept is how long the state of a shard is kept after its last packet. The stream keeps its
// records for 24 hours, so nothing older can be delivered again.
const shardKept = 25 * time.Hour

// appendAttemptsMax bounds how many times Append starts again because another shard's packet came
// first. The pauses between the attempts grow to appendDelayMax.
const (
	appendAttemptsMax = 30
	appendDelay       = 5 * time.Millisecond
	appendDelayMax    = 200 * time.Millisecond
)

// Append adds what happened in a batch of one shard to the feed of a company. The occurrences are in
// the order of the stream. Append is idempotent: it drops occurrences that are recorded already, in
// whatever batches they came. It does nothing if the company has no feed. It returns
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
		var lost *table.CanceledError
		if err = t.Transact(ctx, writes...); !errors.As(err, &lost) {
			return err
		}
		// Another packet came first, or the response to this one was lost: the counter tells.
		if err := table.SleepJittered(ctx, min(appendDelay<<min(attempt, 10), appendDelayMax)); err != nil {
			return err
		}
	}
	return table.ErrTooMuchContention
}

// appendWrites returns the transaction that appends what is new of a batch: a packet, and the head
// of the feed on the condition that it is still head. It returns nil if nothing is new.
func (head counter) appendWrites(t *table.Client, companyID, shardID string, batch []Occurrence) ([]table.Write, error) {
	shards := map[string]shardState{}
	if len(head.Shards) > 0 {
		if err := json.Unmarshal(head.Shards, &shards); err != nil {
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
		if time.Unix(s.At, 0).Before(now.Add(-shardKept)) {
			delete(shards, id)
		}
	}
	shards[shardID] = shardState{batch[len(batch)-1].SequenceNumber, now.Unix()}
	text, err := json.Marshal(shards)
	if err != nil {
		return nil, err
	}
	position := max(head.Last+1, now.UnixMicro())
	keys, packet := newPacket(companyID, position, head.Last, changesOf(companyID, shardID, batch))
	names := map[string]string{"#last": "last", "#shards": "shards"}
	values := table.Item{":position": table.Number(position), ":shards": table.String(string(text))}
	condition := "attribute_exists(pk) AND attribute_not_exists(#last)"
	if head.Last > 0 {
		condition, values[":last"] = "#last = :last", table.Number(head.Last)
	}
	return []table.Write{
		t.WriteUpdate(CounterKey(companyID), "SET #last = :position, #shards = :shards", condition, names, values),
		t.WriteCreate(keys, packet),
	}, nil
}

// isLater reports whether a sequence number comes after another of the same shard. Sequence numbers
// are whole numbers without leading zeros. An empty one comes before all others.
func isLater(a, b string) bool {
	if len(a) != len(b) {
		return len(a) > len(b)
	}
	return a > b
}

// changesOf returns the changes of a batch, one for each group.
func changesOf(companyID, shardID string, batch []Occurrence) []Change {
	type group struct {
		t                Type
		recordID, inside string
	}
	seen := map[group]bool{}
	var out []Change
	for _, o := range batch {
		g := group{o.Type, o.RecordID, o.Group}
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

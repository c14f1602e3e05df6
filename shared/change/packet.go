package change

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"growthworkspace/shared/id"
	"growthworkspace/shared/table"
	"growthworkspace/shared/timestamp"
)

// Area is the area of a company's feed. Its partition contains:
//
//	the head of the feed    counter
//	packets of changes      packet#<position>, ordered by time
const Area = "changes"

const packetPrefix = "packet#"

// PacketKey returns the key of the packet at a position.
func PacketKey(companyID string, position int64) table.Key {
	return table.Key{PK: table.Partition(companyID, Area), SK: fmt.Sprintf("%s%020d", packetPrefix, position)}
}

// LastPacketKey returns a key that is after those of all packets.
func LastPacketKey(companyID string) table.Key {
	return table.Key{PK: table.Partition(companyID, Area), SK: packetPrefix + "~"}
}

// packetRetention is how long a packet is kept, counted from the time in its position. It is longer
// than ReadableFor, so the packet from which a reader continues is never deleted.
const packetRetention = 32 * 24 * time.Hour

// PacketChangesMax is the maximum number of changes in a packet.
const PacketChangesMax = 100

// Packet is one item of a feed: the changes of one batch of one shard.
type Packet struct {
	Position int64
	Previous int64 // the position of the previous packet; 0 for the first
	Changes  []Change
	Expired  bool // may be deleted at any time
}

// Time returns when the packet was written. The packet's position contains that time.
func (p Packet) Time() time.Time { return timeOf(p.Position) }

// storedPacket is a Packet as stored.
type storedPacket struct {
	Previous int64  `store:"before"`
	Changes  string `store:"changes"`
	TTL      int64  `store:"ttl"`
}

// newPacket returns the keys and the stored form of a packet.
func newPacket(companyID string, position, previous int64, changes []Change) (table.Keys, storedPacket) {
	return table.Keys{Key: PacketKey(companyID, position)},
		storedPacket{previous, encodeChanges(changes), timeOf(position).Add(packetRetention).Unix()}
}

// DecodePacket decodes an item of a feed.
func DecodePacket(companyID string, item table.Item, now time.Time) (p Packet, err error) {
	key := table.KeyOf(item)
	var stored storedPacket
	if err := table.Decode(item, &stored); err != nil {
		return p, err
	}
	digits, ok := strings.CutPrefix(key.SK, packetPrefix)
	position, err := strconv.ParseInt(digits, 10, 64)
	if !ok || err != nil {
		return p, fmt.Errorf("decode a packet: %q is not its key", key.SK)
	}
	p = Packet{Position: position, Previous: stored.Previous, Expired: stored.TTL <= now.Unix()}
	if p.Changes, err = decodeChanges(companyID, stored.Changes); err != nil {
		return p, fmt.Errorf("decode packet %d: %w", position, err)
	}
	return p, nil
}

const idPrefix = "chg"

// changeWords is the number of words in the line of a change. The first line of a packet's text
// contains the time of the first change and the ids of the keys. One line for each change follows.
// Its words, each escaped, are the last 80 bits of the id, the type, the action, the record's id,
// the status, the index of the key among those in the first line (empty if there is no key), and
// the milliseconds since the packet's first change.
const changeWords = 7

var digestEncoding = base64.RawURLEncoding.Strict()

func encodeChanges(changes []Change) string {
	if len(changes) == 0 {
		return ""
	}
	first := millisecondsOf(changes[0])
	var keys, lines []string
	for _, c := range changes {
		key := ""
		if c.KeyID != nil {
			if !slices.Contains(keys, *c.KeyID) {
				keys = append(keys, *c.KeyID)
			}
			key = strconv.Itoa(slices.Index(keys, *c.KeyID))
		}
		status := ""
		if c.Status != nil {
			status = *c.Status
		}
		b, _ := id.Bytes(idPrefix, c.ID)
		lines = append(lines, joinWords(digestEncoding.EncodeToString(b[6:]), string(c.Type), string(c.Action), c.RecordID, status, key,
			strconv.FormatInt(millisecondsOf(c)-first, 10)))
	}
	head := joinWords(append([]string{strconv.FormatInt(first, 10)}, keys...)...)
	return head + "\n" + strings.Join(lines, "\n")
}

func millisecondsOf(c Change) int64 {
	t, _ := timestamp.Parse(c.OccurredAt)
	return t.UnixMilli()
}

func joinWords(words ...string) string {
	for i, w := range words {
		words[i] = url.QueryEscape(w)
	}
	return strings.Join(words, " ")
}

func splitWords(line string) ([]string, error) {
	words := strings.Split(line, " ")
	for i, w := range words {
		var err error
		if words[i], err = url.QueryUnescape(w); err != nil {
			return nil, err
		}
	}
	return words, nil
}

var errMalformed = errors.New("malformed changes")

func decodeChanges(companyID, text string) (changes []Change, err error) {
	if text == "" {
		return nil, nil
	}
	lines := strings.Split(text, "\n")
	head, err := splitWords(lines[0])
	if err != nil {
		return nil, err
	}
	first, err := strconv.ParseInt(head[0], 10, 64)
	if err != nil {
		return nil, err
	}
	changes = make([]Change, len(lines)-1)
	for i, line := range lines[1:] {
		words, err := splitWords(line)
		if err != nil {
			return nil, err
		}
		if len(words) != changeWords {
			return nil, errMalformed
		}
		digest, err1 := digestEncoding.DecodeString(words[0])
		offset, err2 := strconv.ParseInt(words[6], 10, 64)
		if err := errors.Join(err1, err2); err != nil {
			return nil, err
		}
		at := time.UnixMilli(first + offset)
		c := Change{
			ID: newID(at, digest), CompanyID: companyID, Type: Type(words[1]), Action: Action(words[2]), RecordID: words[3],
			OccurredAt: timestamp.Format(at),
		}
		if words[4] != "" {
			c.Status = &words[4]
		}
		if words[5] != "" {
			n, err := strconv.Atoi(words[5])
			if err != nil || n < 0 || n+1 >= len(head) {
				return nil, errMalformed
			}
			c.KeyID = &head[n+1]
		}
		changes[i] = c
	}
	return changes, nil
}

// idDigestBytes is the length of the digest in an id.
const idDigestBytes = 10

// newID returns the id of a change. It begins with the time, like other ids, and continues with a
// digest. It contains no serial number, because that would tell a client how many changes are
// hidden from it.
func newID(at time.Time, digest []byte) string {
	var b [16]byte
	binary.BigEndian.PutUint64(b[:8], uint64(at.UnixMilli())<<16)
	copy(b[6:], digest)
	return id.FromBytes(idPrefix, b)
}

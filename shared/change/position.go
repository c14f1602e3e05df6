package change

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"time"
)

// Position is how far a reader has read a company's feed. The zero Position is the beginning.
type Position struct {
	// Packet is the position of the last packet of which something was read. It need not be the
	// position of a packet if Read is WholePacket; then everything up to it has been read.
	Packet int64

	// Read is the number of changes that were read of that packet, or WholePacket.
	Read int

	// CheckedAt is the time up to which the reader has read: the time at which it reached the end
	// of the feed, or the time of the packet.
	CheckedAt time.Time
}

// WholePacket is the Read of a Position after a packet's last change.
const WholePacket = -1

// PositionOf returns the Position from which a reader reads every change since a time, and perhaps
// a few earlier ones. The clock of the recorder and the clock of DynamoDB, which gives changes
// their times, may differ by a minute.
func PositionOf(since time.Time) Position {
	return Position{Packet: since.Add(-time.Minute).UnixMicro(), Read: WholePacket, CheckedAt: since}
}

// timeOf returns the time of a packet, which its position contains.
func timeOf(packet int64) time.Time { return time.UnixMicro(packet).UTC() }

// PositionIn returns the position after the first n changes of a packet.
func PositionIn(p Packet, n int) Position {
	if n == len(p.Changes) {
		n = WholePacket
	}
	return Position{p.Position, n, p.Time()}
}

// ReadableFor is how long a reader can go on from a position after it has reached the end of the
// feed. Packets are kept for longer.
const ReadableFor = 30 * 24 * time.Hour

// Errors of ParsePosition.
var (
	ErrUnknownPosition = errors.New("the position is unknown")
	ErrForeignPosition = errors.New("the position is in the feed of another company")
	ErrExpiredPosition = errors.New("the position is too old")
)

// A position is sent as base64url of: a version byte, 8 bytes of the company's digest, the packet
// and the time in milliseconds with 8 bytes each, the number of changes with 2 bytes, and 4 bytes of
// a digest of all that.
const (
	positionVersion = 1
	companyBytes    = 8
	checksumBytes   = 4
	positionBytes   = 1 + companyBytes + 8 + 8 + 2 + checksumBytes
)

var positionEncoding = base64.RawURLEncoding.Strict()

// Encode returns the position as an opaque text that is valid only for the company.
func (p Position) Encode(companyID string) string {
	company := sha256.Sum256([]byte(companyID))
	b := append([]byte{positionVersion}, company[:companyBytes]...)
	b = binary.BigEndian.AppendUint64(b, uint64(p.Packet))
	b = binary.BigEndian.AppendUint64(b, uint64(p.CheckedAt.UnixMilli()))
	b = binary.BigEndian.AppendUint16(b, uint16(p.Read+1))
	return positionEncoding.EncodeToString(append(b, checksum(b)...))
}

// checksum recognises a text that was truncated or mistyped.
func checksum(b []byte) []byte {
	sum := sha256.Sum256(b)
	return sum[:checksumBytes]
}

// ParsePosition parses a text that Encode returned. It returns ErrUnknownPosition for any other
// text, ErrForeignPosition for a text of another company, and ErrExpiredPosition if packets after
// the position may have been deleted.
func ParsePosition(companyID, text string, now time.Time) (Position, error) {
	b, err := positionEncoding.DecodeString(text)
	if err != nil || len(b) != positionBytes || b[0] != positionVersion {
		return Position{}, ErrUnknownPosition
	}
	content, sum := b[:positionBytes-checksumBytes], b[positionBytes-checksumBytes:]
	if string(sum) != string(checksum(content)) {
		return Position{}, ErrUnknownPosition
	}
	company := sha256.Sum256([]byte(companyID))
	if string(content[1:1+companyBytes]) != string(company[:companyBytes]) {
		return Position{}, ErrForeignPosition
	}
	rest := content[1+companyBytes:]
	p := Position{
		Packet: int64(binary.BigEndian.Uint64(rest)), CheckedAt: time.UnixMilli(int64(binary.BigEndian.Uint64(rest[8:]))).UTC(),
		Read: int(binary.BigEndian.Uint16(rest[16:])) - 1,
	}
	if p.Packet < 0 || p.Read == 0 {
		return Position{}, ErrUnknownPosition
	}
	if p.CheckedAt.Before(now.Add(-ReadableFor)) {
		return Position{}, ErrExpiredPosition
	}
	return p, nil
}

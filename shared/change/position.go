package change

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"time"

	"growthworkspace/shared/id"
)

// Position is how far a reader has read a company's feed. The zero Position is the beginning.
type Position struct {
	// Packet is the position of the last packet that was read, at least in part. If ChangeID is
	// empty, everything up to Packet has been read, and a packet at that position need not exist.
	Packet int64

	// ChangeID is the id of the last change read from that packet, or empty if the packet was read
	// to its end. It is an id and not a number, because a number would tell a client how many
	// changes are hidden from it.
	ChangeID string

	// CheckedAt is the time at which the period ReadableFor starts. For a reader that reached the
	// end of the feed, it is the time at which that happened. For any other reader, it is at most
	// catchUpTime after the time up to which the reader has read.
	CheckedAt time.Time
}

// catchUpTime is how much longer a reader that has not reached the end of the feed can continue.
// Without it, a reader that starts with changes as old as ReadableFor could not continue a second
// later. Packets are kept long enough for that.
const catchUpTime = 24 * time.Hour

// PositionSince returns the Position from which a reader reads every change since a time, and
// perhaps a few earlier ones. It allows for a difference of a minute between the recorder's clock
// and DynamoDB's clock, which sets the times of changes.
func PositionSince(since time.Time) Position {
	return Position{Packet: since.Add(-time.Minute).UnixMicro(), CheckedAt: since.Add(catchUpTime)}
}

// timeOf returns the time that a packet's position contains.
func timeOf(packet int64) time.Time { return time.UnixMicro(packet).UTC() }

// PositionIn returns the position of a reader that has read the first n changes of p at the time
// now.
func PositionIn(p Packet, n int, now time.Time) Position {
	out := Position{Packet: p.Position, CheckedAt: p.Time().Add(catchUpTime)}
	if now.Before(out.CheckedAt) {
		out.CheckedAt = now
	}
	if n < len(p.Changes) {
		out.ChangeID = p.Changes[n-1].ID
	}
	return out
}

// ReadableFor is how long a reader that has reached the end of the feed can continue from its
// position. Packets are kept for longer.
const ReadableFor = 30 * 24 * time.Hour

// Errors of ParsePosition.
var (
	ErrUnknownPosition = errors.New("the position is unknown")
	ErrForeignPosition = errors.New("the position is in the feed of another company")
	ErrExpiredPosition = errors.New("the position is too old")
)

// A position is sent as base64url. The encoded bytes are a version byte, 8 bytes of the company's
// digest, 8 bytes for Packet, 8 bytes for CheckedAt in milliseconds, the 16 bytes of the change's
// id or zeros, and 4 bytes of a digest of all the preceding bytes.
const (
	positionVersion = 1
	companyBytes    = 8
	checksumBytes   = 4
	positionBytes   = 1 + companyBytes + 8 + 8 + 16 + checksumBytes
)

var positionEncoding = base64.RawURLEncoding.Strict()

// Encode returns the position as an opaque string that is valid only for the company.
func (p Position) Encode(companyID string) string {
	company := sha256.Sum256([]byte(companyID))
	b := append([]byte{positionVersion}, company[:companyBytes]...)
	b = binary.BigEndian.AppendUint64(b, uint64(p.Packet))
	b = binary.BigEndian.AppendUint64(b, uint64(p.CheckedAt.UnixMilli()))
	changeID, _ := id.Bytes(idPrefix, p.ChangeID) // all zeros if ChangeID is empty
	b = append(b, changeID[:]...)
	return positionEncoding.EncodeToString(append(b, checksum(b)...))
}

// checksum returns the digest by which ParsePosition recognises a truncated or mistyped position.
func checksum(b []byte) []byte {
	sum := sha256.Sum256(b)
	return sum[:checksumBytes]
}

// ParsePosition parses a string that Encode returned. It returns ErrUnknownPosition for any other
// string, ErrForeignPosition for another company's position, and ErrExpiredPosition if packets
// after the position may have been deleted.
func ParsePosition(companyID, text string, now time.Time) (Position, error) {
	// The decoder skips line breaks, so the length of the text is compared, too.
	b, err := positionEncoding.DecodeString(text)
	if err != nil || len(b) != positionBytes || len(text) != positionEncoding.EncodedLen(positionBytes) || b[0] != positionVersion {
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
	}
	if changeID := [16]byte(rest[16:]); changeID != ([16]byte{}) {
		p.ChangeID = id.FromBytes(idPrefix, changeID)
	}
	if p.Packet < 0 {
		return Position{}, ErrUnknownPosition
	}
	if p.CheckedAt.Before(now.Add(-ReadableFor)) {
		return Position{}, ErrExpiredPosition
	}
	return p, nil
}

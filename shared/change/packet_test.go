package change

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"growthworkspace/shared/timestamp"
)

// Ensure that encoding and decoding the changes in a packet returns the same changes, whatever
// characters they contain, and that the encoding of a hundred changes stays small.
func TestEncodeChanges(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		var want []Change
		for range rapid.IntRange(1, PacketChangesMax).Draw(r, "changes") {
			at := time.UnixMilli(rapid.Int64Range(0, 1<<42).Draw(r, "time"))
			c := Change{
				ID: newID(at, rapid.SliceOfN(rapid.Byte(), idDigestBytes, idDigestBytes).Draw(r, "digest")), CompanyID: "co_1",
				Type: rapid.SampledFrom(Types()).Draw(r, "type"), Action: Action(rapid.SampledFrom(Action("").Values()).Draw(r, "action")),
				RecordID: rapid.String().Draw(r, "record"), OccurredAt: timestamp.Format(at),
			}
			if s := rapid.StringN(1, -1, -1).Draw(r, "status"); rapid.Bool().Draw(r, "has a status") {
				c.Status = &s
			}
			if k := rapid.SampledFrom([]string{"key_1", "key_2", "a b"}).Draw(r, "key"); rapid.Bool().Draw(r, "has a key") {
				c.KeyID = &k
			}
			want = append(want, c)
		}
		got, err := decodeChanges("co_1", encodeChanges(want))
		if err != nil {
			r.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			r.Errorf("the changes (-want +got):\n%s", diff)
		}
	})
	status, key := "needs_review", "key_01k2c5vd0v6x8z0b2d4f6h8k0m"
	typical := Change{ID: newID(time.Now(), make([]byte, idDigestBytes)), Type: "feedback", Action: Updated, RecordID: "fbk_01k2c5vczp2q4s6t8v0x2z4b6d", Status: &status, KeyID: &key, OccurredAt: timestamp.Format(time.Now())}
	all := make([]Change, PacketChangesMax)
	for n := range all {
		all[n] = typical
	}
	if n := len(encodeChanges(all)); n > 9<<10 {
		t.Errorf("%d typical changes take %d bytes, want at most 9 KB", len(all), n)
	}
}

// Ensure decoding malformed text returns an error and never panics.
func TestDecodeMalformedChanges(t *testing.T) {
	good := encodeChanges([]Change{{ID: newID(time.UnixMilli(1), make([]byte, idDigestBytes)), Type: "item", Action: Created, RecordID: "r", OccurredAt: "2026-08-11T09:30:00.000Z"}})
	for _, text := range []string{"x", "1\nx", "1\n" + strings.Repeat(" ", changeWords-1), strings.Replace(good, "created", "%zz", 1), strings.Replace(good, " r  ", " r  5", 1), strings.Replace(good, " r  ", " r  0", 1), good + "\n"} {
		if _, err := decodeChanges("co_1", text); err == nil {
			t.Errorf("%q is accepted", text)
		}
	}
}

// Ensure an encoded position is parsed correctly, but only for its own company and only until it
// expires. Any other string is an unknown position.
func TestPosition(t *testing.T) {
	now := time.Date(2026, 8, 11, 9, 30, 0, 0, time.UTC)
	rapid.Check(t, func(r *rapid.T) {
		p := Position{
			Packet: rapid.Int64Min(0).Draw(r, "packet"), ChangeID: rapid.SampledFrom([]string{"", newID(now, []byte("0123456789"))}).Draw(r, "change"),
			CheckedAt: now.Add(-time.Duration(rapid.Int64Range(0, int64(ReadableFor/time.Millisecond)).Draw(r, "age")) * time.Millisecond),
		}
		text := p.Encode("co_1")
		if got, err := ParsePosition("co_1", text, now); err != nil || got != p {
			r.Errorf("%+v was read as %+v: %v", p, got, err)
		}
		if _, err := ParsePosition("co_2", text, now); !errors.Is(err, ErrForeignPosition) {
			r.Errorf("of another company: %v", err)
		}
		if _, err := ParsePosition("co_1", text, now.Add(ReadableFor+time.Hour)); !errors.Is(err, ErrExpiredPosition) {
			r.Errorf("too old: %v", err)
		}
		at := rapid.IntRange(0, len(text)-1).Draw(r, "at")
		other := rapid.SampledFrom(strings.Split("ABCDEFabcdef0123456789-_ .", "")).Draw(r, "other")
		changed := text[:at] + other + text[at+1:]
		if _, err := ParsePosition("co_1", changed, now); changed != text && !errors.Is(err, ErrUnknownPosition) {
			r.Errorf("%s for %s: %v", changed, text, err)
		}
		if _, err := ParsePosition("co_1", rapid.String().Draw(r, "text"), now); !errors.Is(err, ErrUnknownPosition) {
			r.Errorf("another text: %v", err)
		}
	})
}

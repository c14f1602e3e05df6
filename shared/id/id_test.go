package id_test

import (
	"bytes"
	"crypto/rand"
	"regexp"
	"strings"
	"testing"
	"time"

	"growthworkspace/shared/id"
)

func TestGeneratorOrdersByTime(t *testing.T) {
	now := time.UnixMilli(1_786_440_600_000)
	next := id.NewGenerator(func() time.Time { return now }, rand.Reader)
	older := next("itm")
	now = now.Add(time.Millisecond)
	newer := next("itm")
	if older >= newer {
		t.Errorf("ids do not sort by age: %s, %s", older, newer)
	}
	if !id.Valid("itm", older) || len(older) != len("itm_")+26 || older != strings.ToLower(older) {
		t.Errorf("not an id: %s", older)
	}
}

func TestBytesRoundTrip(t *testing.T) {
	for _, b := range [][16]byte{{}, {0xff, 15: 0xff}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}} {
		s := id.FromBytes(id.CompanyPrefix, b)
		got, ok := id.Bytes(id.CompanyPrefix, s)
		if !ok || got != b {
			t.Errorf("%s: got %x, %v, want %x", s, got, ok, b)
		}
	}
	for _, s := range []string{"", "co_", "co_8zzzzzzzzzzzzzzzzzzzzzzzzz", "co_0000000000000000000000000", "co_0000000000000000000000000u", "xx_00000000000000000000000000"} {
		if _, ok := id.Bytes(id.CompanyPrefix, s); ok {
			t.Errorf("%q was accepted", s)
		}
	}
}

func TestValid(t *testing.T) {
	for s, want := range map[string]bool{
		"itm_1": true, "itm_" + strings.Repeat("z", 40): true, "itm_" + strings.Repeat("z", 41): false, "itm_": false,
		"itm_09az": true, "itm_/": false, "itm_:": false, "itm_`": false, "itm_{": false,
		"itm_A": false, "itm_a/b": false, "itm_a#b": false, "brd_1": false, "itm": false, "": false, "itm_a_b": false, "itm_é": false,
	} {
		if got := id.Valid("itm", s); got != want {
			t.Errorf("Valid(%q) = %v, want %v", s, got, want)
		}
	}
	for s, want := range map[string]bool{"brd_1": true, "az_1": true, "1_1": false, "`_1": false, "{_1": false} {
		if got := id.Valid("", s); got != want {
			t.Errorf("Valid(\"\", %q) = %v, want %v: an empty prefix allows lower-case letters only", s, got, want)
		}
	}
}

// Ensure a failing source of randomness causes a panic instead of repeated ids or keys.
func TestPanicsWithoutRandomness(t *testing.T) {
	for name, next := range map[string]func(){
		"id":                    func() { id.NewGenerator(time.Now, bytes.NewReader(nil))("itm") },
		"public key":            func() { id.NewPublicKey(bytes.NewReader(nil)) },
		"public key, too short": func() { id.NewPublicKey(bytes.NewReader(make([]byte, 15))) },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			next()
		})
	}
}

// Ensure all 128 bits of a public key come from the source of randomness, and from nothing else.
func TestPublicKey(t *testing.T) {
	seen := map[string]bool{}
	for bit := range 128 {
		var random [16]byte
		random[bit/8] = 1 << (bit % 8)
		key := id.NewPublicKey(bytes.NewReader(random[:]))
		if again := id.NewPublicKey(bytes.NewReader(random[:])); again != key || seen[key] {
			t.Errorf("bit %d: %s, then %s, or the key of another bit", bit, key, again)
		}
		seen[key] = true
		if got, ok := id.Bytes("pk_live", key); !ok || got != random {
			t.Errorf("bit %d: %s has %x", bit, key, got)
		}
	}
	if key := id.NewPublicKey(bytes.NewReader(bytes.Repeat([]byte{0xff}, 16))); key != "pk_live_7zzzzzzzzzzzzzzzzzzzzzzzzz" {
		t.Errorf("the largest key is %s", key)
	}
}

// Ensure that ids generated before a time sort before the id that LowerBound returns for that time,
// and that later ids do not.
func TestLowerBound(t *testing.T) {
	now := time.UnixMilli(1_786_440_600_123)
	for random, want := range map[byte]bool{0: true, 255: true} {
		idAt := func(d time.Duration) string {
			return id.NewGenerator(func() time.Time { return now.Add(d) }, bytes.NewReader(bytes.Repeat([]byte{random}, 16)))("w")
		}
		if bound := id.LowerBound("w", now); (idAt(0) >= bound) != want || (idAt(-time.Millisecond) < bound) != want {
			t.Errorf("bound %s: %s before it, %s at it", bound, idAt(-time.Millisecond), idAt(0))
		}
	}
}

// Ensure the published regular expression for ids matches exactly the valid ones.
func TestPattern(t *testing.T) {
	t.Parallel()
	pattern := regexp.MustCompile(id.Pattern("itm"))
	for _, s := range []string{"itm_1", "itm_" + strings.Repeat("z", 40), "itm_" + strings.Repeat("z", 41), "itm_", "itm", "ITM_1", "brd_1", "itm_A", "itm_1\n", "xitm_1", ""} {
		if got, want := pattern.MatchString(s), id.Valid("itm", s); got != want {
			t.Errorf("%q: %v, want %v", s, got, want)
		}
	}
}

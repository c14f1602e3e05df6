package schema_test

import (
	"crypto/sha256"
	"fmt"
	"reflect"
	"testing"

	"growthworkspace/shared/schema"
)

type digestInput struct {
	BoardID string   `path:"boardId"`
	Once    *string  `header:"Idempotency-Key"`
	IfMatch *string  `header:"If-Match"`
	Title   string   `json:"title" max:"99"`
	Order   *float64 `json:"order"`
	Points  []point  `json:"points" items:"3"`
}

// newerDigestInput is what digestInput might be in a later release.
type newerDigestInput struct {
	digestInput

	Colour  *colour `json:"colour"`
	Default string  `json:"default" max:"9" default:"usual"`
}

func digest(t *testing.T, in reflect.Type, object string) [sha256.Size]byte {
	t.Helper()
	o, problems := schema.ParseObject([]byte(object), "arguments")
	fields := schema.Fields(in)
	schema.AcceptNull(fields)
	b := schema.BindFlat(in, fields, schema.FlatArguments{Arguments: o, Problems: problems})
	if len(b.Problems) > 0 {
		t.Fatalf("%s: problems %q, want none", object, b.Problems)
	}
	sum, err := b.Digest("Idempotency-Key")
	if err != nil {
		t.Fatal(err)
	}
	return sum
}

// Ensure the digest of a request depends on every value that was sent, but not on the formatting of
// the JSON, nor on properties that a later release adds.
func TestDigest(t *testing.T) {
	t.Parallel()
	older, newer := reflect.TypeFor[digestInput](), reflect.TypeFor[newerDigestInput]()
	const sent = `{"boardId":"brd_1","title":"A","order":5,"points":[{"key":"a","ts":"2026-08-11T09:30:00Z","value":1.5}]}`
	want := digest(t, older, sent)
	for _, same := range []string{
		sent,
		` { "order" : 5.0 , "points":[ {"value":15e-1,"ts":"2026-08-11T09:30:00Z","key":"\u0061"}],"title":"A","boardId":"brd_1"}`,
		`{"idempotencyKey":"k","ifMatch":null,"boardId":"brd_1","title":"A","order":5,"points":[{"key":"a","ts":"2026-08-11T09:30:00Z","value":1.5}]}`,
	} {
		if digest(t, older, same) != want || digest(t, newer, same) != want {
			t.Errorf("another digest: %s", same)
		}
	}
	const zero = `{"boardId":"brd_1","title":"A","order":%s,"points":[]}`
	if digest(t, older, fmt.Sprintf(zero, "-0")) != digest(t, older, fmt.Sprintf(zero, "0")) {
		t.Error("-0 and 0 have different digests")
	}
	seen := map[[sha256.Size]byte]string{want: sent}
	for _, other := range []string{
		`{"boardId":"brd_2","title":"A","order":5,"points":[{"key":"a","ts":"2026-08-11T09:30:00Z","value":1.5}]}`,
		`{"boardId":"brd_1","title":"B","order":5,"points":[{"key":"a","ts":"2026-08-11T09:30:00Z","value":1.5}]}`,
		`{"boardId":"brd_1","title":"A","order":0,"points":[{"key":"a","ts":"2026-08-11T09:30:00Z","value":1.5}]}`,
		`{"boardId":"brd_1","title":"A","order":6,"points":[{"key":"a","ts":"2026-08-11T09:30:00Z","value":1.5}]}`,
		`{"boardId":"brd_1","title":"A","points":[{"key":"a","ts":"2026-08-11T09:30:00Z","value":1.5}]}`,
		`{"boardId":"brd_1","title":"A","order":5,"points":[{"key":"a","ts":"2026-08-11T09:30:00Z","value":1.25}]}`,
		`{"boardId":"brd_1","title":"A","order":5,"points":[{"key":"a","ts":"2026-08-11T09:30:00Z","value":1.5},{"key":"a","ts":"2026-08-11T09:30:00Z","value":1.5}]}`,
		`{"boardId":"brd_1","title":"A","order":5,"points":[{"key":"a","ts":"2026-08-11T09:30:00Z","value":1.5}],"ifMatch":"x"}`,
	} {
		sum := digest(t, older, other)
		if seen[sum] != "" {
			t.Errorf("one digest of %s\nand %s", other, seen[sum])
		}
		seen[sum] = other
	}
}

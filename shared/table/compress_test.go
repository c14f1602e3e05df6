package table_test

import (
	"strings"
	"testing"

	"growthworkspace/shared/table"
)

// Ensure compressed text is smaller and can be decompressed. Decompressing truncated or invalid
// data must be an error.
func TestCompress(t *testing.T) {
	text := strings.Repeat("a long text ", 1000)
	packed, err := table.Compress([]byte(text))
	if err != nil || len(packed) > len(text)/10 {
		t.Fatalf("%d bytes of %d: %v", len(packed), len(text), err)
	}
	if got, err := table.Decompress(packed); err != nil || string(got) != text {
		t.Errorf("%d bytes came back: %v", len(got), err)
	}
	for _, broken := range [][]byte{nil, []byte(text), packed[:len(packed)-9]} {
		if got, err := table.Decompress(broken); err == nil {
			t.Errorf("%d bytes came back of %d that are broken", len(got), len(broken))
		}
	}
}

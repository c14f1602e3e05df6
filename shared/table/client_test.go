package table_test

import (
	"bytes"
	"testing"
	"time"

	"growthworkspace/shared/table"
)

// Ensure public keys come from the client's randomness, which a test can replace, and differ by default.
func TestNewPublicKey(t *testing.T) {
	t.Parallel()
	c := table.New(table.Options{Now: time.Now, Random: bytes.NewReader(make([]byte, 32))})
	for range 2 {
		if key := c.NewPublicKey(); key != "pk_live_00000000000000000000000000" {
			t.Error(key)
		}
	}
	c = table.New(table.Options{Now: time.Now})
	if one, two := c.NewPublicKey(), c.Operator().NewPublicKey(); one == two {
		t.Errorf("%s twice", one)
	}
}

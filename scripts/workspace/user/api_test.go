package user

import (
	"testing"

	"github.com/spf13/cobra"

	"growthworkspace/functions"
	"growthworkspace/shared/schema"
)

// Ensure every operation can be retried after a lost response: it is idempotent or accepts an
// Idempotency-Key.
func TestRepeatableFlags(t *testing.T) {
	t.Parallel()
	for _, op := range functions.Operations(nil) {
		c := &operationCall{Operation: op, fields: map[string]*fieldFlag{}}
		c.addFlags(&cobra.Command{})
		for _, name := range c.fieldNames(schema.InPath) {
			c.fields[name].values = []string{"x"}
		}
		if r := c.request(); !r.Repeatable && !r.AcceptsIdempotencyKey {
			t.Errorf("%s cannot be retried: %s %s", op.ID, r.Method, r.Path)
		}
	}
}

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

// Ensure completion knows for each id of a path the list that has the ids.
func TestListsOfIDs(t *testing.T) {
	t.Parallel()
	for _, op := range functions.Operations(nil) {
		for _, f := range op.Input {
			list, found := listOfIDs(op, f.Name)
			if f.In == schema.InPath && !found {
				t.Errorf("%s: no list has the ids of %s", op.ID, f.Name)
			}
			if found && !list.IsList() {
				t.Errorf("%s: the ids of %s are those of %s, which is not a list", op.ID, f.Name, list.ID)
			}
		}
	}
}

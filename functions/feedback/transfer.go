package feedback

import (
	"encoding/json"
	"fmt"

	"growthworkspace/shared/id"
	"growthworkspace/shared/table"
	"growthworkspace/shared/transfer"
)

// recordBytesMax bounds an imported record: it must fit into a table item of 400 KB, with room for its keys.
const recordBytesMax = 300 << 10

// Transfers returns the types of records that can be imported and exported (design.md §7).
func Transfers(t *table.Client) []transfer.Type {
	s := NewStore(t)
	return []transfer.Type{transfer.Define("feedback", id.Feedback, checkSize, s.Put, s.Each)}
}

// checkSize says whether a record is too large. Nothing else can be wrong with one whose types and closed lists are
// right: what becomes part of a key is a value of those, a number, a timestamp or the id.
func checkSize(f *Feedback) (problems []string) {
	text, err := json.Marshal(f)
	if err != nil || len(text) > recordBytesMax {
		problems = append(problems, fmt.Sprintf("record: must have at most %d bytes, has %d", recordBytesMax, len(text)))
	}
	return problems
}

package broadcast

import (
	"growthworkspace/shared/table"
	"growthworkspace/shared/transfer"
)

// Transfers returns the area's record types for import and export. An import stores a record
// exactly as given: a post keeps its state, times and thread parts, which the API computes or does
// not let callers set.
func Transfers(t *table.Client) []transfer.Type {
	s := NewStore(t)
	return []transfer.Type{plans.Store(t).Transfer(), s.Ideas.Transfer(), s.Posts.Transfer(), channels.Store(t).Transfer()}
}

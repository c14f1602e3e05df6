package broadcast

import (
	"growthworkspace/shared/table"
	"growthworkspace/shared/transfer"
)

// Transfers returns the area's record types for import and export. An import stores a record
// exactly as given. An imported post therefore keeps its state, times and thread parts, which API
// callers cannot set.
func Transfers(t *table.Client) []transfer.Type {
	s := NewStore(t)
	return []transfer.Type{plans.Store(t).Transfer(), s.Ideas.Transfer(), s.Posts.Transfer(), channels.Store(t).Transfer()}
}

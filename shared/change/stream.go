package change

import (
	"time"

	"growthworkspace/shared/table"
)

// StreamRecord is one record of the table's stream: a write to one item. Old is nil if the write
// created the item, and New is nil if it deleted the item.
type StreamRecord struct {
	SequenceNumber string
	Key            table.Key
	Old, New       table.Item
	WrittenAt      time.Time // approximate; a whole second
}

package change

import (
	"context"
	"strconv"

	"growthworkspace/shared/table"
)

// gapShard takes the place of the shard in changes that an operator adds.
const gapShard = "operator"

// AppendGap adds to a feed that changes are missing: a change of each type with the action Unknown
// and the company's id in place of the record's. Each call adds them anew.
func AppendGap(ctx context.Context, t *table.Client, companyID string) error {
	now := t.Clock()()
	var gap []Occurrence
	for _, of := range Types() {
		gap = append(gap, Occurrence{
			Event: Event{RecordID: companyID, Action: Unknown}, Type: of, OccurredAt: now,
			SequenceNumber: strconv.FormatInt(now.UnixMicro(), 10),
		})
	}
	return Append(ctx, t, companyID, gapShard, gap)
}

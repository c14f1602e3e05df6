package change

import (
	"context"
	"strconv"

	"growthworkspace/shared/table"
)

// gapShardPrefix is the beginning of a gap's shard id. A gap comes from an operator, not from a
// shard. The rest of the id is the time, so each gap has its own shard id. A gap is therefore never
// mistaken for one that is already recorded, even if the clock was ahead when that one was added.
const gapShardPrefix = "operator-"

// AppendGap reports in a company's feed that changes are missing. It adds one change of each type,
// with the action Unknown and the company's id in place of the record's id. Each call adds them
// again.
func AppendGap(ctx context.Context, t *table.Client, companyID string) error {
	now := t.Clock()()
	sequence := strconv.FormatInt(now.UnixMicro(), 10)
	var gap []Occurrence
	for _, changeType := range Types() {
		gap = append(gap, Occurrence{
			Event: Event{RecordID: companyID, Action: Unknown}, Type: changeType, OccurredAt: now, SequenceNumber: sequence,
		})
	}
	return Append(ctx, t, companyID, gapShardPrefix+sequence, gap)
}

package change

import (
	"context"
	"strconv"

	"growthworkspace/shared/table"
)

// gapShard begins what takes the place of the shard in changes that an operator adds. The time
// follows, so that a gap is not taken for recorded if the clock of an earlier one was ahead.
const gapShard = "operator-"

// AppendGap adds to a feed that changes are missing: a change of each type with the action Unknown
// and the company's id in place of the record's. Each call adds them anew.
func AppendGap(ctx context.Context, t *table.Client, companyID string) error {
	now := t.Clock()()
	sequence := strconv.FormatInt(now.UnixMicro(), 10)
	var gap []Occurrence
	for _, of := range Types() {
		gap = append(gap, Occurrence{
			Event: Event{RecordID: companyID, Action: Unknown}, Type: of, OccurredAt: now, SequenceNumber: sequence,
		})
	}
	return Append(ctx, t, companyID, gapShard+sequence, gap)
}

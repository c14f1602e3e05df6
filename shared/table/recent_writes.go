package table

import (
	"reflect"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"growthworkspace/shared/id"
)

const writeTokenPrefix = "w"

// recentWritesAttr lists the write tokens of a record's earlier writes, latest last. A write whose
// response was lost is retried a little later. By then, others may have written the record. Without
// the list, the retry would apply its write a second time.
const recentWritesAttr = "recentWrites"

// recentWriteTTL is how long a write token is kept. It exceeds the longest possible request, with
// all its retries. Because tokens expire, a record's list stays short unless writes are concurrent.
const recentWriteTTL = 10 * time.Second

// recentWritesMax bounds the list. 400 tokens take about 12 KB, enough for forty writes a second.
// The list must be longer than the number of other writes during the pause before a retry. In a
// fault test, there were 100 other writes in one pause, so a list of 40 was too short.
const recentWritesMax = 400

// nextRecentWrites returns the list of write tokens to store with the next write of a record. The
// parameter stored is the record before that write. The list is empty if no token needs to be kept.
func (c *Client) nextRecentWrites(stored Item) (list []types.AttributeValue) {
	if l, ok := stored[recentWritesAttr].(*types.AttributeValueMemberL); ok {
		list = slices.Clone(l.Value)
	}
	if writeID, ok := stored[writeIDAttr].(*types.AttributeValueMemberS); ok {
		list = append(list, writeID)
	}
	oldest := id.LowerBound(writeTokenPrefix, c.now().Add(-recentWriteTTL))
	list = slices.DeleteFunc(list, func(a types.AttributeValue) bool {
		s, ok := a.(*types.AttributeValueMemberS)
		return !ok || s.Value < oldest
	})
	return list[max(0, len(list)-recentWritesMax):]
}

// isRecentWrite reports whether the write with this token succeeded and others have written the
// record since.
func isRecentWrite(stored Item, writeID types.AttributeValue) bool {
	l, ok := stored[recentWritesAttr].(*types.AttributeValueMemberL)
	return ok && slices.ContainsFunc(l.Value, func(a types.AttributeValue) bool { return equalAttribute(a, writeID) })
}

func equalAttribute(a, b types.AttributeValue) bool { return reflect.DeepEqual(a, b) }

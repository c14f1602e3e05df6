package table

import (
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"growthworkspace/shared/id"
)

// recentAttr lists the writeIds that a record had before its present one, the latest last. A write whose answer was lost
// is repeated a little later, and by then others may have written the record: without the list the repetition would
// take its own first time for never done, and do the change again, over what came after it.
const recentAttr = "recentWrites"

// recentTime is how long a write is remembered: longer than any request lasts, and so any repetition. A record that is
// not contended has no list, or a short one.
const recentTime = 10 * time.Second

// recentMax bounds the list, at about 12 KB of a record that is written forty times a second for ten seconds. It must be
// more than others can write while one write waits to be repeated: 40 were too few, by the fault harness, where a hundred
// fitted into the pause between two attempts.
const recentMax = 400

// recentAfter returns the list for the write that follows the one that left stored; empty when there is nothing to remember.
func (c *Client) recentAfter(stored Item) (list []types.AttributeValue) {
	if l, ok := stored[recentAttr].(*types.AttributeValueMemberL); ok {
		list = slices.Clone(l.Value)
	}
	if written, ok := stored[writeIDAttr].(*types.AttributeValueMemberS); ok {
		list = append(list, written)
	}
	oldest := id.Oldest(writePrefix, c.now().Add(-recentTime))
	list = slices.DeleteFunc(list, func(a types.AttributeValue) bool {
		s, ok := a.(*types.AttributeValueMemberS)
		return !ok || s.Value < oldest
	})
	return list[max(0, len(list)-recentMax):]
}

// wroteBefore tells whether a write with this id is among those that others have written over since.
func wroteBefore(stored Item, writeID types.AttributeValue) bool {
	l, ok := stored[recentAttr].(*types.AttributeValueMemberL)
	return ok && slices.ContainsFunc(l.Value, func(a types.AttributeValue) bool { return equalAttribute(a, writeID) })
}

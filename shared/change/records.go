package change

import (
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"growthworkspace/shared/table"
)

// RecordSource returns the source for the records in an area's partition whose sort keys consist of
// sortPrefix and the record's id. statusAttr names the attribute that contains the record's status;
// it may be empty.
func RecordSource(t Type, area, sortPrefix, statusAttr string) Source {
	sortKey := table.JoinKey(sortPrefix, "")
	return Source{t, sortKey, func(w Write) (e Event, ok bool, err error) {
		recordID, ok := strings.CutPrefix(w.SK, sortKey)
		if !ok || w.Area != area || len(w.SubPartition) > 0 || strings.Contains(recordID, "#") {
			return e, false, nil
		}
		e, err = w.Event(recordID, statusAttr)
		return e, true, err
	}}
}

// Event returns the event for a write to a record. It returns an error if the status is not a
// string.
func (w Write) Event(recordID, statusAttr string) (Event, error) {
	e := Event{RecordID: recordID, Action: w.Action()}
	status := w.New[statusAttr]
	if status == nil {
		return e, nil
	}
	text, ok := status.(*types.AttributeValueMemberS)
	if !ok {
		return e, fmt.Errorf("%w: the attribute %s is not a string", table.ErrUnreadable, statusAttr)
	}
	e.Status = text.Value
	return e, nil
}

// Action returns what the write did to its item.
func (w Write) Action() Action {
	switch {
	case w.Old == nil:
		return Created
	case w.New == nil:
		return Deleted
	}
	return Updated
}

package metrics

import (
	"reflect"
	"strings"

	"growthworkspace/shared/change"
	"growthworkspace/shared/table"
)

// Changes returns the sources that report changes to the area's records.
func Changes() []change.Source {
	return []change.Source{
		{Type: definitionChange, SortKey: definitionPrefix, Recognise: recogniseDefinition},
		{Type: pointsChange, SortKey: pointPrefix, Recognise: recognisePoints},
	}
}

// isRecord reports whether w wrote a record of this area whose sort key begins with the
// given prefix.
func isRecord(w change.Write, prefix string) bool {
	return w.Area == area && len(w.SubPartition) == 0 && strings.HasPrefix(w.SK, prefix)
}

// recogniseDefinition reports whether w changed a metric definition, and returns the event.
func recogniseDefinition(w change.Write) (e change.Event, ok bool, err error) {
	if !isRecord(w, definitionPrefix) {
		return e, false, nil
	}
	item := w.New
	if w.New == nil {
		item = w.Old
	}
	var d Definition
	err = table.Decode(item, &d)
	return change.Event{RecordID: d.ID, Action: w.Action()}, err == nil, err
}

// deletionGroup is the group of every event that reports deleted points.
const deletionGroup = "deleted"

// recognisePoints reports whether w pushed or deleted points, and returns the event. For a push,
// only the first record of each metric in each transaction is reported; see packPoints. For a
// deletion, every record is reported. In both cases all events of one metric have the same group,
// so the events in one stream batch become one change.
func recognisePoints(w change.Write) (e change.Event, ok bool, err error) {
	if !isRecord(w, pointPrefix) {
		return e, false, nil
	}
	item := w.New
	if w.New == nil {
		item = w.Old
	}
	token := item[table.WriteIDAttr]
	switch deleted := w.New == nil || !reflect.DeepEqual(w.Old[deleteTokenAttr], w.New[deleteTokenAttr]); {
	case deleted:
		e.Action, e.Group = change.Deleted, deletionGroup
	case token == nil || reflect.DeepEqual(w.Old[table.WriteIDAttr], token):
		return e, false, nil // not the first record of the transaction, so not reported
	default:
		e.Action = change.Updated
	}
	var record struct {
		DefinitionID string `store:"definitionId"`
		WriteID      string `store:"writeId"`
	}
	if err := table.Decode(item, &record); err != nil {
		return e, false, err
	}
	if e.Group == "" {
		e.Group = record.WriteID
	}
	e.RecordID = record.DefinitionID
	return e, true, nil
}

package metrics

import (
	"reflect"
	"strings"

	"growthworkspace/shared/change"
	"growthworkspace/shared/table"
)

// Changes returns the sources of changes of the area.
func Changes() []change.Source {
	return []change.Source{
		{Type: change.MetricDefinition, Recognise: recogniseDefinition},
		{Type: change.MetricPoints, Recognise: recognisePoints},
	}
}

// isRecord reports whether a write is of a record of the area whose sort key has a prefix.
func isRecord(w change.Write, prefix string) bool {
	return w.Area == area && len(w.Narrower) == 0 && strings.HasPrefix(w.SK, prefix)
}

// recogniseDefinition recognises the changes of definitions.
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

// deletionGroup is the group of the deleted points of a metric.
const deletionGroup = "deleted"

// recognisePoints recognises the pushes and the deletions of points. A push is a change of the first
// record of each metric in each of its transactions; see packPoints. One group makes those one
// change if they are in one batch of the stream. A deletion is a change of all its records, which one group
// makes one change.
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
		return e, false, nil // a further record of a transaction, whose first record is the change
	default:
		e.Action = change.Updated
	}
	var record struct {
		MetricKey    string  `store:"metricKey"`
		DefinitionID *string `store:"definitionId"`
		WriteID      string  `store:"writeId"`
	}
	if err := table.Decode(item, &record); err != nil {
		return e, false, err
	}
	if e.Group == "" {
		e.Group = record.WriteID
	}
	if e.RecordID = record.MetricKey; record.DefinitionID != nil { // the key identifies the definition of a record that an earlier version wrote
		e.RecordID = *record.DefinitionID
	}
	return e, true, nil
}

package brand

import (
	"growthworkspace/shared/change"
	"growthworkspace/shared/table"
)

// Changes returns the sources that report changes to the area's records.
func Changes() []change.Source {
	return []change.Source{
		{Type: kitNoun.Change, SortKey: brandKitSortKey, Recognise: recogniseBrandKit}, ContentTypes.ChangeSource(), Goals.ChangeSource(),
	}
}

// recogniseBrandKit reports whether w changed a company's brand kit, and returns the event. It
// takes the kit's id from the item, because the key does not contain it.
func recogniseBrandKit(w change.Write) (e change.Event, ok bool, err error) {
	if w.Area != area || len(w.SubPartition) > 0 || w.SK != brandKitSortKey {
		return e, false, nil
	}
	item := w.New
	if item == nil {
		item = w.Old
	}
	var kit struct {
		ID string `store:"id"`
	}
	err = table.Decode(item, &kit)
	return change.Event{RecordID: kit.ID, Action: w.Action()}, true, err
}

package company

import (
	"growthworkspace/shared/change"
	"growthworkspace/shared/keys"
)

// Changes returns the sources that report changes to the area's records.
func Changes() []change.Source {
	return []change.Source{
		{Type: companyNoun.Change, SortKey: profileSortKey, Recognise: recogniseProfile},
		{Type: keyNoun.Change, SortKey: keys.ChangePrefix, Recognise: keys.RecogniseChange},
	}
}

// recogniseProfile reports whether w changed a company's profile, and returns the event.
func recogniseProfile(w change.Write) (e change.Event, ok bool, err error) {
	if w.Area != profileArea || len(w.SubPartition) > 0 || w.SK != profileSortKey {
		return e, false, nil
	}
	return change.Event{RecordID: w.CompanyID, Action: w.Action()}, true, nil
}

package company

import (
	"growthworkspace/shared/auth"
	"growthworkspace/shared/change"
	"growthworkspace/shared/keys"
)

// Changes returns the sources of changes of the area.
func Changes() []change.Source {
	return []change.Source{
		{Type: change.Company, Scope: auth.CompanyRead, Recognise: recogniseProfile},
		{Type: change.Key, Scope: auth.KeysRead, Recognise: keys.RecogniseChange},
	}
}

// recogniseProfile recognises the changes of a company's profile.
func recogniseProfile(w change.Write) (e change.Event, ok bool, err error) {
	if w.Area != profileArea || len(w.Narrower) > 0 || w.SK != profileSortKey {
		return e, false, nil
	}
	e = change.Event{RecordID: w.CompanyID, Action: change.Updated}
	switch {
	case w.Old == nil:
		e.Action = change.Created
	case w.New == nil:
		e.Action = change.Deleted
	}
	return e, true, nil
}

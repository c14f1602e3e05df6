package plan

import (
	"strconv"

	"growthworkspace/shared/change"
	"growthworkspace/shared/table"
)

// publishChange is the type of a change that reports a publish. Its recordId is the board's id.
const publishChange change.Type = "publish"

// Changes returns the sources that report changes to the area's records. A publish also writes the
// board, so the source for publishes comes before the one for boards.
func Changes() []change.Source {
	return []change.Source{
		{Type: publishChange, SortKey: boards.ChangeSource().SortKey, Recognise: recognisePublish},
		boards.ChangeSource(),
		change.RecordSource(itemNoun.Change, area, itemPart, "status"),
	}
}

// recognisePublish reports whether w committed a publish, and returns the event. The event's status
// is the version.
func recognisePublish(w change.Write) (e change.Event, ok bool, err error) {
	e, ok, err = boards.ChangeSource().Recognise(w)
	if !ok || err != nil || e.Action != change.Updated {
		return e, false, nil // the source for boards reports an unreadable item
	}
	before, err1 := publishedVersion(w.Old)
	after, err2 := publishedVersion(w.New)
	if err1 != nil || err2 != nil || after == nil || before != nil && *before == *after {
		return e, false, err2
	}
	e.Status = strconv.FormatInt(*after, 10)
	return e, true, nil
}

// publishedVersion returns the version of a stored board that visitors see, or nil if there is
// none.
func publishedVersion(item table.Item) (*int64, error) {
	var b struct {
		PublishedVersion *int64 `store:"publishedVersion"`
	}
	err := table.Decode(item, &b)
	return b.PublishedVersion, err
}

package plan

import (
	"strconv"

	"growthworkspace/shared/change"
	"growthworkspace/shared/table"
)

// Changes returns the sources of changes of the area's records. A publish also writes the board, so
// its source comes before that of boards.
func Changes() []change.Source {
	return []change.Source{
		{Type: change.Publish, Recognise: recognisePublish},
		boards.ChangeSource(),
		change.Records(change.Item, area, itemPart, "status"),
	}
}

// recognisePublish recognises the commit of a publish. The status of its event is the version.
func recognisePublish(w change.Write) (e change.Event, ok bool, err error) {
	e, ok, err = boards.ChangeSource().Recognise(w)
	if !ok || err != nil || e.Action != change.Updated {
		return e, false, nil // if it is unreadable, the source of boards says so
	}
	before, err1 := publishedVersion(w.Old)
	after, err2 := publishedVersion(w.New)
	if err1 != nil || err2 != nil || after == nil || before != nil && *before == *after {
		return e, false, err2
	}
	e.Status = strconv.FormatInt(*after, 10)
	return e, true, nil
}

// publishedVersion returns the version that visitors see of a stored board, or nil if there is none.
func publishedVersion(item table.Item) (*int64, error) {
	var b struct {
		PublishedVersion *int64 `store:"publishedVersion"`
	}
	err := table.Decode(item, &b)
	return b.PublishedVersion, err
}

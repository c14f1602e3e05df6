package feedback

import "growthworkspace/shared/change"

// Changes returns the sources that report changes to the area's records.
func Changes() []change.Source {
	return []change.Source{change.RecordSource(feedbackNoun.Change, area, feedbackSortKind, "replyStatus")}
}

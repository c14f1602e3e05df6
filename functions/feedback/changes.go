package feedback

import "growthworkspace/shared/change"

// Changes returns the sources of changes of the area's records.
func Changes() []change.Source {
	return []change.Source{change.Records(change.Feedback, area, feedbackSortKind, "replyStatus")}
}

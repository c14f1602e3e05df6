package broadcast

import "growthworkspace/shared/change"

// Changes returns the sources that report changes to the area's records.
func Changes() []change.Source {
	return []change.Source{plans.ChangeSource(), ideas.ChangeSource(), posts.ChangeSource(), channels.ChangeSource()}
}

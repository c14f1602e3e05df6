package plan

// marks tell in which version of its board an item was last live, without a write to each item at each publish: an item
// is written only when a publish adds it to what is live or takes it out.
//
// A publish prepares the marks of version v before it commits v, and a reader counts a prepared mark only when the
// board has reached v. So all items change with the one write that moves the board's version. A publish that dies
// leaves marks of a version that the board has not; the next publish of that version overwrites them (see store_publish.go).
type marks struct {
	Live            bool     `store:"live"`        // before the prepared mark
	LastVersion     *float64 `store:"lastVersion"` // when not live: the last version that it was live in
	PreparedVersion *float64 `store:"preparedVersion"`
	PreparedLive    *bool    `store:"preparedLive"`
}

// at returns whether an item is live, and otherwise its last version, on a board whose live version is current.
func (m marks) at(current *float64) (live bool, last *float64) {
	live, last = m.Live, m.LastVersion
	if current != nil && m.PreparedVersion != nil && *m.PreparedVersion <= *current {
		if m.Live && !*m.PreparedLive {
			before := *m.PreparedVersion - 1
			last = &before
		}
		live = *m.PreparedLive
	}
	return live, last
}

// publishedVersion is the field of the item.
func (m marks) publishedVersion(current *float64) *float64 {
	live, last := m.at(current)
	if live {
		return current
	}
	return last
}

// prepare returns the marks for the publish of a version after current, and whether they differ from the stored ones.
func (m marks) prepare(current *float64, next float64, live bool) (prepared marks, changed bool) {
	wasLive, last := m.at(current)
	stale := m.PreparedVersion != nil && *m.PreparedVersion >= next
	if wasLive == live && !stale {
		return m, false
	}
	return marks{Live: wasLive, LastVersion: last, PreparedVersion: &next, PreparedLive: &live}, true
}

package plan

import (
	"context"
	"fmt"
	"strconv"

	"growthworkspace/shared/fault"
	"growthworkspace/shared/table"
)

// marks tell in which version of its board an item was last live, without a write to each item at each publish: an item
// is written only when a publish adds it to what is live or takes it out.
//
// A publish prepares the marks of version v before it commits v, and a reader counts a prepared mark only when the
// board has reached v. So all items change with the one write that moves the board's version. A publish that dies
// leaves marks of a version that the board has not; the next publish of that version overwrites them (see Store.Publish).
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

// passed reports whether two versions or more may have gone live since current was read: the marks then no longer tell what the
// item was in the first of them.
func (m marks) passed(current *float64) bool {
	read := 0.0
	if current != nil {
		read = *current
	}
	return m.PreparedVersion != nil && *m.PreparedVersion > read+1
}

// heads is the record of the live version of each board that was published, an attribute for each. It is nil before the first
// publish.
type heads table.Item

// of returns the live version of a board, nil when it was never published.
func (h heads) of(boardID string) (*float64, error) {
	if h[boardID] == nil {
		return nil, nil
	}
	var record struct {
		Head []string `store:"head"` // version, time
	}
	if err := table.Decode(table.Item{"head": h[boardID]}, &record); err != nil {
		return nil, fmt.Errorf("the head of board %s: %w", boardID, err)
	}
	if len(record.Head) != 2 {
		return nil, fmt.Errorf("the head of board %s: %q is no version and time", boardID, record.Head)
	}
	version, err := strconv.ParseFloat(record.Head[0], 64)
	if err != nil {
		return nil, fmt.Errorf("the head of board %s: %w", boardID, err)
	}
	return &version, nil
}

// seen returns an item as its board's live version shows it. It is right for an item that was read with the heads at one moment, or
// after them: then the marks still tell what the item was in that version. An item that was read before them may lack the mark of
// the version.
func (h heads) seen(i storedItem) (Item, error) {
	current, err := h.of(i.RoadmapID)
	return i.seen(current), err
}

// itemAndHeads reads an item and the heads at one moment, in one call. fault.ErrNotFound when there is no item.
func (s Store) itemAndHeads(ctx context.Context, companyID, itemID string) (table.Item, heads, error) {
	found, err := table.GetAtOnce(ctx, s.table, itemKey(companyID, itemID), headsKey(companyID))
	if err != nil {
		return nil, nil, err
	}
	if found[0] == nil {
		return nil, nil, fault.ErrNotFound
	}
	return found[0], heads(found[1]), nil
}

// writeHead tells the readers of items which version their board is at.
func (s Store) writeHead(companyID, boardID string, version float64, at string) table.Write {
	record := struct {
		Head []string `store:":head"`
	}{[]string{strconv.FormatFloat(version, 'f', -1, 64), at}}
	return s.table.WriteUpdate(headsKey(companyID), "SET #board = :head", "", map[string]string{"#board": boardID}, table.Encode(record))
}

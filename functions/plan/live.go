package plan

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"growthworkspace/shared/fault"
	"growthworkspace/shared/table"
)

// marks record the version of its board in which an item was last live. They avoid a write to every item at every publish:
// an item is written only when a publish adds or removes it.
//
// A publish prepares the marks of version v before it commits v. A reader ignores a prepared mark until the board has
// reached v, so all items change with the one write that moves the board's version. A publish that dies leaves marks of a
// version that the board does not have. The next publish of that version overwrites them (see Store.Publish).
type marks struct {
	Live            bool   `store:"live"`            // whether the item was live before PreparedVersion
	LastVersion     *int64 `store:"lastVersion"`     // the last version that showed the item, when it is not live
	PreparedVersion *int64 `store:"preparedVersion"` // the version from which PreparedLive counts
	PreparedLive    *bool  `store:"preparedLive"`
}

// at reports whether an item is live on a board whose live version is current. If it is not, last is the item's last version.
func (m marks) at(current *int64) (live bool, last *int64) {
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

// publishedVersion returns the value of the item's field publishedVersion.
func (m marks) publishedVersion(current *int64) *int64 {
	live, last := m.at(current)
	if live {
		return current
	}
	return last
}

// prepare returns the marks for publishing version next after current. changed reports whether they differ from the stored ones.
func (m marks) prepare(current *int64, next int64, live bool) (prepared marks, changed bool) {
	wasLive, last := m.at(current)
	stale := m.PreparedVersion != nil && *m.PreparedVersion >= next
	if wasLive == live && !stale {
		return m, false
	}
	return marks{Live: wasLive, LastVersion: last, PreparedVersion: &next, PreparedLive: &live}, true
}

// passed reports whether two or more versions may have gone live since current was read. The marks then no longer show whether
// the item was live in the first of them.
func (m marks) passed(current *int64) bool {
	read := int64(0)
	if current != nil {
		read = *current
	}
	return m.PreparedVersion != nil && *m.PreparedVersion > read+1
}

// heads is a record with the live version of each published board, one attribute per board. It is nil before the company's first
// publish.
type heads table.Item

// of returns the live version of a board, or nil when it was never published.
func (h heads) of(boardID string) (*int64, error) {
	if h[boardID] == nil {
		return nil, nil
	}
	var record struct {
		Head []string `store:"head"` // version, time
	}
	if err := table.Decode(table.Item{"head": h[boardID]}, &record); err != nil {
		return nil, fmt.Errorf("head of board %s: %w", boardID, err)
	}
	if len(record.Head) != 2 {
		return nil, fmt.Errorf("head of board %s: %q is not a version and a time", boardID, record.Head)
	}
	version, err := strconv.ParseInt(record.Head[0], 10, 64)
	if err != nil {
		return nil, fmt.Errorf("head of board %s: %w", boardID, err)
	}
	return &version, nil
}

// seen returns an item with its publishedVersion set. The item must be read in one transaction with the heads, or after them.
// An item that was read before the heads may lack the mark of their version.
func (h heads) seen(i storedItem) (Item, error) {
	current, err := h.of(i.RoadmapID)
	return i.seen(current), err
}

// rereadsMax bounds how often an item is read again because two publishes came between its reads.
const rereadsMax = 5

// itemAndHeads reads an item and the heads in one transaction. A concurrent write of the item, or a publish of any board,
// cancels the transaction; then it reads them one after the other. Returns fault.ErrNotFound when the item does not exist.
func (s itemStore) itemAndHeads(ctx context.Context, companyID, itemID string) (table.Item, heads, error) {
	found, err := table.GetAtOnce(ctx, s.table, itemKey(companyID, itemID), headsKey(companyID))
	for n := 0; errors.Is(err, table.ErrContended) && n < rereadsMax; n++ {
		found, err = s.headsThenItem(ctx, companyID, itemID)
	}
	if err != nil {
		return nil, nil, err
	}
	if found[0] == nil {
		return nil, nil, fault.ErrNotFound
	}
	return found[0], heads(found[1]), nil
}

// headsThenItem reads the heads and then the item, which heads.seen accepts. Returns table.ErrContended when two publishes of the
// item's board came between.
func (s itemStore) headsThenItem(ctx context.Context, companyID, itemID string) ([]table.Item, error) {
	live, err := table.GetItem(ctx, s.table, headsKey(companyID))
	if err != nil {
		return nil, err
	}
	item, err := table.GetItem(ctx, s.table, itemKey(companyID, itemID))
	if err != nil || len(item) == 0 {
		return []table.Item{nil, live}, err
	}
	var stored storedItem
	if err := table.Decode(item, &stored); err != nil {
		return nil, err
	}
	current, err := heads(live).of(stored.RoadmapID)
	if err == nil && stored.passed(current) {
		err = table.ErrContended
	}
	return []table.Item{item, live}, err
}

// writeHead returns the write that sets the live version of a board in the heads.
func (s Store) writeHead(companyID, boardID string, version int64, at string) table.Write {
	record := struct {
		Head []string `store:":head"`
	}{[]string{strconv.FormatInt(version, 10), at}}
	return s.table.WriteUpdate(headsKey(companyID), "SET #board = :head", "", map[string]string{"#board": boardID}, table.Encode(record))
}

// dropHead returns the write that removes a board from the heads.
func (s boardStore) dropHead(companyID, boardID string) table.Write {
	return s.table.WriteUpdate(headsKey(companyID), "REMOVE #board", "", map[string]string{"#board": boardID}, nil)
}

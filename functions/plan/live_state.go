package plan

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"growthworkspace/shared/fault"
	"growthworkspace/shared/table"
)

// liveState is the part of an item's record from which the item's publishedVersion is computed.
// It allows a publish to write only the items that it adds or removes, instead of every item.
//
// A publish prepares the state for version v before it commits v. A reader ignores a prepared state
// until the board has reached v, so all items change with the single write that moves the board to
// its new version. A publish that crashes may leave a state prepared for a version that the board
// has not reached. The publish that does reach that version overwrites the state (see
// Store.Publish).
type liveState struct {
	WasLive         bool   `store:"live"`            // whether the item was live before PreparedVersion
	LastVersion     *int64 `store:"lastVersion"`     // the last version that showed the item, if it is not live
	PreparedVersion *int64 `store:"preparedVersion"` // PreparedLive applies from this version on
	PreparedLive    *bool  `store:"preparedLive"`
}

// liveAt reports whether an item is live if `current` is the live version of its board. If the item
// is not live, liveAt also returns the last version that showed it.
func (l liveState) liveAt(current *int64) (live bool, last *int64) {
	live, last = l.WasLive, l.LastVersion
	if current != nil && l.PreparedVersion != nil && *l.PreparedVersion <= *current {
		if l.WasLive && !*l.PreparedLive {
			before := *l.PreparedVersion - 1
			last = &before
		}
		live = *l.PreparedLive
	}
	return live, last
}

// publishedVersion returns the value of the item's publishedVersion field.
func (l liveState) publishedVersion(current *int64) *int64 {
	live, last := l.liveAt(current)
	if live {
		return current
	}
	return last
}

// prepareVersion returns the item's state for a publish that moves the board from its current
// version to the next one. It also reports whether that state differs from the stored one.
func (l liveState) prepareVersion(current *int64, next int64, live bool) (prepared liveState, changed bool) {
	wasLive, last := l.liveAt(current)
	stale := l.PreparedVersion != nil && *l.PreparedVersion >= next
	if wasLive == live && !stale {
		return l, false
	}
	return liveState{WasLive: wasLive, LastVersion: last, PreparedVersion: &next, PreparedLive: &live}, true
}

// isTooNewFor reports whether two or more versions may have gone live since the board was read.
// `current` is the board's live version at the time of that read. If two or more went live, the
// state no longer shows whether the item was live in the version after `current`.
func (l liveState) isTooNewFor(current *int64) bool {
	currentVersion := int64(0)
	if current != nil {
		currentVersion = *current
	}
	return l.PreparedVersion != nil && *l.PreparedVersion > currentVersion+1
}

// liveVersions is a record that holds the live version of each published board, one attribute per
// board. It is nil until the company publishes a board.
type liveVersions table.Item

// ofBoard returns the live version of a board, or nil when the board was never published.
func (l liveVersions) ofBoard(boardID string) (*int64, error) {
	if l[boardID] == nil {
		return nil, nil
	}
	var record struct {
		VersionAndTime []string `store:"head"` // version, time
	}
	if err := table.Decode(table.Item{"head": l[boardID]}, &record); err != nil {
		return nil, fmt.Errorf("live version of board %s: %w", boardID, err)
	}
	if len(record.VersionAndTime) != 2 {
		return nil, fmt.Errorf("live version of board %s: %q is not a version and a time", boardID, record.VersionAndTime)
	}
	version, err := strconv.ParseInt(record.VersionAndTime[0], 10, 64)
	if err != nil {
		return nil, fmt.Errorf("live version of board %s: %w", boardID, err)
	}
	return &version, nil
}

// withLiveVersion returns an item with its publishedVersion set. The item must have been read after
// the live versions, or in one transaction with them. Otherwise the item may lack the state for a
// version that went live between the two reads.
func (l liveVersions) withLiveVersion(i storedItem) (Item, error) {
	current, err := l.ofBoard(i.RoadmapID)
	return i.withVersion(current), err
}

// rereadMax is the maximum number of times that the live versions, and then an item, are read. Both
// are read again if the item's board was published twice between the two reads.
const rereadMax = 5

// readItemAndLiveVersions reads an item and the live versions in one transaction. If a concurrent
// write of the item or a publish of any board cancels the transaction, it reads the live versions
// and then the item. Returns fault.ErrNotFound when the item does not exist.
func (s itemStore) readItemAndLiveVersions(ctx context.Context, companyID, itemID string) (table.Item, liveVersions, error) {
	found, err := table.TransactGet(ctx, s.table, itemKey(companyID, itemID), liveVersionsKey(companyID))
	for n := 0; errors.Is(err, table.ErrTooMuchContention) && n < rereadMax; n++ {
		found, err = s.readLiveVersionsThenItem(ctx, companyID, itemID)
	}
	if err != nil {
		return nil, nil, err
	}
	if found[0] == nil {
		return nil, nil, fault.ErrNotFound
	}
	return found[0], liveVersions(found[1]), nil
}

// readLiveVersionsThenItem reads the live versions and then the item, as
// liveVersions.withLiveVersion requires. Returns table.ErrTooMuchContention when the item's board
// was published twice between the two reads.
func (s itemStore) readLiveVersionsThenItem(ctx context.Context, companyID, itemID string) ([]table.Item, error) {
	live, err := table.GetItem(ctx, s.table, liveVersionsKey(companyID))
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
	current, err := liveVersions(live).ofBoard(stored.RoadmapID)
	if err == nil && stored.isTooNewFor(current) {
		err = table.ErrTooMuchContention
	}
	return []table.Item{item, live}, err
}

// writeLiveVersion returns the write that sets the live version of a board.
func (s Store) writeLiveVersion(companyID, boardID string, version int64, at string) table.Write {
	record := struct {
		VersionAndTime []string `store:":head"`
	}{[]string{strconv.FormatInt(version, 10), at}}
	return s.table.WriteUpdate(liveVersionsKey(companyID), "SET #board = :head", "", map[string]string{"#board": boardID}, table.Encode(record))
}

// writeLiveVersionRemoval returns the write that removes the live version of a board.
func (s boardStore) writeLiveVersionRemoval(companyID, boardID string) table.Write {
	return s.table.WriteUpdate(liveVersionsKey(companyID), "REMOVE #board", "", map[string]string{"#board": boardID}, nil)
}

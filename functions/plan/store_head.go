package plan

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"growthworkspace/shared/fault"
	"growthworkspace/shared/table"
	"growthworkspace/shared/timestamp"
)

// head is the live version of a board, and when it was published; both null when it never was.
type head struct {
	Version *float64
	At      *string
}

// heads is the record of them: an attribute for each board that was published. It is nil before the first publish.
type heads table.Item

// of returns the head of a board.
func (h heads) of(boardID string) (head, error) {
	if h[boardID] == nil {
		return head{}, nil
	}
	var record struct {
		Head []string `store:"head"` // version, time
	}
	if err := table.Decode(table.Item{"head": h[boardID]}, &record); err != nil {
		return head{}, fmt.Errorf("the head of board %s: %w", boardID, err)
	}
	if len(record.Head) != 2 {
		return head{}, fmt.Errorf("the head of board %s: %q is no version and time", boardID, record.Head)
	}
	version, err := strconv.ParseFloat(record.Head[0], 64)
	if err != nil {
		return head{}, fmt.Errorf("the head of board %s: %w", boardID, err)
	}
	return head{&version, &record.Head[1]}, nil
}

// seen returns an item as its board's live version shows it.
func (h heads) seen(i storedItem) (Item, error) {
	live, err := h.of(i.RoadmapID)
	return i.seen(live.Version), err
}

// heads reads them.
func (s Store) heads(ctx context.Context, companyID string) (heads, error) {
	found, err := table.GetItem(ctx, s.table, headsKey(companyID))
	return heads(found), err
}

// headsBeside starts to read the heads and returns what waits for them.
func (s Store) headsBeside(ctx context.Context, companyID string) func() (heads, error) {
	var found heads
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		err = table.Parallel(1, 1, func(int) (err error) { found, err = s.heads(ctx, companyID); return err })
	}()
	return func() (heads, error) { <-done; return found, err }
}

// itemAndHeads reads an item, and the heads beside it, in one call. fault.ErrNotFound when there is no item.
func (s Store) itemAndHeads(ctx context.Context, companyID, itemID string) (stored storedItem, live heads, err error) {
	found, err := table.GetItems(ctx, s.table, itemKey(companyID, itemID), headsKey(companyID))
	if err != nil {
		return stored, nil, err
	}
	if found[0] == nil {
		return stored, nil, fault.ErrNotFound
	}
	err = table.Decode(found[0], &stored)
	return stored, heads(found[1]), err
}

// settling is how long after a publish an item is read once more when it was read with the board's version: the two
// are read in one round trip but not in one moment, and a publish may fall between them. It is far longer than a request, and
// than the clocks of two functions differ.
const settling = time.Minute

// moved tells whether the board may have been published while a request read it.
func (s Store) moved(publishedAt *string) bool {
	return publishedAt != nil && *publishedAt > timestamp.Format(s.table.Clock()().Add(-settling))
}

// writeHead tells the readers of single items which version their board is at.
func (s Store) writeHead(companyID, boardID string, version float64, at string) table.Write {
	record := struct {
		Head []string `store:":head"`
	}{[]string{strconv.FormatFloat(version, 'f', -1, 64), at}}
	return s.table.WriteUpdate(headsKey(companyID), "SET #board = :head", "", map[string]string{"#board": boardID}, table.Encode(record))
}

package plan

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"growthworkspace/shared/api"
	"growthworkspace/shared/fault"
	"growthworkspace/shared/table"
)

// LiveItem is an item as visitors see it now.
type LiveItem struct {
	ID               string   `json:"id" doc:"the item's id"`
	Slug             string   `json:"slug" doc:"stable public identifier; never changes"`
	Title            string   `json:"title" doc:"the title that visitors see"`
	Summary          *string  `json:"summary" doc:"the text that visitors see below the title"`
	ColumnID         *string  `json:"columnId" doc:"the item's column on the public board"`
	CategoryIDs      []string `json:"categoryIds" doc:"the item's categories on the public board"`
	SortOrder        *int64   `json:"sortOrder" doc:"lower numbers come first; items without one come last"`
	TargetLabel      *string  `json:"targetLabel" doc:"free text such as a quarter label; deliberately not a date"`
	PublishedVersion int64    `json:"publishedVersion" doc:"the version of the board that is live"`
}

type listLiveItemsInput struct {
	BoardID string     `path:"boardId"`
	Limit   int64      `query:"limit" default:"50" min:"1" max:"200"`
	Cursor  api.Cursor `query:"cursor"`
}

func (s service) listLiveItems(ctx context.Context, caller api.Caller, in listLiveItemsInput) (api.List[LiveItem], error) {
	page, err := s.store.LiveItems(ctx, caller.CompanyID, in.BoardID, string(in.Cursor), int(in.Limit))
	if err != nil {
		return api.List[LiveItem]{}, err
	}
	return api.NewList(page), nil
}

// explainNoLiveItems returns a sentence that explains why visitors see nothing on a board.
func (s service) explainNoLiveItems(ctx context.Context, caller api.Caller, in listLiveItemsInput) (string, error) {
	b, err := s.store.readBoard(ctx, caller.CompanyID, in.BoardID)
	switch {
	case err != nil:
		return "", err
	case b.PublishedVersion == nil:
		return "The board was never published.", nil
	case b.SnapshotID == nil:
		return "The board was imported without its live items. Visitors see none until it is published.", nil
	}
	return "No item had the status published when the board was last published.", nil
}

// LiveItems returns a page of the live snapshot of a board, in the snapshot's order. The page is
// empty when visitors see nothing because the board was never published or was imported without its
// snapshot. Returns fault.ErrNotFound when the board does not exist, and fault.BadRequest when a
// different snapshot has gone live since the previous page. Only the board and the chunks that the
// page spans are read, however many items are live.
func (s Store) LiveItems(ctx context.Context, companyID, boardID, after string, limit int) (page table.Page[LiveItem], err error) {
	b, err := s.readBoard(ctx, companyID, boardID)
	if err != nil || b.SnapshotID == nil {
		return page, err
	}
	at, ok := snapshotPosition{Snapshot: *b.SnapshotID}, true
	if after != "" {
		at, ok = parsePosition(after)
	}
	if !ok || at.Snapshot != *b.SnapshotID {
		return page, errPublishedMeanwhile
	}
	var positions []snapshotPosition // the position of each item on the page
	page.PositionAfter = func(n int) string { return positions[n].String() }
	for chunkCount := int(*b.SnapshotChunks); at.Chunk < chunkCount; {
		items, err := s.readLiveChunk(ctx, b, at.Chunk)
		if err != nil {
			return page, s.notFoundIfRemoved(ctx, b, err)
		}
		end := min(at.Item+limit-len(page.Records), len(items))
		for n, i := range items[min(at.Item, end):end] {
			page.Records = append(page.Records, LiveItem{i.ID, i.Slug, i.Title, i.Summary, i.ColumnID, i.CategoryIDs, i.SortOrder, i.TargetLabel, *b.SnapshotVersion})
			positions = append(positions, snapshotPosition{at.Snapshot, at.Chunk, at.Item + n + 1})
		}
		if at.Item = end; end == len(items) {
			at.Chunk, at.Item = at.Chunk+1, 0
		}
		if len(page.Records) == limit && at.Chunk < chunkCount {
			page.Next = at.String()
			return page, nil
		}
	}
	return page, nil
}

var errPublishedMeanwhile = fault.New(fault.BadRequest, "query.cursor: the board was published since; start again without cursor")

// snapshotPosition is the position of an item in a snapshot. A cursor of LiveItems contains its
// string form, so a cursor is valid for one snapshot only.
type snapshotPosition struct {
	Snapshot    string
	Chunk, Item int
}

func (p snapshotPosition) String() string {
	return fmt.Sprintf("%s#%d#%d", p.Snapshot, p.Chunk, p.Item)
}

func parsePosition(text string) (p snapshotPosition, ok bool) {
	parts := strings.Split(text, "#")
	if len(parts) != 3 {
		return p, false
	}
	chunk, err := strconv.ParseUint(parts[1], 10, 31)
	if err != nil {
		return p, false
	}
	item, err := strconv.ParseUint(parts[2], 10, 31)
	return snapshotPosition{parts[0], int(chunk), int(item)}, err == nil
}

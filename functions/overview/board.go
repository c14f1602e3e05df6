package overview

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"growthworkspace/shared/fault"
)

// board is what the rules read of a roadmap board.
type board struct {
	ID               string
	Name             *string
	Active           *bool
	PublishedVersion *int64
	PublishedAt      *string
	UpdatedAt        *string
}

// boardsMax is how many boards are compared with what visitors see, the latest changed first.
const boardsMax = 10

func (r *reader) startBoards() *records[board] {
	return startList[board](r, "list_plan_boards", map[string]any{"limit": 100}, countMax,
		func(b board) bool { return value(b.Active, true) })
}

// preview is what the rules read of the preview of a publish.
type preview struct{ Added, Updated, Removed []json.RawMessage }

// boardPreview is a board with its preview.
type boardPreview struct {
	board
	preview *records[preview]
}

// startPreviews starts the previews of the boards that changed last.
func (r *reader) startPreviews(boards *records[board]) (out []boardPreview) {
	slices.SortStableFunc(boards.all, func(a, b board) int {
		return cmp.Or(cmp.Compare(value(b.UpdatedAt, ""), value(a.UpdatedAt, "")), cmp.Compare(a.ID, b.ID))
	})
	for _, b := range boards.all[:min(len(boards.all), boardsMax)] {
		out = append(out, boardPreview{b, startRecord[preview](r, "preview_plan_publish",
			map[string]any{"boardId": b.ID}).allowing(isNotFound)})
	}
	return out
}

// isNotFound accepts that a record was deleted after its list was read.
func isNotFound(err error) bool { return fault.PublicError(err).Code == fault.NotFound }

func boardsToAttend(previews []boardPreview, more bool) Attention {
	var items []AttentionItem
	for _, b := range previews {
		for _, p := range b.preview.all {
			if len(p.Added)+len(p.Updated)+len(p.Removed) > 0 {
				changes := fmt.Sprintf("%d added, %d changed, %d removed", len(p.Added), len(p.Updated), len(p.Removed))
				items = append(items, item(b.ID, nil, first(b.PublishedAt, b.UpdatedAt), changes, b.Name))
			}
		}
	}
	return attentionOf(KindRoadmapUnpublished, oldestFirst(items), more)
}

package overview

import (
	"cmp"
	"encoding/json"
	"slices"

	"growthworkspace/shared/fault"
	"growthworkspace/shared/schema"
)

// WeekPublish is a publish or rollback of a board.
type WeekPublish struct {
	BoardID     string `json:"boardId" doc:"the board"`
	Version     int64  `json:"version" doc:"the version that it made"`
	PublishedAt string `json:"publishedAt" format:"date-time" doc:"when it went live"`
}

// startPublishes starts reading the publishes of the boards that were published in the week or after
// it. The live version is known from the board itself, because an import may lack its record.
func (r *reader) startPublishes(s span, boards *records[board]) []*records[WeekPublish] {
	var out []*records[WeekPublish]
	slices.SortStableFunc(boards.all, func(a, b board) int {
		return cmp.Or(cmp.Compare(value(b.PublishedAt, ""), value(a.PublishedAt, "")), cmp.Compare(a.ID, b.ID))
	})
	for _, b := range boards.all {
		if b.PublishedAt == nil || b.PublishedVersion == nil || isBefore(b.PublishedAt, s.start) ||
			len(out) == boardsMax {
			continue
		}
		live := WeekPublish{b.ID, *b.PublishedVersion, *b.PublishedAt}
		out = append(out, startPages(r, r.operation("preview_plan_publish").Scope, countMax,
			func(p WeekPublish) bool { return isIn(&p.PublishedAt, s.contains) },
			func(string) (items []json.RawMessage, _ string, err error) {
				all, err := r.sources.Publishes(r.ctx, r.caller.CompanyID, b.ID)
				if err != nil && fault.PublicError(err).Code != fault.NotFound {
					return nil, "", err
				}
				if !slices.ContainsFunc(all, func(p WeekPublish) bool { return p.Version == live.Version }) {
					all = append(all, live)
				}
				for _, p := range all {
					text, err := schema.Encode(p)
					if err != nil {
						return nil, "", err
					}
					items = append(items, text)
				}
				return items, "", nil
			}))
	}
	return out
}

func weekPublishes(reads []*records[WeekPublish], boards *records[board]) *[]WeekPublish {
	if !boards.read {
		return nil
	}
	out := []WeekPublish{}
	for _, read := range reads {
		out = append(out, read.all...)
	}
	slices.SortStableFunc(out, func(a, b WeekPublish) int {
		return cmp.Or(cmp.Compare(b.PublishedAt, a.PublishedAt), cmp.Compare(a.BoardID, b.BoardID),
			cmp.Compare(b.Version, a.Version))
	})
	out = out[:min(len(out), weekRecordsMax)]
	return &out
}

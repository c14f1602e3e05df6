package overview

import (
	"cmp"
	"slices"
)

// WeekPublish is a publish or rollback of a board.
type WeekPublish struct {
	BoardID     string `json:"boardId" doc:"the board"`
	Version     int64  `json:"version" doc:"the version that it made"`
	PublishedAt string `json:"publishedAt" format:"date-time" doc:"when it went live"`
}

// versionsMax is the number of versions that are kept of a board.
const versionsMax = 51

// boardPublishes are the versions of a board in a week, and its live version.
type boardPublishes struct {
	live     WeekPublish
	versions *records[WeekPublish] // without the ids of their boards
}

// startPublishes starts reading the publishes of the boards that were published in the week or after
// it. The live version is known from the board itself, because an import may lack its record.
func (r *reader) startPublishes(s span, boards *records[board]) (out []boardPublishes) {
	slices.SortStableFunc(boards.all, func(a, b board) int {
		return cmp.Or(cmp.Compare(value(b.PublishedAt, ""), value(a.PublishedAt, "")), cmp.Compare(a.ID, b.ID))
	})
	for _, b := range boards.all {
		if b.PublishedAt == nil || b.PublishedVersion == nil || isBefore(b.PublishedAt, s.start) ||
			len(out) == boardsMax {
			continue
		}
		live := WeekPublish{b.ID, *b.PublishedVersion, *b.PublishedAt}
		arguments := map[string]any{"boardId": b.ID, "limit": versionsMax}
		versions := startList(r, "list_plan_versions", arguments, countMax, func(p WeekPublish) bool {
			return p.Version != live.Version && isIn(&p.PublishedAt, s.contains)
		}).allowing(isNotFound)
		out = append(out, boardPublishes{live, versions})
	}
	return out
}

func weekPublishes(week span, reads []boardPublishes, boards *records[board]) *[]WeekPublish {
	if !boards.read {
		return nil
	}
	out := []WeekPublish{}
	for _, read := range reads {
		if isIn(&read.live.PublishedAt, week.contains) {
			out = append(out, read.live)
		}
		for _, p := range read.versions.all {
			out = append(out, WeekPublish{read.live.BoardID, p.Version, p.PublishedAt})
		}
	}
	slices.SortStableFunc(out, func(a, b WeekPublish) int {
		return cmp.Or(cmp.Compare(b.PublishedAt, a.PublishedAt), cmp.Compare(a.BoardID, b.BoardID),
			cmp.Compare(b.Version, a.Version))
	})
	out = out[:min(len(out), weekRecordsMax)]
	return &out
}

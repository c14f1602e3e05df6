package faults

import (
	"context"
	"fmt"
	"reflect"
)

// item is a roadmap item in the format of imports and exports, with only the fields that the checks
// need.
type item struct {
	ID               string `json:"id"`
	RoadmapID        string `json:"roadmapId"`
	CompanyID        string `json:"companyId"`
	Slug             string `json:"slug"`
	Title            string `json:"title"`
	Status           string `json:"status"`
	PublishedVersion *int   `json:"publishedVersion"`
}

// liveContent is the content of a board that visitors see: the title of each item, by the item's
// id.
type liveContent map[string]string

// board is the only board of a company. It knows what visitors may see after an interrupted
// publish: either the content before the publish or the content after it.
type board struct {
	company
	bed             *testbed
	size            int
	items           []item
	generation      int // counts the edits
	liveVersion     int // the version that visitors see; 0 before the first publish
	liveContent     liveContent
	nextContent     liveContent    // what visitors see after the next publish
	lastLiveVersion map[string]int // for each item, the last version that contained it
}

const publishPath = "plan/boards/brd_1/publish"

// newBoard creates an unpublished board in a new company.
func newBoard(ctx context.Context, t *checkRun, size int) (*board, error) {
	c, err := t.companyWithBoard(ctx, "")
	if err != nil {
		return nil, err
	}
	b := &board{company: c.company, bed: t.testbed, size: size, liveContent: liveContent{}, lastLiveVersion: map[string]int{}}
	for n := range size {
		b.items = append(b.items, item{ID: fmt.Sprintf("itm_%d", n), RoadmapID: "brd_1", CompanyID: c.id, Slug: fmt.Sprintf("s-%d", n)})
	}
	return b, nil
}

// fullEditItemsMax is the size of the largest board on which every edit changes all items. To save
// time, later edits of a larger board change only every fourth item.
const fullEditItemsMax = 200

// edit changes the titles and statuses of items, so that the next publish makes items appear,
// disappear and change. The first edit gives every item the status "published". On a small board,
// later edits alternate: one gives that status to every second item, the next to every item. On a
// large board, a later edit gives it to half of the items that it changes. To publish a large
// board, the service writes more records than a transaction accepts.
func (b *board) edit(ctx context.Context) error {
	b.generation++
	var records []any
	b.nextContent = liveContent{}
	for n := range b.items {
		i := &b.items[n]
		isPartial := b.size > fullEditItemsMax && b.generation > 1
		if !isPartial || n%4 == b.generation%4 {
			i.Title, i.Status, i.PublishedVersion = fmt.Sprintf("Item %d of generation %d", n, b.generation), "draft", nil
			if !isPartial && (b.generation%2 == 1 || n%2 == 1) || isPartial && (n/4+b.generation/4)%2 == 0 {
				i.Status = "published"
			}
			if last, ok := b.lastLiveVersion[i.ID]; ok {
				i.PublishedVersion = &last
			}
			records = append(records, *i)
		}
		if i.Status == "published" {
			b.nextContent[i.ID] = i.Title
		}
	}
	return b.bed.importRecords(ctx, b.id, "item", records...)
}

// checkLiveContent reads the content that visitors see, and reports whether the last publish has
// taken effect. It returns violations for content that is neither the old nor the new one, for old
// content after an acknowledged publish, and for items with a wrong version.
func (b *board) checkLiveContent(ctx context.Context, acknowledged bool) (published bool, violations []string, err error) {
	version, content, err := b.snapshot(ctx)
	if err != nil {
		return false, []string{fmt.Sprintf("the snapshot cannot be read: %v", err)}, nil
	}
	switch {
	case version == b.liveVersion+1 && reflect.DeepEqual(content, b.nextContent):
		b.liveVersion, b.liveContent, b.nextContent, published = version, b.nextContent, nil, true
	case version == b.liveVersion && reflect.DeepEqual(content, b.liveContent):
		if acknowledged {
			violations = append(violations, "an acknowledged publish is lost")
		}
	default:
		return false, []string{fmt.Sprintf("version %d shows %d items, neither the %d of version %d nor the %d of the next",
			version, len(content), len(b.liveContent), b.liveVersion, len(b.nextContent))}, nil
	}
	for id := range b.liveContent {
		b.lastLiveVersion[id] = version
	}
	records, err := export[item](ctx, b.bed, b.id, "item")
	for _, i := range records {
		got := 0
		if i.PublishedVersion != nil {
			got = *i.PublishedVersion
		}
		if got != b.lastLiveVersion[i.ID] {
			violations = append(violations, fmt.Sprintf("item %s has version %d and was last live in %d", i.ID, got, b.lastLiveVersion[i.ID]))
		}
	}
	if err == nil && len(records) != b.size {
		violations = append(violations, fmt.Sprintf("%d items of %d are left", len(records), b.size))
	}
	return published, violations, err
}

// snapshot exports the board, and returns the live version and its content.
func (b *board) snapshot(ctx context.Context) (version int, content liveContent, err error) {
	boards, err := export[struct {
		PublishedVersion int
		Snapshot         []struct{ ID, Title string }
	}](ctx, b.bed, b.id, "board")
	if err != nil || len(boards) != 1 {
		return 0, nil, fmt.Errorf("%d boards: %w", len(boards), err)
	}
	content = liveContent{}
	for _, i := range boards[0].Snapshot {
		content[i.ID] = i.Title
	}
	return boards[0].PublishedVersion, content, nil
}

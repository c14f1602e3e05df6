package faults

import (
	"context"
	"fmt"
	"reflect"

	"growthworkspace/scripts/prove/testbed"
)

// item is an item as import, export and the lists have it; the fields that no gate looks at stay null.
type item struct {
	ID               string `json:"id"`
	RoadmapID        string `json:"roadmapId"`
	CompanyID        string `json:"companyId"`
	Slug             string `json:"slug"`
	Title            string `json:"title"`
	Status           string `json:"status"`
	PublishedVersion *int   `json:"publishedVersion"`
}

// live is what visitors see: the title of each item by its id.
type live map[string]string

// board is the only board of a company. Its two possible states after an interrupted publish are known: the content that
// was live, and the content that was to be.
type board struct {
	testbed.Company
	bed        *testbed.Testbed
	size       int
	items      []item
	generation int
	version    int // that is live, 0 before the first publish
	current    live
	next       live
	last       map[string]int // the version in which an item was last live
}

const boardPath = "plan/boards/brd_1/publish"

// newBoard creates a board that was never published, in a company of its own.
func newBoard(ctx context.Context, t *trial, size int) (*board, error) {
	c, err := t.companyWithBoard(ctx, "")
	if err != nil {
		return nil, err
	}
	b := &board{Company: c.Company, bed: t.Testbed, size: size, current: live{}, last: map[string]int{}}
	for n := range size {
		b.items = append(b.items, item{ID: fmt.Sprintf("itm_%d", n), RoadmapID: "brd_1", CompanyID: c.ID, Slug: fmt.Sprintf("s-%d", n)})
	}
	return b, nil
}

// partly is the size from which on an edit changes every fourth item, so that writing it does not take longer than what
// the gates are about.
const partly = 200

// edit writes content that differs from what is live: titles, and which items are published. On a small board it
// publishes every item and then every second one, in turn; on a large board half of the items that it changes, each time
// the other half. So a publish has items that come, go and change, and more records than a transaction accepts.
func (b *board) edit(ctx context.Context) error {
	b.generation++
	var records []any
	b.next = live{}
	for n := range b.items {
		i := &b.items[n]
		some := b.size > partly && b.generation > 1
		if !some || n%4 == b.generation%4 {
			i.Title, i.Status, i.PublishedVersion = fmt.Sprintf("Item %d of generation %d", n, b.generation), "draft", nil
			if !some && (b.generation%2 == 1 || n%2 == 1) || some && (n/4+b.generation/4)%2 == 0 {
				i.Status = "published"
			}
			if last, was := b.last[i.ID]; was {
				i.PublishedVersion = &last
			}
			records = append(records, *i)
		}
		if i.Status == "published" {
			b.next[i.ID] = i.Title
		}
	}
	return b.bed.Write(ctx, b.ID, "item", records...)
}

// look reads what is live. It reports whether that is the new state, and everything that is wrong: a state that is neither
// the old one nor the new, the old state after an acknowledged publish, or an item whose version does not fit.
func (b *board) look(ctx context.Context, acknowledged bool) (published bool, wrong []string, err error) {
	version, content, err := b.snapshot(ctx)
	if err != nil {
		return false, []string{fmt.Sprintf("the snapshot cannot be read: %v", err)}, nil
	}
	switch {
	case version == b.version+1 && reflect.DeepEqual(content, b.next):
		b.version, b.current, b.next, published = version, b.next, nil, true
	case version == b.version && reflect.DeepEqual(content, b.current):
		if acknowledged {
			wrong = append(wrong, "a publish that was acknowledged is lost")
		}
	default:
		return false, []string{fmt.Sprintf("version %d shows %d items, neither the %d of version %d nor the %d of the next",
			version, len(content), len(b.current), b.version, len(b.next))}, nil
	}
	for id := range b.current {
		b.last[id] = version
	}
	records, err := testbed.Export[item](ctx, b.bed, b.ID, "item")
	for _, i := range records {
		got := 0
		if i.PublishedVersion != nil {
			got = *i.PublishedVersion
		}
		if got != b.last[i.ID] {
			wrong = append(wrong, fmt.Sprintf("item %s reads version %d and was last live in %d", i.ID, got, b.last[i.ID]))
		}
	}
	if err == nil && len(records) != b.size {
		wrong = append(wrong, fmt.Sprintf("%d items of %d are left", len(records), b.size))
	}
	return published, wrong, err
}

// snapshot reads the live snapshot and its version from the export of the board.
func (b *board) snapshot(ctx context.Context) (version int, content live, err error) {
	boards, err := testbed.Export[struct {
		PublishedVersion int
		Snapshot         []struct{ ID, Title string }
	}](ctx, b.bed, b.ID, "board")
	if err != nil || len(boards) != 1 {
		return 0, nil, fmt.Errorf("%d boards: %w", len(boards), err)
	}
	content = live{}
	for _, i := range boards[0].Snapshot {
		content[i.ID] = i.Title
	}
	return boards[0].PublishedVersion, content, nil
}

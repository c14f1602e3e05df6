// Package board is a roadmap board whose two possible states after an interrupted publish are known: the content that
// was live, and the content that was to be.
package board

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"

	"growthworkspace/scripts/prove/faults/stand"
)

// item is an item as import, export and the lists have it; what no gate looks at stays null.
type item struct {
	ID               string   `json:"id"`
	RoadmapID        string   `json:"roadmapId"`
	CompanyID        string   `json:"companyId"`
	Slug             string   `json:"slug"`
	Title            string   `json:"title"`
	Summary          *string  `json:"summary"`
	Status           string   `json:"status"`
	SortOrder        *float64 `json:"sortOrder"`
	PublishedVersion *float64 `json:"publishedVersion"`
}

// live is what visitors see: the title of each item by its id.
type live map[string]string

// Board is a board of a company of its own, with so many items.
type Board struct {
	Company stand.Company

	stand      *stand.Stand
	id         string
	size       int
	items      []item
	generation int
	version    float64 // that is live, 0 before the first publish
	current    live
	next       live
	last       map[string]float64 // the version in which an item was last live
}

// New makes a board that was never published.
func New(ctx context.Context, s *stand.Stand, size int) (*Board, error) {
	company, err := s.NewCompany(ctx, 0)
	if err != nil {
		return nil, err
	}
	b := &Board{Company: company, stand: s, id: "brd_1", size: size, current: live{}, last: map[string]float64{}}
	for n := range size {
		id := fmt.Sprintf("itm_%d", n)
		b.items = append(b.items, item{ID: id, RoadmapID: b.id, CompanyID: company.ID, Slug: fmt.Sprintf("s-%d", n)})
	}
	return b, s.Write(ctx, company.ID, "board", map[string]any{"id": b.id, "companyId": company.ID, "name": "Board"})
}

// Path is that of the board's publish.
func (b *Board) Path() string { return "plan/boards/" + b.id + "/publish" }

// partly is the size from which on an edit is one of every fourth item, so that writing it does not take longer than
// what the gates are about.
const partly = 200

// Edit writes content that differs from what is live: titles, and which of the items are published: of a small board
// every item and then every second one, in turn; of a large one half of those that are edited, each time the other half.
// So a publish has items that come or go, items that change, and more records to write than a transaction takes.
// Nothing of it is visible before a publish.
func (b *Board) Edit(ctx context.Context) error {
	b.generation++
	var records []any
	for n := range b.items {
		i := &b.items[n]
		some := b.size > partly && b.generation > 1
		if some && n%4 != b.generation%4 {
			continue
		}
		i.Title, i.Status, i.PublishedVersion = fmt.Sprintf("Item %d of generation %d", n, b.generation), "draft", nil
		if !some && (b.generation%2 == 1 || n%2 == 1) || some && (n/4+b.generation/4)%2 == 0 {
			i.Status = "published"
		}
		if last, was := b.last[i.ID]; was {
			i.PublishedVersion = &last
		}
		records = append(records, *i)
	}
	b.next = live{}
	for _, i := range b.items {
		if i.Status == "published" {
			b.next[i.ID] = i.Title
		}
	}
	return b.stand.Write(ctx, b.Company.ID, "item", records...)
}

// Outcome is what an interrupted publish left.
type Outcome struct {
	Published bool     // the new state; false: the old one
	Wrong     []string // what is neither, and anything else that must not be
}

// Look reads what is live, and tells which of the two states it is. acknowledged says that the publish was answered as
// done, so that only the new state is right.
func (b *Board) Look(ctx context.Context, acknowledged bool) (Outcome, error) {
	var o Outcome
	version, content, err := b.snapshot(ctx)
	if err != nil {
		o.Wrong = append(o.Wrong, fmt.Sprintf("the snapshot cannot be read: %v", err))
		return o, nil
	}
	switch {
	case version == b.version+1 && reflect.DeepEqual(content, b.next):
		o.Published = true
	case version == b.version && reflect.DeepEqual(content, b.current):
	default:
		o.Wrong = append(o.Wrong, fmt.Sprintf("version %v shows %d items, neither the %d of version %v nor the %d of the next",
			version, len(content), len(b.current), b.version, len(b.next)))
		return o, nil
	}
	if acknowledged && !o.Published {
		o.Wrong = append(o.Wrong, "a publish that was acknowledged is lost")
	}
	if o.Published {
		b.version, b.current, b.next = version, b.next, nil
	}
	for id := range b.current {
		b.last[id] = version
	}
	wrong, err := b.marks(ctx)
	o.Wrong = append(o.Wrong, wrong...)
	return o, err
}

// snapshot reads the live snapshot and its version, as the export of a board hands it on.
func (b *Board) snapshot(ctx context.Context) (version float64, content live, err error) {
	records, err := b.stand.Export(ctx, b.Company.ID, "board")
	if err != nil || len(records) != 1 {
		return 0, nil, fmt.Errorf("%d boards: %w", len(records), err)
	}
	var stored struct {
		PublishedVersion *float64
		Snapshot         []struct{ ID, Title string }
	}
	if err := json.Unmarshal(records[0], &stored); err != nil {
		return 0, nil, err
	}
	content = live{}
	for _, i := range stored.Snapshot {
		content[i.ID] = i.Title
	}
	if stored.PublishedVersion != nil {
		version = *stored.PublishedVersion
	}
	return version, content, nil
}

// marks compares what each item reads as its version with what is live (decisions.md §4): the board's version when it
// is live, else the version in which it last was.
func (b *Board) marks(ctx context.Context) (wrong []string, err error) {
	records, err := b.stand.Export(ctx, b.Company.ID, "item")
	if err != nil {
		return nil, err
	}
	for _, text := range records {
		var i item
		if err := json.Unmarshal(text, &i); err != nil {
			return nil, fmt.Errorf("read an item: %w", err)
		}
		want := "null"
		if last, was := b.last[i.ID]; was {
			want = strconv.FormatFloat(last, 'f', -1, 64)
		}
		got := "null"
		if i.PublishedVersion != nil {
			got = strconv.FormatFloat(*i.PublishedVersion, 'f', -1, 64)
		}
		if got != want {
			wrong = append(wrong, fmt.Sprintf("item %s reads version %s and was last live in %s", i.ID, got, want))
		}
	}
	if len(records) != b.size {
		wrong = append(wrong, fmt.Sprintf("%d items of %d are left", len(records), b.size))
	}
	return wrong, nil
}

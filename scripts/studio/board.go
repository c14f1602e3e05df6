package studio

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"growthworkspace/scripts/studio/roadmap"
	"growthworkspace/shared/client"
)

// boardData is the data of the roadmap template.
type boardData struct {
	Boards   []client.Board
	NoBoards *failure
	Board    *client.Board

	Live       bool // shows what visitors see, instead of the editors' items
	Columns    []roadmap.Column[card]
	NoItems    *failure
	More       string // the address of the next items; empty: none
	Preview    client.Preview
	NoPreview  *failure
	PreviewTag string
	Gone       []string // titles of deleted items that visitors still see

	MayWrite, MayPublish bool
	MayMove              bool // every item of the board is shown, so its neighbours are known
}

// card is an item on the board.
type card struct {
	ID, Title, Summary, Column, Target, Status string
	Categories                                 []string
	Mark                                       string // what a publish would do to it: appears, changes or disappears
	Seen                                       string // the version of the item
}

// itemsShown is the number of items on one page.
const itemsShown = 200

func (s *Studio) roadmap(v *visit) *view {
	q := v.r.URL.Query()
	d := &boardData{Live: q.Get("view") == "live", MayWrite: v.may("plan:write"), MayPublish: v.may("plan:publish")}
	out := &view{page: "board", place: "Roadmap", title: "Roadmap", data: d}
	for cursor := ""; ; {
		boards := read(v, "plan:read", "The boards", func(ctx context.Context, options ...client.CallOption) (client.Page[client.Board], error) {
			return v.api.ListPlanBoards(ctx, client.ListPlanBoardsInput{Limit: client.Value(100), Cursor: given(cursor)}, options...)
		})
		v.wait()
		d.Boards, d.NoBoards = append(d.Boards, boards.Value.Items...), boards.Failure
		if boards.Value.Next == "" {
			break // a company has at most 200 boards
		}
		cursor = boards.Value.Next
	}
	if d.NoBoards != nil {
		out.status = d.NoBoards.status()
		return out
	}
	if wanted := q.Get("board"); wanted != "" {
		if at := slices.IndexFunc(d.Boards, func(b client.Board) bool { return b.ID == wanted }); at >= 0 {
			d.Board = &d.Boards[at]
		} else {
			out.status = http.StatusNotFound
			return out
		}
	} else if len(d.Boards) > 0 {
		d.Board = &d.Boards[0]
	}
	if d.Board != nil {
		v.readBoard(d, q.Get("cursor"))
	}
	return out
}

// readBoard reads the parts of a board that the page shows.
func (v *visit) readBoard(d *boardData, cursor string) {
	preview := read(v, "plan:read", "What publishing would change", func(ctx context.Context, options ...client.CallOption) (client.Preview, error) {
		return v.api.PreviewPlanPublish(ctx, client.PreviewPlanPublishInput{BoardID: d.Board.ID}, options...)
	})
	var next string
	var cards []card
	if d.Live {
		live := read(v, "plan:read", "What visitors see", func(ctx context.Context, options ...client.CallOption) (client.Page[client.LiveItem], error) {
			return v.api.ListPlanLiveItems(ctx, client.ListPlanLiveItemsInput{BoardID: d.Board.ID, Limit: client.Value(itemsShown), Cursor: given(cursor)}, options...)
		})
		v.wait()
		for _, i := range live.Value.Items {
			cards = append(cards, card{ID: i.ID, Title: i.Title, Summary: i.Summary.Or(""), Column: i.ColumnID.Or(""), Target: i.TargetLabel.Or(""), Categories: i.CategoryIDs.Or(nil)})
		}
		d.NoItems, next = live.Failure, live.Value.Next
	} else {
		items := v.listItems(d.Board.ID, cursor)
		v.wait()
		for _, i := range items.Value.Items {
			cards = append(cards, card{
				ID: i.ID, Title: i.Title, Summary: i.Summary.Or(""), Column: i.ColumnID.Or(""), Target: i.TargetLabel.Or(""),
				Status: string(i.Status.Or("")), Categories: i.CategoryIDs.Or(nil), Seen: version(i.UpdatedAt),
			})
		}
		d.NoItems, next = items.Failure, items.Value.Next
	}
	if next != "" {
		d.More = d.path(url.Values{"cursor": {next}})
	}
	d.Preview, d.NoPreview, d.PreviewTag = preview.Value, preview.Failure, preview.ETag
	d.MayMove = d.MayWrite && !d.Live && cursor == "" && next == ""
	d.mark(cards)
	d.Columns = roadmap.Columns(cards, func(c card) string { return c.Column })
}

func (v *visit) listItems(boardID, cursor string) *result[client.Page[client.Item]] {
	return read(v, "plan:read", "The items", func(ctx context.Context, options ...client.CallOption) (client.Page[client.Item], error) {
		return v.api.ListPlanItems(ctx, client.ListPlanItemsInput{BoardID: boardID, Limit: client.Value(itemsShown), Cursor: given(cursor)}, options...)
	})
}

// path is the address of the board, with more parameters.
func (d *boardData) path(more url.Values) string {
	more.Set("board", d.Board.ID)
	if d.Live {
		more.Set("view", "live")
	}
	return "/roadmap?" + more.Encode()
}

// mark sets on each card what a publish would do to its item.
func (d *boardData) mark(cards []card) {
	marks := map[string]string{}
	for mark, items := range map[string][]client.PublishedItem{"appears": d.Preview.Added, "disappears": d.Preview.Removed} {
		for _, i := range items {
			marks[i.ID] = mark
		}
	}
	for _, i := range d.Preview.Updated {
		marks[i.ID] = "changes"
	}
	shown := map[string]bool{}
	for n := range cards {
		cards[n].Mark, shown[cards[n].ID] = marks[cards[n].ID], true
	}
	for _, i := range d.Preview.Removed {
		if !shown[i.ID] && d.More == "" && !d.Live {
			d.Gone = append(d.Gone, i.Title)
		}
	}
}

// Sentence describes what visitors would see after a publish.
func (d *boardData) Sentence() string {
	p := d.Preview
	var parts []string
	for _, change := range []struct {
		n    int
		verb string
	}{{len(p.Added), "add"}, {len(p.Updated), "change"}, {len(p.Removed), "remove"}} {
		if change.n > 0 {
			parts = append(parts, fmt.Sprintf("%s %s", change.verb, plural(change.n, "item", "items")))
		}
	}
	switch {
	case !p.HasChanges:
		return "All changes are published."
	case d.Nothing():
		return "There is nothing to publish yet: it needs an item with the status published."
	case len(parts) == 0:
		return "Publishing would change nothing that visitors see, and make a new version."
	case len(parts) == 1:
		return "Publishing would " + parts[0] + "."
	}
	return "Publishing would " + strings.Join(parts[:len(parts)-1], ", ") + " and " + parts[len(parts)-1] + "."
}

// Nothing reports whether the board was never published and has nothing to publish.
func (d *boardData) Nothing() bool {
	return d.Preview.CurrentVersion.IsNull() && d.Preview.ItemCount == 0
}

// change is what a publish would do to some items.
type change struct {
	Verb   string
	Titles []string
}

// Changes lists the changes that a publish would show.
func (d *boardData) Changes() (out []change) {
	titles := func(items []client.PublishedItem) (out []string) {
		for _, i := range items {
			out = append(out, i.Title)
		}
		return out
	}
	var changed []string
	for _, i := range d.Preview.Updated {
		changed = append(changed, fmt.Sprintf("%s (%s)", i.Title, strings.Join(propertyNames(i.Changed), ", ")))
	}
	for _, c := range []change{{"Appear", titles(d.Preview.Added)}, {"Change", changed}, {"Disappear", titles(d.Preview.Removed)}} {
		if len(c.Titles) > 0 {
			out = append(out, c)
		}
	}
	return out
}

// propertyNames returns the names of an item's properties as its form labels them.
func propertyNames(properties []string) (out []string) {
	known := map[string]string{"columnId": "column", "categoryIds": "categories", "sortOrder": "order", "targetLabel": "when"}
	for _, p := range properties {
		out = append(out, cmp.Or(known[p], p))
	}
	return out
}

// publish publishes exactly what the page showed. If the items have changed since, it publishes
// nothing, and the page shows what would change now.
func (s *Studio) publish(v *visit) *view {
	board := v.r.PathValue("board")
	back := url.Values{"board": {board}}
	done := read(v, "plan:publish", "Publish what was shown", func(ctx context.Context, options ...client.CallOption) (client.Publication, error) {
		return v.api.PublishPlanBoard(ctx, client.PublishPlanBoardInput{BoardID: board}, append(options, client.IfMatch(v.r.PostForm.Get("etag")))...)
	})
	v.wait()
	switch p := done.Value; {
	case done.Failure != nil && done.Failure.Status == http.StatusPreconditionFailed:
		return v.done("/roadmap", back, notice{Bad: true, Text: "Somebody changed the board after you looked, so nothing was published. Below is what publishing would change now."})
	case done.Failure != nil:
		return v.done("/roadmap", back, notice{Bad: true, Text: "Nothing was published: " + done.Failure.Text()})
	case !p.Changed:
		return v.done("/roadmap", back, notice{Text: "Visitors see this already: nothing had to be published."})
	default:
		return v.done("/roadmap", back, notice{Text: fmt.Sprintf("Published version %d: visitors see %s.", p.PublishedVersion, plural(p.ItemCount, "item", "items"))})
	}
}

// visitors writes the board as visitors see it, as one page that any host can serve.
func (s *Studio) visitors(v *visit) *view {
	board := v.r.PathValue("board")
	profile := read(v, "company:read", "The company", v.getCompany)
	stored := read(v, "plan:read", "The board", func(ctx context.Context, options ...client.CallOption) (client.Board, error) {
		return v.api.GetPlanBoard(ctx, client.GetPlanBoardInput{BoardID: board}, options...)
	})
	v.wait()
	page := roadmap.Board{Name: stored.Value.Name.Or(""), Company: profile.Value.Name.Or(""), Language: profile.Value.PrimaryLanguage.Or("")}
	if at, ok := stored.Value.PublishedAt.Get(); ok {
		page.PublishedAt = at.UTC().Format(time.RFC3339)
	}
	failed := stored.Failure
	if failed == nil {
		for item, err := range v.api.AllPlanLiveItems(v.ctx, client.ListPlanLiveItemsInput{BoardID: board, Limit: client.Value(itemsShown)}) {
			if failed = failureOf(err, "plan:read"); failed != nil {
				break
			}
			page.Items = append(page.Items, roadmap.Item{
				Slug: item.Slug, Title: item.Title, Summary: item.Summary.Or(""), ColumnID: item.ColumnID.Or(""),
				CategoryIDs: item.CategoryIDs.Or(nil), TargetLabel: item.TargetLabel.Or(""),
			})
		}
	}
	if failed != nil {
		return v.done("/roadmap", nil, notice{Bad: true, Text: "The page could not be made: " + failed.Text()})
	}
	v.w.Header().Set("Content-Type", "text/html; charset=utf-8")
	v.w.Header().Set("Content-Disposition", `attachment; filename="roadmap.html"`)
	if err := roadmap.WritePage(v.w, page); err != nil {
		s.Log.Error("the page for visitors could not be written", "error", err)
	}
	return nil
}

// writesMax bounds how many items one move may write.
const writesMax = 8

// move moves an item to the next place or column, or before another item of a column.
func (s *Studio) move(v *visit) *view {
	form, id := v.r.PostForm, v.r.PathValue("id")
	board := form.Get("board")
	back := url.Values{"board": {board}}
	items := v.listItems(board, "")
	v.wait()
	if items.Failure != nil {
		return v.done("/roadmap", back, notice{Bad: true, Text: "Nothing was moved: " + items.Failure.Text()})
	}
	if items.Value.Next != "" {
		return v.done("/roadmap", back, notice{Bad: true, Text: fmt.Sprintf("The board has more than %d items: edit the item's order instead of moving it.", itemsShown)})
	}
	moved, found := newPlace(items.Value.Items, id, form)
	if !found || version(moved.item.UpdatedAt) != form.Get("seen") {
		return v.done("/roadmap", back, notice{Bad: true, Text: "Somebody changed the item after you looked, so it was not moved."})
	}
	writes, possible := moved.writes()
	if !possible {
		return v.done("/roadmap", back, notice{Bad: true, Text: "There is no number between its new neighbours: edit their order first."})
	}
	for _, w := range writes {
		stored := read(v, "plan:write", "Move", func(ctx context.Context, options ...client.CallOption) (client.Item, error) {
			return v.api.UpdatePlanItem(ctx, w, options...)
		})
		v.wait()
		if stored.Failure != nil {
			return v.done("/roadmap", back, notice{Bad: true, Text: "Not moved: " + stored.Failure.Text()})
		}
	}
	return v.done("/roadmap", back, notice{Text: fmt.Sprintf("Moved to %s. Visitors see it after the next publish.", roadmap.Readable(moved.column))})
}

// moveTo is an item with its new column, and the items of that column without it.
type moveTo struct {
	item   client.Item
	column string
	others []client.Item
	at     int // its index among the others
}

// newPlace returns where an item moves to. found is false if the item does not exist.
func newPlace(items []client.Item, id string, form url.Values) (m moveTo, found bool) {
	columns := roadmap.Columns(items, func(i client.Item) string { return i.ColumnID.Or("") })
	c, at := -1, -1
	for n, column := range columns {
		if i := slices.IndexFunc(column.Items, func(i client.Item) bool { return i.ID == id }); i >= 0 {
			c, at = n, i
		}
	}
	if c < 0 {
		return m, false
	}
	m = moveTo{item: columns[c].Items[at], column: columns[c].ID, at: at}
	before := ""
	switch form.Get("to") {
	case "up":
		m.at--
	case "down":
		m.at++
	case "left":
		c--
	case "right":
		c++
	default: // dropped
		m.column, before = form.Get("column"), form.Get("before")
		c = slices.IndexFunc(columns, func(other roadmap.Column[client.Item]) bool { return other.ID == m.column })
	}
	if c >= 0 && c < len(columns) {
		m.column = columns[c].ID
		m.others = slices.DeleteFunc(slices.Clone(columns[c].Items), func(i client.Item) bool { return i.ID == id })
	}
	if form.Get("to") == "" {
		if m.at = slices.IndexFunc(m.others, func(i client.Item) bool { return i.ID == before }); m.at < 0 {
			m.at = len(m.others)
		}
	}
	m.at = min(max(m.at, 0), len(m.others))
	return m, true
}

// orderStep is the distance between the sortOrders of renumbered items.
const orderStep = 10

// writes returns the updates that move the item to its place. The item gets a number between its
// neighbours' numbers. If there is no such number, the items of the column up to it are renumbered.
// possible is false if there are too many of them.
func (m moveTo) writes() (out []client.UpdatePlanItemInput, possible bool) {
	update := client.UpdatePlanItemInput{ItemID: m.item.ID}
	if m.column != m.item.ColumnID.Or("") {
		update.ColumnID = client.Value(m.column)
		if m.column == "" {
			update.ColumnID = client.Null[string]()
		}
	}
	order := func(n int) (int, bool) { return m.others[n].SortOrder.Get() }
	low, high, hasLow, hasHigh := 0, 0, m.at > 0, false
	if hasLow {
		if low, possible = order(m.at - 1); !possible {
			return m.numbered(update)
		}
	}
	if m.at < len(m.others) {
		high, hasHigh = order(m.at)
	}
	switch {
	case hasLow && hasHigh && high-low < 2:
		return m.numbered(update)
	case hasLow && hasHigh:
		update.SortOrder = client.Value(low + (high-low)/2)
	case hasLow:
		update.SortOrder = client.Value(low + orderStep)
	case hasHigh:
		update.SortOrder = client.Value(high - 1)
	default:
		update.SortOrder = client.Value(orderStep)
		if _, numbered := m.item.SortOrder.Get(); numbered {
			update.SortOrder = client.Optional[int]{} // alone in its column, so any number is right
		}
	}
	return []client.UpdatePlanItemInput{update}, true
}

// numbered renumbers the items of the column, up to the item's place and as far after it as needed.
func (m moveTo) numbered(update client.UpdatePlanItemInput) (out []client.UpdatePlanItemInput, possible bool) {
	next := orderStep
	if first, ok := m.others[0].SortOrder.Get(); ok {
		next = first
	}
	all := slices.Insert(slices.Clone(m.others), m.at, m.item)
	for n, i := range all {
		now, ok := i.SortOrder.Get()
		switch {
		case n == m.at:
			update.SortOrder = client.Value(next)
			out = append(out, update)
		case ok && now >= next:
			next = now
			if n > m.at {
				return out, true
			}
		default:
			out = append(out, client.UpdatePlanItemInput{ItemID: i.ID, SortOrder: client.Value(next)})
		}
		if len(out) > writesMax {
			return nil, false
		}
		next += orderStep
	}
	return out, true
}

// itemFields returns the form of an item.
func itemFields(i client.Item, columns []string) []*field {
	return []*field{
		{Name: "title", Label: "Title", Kind: "text", Required: true, Hint: "What visitors read first.", Stored: i.Title},
		{Name: "summary", Label: "Summary", Kind: "long", Hint: "One or two sentences below the title.", Stored: i.Summary.Or("")},
		{Name: "status", Label: "Status", Kind: "choice", Required: true, Hint: "Published ones appear with the next publish.", Stored: string(i.Status.Or(client.PlanStatusDraft)), Choices: []string{
			string(client.PlanStatusDraft), string(client.PlanStatusInReview), string(client.PlanStatusPublished), string(client.PlanStatusArchived)}},
		{Name: "columnId", Label: "Column", Kind: "text", Hint: "One that there is, or a new name for a new column.", Choices: columns, Stored: i.ColumnID.Or("")},
		{Name: "targetLabel", Label: "When", Kind: "text", Hint: "Free text, such as Next quarter.", Stored: i.TargetLabel.Or("")},
		{Name: "sortOrder", Label: "Order", Kind: "number", Hint: "A whole number; lower ones come first, items without one last. Moving on the board sets it.", Stored: typedNumber(i.SortOrder)},
		{Name: "categoryIds", Label: "Categories", Kind: "list", Hint: "One on each line.", Stored: strings.Join(i.CategoryIDs.Or(nil), "\n")},
	}
}

// boardPath is the address of a board, or of the roadmap.
func boardPath(board string) string {
	if board == "" {
		return "/roadmap"
	}
	return "/roadmap?" + url.Values{"board": {board}}.Encode()
}

// itemEditing edits the items of a board. The form of an item carries its board.
func (v *visit) itemEditing() editing[client.Item] {
	board := v.r.FormValue("board")
	of := func(i client.Item) string { return cmp.Or(i.RoadmapID, board) }
	return editing[client.Item]{
		place: "Roadmap", noun: "item", area: "plan", path: "/roadmap/items", back: boardPath(board),
		home:     func(i client.Item) string { return boardPath(of(i)) },
		hidden:   func(i client.Item) []fact { return []fact{{"board", of(i)}} },
		saved:    "Saved. Visitors see it after the next publish.",
		deletion: "It cannot be undone. If visitors see the item, they do until the next publish.",
		deleted:  "Deleted. If visitors see it, they do until the next publish.",
		get: func(ctx context.Context, id string, options ...client.CallOption) (client.Item, error) {
			return v.api.GetPlanItem(ctx, client.GetPlanItemInput{ItemID: id}, options...)
		},
		remove: func(ctx context.Context, id string, options ...client.CallOption) (client.Deleted, error) {
			return v.api.DeletePlanItem(ctx, client.DeletePlanItemInput{ItemID: id}, options...)
		},
		fields: func(i client.Item) []*field { return itemFields(i, v.columnsOf(of(i))) },
		facts:  func(i client.Item) []fact { return []fact{{"Address on the roadmap", i.Slug}} },
		save: func(c *changes, id string) func(context.Context, ...client.CallOption) (client.Item, error) {
			title, summary, column, target := c.required("title"), c.text("summary"), v.column(board, c.text("columnId")), c.text("targetLabel")
			categories, status, order := c.list("categoryIds"), word[client.PlanStatus](c.text("status")), c.whole("sortOrder")
			if id != "" {
				return func(ctx context.Context, options ...client.CallOption) (client.Item, error) {
					return v.api.UpdatePlanItem(ctx, client.UpdatePlanItemInput{
						ItemID: id, Title: title, Summary: summary, ColumnID: column, CategoryIDs: categories, Status: status, SortOrder: order, TargetLabel: target,
					}, options...)
				}
			}
			return func(ctx context.Context, options ...client.CallOption) (client.Item, error) {
				return v.api.CreatePlanItem(ctx, client.CreatePlanItemInput{
					BoardID: board, Title: title.Or(""), Summary: summary, ColumnID: column, CategoryIDs: categories, Status: status, SortOrder: order, TargetLabel: target,
				}, options...)
			}
		},
	}
}

// columnsOf returns the columns of a board to choose from. It returns none if the board cannot be
// read.
func (v *visit) columnsOf(board string) (out []string) {
	if board == "" {
		return nil
	}
	items := v.listItems(board, "")
	v.wait()
	for _, c := range roadmap.Columns(items.Value.Items, func(i client.Item) string { return i.ColumnID.Or("") }) {
		if c.ID != "" {
			out = append(out, c.ID)
		}
	}
	return out
}

// column returns the column that typed text means: Next means the column next, if the board has it.
func (v *visit) column(board string, typed client.Optional[string]) client.Optional[string] {
	name, ok := typed.Get()
	if !ok {
		return typed
	}
	columns := v.columnsOf(board)
	if slices.Contains(columns, name) {
		return typed
	}
	for _, id := range columns {
		if strings.EqualFold(name, id) || strings.EqualFold(name, roadmap.Readable(id)) {
			return client.Value(id)
		}
	}
	return typed
}

// boardEditing edits boards. Boards are deleted by scripts, because a board must be empty first.
func (v *visit) boardEditing() editing[client.Board] {
	return editing[client.Board]{
		place: "Roadmap", noun: "board", area: "plan", path: "/roadmap/boards", back: boardPath(v.r.PathValue("id")),
		home: func(b client.Board) string { return boardPath(b.ID) },
		get: func(ctx context.Context, id string, options ...client.CallOption) (client.Board, error) {
			return v.api.GetPlanBoard(ctx, client.GetPlanBoardInput{BoardID: id}, options...)
		},
		fields: func(b client.Board) []*field {
			return []*field{
				{Name: "name", Label: "Name", Kind: "text", Required: true, Stored: b.Name.Or("")},
				{Name: "allowedOrigins", Label: "Sites that may send feedback", Kind: "list", Hint: "One on each line, such as https://example.com. Empty allows any site.", Stored: strings.Join(b.AllowedOrigins.Or(nil), "\n")},
				{Name: "active", Label: "In use", Kind: "flag", Stored: strconv.FormatBool(b.Active.Or(true))},
			}
		},
		facts: func(b client.Board) (out []fact) {
			if key := b.PublicKey.Or(""); key != "" {
				out = append(out, fact{"Public key, for your roadmap's page", key})
			}
			return out
		},
		save: func(c *changes, id string) func(context.Context, ...client.CallOption) (client.Board, error) {
			name, origins, active := c.required("name"), c.list("allowedOrigins"), c.flag("active")
			if origins.IsNull() {
				origins = client.Value([]string{}) // an emptied list allows any site; null is rejected, because it could mean none
			}
			if id != "" {
				return func(ctx context.Context, options ...client.CallOption) (client.Board, error) {
					return v.api.UpdatePlanBoard(ctx, client.UpdatePlanBoardInput{BoardID: id, Name: name, AllowedOrigins: origins, Active: active}, options...)
				}
			}
			return func(ctx context.Context, options ...client.CallOption) (client.Board, error) {
				return v.api.CreatePlanBoard(ctx, client.CreatePlanBoardInput{Name: name.Or(""), AllowedOrigins: origins, Active: active}, options...)
			}
		},
	}
}

package studio

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"growthworkspace/scripts/studio/phrase"
	"growthworkspace/scripts/studio/roadmap"
	"growthworkspace/shared/client"
)

// boardData is the data of the roadmap template.
type boardData struct {
	Boards   []client.Board
	NoBoards *failure
	Board    *client.Board

	Live          bool // the page shows the published items instead of the items that editors work on
	Columns       []roadmap.Column[card]
	NoItems       *failure
	More          string // the address of the next page of items, or empty
	Preview       client.Preview
	NoPreview     *failure
	PreviewTag    string
	Gone          []string // titles of deleted items that visitors see until the next publish
	liveColumnIDs []string // the ids of the columns that visitors see

	// The id of the column whose renaming was refused, and the name that the user typed. The form
	// is then shown again. NewName is empty if no renaming was refused.
	Renaming, NewName string

	MayWrite, MayPublish bool
	Cursor               string // the cursor of the page of items; empty on the first page
}

// MayMove reports whether the items can be moved.
func (d *boardData) MayMove() bool { return d.MayWrite && !d.Live }

// Whole reports whether the page shows every item of the board.
func (d *boardData) Whole() bool { return d.Cursor == "" && d.More == "" }

// card is an item on the board.
type card struct {
	ID, Title, Summary, Column, Target, Status string
	Categories                                 []string
	Mark                                       string // what publishing does to the item: it "appears", "changes" or "disappears"; empty if publishing does nothing to it
	Seen                                       string // the version of the item when the page was loaded
}

// itemsPerPage is the maximum number of items on one page of a board.
const itemsPerPage = 100

// itemsPerCall is the maximum number of items that one call reads if the page only needs to know
// their columns.
const itemsPerCall = 200

func (s *Studio) roadmap(v *pageRequest) *view {
	q := v.r.URL.Query()
	d := &boardData{Live: q.Get("view") == "live", MayWrite: v.may("plan:write"), MayPublish: v.may("plan:publish")}
	out := &view{page: "board", place: "Roadmap", title: "Roadmap", data: d}
	for cursor := ""; ; {
		boards := startCall(v, "plan:read", "The boards",
			bound(v.api.ListPlanBoards, client.ListPlanBoardsInput{Limit: client.Value(100), Cursor: optional(cursor)}))
		v.wait()
		d.Boards, d.NoBoards = append(d.Boards, boards.Value.Items...), boards.Failure
		if boards.Value.Next == "" {
			break // this takes only a few calls, because a company has at most 200 boards
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
		d.Renaming, d.NewName = q.Get("rename"), q.Get("name")
		v.readBoard(d, q.Get("cursor"))
	}
	return out
}

// readBoard reads the parts of a board that the page shows.
func (pr *pageRequest) readBoard(d *boardData, cursor string) {
	preview := startCall(pr, "plan:read", "What publishing would change",
		bound(pr.api.PreviewPlanPublish, client.PreviewPlanPublishInput{BoardID: d.Board.ID}))
	d.Cursor = cursor
	var next string
	var cards []card
	if d.Live {
		live := pr.listLiveItems(d.Board.ID, itemsPerPage, cursor)
		pr.wait()
		for _, i := range live.Value.Items {
			cards = append(cards, card{ID: i.ID, Title: i.Title, Summary: i.Summary.Or(""), Column: i.ColumnID.Or(""), Target: i.TargetLabel.Or(""), Categories: i.CategoryIDs.Or(nil)})
		}
		d.NoItems, next = live.Failure, live.Value.Next
	} else {
		items := pr.listItems(d.Board.ID, itemsPerPage, cursor)
		live := pr.listLiveItems(d.Board.ID, itemsPerCall, "")
		pr.wait()
		d.liveColumnIDs = liveColumns(live)
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
	d.mark(cards)
	d.Columns = roadmap.Columns(cards, func(c card) string { return c.Column })
	if !d.Live && d.NoItems == nil {
		d.Columns = allColumns(d.Columns, d.liveColumnIDs)
		if d.Whole() {
			d.Columns = withoutRenamed(d.Columns, pr.renames.newIDs(d.Board.ID))
		}
	}
}

// WhyEmpty returns the reason why a column without items is drawn. It returns "" if the page does
// not show every item of the board, because the column may then have items on another page.
func (d *boardData) WhyEmpty(id string) string {
	switch {
	case !d.Whole():
		return ""
	case slices.Contains(d.liveColumnIDs, id):
		return "No items any more. Visitors see this column until the next publish."
	}
	return "A standard column that has no items."
}

// JoinName returns the heading of the existing column that already has the refused name. The items
// of the renamed column would join that column. JoinName returns "" if the renaming of this column
// was not refused.
func (d *boardData) JoinName(id string) string {
	if d.NewName == "" || d.Renaming != id {
		return ""
	}
	return roadmap.Heading(columnID(d.NewName, columnIDs(d.Columns)))
}

func (pr *pageRequest) listItems(boardID string, limit int, cursor string) *result[client.Page[client.Item]] {
	return startCall(pr, "plan:read", "The items", bound(pr.api.ListPlanItems, client.ListPlanItemsInput{
		BoardID: boardID, Limit: client.Value(limit), Cursor: optional(cursor),
	}))
}

func (pr *pageRequest) listLiveItems(boardID string, limit int, cursor string) *result[client.Page[client.LiveItem]] {
	return startCall(pr, "plan:read", "What visitors see", bound(pr.api.ListPlanLiveItems, client.ListPlanLiveItemsInput{
		BoardID: boardID, Limit: client.Value(limit), Cursor: optional(cursor),
	}))
}

// path returns the address of the board with the additional parameters in more.
func (d *boardData) path(more url.Values) string {
	more.Set("board", d.Board.ID)
	if d.Live {
		more.Set("view", "live")
	}
	return "/roadmap?" + more.Encode()
}

// mark sets the Mark of each card.
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

// PreviousVersion returns the number of the version before the live one, or 0 if there is none.
func (d *boardData) PreviousVersion() int { return max(0, d.Preview.CurrentVersion.Or(0)-1) }

// Sentence describes what publishing would change for visitors.
func (d *boardData) Sentence() string {
	p := d.Preview
	var parts []string
	for _, change := range []struct {
		n    int
		verb string
	}{{len(p.Added), "add"}, {len(p.Updated), "change"}, {len(p.Removed), "remove"}} {
		if change.n > 0 {
			parts = append(parts, fmt.Sprintf("%s %s", change.verb, phrase.Plural(change.n, "item", "items")))
		}
	}
	switch {
	case !p.HasChanges:
		return "All changes are published."
	case d.NothingToPublish():
		return "There is nothing to publish yet: it needs an item with the status published."
	case len(parts) == 0:
		return "Publishing would change nothing that visitors see, and make a new version."
	case len(parts) == 1:
		return "Publishing would " + parts[0] + "."
	}
	return "Publishing would " + strings.Join(parts[:len(parts)-1], ", ") + " and " + parts[len(parts)-1] + "."
}

// NothingToPublish reports whether the board has never been published and has nothing to publish.
func (d *boardData) NothingToPublish() bool {
	return d.Preview.CurrentVersion.IsNull() && d.Preview.ItemCount == 0
}

// publishChange is what publishing would do to some of the items: a verb, and the titles of these
// items.
type publishChange struct {
	Verb   string
	Titles []string
}

// Changes lists what publishing would change for visitors.
func (d *boardData) Changes() (out []publishChange) {
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
	for _, c := range []publishChange{{"Appear", titles(d.Preview.Added)}, {"Change", changed}, {"Disappear", titles(d.Preview.Removed)}} {
		if len(c.Titles) > 0 {
			out = append(out, c)
		}
	}
	return out
}

// propertyNames returns the names that an item's form uses for the item's properties.
func propertyNames(properties []string) (out []string) {
	known := map[string]string{"columnId": "column", "categoryIds": "categories", "sortOrder": "order", "targetLabel": "when"}
	for _, p := range properties {
		out = append(out, cmp.Or(known[p], p))
	}
	return out
}

// publish publishes exactly what the page showed. If the items have changed since then, it
// publishes nothing, and the page shows what publishing would change now.
func (s *Studio) publish(v *pageRequest) *view {
	board := v.r.PathValue("board")
	back := url.Values{"board": {board}}
	in := client.PublishPlanBoardInput{BoardID: board}
	res := startCall(v, "plan:publish", "Publish what was shown",
		bound(v.api.PublishPlanBoard, in), client.IfMatch(v.r.PostForm.Get("etag")))
	v.wait()
	switch p := res.Value; {
	case res.Failure != nil && res.Failure.Status == http.StatusPreconditionFailed:
		return v.redirectWithNotice("/roadmap", back, notice{Bad: true, Text: "Somebody changed the board after you looked, so nothing was published. Below is what publishing would change now."})
	case res.Failure != nil:
		return v.redirectWithNotice("/roadmap", back, notice{Bad: true, Text: "Nothing was published: " + res.Failure.Text()})
	case !p.Changed:
		return v.redirectWithNotice("/roadmap", back, notice{Text: "Visitors see this already: nothing had to be published."})
	default:
		return v.redirectWithNotice("/roadmap", back, notice{Text: fmt.Sprintf("Published version %d: visitors see %s.", p.PublishedVersion, phrase.Plural(p.ItemCount, "item", "items"))})
	}
}

// rollback makes the version of the form live again.
func (s *Studio) rollback(v *pageRequest) *view {
	board := v.r.PathValue("board")
	back := url.Values{"board": {board}}
	version, err := strconv.Atoi(v.r.PostForm.Get("version"))
	if err != nil {
		return v.redirectWithNotice("/roadmap", back, notice{Bad: true, Text: "The form names no version."})
	}
	res := startCall(v, "plan:publish", "Go back to an earlier version",
		bound(v.api.RollbackPlanBoard, client.RollbackPlanBoardInput{BoardID: board, Version: version}))
	v.wait()
	switch p := res.Value; {
	case res.Failure != nil:
		return v.redirectWithNotice("/roadmap", back, notice{Bad: true, Text: "Nothing was changed: " + res.Failure.Text()})
	case !p.Changed:
		return v.redirectWithNotice("/roadmap", back, notice{Text: "Visitors see this already: nothing had to be published."})
	default:
		return v.redirectWithNotice("/roadmap", back, notice{Text: fmt.Sprintf("Version %d is live again, as version %d.", version, p.PublishedVersion)})
	}
}

// visitorPage sends the board as visitors see it, as a single HTML file that any web server can
// serve.
func (s *Studio) visitorPage(v *pageRequest) *view {
	board := v.r.PathValue("board")
	profile := startCall(v, "company:read", "The company", v.api.GetCompany)
	stored := startCall(v, "plan:read", "The board",
		bound(v.api.GetPlanBoard, client.GetPlanBoardInput{BoardID: board}))
	kit := startCall(v, "context:read", "The brand kit", v.api.GetContextBrandKit)
	v.wait()
	page := roadmap.Board{
		Name: stored.Value.Name.Or(""), Company: profile.Value.Name.Or(""), Language: profile.Value.PrimaryLanguage.Or(""), Home: profile.Value.WebsiteURL.Or(""),
		Brand: roadmap.ReadBrand(kit.Value.Colors.Or(nil), kit.Value.Fonts.Or(nil)), // no brand if the kit cannot be read
	}
	if at, ok := stored.Value.PublishedAt.Get(); ok {
		page.PublishedAt = at.UTC().Format(time.RFC3339)
	}
	failed := stored.Failure
	if failed == nil {
		for item, err := range v.api.AllPlanLiveItems(v.ctx, client.ListPlanLiveItemsInput{BoardID: board, Limit: client.Value(itemsPerPage)}) {
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
		return v.redirectWithNotice("/roadmap", nil, notice{Bad: true, Text: "The page could not be made: " + failed.Text()})
	}
	v.w.Header().Set("Content-Type", "text/html; charset=utf-8")
	v.w.Header().Set("Content-Disposition", `attachment; filename="roadmap.html"`)
	if err := roadmap.WritePage(v.w, page); err != nil {
		s.Log.Error("the page for visitors could not be written", "error", err)
	}
	return nil
}

// itemFields returns the form fields of an item. column is the initial column of a new item, or
// empty.
func itemFields(i client.Item, columns []string, column string) []*field {
	return []*field{
		{Name: "title", Label: "Title", Kind: "text", Required: true, Hint: "What visitors read first.", Stored: i.Title},
		{Name: "summary", Label: "Summary", Kind: "long", Hint: "One or two sentences below the title.", Stored: i.Summary.Or("")},
		{Name: "status", Label: "Status", Kind: "choice", Required: true, Hint: "Published ones appear with the next publish.", Stored: string(i.Status.Or(client.PlanStatusDraft)), Choices: []string{
			string(client.PlanStatusDraft), string(client.PlanStatusInReview), string(client.PlanStatusPublished), string(client.PlanStatusArchived)}},
		{Name: "columnId", Label: "Column", Kind: "choice", Choices: columns, Stored: i.ColumnID.Or(""), Suggested: column},
		{Name: "newColumn", Label: "New column", Kind: "text", Hint: "Only if none of the columns fits."},
		{Name: "targetLabel", Label: "When", Kind: "text", Hint: "Free text, such as Next quarter.", Stored: i.TargetLabel.Or("")},
		{Name: "sortOrder", Label: "Order", Kind: "number", Hint: "A whole number; lower ones come first, items without one last. Moving on the board sets it.", Stored: typedNumber(i.SortOrder)},
		{Name: "categoryIds", Label: "Categories", Kind: "list", Hint: "One on each line.", Stored: strings.Join(i.CategoryIDs.Or(nil), "\n")},
	}
}

// boardPath returns the address of a board, or that of the roadmap if board is empty.
func boardPath(board string) string {
	if board == "" {
		return "/roadmap"
	}
	return "/roadmap?" + url.Values{"board": {board}}.Encode()
}

// itemScreens returns the screens that edit the items of a board. An item's form includes the id of
// the item's board.
func (pr *pageRequest) itemScreens() recordScreens[client.Item] {
	board, saved := pr.r.FormValue("board"), "Saved."
	if published := string(client.PlanStatusPublished); pr.r.PostFormValue("status") == published || pr.r.PostFormValue("was.status") == published {
		saved += " Visitors see the change after the next publish."
	}
	boardOf := func(i client.Item) string { return cmp.Or(i.RoadmapID, board) }
	return recordScreens[client.Item]{
		place: "Roadmap", noun: "item", kind: kindNamed("item"), path: "/roadmap/items", back: boardPath(board),
		home:     func(i client.Item) string { return boardPath(boardOf(i)) },
		id:       func(i client.Item) string { return i.ID },
		hidden:   func(i client.Item) []fact { return []fact{{"board", boardOf(i)}} },
		saved:    saved,
		deletion: "It cannot be undone. If visitors see the item, they do until the next publish.",
		deleted:  "Deleted. If visitors see it, they do until the next publish.",
		get: func(id string) call[client.Item] {
			return bound(pr.api.GetPlanItem, client.GetPlanItemInput{ItemID: id})
		},
		remove: func(id string) call[client.Deleted] {
			return bound(pr.api.DeletePlanItem, client.DeletePlanItemInput{ItemID: id})
		},
		fields: func(i client.Item) []*field {
			return itemFields(i, columnIDs(pr.readColumns(boardOf(i))), pr.r.URL.Query().Get("column"))
		},
		facts: func(i client.Item) []fact { return []fact{{"Address on the roadmap", i.Slug}} },
		changedRecord: func(i client.Item) changedRecord {
			return changedRecord{client.ChangeTypeItem, i.ID, string(i.Status.Or("")), i.UpdatedAt}
		},
		save: func(c *formChanges, id string) call[client.Item] {
			title, summary, column, target := c.requiredText("title"), c.text("summary"), pr.itemColumn(c, board), c.text("targetLabel")
			categories, status, order := c.list("categoryIds"), enumValue[client.PlanStatus](c.text("status")), c.integer("sortOrder")
			if id != "" {
				return bound(pr.api.UpdatePlanItem, client.UpdatePlanItemInput{
					ItemID: id, Title: title, Summary: summary, ColumnID: column, CategoryIDs: categories, Status: status, SortOrder: order, TargetLabel: target,
				})
			}
			return bound(pr.api.CreatePlanItem, client.CreatePlanItemInput{
				BoardID: board, Title: title.Or(""), Summary: summary, ColumnID: column, CategoryIDs: categories, Status: status, SortOrder: order, TargetLabel: target,
			})
		},
	}
}

// itemColumn returns the new column of an item: the one that the user typed or, if there is none,
// the one that the user chose from the list. Undoing a typed column restores the column that the
// item had before.
func (pr *pageRequest) itemColumn(c *formChanges, board string) client.Optional[string] {
	chosen, typed := c.text("columnId"), c.text("newColumn")
	if name, ok := typed.Get(); ok {
		return client.Value(columnID(name, columnIDs(pr.readColumns(board))))
	}
	if before := typedField(c.sent, "columnId"); typed.IsNull() && before != "" {
		return client.Value(before)
	}
	if typed.IsNull() {
		return client.Null[string]()
	}
	return chosen
}

// boardScreens returns the screens that edit boards. They cannot delete a board: it would have to
// be empty first, so deleting boards is left to scripts.
func (pr *pageRequest) boardScreens() recordScreens[client.Board] {
	return recordScreens[client.Board]{
		place: "Roadmap", noun: "board", kind: kindNamed("board"), path: "/roadmap/boards", back: boardPath(pr.r.PathValue("id")),
		home: func(b client.Board) string { return boardPath(b.ID) },
		get: func(id string) call[client.Board] {
			return bound(pr.api.GetPlanBoard, client.GetPlanBoardInput{BoardID: id})
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
		save: func(c *formChanges, id string) call[client.Board] {
			name, origins, active := c.requiredText("name"), c.list("allowedOrigins"), c.flag("active")
			if origins.IsNull() {
				origins = client.Value([]string{}) // an empty list allows any site; the service rejects null, because it could mean any site or none
			}
			if id != "" {
				return bound(pr.api.UpdatePlanBoard, client.UpdatePlanBoardInput{
					BoardID: id, Name: name, AllowedOrigins: origins, Active: active,
				})
			}
			return bound(pr.api.CreatePlanBoard, client.CreatePlanBoardInput{
				Name: name.Or(""), AllowedOrigins: origins, Active: active,
			})
		},
	}
}

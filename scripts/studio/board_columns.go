package studio

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"

	"growthworkspace/scripts/studio/phrase"
	"growthworkspace/scripts/studio/roadmap"
	"growthworkspace/shared/client"
)

// A column exists only as the columnId of items: the API stores no column names, no order of
// columns and no empty columns. So the page shows the columns of the items, those of the live
// version, and the standard columns.

func columnOf(i client.Item) string { return i.ColumnID.Or("") }

// allColumns adds the live and standard columns that are missing from columns. It returns all
// columns in the order that visitors see, so that an edit does not reorder the columns before it is
// published.
func allColumns[T any](columns []roadmap.Column[T], live []string) (out []roadmap.Column[T]) {
	base, self := live, func(id string) string { return id }
	if len(base) == 0 {
		base = columnIDs(columns)
	}
	order := roadmap.AddMissing(roadmap.Columns(base, self), roadmap.StandardColumns)
	for _, c := range roadmap.AddMissing(order, columnIDs(columns)) {
		before := len(out)
		for _, other := range columns {
			if roadmap.SameHeading(other.ID, c.ID) && other.ID != "" { // two ids may differ only in case
				out = append(out, other)
			}
		}
		if len(out) == before {
			out = append(out, roadmap.Column[T]{ID: c.ID, Name: c.Name})
		}
	}
	if last := len(columns) - 1; last >= 0 && columns[last].ID == "" {
		out = append(out, columns[last])
	}
	return out
}

// liveColumns returns the ids of the columns that visitors see. It returns none if the live items
// could not be read.
func liveColumns(live *result[client.Page[client.LiveItem]]) (out []string) {
	for _, c := range roadmap.Columns(live.Value.Items, func(i client.LiveItem) string { return i.ColumnID.Or("") }) {
		if c.ID != "" {
			out = append(out, c.ID)
		}
	}
	return out
}

// readColumns returns the columns of a board from which a user can choose. It reads only one page
// of items, so it may miss a column that only later items of a large board use.
func (pr *pageRequest) readColumns(board string) []roadmap.Column[client.Item] {
	if board == "" {
		return allColumns[client.Item](nil, nil)
	}
	items, live := pr.listItems(board, itemsPerCall, ""), pr.listLiveItems(board, itemsPerCall, "")
	pr.wait()
	return allColumns(roadmap.Columns(items.Value.Items, columnOf), liveColumns(live))
}

// columnIDs returns the ids of columns, except the empty id that stands for the items without a
// column.
func columnIDs[T any](columns []roadmap.Column[T]) (out []string) {
	for _, c := range columns {
		if c.ID != "" {
			out = append(out, c.ID)
		}
	}
	return out
}

// columnID returns the id of the column that a typed name refers to. If the name is exactly the id
// of a known or standard column, that is the column. Otherwise it is the known column with the same
// heading, in any case, or, if there is none, a new column whose id is the name.
func columnID(name string, known []string) string {
	if slices.Contains(known, name) || slices.Contains(roadmap.StandardColumns, name) {
		return name
	}
	for _, id := range known {
		if roadmap.SameHeading(id, name) {
			return id
		}
	}
	return name
}

// renames holds the columns that were renamed since the studio started. For each board, it maps the
// old id of a column to the new one.
type renames struct {
	mu      sync.Mutex
	byBoard map[string]map[string]string
}

func (r *renames) add(board, from, to string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.byBoard == nil {
		r.byBoard = map[string]map[string]string{}
	}
	if r.byBoard[board] == nil {
		r.byBoard[board] = map[string]string{}
	}
	r.byBoard[board][from] = to
}

// newIDs returns the renamed columns of a board.
func (r *renames) newIDs(board string) map[string]string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.byBoard[board])
}

// withoutRenamed leaves out the empty columns that were renamed. An empty column with the old name,
// drawn next to the column with the new name, would look as if the renaming had failed. The column
// is drawn again if its items return, for example with an undo.
func withoutRenamed[T any](columns []roadmap.Column[T], renamed map[string]string) (out []roadmap.Column[T]) {
	used := map[string]bool{}
	for _, c := range columns {
		used[c.ID] = len(c.Items) > 0
	}
	for _, c := range columns {
		to, isRenamed := renamed[c.ID]
		for n := 0; isRenamed && !used[to] && n < len(renamed); n++ { // the new column may have been renamed, too
			to, isRenamed = renamed[to]
		}
		if used[c.ID] || !isRenamed || !used[to] {
			out = append(out, c)
		}
	}
	return out
}

// allItems reads every item of a board, in the order of the board.
func (pr *pageRequest) allItems(board string) (items []client.Item, failed *failure) {
	for cursor := ""; ; {
		read := pr.listItems(board, itemsPerCall, cursor)
		pr.wait()
		if read.Failure != nil {
			return nil, read.Failure
		}
		items = append(items, read.Value.Items...)
		if cursor = read.Value.Next; cursor == "" {
			return items, nil
		}
	}
}

// renameColumn gives all items of a column a different columnId. It does this as a bulk action.
func (s *Studio) renameColumn(v *pageRequest) *view {
	form := v.r.PostForm
	board, from, name := form.Get("board"), form.Get("column"), strings.TrimSpace(form.Get("name"))
	back := url.Values{"board": {board}}
	refuse := func(text string) *view { return v.redirectWithNotice("/roadmap", back, notice{Bad: true, Text: text}) }
	if name == "" {
		return refuse("Not renamed: a column needs a name.")
	}
	live := v.listLiveItems(board, itemsPerCall, "")
	items, failed := v.allItems(board)
	if failed != nil {
		return refuse("Not renamed: " + failed.Text())
	}
	columns := roadmap.Columns(items, columnOf)
	to := columnID(name, columnIDs(allColumns(columns, liveColumns(live))))
	at := slices.IndexFunc(columns, func(c roadmap.Column[client.Item]) bool { return c.ID == from })
	targetExists := slices.ContainsFunc(columns, func(c roadmap.Column[client.Item]) bool { return c.ID == to })
	switch {
	case to == from:
		return v.redirectWithNotice("/roadmap", back, notice{Text: "Nothing was changed."})
	case at < 0:
		return refuse("Not renamed: the column has no items any more.")
	case targetExists && form.Get("join") == "":
		back.Set("rename", from)
		back.Set("name", name)
		return refuse(fmt.Sprintf("Not renamed: there is a column %s already. Choose another name, or move these items into it.", roadmap.Heading(to)))
	}
	total := len(columns[at].Items)
	a := &bulk{
		Verb: "Move", Noun: "item", Nouns: "items", Place: "Roadmap", Back: "/roadmap?" + back.Encode(), Already: "there already",
		resultText: func(changed int) string {
			moved := fmt.Sprintf("%s moved from %s to %s.", phrase.Plural(changed, "item", "items"), roadmap.Heading(from), roadmap.Heading(to))
			switch {
			case changed == total && targetExists:
				moved += fmt.Sprintf(" The column %s is gone: it has no items any more.", roadmap.Heading(from))
			case changed == total:
				moved = fmt.Sprintf("%s is renamed to %s; %s moved.", roadmap.Heading(from), roadmap.Heading(to), phrase.Plural(changed, "item", "items"))
			}
			return moved + " Visitors see the change after the next publish."
		},
	}
	a.undoResultText = func(undone int) string {
		return fmt.Sprintf("Undone: %s is back, with %s.", roadmap.Heading(from), phrase.Plural(undone, "item", "items"))
	}
	v.renames.add(board, from, to)
	for _, item := range columns[at].Items {
		a.items = append(a.items, &bulkItem{Name: item.Title, Path: "/roadmap/items/" + url.PathEscape(item.ID), run: columnStep(item, to)})
	}
	return v.startBulk(a)
}

// columnStep returns the step that moves an item to a different column. The step fails if the item
// is no longer in the column in which it was listed.
func columnStep(item client.Item, to string) step {
	return func(v *pageRequest) (step, *failure) {
		got := v.getItem(item.ID)
		v.wait()
		switch {
		case got.Failure != nil:
			return nil, got.Failure
		case got.Value.ColumnID.Or("") == to:
			return nil, nothingToDo
		case got.Value.ColumnID.Or("") != item.ColumnID.Or(""):
			return nil, &failure{Status: http.StatusPreconditionFailed}
		}
		res := v.setColumn(item.ID, client.Value(to), got.ETag)
		if res.Failure != nil {
			return nil, res.Failure
		}
		return func(v *pageRequest) (step, *failure) {
			before := got.Value.ColumnID
			if _, has := before.Get(); !has {
				before = client.Null[string]()
			}
			return nil, v.setColumn(item.ID, before, res.ETag).Failure
		}, nil
	}
}

// setColumn moves an item to a different column. It fails if the entity tag of the item has
// changed.
func (pr *pageRequest) setColumn(id string, column client.Optional[string], tag string) *result[client.Item] {
	res := startCall(pr, "plan:write", "Move to the renamed column",
		bound(pr.api.UpdatePlanItem, client.UpdatePlanItemInput{ItemID: id, ColumnID: column}), client.IfMatch(tag))
	pr.wait()
	return res
}

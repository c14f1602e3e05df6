package studio

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"growthworkspace/scripts/studio/roadmap"
	"growthworkspace/shared/client"
)

// A column is only a value of its items: the API stores no names, no order and no empty columns. So
// the page draws the columns of the items and of the live version, and the standard ones.

func columnOf(i client.Item) string { return i.ColumnID.Or("") }

// allColumns adds the columns that have no items here, and orders all of them: as visitors see them,
// with the standard ones and new ones among them. Until the next publish, no edit changes the order.
func allColumns[T any](columns []roadmap.Column[T], live []string) (out []roadmap.Column[T]) {
	base, self := live, func(id string) string { return id }
	if len(base) == 0 {
		base = columnIDs(columns)
	}
	order := roadmap.Complete(roadmap.Columns(base, self), roadmap.Standard)
	for _, c := range roadmap.Complete(order, columnIDs(columns)) {
		before := len(out)
		for _, other := range columns {
			if roadmap.Same(other.ID, c.ID) && other.ID != "" { // two ids may differ only in case
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

// liveColumns returns the ids of the columns that visitors see, none if they could not be read.
func liveColumns(live *result[client.Page[client.LiveItem]]) (out []string) {
	for _, c := range roadmap.Columns(live.Value.Items, func(i client.LiveItem) string { return i.ColumnID.Or("") }) {
		if c.ID != "" {
			out = append(out, c.ID)
		}
	}
	return out
}

// readColumns returns the columns of a board to choose from. Of a board with more items than one call
// reads, it knows those of the first.
func (v *pageRequest) readColumns(board string) []roadmap.Column[client.Item] {
	if board == "" {
		return allColumns[client.Item](nil, nil)
	}
	items, live := v.listItems(board, itemsRead, ""), v.listLiveItems(board, itemsRead, "")
	v.wait()
	return allColumns(roadmap.Columns(items.Value.Items, columnOf), liveColumns(live))
}

// columnIDs returns the ids of columns, without the empty one.
func columnIDs[T any](columns []roadmap.Column[T]) (out []string) {
	for _, c := range columns {
		if c.ID != "" {
			out = append(out, c.ID)
		}
	}
	return out
}

// columnID returns the id that a typed name means: that of the column with this heading, or the name
// itself for a new column. The id of a standard column means that column even if another one differs
// from it only in case.
func columnID(name string, known []string) string {
	if slices.Contains(known, name) || slices.Contains(roadmap.Standard, name) {
		return name
	}
	for _, id := range known {
		if roadmap.Same(id, name) {
			return id
		}
	}
	return name
}

// allItems reads every item of a board, in its order.
func (v *pageRequest) allItems(board string) (items []client.Item, failed *failure) {
	for cursor := ""; ; {
		read := v.listItems(board, itemsRead, cursor)
		v.wait()
		if read.Failure != nil {
			return nil, read.Failure
		}
		items = append(items, read.Value.Items...)
		if cursor = read.Value.Next; cursor == "" {
			return items, nil
		}
	}
}

// renameColumn gives the items of a column another columnId, as a bulk action.
func (s *Studio) renameColumn(v *pageRequest) *view {
	form := v.r.PostForm
	board, from, name := form.Get("board"), form.Get("column"), strings.TrimSpace(form.Get("name"))
	back := url.Values{"board": {board}}
	refuse := func(text string) *view { return v.done("/roadmap", back, notice{Bad: true, Text: text}) }
	if name == "" {
		return refuse("Not renamed: a column needs a name.")
	}
	live := v.listLiveItems(board, itemsRead, "")
	items, failed := v.allItems(board)
	if failed != nil {
		return refuse("Not renamed: " + failed.Text())
	}
	stored := roadmap.Columns(items, columnOf)
	to := columnID(name, columnIDs(allColumns(stored, liveColumns(live))))
	at := slices.IndexFunc(stored, func(c roadmap.Column[client.Item]) bool { return c.ID == from })
	joins := slices.ContainsFunc(stored, func(c roadmap.Column[client.Item]) bool { return c.ID == to })
	switch {
	case to == from:
		return v.done("/roadmap", back, notice{Text: "Nothing was changed."})
	case at < 0:
		return refuse("Not renamed: the column has no items any more.")
	case joins && form.Get("join") == "":
		return refuse(fmt.Sprintf("Not renamed: there is a column %s already. To move these items into it, tick “Join”.", roadmap.Readable(to)))
	}
	a := &bulk{
		Verb: "Move", Noun: "item", Nouns: "items", Place: "Roadmap", Back: "/roadmap?" + back.Encode(),
		Said: func(changed int) string {
			return fmt.Sprintf("%s moved from %s to %s. Visitors see it after the next publish.", plural(changed, "item", "items"), roadmap.Readable(from), roadmap.Readable(to))
		},
	}
	for _, item := range stored[at].Items {
		a.items = append(a.items, &bulkItem{Name: item.Title, Path: "/roadmap/items/" + url.PathEscape(item.ID), run: columnStep(item, to)})
	}
	return v.start(a)
}

// columnStep moves an item to another column, if it is still in the one in which it was listed.
func columnStep(item client.Item, to string) step {
	return func(v *pageRequest) (step, *failure) {
		now := v.getItem(item.ID)
		v.wait()
		switch {
		case now.Failure != nil:
			return nil, now.Failure
		case now.Value.ColumnID.Or("") == to:
			return nil, nil
		case now.Value.ColumnID.Or("") != item.ColumnID.Or(""):
			return nil, &failure{Status: http.StatusPreconditionFailed}
		}
		stored := v.setColumn(item.ID, client.Value(to), now.ETag)
		if stored.Failure != nil {
			return nil, stored.Failure
		}
		return func(v *pageRequest) (step, *failure) {
			before := now.Value.ColumnID
			if _, has := before.Get(); !has {
				before = client.Null[string]()
			}
			return nil, v.setColumn(item.ID, before, stored.ETag).Failure
		}, nil
	}
}

// setColumn moves an item to another column, on the condition of its entity tag.
func (v *pageRequest) setColumn(id string, column client.Optional[string], tag string) *result[client.Item] {
	stored := startCall(v, "plan:write", "Move to the renamed column", func(ctx context.Context, options ...client.CallOption) (client.Item, error) {
		return v.api.UpdatePlanItem(ctx, client.UpdatePlanItemInput{ItemID: id, ColumnID: column}, append(options, client.IfMatch(tag))...)
	})
	v.wait()
	return stored
}

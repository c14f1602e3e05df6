package studio

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"growthworkspace/scripts/studio/roadmap"
	"growthworkspace/shared/client"
)

// moveData is the data of the page for moving an item in a browser that runs no scripts.
type moveData struct {
	Item     client.Item
	Seen     string
	Columns  []roadmap.Column[client.Item]
	Back     string
	Failure  *failure
	MayWrite bool
}

// movePage shows the ways to move an item. If the browser runs scripts, the board offers the same
// moves on its cards.
func (s *Studio) movePage(v *pageRequest) *view {
	stored := v.getItem(v.r.PathValue("id"))
	v.wait()
	d := &moveData{Item: stored.Value, Seen: version(stored.Value.UpdatedAt), Failure: stored.Failure, MayWrite: v.may("plan:write"), Back: boardPath(stored.Value.RoadmapID)}
	out := &view{page: "move", place: "Roadmap", title: "Move an item", data: d}
	if d.Failure != nil {
		out.status = d.Failure.status()
		return out
	}
	d.Columns = v.readColumns(d.Item.RoadmapID)
	return out
}

func (pr *pageRequest) getItem(id string) *result[client.Item] {
	return startCall(pr, "plan:read", "The item", bound(pr.api.GetPlanItem, client.GetPlanItemInput{ItemID: id}))
}

// moveUpdatesMax is the maximum number of items that one move may update.
const moveUpdatesMax = 40

// move moves an item by one place or one column, to a chosen column, or next to a different item.
func (s *Studio) move(v *pageRequest) *view {
	form, id := v.r.PostForm, v.r.PathValue("id")
	board := form.Get("board")
	back := url.Values{"board": {board}}
	if cursor := form.Get("cursor"); cursor != "" {
		back.Set("cursor", cursor)
	}
	live := v.listLiveItems(board, itemsPerCall, "")
	items, failed := v.allItems(board)
	if failed != nil {
		return v.redirectWithNotice("/roadmap", back, notice{Bad: true, Text: "Nothing was moved: " + failed.Text()})
	}
	columns := allColumns(roadmap.Columns(items, columnOf), liveColumns(live))
	if len(items) <= itemsPerPage { // the page showed the whole board
		columns = withoutRenamed(columns, v.renames.newIDs(board))
	}
	m, found := requestedMove(columns, id, form)
	if !found || version(m.item.UpdatedAt) != form.Get("seen") {
		return v.redirectWithNotice("/roadmap", back, notice{Bad: true, Text: "Somebody changed the item after you looked, so it was not moved."})
	}
	if m.edge != "" {
		return v.redirectWithNotice("/roadmap", back, notice{Text: "Not moved: it is in the " + m.edge + " already."})
	}
	writes, possible := m.updates()
	if !possible {
		return v.redirectWithNotice("/roadmap", back, notice{Bad: true, Text: fmt.Sprintf("Not moved: there is no number between its new neighbours, and more than %d items would need another one. Move it in smaller steps, or edit the items' order.", moveUpdatesMax)})
	}
	title := m.item.Title
	undos, problem := v.writeMove(items, writes)
	if problem != "" {
		if len(undos) > 0 {
			problem += " What was written before is taken back."
			if outcome := undoMove(title, undos)(v); outcome.Bad {
				problem += " " + outcome.Text
			}
		}
		return v.redirectWithNotice("/roadmap", back, notice{Record: title, Bad: true, Text: "Not moved: " + problem})
	}
	text := "Moved to " + roadmap.Heading(m.column) + "."
	if m.item.Status.Or("") == client.PlanStatusPublished {
		text += " Visitors see the change after the next publish."
	}
	return v.redirectWithNotice("/roadmap", back, notice{Record: title, Text: text, Undo: undoMove(title, undos)})
}

// writeMove sends the updates of a move. Each update fails if somebody has changed its item since
// the items were listed. Lists contain no entity tags, so writeMove first reads every item that it
// updates. If one of them has changed, it updates none. It stops at the first update that fails,
// and returns the problem and what is needed to undo the earlier updates.
func (pr *pageRequest) writeMove(items []client.Item, writes []client.UpdatePlanItemInput) (undos []moveUndo, problem string) {
	current := make([]*result[client.Item], len(writes))
	for n, w := range writes {
		current[n] = pr.getItem(w.ItemID)
	}
	pr.wait()
	var changed []string
	for n, w := range writes {
		if current[n].Failure != nil {
			return nil, current[n].Failure.Text()
		}
		listed := items[slices.IndexFunc(items, func(i client.Item) bool { return i.ID == w.ItemID })]
		if version(current[n].Value.UpdatedAt) != version(listed.UpdatedAt) {
			changed = append(changed, listed.Title)
		}
	}
	if len(changed) > 0 {
		return nil, changedByOthersText(changed)
	}
	for n, w := range writes {
		res := startCall(pr, "plan:write", "Move", bound(pr.api.UpdatePlanItem, w), client.IfMatch(current[n].ETag))
		pr.wait()
		title := current[n].Value.Title
		switch {
		case res.Failure.Conflict():
			return undos, changedByOthersText([]string{title})
		case res.Failure != nil:
			return undos, res.Failure.Text()
		}
		undos = append(undos, moveUndo{title, revertingUpdate(items, w), res.ETag})
	}
	return undos, ""
}

// changedByOthersText says which items somebody else has changed.
func changedByOthersText(titles []string) string {
	return "somebody else has just changed " + quotedTitles(titles) + "."
}

func quotedTitles(titles []string) string { return "“" + strings.Join(titles, "”, “") + "”" }

// moveUndo is what is needed to undo the update of one item: the update that puts the item back to
// its place before the move, and the item's entity tag after the move.
type moveUndo struct {
	title  string
	update client.UpdatePlanItemInput
	tag    string
}

// revertingUpdate returns the update that undoes the write w. items holds the items as they were
// before the write.
func revertingUpdate(items []client.Item, w client.UpdatePlanItemInput) client.UpdatePlanItemInput {
	out := client.UpdatePlanItemInput{ItemID: w.ItemID}
	at := slices.IndexFunc(items, func(i client.Item) bool { return i.ID == w.ItemID })
	if at < 0 {
		return out
	}
	if !w.ColumnID.IsZero() {
		if out.ColumnID = items[at].ColumnID; out.ColumnID.IsZero() {
			out.ColumnID = client.Null[string]()
		}
	}
	if !w.SortOrder.IsZero() {
		if out.SortOrder = items[at].SortOrder; out.SortOrder.IsZero() {
			out.SortOrder = client.Null[int]()
		}
	}
	return out
}

// undoMove returns a function that undoes a move. It restores the places of the items, starting
// with the item that was written last. It skips items that somebody has changed since the move, and
// its notice names them. If a call fails for a different reason, the function can be called again,
// and continues with the failed item.
func undoMove(title string, undos []moveUndo) undo {
	var changed []string
	left := len(undos)
	return func(v *pageRequest) notice {
		for ; left > 0; left-- {
			b := undos[left-1]
			res := startCall(v, "plan:write", "Undo", bound(v.api.UpdatePlanItem, b.update), client.IfMatch(b.tag))
			v.wait()
			switch {
			case res.Failure.Conflict():
				changed = append(changed, b.title)
			case res.Failure != nil:
				return undoNotice(title, res.Failure)
			}
		}
		if len(changed) > 0 {
			outcome := "Not undone"
			if len(changed) < len(undos) {
				outcome = "Only partly undone"
			}
			return notice{Record: title, Bad: true, Text: outcome + ", because of later changes to " + quotedTitles(changed) + "."}
		}
		return undoNotice(title, nil)
	}
}

// itemMove is an item that is being moved, its new column, and the other items of that column.
type itemMove struct {
	item   client.Item
	column string
	others []client.Item
	at     int    // the item's new index in others
	from   int    // the item's old index in its old column
	edge   string // the edge that stops the item from moving, such as "first column"; empty if the item can move

	// Columns are ordered by the smallest sortOrder of their items. low and high are the smallest
	// sortOrders in the nearest columns before and after the new column. Null means that no column
	// on that side has a sortOrder. If the new column is empty, the item gets a sortOrder between
	// low and high.
	low, high client.Optional[int]
}

// requestedMove returns the move that a form requests. found is false if the item does not exist.
func requestedMove(columns []roadmap.Column[client.Item], id string, form url.Values) (m itemMove, found bool) {
	c, at := -1, -1
	for n, column := range columns {
		if i := slices.IndexFunc(column.Items, func(i client.Item) bool { return i.ID == id }); i >= 0 {
			c, at = n, i
		}
	}
	if c < 0 {
		return m, false
	}
	m = itemMove{item: columns[c].Items[at], column: columns[c].ID, at: at, from: at, low: client.Null[int](), high: client.Null[int]()}
	last := len(columns[c].Items) - 1
	switch to := form.Get("to"); {
	case to == "left" && c == 0:
		m.edge = "first column"
	case to == "right" && c == len(columns)-1:
		m.edge = "last column"
	case to == "up" && at == 0:
		m.edge = "first place"
	case to == "down" && at == last:
		m.edge = "last place"
	case to == "left":
		c--
	case to == "right":
		c++
	case to == "up":
		m.at--
	case to == "down":
		m.at++
	default: // the item was dropped, or a column was chosen from a list
		m.column = form.Get("column")
		c = slices.IndexFunc(columns, func(other roadmap.Column[client.Item]) bool { return other.ID == m.column })
	}
	if c >= 0 {
		m.column = columns[c].ID
		m.others = slices.DeleteFunc(slices.Clone(columns[c].Items), func(i client.Item) bool { return i.ID == id })
	}
	for n, column := range columns {
		rest := slices.DeleteFunc(slices.Clone(column.Items), func(i client.Item) bool { return i.ID == id })
		if len(rest) == 0 || rest[0].SortOrder.IsNull() {
			continue
		}
		if first := client.Value(rest[0].SortOrder.Or(0)); n < c {
			m.low = first
		} else if n > c && m.high.IsNull() {
			m.high = first
		}
	}
	if form.Get("to") == "" {
		m.at = m.dropIndex(form.Get("before"), form.Get("after"))
	}
	m.at = min(m.at, len(m.others))
	return m, true
}

// dropIndex returns the index in others at which the item was dropped. It was dropped in front of
// the item with the id beforeID, or right behind the item with the id afterID. If others contains
// neither, dropIndex returns len(others). Both ids are needed, because the last item that a page
// shows may not be the last item of its column.
func (m itemMove) dropIndex(beforeID, afterID string) int {
	if at := slices.IndexFunc(m.others, func(i client.Item) bool { return i.ID == beforeID }); at >= 0 {
		return at
	}
	if at := slices.IndexFunc(m.others, func(i client.Item) bool { return i.ID == afterID }); at >= 0 {
		return at + 1
	}
	return len(m.others)
}

// sortOrderStep is the distance between the sortOrders of renumbered items.
const sortOrderStep = 10

// updates returns the updates that move the item to its place. The item gets a sortOrder between
// the sortOrders of its neighbours. If there is no integer between them, the updates also renumber
// as few other items of the column as possible. possible is false if they would have to renumber
// too many items.
func (m itemMove) updates() (out []client.UpdatePlanItemInput, possible bool) {
	update := client.UpdatePlanItemInput{ItemID: m.item.ID}
	if m.column != m.item.ColumnID.Or("") {
		update.ColumnID = client.Value(m.column)
		if m.column == "" {
			update.ColumnID = client.Null[string]()
		}
	}
	low, high := m.low, m.high
	if len(m.others) > 0 {
		low, high = m.sortOrderAt(m.at-1), m.sortOrderAt(m.at)
		if m.at > 0 && low.IsNull() {
			return m.renumberingUpdates(update)
		}
	}
	l, hasLow := low.Get()
	h, hasHigh := high.Get()
	own, hasOwn := m.item.SortOrder.Get()
	switch {
	case len(m.others) == 0 && hasOwn && (!hasLow || l < own) && (!hasHigh || own < h):
	case len(m.others) == 0 && hasLow && hasHigh && h-l < 2:
	case hasLow && hasHigh && h-l < 2:
		return m.shiftingUpdates(update)
	case hasLow && hasHigh:
		update.SortOrder = client.Value(l + (h-l)/2)
	case hasLow:
		update.SortOrder = client.Value(l + sortOrderStep)
	case hasHigh:
		update.SortOrder = client.Value(h - 1)
	default:
		update.SortOrder = client.Value(sortOrderStep)
	}
	return []client.UpdatePlanItemInput{update}, true
}

// sortOrderAt returns the sortOrder of others[at]. It returns null if that item has no sortOrder,
// or if at is out of range.
func (m itemMove) sortOrderAt(at int) client.Optional[int] {
	if at < 0 || at >= len(m.others) {
		return client.Null[int]()
	}
	if n, ok := m.others[at].SortOrder.Get(); ok {
		return client.Value(n)
	}
	return client.Null[int]()
}

// shiftingUpdates returns the updates that make room for the item between two neighbours. It
// compares three ways and returns the one with the fewest updates: raise the sortOrders of the
// items after the place, lower those of the items before it, or use rotatingUpdates.
func (m itemMove) shiftingUpdates(update client.UpdatePlanItemInput) (out []client.UpdatePlanItemInput, possible bool) {
	var best []client.UpdatePlanItemInput
	for _, direction := range []int{1, -1} {
		at, number := m.at, m.sortOrderAt(m.at-1).Or(0)+1
		if direction < 0 {
			at, number = m.at-1, m.sortOrderAt(m.at).Or(0)-1
		}
		writes := []client.UpdatePlanItemInput{update}
		writes[0].SortOrder = client.Value(number)
		for ; ; at += direction {
			now, ok := m.sortOrderAt(at).Get()
			if !ok || direction*now > direction*number {
				break
			}
			number += direction
			writes = append(writes, client.UpdatePlanItemInput{ItemID: m.others[at].ID, SortOrder: client.Value(number)})
		}
		if best == nil || len(writes) < len(best) {
			best = writes
		}
	}
	if writes, ok := m.rotatingUpdates(update); ok && len(writes) < len(best) && m.reachesPlace(writes) {
		best = writes
	}
	return best, len(best) <= moveUpdatesMax
}

// reachesPlace reports whether the writes put the item at its place. Each sortOrder that they set
// must differ from the neighbours' sortOrders, because items with equal sortOrders are listed in
// the order of their creation.
func (m itemMove) reachesPlace(writes []client.UpdatePlanItemInput) bool {
	var before client.Optional[int]
	wasWritten := false
	for n, i := range slices.Insert(slices.Clone(m.others), m.at, m.item) {
		order := i.SortOrder
		at := slices.IndexFunc(writes, func(w client.UpdatePlanItemInput) bool { return w.ItemID == i.ID })
		if at >= 0 {
			order = writes[at].SortOrder
		}
		low, hasLow := before.Get()
		high, hasHigh := order.Get()
		if n > 0 && (wasWritten || at >= 0) && hasHigh && (!hasLow || low >= high) {
			return false
		}
		before, wasWritten = order, at >= 0
	}
	return true
}

// rotatingUpdates returns updates that use only the sortOrders that are already in the column. The
// moved item gets the sortOrder of the item at its new place. Every item from there to the old
// place gets the sortOrder of the next item in the direction of the old place. ok is false if the
// item comes from a different column, or if one of these items has no sortOrder.
func (m itemMove) rotatingUpdates(update client.UpdatePlanItemInput) (out []client.UpdatePlanItemInput, ok bool) {
	free, ok := m.item.SortOrder.Get()
	if !ok || m.column != m.item.ColumnID.Or("") {
		return nil, false
	}
	step := 1
	if m.at <= m.from {
		step = -1
	}
	for at := m.from; at != m.at; at += step {
		other := m.others[min(at, at+step)]
		if step > 0 {
			other = m.others[at]
		}
		now, numbered := other.SortOrder.Get()
		if !numbered {
			return nil, false
		}
		out = append(out, client.UpdatePlanItemInput{ItemID: other.ID, SortOrder: client.Value(free)})
		free = now
	}
	update.SortOrder = client.Value(free)
	return append(out, update), true
}

// renumberingUpdates returns updates that renumber the column, for a column in which some items
// have no sortOrder. It renumbers the items up to the moved item's new place, and only as many
// after it as necessary.
func (m itemMove) renumberingUpdates(update client.UpdatePlanItemInput) (out []client.UpdatePlanItemInput, possible bool) {
	next := sortOrderStep
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
		if len(out) > moveUpdatesMax {
			return nil, false
		}
		next += sortOrderStep
	}
	return out, true
}

package studio_test

import (
	"fmt"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"growthworkspace/scripts/workspace/demo"
	"growthworkspace/scripts/workspace/demo/demotest"
	"growthworkspace/shared/testkit/apitest"
)

// create sends a POST to the service and returns the created record.
func (s *testStudio) create(t *testing.T, path, body string) map[string]any {
	t.Helper()
	r := s.Send(t, s.key, "POST", "/v1/companies/{companyId}"+path, body)
	if r.Status != http.StatusOK {
		t.Fatalf("POST %s: status %d, want 200: %s", path, r.Status, r.Body)
	}
	return r.JSON(t)
}

// createBoard creates a board with items, each of which is given as a column and a title. It
// returns the id of the board and the ids of the items.
func (s *testStudio) createBoard(t *testing.T, items ...[2]string) (id string, ids []string) {
	t.Helper()
	id = s.create(t, "/plan/boards", `{"name":"Public <roadmap>"}`)["id"].(string)
	for n, item := range items {
		got := s.create(t, "/plan/boards/"+id+"/items", fmt.Sprintf(`{"title":%q,"columnId":%q,"sortOrder":%d,"status":"published"}`, item[1], item[0], n+1))
		ids = append(ids, got["id"].(string))
	}
	return id, ids
}

// cards returns the names of the columns on a page, each followed by the titles of its items.
func cards(body string) (out []string) {
	body, _, _ = strings.Cut(body, `<details class="call foot">`)
	for _, m := range regexp.MustCompile(`aria-label="([^"]*)" data-column|<h3>(?:<a [^>]*>)?([^<]*)`).FindAllStringSubmatch(body, -1) {
		if m[1] != "" {
			out = append(out, m[1]+":")
		} else {
			out = append(out, m[2])
		}
	}
	return out
}

// moveForm returns the form that moves an item. In a browser, a script adds this form to the item's
// card.
func moveForm(t *testing.T, body, id, to string) url.Values {
	t.Helper()
	seen := regexp.MustCompile(`data-id="` + id + `" data-seen="([^"]*)"`).FindStringSubmatch(body)
	_, form, ok := strings.Cut(body, `<template id="arrows">`)
	if seen == nil || !ok {
		t.Fatal("no arrows of " + id)
	}
	form, _, _ = strings.Cut(form, "</form>")
	out := url.Values{"to": {to}, "seen": {seen[1]}}
	for _, m := range regexp.MustCompile(`name="(form|board|cursor)" value="([^"]*)"`).FindAllStringSubmatch(form, -1) {
		out.Set(m[1], m[2])
	}
	return out
}

// publishForm returns the form that publishes what a page shows, and the path to which it is sent.
func publishForm(t *testing.T, body string) (path string, form url.Values) {
	t.Helper()
	m := regexp.MustCompile(`action="(/roadmap/publish/[^"]*)" method="post"><input type="hidden" name="form" value="([^"]*)"><input type="hidden" name="etag" value="([^"]*)"`).FindStringSubmatch(body)
	if m == nil {
		t.Fatal("nothing to publish: ", visibleText(body))
	}
	return m[1], url.Values{"form": {m[2]}, "etag": {strings.ReplaceAll(m[3], "&#34;", `"`)}}
}

// Ensure the roadmap page of a company without boards says how to begin. Its forms create the first
// board and the first item, and sending a form twice creates only one record.
func TestRoadmapFromNothing(t *testing.T) {
	t.Parallel()
	w := newTestStudio(t)
	checkContains(t, "empty", w.page(t, "/roadmap"), "There is no board yet", "/roadmap/boards/new")
	form := fields(t, w.page(t, "/roadmap/boards/new"), "profile")
	form.Set("name", "Our roadmap")
	form.Set("allowedOrigins", "https://a.example\r\n\r\nhttps://b.example")
	form.Set("active", "true")
	for range 2 {
		_, body := w.submit(t, "/roadmap/boards", form)
		checkContains(t, "the new board", body, "Saved.")
	}
	boards := w.Send(t, w.key, "GET", "/v1/companies/{companyId}/plan/boards", "").Items(t)
	if len(boards) != 1 {
		t.Fatalf("%d boards, want 1: %v", len(boards), boards)
	}
	if diff := recordDiff(map[string]any{"name": "Our roadmap", "allowedOrigins": []any{"https://a.example", "https://b.example"}}, boards[0]); diff != "" {
		t.Fatalf("stored board (-want +got):\n%s", diff)
	}
	id := boards[0]["id"].(string)
	checkContains(t, "no items", w.page(t, "/roadmap"), "Add the first item to Now", "Add the first item to Done", "It has never been published")
	form = fields(t, w.page(t, "/roadmap/items/new?board="+id), "profile")
	form.Set("title", "Dark theme")
	form.Set("newColumn", "now_soon")
	form.Set("status", "published")
	for range 2 {
		_, body := w.submit(t, "/roadmap/items", form)
		checkContains(t, "the new item", body, "Saved.")
	}
	body := w.page(t, "/roadmap")
	checkContains(t, "one item", body, "Publishing would add 1 item.", ">appears<")
	form = fields(t, w.page(t, "/roadmap/items/new?board="+id), "profile")
	form.Set("title", "Light theme")
	form.Set("newColumn", "NOW soon") // the heading of the existing column, in different case
	_, body = w.submit(t, "/roadmap/items", form)
	checkContains(t, "a draft", body, "Saved.")
	checkNotContains(t, "a draft", body, "Visitors see it")
	checkContains(t, "undo", w.undo(t, body), "Light theme: Undone.")
	if got := cards(w.page(t, "/roadmap")); len(got) != 6 {
		t.Errorf("cards %q, want one item", got)
	}
	form.Set("once", "again")
	w.submit(t, "/roadmap/items", form)
	if got := cards(w.page(t, "/roadmap")); len(got) != 7 || got[0] != "Now soon:" || got[3] != "Now:" { // both new items are in the existing column
		t.Errorf("cards %q, want both in the column Now soon", got)
	}
}

// Ensure the publish button publishes exactly what the page showed. If an item has changed since
// then, the button publishes nothing, and the page shows what it would publish now.
func TestRoadmapPublish(t *testing.T) {
	t.Parallel()
	w := newTestStudio(t)
	id, items := w.createBoard(t, [2]string{"now", "One"}, [2]string{"later", "Two"})
	body := w.page(t, "/roadmap?board="+id)
	checkContains(t, "before", body, "Publishing would add 2 items.", "Public <roadmap>")
	path, form := publishForm(t, body)
	w.create(t, "/plan/boards/"+id+"/items", `{"title":"Three","status":"published"}`)
	_, body = w.submit(t, path, form)
	checkContains(t, "changed meanwhile", body, "nothing was published", "Publishing would add 3 items.")
	if got := w.Send(t, w.key, "GET", "/v1/companies/{companyId}/plan/boards/"+id, "").JSON(t); got["publishedVersion"] != nil {
		t.Errorf("published version %v, want none", got["publishedVersion"])
	}
	path, form = publishForm(t, body)
	_, body = w.submit(t, path, form)
	checkContains(t, "published", body, "Published version 1: visitors see 3 items.", "All changes are published.")
	w.Send(t, w.key, "DELETE", "/v1/companies/{companyId}/plan/items/"+items[0], "")
	w.Send(t, w.key, "PATCH", "/v1/companies/{companyId}/plan/items/"+items[1], `{"title":"Two, better","targetLabel":"Q3"}`)
	checkContains(t, "edited", w.page(t, "/roadmap?board="+id), "Publishing would change 1 item and remove 1 item.", "Deleted, and still visible until the next publish: One.", ">changes<", "<dt>Change</dt><dd>Two, better (title, when)</dd>")
	live := w.page(t, "/roadmap?board="+id+"&view=live")
	if diff := cmp.Diff([]string{"Now:", "One", "Later:", "Two", "Other:", "Three"}, cards(live)); diff != "" {
		t.Errorf("what visitors see (-want +got):\n%s", diff)
	}
	if strings.Contains(live, `class="arrows"`) {
		t.Error("what visitors see can be moved")
	}
	page := w.page(t, "/roadmap/visitors/"+id)
	for _, want := range []string{"<h1>Public &lt;roadmap&gt;</h1>", "<h3>Two</h3>", "<h3>One</h3>"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page for visitors has no %s: %s", want, page)
		}
	}
}

// Ensure arrows and drops move an item to the place that the user chose. An arrow that would move
// an item beyond an edge changes nothing.
func TestRoadmapMove(t *testing.T) {
	t.Parallel()
	w := newTestStudio(t)
	id, items := w.createBoard(t, [2]string{"a", "A1"}, [2]string{"a", "A2"}, [2]string{"a", "A3"}, [2]string{"b", "B1"}, [2]string{"b", "B2"})
	path := "/roadmap?board=" + id
	const moved, edge = "Moved to", "Not moved: it is in the "
	for _, step := range []struct {
		item          int
		to            string
		column        string
		before, after int
		notice        string
		expected      string
	}{
		{2, "up", "", -1, -1, moved, "A: A1 A3 A2 B: B1 B2"},
		{2, "up", "", -1, -1, moved, "A: A3 A1 A2 B: B1 B2"},
		{2, "up", "", -1, -1, edge + "first place", "A: A3 A1 A2 B: B1 B2"},
		{1, "down", "", -1, -1, edge + "last place", "A: A3 A1 A2 B: B1 B2"},
		{2, "down", "", -1, -1, moved, "A: A1 A3 A2 B: B1 B2"},
		{1, "right", "", -1, -1, moved, "A: A1 A3 B: B1 B2 A2"},
		{1, "left", "", -1, -1, moved, "A: A1 A3 A2 B: B1 B2"},
		{4, "", "a", 2, 0, moved, "A: A1 B2 A3 A2 B: B1"},
		{4, "", "a", -1, 2, moved, "A: A1 A3 B2 A2 B: B1"},
		{4, "", "b", -1, -1, moved, "A: A1 A3 A2 B: B1 B2"},
		{0, "left", "", -1, -1, edge + "first column", "A: A1 A3 A2 B: B1 B2"},
	} {
		form := moveForm(t, w.page(t, path), items[step.item], step.to)
		if step.to == "" {
			form.Set("column", step.column)
			for name, at := range map[string]int{"before": step.before, "after": step.after} {
				if at >= 0 {
					form.Set(name, items[at])
				}
			}
		}
		_, body := w.submit(t, "/roadmap/items/"+items[step.item]+"/move", form)
		checkContains(t, "move", body, step.notice)
		if got := strings.Join(cards(body), " "); got != step.expected+" Now: Next: Later: Done:" {
			t.Fatalf("%+v: cards %q", step, got)
		}
	}
}

// Ensure a column stays on the board, with its id, when its last item leaves it. An item can be
// moved into the empty column with an arrow, by dropping it there, or with its form.
func TestRoadmapEmptyColumns(t *testing.T) {
	t.Parallel()
	w := newTestStudio(t)
	id, items := w.createBoard(t, [2]string{"now", "One"}, [2]string{"in_test", "Two"}, [2]string{"later", "Three"})
	path := "/roadmap?board=" + id
	expect := func(what, body, want string) {
		t.Helper()
		if got := strings.Join(cards(body), " "); got != want {
			t.Fatalf("%s: cards %q, want %q", what, got, want)
		}
	}
	column := func(item int) any {
		return w.Send(t, w.key, "GET", "/v1/companies/{companyId}/plan/items/"+items[item], "").JSON(t)["columnId"]
	}
	w.submit(t, "/roadmap/publish/"+id, func() url.Values { _, form := publishForm(t, w.page(t, path)); return form }())
	body := w.page(t, path)
	expect("all", body, "Now: One Next: In test: Two Later: Three Done:")
	_, body = w.submit(t, "/roadmap/items/"+items[1]+"/move", moveForm(t, body, items[1], "left"))
	expect("a column of the live version", body, "Now: One Next: Two In test: Later: Three Done:")
	_, body = w.submit(t, "/roadmap/items/"+items[1]+"/move", moveForm(t, body, items[1], "right"))
	if column(1) != "in_test" {
		t.Errorf("columnId %v, want in_test", column(1))
	}
	form := moveForm(t, body, items[0], "")
	form.Set("column", "done")
	_, body = w.submit(t, "/roadmap/items/"+items[0]+"/move", form)
	expect("now is empty", body, "Now: Next: In test: Two Later: Three Done: One")
	edit := w.editForm(t, "/roadmap/items/"+items[0])
	edit.Set("newColumn", "Now")
	w.submit(t, "/roadmap/items/"+items[0], edit)
	if column(0) != "now" {
		t.Errorf("columnId %v, want now", column(0))
	}
	checkContains(t, "chosen", w.page(t, "/roadmap/items/new?board="+id+"&column=next"), "Column")
	if body := w.page(t, "/roadmap/items/new?board="+id+"&column=next"); !strings.Contains(body, `<option value="next" selected>`) {
		t.Error("the column of the link is not chosen")
	}
	body = w.page(t, "/roadmap/items/"+items[0]+"/move")
	form = fields(t, body, "move")
	form.Set("column", "next")
	_, body = w.submit(t, "/roadmap/items/"+items[0]+"/move", form)
	expect("without a script", body, "Now: Next: One In test: Two Later: Three Done:")
}

// Ensure renaming a column moves its items, and does not overwrite somebody else's change. If a
// column already has the new name, the items move to it only if the user ticked "Join".
func TestRoadmapRenameColumn(t *testing.T) {
	t.Parallel()
	w := newTestStudio(t)
	id, items := w.createBoard(t, [2]string{"Now", "One"}, [2]string{"Now", "Two"}, [2]string{"later", "Three"})
	path := "/roadmap?board=" + id
	form := fields(t, w.page(t, path), "drop")
	rename := func(from, to string, join bool) string {
		t.Helper()
		f := url.Values{"form": form["form"], "board": {id}, "column": {from}, "name": {to}}
		if join {
			f.Set("join", "true")
		}
		_, body := w.submit(t, "/roadmap/columns", f)
		return body
	}
	column := func(item int) any {
		return w.Send(t, w.key, "GET", "/v1/companies/{companyId}/plan/items/"+items[item], "").JSON(t)["columnId"]
	}
	checkContains(t, "typed id", rename("Now", "now", false), "Now is renamed to Now; 2 items moved.") // "now" and "Now" are different columns; the typed name means the standard one
	if column(0) != "now" || column(1) != "now" {
		t.Errorf("columnIds %v and %v, want now", column(0), column(1))
	}
	body := rename("now", "Doing it", false)
	checkContains(t, "new", body, "Now is renamed to Doing it; 2 items moved. Visitors see the change after the next publish.", "A standard column that has no items.")
	if got := strings.Join(cards(body), " "); got != "Doing it: One Two Next: Later: Three Done:" { // without the empty column "Now"
		t.Errorf("cards %q", got)
	}
	undone := w.undo(t, body)
	checkContains(t, "undo", undone, "Undone: Now is back, with 2 items.")
	if got := strings.Join(cards(undone), " "); got != "Now: One Two Next: Later: Three Done:" {
		t.Errorf("cards after the undo %q", got)
	}
	first := rename("now", "Doing", false)
	checkContains(t, "twice", first, "2 items moved")
	last := rename("Doing", "Doing it", false)
	checkContains(t, "undo of the first", w.undo(t, first), "Nothing was changed. 2 items were changed since then, and so not undone.")
	if got := strings.Join(cards(last), " "); got != "Doing it: One Two Next: Later: Three Done:" {
		t.Errorf("cards %q", got)
	}
	if column(0) != "Doing it" {
		t.Errorf("columnId %v, want Doing it", column(0))
	}
	body = rename("Doing it", "LATER", false)
	checkContains(t, "existing", body, "there is a column Later already", `value="LATER"`, "Move the items into Later, and Doing it goes")
	if n := strings.Count(body, `class="rename" open`); n != 1 || strings.Count(body, "Move the items into") != 1 {
		t.Errorf("%d forms are open, want that of the column", n)
	}
	if column(0) != "Doing it" {
		t.Errorf("columnId %v, want Doing it", column(0))
	}
	checkContains(t, "joined", rename("Doing it", "LATER", true), "2 items moved from Doing it to Later. The column Doing it is gone: it has no items any more.")
	if column(1) != "later" {
		t.Errorf("columnId %v, want later", column(1))
	}
	checkContains(t, "gone", rename("Doing it", "Anything", false), "the column has no items any more")
	checkContains(t, "no name", rename("later", " ", false), "a column needs a name")
	checkContains(t, "same name", rename("later", "later", false), "Nothing was changed.")
	writes := 0
	w.transport.respondWith(func(r *http.Request) *http.Response {
		if r.Method != http.MethodPatch {
			return nil
		}
		if r.Header.Get("If-Match") == "" {
			t.Error("an item is moved without If-Match")
		}
		if writes++; writes == 2 {
			return refusal(http.StatusPreconditionFailed, "precondition_failed", "the record has changed")(r)
		}
		return nil
	})
	checkContains(t, "stopped", rename("later", "Someday", false), "2 items moved from Later to Someday.", "1 item was changed by somebody else since the page was loaded")
	w.transport.respondWith(nil)
	checkContains(t, "the rest", rename("later", "Someday", true), "1 item moved from Later to Someday.", "Undo")
}

// Ensure each write of a move is conditional. If somebody else changes one of the items before the
// move is written, nothing is moved, and the page names the item. The undo of a move names the
// items that it did not change.
func TestRoadmapMoveNeighbour(t *testing.T) {
	t.Parallel()
	w := newTestStudio(t)
	id, items := w.createBoard(t, [2]string{"a", "A1"}, [2]string{"a", "A2"}, [2]string{"a", "A3"})
	path := "/roadmap?board=" + id
	const before = "A: A1 A2 A3 Now: Next: Later: Done:"
	changes := 0
	change := func(item int) {
		changes++
		w.Clock.Advance(1e9)
		w.Send(t, w.key, "PATCH", "/v1/companies/{companyId}/plan/items/"+items[item], fmt.Sprintf(`{"summary":"Their change %d"}`, changes))
	}
	for _, c := range []struct {
		name, method string
		at           int // how many requests with this method reach the items before somebody changes one
		want         string
	}{
		{"before the writes", http.MethodGet, 0, "somebody else has just changed “A3”."},
		{"between the writes", http.MethodPatch, 1, "somebody else has just changed “A3”. What was written before is taken back."},
	} {
		form := moveForm(t, w.page(t, path), items[0], "down")
		seen := 0
		w.transport.respondWith(func(r *http.Request) *http.Response {
			if r.Method == http.MethodPatch && r.Header.Get("If-Match") == "" {
				t.Error("an item is written without If-Match")
			}
			if r.Method != c.method || !strings.Contains(r.URL.Path, "/items/") {
				return nil
			}
			if seen++; seen == c.at+1 {
				w.transport.respondWith(nil)
				change(2)
			}
			return nil
		})
		_, body := w.submit(t, "/roadmap/items/"+items[0]+"/move", form)
		checkContains(t, c.name, body, "A1: Not moved: "+c.want)
		if got := strings.Join(cards(body), " "); got != before {
			t.Errorf("%s: cards %q, want %q", c.name, got, before)
		}
	}
	_, body := w.submit(t, "/roadmap/items/"+items[0]+"/move", moveForm(t, w.page(t, path), items[0], "down"))
	checkContains(t, "moved", body, "A1: Moved to A.")
	change(2)
	checkContains(t, "undo", w.undo(t, body), "A1: Only partly undone, because of later changes to “A3”.")
}

// Ensure the undo of a move can be repeated after it failed for some of the items, and then
// restores these items. The items that it restored before must not count as changed by somebody
// else.
func TestUndoOfMoveAgain(t *testing.T) {
	t.Parallel()
	w := newTestStudio(t)
	id, items := w.createBoard(t, [2]string{"a", "A1"}, [2]string{"a", "A2"}, [2]string{"a", "A3"})
	path := "/roadmap?board=" + id
	page := w.page(t, path)
	before := strings.Join(cards(page), " ")
	_, body := w.submit(t, "/roadmap/items/"+items[0]+"/move", moveForm(t, page, items[0], "down"))
	checkContains(t, "moved", body, "A1: Moved to A.")
	writes := 0
	w.transport.respondWith(func(r *http.Request) *http.Response {
		if r.Method != http.MethodPatch {
			return nil
		}
		if writes++; writes == 1 {
			return nil
		}
		return refusal(http.StatusForbidden, "forbidden", "suspended")(r)
	})
	checkContains(t, "undo", w.undo(t, body), "A1: Not undone: ")
	if writes != 2 {
		t.Fatalf("the undo made %d writes, want one that succeeds and one that fails", writes)
	}
	w.transport.respondWith(nil)
	checkContains(t, "again", w.undo(t, w.page(t, "/changes")), "A1: Undone.")
	if got := strings.Join(cards(w.page(t, path)), " "); got != before {
		t.Errorf("cards %q after the undo, want %q", got, before)
	}
}

// Ensure an item that somebody has changed since the page was rendered is neither moved nor
// deleted.
func TestRoadmapMoveConflict(t *testing.T) {
	t.Parallel()
	w := newTestStudio(t)
	id, items := w.createBoard(t, [2]string{"a", "A1"}, [2]string{"a", "A2"})
	form := moveForm(t, w.page(t, "/roadmap?board="+id), items[1], "up")
	page := w.page(t, "/roadmap/items/"+items[1])
	w.Clock.Advance(1e9)
	w.Send(t, w.key, "PATCH", "/v1/companies/{companyId}/plan/items/"+items[1], `{"title":"Theirs"}`)
	_, body := w.submit(t, "/roadmap/items/"+items[1]+"/move", form)
	checkContains(t, "move", body, "Somebody changed the item after you looked, so it was not moved.")
	deletion := fields(t, page, "profile")
	_, body = w.submit(t, "/roadmap/items/"+items[1]+"/delete", url.Values{"form": deletion["form"], "board": {id}, "etag": deletion["etag"]})
	checkContains(t, "delete", body, "so it was not deleted", "Theirs")
	if got := strings.Join(cards(w.page(t, "/roadmap?board="+id)), " "); got != "A: A1 Theirs Now: Next: Later: Done:" {
		t.Errorf("cards %q, want A: A1 Theirs and the standard columns", got)
	}
	deletion = fields(t, w.page(t, "/roadmap/items/"+items[1]), "profile")
	_, body = w.submit(t, "/roadmap/items/"+items[1]+"/delete", url.Values{"form": deletion["form"], "board": {id}, "etag": deletion["etag"]})
	checkContains(t, "deleted", body, "Deleted.")
	if got := strings.Join(cards(body), " "); got != "A: A1 Now: Next: Later: Done:" {
		t.Errorf("cards %q, want A: A1 and the standard columns", got)
	}
}

// editForm opens the form of a record and returns its fields as a browser would send them.
func (s *testStudio) editForm(t *testing.T, path string) url.Values {
	t.Helper()
	form := fields(t, s.page(t, path), "profile")
	for name := range form {
		if field, ok := strings.CutPrefix(name, "was."); ok && form.Get(name) != "false" {
			form.Set(field, form.Get(name))
		}
	}
	return form
}

// Ensure the form of an item stores the fields that were changed and clears those that were
// emptied. If the service refuses the form, the page keeps what was typed.
func TestRoadmapItem(t *testing.T) {
	t.Parallel()
	w := newTestStudio(t)
	_, items := w.createBoard(t, [2]string{"a", "A1"})
	path := "/roadmap/items/" + items[0]
	form := w.editForm(t, path)
	form.Set("summary", "Typed summary")
	form.Set("categoryIds", "one\r\n two ")
	form.Set("columnId", "")
	_, body := w.submit(t, path, form)
	checkContains(t, "saved", body, "Saved.")
	stored := func() map[string]any {
		return w.Send(t, w.key, "GET", "/v1/companies/{companyId}/plan/items/"+items[0], "").JSON(t)
	}
	want := map[string]any{"summary": "Typed summary", "categoryIds": []any{"one", "two"}, "columnId": nil, "title": "A1", "sortOrder": 1.0}
	if diff := recordDiff(want, stored()); diff != "" {
		t.Errorf("stored item (-want +got):\n%s", diff)
	}
	form = w.editForm(t, path)
	form.Set("sortOrder", "first")
	form.Set("title", "Typed title")
	status, body := w.submit(t, path, form)
	checkContains(t, "refused", body, "must be a whole number", "Typed title", `value="first"`)
	if status != http.StatusBadRequest || stored()["title"] != "A1" {
		t.Errorf("status %d, want 400; stored title %v, want A1", status, stored()["title"])
	}
	form.Set("title", "Typed again")
	if status, _ := w.submit(t, "/roadmap/items/itm_none", form); status != http.StatusNotFound {
		t.Errorf("status of an unknown item %d, want 404", status)
	}
}

// Ensure every board of a company can be opened, however many there are. If the items of a board
// fill several pages, an item can be moved on each page, even next to an item on a different page.
func TestRoadmapLarge(t *testing.T) {
	t.Parallel()
	apitest.SkipIfShort(t)
	w := newTestStudio(t)
	lines := []demo.Line{}
	for n := range 130 {
		lines = append(lines, demo.Line{Type: "board", Record: demo.Record{"id": fmt.Sprintf("brd_%d", n), "name": fmt.Sprintf("Board %d", n), "createdAt": fmt.Sprintf("2026-01-01T00:00:00.%03dZ", n)}})
	}
	for n := range 230 {
		lines = append(lines, demo.Line{Type: "item", Record: demo.Record{"id": fmt.Sprintf("itm_%d", n), "roadmapId": "brd_129", "slug": fmt.Sprintf("s-%d", n), "title": fmt.Sprintf("Item %d", n), "sortOrder": n, "status": "draft",
			"summary": strings.Repeat("what visitors read ", 15), "categoryIds": []string{"notebooks", "synchronisation"}, "targetLabel": "Next quarter"}})
	}
	demotest.Load(t, w.Service, lines...)
	body := w.page(t, "/roadmap?board=brd_129")
	checkContains(t, "the newest board", body, "Board 129", "Item 0", "More items")
	checkNotContains(t, "the newest board", body, "Item 229")
	if kilobytes := len(body) >> 10; kilobytes >= 110 {
		t.Errorf("the page has %d KB, want less than 110", kilobytes)
	}
	order := func() (out []string) {
		for _, i := range w.Send(t, w.key, "GET", "/v1/companies/{companyId}/plan/boards/brd_129/items?limit=200", "").Items(t) {
			out = append(out, i["title"].(string))
		}
		return out
	}
	_, body = w.submit(t, "/roadmap/items/itm_99/move", moveForm(t, body, "itm_99", "down")) // the last item on the page
	checkContains(t, "a move", body, "Moved to Other.")
	if got := order()[98:102]; !slices.Equal(got, []string{"Item 98", "Item 100", "Item 99", "Item 101"}) {
		t.Errorf("order %q, want Item 99 after Item 100", got)
	}
	next := regexp.MustCompile(`href="([^"]*cursor=[^"]*)">More items`).FindStringSubmatch(body)
	if next == nil {
		t.Fatal("no next page")
	}
	body = w.page(t, html.UnescapeString(next[1]))
	form := moveForm(t, body, "itm_150", "")
	form.Set("column", "now")
	_, body = w.submit(t, "/roadmap/items/itm_150/move", form)
	checkContains(t, "a move on the second page", body, "Moved to Now.", "Item 151")
	checkNotContains(t, "a move on the second page", body, "Item 1 ")
}

// Ensure the roadmap page can make the version before the live one live again, and says when a
// version is gone.
func TestRoadmapGoesBack(t *testing.T) {
	t.Parallel()
	w := newTestStudio(t)
	id, items := w.createBoard(t, [2]string{"now", "One"})
	path := "/roadmap?board=" + id
	publish := func() {
		t.Helper()
		action, form := publishForm(t, w.page(t, path))
		w.submit(t, action, form)
	}
	publish()
	if strings.Contains(w.page(t, path), "/roadmap/rollback/") {
		t.Error("the first version has nothing to go back to")
	}
	w.Send(t, w.key, "PATCH", "/v1/companies/{companyId}/plan/items/"+items[0], `{"title":"Two"}`)
	publish()
	goBack := func(previous, version string) string {
		t.Helper()
		m := regexp.MustCompile(`action="(/roadmap/rollback/[^"]*)" method="post"><input type="hidden" name="form" value="([^"]*)"><input type="hidden" name="version" value="([^"]*)"`).FindStringSubmatch(w.page(t, path))
		if m == nil || m[3] != previous {
			t.Fatalf("form %q, want one that goes back to version %s", m, previous)
		}
		_, body := w.submit(t, m[1], url.Values{"form": {m[2]}, "version": {version}})
		return body
	}
	checkContains(t, "after the rollback", goBack("1", "1"), "Version 1 is live again, as version 3.")
	live := w.Send(t, w.key, "GET", "/v1/companies/{companyId}/plan/boards/"+id+"/live", "").Items(t)
	if len(live) != 1 || live[0]["title"] != "One" {
		t.Errorf("visitors see %v, want One", live)
	}
	checkContains(t, "a version that is gone", goBack("2", "9"), "Nothing was changed: ", "the oldest that is kept is version 1")
}

package studio_test

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"growthworkspace/scripts/workspace/demo"
	"growthworkspace/shared/auth"
	"growthworkspace/shared/testkit/apitest"
)

// create sends a POST to the service and returns the record.
func (w *world) create(t *testing.T, path, body string) map[string]any {
	t.Helper()
	r := w.Send(t, w.key, "POST", "/v1/companies/{companyId}"+path, body)
	if r.Status != http.StatusOK {
		t.Fatalf("POST %s: status %d, want 200: %s", path, r.Status, r.Body)
	}
	return r.JSON(t)
}

// board creates a board with items, given as column and title, and returns its id and the items'
// ids.
func (w *world) board(t *testing.T, items ...[2]string) (id string, ids []string) {
	t.Helper()
	id = w.create(t, "/plan/boards", `{"name":"Public <roadmap>"}`)["id"].(string)
	for n, item := range items {
		got := w.create(t, "/plan/boards/"+id+"/items", fmt.Sprintf(`{"title":%q,"columnId":%q,"sortOrder":%d,"status":"published"}`, item[1], item[0], n+1))
		ids = append(ids, got["id"].(string))
	}
	return id, ids
}

// cards returns the titles of the items on a page, by column, each column after its name.
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

// arrow returns the form that moves an item.
func arrow(t *testing.T, body, id, to string) url.Values {
	t.Helper()
	at := strings.Index(body, `action="/roadmap/items/`+id+`/move"`)
	if at < 0 {
		t.Fatal("no arrows of " + id)
	}
	part, _, _ := strings.Cut(body[at:], "</form>")
	out := url.Values{"to": {to}}
	for _, m := range regexp.MustCompile(`name="(form|board|seen)" value="([^"]*)"`).FindAllStringSubmatch(part, -1) {
		out.Set(m[1], m[2])
	}
	return out
}

// publishing returns the form that publishes what a page shows.
func publishing(t *testing.T, body string) (path string, form url.Values) {
	t.Helper()
	m := regexp.MustCompile(`action="(/roadmap/publish/[^"]*)" method="post"><input type="hidden" name="form" value="([^"]*)"><input type="hidden" name="etag" value="([^"]*)"`).FindStringSubmatch(body)
	if m == nil {
		t.Fatal("nothing to publish: ", shown(body))
	}
	return m[1], url.Values{"form": {m[2]}, "etag": {strings.ReplaceAll(m[3], "&#34;", `"`)}}
}

// Ensure an empty company's page says how to begin. Forms create its first board and item, once
// each even if a form is sent twice.
func TestRoadmapFromNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	has(t, "empty", w.page(t, "/roadmap"), "There is no board yet", "/roadmap/boards/new")
	form := fields(t, w.page(t, "/roadmap/boards/new"), "profile")
	form.Set("name", "Our roadmap")
	form.Set("allowedOrigins", "https://a.example\r\n\r\nhttps://b.example")
	form.Set("active", "true")
	for range 2 {
		_, body := w.submit(t, "/roadmap/boards", form)
		has(t, "the new board", body, "Saved.")
	}
	boards := w.Send(t, w.key, "GET", "/v1/companies/{companyId}/plan/boards", "").Items(t)
	if len(boards) != 1 {
		t.Fatalf("%d boards, want 1: %v", len(boards), boards)
	}
	if diff := differs(map[string]any{"name": "Our roadmap", "allowedOrigins": []any{"https://a.example", "https://b.example"}}, boards[0]); diff != "" {
		t.Fatalf("stored board (-want +got):\n%s", diff)
	}
	id := boards[0]["id"].(string)
	has(t, "no items", w.page(t, "/roadmap"), "No items yet", "It was never published")
	form = fields(t, w.page(t, "/roadmap/items/new?board="+id), "profile")
	form.Set("title", "Dark theme")
	form.Set("columnId", "now_soon")
	form.Set("status", "published")
	for range 2 {
		_, body := w.submit(t, "/roadmap/items", form)
		has(t, "the new item", body, "Saved.")
	}
	body := w.page(t, "/roadmap")
	has(t, "one item", body, "Publishing would add 1 item.", ">appears<")
	form = fields(t, w.page(t, "/roadmap/items/new?board="+id), "profile")
	form.Set("title", "Light theme")
	form.Set("columnId", "NOW soon") // the column as it is shown
	w.submit(t, "/roadmap/items", form)
	if got := cards(w.page(t, "/roadmap")); len(got) != 3 || got[0] != "Now soon:" { // one column with both
		t.Errorf("cards %q, want both in the column Now soon", got)
	}
}

// Ensure a publish publishes exactly what was shown. After another change it publishes nothing and
// shows what would change now.
func TestRoadmapPublish(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id, items := w.board(t, [2]string{"now", "One"}, [2]string{"later", "Two"})
	body := w.page(t, "/roadmap?board="+id)
	has(t, "before", body, "Publishing would add 2 items.", "Public <roadmap>")
	path, form := publishing(t, body)
	w.create(t, "/plan/boards/"+id+"/items", `{"title":"Three","status":"published"}`)
	_, body = w.submit(t, path, form)
	has(t, "changed meanwhile", body, "nothing was published", "Publishing would add 3 items.")
	if got := w.Send(t, w.key, "GET", "/v1/companies/{companyId}/plan/boards/"+id, "").JSON(t); got["publishedVersion"] != nil {
		t.Errorf("published version %v, want none", got["publishedVersion"])
	}
	path, form = publishing(t, body)
	_, body = w.submit(t, path, form)
	has(t, "published", body, "Published version 1: visitors see 3 items.", "All changes are published.")
	w.Send(t, w.key, "DELETE", "/v1/companies/{companyId}/plan/items/"+items[0], "")
	w.Send(t, w.key, "PATCH", "/v1/companies/{companyId}/plan/items/"+items[1], `{"title":"Two, better","targetLabel":"Q3"}`)
	has(t, "edited", w.page(t, "/roadmap?board="+id), "Publishing would change 1 item and remove 1 item.", "Deleted, and still visible until the next publish: One.", ">changes<", "<dt>Change</dt><dd>Two, better (title, when)</dd>")
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

// Ensure arrows and drops move an item to the place that they show, for any sortOrder of its
// neighbours.
func TestRoadmapMove(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id, items := w.board(t, [2]string{"a", "A1"}, [2]string{"a", "A2"}, [2]string{"a", "A3"}, [2]string{"b", "B1"}, [2]string{"b", "B2"})
	path := "/roadmap?board=" + id
	for _, step := range []struct {
		item     int
		to       string
		column   string
		before   int
		expected string
	}{
		{2, "up", "", 0, "A: A1 A3 A2 B: B1 B2"},
		{2, "up", "", 0, "A: A3 A1 A2 B: B1 B2"},
		{2, "down", "", 0, "A: A1 A3 A2 B: B1 B2"},
		{1, "right", "", 0, "A: A1 A3 B: B1 B2 A2"},
		{1, "left", "", 0, "A: A1 A3 A2 B: B1 B2"},
		{4, "", "a", 2, "A: A1 B2 A3 A2 B: B1"},
		{4, "", "b", -1, "A: A1 A3 A2 B: B1 B2"},
		{0, "left", "", 0, "A: A1 A3 A2 B: B1 B2"},
	} {
		form := arrow(t, w.page(t, path), items[step.item], step.to)
		if step.to == "" {
			form.Set("column", step.column)
			if step.before >= 0 {
				form.Set("before", items[step.before])
			}
		}
		_, body := w.submit(t, "/roadmap/items/"+items[step.item]+"/move", form)
		has(t, "move", body, "Moved to")
		if got := strings.Join(cards(body), " "); got != step.expected {
			t.Fatalf("%+v: cards %q", step, got)
		}
	}
}

// Ensure an item that somebody changed after the page was rendered is neither moved nor deleted.
func TestRoadmapMoveConflict(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id, items := w.board(t, [2]string{"a", "A1"}, [2]string{"a", "A2"})
	form := arrow(t, w.page(t, "/roadmap?board="+id), items[1], "up")
	page := w.page(t, "/roadmap/items/"+items[1])
	w.Clock.Advance(1e9)
	w.Send(t, w.key, "PATCH", "/v1/companies/{companyId}/plan/items/"+items[1], `{"title":"Theirs"}`)
	_, body := w.submit(t, "/roadmap/items/"+items[1]+"/move", form)
	has(t, "move", body, "Somebody changed the item after you looked, so it was not moved.")
	deletion := fields(t, page, "profile")
	_, body = w.submit(t, "/roadmap/items/"+items[1]+"/delete", url.Values{"form": deletion["form"], "board": {id}, "etag": deletion["etag"]})
	has(t, "delete", body, "so it was not deleted", "Theirs")
	if got := strings.Join(cards(w.page(t, "/roadmap?board="+id)), " "); got != "A: A1 Theirs" {
		t.Errorf("cards %q, want A: A1 Theirs", got)
	}
	deletion = fields(t, w.page(t, "/roadmap/items/"+items[1]), "profile")
	_, body = w.submit(t, "/roadmap/items/"+items[1]+"/delete", url.Values{"form": deletion["form"], "board": {id}, "etag": deletion["etag"]})
	has(t, "deleted", body, "Deleted.")
	if got := strings.Join(cards(body), " "); got != "A: A1" {
		t.Errorf("cards %q, want A: A1", got)
	}
}

// edited opens the form of a record and returns its fields as a browser would send them.
func (w *world) edited(t *testing.T, path string) url.Values {
	t.Helper()
	form := fields(t, w.page(t, path), "profile")
	for name := range form {
		if own, is := strings.CutPrefix(name, "was."); is && form.Get(name) != "false" {
			form.Set(own, form.Get(name))
		}
	}
	return form
}

// Ensure an item's form stores changed fields, clears emptied ones, and keeps the typed text if it
// is refused. Neither of two writers loses a change.
func TestRoadmapItem(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, items := w.board(t, [2]string{"a", "A1"})
	path := "/roadmap/items/" + items[0]
	form := w.edited(t, path)
	form.Set("summary", "Typed summary")
	form.Set("categoryIds", "one\r\n two ")
	form.Set("columnId", "")
	_, body := w.submit(t, path, form)
	has(t, "saved", body, "Saved.")
	stored := func() map[string]any {
		return w.Send(t, w.key, "GET", "/v1/companies/{companyId}/plan/items/"+items[0], "").JSON(t)
	}
	want := map[string]any{"summary": "Typed summary", "categoryIds": []any{"one", "two"}, "columnId": nil, "title": "A1", "sortOrder": 1.0}
	if diff := differs(want, stored()); diff != "" {
		t.Errorf("stored item (-want +got):\n%s", diff)
	}
	form = w.edited(t, path)
	form.Set("sortOrder", "first")
	form.Set("title", "Typed title")
	status, body := w.submit(t, path, form)
	has(t, "refused", body, "must be a whole number", "Typed title", `value="first"`)
	if status != http.StatusBadRequest || stored()["title"] != "A1" {
		t.Errorf("status %d, want 400; stored title %v, want A1", status, stored()["title"])
	}
	form = w.edited(t, path)
	form.Set("title", "Typed title")
	w.Send(t, w.key, "PATCH", "/v1/companies/{companyId}/plan/items/"+items[0], `{"title":"Their title","targetLabel":"Their time"}`)
	status, body = w.submit(t, path, form)
	has(t, "conflict", body, "Somebody else changed the item", "Typed title", "Stored now: Their title", "Their time")
	if status != http.StatusPreconditionFailed || stored()["title"] != "Their title" {
		t.Errorf("status %d, want 412; stored title %v, want Their title", status, stored()["title"])
	}
	form.Set("title", "Typed again")
	if status, _ := w.submit(t, "/roadmap/items/itm_none", form); status != http.StatusNotFound {
		t.Errorf("status of an unknown item %d, want 404", status)
	}
}

// Ensure a key without a scope sees what it may read, and the page names the missing scope.
func TestRoadmapScopes(t *testing.T) {
	t.Parallel()
	w := newWorld(t, auth.CompanyRead, auth.PlanRead)
	body := w.page(t, "/roadmap")
	has(t, "reader", body, "plan:write")
	if strings.Contains(body, "New item") {
		t.Error("a reader is offered to write")
	}
	none := newWorld(t, auth.CompanyRead)
	status, body := none.get(t, "/roadmap")
	has(t, "none", body, "This key lacks the scope")
	if status != http.StatusForbidden {
		t.Errorf("status %d, want 403", status)
	}
}

// Ensure every board of a company can be opened, including the newest of many. A board of several
// pages must not offer moves, because the neighbours of an item may be on another page.
func TestRoadmapLarge(t *testing.T) {
	t.Parallel()
	apitest.SkipIfShort(t)
	w := newWorld(t)
	lines := []demo.Line{}
	for n := range 130 {
		lines = append(lines, demo.Line{Type: "board", Record: demo.Record{"id": fmt.Sprintf("brd_%d", n), "name": fmt.Sprintf("Board %d", n), "createdAt": fmt.Sprintf("2026-01-01T00:00:00.%03dZ", n)}})
	}
	for n := range 230 {
		lines = append(lines, demo.Line{Type: "item", Record: demo.Record{"id": fmt.Sprintf("itm_%d", n), "roadmapId": "brd_129", "slug": fmt.Sprintf("s-%d", n), "title": fmt.Sprintf("Item %d", n), "sortOrder": n, "status": "draft"}})
	}
	load(t, w.Service, lines...)
	body := w.page(t, "/roadmap?board=brd_129")
	has(t, "the newest board", body, "Board 129", "Item 0", "More items")
	hasNot(t, "the newest board", body, `class="arrows"`, "Item 229")
	form := fields(t, w.page(t, "/roadmap/items/itm_1"), "profile")
	_, body = w.submit(t, "/roadmap/items/itm_1/move", url.Values{"form": form["form"], "board": {"brd_129"}, "to": {"up"}})
	has(t, "a move", body, "The board has more than 200 items: edit the item's order instead of moving it.")
}

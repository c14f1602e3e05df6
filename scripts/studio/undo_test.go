package studio_test

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"growthworkspace/scripts/workspace/demo"
	"growthworkspace/scripts/workspace/demo/demotest"
)

// Ensure undoing a save of the profile, the brand or an idea restores the earlier values, including
// those of fields that were empty.
func TestUndoSave(t *testing.T) {
	t.Parallel()
	w := newTestStudio(t)
	form := w.profile(t)
	form.Set("summary", "Notes.")
	form.Set("name", "Another name")
	_, body := w.submit(t, "/company", form)
	checkContains(t, "company", body, "Another name: Saved.")
	w.undo(t, body)
	if diff := recordDiff(map[string]any{"name": "Northwind Notes", "summary": nil}, w.companyRecord(t)); diff != "" {
		t.Errorf("profile after the undo (-want +got):\n%s", diff)
	}

	w.Send(t, w.key, "PATCH", "/v1/companies/{companyId}/context/brand-kit", `{"voiceTone": ["calm"]}`)
	form = formValues(t, w.page(t, "/brand"), "profile")
	form.Set("voiceTone", "loud\r\nfast")
	form.Set("context", "More.")
	_, body = w.submit(t, "/brand", form)
	w.undo(t, body)
	kit := w.Send(t, w.key, "GET", "/v1/companies/{companyId}/context/brand-kit", "").JSON(t)
	if diff := recordDiff(map[string]any{"voiceTone": []any{"calm"}, "context": nil}, kit); diff != "" {
		t.Errorf("brand after the undo (-want +got):\n%s", diff)
	}

	demotest.Load(t, w.Service, demo.Line{Type: "content-idea", Record: demo.Record{"id": "ida_1", "title": "An idea", "status": "suggested"}})
	page := w.page(t, "/ideas")
	_, body = w.submit(t, "/ideas/ida_1", url.Values{"form": {fieldOf(t, page, "form")}, "seen": {fieldOf(t, page, "seen")}, "do": {"reject"}, "status": {"suggested"}})
	checkContains(t, "idea", body, "An idea: Rejected.")
	w.undo(t, body)
	if got := w.Send(t, w.key, "GET", "/v1/companies/{companyId}/broadcast/ideas/ida_1", "").JSON(t); got["status"] != "suggested" {
		t.Errorf("the idea is %v after the undo, want suggested", got["status"])
	}
}

// Ensure undoing the creation of a site deletes the site, and undoing an edit restores it.
func TestUndoRecord(t *testing.T) {
	t.Parallel()
	w := newTestStudio(t)
	form := formValues(t, w.page(t, "/sites/new"), "profile")
	form.Set("name", "A site")
	form.Set("active", "true")
	_, body := w.submit(t, "/sites", form)
	id := w.list(t, "/optimise/sites")[0].(map[string]any)["id"].(string)
	edit := formValues(t, w.page(t, "/sites/"+id), "profile")
	edit.Del("active") // browsers do not send an unticked checkbox
	edit.Set("domains", "a.example")
	_, edited := w.submit(t, "/sites/"+id, edit)
	checkContains(t, "edit", edited, "A site: Saved.")
	w.undo(t, edited)
	if diff := recordDiff(map[string]any{"active": true}, w.list(t, "/optimise/sites")[0].(map[string]any)); diff != "" {
		t.Errorf("site after the undo (-want +got):\n%s", diff)
	}
	checkContains(t, "create, since edited", w.undo(t, body), "Not undone")
	_, body = w.submit(t, "/sites", url.Values{"form": form["form"], "once": {"another"}, "name": {"Second"}, "active": {"true"}})
	checkContains(t, "undo of a create", w.undo(t, body), "Second: Undone.")
	if got := w.list(t, "/optimise/sites"); len(got) != 1 {
		t.Errorf("%d sites, want 1", len(got))
	}
}

// Ensure an undo restores a post's text, status and time, but never schedules a post in the past.
func TestUndoPost(t *testing.T) {
	t.Parallel()
	w := newTestStudio(t)
	demotest.Load(t, w.Service, demo.Line{Type: "post", Record: demo.Record{"id": "pst_1", "platform": "x", "body": "Some words", "status": "scheduled", "scheduledFor": "2026-08-20T08:00:00Z"}})
	stored := func() map[string]any {
		return w.Send(t, w.key, "GET", "/v1/companies/{companyId}/broadcast/posts/pst_1", "").JSON(t)
	}
	form := formValues(t, w.page(t, "/posts/pst_1"), "profile")
	form.Set("body", "Other words")
	form.Set("do", "unschedule")
	_, body := w.submit(t, "/posts/pst_1", form)
	checkContains(t, "unschedule", body, "Other words: Saved as a draft")
	w.undo(t, body)
	if diff := recordDiff(map[string]any{"body": "Some words", "status": "scheduled", "scheduledFor": "2026-08-20T08:00:00.000Z"}, stored()); diff != "" {
		t.Errorf("post after the undo (-want +got):\n%s", diff)
	}
	form = formValues(t, w.page(t, "/posts/pst_1"), "profile")
	form.Set("scheduledFor", "2026-08-25T10:00")
	form.Set("do", "save")
	_, body = w.submit(t, "/posts/pst_1", form)
	w.Clock.Advance(10 * 24 * 3600e9) // the post's earlier time is now in the past
	checkContains(t, "too late", w.undo(t, body), "Not undone: its time has passed")
	if diff := recordDiff(map[string]any{"scheduledFor": "2026-08-25T10:00:00.000Z"}, stored()); diff != "" {
		t.Errorf("post after the refused undo (-want +got):\n%s", diff)
	}
	form = formValues(t, w.page(t, "/posts/new?day=2026-08-28"), "profile")
	form.Set("body", "A new one")
	form.Set("platform", "x")
	form.Set("do", "save")
	_, body = w.submit(t, "/posts", form)
	checkContains(t, "create", w.undo(t, body), "A new one: Undone.")
	if got := w.list(t, "/broadcast/posts"); len(got) != 1 {
		t.Errorf("%d posts, want 1", len(got))
	}
}

// Ensure every form still shows what was typed if the service refuses every read and write. The
// next save still sends the entity tag of the version that the user saw.
func TestFormsKeepText(t *testing.T) {
	t.Parallel()
	w := newTestStudio(t)
	demotest.Load(t, w.Service, demo.Line{Type: "post", Record: demo.Record{"id": "pst_1", "platform": "x", "body": "Some words", "status": "draft"}})
	w.Send(t, w.key, "PATCH", "/v1/companies/{companyId}/context/brand-kit", `{"context": "Known."}`)
	site := w.Send(t, w.key, "POST", "/v1/companies/{companyId}/optimise/sites", `{"name": "A site"}`).JSON(t)["id"].(string)
	w.Send(t, w.key, "POST", "/v1/companies/{companyId}/metrics/definitions", `{"key": "a.b", "name": "First"}`)
	metric := w.definition(t, "a.b")["id"].(string)
	for path, name := range map[string]string{
		"/company": "summary", "/brand": "context", "/posts/pst_1": "body", "/sites/" + site: "domains", "/metrics/definitions/" + metric: "description", "/metrics/definitions/new": "name",
		"/metrics/values?key=a.b": "value",
	} {
		form := formValues(t, w.page(t, path), "profile")
		form.Set(name, "Typed words")
		form.Set("do", "save")
		for _, respond := range []func(*http.Request) *http.Response{refusal(http.StatusForbidden, "forbidden", "suspended"), refusal(http.StatusUnauthorized, "unauthorised", "send Authorization: Bearer")} {
			w.transport.respondWith(respond)
			action, _, _ := strings.Cut(strings.TrimSuffix(path, "/new"), "?")
			status, body := w.submit(t, action, form)
			if status < 400 {
				t.Errorf("%s: status %d, want an error", path, status)
			}
			checkContains(t, path, body, "Typed words")
			if etag := fields(t, body, "profile").Get("etag"); etag != form.Get("etag") {
				t.Errorf("%s: the next save has the tag %q, want %q", path, etag, form.Get("etag"))
			}
		}
		w.transport.respondWith(nil)
	}
}

// Ensure a page explains a failure only once, even if several calls fail for the same reason. If
// the service refuses the key, the page says what to do and still shows the company's name.
func TestOneCauseOnce(t *testing.T) {
	t.Parallel()
	w := newTestStudio(t)
	w.transport.respondWith(refusal(http.StatusUnauthorized, "unauthorised", "send Authorization: Bearer"))
	for _, path := range []string{"/", "/reviews", "/metrics", "/sites", "/brand"} {
		_, body := w.get(t, path)
		if n := strings.Count(body, `<div class="failure"`); n != 1 {
			t.Errorf("%s: %d boxes, want 1: %s", path, n, visibleText(body))
		}
		checkContains(t, path, body, "does not accept the key of this studio", "start it with another key", "Northwind Notes")
	}
	two := map[bool]func(*http.Request) *http.Response{true: refusal(http.StatusForbidden, "forbidden", "one reason"), false: refusal(http.StatusForbidden, "forbidden", "another reason")}
	w.transport.respondWith(func(r *http.Request) *http.Response { return two[strings.Contains(r.URL.Path, "/broadcast/")](r) })
	if _, body := w.get(t, "/"); strings.Count(body, `<div class="failure"`) != 2 {
		t.Error("not a box for each of two causes: ", visibleText(body))
	}
}

// Ensure only the first invalid field gets the focus.
func TestFocusOnWrongField(t *testing.T) {
	t.Parallel()
	w := newTestStudio(t)
	form := w.profile(t)
	form.Set("websiteUrl", "ftp://typed")
	form.Set("timezone", "Middle/Earth")
	_, body := w.submit(t, "/company", form)
	if n := strings.Count(body, " autofocus"); n != 1 || !strings.Contains(body, `<input autofocus id="websiteUrl"`) {
		t.Errorf("%d fields have the focus, want the website alone", n)
	}
}

// Ensure the page of the latest changes undoes any of them, and says which were undone.
func TestLatestChanges(t *testing.T) {
	t.Parallel()
	w := newTestStudio(t)
	w.page(t, "/changes", "Nothing was changed here", `<a href="/changes" aria-current="page">Changes</a>`)
	for _, id := range []string{"a", "b", "c"} {
		w.addReview(t, id, nil)
	}
	var body string
	for _, id := range []string{"a", "b", "c"} {
		_, body = w.answer(t, "fbk_"+id, "", "skip", nil)
	}
	checkContains(t, "the last one", body, "Title c: Skipped.", "Earlier changes")
	page := w.page(t, "/changes", "Title a: Skipped.", "Title b: Skipped.", "Title c: Skipped.", "Author c · Aug 11, 09:30 UTC")
	m := changeForm.FindAllStringSubmatch(page, -1)
	if len(m) != 3 {
		t.Fatalf("%d changes can be undone, want 3: %s", len(m), visibleText(page))
	}
	_, body = w.submit(t, m[1][1], fields(t, page, m[1][2])) // the newest one is first
	checkContains(t, "undo", body, "Title b: Undone.", "Your latest changes")
	if n := strings.Count(body, `<span class="quiet outcome">undone</span>`); n != 1 {
		t.Errorf("%d changes are undone, want 1", n)
	}
	for id, want := range map[string]string{"fbk_a": "skipped", "fbk_b": "none", "fbk_c": "skipped"} {
		if got := w.storedReview(t, id)["replyStatus"]; got != want {
			t.Errorf("%s is %v, want %s", id, got, want)
		}
	}
}

// Ensure the page of the latest changes says that a bulk action was only partly undone if somebody
// has changed one of its records since. That record must keep the change.
func TestPartlyUndone(t *testing.T) {
	t.Parallel()
	w := newTestStudio(t)
	for _, id := range []string{"a", "b"} {
		w.addReview(t, id, nil)
	}
	form := w.tickedForm(t, "/reviews", "skip")
	_, body := w.submit(t, "/reviews/bulk", form)
	checkContains(t, "skip", body, "Skipped 2 reviews.")
	path := regexp.MustCompile(`<a href="(/bulk/\d+)">Show each`).FindStringSubmatch(body)
	w.Clock.Advance(1e9)
	w.Send(t, w.key, "PATCH", "/v1/companies/{companyId}/feedback/fbk_b/reply", `{"replyBody":"Theirs"}`)
	w.submit(t, path[1], url.Values{"form": form["form"], "action": {"undo"}})
	page := w.page(t, "/changes", "Skipped 1 review. 1 change was taken back.", `<span class="quiet outcome">only partly undone</span>`)
	if changeForm.MatchString(page) {
		t.Error("nothing is left to undo, and Undo is offered")
	}
}

// changeForm matches the form that undoes one change on the page of the latest changes.
var changeForm = regexp.MustCompile(`<form action="(/undo/\d+)" method="post" id="(undo\d+)">`)

// Ensure the page of the latest changes reports an undo that changed nothing because of a later
// change. It must offer the undo again only if it can succeed.
func TestChangesUnderLaterOnes(t *testing.T) {
	t.Parallel()
	w := newTestStudio(t)
	id := w.addReview(t, "one", nil)
	w.answer(t, id, "First", "save", nil)
	w.answer(t, id, "Second", "save", nil)
	w.Send(t, w.key, "POST", "/v1/companies/{companyId}/metrics/definitions", `{"key": "a.b", "name": "Rate"}`)
	for _, value := range []string{"1", "2", "3"} {
		page := w.page(t, "/metrics/values?key=a.b&day=2026-08-02")
		form := formValues(t, page, "profile")
		if m := regexp.MustCompile(`method="post" id="(value-[^"]*)"`).FindStringSubmatch(page); m != nil {
			form = fields(t, page, m[1])
		}
		form.Set("value", value)
		w.submit(t, "/metrics/values", form)
	}
	press := func(n, want int) string {
		t.Helper()
		page := w.page(t, "/changes")
		m := changeForm.FindAllStringSubmatch(page, -1)
		if len(m) != want {
			t.Fatalf("%d changes can be undone, want %d: %s", len(m), want, visibleText(page))
		}
		_, body := w.submit(t, m[n][1], fields(t, page, m[n][2]))
		return body
	}
	body := press(4, 5) // the oldest change: the first reply
	checkContains(t, "reply", body, "Your latest changes", `<span class="quiet outcome">Not undone, because it has been changed since.`)
	checkNotContains(t, "reply", body, ">undone<")
	checkContains(t, "value", press(1, 4), `<span class="quiet outcome">Not undone, because it has been changed since.`)
	press(0, 4)
	press(0, 3) // undo the second value again, which now succeeds
	if got := w.values(t, "a.b"); got["2026-08-02"] != 1.0 {
		t.Errorf("values %v, want 1", got)
	}
	if got := w.storedReview(t, id)["replyBody"]; got != "Second" {
		t.Errorf("the reply is %v, want Second", got)
	}
}

// Ensure undoing a move on the roadmap restores the column and the sortOrder of every item that the
// move changed.
func TestUndoMove(t *testing.T) {
	t.Parallel()
	w := newTestStudio(t)
	id, items := w.createBoard(t, [2]string{"now", "One"}, [2]string{"now", "Two"}, [2]string{"later", "Three"})
	places := func() (out []any) {
		for _, item := range items {
			record := w.Send(t, w.key, "GET", "/v1/companies/{companyId}/plan/items/"+item, "").JSON(t)
			out = append(out, record["columnId"], record["sortOrder"])
		}
		return out
	}
	before := places()
	page := w.page(t, "/roadmap?board="+id)
	form := fields(t, page, "drop")
	_, row, _ := strings.Cut(page, `data-id="`+items[0]+`"`)
	_, seen, _ := strings.Cut(row, `data-seen="`)
	seen, _, _ = strings.Cut(seen, `"`)
	form.Set("seen", seen)
	form.Set("column", "later")
	_, body := w.submit(t, "/roadmap/items/"+items[0]+"/move", form)
	checkContains(t, "move", body, "One: Moved to Later.")
	if diff := cmp.Diff(before, places()); diff == "" {
		t.Fatal("nothing was moved: ", visibleText(body))
	}
	checkContains(t, "undo", w.undo(t, body), "One: Undone.")
	if diff := cmp.Diff(before, places()); diff != "" {
		t.Errorf("places after the undo (-want +got):\n%s", diff)
	}
}

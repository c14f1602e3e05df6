package studio_test

import (
	"fmt"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"growthworkspace/scripts/workspace/demo"
	"growthworkspace/scripts/workspace/demo/demotest"
	"growthworkspace/shared/auth"
)

// setTimeZone sets the company's time zone.
func (s *testStudio) setTimeZone(t *testing.T, name string) {
	t.Helper()
	if r := s.Send(t, s.key, "PATCH", "/v1/companies/{companyId}", `{"timezone":"`+name+`"}`); r.Status != http.StatusOK {
		t.Fatalf("status %d, want 200: %s", r.Status, r.Body)
	}
}

// createPost creates a post and returns its id.
func (s *testStudio) createPost(t *testing.T, body string) string {
	t.Helper()
	return s.create(t, "/broadcast/posts", body)["id"].(string)
}

// storedPost returns a post as the service stores it.
func (s *testStudio) storedPost(t *testing.T, id string) map[string]any {
	t.Helper()
	return s.Send(t, s.key, "GET", "/v1/companies/{companyId}/broadcast/posts/"+id, "").JSON(t)
}

// calendarPosts returns the posts in the calendar on a page, each as "day id".
func calendarPosts(body string) (out []string) {
	day := ""
	for _, m := range regexp.MustCompile(`<li class="day|data-day="([^"]*)"|<section class="card pad (undated)|class="chip [^>]*data-id="([^"]*)"`).FindAllStringSubmatch(body, -1) {
		switch {
		case m[1] != "" || m[2] != "":
			day = m[1] + m[2]
		case m[3] != "":
			out = append(out, day+" "+m[3])
		default:
			day = "past"
		}
	}
	return out
}

// dropForm returns the form that the calendar sends when a post is dropped on a day.
func dropForm(t *testing.T, body, id, day string) url.Values {
	t.Helper()
	form := fields(t, body, "dropday")
	m := regexp.MustCompile(`data-id="` + id + `" data-seen="([^"]*)"`).FindStringSubmatch(body)
	if m == nil {
		t.Fatal("no post ", id, ": ", visibleText(body))
	}
	form.Set("seen", html.UnescapeString(m[1]))
	form.Set("day", day)
	return form
}

// Ensure the calendar opens at the current month and says if a month is empty. Each day links to a
// form with which a user can write, preview, schedule and unschedule a post. Sending that form
// twice creates one post.
func TestPostFromADay(t *testing.T) {
	t.Parallel()
	w := newTestStudio(t)
	body := w.page(t, "/posts", "August 2026", "Nothing is posted in August 2026", "the company has no time zone", "/posts/new?day=2026-08-20")
	checkNotContains(t, "past", body, "/posts/new?day=2026-08-01")
	form := w.editForm(t, "/posts/new?day=2026-08-20")
	w.page(t, "/posts/new?day=2026-08-20", `value="2026-08-20T09:00"`, "Nothing typed yet.")
	form.Set("platform", "x")
	form.Set("scheduledFor", "2026-08-20T09:00")
	form.Set("body", strings.Repeat("All about rain. ", 30))
	form.Set("hashtags", "rain\r\nnotes")
	form.Set("do", "save")
	for range 2 {
		_, body = w.submit(t, "/posts", form)
		checkContains(t, "draft", body, "Saved as a draft", "1 of 2", "2 of 2")
	}
	posts := w.Send(t, w.key, "GET", "/v1/companies/{companyId}/broadcast/posts", "").Items(t)
	if len(posts) != 1 {
		t.Fatalf("%d posts, want 1: %v", len(posts), posts)
	}
	want := map[string]any{"status": "draft", "scheduledFor": "2026-08-20T09:00:00.000Z", "hashtags": []any{"rain", "notes"}}
	if diff := recordDiff(want, posts[0]); diff != "" {
		t.Fatalf("stored post (-want +got):\n%s", diff)
	}
	path := "/posts/" + posts[0]["id"].(string)
	form = w.editForm(t, path)
	form.Set("do", "schedule")
	_, body = w.submit(t, path, form)
	checkContains(t, "scheduled", body, "It is scheduled for Thu, Aug 20, 2026, 09:00 (UTC).", "Unschedule")
	if got := calendarPosts(w.page(t, "/posts")); fmt.Sprint(got) != "[2026-08-20 "+posts[0]["id"].(string)+"]" {
		t.Errorf("posts on days %v, want it on 2026-08-20", got)
	}
	form = w.editForm(t, path)
	form.Set("do", "unschedule")
	_, body = w.submit(t, path, form)
	checkContains(t, "unscheduled", body, "Saved as a draft")
	form = w.editForm(t, path)
	form.Set("do", "save")
	_, body = w.submit(t, path, form)
	checkContains(t, "nothing", body, "Nothing was changed.")
	form.Set("scheduledFor", "")
	_, body = w.submit(t, path, form)
	checkContains(t, "no time", body, "Saved as a draft")
	if got := calendarPosts(w.page(t, "/posts")); fmt.Sprint(got) != "[undated "+posts[0]["id"].(string)+"]" {
		t.Errorf("posts on days %v, want it undated", got)
	}
	form = w.editForm(t, path)
	form.Set("do", "schedule")
	status, body := w.submit(t, path, form)
	checkContains(t, "without a time", body, "Choose when it is sent.", "All about rain.")
	if status != http.StatusBadRequest {
		t.Errorf("status %d, want 400", status)
	}
	_, body = w.submit(t, path+"/delete", url.Values{"form": form["form"], "etag": form["etag"], "month": {"2026-08"}})
	checkContains(t, "deleted", body, "Deleted.", "Nothing is posted")
}

// Ensure the calendar and the form use the company's time zone. This concerns the day on which the
// calendar shows a post, even at the edge of a month, and the times that the form shows and
// accepts.
func TestPostTimesAreTheCompanys(t *testing.T) {
	t.Parallel()
	w := newTestStudio(t)
	w.setTimeZone(t, "Asia/Tokyo")
	late := w.createPost(t, `{"platform":"reddit","body":"Late","scheduledFor":"2026-08-20T22:30:00Z"}`)
	edge := w.createPost(t, `{"platform":"reddit","body":"Edge","scheduledFor":"2026-08-30T15:30:00Z"}`)
	if got := calendarPosts(w.page(t, "/posts", "Times are Asia/Tokyo", "07:30")); fmt.Sprint(got) != "[2026-08-21 "+late+" 2026-08-31 "+edge+"]" {
		t.Errorf("posts on days %v, want %s on 2026-08-21 and %s on 2026-08-31", got, late, edge)
	}
	w.page(t, "/posts/list?day=2026-08-21", "Fri, Aug 21, 2026, 07:30", "Late")
	checkNotContains(t, "other day", w.page(t, "/posts/list?day=2026-08-20"), "Late")
	form := w.editForm(t, "/posts/"+late)
	if got := form.Get("scheduledFor"); got != "2026-08-21T07:30" {
		t.Errorf("the form has the time %s, want 2026-08-21T07:30", got)
	}
	form.Set("scheduledFor", "2026-08-22T00:15")
	form.Set("do", "schedule")
	_, body := w.submit(t, "/posts/"+late, form)
	checkContains(t, "saved", body, "Sat, Aug 22, 2026, 00:15 (Asia/Tokyo)")
	if got := w.storedPost(t, late)["scheduledFor"]; got != "2026-08-21T15:15:00.000Z" {
		t.Errorf("stored time %v, want 2026-08-21T15:15:00.000Z", got)
	}
}

// Ensure the form refuses a time that the clocks skip, and says why. If a time occurs twice, the
// form asks which one is meant. Saving the form without editing the time does not change it.
func TestPostWhenClocksChange(t *testing.T) {
	t.Parallel()
	w := newTestStudio(t)
	w.setTimeZone(t, "Europe/Berlin")
	id := w.createPost(t, `{"platform":"reddit","body":"Night","scheduledFor":"2026-10-20T00:30:00Z","status":"scheduled"}`)
	path := "/posts/" + id
	form := w.editForm(t, path)
	form.Set("do", "save")
	form.Set("scheduledFor", "2027-03-28T02:30")
	status, body := w.submit(t, path, form)
	checkContains(t, "skipped", body, "There is no 02:30 on March 28 in Europe/Berlin: the clocks go from 02:00 to 03:00.", `value="2027-03-28T02:30"`)
	if status != http.StatusBadRequest || w.storedPost(t, id)["scheduledFor"] != "2026-10-20T00:30:00.000Z" {
		t.Errorf("status %d, want 400; stored time %v, want 2026-10-20T00:30:00.000Z", status, w.storedPost(t, id)["scheduledFor"])
	}
	form.Set("scheduledFor", "2026-10-25T02:30")
	status, body = w.submit(t, path, form)
	checkContains(t, "twice", body, "Choose one.", "first CEST, UTC+02:00, then CET, UTC+01:00")
	if status != http.StatusBadRequest {
		t.Errorf("status %d, want 400", status)
	}
	for which, want := range map[string]string{"first": "2026-10-25T00:30:00.000Z", "second": "2026-10-25T01:30:00.000Z"} {
		form = w.editForm(t, path)
		form.Set("do", "save")
		form.Set("scheduledFor", "2026-10-25T02:30")
		form.Set("which", which)
		w.submit(t, path, form)
		if got := w.storedPost(t, id)["scheduledFor"]; got != want {
			t.Errorf("the %s 02:30 is stored as %v, want %s", which, got, want)
		}
		form = w.editForm(t, path)
		if got := form.Get("was.which"); got != which {
			t.Errorf("the form says %q, want %s", got, which)
		}
		form.Set("do", "save")
		form.Set("title", "Edited "+which)
		w.submit(t, path, form)
		if diff := recordDiff(map[string]any{"scheduledFor": want, "title": "Edited " + which}, w.storedPost(t, id)); diff != "" {
			t.Errorf("edited post at the %s 02:30 (-want +got):\n%s", which, diff)
		}
	}
	w.page(t, "/posts?month=2026-10", "02:30 CE")
}

// Ensure dropping a post on a different day keeps its time of day. The notice says if that time is
// skipped or occurs twice on the new day. A post is not moved if somebody else has changed it, if
// it was already sent, or if the new time is in the past.
func TestPostMove(t *testing.T) {
	t.Parallel()
	w := newTestStudio(t)
	w.setTimeZone(t, "Europe/Berlin")
	id := w.createPost(t, `{"platform":"reddit","body":"Night","scheduledFor":"2026-10-20T00:30:00Z","status":"scheduled"}`)
	move := func(day, notice, want string) {
		t.Helper()
		month := "2026-10"
		_, body := w.submit(t, "/posts/"+id+"/move", dropForm(t, w.page(t, "/posts?month="+month), id, day))
		checkContains(t, day, body, notice)
		if got := w.storedPost(t, id)["scheduledFor"]; got != want {
			t.Errorf("moved to %s: stored time %v, want %s", day, got, want)
		}
	}
	move("2026-10-21", "Moved to Wed, Oct 21, 2026, 02:30.", "2026-10-21T00:30:00.000Z")
	move("2027-03-28", "Not moved: There is no 02:30 on March 28", "2026-10-21T00:30:00.000Z")
	move("2026-08-01", "is over, and a scheduled post would be sent at once", "2026-10-21T00:30:00.000Z")
	move("2026-10-25", "the post has the first (CEST, UTC+02:00)", "2026-10-25T00:30:00.000Z")
	move("2026-10-26", "Moved to Mon, Oct 26, 2026, 02:30.", "2026-10-26T01:30:00.000Z")
	form := dropForm(t, w.page(t, "/posts?month=2026-10"), id, "2026-10-27")
	w.Clock.Advance(1e9)
	w.Send(t, w.key, "PATCH", "/v1/companies/{companyId}/broadcast/posts/"+id, `{"body":"Theirs"}`)
	_, body := w.submit(t, "/posts/"+id+"/move", form)
	checkContains(t, "conflict", body, "Somebody changed the post after you looked, so it was not moved.", "Theirs")
	undated := w.createPost(t, `{"platform":"reddit","body":"Some day"}`)
	_, body = w.submit(t, "/posts/"+undated+"/move", dropForm(t, w.page(t, "/posts"), undated, "2026-08-20"))
	checkContains(t, "undated", body, "Moved to Thu, Aug 20, 2026, 09:00.")
	demotest.Load(t, w.Service, demo.Line{Type: "post", Record: demo.Record{"id": "pst_sent", "platform": "x", "body": "Sent", "status": "published", "scheduledFor": "2026-08-05T08:00:00Z", "publishedAt": "2026-08-05T08:00:09Z", "externalUrl": "https://x.example/1", "updatedAt": "2026-08-05T08:00:09Z"}})
	_, body = w.submit(t, "/posts/pst_sent/move", dropForm(t, w.page(t, "/posts"), "pst_sent", "2026-08-20"))
	checkContains(t, "sent", body, "Not moved: ")
	body = w.page(t, "/posts/pst_sent", "It was sent, so it can no longer be changed.", "https://x.example/1")
	checkNotContains(t, "sent", body, "Delete this post", `id="profile"`)
}

// Ensure a user cannot schedule a post in the past, but can reschedule a failed post. The failed
// post's page must say why it failed. If somebody else has changed a post, saving it loses neither
// their change nor the typed text.
func TestPostFailedAndConflict(t *testing.T) {
	t.Parallel()
	w := newTestStudio(t)
	demotest.Load(t, w.Service, demo.Line{Type: "post", Record: demo.Record{"id": "pst_failed", "platform": "push", "title": "News", "body": "Failed", "status": "failed", "scheduledFor": "2026-08-05T08:00:00Z", "failureReason": "The <picture> is too large.", "updatedAt": "2026-08-05T08:00:09Z"}})
	for _, path := range []string{"/posts", "/posts/list", "/posts/list?status=failed&platform=push", "/posts/pst_failed"} {
		w.page(t, path, "The <picture> is too large.", "failed", "News")
	}
	form := w.editForm(t, "/posts/pst_failed")
	form.Set("do", "schedule")
	status, body := w.submit(t, "/posts/pst_failed", form)
	checkContains(t, "past", body, "This time has passed, so the post would be sent immediately.")
	if status != http.StatusBadRequest || w.storedPost(t, "pst_failed")["status"] != "failed" {
		t.Errorf("status %d, want 400; the post is %v, want failed", status, w.storedPost(t, "pst_failed")["status"])
	}
	form.Set("scheduledFor", "2026-08-25T10:00")
	_, body = w.submit(t, "/posts/pst_failed", form)
	checkContains(t, "again", body, "It is scheduled for Tue, Aug 25, 2026, 10:00 (UTC).")
	form = w.editForm(t, "/posts/pst_failed")
	form.Set("do", "save")
	form.Set("body", "Mine")
	w.Send(t, w.key, "PATCH", "/v1/companies/{companyId}/broadcast/posts/pst_failed", `{"body":"Theirs","title":"Their title"}`)
	status, body = w.submit(t, "/posts/pst_failed", form)
	checkContains(t, "conflict", body, "Somebody else changed the post", "Mine", "Stored now: Theirs", "Their title")
	if status != http.StatusPreconditionFailed || w.storedPost(t, "pst_failed")["body"] != "Theirs" {
		t.Errorf("status %d, want 412; stored text %v, want Theirs", status, w.storedPost(t, "pst_failed")["body"])
	}
	deletion := url.Values{"form": form["form"], "etag": form["etag"], "month": {"2026-08"}}
	_, body = w.submit(t, "/posts/pst_failed/delete", deletion)
	checkContains(t, "delete", body, "so it was not deleted", "Theirs")
	w.storedPost(t, "pst_failed")
	if status, _ := w.get(t, "/posts/pst_none"); status != http.StatusNotFound {
		t.Errorf("status of an unknown post %d, want 404", status)
	}
}

// Ensure a day with many posts in the calendar links to the list of all of them. If a month has
// more posts than the calendar reads, the page says from which day onwards posts are missing.
func TestPostsOfAFullMonth(t *testing.T) {
	t.Parallel()
	w := newTestStudio(t)
	lines := make([]demo.Line, 430)
	for n := range lines {
		lines[n] = demo.Line{Type: "post", Record: demo.Record{"id": fmt.Sprintf("pst_%03d", n), "platform": "x", "body": fmt.Sprintf("Body %03d", n), "status": "draft", "scheduledFor": fmt.Sprintf("2026-08-%02dT%02d:00:00Z", 1+n/20, n%20)}}
	}
	demotest.Load(t, w.Service, lines[:300]...)
	body := w.page(t, "/posts", "16 more", "/posts/list?day=2026-08-15")
	checkNotContains(t, "whole", body, "some are missing")
	w.page(t, "/posts/list?day=2026-08-15", "Body 280", "Body 299")
	demotest.Load(t, w.Service, lines[300:]...)
	w.page(t, "/posts", "from 2026-08-20 on, some are missing")
}

// Ensure the pages for posts show everything that a key may read, even if it lacks other scopes.
// They name the missing scope.
func TestPostScopes(t *testing.T) {
	t.Parallel()
	w := newTestStudio(t, auth.BroadcastRead)
	for _, path := range []string{"/posts", "/posts/new"} {
		body := w.page(t, path, "broadcast:write", "could not be read")
		checkNotContains(t, path, body, "/posts/new?day", "Save draft")
	}
	noScope := newTestStudio(t, auth.CompanyRead)
	for _, path := range []string{"/posts", "/posts/list", "/posts/pst_x"} {
		status, body := noScope.get(t, path)
		checkContains(t, path, body, "This key lacks the scope")
		if status != http.StatusForbidden {
			t.Errorf("%s: status %d, want 403", path, status)
		}
	}
}

// Ensure the page describes the images and videos of a post in words, or shows their JSON if it
// does not know the format.
func TestMedia(t *testing.T) {
	t.Parallel()
	w := newTestStudio(t)
	for id, media := range map[string]any{
		"pst_known":   []demo.Record{{"kind": "image", "alt": "A wet pen", "url": "https://a.example/1.png"}, {"kind": "video", "url": "https://a.example/2.mp4"}},
		"pst_unknown": demo.Record{"file": "a.png"},
	} {
		demotest.Load(t, w.Service, demo.Line{Type: "post", Record: demo.Record{"id": id, "platform": "x", "body": "Look", "status": "draft", "media": media}})
	}
	w.page(t, "/posts/pst_known", "<li>image: A wet pen</li>", "<li>video: https://a.example/2.mp4</li>")
	w.page(t, "/posts/pst_unknown", `{"file":"a.png"}`)
}

// Ensure the form of a new post has only the fields of its platform. A preview must keep what was
// typed, and must show the thread before anything is stored.
func TestPostEditor(t *testing.T) {
	t.Parallel()
	w := newTestStudio(t)
	for platform, names := range map[string]string{
		"x": "deepLink hashtags", "instagram": "hashtags", "tiktok": "hashtags", "facebook": "deepLink hashtags", "reddit": "title deepLink", "push": "title destination deepLink",
	} {
		body := w.page(t, "/posts/new?platform="+platform, "is connected, so the post may not be sent")
		for _, name := range []string{"title", "destination", "deepLink", "hashtags"} {
			if want := strings.Contains(names, name); strings.Contains(body, `name="`+name+`"`) != want {
				t.Errorf("%s: the form has %s: %t, want %t", platform, name, !want, want)
			}
		}
	}
	form := w.editForm(t, "/posts/new?platform=x")
	form.Set("platform", "x")
	form.Set("body", strings.Repeat("All about rain. ", 30))
	form.Set("hashtags", "#rain, notes\n#rain")
	form.Set("media.0.url", "https://a.example/1.png")
	form.Set("media.0.alt", "A <pen>")
	form.Set("do", "preview")
	status, body := w.submit(t, "/posts", form)
	checkContains(t, "preview", body, "479 as X counts, and one post has 280: a thread of 2 posts.", "1 of 2 · 275 of 280", "#rain", "#notes", "image: A <pen>", "data-kept", `name="media.1.url"`)
	if status != http.StatusOK {
		t.Errorf("status %d, want 200", status)
	}
	if all := w.Send(t, w.key, "GET", "/v1/companies/{companyId}/broadcast/posts", "").Items(t); len(all) != 0 {
		t.Errorf("a preview stored %v", all)
	}
	_, preview := w.submit(t, "/posts/preview", form)
	checkContains(t, "while typing", preview, "2 of 2", `data-count="479 as X counts`)
	checkNotContains(t, "while typing", preview, "<html")
	form.Set("do", "save")
	_, body = w.submit(t, "/posts", form)
	checkContains(t, "saved", body, "Saved as a draft", "Duplicate to")
	all := w.Send(t, w.key, "GET", "/v1/companies/{companyId}/broadcast/posts", "").Items(t)
	if len(all) != 1 {
		t.Fatalf("%d posts, want 1", len(all))
	}
	stored := all[0]
	want := map[string]any{"hashtags": []any{"rain", "notes"}, "media": []any{map[string]any{"url": "https://a.example/1.png", "kind": "image", "alt": "A <pen>"}}}
	if diff := recordDiff(want, stored); diff != "" {
		t.Errorf("stored post (-want +got):\n%s", diff)
	}
	id := stored["id"].(string)
	copied := w.page(t, "/posts/new?copy="+id+"&platform=push", "All about rain.", "https://a.example/1.png", `<option value="push" selected>`)
	checkNotContains(t, "copy", copied, `name="hashtags"`)
	checkContains(t, "copy", copied, "not saved yet</h1>", "data-preview data-kept")
	w.page(t, "/posts/new?copy=pst_none", "The post to duplicate could not be read")
}

// Ensure the pictures of a post can be edited, removed and put back. If the service refuses a
// picture, the page names it and keeps the typed values. Stored pictures that the form cannot edit
// are kept until somebody enters one.
func TestPostPictures(t *testing.T) {
	t.Parallel()
	w := newTestStudio(t)
	id := w.createPost(t, `{"platform":"instagram","body":"Look","media":[{"url":"https://a.example/1.png","kind":"image","alt":"A pen"},{"url":"https://a.example/2.mp4","kind":"video"}]}`)
	path := "/posts/" + id
	w.page(t, path, `name="media.0.url" value="https://a.example/1.png"`, `name="media.2.url" value=""`)
	form := w.editForm(t, path)
	for name, value := range map[string]string{"media.0.url": "https://a.example/1.png", "media.0.kind": "image", "media.0.alt": "A pen", "media.1.url": "https://a.example/2.mp4", "media.1.kind": "video"} {
		form.Set(name, value)
	}
	form.Set("do", "save")
	_, body := w.submit(t, path, form)
	checkContains(t, "nothing", body, "Nothing was changed.")
	form.Set("media.0.url", "ftp://a.example/1.png")
	status, body := w.submit(t, path, form)
	checkContains(t, "refused", body, "must be an http or https address", `value="ftp://a.example/1.png"`)
	if status != http.StatusBadRequest {
		t.Errorf("status %d, want 400", status)
	}
	form.Del("media.0.url")
	form.Del("media.0.alt")
	_, body = w.submit(t, path, form)
	checkContains(t, "saved", body, "Saved as a draft")
	left := []any{map[string]any{"url": "https://a.example/2.mp4", "kind": "video"}}
	if diff := recordDiff(map[string]any{"media": left}, w.storedPost(t, id)); diff != "" {
		t.Errorf("one picture removed (-want +got):\n%s", diff)
	}
	_, body = w.submit(t, undoForm.FindStringSubmatch(body)[1], url.Values{"form": form["form"]})
	checkContains(t, "undone", body, "Undone.")
	if all := w.storedPost(t, id)["media"].([]any); len(all) != 2 {
		t.Errorf("after the undo the post has %v, want both pictures", all)
	}
	demotest.Load(t, w.Service, demo.Line{Type: "post", Record: demo.Record{"id": "pst_other", "platform": "instagram", "body": "Look", "status": "draft", "media": demo.Record{"file": "a.png"}}})
	form = w.editForm(t, "/posts/pst_other")
	form.Set("media.other", "true")
	form.Set("body", "Look here")
	form.Set("do", "save")
	w.submit(t, "/posts/pst_other", form)
	if diff := recordDiff(map[string]any{"body": "Look here", "media": map[string]any{"file": "a.png"}}, w.storedPost(t, "pst_other")); diff != "" {
		t.Errorf("pictures of a different shape (-want +got):\n%s", diff)
	}
	form = w.editForm(t, "/posts/pst_other")
	form.Set("media.other", "true")
	form.Set("media.0.url", "https://a.example/1.png")
	form.Set("media.0.kind", "image")
	form.Set("do", "save")
	w.submit(t, "/posts/pst_other", form)
	if diff := recordDiff(map[string]any{"media": []any{map[string]any{"url": "https://a.example/1.png", "kind": "image"}}}, w.storedPost(t, "pst_other")); diff != "" {
		t.Errorf("pictures of a different shape, replaced (-want +got):\n%s", diff)
	}
}

// Ensure the overview still lists upcoming posts if there are overdue posts. A tab must list all
// overdue posts, no matter how old they are.
func TestOverduePosts(t *testing.T) {
	t.Parallel()
	w := newTestStudio(t)
	lines := []demo.Line{{Type: "post", Record: demo.Record{"id": "pst_next", "platform": "x", "body": "What is next", "status": "scheduled", "scheduledFor": "2026-08-20T08:00:00Z"}}}
	for n := range 8 {
		lines = append(lines, demo.Line{Type: "post", Record: demo.Record{"id": fmt.Sprintf("pst_late%d", n), "platform": "reddit", "body": fmt.Sprintf("Late %d", n), "status": "scheduled", "scheduledFor": fmt.Sprintf("2026-0%d-01T08:00:00Z", 1+n)}})
	}
	demotest.Load(t, w.Service, lines...)
	checkNotContains(t, "overview", w.page(t, "/", "What is next", "8 posts overdue", "/posts/list?status=overdue"), "Late 7")
	checkNotContains(t, "overdue", w.page(t, "/posts/list?status=overdue", "Late 0", "Late 7"), "What is next")
	checkNotContains(t, "of X", w.page(t, "/posts/list?status=overdue&platform=x", "There are none"), "Late 0")
}

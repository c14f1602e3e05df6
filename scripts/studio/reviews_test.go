package studio_test

import (
	"fmt"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"growthworkspace/scripts/studio"
	"growthworkspace/scripts/workspace/demo"
	"growthworkspace/scripts/workspace/demo/demotest"
	"growthworkspace/shared/testkit/apitest"
)

const typedText = "What I typed: ‘dear’ & <b>you</b>\nin two lines"

// answer opens a review and submits its form.
func (s *testStudio) answer(t *testing.T, id, text, action string, beforeSubmit func()) (status int, body string) {
	t.Helper()
	form := fields(t, s.page(t, "/reviews?id="+id), "answer")
	if beforeSubmit != nil {
		beforeSubmit()
	}
	form.Set("body", strings.ReplaceAll(text, "\n", "\r\n")) // browsers send line breaks as \r\n
	form.Set("action", action)
	return s.submit(t, "/reviews/"+id, form)
}

// Ensure each button of the form stores the status that it stands for. The page then shows a notice
// with the action and its API call, and the next review. After an approval, it shows the approved
// review and a link to the next one, so that a second click cannot approve another reply.
func TestReply(t *testing.T) {
	t.Parallel()
	w := newTestStudio(t)
	for _, id := range []string{"a", "b", "c", "d"} {
		w.addReview(t, id, demo.Record{"postedAt": "2026-08-0" + map[string]string{"a": "4", "b": "3", "c": "2", "d": "1"}[id] + "T08:00:00Z"})
	}
	for _, c := range []struct{ id, action, text, want, notice, next string }{
		{"fbk_a", "save", typedText, "needs_review", "Saved for review.", "Title a"},
		{"fbk_b", "approve", typedText, "approved", "Nothing was posted yet", "Title b"},
		{"fbk_c", "skip", "", "skipped", "Skipped.", "Title d"},
	} {
		status, body := w.answer(t, c.id, c.text, c.action, nil)
		if status != http.StatusOK {
			t.Fatalf("%s: status %d, want 200: %s", c.action, status, visibleText(body))
		}
		checkContains(t, c.action, body, c.notice, "curl", "-X PATCH", "https://api.example/v1/companies/"+w.CompanyID+"/feedback/"+c.id+"/reply", `<h2 id="review" tabindex="-1">`+c.next)
		if c.action == "save" {
			if next := regexp.MustCompile(`<a class="button" href="([^"]*)">Next review`).FindStringSubmatch(body); next == nil || !strings.Contains(next[1], "id=fbk_b") {
				t.Errorf("no link to the next review: %v", next)
			}
		}
		if c.action == "approve" {
			checkContains(t, c.action, body, "Back to draft")
			checkNotContains(t, c.action, body, `<button class="button go" name="action"`)
			if next := regexp.MustCompile(`<a class="button go" href="([^"]*)">Next review`).FindStringSubmatch(body); next == nil || !strings.Contains(next[1], "id=fbk_c") {
				t.Errorf("no link to the next review: %v", next)
			}
		}
		got := w.storedReview(t, c.id)
		if got["replyStatus"] != c.want || c.text != "" && got["replyBody"] != c.text {
			t.Errorf("%s: reply %q is %v, want %q as %s", c.action, got["replyBody"], got["replyStatus"], c.text, c.want)
		}
	}
	for _, action := range []string{"save", "approve", "delete"} { // the reply is empty, so these actions have nothing to store
		status, body := w.answer(t, "fbk_d", " \n ", action, nil)
		if status != http.StatusBadRequest {
			t.Errorf("%s: status %d, want 400: %s", action, status, visibleText(body))
		}
		if diff := recordDiff(map[string]any{"replyStatus": "none", "replyBody": nil}, w.storedReview(t, "fbk_d")); diff != "" {
			t.Errorf("review after a refused %s (-want +got):\n%s", action, diff)
		}
	}
}

// Ensure neither the stored reply nor the typed text is lost if somebody else changes the reply
// between loading and saving. This must hold for each action.
func TestReplyConflict(t *testing.T) {
	t.Parallel()
	w := newTestStudio(t)
	for _, action := range []string{"save", "approve", "skip"} {
		id := w.addReview(t, "mine"+action, nil)
		status, body := w.answer(t, id, typedText, action, func() {
			w.Send(t, w.key, "PATCH", "/v1/companies/{companyId}/feedback/"+id+"/reply", `{"replyBody": "Theirs", "replyStatus": "needs_review"}`)
		})
		if status != http.StatusPreconditionFailed {
			t.Errorf("%s: status %d, want 412", action, status)
		}
		checkContains(t, action, body, "Somebody else changed this reply", "Theirs", typedText, "Request ")
		if got := w.storedReview(t, id); got["replyBody"] != "Theirs" {
			t.Errorf("%s: stored reply %v, want Theirs", action, got["replyBody"])
		}
		form := fields(t, body, "answer") // the page now shows both texts, and stores what the user decides
		form.Set("body", typedText)
		form.Set("action", "approve")
		if status, body := w.submit(t, "/reviews/"+id, form); status != http.StatusOK {
			t.Errorf("%s: status of the decision %d, want 200: %s", action, status, visibleText(body))
		}
		if diff := recordDiff(map[string]any{"replyBody": typedText, "replyStatus": "approved"}, w.storedReview(t, id)); diff != "" {
			t.Errorf("review after the decision (-want +got):\n%s", diff)
		}
	}
}

// Ensure a user cannot change a reply that a worker has started to post. The page still shows the
// typed text, so that the user can copy it.
func TestReplyIsPosted(t *testing.T) {
	t.Parallel()
	w := newTestStudio(t)
	for _, state := range []string{"posting", "posted"} {
		id := w.addReview(t, state, demo.Record{"replyBody": "Sent", "replyStatus": "approved"})
		form := fields(t, w.page(t, "/reviews?id="+id), "answer")
		w.addReview(t, state, demo.Record{"replyBody": "Sent", "replyStatus": state})
		form.Set("body", typedText)
		form.Set("action", "save")
		form.Del("etag") // without an entity tag, the service must refuse because of the reply's status alone
		status, body := w.submit(t, "/reviews/"+id, form)
		if status != http.StatusConflict && status != http.StatusPreconditionFailed {
			t.Errorf("%s: status %d, want 409 or 412", state, status)
		}
		checkContains(t, state, body, "Sent", typedText, "Your text, to copy")
		if diff := recordDiff(map[string]any{"replyBody": "Sent", "replyStatus": state}, w.storedReview(t, id)); diff != "" {
			t.Errorf("review after a late save (-want +got):\n%s", diff)
		}
	}
}

// Ensure the page keeps the typed text if saving a reply fails for any reason other than a
// conflict.
func TestReplyFails(t *testing.T) {
	t.Parallel()
	w := newTestStudio(t)
	id := w.addReview(t, "one", nil)
	for _, respond := range []func(*http.Request) *http.Response{refusal(403, "forbidden", "frozen"), refusal(401, "unauthorised", "the key lacks the scope feedback:write")} {
		status, body := w.answer(t, id, typedText, "save", func() {
			w.transport.respondWith(func(r *http.Request) *http.Response {
				if r.Method == http.MethodPatch {
					return respond(r)
				}
				return nil
			})
		})
		if status < 400 {
			t.Errorf("status %d, want an error", status)
		}
		checkContains(t, "save", body, typedText, "Your text was not stored.")
		w.transport.respondWith(respond) // from now on, reads fail like writes
		form := url.Values{"form": {fieldOf(t, body, "form")}, "body": {typedText}, "action": {"save"}}
		_, body = w.submit(t, "/reviews/"+id, form)
		checkContains(t, "nothing can be read", body, typedText)
		w.transport.respondWith(nil)
	}
}

// Ensure a save that is retried after a failure does not replace a reply that somebody else has
// stored, unless the user has seen it.
func TestReplyChangesBeforeNextTry(t *testing.T) {
	t.Parallel()
	w := newTestStudio(t)
	id := w.addReview(t, "one", nil)
	_, body := w.answer(t, id, typedText, "approve", func() {
		w.Send(t, w.key, "PATCH", "/v1/companies/{companyId}/feedback/"+id+"/reply", `{"replyBody": "Theirs"}`)
		w.transport.respondWith(func(r *http.Request) *http.Response {
			if r.Method == http.MethodPatch {
				return refusal(http.StatusForbidden, "forbidden", "frozen")(r)
			}
			return nil
		})
	})
	checkContains(t, "failed", body, typedText, "Your text was not stored.")
	w.transport.respondWith(nil)
	form := fields(t, body, "answer")
	form.Set("body", typedText)
	form.Set("action", "approve")
	status, body := w.submit(t, "/reviews/"+id, form)
	if status != http.StatusPreconditionFailed {
		t.Errorf("status of the next try %d, want 412", status)
	}
	checkContains(t, "next try", body, "Somebody else changed this reply", "Theirs", typedText)
	if got := w.storedReview(t, id); got["replyBody"] != "Theirs" {
		t.Errorf("the stored reply is %v, want Theirs", got["replyBody"])
	}
}

func fieldOf(t *testing.T, body, name string) string {
	t.Helper()
	for _, m := range hiddenInput.FindAllStringSubmatch(body, -1) {
		if m[1] == name {
			return m[2]
		}
	}
	t.Fatal("no field", name)
	return ""
}

// checkboxValues returns the values of the checkboxes in the list.
func checkboxValues(body string) (out []string) {
	for _, part := range strings.Split(body, `<input type="checkbox" name="review" value="`)[1:] {
		value, _, _ := strings.Cut(part, `"`)
		out = append(out, value)
	}
	return out
}

// Ensure a user can skip several reviews at once, and undo all of these changes in one step. A
// review that somebody has changed since the list was loaded is not skipped, and the page says so.
func TestSkipSeveral(t *testing.T) {
	t.Parallel()
	w := newTestStudio(t)
	for _, id := range []string{"a", "b", "c"} {
		w.addReview(t, id, nil)
	}
	page := w.page(t, "/reviews")
	form := fields(t, page, "list")
	form["review"] = checkboxValues(page)
	form.Set("action", "skip")
	if len(form["review"]) != 3 {
		t.Fatalf("%d reviews can be ticked, want 3: %v", len(form["review"]), form["review"])
	}
	w.Send(t, w.key, "PATCH", "/v1/companies/{companyId}/feedback/fbk_b/reply", `{"replyBody": "Theirs", "replyStatus": "approved"}`)
	_, body := w.submit(t, "/reviews/bulk", form)
	checkContains(t, "skip", body, "<h1>Finished: skip 3 reviews</h1>", "Skipped 2 reviews.", "1 review was changed by somebody else since the page was loaded", "Title b · Author b was changed by somebody else")
	for id, want := range map[string]string{"fbk_a": "skipped", "fbk_b": "approved", "fbk_c": "skipped"} {
		if got := w.storedReview(t, id); got["replyStatus"] != want {
			t.Errorf("%s is %v, want %s", id, got["replyStatus"], want)
		}
	}
	_, body = w.submit(t, bulkPath(t, body), url.Values{"form": form["form"], "action": {"undo"}})
	checkContains(t, "undo", body, "Undone: 2 reviews.")
	for id, want := range map[string]string{"fbk_a": "none", "fbk_b": "approved", "fbk_c": "none"} {
		if got := w.storedReview(t, id); got["replyStatus"] != want {
			t.Errorf("%s is %v after the undo, want %s", id, got["replyStatus"], want)
		}
	}
	form.Del("review")
	_, body = w.submit(t, "/reviews/bulk", form)
	checkContains(t, "skip none", body, "No review was ticked")
	for range 501 {
		form.Add("review", "fbk_b x")
	}
	_, body = w.submit(t, "/reviews/bulk", form)
	checkContains(t, "skip too many", body, "nothing was changed")
	form.Del("action")
	_, body = w.submit(t, "/reviews/bulk", form)
	checkContains(t, "no action", body, "Choose what to do")
}

var bulkAction = regexp.MustCompile(`action="(/bulk/\d+)"`)

// bulkPath returns the address of the bulk action that a page shows.
func bulkPath(t *testing.T, body string) string {
	t.Helper()
	m := bulkAction.FindStringSubmatch(body)
	if m == nil {
		t.Fatal("no bulk action: ", visibleText(body))
	}
	return m[1]
}

// tickedForm returns the form of the inbox with every review ticked.
func (s *testStudio) tickedForm(t *testing.T, path, action string) url.Values {
	t.Helper()
	page := s.page(t, path)
	form := fields(t, page, "list")
	form["review"] = checkboxValues(page)
	form.Set("action", action)
	return form
}

// Ensure a user can approve several replies at once. A ticked review without a reply is not
// approved.
func TestApproveSeveral(t *testing.T) {
	t.Parallel()
	w := newTestStudio(t)
	w.addReview(t, "ready", demo.Record{"replyBody": "Thanks", "replyStatus": "needs_review"})
	w.addReview(t, "empty", nil)
	w.addReview(t, "bare", demo.Record{"replyBody": "Stored without a status", "replyStatus": "none"})
	w.addReview(t, "long", demo.Record{"replyBody": strings.Repeat("a", 351), "replyStatus": "needs_review"})
	w.addReview(t, "whole", demo.Record{"replyBody": strings.Repeat("b", 350), "replyStatus": "needs_review"})
	checkNotContains(t, "a reply that the list cuts", w.page(t, "/reviews", "Reply: Stored without a status", strings.Repeat("b", 350)), strings.Repeat("a", 351)) // people must see what they approve
	w.addReview(t, "left", demo.Record{"replyBody": "Not for anybody", "replyStatus": "skipped"})
	_, body := w.submit(t, "/reviews/bulk", w.tickedForm(t, "/reviews?show=all&q=left", "approve"))
	checkContains(t, "approve a skipped one", body, "Nothing was changed. 1 review could not be changed.", "it was skipped: put it back, and read its reply")
	_, body = w.submit(t, "/reviews/bulk", w.tickedForm(t, "/reviews", "approve"))
	checkContains(t, "approve", body, "Approved 3 reviews.", "2 reviews could not be changed", "Title empty", "it has no reply to approve", "Title long", "its reply is longer than the list shows")
	checkNotContains(t, "approve", body, "Try the failed ones again") // a retry would fail, too
	_, body = w.submit(t, "/reviews/bulk", w.tickedForm(t, "/reviews", "approve"))
	checkContains(t, "approve none", body, "Nothing was changed. 2 reviews could not be changed.")
	_, body = w.submit(t, "/reviews/bulk", w.tickedForm(t, "/reviews", "review"))
	checkContains(t, "nothing to approve", body, "Nothing was changed. 1 review was under To approve already. 1 review could not be changed.", "Title empty", "it has no reply yet, so there is nothing to approve")
	checkNotContains(t, "nothing to approve", body, "Try the failed ones again")
	w.addReview(t, "handed", demo.Record{"replyStatus": "needs_review"}) // stored by a program, without a reply
	checkNotContains(t, "list", w.page(t, "/reviews?show=needs_review&id=fbk_handed", "no reply"), ">to approve<")
	w.addReview(t, "draft", demo.Record{"replyBody": "Thanks", "replyStatus": "draft"})
	checkNotContains(t, "waiting", w.page(t, "/reviews"), `value="review"`)
	checkContains(t, "drafts", w.page(t, "/reviews?show=draft"), `value="review"`)
	_, body = w.submit(t, "/reviews/bulk", w.tickedForm(t, "/reviews?show=draft", "review"))
	checkContains(t, "to approve", body, "Moved to To approve: 1 review.", "Undo")
	for id, want := range map[string]string{"fbk_ready": "approved", "fbk_bare": "approved", "fbk_left": "skipped", "fbk_empty": "none", "fbk_draft": "needs_review"} {
		if got := w.storedReview(t, id); got["replyStatus"] != want {
			t.Errorf("%s is %v, want %s", id, got["replyStatus"], want)
		}
	}
	w.undo(t, body)
	if got := w.storedReview(t, "fbk_draft"); got["replyStatus"] != "draft" {
		t.Errorf("the review is %v after the undo, want draft", got["replyStatus"])
	}
}

// Ensure a user can undo the change to a single review in a bulk action. The undo of the whole
// action must then revert the remaining changes. Reviews that need no change must be counted
// separately.
func TestUndoOneOfSeveral(t *testing.T) {
	t.Parallel()
	w := newTestStudio(t)
	for _, id := range []string{"a", "b", "c"} {
		w.addReview(t, id, demo.Record{"replyBody": "Thanks, " + id, "replyStatus": "needs_review"})
	}
	w.page(t, "/reviews", "Reply: Thanks, a") // people see what they approve
	form := w.tickedForm(t, "/reviews", "review")
	_, body := w.submit(t, "/reviews/bulk", form)
	checkContains(t, "hand over", body, "Nothing was changed: 3 reviews were under To approve already.")
	if undoForm.MatchString(body) {
		t.Error("nothing can be undone, and Undo is offered")
	}
	w.addReview(t, "d", demo.Record{"replyBody": "Hello", "replyStatus": "draft"})
	_, body = w.submit(t, "/reviews/bulk", w.tickedForm(t, "/reviews?show=all", "review"))
	checkContains(t, "hand over one", body, "Moved to To approve: 1 review. 3 reviews were under To approve already.", "Undo")
	_, all := w.submit(t, "/reviews/bulk", w.tickedForm(t, "/reviews?q=Thanks", "approve"))
	checkContains(t, "approve", all, "Approved 3 reviews.", "Show each")
	path := regexp.MustCompile(`<a href="(/bulk/\d+)">Show each`).FindStringSubmatch(all)
	page := w.page(t, path[1], "Undo all 3", "Title b · Author b")
	m := regexp.MustCompile(`name="undo" value="(\d+)">Undo<span class="unseen"> Title b ·`).FindStringSubmatch(page)
	if m == nil {
		t.Fatal("no undo of one: ", visibleText(page))
	}
	_, body = w.submit(t, path[1], url.Values{"form": form["form"], "undo": {m[1]}})
	checkContains(t, "undo of one", body, "Undone: 1 review.", "Approved 2 reviews. 1 change was taken back.", "Title b · Author b taken back", "Undo all 2")
	expect := func(want string) {
		t.Helper()
		var got []string
		for _, id := range []string{"a", "b", "c"} {
			got = append(got, w.storedReview(t, "fbk_"+id)["replyStatus"].(string))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("statuses %q, want %q", got, want)
		}
	}
	expect("approved needs_review approved")
	w.page(t, "/changes", "Approved 2 reviews. 1 change was taken back.")
	checkContains(t, "undo of all", w.undo(t, all), "Undone: 2 reviews. 1 review was undone already.")
	expect("needs_review needs_review needs_review")
}

// Ensure a skipped review can be put back, either alone or together with others. Each tab must
// offer only actions that its reviews allow.
func TestPutBack(t *testing.T) {
	t.Parallel()
	w := newTestStudio(t)
	w.addReview(t, "plain", demo.Record{"replyStatus": "skipped"})
	w.addReview(t, "replied", demo.Record{"replyStatus": "skipped", "replyBody": "Thanks"})
	actions := func(tab string) string {
		var out []string
		for _, m := range regexp.MustCompile(`name="action" value="(\w+)" id="\w+ticked"`).FindAllStringSubmatch(w.page(t, "/reviews?show="+tab), -1) {
			out = append(out, m[1])
		}
		return strings.Join(out, " ")
	}
	for _, c := range []struct{ id, text, want string }{{"fbk_plain", "", "none"}, {"fbk_replied", "Thanks", "needs_review"}} {
		_, body := w.answer(t, c.id, c.text, "unskip", nil)
		checkContains(t, c.id, body, "Put back: it is under Waiting again.", "Show it")
		if got := w.storedReview(t, c.id)["replyStatus"]; got != c.want {
			t.Errorf("%s is %v, want %s", c.id, got, c.want)
		}
	}
	if got := actions("waiting"); got != "skip approve" {
		t.Errorf("actions of Waiting: %q", got)
	}
	if got := actions("needs_review"); got != "skip approve" {
		t.Errorf("actions of To approve: %q", got)
	}
	w.submit(t, "/reviews/bulk", w.tickedForm(t, "/reviews", "skip"))
	if got := actions("skipped"); got != "unskip" {
		t.Errorf("actions of Skipped: %q", got)
	}
	_, body := w.submit(t, "/reviews/bulk", w.tickedForm(t, "/reviews?show=skipped", "unskip"))
	checkContains(t, "put back", body, "Put back under Waiting: 2 reviews.")
	w.submit(t, "/reviews/bulk", w.tickedForm(t, "/reviews?show=needs_review", "approve"))
	if got := actions("approved"); got != "skip withdraw" {
		t.Errorf("actions of Approved: %q", got)
	}
	_, body = w.submit(t, "/reviews/bulk", w.tickedForm(t, "/reviews?show=approved", "withdraw"))
	checkContains(t, "withdraw", body, "Moved to Drafts: 1 review.")
	if got := w.storedReview(t, "fbk_replied")["replyStatus"]; got != "draft" {
		t.Errorf("the reply is %v, want draft", got)
	}
}

// Ensure the previous action can still be undone after an action is refused.
func TestUndoAfterRefusal(t *testing.T) {
	t.Parallel()
	w := newTestStudio(t)
	w.addReview(t, "a", demo.Record{"title": "Is it free?"})
	w.addReview(t, "b", demo.Record{"title": nil, "rating": nil, "kind": "mention", "authorName": "mira"})
	_, body := w.answer(t, "fbk_a", "", "skip", nil)
	checkContains(t, "skip", body, "Is it free? Skipped.", "Mention by mira")
	form := fields(t, body, "answer")
	form.Set("action", "approve")
	status, refused := w.submit(t, "/reviews/fbk_b", form)
	if status != http.StatusBadRequest {
		t.Errorf("status %d, want 400", status)
	}
	checkContains(t, "refused", refused, "There is no reply yet.", "Is it free? Skipped.")
	w.undo(t, refused)
	if got := w.storedReview(t, "fbk_a")["replyStatus"]; got != "none" {
		t.Errorf("the review is %v after the undo, want none", got)
	}
}

// Ensure a bulk action waits as long as the service's Retry-After header says, and then continues
// on its own. Its page lists the reviews that failed, and can retry them.
func TestBulkResumes(t *testing.T) {
	t.Parallel()
	w := newTestStudio(t)
	for _, id := range []string{"a", "b", "c"} {
		w.addReview(t, id, nil)
	}
	form := w.tickedForm(t, "/reviews", "skip")
	var mu sync.Mutex
	writes := 0
	w.transport.respondWith(func(r *http.Request) *http.Response {
		mu.Lock()
		defer mu.Unlock()
		if r.Method != http.MethodPatch {
			return nil
		}
		writes++
		switch {
		case writes == 2:
			response := refusal(http.StatusTooManyRequests, "too_many_requests", "wait")(r)
			response.Header.Set("Retry-After", "30")
			return response
		case strings.Contains(r.URL.Path, "fbk_c"):
			return refusal(http.StatusForbidden, "forbidden", "frozen for now")(r)
		}
		return nil
	})
	_, body := w.submit(t, "/reviews/bulk", form)
	checkContains(t, "failed", body, "Skipped 2 reviews.", "1 review could not be changed.", "frozen for now", "Try the failed ones again")
	if got := w.pauses.get(); len(got) != 1 || got[0] != 30*time.Second {
		t.Errorf("pauses %v, want one of 30 s", got)
	}
	w.transport.respondWith(nil)
	_, body = w.submit(t, bulkPath(t, body), url.Values{"form": form["form"], "action": {"resume"}})
	checkContains(t, "again", body, "Skipped 3 reviews.", "Undo")
	if got := w.storedReview(t, "fbk_c"); got["replyStatus"] != "skipped" {
		t.Errorf("fbk_c is %v, want skipped", got["replyStatus"])
	}
}

// Ensure a bulk action keeps running after the response, shows its progress, and can be stopped and
// resumed.
func TestBulkRunsOn(t *testing.T) {
	t.Parallel()
	s := demotest.NewService(t)
	w := startStudio(t, s, s.IssueKey(t), nil, func(o *studio.Options) { o.Limits.Bulk = time.Nanosecond })
	for _, id := range []string{"a", "b", "c"} {
		w.addReview(t, id, nil)
	}
	form := w.tickedForm(t, "/reviews", "skip")
	release := make(chan struct{})
	w.transport.respondWith(func(r *http.Request) *http.Response {
		if r.Method == http.MethodPatch {
			<-release
		}
		return nil
	})
	_, body := w.submit(t, "/reviews/bulk", form)
	checkContains(t, "progress", body, "0 of 3", "3 reviews were not tried yet", "It goes on if you leave this page")
	path := bulkPath(t, body)
	if r, err := w.browser.Get(w.base + path); err != nil || r.Header.Get("Refresh") == "" {
		t.Errorf("the progress is not renewed: %v", err)
	} else {
		read(t, r)
	}
	_, body = w.submit(t, path, url.Values{"form": form["form"], "action": {"stop"}})
	checkContains(t, "stop", body, "Stop")
	close(release)
	body = w.waitForPage(t, path, "Go on")
	checkContains(t, "stopped", body, "Stopped at 1 of 3", "Skipped 1 review.", "2 reviews were not tried yet.")
	w.submit(t, path, url.Values{"form": form["form"], "action": {"resume"}})
	w.waitForPage(t, path, "Skipped 3 reviews.")
	if status, _ := w.get(t, "/bulk/99"); status != http.StatusNotFound {
		t.Errorf("status %d, want 404", status)
	}
}

// Ensure the undo of each action on a reply restores both the text and the status, and puts the
// typed text back into the form. If somebody else has changed the reply since, the undo must change
// nothing.
func TestUndoReply(t *testing.T) {
	t.Parallel()
	w := newTestStudio(t)
	id := w.addReview(t, "one", demo.Record{"replyBody": "Before", "replyStatus": "draft"})
	for _, action := range []string{"save", "approve", "skip"} {
		_, body := w.answer(t, id, typedText, action, nil)
		checkContains(t, action, body, "Title one:", "Undo")
		checkContains(t, "undo "+action, w.undo(t, body), "Title one: Undone", `<h2 id="review" tabindex="-1">Title one`)
		if diff := recordDiff(map[string]any{"replyBody": "Before", "replyStatus": "draft"}, w.storedReview(t, id)); diff != "" {
			t.Errorf("review after the undo of %s (-want +got):\n%s", action, diff)
		}
	}
	_, body := w.answer(t, id, typedText, "approve", nil)
	undonePage := w.undo(t, body)
	checkContains(t, "typed text", undonePage, "Your text is in the box again, but it is not stored", " data-kept ", "in two lines</textarea>")
	form := fields(t, undonePage, "answer")
	if form.Get("was.body") != "Before" {
		t.Errorf("the form says that %q is stored, want Before", form.Get("was.body"))
	}
	checkNotContains(t, "other review", w.page(t, "/reviews?id="+w.addReview(t, "two", nil)), " data-kept ")
	w.answer(t, id, typedText, "approve", nil)
	page := w.page(t, "/changes")
	m := changeForm.FindStringSubmatch(page)
	_, undonePage = w.submit(t, m[1], fields(t, page, m[2]))
	checkContains(t, "undo on the page of the latest changes", undonePage, "Your text is in the box again", "in two lines</textarea>")
	_, body = w.answer(t, id, typedText, "approve", nil)
	w.Send(t, w.key, "PATCH", "/v1/companies/{companyId}/feedback/"+id+"/reply", `{"replyBody": "Theirs"}`)
	checkContains(t, "late", w.undo(t, body), "Not undone, because it has been changed since")
	if got := w.storedReview(t, id)["replyBody"]; got != "Theirs" {
		t.Errorf("the reply is %v, want Theirs", got)
	}
}

// Ensure the inbox lists the loaded reviews in the order that it states. If the API cannot apply a
// filter, the page says how many of the loaded reviews match.
func TestInboxFilters(t *testing.T) {
	t.Parallel()
	w := newTestStudio(t)
	w.addReview(t, "good", demo.Record{"priority": nil, "rating": 5, "postedAt": "2026-08-10T08:00:00Z", "territory": "DE", "appVersion": "4.2"})
	w.addReview(t, "bad", demo.Record{"priority": nil, "rating": 1, "postedAt": "2026-01-01T08:00:00Z", "territory": "US", "appVersion": "4.1", "flags": []string{"legal"}})
	w.addReview(t, "worse", demo.Record{"priority": nil, "rating": 1, "postedAt": "2026-08-01T08:00:00Z", "territory": "US", "appVersion": "4.2"})
	w.addReview(t, "first", demo.Record{"priority": 3, "rating": 5})
	w.addReview(t, "mention", demo.Record{"priority": nil, "rating": nil, "kind": "mention", "source": "reddit"})
	order := func(path string) string {
		var out []string
		for _, row := range strings.Split(w.page(t, path), `<li data-id="`)[1:] {
			id, _, _ := strings.Cut(row, `"`)
			out = append(out, strings.TrimPrefix(id, "fbk_"))
		}
		return strings.Join(out, " ")
	}
	for path, want := range map[string]string{
		"/reviews": "first worse bad good mention", "/reviews?stars=1": "worse bad", "/reviews?stars=4-5": "first good", "/reviews?stars=none": "mention",
		"/reviews?country=US": "worse bad", "/reviews?version=4.2": "worse good", "/reviews?flag=legal": "bad", "/reviews?since=30": "first worse good mention",
		"/reviews?stars=1&version=4.2&country=US": "worse", "/reviews?stars=nonsense&since=x": "first worse bad good mention",
	} {
		if got := order(path); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
	w.page(t, "/reviews", "5 waiting; by priority, then stars, then date", "<option>US</option>", "<option>4.2</option>")
	w.page(t, "/reviews?stars=1", "2 waiting; by priority", "All 2 shown")
	w.page(t, "/reviews?country=US", "2 of 5 loaded; by priority", "All 2 shown")
	w.page(t, "/reviews?stars=3", "No review matches the filters", "Clear filters")
	w.page(t, "/reviews?flag=unknown", "5 waiting; by priority")
	w.page(t, "/reviews?stars=1&country=DE", "matches the filters", "Clear filters")
	w.page(t, "/reviews?id=fbk_good", "0 of 350 characters that Google Play takes")
}

// Ensure a user can reach all reviews, at most 80 at a time, even if they do not fit on one page of
// the API.
func TestInboxPages(t *testing.T) {
	t.Parallel()
	apitest.SkipIfShort(t)
	w := newTestStudio(t)
	lines := make([]demo.Line, 450)
	for i := range lines {
		lines[i] = demo.Line{Type: "feedback", Record: demo.Record{
			"id": fmt.Sprintf("fbk_many%d", i), "source": "google_play", "kind": "review", "externalId": fmt.Sprint(i), "rating": 1 + i%5, "title": fmt.Sprint("Title ", i),
			"postedAt": "2026-07-01T08:00:00Z", "replyStatus": "none",
		}}
	}
	demotest.Load(t, w.Service, lines...)
	rows := func(body string) int { return strings.Count(body, `<li data-id="`) }
	body := w.page(t, "/reviews", "200+ waiting, 1 to 80 here", "of 200 loaded", "Load more", "Next →")
	if rows(body) != 80 {
		t.Errorf("%d rows, want 80", rows(body))
	}
	w.page(t, "/reviews?from=80", "81 to 160 here", "← Earlier", "Next →")
	w.page(t, "/reviews?pages=2", "400+ waiting", "of 400 loaded")
	body = w.page(t, "/reviews?stars=1", "90 waiting, 1 to 80 here", "All 80 shown")
	if rows(body) != 80 {
		t.Errorf("%d rows have one star, want 80", rows(body))
	}
	if last := w.page(t, "/reviews?stars=1&from=80", "81 to 90 here", "All 10 shown"); rows(last) != 10 {
		t.Errorf("%d rows on the last page, want 10", rows(last))
	}
	checkNotContains(t, "all loaded", body, "Load more")
}

// Ensure a filter of the API shows every review that matches, even if 1,000 others come first. A filter
// that the API lacks says which reviews were not searched, and then all shown ones cannot be ticked at
// once, because they are only a part of those that match.
func TestInboxFilterHidesNothing(t *testing.T) {
	t.Parallel()
	apitest.SkipIfShort(t)
	w := newTestStudio(t)
	lines := make([]demo.Line, 1200)
	for i := range lines {
		record := demo.Record{
			"id": fmt.Sprintf("fbk_many%d", i), "source": "google_play", "kind": "review", "externalId": fmt.Sprint(i), "rating": 5, "title": fmt.Sprint("Title ", i), "body": "Calm",
			"postedAt": "2026-07-01T08:00:00Z", "replyStatus": "none", "priority": 1,
		}
		if i >= 1123 {
			record["rating"], record["flags"], record["priority"] = 1, []string{"defect"}, 9
		}
		if i%100 == 50 {
			record["body"] = "Torn"
		}
		lines[i] = demo.Line{Type: "feedback", Record: record}
	}
	demotest.Load(t, w.Service, lines...)
	for _, path := range []string{"/reviews?stars=1", "/reviews?stars=1-3", "/reviews?flag=defect", "/reviews?flag=defect&stars=1&source=google_play&since=365"} {
		body := w.page(t, path, "77 waiting", "All 77 shown")
		if n := len(checkboxValues(body)); n != 77 {
			t.Errorf("%s: %d reviews, want 77", path, n)
		}
	}
	body := w.page(t, "/reviews?q=torn", "of 1000 loaded; the others are not searched, so more may match", "All shown cannot be ticked at once")
	checkNotContains(t, "a part", body, `id="tickall"`)
	w.page(t, "/reviews?q=torn&stars=1", "1 of 77 loaded", "All 1 shown")
	body = w.page(t, "/reviews?country=DE", "None of the 1000 loaded reviews matches the filters; the others are not searched")
	checkNotContains(t, "none of a part", body, `id="tickall"`)
	_, after := w.submit(t, "/reviews/bulk", w.tickedForm(t, "/reviews?stars=1", "skip"))
	checkContains(t, "skip all shown", after, "Skipped 77 reviews.")
}

// Ensure the list of replies to approve stays within the size limit of a page, even if the replies
// are in Japanese. A page that cannot list all of them links to the next page, so that a user
// reaches every review.
func TestInboxBytes(t *testing.T) {
	t.Parallel()
	w := newTestStudio(t)
	lines := make([]demo.Line, 80)
	for i := range lines {
		lines[i] = demo.Line{Type: "feedback", Record: demo.Record{
			"id": fmt.Sprintf("fbk_ja%d", i), "source": "google_play", "kind": "review", "externalId": fmt.Sprint(i), "rating": 1, "title": strings.Repeat("題", 70), "body": strings.Repeat("本", 90),
			"authorName": strings.Repeat("名", 40), "postedAt": "2026-07-01T08:00:00Z", "replyStatus": "needs_review", "replyBody": strings.Repeat("返", 350),
		}}
	}
	demotest.Load(t, w.Service, lines...)
	seen := 0
	for path := "/reviews?show=needs_review"; path != ""; {
		body := w.page(t, path)
		if len(body) > bytesMax {
			t.Errorf("%s: %d bytes, at most %d", path, len(body), bytesMax)
		}
		n := strings.Count(body, `<li data-id="`)
		if seen += n; n == 0 || seen > len(lines) {
			t.Fatalf("%s: %d rows, %d in all", path, n, seen)
		}
		list, _, _ := strings.Cut(body, `<div class="right">`)
		before, _, more := strings.Cut(list, `">Next →</a>`)
		if path = ""; more {
			path = html.UnescapeString(before[strings.LastIndex(before, `"`)+1:])
		}
	}
	if seen != len(lines) {
		t.Errorf("the pages list %d reviews, want %d", seen, len(lines))
	}
}

// Ensure the browser loads the badge after the page. The studio reuses the count for 30 seconds,
// and counts again after a write.
func TestBadge(t *testing.T) {
	t.Parallel()
	w := newTestStudio(t)
	id := w.addReview(t, "one", nil)
	const pending = `data-badge="/badge"`
	w.Clock.Advance(31 * time.Second) // the count from the first page is now too old
	checkContains(t, "first page", w.page(t, "/company"), pending)
	wantBadge := func(want string) {
		t.Helper()
		if status, got := w.get(t, "/badge"); status != http.StatusOK || got != want {
			t.Errorf("badge %d %q, want %q", status, got, want)
		}
	}
	wantBadge("1")
	w.addReview(t, "two", nil) // not stored by the studio, so the badge counts it only after 30 seconds
	wantBadge("1")
	checkNotContains(t, "kept", w.page(t, "/company", "Reviews 1 waiting"), pending)
	w.Clock.Advance(31 * time.Second)
	checkContains(t, "old", w.page(t, "/company"), pending)
	wantBadge("2")
	_, _ = w.answer(t, id, "", "skip", nil)
	wantBadge("1")
	w.page(t, "/reviews", "Reviews 1 waiting")
}

// Ensure the inbox lists the waiting reviews in the order of the API. Its filters narrow the list,
// and it finds new reviews.
func TestInbox(t *testing.T) {
	t.Parallel()
	w := newTestStudio(t)
	w.addReview(t, "low", demo.Record{"priority": 9, "replyStatus": "needs_review"})
	w.addReview(t, "old", demo.Record{"priority": 1, "postedAt": "2026-07-01T08:00:00Z"})
	w.addReview(t, "new", demo.Record{"priority": 1, "replyStatus": "draft", "sentiment": "negative"})
	w.addReview(t, "unset", demo.Record{"priority": nil, "replyStatus": "failed", "source": "app_store"})
	w.addReview(t, "done", demo.Record{"replyStatus": "posted"})
	order := func(path string) (out []string) {
		for _, row := range strings.Split(w.page(t, path), `<li data-id="`)[1:] {
			id, _, _ := strings.Cut(row, `"`)
			out = append(out, strings.TrimPrefix(id, "fbk_"))
		}
		return out
	}
	for path, want := range map[string]string{
		"/reviews": "old low", "/reviews?show=draft": "new", "/reviews?show=failed": "unset", "/reviews?show=needs_review": "low", "/reviews?show=posted": "done", "/reviews?show=all": "new done old low unset",
		"/reviews?show=all&source=app_store": "unset", "/reviews?show=all&sentiment=negative": "new", "/reviews?q=TITLE+low": "low", "/reviews?show=nonsense": "old low",
	} {
		if got := order(path); !sameWords(got, want) {
			t.Errorf("%s: %v, want %s", path, got, want)
		}
	}
	if _, body := w.get(t, "/reviews/new"); strings.Count(body, "fbk_") != 2 {
		t.Errorf("%d reviews are new, want 2: %s", strings.Count(body, "fbk_"), body)
	}
	w.addReview(t, "newest", nil)
	if _, body := w.get(t, "/reviews/new"); strings.Count(body, "fbk_") != 3 || !strings.Contains(body, "fbk_newest") {
		t.Errorf("%d reviews are new, want 3 with fbk_newest: %s", strings.Count(body, "fbk_"), body)
	}
}

// sameWords reports whether got has the ids in want, in the same order. It ignores the order if
// want starts with "new done", because reviews with the same priority and time may be in any order.
func sameWords(got []string, want string) bool {
	if len(got) != len(strings.Fields(want)) {
		return false
	}
	for _, word := range strings.Fields(want) {
		found := false
		for _, g := range got {
			found = found || g == word
		}
		if !found {
			return false
		}
	}
	return strings.Join(got, " ") == want || strings.HasPrefix(want, "new done")
}

// Ensure the badge, the overview and the inbox agree on the number of waiting reviews. The overview
// and the inbox list these reviews in the same order.
func TestOneCount(t *testing.T) {
	t.Parallel()
	w := newTestStudio(t)
	for i, status := range []string{"none", "needs_review", "draft", "failed", "approved", "skipped", "posted"} {
		w.addReview(t, strings.ReplaceAll(status, "_", ""), demo.Record{"replyStatus": status, "priority": 9 - i, "body": "The words of " + status})
	}
	list := w.page(t, "/reviews", "2 waiting", "Reviews 2 waiting", "The words of none", "Aug 1, 2026 · Author none")
	overview := w.page(t, "/", "Waiting for an answer 2", "Reviews 2 waiting")
	_, overview, _ = strings.Cut(overview, `aria-labelledby="waiting"`)
	for name, body := range map[string]string{"list": list, "overview": overview} {
		if first, second := strings.Index(body, "id=fbk_needsreview"), strings.Index(body, "id=fbk_none"); first < 0 || second < first {
			t.Errorf("%s: the order is another: %d %d", name, first, second)
		}
		checkNotContains(t, name, body, "fbk_draft", "fbk_failed")
	}
}

// Ensure a user can withdraw the approval of a reply on its page, and can approve a different text.
func TestTakeBackApproval(t *testing.T) {
	t.Parallel()
	w := newTestStudio(t)
	id := w.addReview(t, "one", demo.Record{"replyBody": "Thanks", "replyStatus": "approved"})
	w.page(t, "/reviews?id="+id, "Back to draft", "Save for review", "the program that posts your replies sends it", `value="approve" id="reapprove">Approve this text`)
	_, body := w.answer(t, id, "Thank you", "approve", nil)
	checkContains(t, "another text", body, "Approved.")
	if diff := recordDiff(map[string]any{"replyStatus": "approved", "replyBody": "Thank you"}, w.storedReview(t, id)); diff != "" {
		t.Errorf("review (-want +got):\n%s", diff)
	}
	status, body := w.answer(t, id, "Thanks", "withdraw", nil)
	if status != http.StatusOK {
		t.Errorf("status %d, want 200: %s", status, visibleText(body))
	}
	if diff := recordDiff(map[string]any{"replyStatus": "draft", "replyBody": "Thanks"}, w.storedReview(t, id)); diff != "" {
		t.Errorf("review (-want +got):\n%s", diff)
	}
	checkContains(t, "draft", w.page(t, "/reviews?id="+id), "Approve a")
}

// Ensure the overview first lists what has stopped working, with links, and then the waiting
// reviews. A post that is due but was not sent must be marked as overdue, and upcoming posts must
// still be listed.
func TestAttention(t *testing.T) {
	t.Parallel()
	w := newDemoStudio(t)
	body := w.page(t, "/", "2 posts overdue")
	if trouble := strings.Index(body, `aria-labelledby="trouble"`); trouble < 0 || trouble > strings.Index(body, `aria-labelledby="waiting"`) {
		t.Error("what needs attention stands last")
	}
	_, rows, _ := strings.Cut(body, `aria-labelledby="trouble"`)
	rows, _, _ = strings.Cut(rows, "</section>")
	paths := links.FindAllStringSubmatch(rows, -1)
	if len(paths) == 0 || len(paths) != strings.Count(rows, "<li>") {
		t.Fatal("rows without a link: ", visibleText(rows))
	}
	for _, path := range paths {
		w.page(t, path[1])
	}
	w.page(t, "/posts/list?status=overdue", "Late words")
	w.page(t, "/posts/pst_late", "scheduled</span> <span class=\"badge red\">overdue")
	checkContains(t, "list", rowOf(t, w.page(t, "/posts/list"), "pst_late"), "overdue")
	checkContains(t, "calendar", rowOf(t, w.page(t, "/posts"), "pst_late"), "overdue")
	checkNotContains(t, "in time", w.page(t, "/posts?month=2026-09"), "overdue")
}

// rowOf returns the row that contains the link to a post.
func rowOf(t *testing.T, body, id string) string {
	t.Helper()
	_, row, found := strings.Cut(body, `href="/posts/`+id+`"`)
	if !found {
		t.Fatalf("no %s: %s", id, visibleText(body))
	}
	row, _, _ = strings.Cut(row, "</li>")
	return row
}

var links = regexp.MustCompile(`<a href="([^"]*)"`)

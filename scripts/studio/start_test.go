package studio_test

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"growthworkspace/scripts/workspace/demo"
	"growthworkspace/scripts/workspace/demo/demotest"
	"growthworkspace/shared/auth"
)

// fillAndSubmit opens a form, sets the given fields as a browser would, and sends it.
func (s *testStudio) fillAndSubmit(t *testing.T, path, id, action string, set map[string]string) (body string) {
	t.Helper()
	form := fields(t, s.page(t, path), id)
	for name := range form {
		if field, ok := strings.CutPrefix(name, "was."); ok {
			form.Set(field, form.Get(name))
		}
	}
	for name, value := range set {
		form.Set(name, value)
	}
	status, body := s.submitRead(t, action, id, form)
	if status != http.StatusOK {
		t.Fatalf("%s: status %d, want 200: %s", action, status, visibleText(body))
	}
	return body
}

// submitRead sends a form and, if the response shows how the values were understood, sends it again.
func (s *testStudio) submitRead(t *testing.T, action, id string, form url.Values) (status int, body string) {
	t.Helper()
	status, body = s.submit(t, action, form)
	if strings.Contains(body, `name="understood"`) {
		form.Set("understood", fields(t, body, id).Get("understood"))
		status, body = s.submit(t, action, form)
	}
	return status, body
}

// count returns the number of calls, including those whose responses a test replaced.
func (t *serviceTransport) count() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.calls
}

// stepsLeft returns the addresses of the steps that the overview shows as not done.
func stepsLeft(body string) (out []string) {
	_, rest, _ := strings.Cut(body, `<ol class="rows steps">`)
	rest, _, _ = strings.Cut(rest, "</ol>")
	for _, m := range regexp.MustCompile(`<strong><a href="([^"]*)"`).FindAllStringSubmatch(rest, -1) {
		out = append(out, m[1])
	}
	return out
}

// Ensure a user can get from an empty company to a published item, an answered review and a chart
// by using only forms. The list of first steps ticks each step when its records are stored, and
// disappears after the last step.
func TestFirstSteps(t *testing.T) {
	t.Parallel()
	w := newTestStudio(t)
	remaining := 9
	checkStepsAfter := func(step string) {
		t.Helper()
		body := w.page(t, "/")
		if got := stepsLeft(body); len(got) != remaining || len(got) > 0 && !strings.Contains(visibleText(body), fmt.Sprintf("%d of 9 done", 9-remaining)) {
			t.Errorf("after %s: %d steps are left, want %d: %v", step, len(got), remaining, got)
		}
	}
	calls := w.transport.count()
	checkStepsAfter("nothing")
	if n := w.transport.count() - calls; n > callsMax {
		t.Errorf("the overview of an empty company makes %d calls, want at most %d", n, callsMax)
	}
	w.fillAndSubmit(t, "/company", "profile", "/company", map[string]string{"timezone": "Europe/Berlin"})
	remaining--
	checkStepsAfter("the time zone")
	w.fillAndSubmit(t, "/brand", "profile", "/brand", map[string]string{"voiceTone": "calm"})
	remaining--
	checkStepsAfter("the voice")

	body := w.fillAndSubmit(t, "/start/board", "profile", "/start/board", map[string]string{"name": "Roadmap", "now": "Offline mode\r\nExport", "done": "Search"})
	checkContains(t, "the board", body, "Created with 3 items", "Publishing would add 3 items", "Offline mode", "First steps")
	remaining--
	checkStepsAfter("the board")
	board := w.Send(t, w.key, "GET", "/v1/companies/{companyId}/plan/boards", "").Items(t)[0]["id"].(string)
	_, rest, _ := strings.Cut(body, `action="/roadmap/publish/`)
	publish := url.Values{}
	for _, m := range hiddenInput.FindAllStringSubmatch(rest[:strings.Index(rest, "</form>")], -1) {
		publish.Set(m[1], strings.ReplaceAll(m[2], "&#34;", `"`))
	}
	_, body = w.submit(t, "/roadmap/publish/"+board, publish)
	checkContains(t, "published", body, "Published version 1: visitors see 3 items")
	remaining--
	checkStepsAfter("publishing")

	pasted := map[string]string{"reviews": "stars\ttext\tauthor\tdate\r\n2\tIt is slow\tAda\t2026-08-01\r\n5\tLovely\tBen\t2026-08-02\r\n9\tBroken\tCy\t", "source": "app_store", "do": "preview"}
	body = w.fillAndSubmit(t, "/reviews/paste", "paste", "/reviews/paste", pasted)
	checkContains(t, "the preview", body, "2 reviews found", "Nothing is stored yet", "It is slow", "Ada · App Store · Aug 1, 2026", `Row 4 has the rating "9"`)
	if n := len(w.Send(t, w.key, "GET", "/v1/companies/{companyId}/feedback", "").Items(t)); n != 0 {
		t.Errorf("the preview stored %d reviews", n)
	}
	store := fields(t, body, "paste")
	for name, value := range pasted {
		store.Set(name, value)
	}
	store.Set("do", "store")
	for range 2 { // a form that is sent twice
		_, body = w.submit(t, "/reviews/paste", store)
		checkContains(t, "stored", body, "Stored 2 reviews; 1 row was left out.", "It is slow")
	}
	reviews := w.Send(t, w.key, "GET", "/v1/companies/{companyId}/feedback", "").Items(t)
	if len(reviews) != 2 {
		t.Fatalf("%d reviews are stored, want 2", len(reviews))
	}
	remaining--
	checkStepsAfter("the reviews")
	id := reviews[0]["id"].(string)
	reply := fields(t, w.page(t, "/reviews?id="+id), "answer")
	reply.Set("body", "We are on it.")
	reply.Set("action", "approve")
	w.submit(t, "/reviews/"+id, reply)
	if got := w.storedReview(t, id)["replyStatus"]; got != "approved" {
		t.Errorf("the reply is %v, want approved", got)
	}

	body = w.fillAndSubmit(t, "/start/number", "profile", "/start/number", map[string]string{"name": "Sign-ups", "unit": "count", "aggregation": "sum", "values": "2026-08-08 120\r\n2026-08-09\t125\r\n2026-08-10 131"})
	checkContains(t, "the number", body, "Created with 3 values", "<svg", "131")
	remaining--
	checkStepsAfter("the number")

	w.Send(t, w.key, "POST", "/v1/companies/{companyId}/broadcast/posts", `{"platform": "x", "body": "Hello"}`)
	remaining--
	checkContains(t, "the first tile", w.page(t, "/"), `class="card tile"`) // the tile appears even while the page is still looking for the first post
	checkStepsAfter("the post")
	for _, preset := range []string{"ci", "drafting-agent"} {
		form := fields(t, w.page(t, "/keys?preset="+preset, `value="`+preset+`" checked`), "newkey")
		form.Set("name", preset)
		form.Set("preset", preset)
		_, body = w.submit(t, "/keys", form)
		secretOf(t, body)
		remaining--
		checkStepsAfter("the key " + preset)
	}
	checkNotContains(t, "the overview", w.page(t, "/"), "First steps", "Hide")
}

// Ensure the overview of a company that is in use shows no first steps and makes no calls for them.
// A user can hide the list and show it again. The list contains only the steps that the key's
// scopes allow.
func TestFirstStepsHidden(t *testing.T) {
	t.Parallel()
	checkNotContains(t, "a company in use", newDemoStudio(t).page(t, "/"), "First steps")
	w := newTestStudio(t)
	body := w.page(t, "/", "First steps")
	_, body = w.submit(t, "/start/hide", fields(t, body, "hidestart"))
	checkContains(t, "hidden", body, "The first steps are hidden in this browser.")
	checkNotContains(t, "hidden", body, `class="rows steps"`)
	if len(stepsLeft(w.page(t, "/"))) != 0 {
		t.Error("the list is shown again")
	}
	_, undo, _ := strings.Cut(body, `action="/undo/`)
	undo, _, _ = strings.Cut(undo, `"`)
	w.submit(t, "/undo/"+undo, url.Values{"form": fields(t, w.page(t, "/company"), "profile")["form"]})
	if len(stepsLeft(w.page(t, "/"))) == 0 {
		t.Error("the list is not shown again")
	}
	few := newTestStudio(t, auth.CompanyRead, auth.MetricsRead, auth.MetricsWrite, auth.FeedbackRead)
	if got := stepsLeft(few.page(t, "/")); len(got) != 1 || got[0] != "/start/number" {
		t.Errorf("steps %v, want only the number", got)
	}
	demotest.Load(t, few.Service, demo.Line{Type: "metric-definition", Record: demo.Record{"id": "mdf_a", "key": "a.b", "name": "A"}})
	checkNotContains(t, "done", few.page(t, "/"), "First steps")
}

// Ensure many reviews are stored in several pushes, and the page stays small even with the longest
// accepted text. If the service fails between two pushes, the page must say how many reviews are
// stored, and keep the text. Sending the text again must store each review only once.
func TestPasteManyReviews(t *testing.T) {
	t.Parallel()
	w := newTestStudio(t)
	var text strings.Builder
	text.WriteString("text,author\r\n")
	for i := range 150 {
		fmt.Fprintf(&text, "\"It said \"\"%d\"\", %s\",<b>&\r\n", i, strings.Repeat("word&", 54))
	}
	form := fields(t, w.page(t, "/reviews/paste"), "paste")
	form.Set("reviews", text.String())
	form.Set("do", "preview")
	_, body := w.submit(t, "/reviews/paste", form)
	checkContains(t, "the preview", body, "150 reviews found", "and 135 more")
	if len(body) > bytesMax {
		t.Errorf("%d bytes for a text of %d, want at most %d", len(body), text.Len(), bytesMax)
	}
	form["once"] = fields(t, body, "paste")["once"]
	form.Set("do", "store")
	pushes := 0
	w.transport.respondWith(func(r *http.Request) *http.Response {
		if r.Method != http.MethodPost {
			return nil
		}
		if pushes++; pushes == 1 {
			return nil
		}
		return refusal(http.StatusForbidden, "forbidden", "the company is suspended")(r)
	})
	status, body := w.submit(t, "/reviews/paste", form)
	checkContains(t, "a failure", body, "the company is suspended", "100 reviews were stored before this failed.", `It said ""149""`)
	if status != http.StatusBadGateway {
		t.Errorf("status %d, want 502", status)
	}
	w.transport.respondWith(nil)
	form["once"] = fields(t, body, "paste")["once"]
	_, body = w.submit(t, "/reviews/paste", form)
	checkContains(t, "again", body, "Stored 150 reviews, 100 of which were stored before.")
}

// Ensure the forms of the first steps keep what was typed, and show next to each field what is
// wrong with it.
func TestFirstStepsRefused(t *testing.T) {
	t.Parallel()
	w := newTestStudio(t)
	wantRefused := func(path, id string, set map[string]string, texts ...string) {
		t.Helper()
		form := fields(t, w.page(t, path), id)
		for name, value := range set {
			form.Set(name, value)
			texts = append(texts, value)
		}
		status, body := w.submitRead(t, path, id, form)
		if status != http.StatusBadRequest {
			t.Errorf("%s: status %d, want 400", path, status)
		}
		checkContains(t, path, body, texts...)
	}
	wantRefused("/start/board", "profile", map[string]string{"name": strings.Repeat("n", 201), "now": "Typed item"}, "at most 200 characters")
	wantRefused("/start/board", "profile", map[string]string{"name": "Board", "later": strings.Repeat("i", 201)}, "has a line with more than 200 characters")
	wantRefused("/start/board", "profile", map[string]string{"name": "Board", "now": "item" + strings.Repeat("\nitem", 20)}, "creates at most 20")
	wantRefused("/start/number", "profile", map[string]string{"name": "数", "unit": "currency_minor", "aggregation": "sum", "values": "many"}, "the letters a to z", "needed for money", "line 1 must be a day and a number")
	w.fillAndSubmit(t, "/start/number", "profile", "/start/number", map[string]string{"name": "Sales", "unit": "currency_minor", "aggregation": "sum", "currency": "eur", "values": "12.50"})
	wantRefused("/start/number", "profile", map[string]string{"name": "Sales", "unit": "count", "aggregation": "sum", "values": "1"}, "the name of a metric that exists already")
	wantRefused("/reviews/paste", "paste", map[string]string{"reviews": "Great app", "do": "preview"}, "must name the columns")
	form := fields(t, w.page(t, "/reviews/paste"), "paste")
	form.Set("reviews", "text\n"+strings.Repeat("word ", 10_000))
	status, body := w.submit(t, "/reviews/paste", form)
	checkContains(t, "too much", body, "more than 48 KB")
	if status != http.StatusBadRequest || len(body) > bytesMax {
		t.Errorf("status %d with %d bytes, want 400 with at most %d", status, len(body), bytesMax)
	}
	if n := len(w.Send(t, w.key, "GET", "/v1/companies/{companyId}/plan/boards", "").Items(t)); n != 0 {
		t.Errorf("%d boards, want none", n)
	}
}

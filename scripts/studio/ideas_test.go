package studio_test

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"growthworkspace/scripts/workspace/demo"
	"growthworkspace/scripts/workspace/demo/demotest"
)

// decision returns the form that accepts or rejects an idea.
func decision(t *testing.T, body, id, do string) url.Values {
	t.Helper()
	_, part, found := strings.Cut(body, `action="/ideas/`+id+`"`)
	if !found {
		t.Fatal("no idea ", id, ": ", visibleText(body))
	}
	part, _, _ = strings.Cut(part, "</form>")
	out := url.Values{"do": {do}}
	for _, m := range regexp.MustCompile(`name="(form|seen|status|plan)" value="([^"]*)"`).FindAllStringSubmatch(part, -1) {
		out.Set(m[1], m[2])
	}
	return out
}

// Ensure an idea can be accepted and rejected, unless it has changed since the page was loaded. A
// post that is written from an idea refers to the idea.
func TestIdeas(t *testing.T) {
	t.Parallel()
	w := newTestStudio(t)
	w.page(t, "/ideas", "No ideas", "/ideas/edit/new", "/ideas/plans/new", "No plans yet")
	plan := w.create(t, "/broadcast/plans", `{"name":"Wet <season>","brief":"Rain","status":"active"}`)["id"].(string)
	idea := func(body string) string { return w.create(t, "/broadcast/ideas", body)["id"].(string) }
	one := idea(`{"title":"One","summary":"All about gloves","planId":"` + plan + `","platforms":["reddit"],"suggestedFor":"2026-08-20T09:00:00Z"}`)
	two := idea(`{"title":"Two"}`)
	state := func(id string) any {
		return w.Send(t, w.key, "GET", "/v1/companies/{companyId}/broadcast/ideas/"+id, "").JSON(t)["status"]
	}
	body := w.page(t, "/ideas", "Wet <season>", "One", "Two", "All about gloves", "Thu, Aug 20, 2026, 09:00")
	checkNotContains(t, "of a plan", w.page(t, "/ideas?plan="+plan, "One"), "Two")
	stale := decision(t, body, two, "accept")
	_, body = w.submit(t, "/ideas/"+two, decision(t, body, two, "reject"))
	checkContains(t, "rejected", body, "Rejected.")
	if got := state(two); got != "rejected" {
		t.Errorf("the idea is %s, want rejected", got)
	}
	w.Clock.Advance(1e9)
	w.Send(t, w.key, "PATCH", "/v1/companies/{companyId}/broadcast/ideas/"+two, `{"title":"Two, better"}`)
	_, body = w.submit(t, "/ideas/"+two, stale)
	checkContains(t, "stale", body, "Somebody changed the idea after you looked, so nothing was decided.")
	if got := state(two); got != "rejected" {
		t.Errorf("after a late decision the idea is %s, want rejected", got)
	}
	w.page(t, "/ideas?status=rejected", "Two, better")
	_, body = w.submit(t, "/ideas/"+one, decision(t, w.page(t, "/ideas"), one, "write"))
	checkContains(t, "its post", body, "Accepted.", "From the idea", `value="2026-08-20T09:00"`, `value="One"`, ">All about gloves</textarea>", `<option value="reddit" selected>`)
	w.page(t, "/posts/new?platform=x&idea="+one, ">One\n\nAll about gloves</textarea>") // a post on X has no title
	if got := state(one); got != "accepted" {
		t.Errorf("the idea is %s, want accepted", got)
	}
	form := fields(t, body, "profile")
	for name, text := range map[string]string{"platform": "reddit", "body": "All about gloves", "scheduledFor": "2026-08-20T09:00", "do": "save"} {
		form.Set(name, text)
	}
	w.submit(t, "/posts", form)
	posts := w.Send(t, w.key, "GET", "/v1/companies/{companyId}/broadcast/posts?ideaId="+one, "").Items(t)
	if len(posts) != 1 {
		t.Fatalf("%d posts of the idea, want 1: %v", len(posts), posts)
	}
	if diff := recordDiff(map[string]any{"body": "All about gloves", "platform": "reddit", "status": "draft"}, posts[0]); diff != "" {
		t.Errorf("the idea's post (-want +got):\n%s", diff)
	}
	w.page(t, "/ideas?status=accepted", "One", "/posts/new?idea="+one)
	if status, body := w.get(t, "/posts/new?idea=ida_none"); status != http.StatusOK || !strings.Contains(body, "The idea could not be read: ") {
		t.Errorf("status %d, want 200 and that the idea could not be read: %s", status, visibleText(body))
	}
}

// Ensure plans and ideas can be created, edited and deleted, and each change can be undone. If a
// platform does not exist, the page must say so and keep the typed values.
func TestPlansAndIdeasAreEdited(t *testing.T) {
	t.Parallel()
	w := newTestStudio(t)
	form := w.editForm(t, "/ideas/plans/new")
	for name, value := range map[string]string{"name": "Wet <season>", "platforms": "X\nfacebok", "status": "active", "startsAt": "2026-08-01", "endsAt": "2026-09-15"} {
		form.Set(name, value)
	}
	status, body := w.submit(t, "/ideas/plans", form)
	checkContains(t, "a wrong platform", body, "facebok is not a platform.", "Wet <season>")
	if status != http.StatusBadRequest {
		t.Errorf("status %d, want 400", status)
	}
	form.Set("platforms", "X\nTikTok")
	_, body = w.submit(t, "/ideas/plans", form)
	checkContains(t, "a plan", body, "Wet <season>", "Saved.", "Aug 1, 2026 to Sep 15, 2026", "active")
	plan := w.Send(t, w.key, "GET", "/v1/companies/{companyId}/broadcast/plans", "").Items(t)[0]
	if diff := recordDiff(map[string]any{"platforms": []any{"x", "tiktok"}, "status": "active", "startsAt": "2026-08-01T00:00:00.000Z"}, plan); diff != "" {
		t.Errorf("the plan (-want +got):\n%s", diff)
	}
	id := plan["id"].(string)
	form = w.editForm(t, "/ideas/plans/"+id)
	form.Set("cadence", "twice a week")
	_, body = w.submit(t, "/ideas/plans/"+id, form)
	checkContains(t, "edited", body, "twice a week", "Undo")
	checkNotContains(t, "undone", w.undo(t, body), "twice a week")

	form = w.editForm(t, "/ideas/edit/new?plan="+id)
	form.Set("title", "Gloves")
	form.Set("planId", id)
	form.Set("suggestedFor", "2026-08-20")
	_, body = w.submit(t, "/ideas/edit", form)
	checkContains(t, "an idea", body, "Gloves", "Saved.", "Wet <season>", "for ")
	idea := w.Send(t, w.key, "GET", "/v1/companies/{companyId}/broadcast/ideas", "").Items(t)[0]
	if diff := recordDiff(map[string]any{"planId": id, "status": "suggested", "suggestedFor": "2026-08-20T09:00:00.000Z"}, idea); diff != "" {
		t.Errorf("the idea (-want +got):\n%s", diff)
	}
	path := "/ideas/edit/" + idea["id"].(string)
	form = w.editForm(t, path)
	_, body = w.submit(t, path+"/delete", url.Values{"form": form["form"], "etag": form["etag"], "record": {"Gloves"}})
	checkContains(t, "deleted", body, "Deleted.", "No ideas")
}

// Ensure accepted ideas without a post become drafts on free days of a month. One undo must delete
// all of these drafts. An idea that has a post must not be offered again.
func TestFillTheMonth(t *testing.T) {
	t.Parallel()
	w := newTestStudio(t)
	w.page(t, "/posts/fill", "Fill August 2026", "There are no accepted ideas yet")
	ids := []string{}
	for _, body := range []string{
		`{"title":"Gloves","summary":"All about gloves","platforms":["reddit"],"suggestedFor":"2026-08-20T09:00:00Z","status":"accepted"}`,
		`{"title":"Boots","status":"accepted"}`, `{"title":"Not yet"}`,
	} {
		ids = append(ids, w.create(t, "/broadcast/ideas", body)["id"].(string))
	}
	w.createPost(t, `{"platform":"x","body":"Taken","scheduledFor":"2026-08-13T09:00:00Z"}`)
	body := w.page(t, "/posts/fill?month=2026-08", "Gloves", "Boots", `name="day.`+ids[0]+`" value="2026-08-20"`, `name="day.`+ids[1]+`" value="2026-08-12"`)
	checkNotContains(t, "suggested", body, "Not yet")
	checkContains(t, "why", body, "Not listed: 1 suggested idea that nobody has accepted yet", "No Reddit account is connected", ">Reddit (no account)</option>", `<a href="/posts/fill?month=2026-08" aria-current="true">Aug 2026</a>`, `<a href="/posts/fill?month=2026-11">Nov 2026</a>`)
	demotest.Load(t, w.Service,
		demo.Line{Type: "channel", Record: demo.Record{"id": "chn_r", "platform": "reddit", "handle": "r", "status": "error", "lastError": "The token was refused."}},
		demo.Line{Type: "channel", Record: demo.Record{"id": "chn_x", "platform": "x", "handle": "x", "status": "connected"}})
	body = w.page(t, "/posts/fill?month=2026-08", ">Reddit (broken)</option>", `<option value="x" selected>X</option>`)
	checkNotContains(t, "a broken account", body, "The Reddit account is not working", `<option value="reddit" selected>`)
	w.page(t, "/posts/new?idea="+ids[0], `<option value="x" selected>`)
	w.page(t, "/posts/new?platform=reddit&idea="+ids[0], "The Reddit account is not working:</strong> error: The token was refused")
	checkNotContains(t, "an account that works", body, "X account", ">X (")
	demotest.Load(t, w.Service, demo.Line{Type: "channel", Record: demo.Record{"id": "chn_i", "platform": "instagram", "handle": "i", "status": "expiring", "credentialsExpireAt": "2026-08-20T09:00:00Z"}})
	checkNotContains(t, "an account that expires", w.page(t, "/posts/new?platform=instagram", "The Instagram account works until Thu, Aug 20, 2026, 09:00. Posts are still being sent"), "is not working")
	w.page(t, "/posts/accounts", "broken", "Reddit r", "error: The token was refused.", "works", "X x", "workspace import --company "+w.CompanyID+" -", "/keys?preset=sender#newkey")
	form := fields(t, body, "fill")
	_, none := w.submit(t, "/posts/fill", form)
	checkContains(t, "nothing ticked", none, "Nothing was created: tick an idea.")
	form["idea"] = ids[:2]
	form.Set("day."+ids[0], "2026-08-20")
	form.Set("platform."+ids[0], "reddit")
	form.Set("day."+ids[1], "2026-08-14")
	form.Set("platform."+ids[1], "x")
	_, body = w.submit(t, "/posts/fill", form)
	checkContains(t, "filled", body, "Created 2 drafts.", "Gloves", "Boots")
	posts := w.Send(t, w.key, "GET", "/v1/companies/{companyId}/broadcast/posts?status=draft&ideaId="+ids[0], "").Items(t)
	if len(posts) != 1 || recordDiff(map[string]any{"platform": "reddit", "title": "Gloves", "body": "All about gloves", "scheduledFor": "2026-08-20T09:00:00.000Z"}, posts[0]) != "" {
		t.Errorf("the draft of an idea: %v", posts)
	}
	w.page(t, "/posts/fill?month=2026-08", "Every accepted idea already has a post", "Not listed: 1 suggested idea", "2 accepted ideas that have a post already")
	checkContains(t, "undone", w.undo(t, body), "Undone.")
	w.page(t, "/posts/fill?month=2026-08", "Gloves", "Boots")
}

// Ensure the pages follow the service's rules for which accounts can send. An account that will
// soon stop working can still send. An account whose credentials are known to be invalid or expired
// cannot.
func TestAccountsThatSend(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		record  demo.Record
		badge   string
		account string
		sends   bool
	}{
		"connected":            {demo.Record{"status": "connected"}, "works", "X @x never checked", true},
		"expiring":             {demo.Record{"status": "expiring"}, "soon", "expiring Posts are still being sent", true},
		"expiring and invalid": {demo.Record{"status": "expiring", "credentialsValid": false}, "broken", "its credentials are not valid", false},
		"expired":              {demo.Record{"status": "connected", "credentialsExpireAt": "2026-08-11T09:00:00Z"}, "broken", "its credentials have expired", false},
		"valid for a while":    {demo.Record{"status": "connected", "credentialsExpireAt": "2026-09-11T09:00:00Z"}, "works", "X @x never checked", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newTestStudio(t)
			c.record["id"], c.record["platform"], c.record["handle"] = "chn_x", "x", "@x"
			demotest.Load(t, w.Service, demo.Line{Type: "channel", Record: c.record},
				demo.Line{Type: "post", Record: demo.Record{"id": "pst_x", "platform": "x", "body": "Words", "status": "draft"}})
			w.page(t, "/posts/accounts", c.badge, c.account)
			if body := w.page(t, "/posts/pst_x", "Words"); strings.Contains(visibleText(body), "account is not working") == c.sends {
				t.Errorf("the post says that the account does not work: %t, want %t", c.sends, !c.sends)
			}
			switch body := visibleText(w.page(t, "/")); {
			case c.badge == "works":
				checkNotContains(t, "overview", body, "X @x account")
			default:
				checkContains(t, "overview", body, c.badge+" X @x account "+strings.Fields(c.account)[0])
			}
		})
	}
}

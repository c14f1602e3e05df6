package studio_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// profile opens the form of the profile and returns its fields as a browser would send them.
func (w *world) profile(t *testing.T) url.Values {
	t.Helper()
	form := fields(t, w.page(t, "/company"), "profile")
	for name := range form {
		if own, is := strings.CutPrefix(name, "was."); is {
			form.Set(own, form.Get(name))
		}
	}
	return form
}

func (w *world) companyRecord(t *testing.T) map[string]any {
	t.Helper()
	return w.Send(t, w.key, "GET", "/v1/companies/{companyId}", "").JSON(t)
}

// Ensure the form stores what was changed and nothing else, and an empty field unsets.
func TestProfile(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	form := w.profile(t)
	form.Set("summary", "Notes.\r\nFor all.")
	form.Set("stage", "mvp")
	form.Set("timezone", "Europe/Berlin")
	status, body := w.submit(t, "/company", form)
	if status != http.StatusOK {
		t.Fatal(status, shown(body))
	}
	has(t, "save", body, "Saved.", "-X PATCH", `'{"summary":"Notes.\nFor all.","stage":"mvp","timezone":"Europe/Berlin"}'`)
	if got := w.companyRecord(t); got["summary"] != "Notes.\nFor all." || got["stage"] != "mvp" || got["timezone"] != "Europe/Berlin" || got["name"] != "Northwind Notes" || got["websiteUrl"] != nil {
		t.Error(got)
	}
	form = w.profile(t)
	form.Set("summary", "")
	form.Set("stage", "")
	if _, body := w.submit(t, "/company", form); !strings.Contains(body, "Saved.") {
		t.Error(shown(body))
	}
	if got := w.companyRecord(t); got["summary"] != nil || got["stage"] != nil || got["timezone"] != "Europe/Berlin" {
		t.Error(got)
	}
	w.Send(t, w.key, "PATCH", "/v1/companies/{companyId}", `{"summary": "Two\r\nlines \n"}`) // as another program stores it
	if _, body := w.submit(t, "/company", w.profile(t)); !strings.Contains(body, "Nothing was changed.") {
		t.Error(shown(body))
	}
}

// Ensure what the service refuses stands at its field, and everything typed is still there.
func TestProfileRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	form := w.profile(t)
	form.Set("name", "")
	form.Set("websiteUrl", "ftp://typed")
	form.Set("industry", "Typed industry")
	form.Set("timezone", "Middle/Earth")
	status, body := w.submit(t, "/company", form)
	if status != http.StatusBadRequest {
		t.Error(status)
	}
	has(t, "refused", body, "ftp://typed", "Typed industry", "Middle/Earth")
	if n := strings.Count(body, `class="field wrong`); n != 3 {
		t.Errorf("%d fields have their message: %s", n, shown(body))
	}
	if got := w.companyRecord(t); got["industry"] != nil || got["name"] != "Northwind Notes" {
		t.Error(got)
	}
}

// Ensure a second writer between load and save loses nothing: both sides are shown, and what only the other one changed stays.
func TestProfileConflict(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	form := w.profile(t)
	form.Set("summary", "Typed summary")
	form.Set("industry", "Typed industry")
	w.Send(t, w.key, "PATCH", "/v1/companies/{companyId}", `{"summary": "Their summary", "websiteUrl": "https://theirs.example"}`)
	status, body := w.submit(t, "/company", form)
	if status != http.StatusPreconditionFailed {
		t.Error(status)
	}
	has(t, "conflict", body, "Somebody else changed the profile", "Typed summary", "Stored now: Their summary", "Typed industry", "https://theirs.example", "Request req_")
	if !strings.Contains(body, `name="websiteUrl" value="https://theirs.example"`) {
		t.Error("a field that was not touched here would overwrite theirs:", body)
	}
	if got := w.companyRecord(t); got["summary"] != "Their summary" || got["industry"] != nil {
		t.Error(got)
	}
	again := fields(t, body, "profile")
	again.Set("summary", "Typed summary")
	again.Set("industry", "Typed industry")
	again.Set("websiteUrl", "https://theirs.example")
	for _, name := range []string{"name", "repositoryUrl", "stage", "targetMarket", "primaryLanguage", "timezone"} {
		again.Set(name, again.Get("was."+name))
	}
	if status, body := w.submit(t, "/company", again); status != http.StatusOK {
		t.Error(status, shown(body))
	}
	if got := w.companyRecord(t); got["summary"] != "Typed summary" || got["industry"] != "Typed industry" || got["websiteUrl"] != "https://theirs.example" {
		t.Error(got)
	}
}

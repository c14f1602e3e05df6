package studio_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// profile opens the form of the company's profile and returns its fields as a browser would send
// them.
func (s *testStudio) profile(t *testing.T) url.Values {
	t.Helper()
	form := fields(t, s.page(t, "/company"), "profile")
	for name := range form {
		if field, ok := strings.CutPrefix(name, "was."); ok {
			form.Set(field, form.Get(name))
		}
	}
	return form
}

func (s *testStudio) companyRecord(t *testing.T) map[string]any {
	t.Helper()
	return s.Send(t, s.key, "GET", "/v1/companies/{companyId}", "").JSON(t)
}

// Ensure the form stores only the fields that the user changed, and sets a field to null if the
// user emptied it.
func TestProfile(t *testing.T) {
	t.Parallel()
	w := newTestStudio(t)
	form := w.profile(t)
	form.Set("summary", "Notes.\r\nFor all.")
	form.Set("stage", "mvp")
	form.Set("timezone", "Europe/Berlin")
	status, body := w.submit(t, "/company", form)
	if status != http.StatusOK {
		t.Fatalf("status %d, want 200: %s", status, visibleText(body))
	}
	checkContains(t, "save", body, "Saved.", "-X PATCH", `'{"summary":"Notes.\nFor all.","stage":"mvp","timezone":"Europe/Berlin"}'`)
	want := map[string]any{"summary": "Notes.\nFor all.", "stage": "mvp", "timezone": "Europe/Berlin", "name": "Northwind Notes", "websiteUrl": nil}
	if diff := recordDiff(want, w.companyRecord(t)); diff != "" {
		t.Errorf("saved profile (-want +got):\n%s", diff)
	}
	form = w.profile(t)
	form.Set("summary", "")
	form.Set("stage", "")
	_, body = w.submit(t, "/company", form)
	checkContains(t, "clear", body, "Saved.")
	if diff := recordDiff(map[string]any{"summary": nil, "stage": nil, "timezone": "Europe/Berlin"}, w.companyRecord(t)); diff != "" {
		t.Errorf("cleared profile (-want +got):\n%s", diff)
	}
	w.Send(t, w.key, "PATCH", "/v1/companies/{companyId}", `{"summary": "Two\r\nlines \n"}`) // a value that a different program might store
	_, body = w.submit(t, "/company", w.profile(t))
	checkContains(t, "the same again", body, "Nothing was changed.")
}

// Ensure each message from the service is shown next to the field that it is about. The form keeps
// all typed values.
func TestProfileRefused(t *testing.T) {
	t.Parallel()
	w := newTestStudio(t)
	form := w.profile(t)
	form.Set("name", "")
	form.Set("websiteUrl", "ftp://typed")
	form.Set("industry", "Typed industry")
	form.Set("timezone", "Middle/Earth")
	status, body := w.submit(t, "/company", form)
	if status != http.StatusBadRequest {
		t.Errorf("status %d, want 400", status)
	}
	checkContains(t, "refused", body, "ftp://typed", "Typed industry", "Middle/Earth")
	if n := strings.Count(body, `class="field wrong`); n != 3 {
		t.Errorf("%d fields have their message: %s", n, visibleText(body))
	}
	if diff := recordDiff(map[string]any{"industry": nil, "name": "Northwind Notes"}, w.companyRecord(t)); diff != "" {
		t.Errorf("profile after a refused form (-want +got):\n%s", diff)
	}
}

// Ensure no change is lost if somebody else saves the profile while a user has the form open. For a
// field that both have changed, the form shows both values. For a field that only the other person
// has changed, it shows the other person's value.
func TestProfileConflict(t *testing.T) {
	t.Parallel()
	w := newTestStudio(t)
	form := w.profile(t)
	form.Set("summary", "Typed summary")
	form.Set("industry", "Typed industry")
	w.Send(t, w.key, "PATCH", "/v1/companies/{companyId}", `{"summary": "Their summary", "websiteUrl": "https://theirs.example"}`)
	status, body := w.submit(t, "/company", form)
	if status != http.StatusPreconditionFailed {
		t.Errorf("status %d, want 412", status)
	}
	checkContains(t, "conflict", body, "Somebody else changed the profile", "Typed summary", "Stored now: Their summary", "Typed industry", "https://theirs.example", "Request ")
	if !strings.Contains(body, `name="websiteUrl" value="https://theirs.example"`) {
		t.Error("a field that was not touched here would overwrite theirs:", body)
	}
	if diff := recordDiff(map[string]any{"summary": "Their summary", "industry": nil}, w.companyRecord(t)); diff != "" {
		t.Errorf("profile after the conflict (-want +got):\n%s", diff)
	}
	again := fields(t, body, "profile")
	again.Set("summary", "Typed summary")
	again.Set("industry", "Typed industry")
	again.Set("websiteUrl", "https://theirs.example")
	for _, name := range []string{"name", "repositoryUrl", "stage", "targetMarket", "primaryLanguage", "timezone"} {
		again.Set(name, again.Get("was."+name))
	}
	if status, body := w.submit(t, "/company", again); status != http.StatusOK {
		t.Errorf("status %d, want 200: %s", status, visibleText(body))
	}
	want := map[string]any{"summary": "Typed summary", "industry": "Typed industry", "websiteUrl": "https://theirs.example"}
	if diff := recordDiff(want, w.companyRecord(t)); diff != "" {
		t.Errorf("profile after the decision (-want +got):\n%s", diff)
	}
}

package studio_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"growthworkspace/scripts/workspace/demo"
	"growthworkspace/scripts/workspace/demo/demotest"
)

// Ensure the first save creates the brand, and every later save changes or clears only the fields
// that were edited. If two people edit the brand, neither loses a change.
func TestBrand(t *testing.T) {
	t.Parallel()
	w := newTestStudio(t)
	w.page(t, "/brand", "There is none yet", "None are stored")
	stored := func() map[string]any {
		return w.Send(t, w.key, "GET", "/v1/companies/{companyId}/context/brand-kit", "").JSON(t)
	}
	first, second := w.editForm(t, "/brand"), w.editForm(t, "/brand")
	first.Set("voiceTone", "calm\r\n\r\nplain")
	first.Set("artStyle", "Photographs")
	_, body := w.submit(t, "/brand", first)
	checkContains(t, "created", body, "Saved.", "Photographs")
	if diff := recordDiff(map[string]any{"voiceTone": []any{"calm", "plain"}, "avoidWords": nil}, stored()); diff != "" {
		t.Errorf("created brand (-want +got):\n%s", diff)
	}
	second.Set("voiceGuidelines", "Mine")
	status, body := w.submit(t, "/brand", second)
	checkContains(t, "created twice", body, "Somebody else changed the brand", "Mine", "Photographs")
	if status != http.StatusPreconditionFailed || stored()["voiceGuidelines"] != nil {
		t.Errorf("status %d, want 412; stored guidelines %v, want none", status, stored()["voiceGuidelines"])
	}
	form := w.editForm(t, "/brand")
	form.Set("artStyle", "")
	form.Set("avoidWords", strings.Repeat("x", 201))
	status, body = w.submit(t, "/brand", form)
	checkContains(t, "refused", body, strings.Repeat("x", 201), "must have at most 200 characters")
	if status != http.StatusBadRequest || stored()["artStyle"] != "Photographs" {
		t.Errorf("status %d, want 400; stored art style %v, want Photographs", status, stored()["artStyle"])
	}
	form.Set("avoidWords", "seamless")
	w.submit(t, "/brand", form)
	want := map[string]any{"artStyle": nil, "avoidWords": []any{"seamless"}, "voiceTone": []any{"calm", "plain"}}
	if diff := recordDiff(want, stored()); diff != "" {
		t.Errorf("updated brand (-want +got):\n%s", diff)
	}
}

// Ensure the page draws colours wherever they are in the JSON, and shows every other value only as
// text.
func TestSwatches(t *testing.T) {
	t.Parallel()
	w := newTestStudio(t)
	demotest.Load(t, w.Service, demo.Line{Type: "brand-kit", Record: demo.Record{
		"id": "kit_1", "fonts": []any{"Inter", demo.Record{"name": "Headings", "family": "Fraunces"}},
		"colors": demo.Record{
			"primary": "#2f5d50", "scale": demo.Record{"500": "#ABC", "900": "rgb(1, 2, 3)"}, "list": []any{demo.Record{"name": "Ink", "hex": "#1c2321ff"}},
			"evil": "url(//evil.example)", "word": "#12", "more": `#fff" onload="alert(1)`,
		},
	}})
	body := w.page(t, "/brand", "scale 500 #ABC", "list Ink #1c2321ff", "evil url(//evil.example)", "Headings Fraunces", "Inter")
	for _, want := range []string{"#2f5d50", "#ABC", "rgb(1, 2, 3)", "#1c2321ff"} {
		if !strings.Contains(body, `fill="`+want+`"`) {
			t.Errorf("%s is not drawn", want)
		}
	}
	if n := strings.Count(body, "<rect"); n != 4 {
		t.Errorf("%d colours are drawn, want 4: %s", n, body)
	}
	if strings.Contains(body, `onload="`) {
		t.Errorf("a colour's text is markup: %s", body)
	}
}

// Ensure content types and brand goals can be created, edited and deleted. Sending a form twice
// creates one record. A record that has changed since the form was loaded is neither overwritten
// nor deleted.
func TestContentTypesAndBrandGoals(t *testing.T) {
	t.Parallel()
	w := newTestStudio(t)
	for _, test := range []struct {
		path, api string
		typed     map[string]string
		stored    string
		shown     string
	}{
		{"/brand/types", "/context/content-types", map[string]string{"name": "Tip", "defaultPlatforms": "x\r\nreddit", "active": "true"}, "Tip [x reddit] true", "Reddit"},
		{"/brand/types", "/context/content-types", map[string]string{"name": "Old", "defaultPlatforms": "x"}, "Old [x] false", "not in use"},
		{"/brand/goals", "/context/goals", map[string]string{"name": "More teams", "targetValue": "1000.5", "dueAt": "2026-12-01", "priority": "1"}, "More teams 1000.5 2026-12-01T00:00:00Z 1 active", "due Dec 1, 2026"},
	} {
		form := w.editForm(t, test.path+"/new")
		form.Del("active")
		for name, value := range test.typed {
			form.Set(name, value)
		}
		for range 2 {
			_, body := w.submit(t, test.path, form)
			checkContains(t, test.path, body, "Saved.", test.typed["name"], test.shown)
		}
		list := w.Send(t, w.key, "GET", "/v1/companies/{companyId}"+test.api, "").Items(t)
		if len(list) != 1 {
			t.Fatalf("%s: %d records, want 1: %v", test.path, len(list), list)
		}
		got := list[0]
		text := fmt.Sprint(got["name"], " ", got["defaultPlatforms"], " ", got["active"])
		if test.path == "/brand/goals" {
			text = fmt.Sprint(got["name"], " ", got["targetValue"], " ", got["dueAt"], " ", got["priority"], " ", got["status"])
		}
		if strings.ReplaceAll(text, ".000Z", "Z") != test.stored {
			t.Errorf("%s: stored %q, want %q", test.path, text, test.stored)
		}
		path := test.path + "/" + got["id"].(string)
		early, late := w.editForm(t, path), w.editForm(t, path)
		early.Set("name", "Theirs")
		w.submit(t, path, early)
		late.Set("name", "Mine")
		status, body := w.submit(t, path, late)
		checkContains(t, "conflict", body, "Somebody else changed the", "Stored now: Theirs", `value="Mine"`)
		if status != http.StatusPreconditionFailed {
			t.Errorf("%s: status of a late change %d, want 412", path, status)
		}
		_, body = w.submit(t, path+"/delete", url.Values{"form": late["form"], "etag": late["etag"]})
		checkContains(t, "deleted too late", body, "so it was not deleted")
		latestForm := w.editForm(t, path)
		_, body = w.submit(t, path+"/delete", url.Values{"form": latestForm["form"], "etag": latestForm["etag"]})
		checkContains(t, "deleted", body, "Deleted.")
		if left := w.Send(t, w.key, "GET", "/v1/companies/{companyId}"+test.api, "").Items(t); len(left) != 0 {
			t.Errorf("%s: %d records after the delete, want none: %v", test.path, len(left), left)
		}
	}
	w.create(t, "/metrics/definitions", `{"key": "growth.teams", "name": "Teams <new>"}`)
	chosen := w.editForm(t, "/brand/goals/new")
	w.page(t, "/brand/goals/new", `<option value="growth.teams">Teams <new></option>`)
	chosen.Set("name", "More teams")
	chosen.Set("metricKey", "growth.teams")
	address := w.submitRedirect(t, "/brand/goals", chosen)
	goal := w.Send(t, w.key, "GET", "/v1/companies/{companyId}/context/goals", "").Items(t)[0]
	if !strings.HasSuffix(address, "#"+goal["id"].(string)) || goal["metricKey"] != "growth.teams" {
		t.Errorf("the page after a save is %s, and the goal is %v", address, goal)
	}
	form := w.editForm(t, "/brand/goals/new")
	form.Set("name", "X")
	form.Set("dueAt", "soon")
	form.Set("targetValue", "many")
	status, body := w.submit(t, "/brand/goals", form)
	checkContains(t, "refused", body, "must be a day such as 2026-09-30", "must be a number such as 12.5", `value="soon"`)
	if status != http.StatusBadRequest {
		t.Errorf("status %d, want 400", status)
	}
}

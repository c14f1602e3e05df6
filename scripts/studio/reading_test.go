package studio_test

import (
	"maps"
	"net/http"
	"regexp"
	"strings"
	"testing"
)

// Ensure the form for a first number shows how it understood what was typed before it stores
// anything. A column that can be read in two ways is asked about once, and an undo deletes the metric
// and its values.
func TestFirstNumberIsShown(t *testing.T) {
	t.Parallel()
	w := newTestStudio(t)
	isEmpty := func(place string) {
		t.Helper()
		if got := w.list(t, "/metrics/definitions"); len(got) != 0 {
			t.Errorf("%s: stored definitions %v, want none", place, got)
		}
	}
	form := formValues(t, w.page(t, "/start/number"), "profile")
	form.Set("name", "Sign-ups")
	form.Set("unit", "count")
	form.Set("aggregation", "sum")
	form.Set("values", "Day\tSign-ups\r\n01.08.2026\t1.204\r\n02.08.2026\t900")
	status, body := w.submit(t, "/start/number", form)
	checkContains(t, "a day with two readings", body, "Nothing is stored yet", "01.08.2026 is", "1 August", "8 January", `value="DD.MM.YYYY"`, "1.204")
	isEmpty("a day with two readings")
	if status != http.StatusOK {
		t.Errorf("status %d, want 200", status)
	}
	form.Set("dateFormat", "DD.MM.YYYY")
	form.Set("asked", "01.08.2026")
	_, body = w.submit(t, "/start/number", form)
	checkContains(t, "a number with two readings", body, "1.204 is", `value=","`, "1204", `name="dateFormat" value="DD.MM.YYYY"`)
	isEmpty("a number with two readings")
	form.Set("decimal", ",")
	_, body = w.submit(t, "/start/number", form)
	checkContains(t, "preview", body, "Nothing is stored yet", "Sat, Aug 1, 2026: 1204", "Sun, Aug 2, 2026: 900", `name="decimal" value=","`)
	isEmpty("preview")
	kept := fields(t, body, "profile")
	if kept.Get("decimal") != "," || kept.Get("dateFormat") != "DD.MM.YYYY" || !strings.Contains(body, ">Day\tSign-ups\n01.08.2026\t1.204\n02.08.2026\t900</textarea>") {
		t.Errorf("the form after the preview: %v", kept)
	}
	form.Set("understood", kept.Get("understood"))
	changed := maps.Clone(form)
	changed.Set("values", "02.08.2026\t7")
	_, body = w.submit(t, "/start/number", changed)
	checkContains(t, "a form that was changed after the preview", body, "Nothing is stored yet", "Sun, Aug 2, 2026: 7")
	isEmpty("a form that was changed after the preview")
	_, body = w.submit(t, "/start/number", form)
	checkContains(t, "stored", body, "Created with 2 values", "Undo")
	if diff := recordDiff(map[string]any{"2026-08-01": 1204.0, "2026-08-02": 900.0}, w.values(t, "custom.sign_ups")); diff != "" {
		t.Errorf("values (-want +got):\n%s", diff)
	}
	checkContains(t, "undo", w.undo(t, body), "Sign-ups: Undone.")
	isEmpty("undo")
}

// Ensure the undo of a first number keeps values that were stored since.
func TestUndoFirstNumberConflict(t *testing.T) {
	t.Parallel()
	w := newTestStudio(t)
	body := w.fillAndSubmit(t, "/start/number", "profile", "/start/number", map[string]string{"name": "Leads", "unit": "count", "aggregation": "sum", "values": "2026-08-02 7"})
	w.Send(t, w.key, "POST", "/v1/companies/{companyId}/metrics/points", `{"points": [{"metricKey": "custom.leads", "ts": "2026-08-03", "value": 8}]}`)
	checkContains(t, "undo", w.undo(t, body), "Not undone, because it has been changed since")
	if got := w.values(t, "custom.leads"); len(got) != 2 {
		t.Errorf("values %v, want two", got)
	}
}

// Ensure a decimal comma is a decimal comma wherever a number is typed. A number that is not
// written as the studio writes it is shown before it is stored, and a number with two readings is
// asked about.
func TestTypedNumbers(t *testing.T) {
	t.Parallel()
	w := newTestStudio(t)
	w.Send(t, w.key, "POST", "/v1/companies/{companyId}/metrics/definitions", `{"key": "a.b", "name": "Letters", "unit": "score", "aggregation": "last"}`)
	stored := func() any { return w.values(t, "a.b")["2026-08-02"] }
	const path = "/metrics/values?key=a.b&day=2026-08-02"
	for _, c := range []struct {
		typed, shown, answer string
		want                 float64
	}{
		{"12,5", "12,5 is 12.5", "", 12.5}, {"0,5", "0,5 is 0.5", "", .5}, {"1.234,56", "1.234,56 is 1234.56", "", 1234.56}, {"7.25", "", "", 7.25}, {"1,234.56", "1,234.56 is 1234.56", "", 1234.56},
		{"1,2345", "1,2345 is 1.2345", "", 1.2345}, {"1.204", "1.204 is", ",", 1204}, {"1,204", "1,204 is", ",", 1.204}, {"0", "", "", 0}, {"1.204", "1.204 is", ".", 1.204},
	} {
		before := stored()
		page := w.page(t, path)
		id := "profile"
		if found := regexp.MustCompile(`method="post" id="(value-[^"]*)"`).FindStringSubmatch(page); found != nil {
			id = found[1]
		}
		form := formValues(t, page, id)
		form.Set("value", c.typed)
		_, body := w.submit(t, "/metrics/values", form)
		if c.shown != "" {
			checkContains(t, c.typed, body, "Nothing is stored yet", c.shown, `value="`+c.typed+`"`)
			if stored() != before {
				t.Errorf("%s: stored before it was shown", c.typed)
			}
			maps.Copy(form, fields(t, body, id))
			if c.answer != "" {
				form.Set("decimal", c.answer)
			}
			_, body = w.submit(t, "/metrics/values", form)
		}
		checkContains(t, c.typed, body, "Letters: Sun, Aug 2 is", "Undo")
		if stored() != c.want {
			t.Errorf("%s: stored %v, want %v", c.typed, stored(), c.want)
		}
	}
	page := w.page(t, path) // pressing Correct without an edit asks nothing, although 1.204 has two readings
	form := formValues(t, page, regexp.MustCompile(`method="post" id="(value-[^"]*)"`).FindStringSubmatch(page)[1])
	_, body := w.submit(t, "/metrics/values", form)
	checkContains(t, "no edit", body, "Nothing was changed.")
}

// Ensure the goals of the brand and of a site read numbers in the same way, and their edits can be
// undone.
func TestTypedNumbersOfGoals(t *testing.T) {
	t.Parallel()
	w := newTestStudio(t)
	w.Send(t, w.key, "POST", "/v1/companies/{companyId}/context/goals", `{"name": "Grow", "targetValue": 1.204}`)
	goal := func() map[string]any { return w.list(t, "/context/goals")[0].(map[string]any) }
	path := "/brand/goals/" + goal()["id"].(string)
	form := formValues(t, w.page(t, path), "profile")
	form.Set("targetValue", "12,5")
	_, body := w.submit(t, path, form)
	checkContains(t, "preview", body, "Nothing is stored yet", "12,5 is 12.5")
	if got := goal()["targetValue"]; got != 1.204 {
		t.Errorf("the target is %v before the form is sent again, want 1.204", got)
	}
	_, body = w.submitRead(t, path, "profile", form)
	if got := goal()["targetValue"]; got != 12.5 {
		t.Errorf("the target is %v, want 12.5", got)
	}
	w.undo(t, body)
	if got := goal()["targetValue"]; got != 1.204 {
		t.Errorf("the target after the undo is %v, want 1.204", got)
	}
}

// Ensure the form for pasted reviews asks how dates with two readings are meant, keeps the answer in
// its preview, and stores the reviews with it.
func TestPastedDates(t *testing.T) {
	t.Parallel()
	w := newTestStudio(t)
	form := formValues(t, w.page(t, "/reviews/paste"), "paste")
	form.Set("reviews", "text,date\nGood,01/02/2026")
	form.Set("source", "reddit")
	form.Set("do", "preview")
	_, body := w.submit(t, "/reviews/paste", form)
	checkContains(t, "question", body, "Nothing is stored yet", "01/02/2026 is", "1 February", "2 January", `value="MM/DD/YYYY"`)
	form.Set("dateFormat", "MM/DD/YYYY")
	_, body = w.submit(t, "/reviews/paste", form)
	checkContains(t, "preview", body, "1 review found", `name="dateFormat" value="MM/DD/YYYY"`)
	form.Set("do", "store")
	w.submit(t, "/reviews/paste", form)
	reviews := w.list(t, "/feedback")
	if len(reviews) != 1 || reviews[0].(map[string]any)["postedAt"] != "2026-01-02T00:00:00.000Z" {
		t.Errorf("stored reviews %v", reviews)
	}
}

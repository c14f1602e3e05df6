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

// list returns the records that the API lists at a path.
func (s *testStudio) list(t *testing.T, path string) []any {
	t.Helper()
	items, ok := s.Send(t, s.key, "GET", "/v1/companies/{companyId}"+path, "").JSON(t)["items"].([]any)
	if !ok {
		t.Fatal("no list:", path)
	}
	return items
}

// definition returns the metric definition with the given key.
func (s *testStudio) definition(t *testing.T, key string) map[string]any {
	t.Helper()
	for _, item := range s.list(t, "/metrics/definitions") {
		if d := item.(map[string]any); d["key"] == key {
			return d
		}
	}
	t.Fatal("no metric", key)
	return nil
}

// values returns the stored values of a metric, by day and dimension values.
func (s *testStudio) values(t *testing.T, key string) map[string]any {
	t.Helper()
	out := map[string]any{}
	for _, item := range s.list(t, "/metrics/points?metricKey="+key) {
		p := item.(map[string]any)
		name := p["ts"].(string)[:10]
		if dims, ok := p["dims"].(map[string]any); ok {
			for _, value := range dims {
				name += " " + value.(string)
			}
		}
		out[name] = p["value"]
	}
	return out
}

var undoForm = regexp.MustCompile(`action="(/undo/\d+)"`)

// undo presses the undo button in a page's notice, and returns the page that follows.
func (s *testStudio) undo(t *testing.T, body string) string {
	t.Helper()
	action := undoForm.FindStringSubmatch(body)
	if action == nil {
		t.Fatal("nothing to undo: ", visibleText(body))
	}
	_, after := s.submit(t, action[1], url.Values{"form": {fieldOf(t, body, "form")}})
	return after
}

// formValues returns the fields of a form as a browser would send them if nobody edited the form.
func formValues(t *testing.T, body, id string) url.Values {
	t.Helper()
	form := fields(t, body, id)
	for name := range form {
		if field, ok := strings.CutPrefix(name, "was."); ok && !form.Has(field) {
			form.Set(field, form.Get(name))
		}
	}
	return form
}

// Ensure people can define, edit and delete a metric on the page, and undo an edit. An error must
// be shown next to the field that it concerns.
func TestDefineMetric(t *testing.T) {
	t.Parallel()
	w := newTestStudio(t)
	w.page(t, "/metrics", "Enter your first number", "Define a metric", `"ts": "2026-08-11"`)
	empty := w.page(t, "/metrics/definitions/new", ">none</option>")
	checkNotContains(t, "aggregations", empty, "no reply") // "no reply" is the label of "none" for a review's reply status only
	form := formValues(t, empty, "profile")
	form.Set("name", "Leads")
	form.Set("key", "Growth Leads")
	form.Set("formula", "sum(a.b)")
	status, body := w.submit(t, "/metrics/definitions", form)
	if status != http.StatusBadRequest {
		t.Errorf("status %d, want 400", status)
	}
	checkContains(t, "formula", body, "Growth Leads", "sum(a.b)", "Use + - * /")
	form.Set("formula", "")
	status, body = w.submit(t, "/metrics/definitions", form)
	if status != http.StatusBadRequest || strings.Count(body, `class="field wrong`) != 1 {
		t.Errorf("status %d, want 400 with a message at the key: %s", status, visibleText(body))
	}
	form.Set("once", fields(t, body, "profile").Get("once"))
	form.Set("key", "growth.leads")
	form.Set("unit", "count")
	form.Set("aggregation", "sum")
	form.Set("polarity", "up_is_good")
	_, body = w.submit(t, "/metrics/definitions", form)
	checkContains(t, "create", body, "Leads: Saved.", "Undo", "growth.leads", "total", "up is good")
	want := map[string]any{"name": "Leads", "unit": "count", "aggregation": "sum", "polarity": "up_is_good", "kind": "measured", "formula": nil, "needsReview": false}
	d := w.definition(t, "growth.leads")
	if diff := recordDiff(want, d); diff != "" {
		t.Errorf("definition (-want +got):\n%s", diff)
	}
	path := "/metrics/definitions/" + d["id"].(string)
	form = formValues(t, w.page(t, path, "growth.leads"), "profile")
	form.Set("name", "Warm leads")
	form.Set("description", "People who wrote to us.")
	_, body = w.submit(t, path, form)
	checkContains(t, "edit", body, "Warm leads: Saved.", "People who wrote to us.")
	checkContains(t, "undo", w.undo(t, body), "Warm leads: Undone")
	if diff := recordDiff(map[string]any{"name": "Leads", "description": nil}, w.definition(t, "growth.leads")); diff != "" {
		t.Errorf("definition after the undo (-want +got):\n%s", diff)
	}
	if again := w.undo(t, body); !strings.Contains(again, "cannot be undone any more") {
		t.Error("undone twice: ", visibleText(again))
	}
	form = fields(t, w.page(t, path), "deletion")
	_, body = w.submit(t, path+"/delete", form)
	checkContains(t, "delete", body, "Leads: Deleted.", "No metrics yet")
}

// Ensure an undo does not overwrite a change that somebody else has made since the save.
func TestUndoConflict(t *testing.T) {
	t.Parallel()
	w := newTestStudio(t)
	w.Send(t, w.key, "POST", "/v1/companies/{companyId}/metrics/definitions", `{"key": "a.b", "name": "First"}`)
	path := "/metrics/definitions/" + w.definition(t, "a.b")["id"].(string)
	form := formValues(t, w.page(t, path), "profile")
	form.Set("name", "Second")
	_, body := w.submit(t, path, form)
	w.Send(t, w.key, "PATCH", "/v1/companies/{companyId}"+path, `{"name": "Theirs"}`)
	checkContains(t, "undo", w.undo(t, body), "Not undone, because it has been changed since")
	if got := w.definition(t, "a.b")["name"]; got != "Theirs" {
		t.Errorf("the name is %v, want Theirs", got)
	}
}

// Ensure a metric that a push has created is listed for attention until somebody confirms it,
// unchanged or with an edit. A user cannot confirm it if somebody else has changed it since the
// page was loaded.
func TestConfirmMetric(t *testing.T) {
	t.Parallel()
	w := newTestStudio(t)
	w.Send(t, w.key, "POST", "/v1/companies/{companyId}/metrics/points", `{"points": [{"metricKey": "one", "ts": "2026-08-03", "value": 1}, {"metricKey": "two", "ts": "2026-08-03", "value": 2}]}`)
	body := w.page(t, "/", "New metric custom.one", "New metric custom.two")
	_, rows, _ := strings.Cut(body, `aria-labelledby="trouble"`)
	if !strings.Contains(rows, `href="/metrics?key=custom.one"`) {
		t.Error("no link to the metric:", visibleText(rows))
	}
	first := w.definition(t, "custom.one")
	page := w.page(t, "/metrics?key=custom.one", "Nobody has confirmed this metric", "Confirm as it is")
	form := url.Values{"form": {fieldOf(t, page, "form")}, "seen": {fieldOf(t, page, "seen")}}
	w.Clock.Advance(1e9)
	w.Send(t, w.key, "PATCH", "/v1/companies/{companyId}/metrics/definitions/"+first["id"].(string), `{"name": "Theirs"}`)
	_, body = w.submit(t, "/metrics/definitions/"+first["id"].(string)+"/confirm", form)
	checkContains(t, "changed", body, "Theirs: Somebody has changed this metric")
	form.Set("seen", fieldOf(t, body, "seen"))
	_, body = w.submit(t, "/metrics/definitions/"+first["id"].(string)+"/confirm", form)
	checkContains(t, "confirm", body, "Theirs: Confirmed.")
	second := "/metrics/definitions/" + w.definition(t, "custom.two")["id"].(string)
	edit := formValues(t, w.page(t, second, "Save and confirm"), "profile")
	edit.Set("name", "Second")
	edit.Set("aggregation", "sum")
	_, body = w.submit(t, second, edit)
	checkContains(t, "name and confirm", body, "Second: Saved.")
	for _, key := range []string{"custom.one", "custom.two"} {
		if got := w.definition(t, key)["needsReview"]; got != false {
			t.Errorf("%s: needsReview is %v, want false", key, got)
		}
	}
	checkNotContains(t, "overview", w.page(t, "/"), "New metric")
}

// Ensure correcting a day's value changes only the series that it belongs to, and the correction
// can be undone.
func TestCorrectValue(t *testing.T) {
	t.Parallel()
	w := newTestStudio(t)
	demotest.Load(t, w.Service, demo.Line{Type: "metric-definition", Record: demo.Record{"id": "mdf_1", "key": "a.sales", "name": "Sales", "unit": "currency_minor", "aggregation": "sum", "dimensions": []string{"shop"}}})
	w.Send(t, w.key, "POST", "/v1/companies/{companyId}/metrics/points", `{"points": [{"metricKey": "a.sales", "ts": "2026-08-03", "value": 1234, "currency": "EUR", "source": "till", "dims": {"shop": "north"}},
		{"metricKey": "a.sales", "ts": "2026-08-03", "value": 500, "currency": "EUR", "dims": {"shop": "south"}}]}`)
	link := `/metrics/values?key=a.sales&day=2026-08-03&back=`
	checkContains(t, "table", w.page(t, "/metrics?key=a.sales"), link, "Correct Mon, Aug 3")
	page := w.page(t, "/metrics/values?key=a.sales&day=2026-08-03&back="+url.QueryEscape("key=a.sales&range=30d"), "shop north", "shop south", "12.34", "in EUR", "from till", "The value of the day, € 17.34, is the total of these parts.", "← Sun, Aug 2", "Tue, Aug 4 →")
	_, first, _ := strings.Cut(page, "was.value\" value=\"12.34")
	series := regexp.MustCompile(`method="post" id="(value-[^"]*)"`).FindAllStringSubmatch(page, -1)
	if len(series) != 2 || first == "" {
		t.Fatalf("%d series, want 2: %s", len(series), visibleText(page))
	}
	form := fields(t, page, series[0][1])
	if form.Get("was.value") != "12.34" {
		form = fields(t, page, series[1][1])
	}
	form.Set("value", "a lot")
	status, body := w.submit(t, "/metrics/values", form)
	if status != http.StatusBadRequest {
		t.Errorf("status %d, want 400", status)
	}
	checkContains(t, "not a number", body, "must be a number", `value="a lot"`)
	form.Set("value", "12.40")
	_, body = w.submit(t, "/metrics/values", form)
	checkContains(t, "correct", body, "Sales: Mon, Aug 3, shop north, is € 12.40, and was € 12.34. The whole day is € 17.40.", "aria-current=\"true\">30 days")
	if diff := recordDiff(map[string]any{"2026-08-03 north": 1240.0, "2026-08-03 south": 500.0}, w.values(t, "a.sales")); diff != "" {
		t.Errorf("values (-want +got):\n%s", diff)
	}
	w.undo(t, body)
	if diff := recordDiff(map[string]any{"2026-08-03 north": 1234.0, "2026-08-03 south": 500.0}, w.values(t, "a.sales")); diff != "" {
		t.Errorf("values after the undo (-want +got):\n%s", diff)
	}
	w.Send(t, w.key, "POST", "/v1/companies/{companyId}/metrics/points", `{"points": [{"metricKey": "a.sales", "ts": "2026-08-03", "value": 99, "currency": "EUR", "dims": {"shop": "north"}}]}`)
	status, body = w.submit(t, "/metrics/values", form)
	if status != http.StatusPreconditionFailed {
		t.Errorf("status %d, want 412: the value is another now", status)
	}
	checkContains(t, "conflict", body, "Somebody else has stored another value", "Stored now: 0.99", `value="12.40"`)
	if got := w.values(t, "a.sales")["2026-08-03 north"]; got != 99.0 {
		t.Errorf("the value is %v, want theirs, 99", got)
	}
}

// Ensure that correcting a value also recomputes its base value, at the exchange rate that the
// stored value and the stored base value imply. A base value that the user enters is stored
// unchanged, and one that the user clears is removed. The undo must restore both values.
func TestCorrectBaseValue(t *testing.T) {
	t.Parallel()
	w := newTestStudio(t)
	push := func(value, base string) {
		t.Helper()
		w.Send(t, w.key, "POST", "/v1/companies/{companyId}/metrics/points", `{"points": [{"metricKey": "a.sales", "ts": "2026-08-03", "value": `+value+`, "currency": "USD", "baseValue": `+base+`}]}`)
	}
	w.Send(t, w.key, "POST", "/v1/companies/{companyId}/metrics/definitions", `{"key": "a.sales", "name": "Sales", "unit": "currency_minor", "aggregation": "sum"}`)
	const path = "/metrics/values?key=a.sales&day=2026-08-03"
	correct := func(value, base string) (status int, body string) {
		t.Helper()
		page := w.page(t, path)
		series := regexp.MustCompile(`method="post" id="(value-[^"]*)"`).FindStringSubmatch(page)
		form := fields(t, page, series[1])
		form.Set("value", value)
		if base == "as it is" {
			base = form.Get("was.baseValue")
		}
		form.Set("baseValue", base)
		return w.submit(t, "/metrics/values", form)
	}
	stored := func() map[string]any { return w.list(t, "/metrics/points?metricKey=a.sales")[0].(map[string]any) }
	for _, c := range []struct {
		value, base string
		want        any
		notice      string
	}{
		{"20.00", "as it is", 1800.0, "In the base currency it is 18.00, and was 9.00."},
		{"10.00", "as it is", 900.0, "Nothing was changed."},
		{"10.00", "9.5", 950.0, "In the base currency it is 9.50, and was 9.00."},
		{"33.33", "as it is", 3000.0, ""}, // 2,999.7 cents are rounded
		{"20.00", "", nil, "It has no value in the base currency any more."},
	} {
		push("1000", "900")
		_, body := correct(c.value, c.base)
		checkContains(t, c.value, body, c.notice, `id="d2026-08-03"`)
		if diff := recordDiff(map[string]any{"baseValue": c.want}, stored()); diff != "" {
			t.Errorf("%s, %q (-want +got):\n%s", c.value, c.base, diff)
		}
		if c.value != "10.00" || c.base != "as it is" { // in that case nothing was changed, so there is no undo
			w.undo(t, body)
			if diff := recordDiff(map[string]any{"value": 1000.0, "baseValue": 900.0}, stored()); diff != "" {
				t.Errorf("%s, %q after the undo (-want +got):\n%s", c.value, c.base, diff)
			}
		}
	}
	w.Send(t, w.key, "POST", "/v1/companies/{companyId}/metrics/points", `{"points": [{"metricKey": "a.sales", "ts": "2026-08-03", "value": 700, "currency": "EUR", "baseValue": 700}]}`)
	checkNotContains(t, "in the base currency", w.page(t, path), "In the base currency")
	_, body := correct("8", "as it is")
	checkNotContains(t, "in the base currency", body, "In the base currency")
	if diff := recordDiff(map[string]any{"value": 800.0, "baseValue": 800.0}, stored()); diff != "" {
		t.Errorf("in the base currency (-want +got):\n%s", diff)
	}
	push("0", "0")
	status, body := correct("5", "as it is")
	checkContains(t, "no rate", body, "cannot follow the corrected value", `value="5"`)
	if status != http.StatusBadRequest {
		t.Errorf("status %d, want 400", status)
	}
}

// Ensure the page of a metric without values says so and links to the form for the first value. If
// only the chosen range has no values, the page must name the newest value.
func TestMetricWithoutValues(t *testing.T) {
	t.Parallel()
	w := newTestStudio(t)
	w.Send(t, w.key, "POST", "/v1/companies/{companyId}/metrics/definitions", `{"key": "a.b", "name": "Letters", "aggregation": "last"}`)
	w.page(t, "/metrics?key=a.b", "This metric has no values yet.", "Add the first value", "/metrics/values?key=a.b&back=key%3da.b")
	w.page(t, "/metrics", "This metric has no values yet.")
	w.Send(t, w.key, "POST", "/v1/companies/{companyId}/metrics/points", `{"points": [{"metricKey": "a.b", "ts": "2026-05-03", "value": 4}]}`)
	checkNotContains(t, "elsewhere", w.page(t, "/metrics?key=a.b", "no daily points in this range", "The newest value is that of May 3, 2026."), "Add the first value")
}

// Ensure a metric can be defined by its name alone. Its key must be derived from the name.
func TestKeyOfMetric(t *testing.T) {
	t.Parallel()
	w := newTestStudio(t)
	form := formValues(t, w.page(t, "/metrics/definitions/new", "Name required", ">latest</option>", ">total</option>"), "profile")
	form.Set("name", "Newsletter: 2 lists")
	form.Set("aggregation", "last")
	_, body := w.submit(t, "/metrics/definitions", form)
	checkContains(t, "create", body, "Newsletter: 2 lists: Saved.", "custom.newsletter_2_lists", "latest")
	form.Set("once", "second")
	status, body := w.submit(t, "/metrics/definitions", form)
	checkContains(t, "twice", body, "the metric is already defined")
	if status != http.StatusConflict || strings.Count(body, `class="field wrong`) != 1 {
		t.Errorf("status %d, want 409 with a message at the key: %s", status, visibleText(body))
	}
	form.Set("name", "Подписчики")
	form.Set("once", "third")
	status, body = w.submit(t, "/metrics/definitions", form)
	if status != http.StatusBadRequest || strings.Count(body, `class="field wrong`) != 1 {
		t.Errorf("status %d, want 400 with a message at the key: %s", status, visibleText(body))
	}
}

// Ensure the form for a new metric also stores its first values. If a value cannot be read, nothing
// is stored and the field says so.
func TestFirstValues(t *testing.T) {
	t.Parallel()
	w := newTestStudio(t)
	form := formValues(t, w.page(t, "/metrics/definitions/new", "First values", "such as 2026-08-10 12"), "profile")
	form.Set("name", "Leads")
	form.Set("unit", "currency_minor")
	form.Set("values", "2026-08-09 12.50\r\nmany")
	status, body := w.submit(t, "/metrics/definitions", form)
	checkContains(t, "refused", body, "is needed for money, such as EUR", "line 2", "2026-08-09 12.50")
	if status != http.StatusBadRequest || len(w.Send(t, w.key, "GET", "/v1/companies/{companyId}/metrics/definitions", "").Items(t)) != 0 {
		t.Errorf("status %d, want 400, and no metric", status)
	}
	form.Set("currency", "eur")
	form.Set("values", "2026-08-09 12.50\r\n2026-08-10\t13")
	_, body = w.submitRead(t, "/metrics/definitions", "profile", form)
	checkContains(t, "created", body, "Leads: Created with 2 values.")
	points := w.Send(t, w.key, "GET", "/v1/companies/{companyId}/metrics/points?metricKey=custom.leads&from=2026-08-01&to=2026-08-11", "").Items(t)
	if len(points) != 2 || recordDiff(map[string]any{"value": 1250.0, "currency": "EUR"}, points[0]) != "" {
		t.Errorf("stored points: %v", points)
	}
	form.Set("name", "Ratio")
	form.Set("key", "")
	form.Set("once", "another")
	form.Set("kind", "derived")
	form.Set("formula", "custom.leads / custom.leads")
	_, body = w.submit(t, "/metrics/definitions", form)
	checkContains(t, "derived", body, "must be empty, because a formula computes the values")
}

// Ensure a value is added only once and can be removed with undo. A form that is refused still
// shows what was typed.
func TestAddValue(t *testing.T) {
	t.Parallel()
	w := newTestStudio(t)
	w.Send(t, w.key, "POST", "/v1/companies/{companyId}/metrics/definitions", `{"key": "a.rate", "name": "Rate", "unit": "ratio", "aggregation": "avg", "kind": "split", "dimensions": ["plan"]}`)
	form := formValues(t, w.page(t, "/metrics/values?key=a.rate", "Add a value", "In percent", `<input autofocus id="value"`), "profile")
	form.Set("day", "2026-08-02")
	form.Set("value", "12.5")
	form.Set("dims", "plan = team\r\n")
	status, body := w.submit(t, "/metrics/values", form)
	if status != http.StatusOK {
		t.Fatalf("status %d, want 200: %s", status, visibleText(body))
	}
	checkContains(t, "add", body, "Rate: Sun, Aug 2, plan team, is 12.5 %.")
	if diff := recordDiff(map[string]any{"2026-08-02 team": 0.125}, w.values(t, "a.rate")); diff != "" {
		t.Errorf("values (-want +got):\n%s", diff)
	}
	status, again := w.submit(t, "/metrics/values", form)
	if status != http.StatusConflict {
		t.Errorf("status %d, want 409: there is a value already", status)
	}
	checkContains(t, "twice", again, "plan team", "12.5", "Sun, Aug 2 has a value already: 12.5 %.")
	form.Set("value", "14")
	_, again = w.submit(t, "/metrics/values", form)
	checkContains(t, "correction", again, "Sun, Aug 2 has a value already: 12.5 %. You typed 14, and it is not stored.")
	correction := fields(t, again, regexp.MustCompile(`method="post" id="(value-[^"]*)"`).FindStringSubmatch(again)[1])
	checkContains(t, "correction", again, `name="value" value="14" inputmode="decimal" required autofocus`)
	correction.Set("value", "14")
	_, again = w.submit(t, "/metrics/values", correction)
	checkContains(t, "corrected", again, "Rate: Sun, Aug 2, plan team, is 14 %, and was 12.5 %.")
	checkContains(t, "undo of the correction", w.undo(t, again), "Rate: Undone: Sun, Aug 2, plan team, is 12.5 % again.")
	checkContains(t, "undo of the first value", w.undo(t, body), "Rate: Undone: Sun, Aug 2, plan team, has no value again.")
	if got := w.values(t, "a.rate"); len(got) != 0 {
		t.Errorf("values after the undo: %v, want none", got)
	}
	form.Set("grain", "week")
	form.Set("value", "50")
	_, body = w.submit(t, "/metrics/values", form)
	checkContains(t, "week", body, "Rate: Jul 27 to Aug 2, plan team, is 50 %.")
	form.Set("day", "someday")
	form.Set("grain", "day")
	form.Set("dims", "plan")
	form.Set("value", "7")
	status, body = w.submit(t, "/metrics/values", form)
	if status != http.StatusBadRequest {
		t.Errorf("status %d, want 400: someday is no day: %s", status, visibleText(body))
	}
	checkContains(t, "refused", body, `value="7"`, "someday")
	if status, _ := w.get(t, "/metrics/values?key=a.nothing"); status != http.StatusNotFound {
		t.Errorf("status %d, want 404", status)
	}
}

// Ensure a derived metric is computed from the totals of its inputs, by day, week and month, and in
// the CSV file. If it cannot be computed, the page says why.
func TestDerivedMetric(t *testing.T) {
	t.Parallel()
	w := newTestStudio(t)
	for _, d := range []string{
		`{"key": "a.won", "name": "Won", "unit": "count", "aggregation": "sum"}`, `{"key": "a.seen", "name": "Seen", "unit": "count", "aggregation": "sum"}`,
		`{"key": "a.rate", "name": "Win rate", "unit": "ratio", "aggregation": "none", "kind": "derived", "formula": "a.won / a.seen", "polarity": "up_is_good"}`,
		`{"key": "a.lost", "name": "Lost", "unit": "count", "kind": "derived", "formula": "a.gone - a.won"}`,
		`{"key": "a.odd", "name": "Odd", "kind": "derived", "formula": "max(a.won, a.seen)"}`,
	} {
		w.Send(t, w.key, "POST", "/v1/companies/{companyId}/metrics/definitions", d)
	}
	w.Send(t, w.key, "POST", "/v1/companies/{companyId}/metrics/points", `{"points": [{"metricKey": "a.won", "ts": "2026-08-03", "value": 1}, {"metricKey": "a.seen", "ts": "2026-08-03", "value": 2},
		{"metricKey": "a.won", "ts": "2026-08-04", "value": 1}, {"metricKey": "a.seen", "ts": "2026-08-04", "value": 8}, {"metricKey": "a.seen", "ts": "2026-08-05", "value": 10}]}`)
	w.page(t, "/metrics?key=a.rate", "computed here from Won, Seen", "This month so far, computed 10 %", "50 %", "12.5 %")
	w.page(t, "/metrics?key=a.rate&grain=week", "computed here", "10 %")
	w.page(t, "/metrics.csv?key=a.rate", "2026-08-03,0.5,,ratio", "2026-08-04,0.125,,ratio", "2026-08-05,,,ratio")
	checkNotContains(t, "derived", w.page(t, "/metrics?key=a.rate"), "Add or correct a value", "/metrics/values")
	w.page(t, "/metrics?key=a.lost", "Not computed: there is no metric a.gone")
	w.page(t, "/metrics?key=a.odd", "Not computed", "is not expected there")
	w.page(t, "/metrics/values?key=a.rate", "correct their values instead")
}

// Ensure a long list of metrics is grouped and can be searched.
func TestManyMetrics(t *testing.T) {
	t.Parallel()
	w := newTestStudio(t)
	for _, key := range []string{"web.visits", "web.bounces", "app.opens", "app.crashes", "shop.orders", "shop.returns", "mail.sent", "mail.opened", "lonely"} {
		w.Send(t, w.key, "POST", "/v1/companies/{companyId}/metrics/definitions", `{"key": "`+key+`", "name": "The `+key+`"}`)
	}
	w.page(t, "/metrics", "Search 9 metrics", `<p class="area">shop</p>`, `<p class="area">Others</p>`)
	body := w.page(t, "/metrics?find=THE+opens&key=web.visits", "The app.opens")
	if n := strings.Count(body, `<li><a href="/metrics?`); n != 1 {
		t.Errorf("%d metrics are listed, want 1", n)
	}
	w.page(t, "/metrics?find=xylophone", "No metric has these words.")
}

// Ensure the form for a custom range keeps the dimension by which the metric is split, and sends
// none if it is not split.
func TestOtherDays(t *testing.T) {
	t.Parallel()
	w := newTestStudio(t)
	w.Send(t, w.key, "POST", "/v1/companies/{companyId}/metrics/definitions", `{"key": "a.money", "unit": "currency_minor", "aggregation": "sum"}`)
	w.Send(t, w.key, "POST", "/v1/companies/{companyId}/metrics/points", `{"points": [{"metricKey": "a.money", "ts": "2026-08-03", "value": 1, "currency": "EUR", "dims": {"shop": "a"}}, {"metricKey": "a.money", "ts": "2026-08-03", "value": 1, "currency": "JPY", "dims": {"shop": "b"}}]}`)
	checkNotContains(t, "apart", w.page(t, "/metrics?key=a.money", "they stay apart"), `name="split"`)
	checkContains(t, "split", w.page(t, "/metrics?key=a.money&split=shop"), `name="split" value="shop"`)
}

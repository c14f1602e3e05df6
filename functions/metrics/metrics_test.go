package metrics_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"growthworkspace/functions/metrics"
	"growthworkspace/shared/schema"
	"growthworkspace/shared/testkit/apitest"
	"growthworkspace/shared/transfer"
)

const (
	definitionsPath = "/v1/companies/{companyId}/metrics/definitions"
	pointsPath      = "/v1/companies/{companyId}/metrics/points"
)

func start(t *testing.T) (*apitest.Service, metrics.Store) {
	t.Helper()
	s := apitest.New(t, metrics.Operations)
	return s, metrics.NewStore(s.Table)
}

func transferType(t *testing.T, s *apitest.Service, name string) transfer.Type {
	t.Helper()
	for _, candidate := range metrics.Transfers(s.Table) {
		if candidate.Name == name {
			return candidate
		}
	}
	t.Fatalf("no type %s", name)
	return transfer.Type{}
}

// importLines imports records of one type in a single write. Each line is a record as JSON.
func importLines(t *testing.T, s *apitest.Service, companyID, name string, lines ...string) {
	t.Helper()
	into := transferType(t, s, name)
	var records []any
	for _, line := range lines {
		record, problems := into.Check(json.RawMessage(line))
		if len(problems) > 0 {
			t.Fatalf("record %s: problems %q, want none", line, problems)
		}
		records = append(records, record)
	}
	if err := into.Write(t.Context(), companyID, records); err != nil {
		t.Fatal(err)
	}
}

// exportRecords exports the records of one type, each as JSON.
func exportRecords(t *testing.T, s *apitest.Service, companyID, name string) (lines []string) {
	t.Helper()
	err := transferType(t, s, name).Export(t.Context(), companyID, func(record any) error {
		text, err := json.Marshal(record)
		lines = append(lines, string(text))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return lines
}

// listAll reads a list to its end and returns one field of each record, page by page. It calls
// `between` after every page.
func listAll(t *testing.T, s *apitest.Service, target string, field func(map[string]any) string, between func(page int)) (pages [][]string) {
	t.Helper()
	key := s.IssueKey(t)
	for next := target; next != ""; {
		r := s.Send(t, key, "GET", next, "")
		var page []string
		for _, item := range r.Items(t) {
			page = append(page, field(item))
		}
		pages = append(pages, page)
		link := r.Header.Get("Link")
		if more := r.Header.Get("Service-Has-More"); (more == "true") != (link != "") {
			t.Fatalf("Service-Has-More is %s but Link is %q", more, link)
		}
		next = ""
		if link != "" {
			u, err := url.Parse(strings.TrimPrefix(link[:strings.Index(link, ">")], "<"))
			if err != nil {
				t.Fatal(err)
			}
			next = u.RequestURI()
		}
		if between != nil {
			between(len(pages))
		}
	}
	return pages
}

func keyField(item map[string]any) string { return item["key"].(string) }

func definitionJSON(n int, key string, more string) string {
	return fmt.Sprintf(`{"id":"mdf_%d","key":%q%s}`, n, key, more)
}

func TestListDefinitions(t *testing.T) {
	t.Parallel()
	s, _ := start(t)
	importLines(t, s, s.CompanyID, "metric-definition",
		definitionJSON(5, "web.visits", `,"needsReview":false`),
		definitionJSON(1, "custom.signups", `,"needsReview":true,"createdAt":"2026-01-01T01:00:00+01:00"`),
		definitionJSON(4, "web", ``), // needsReview is null
		definitionJSON(2, "revenue.mrr", `,"name":"MRR","description":"a & b <c>","unit":"currency_minor","aggregation":"last","polarity":"up_is_good","kind":"derived","formula":"a.b * 2","dimensions":["plan","country"],"source":"billing","needsReview":false`),
		definitionJSON(3, "revenue.churn", `,"needsReview":true,"dimensions":[]`),
	)
	checkKeys := func(want ...string) func(*testing.T, apitest.Response) {
		return func(t *testing.T, r apitest.Response) {
			t.Helper()
			var got []string
			for _, item := range r.Items(t) {
				got = append(got, keyField(item))
			}
			if !slices.Equal(got, want) {
				t.Errorf("keys %v, want %v", got, want)
			}
		}
	}
	s.Run(t, []apitest.Scenario{
		{Name: "ordered by key", Op: "list_metric_definitions", Check: checkKeys("custom.signups", "revenue.churn", "revenue.mrr", "web", "web.visits")},
		{Name: "to review", Op: "list_metric_definitions", Args: map[string]any{"needsReview": "true"}, Check: checkKeys("custom.signups", "revenue.churn")},
		{Name: "reviewed", Op: "list_metric_definitions", Args: map[string]any{"needsReview": "false"}, Check: checkKeys("revenue.mrr", "web.visits")},
		{Name: "limit", Op: "list_metric_definitions", Args: map[string]any{"limit": 1}, Check: checkKeys("custom.signups")},
		{Name: "limit and filter", Op: "list_metric_definitions", Args: map[string]any{"limit": 200, "needsReview": "false"}, Check: checkKeys("revenue.mrr", "web.visits")},
		{Name: "other value", Op: "list_metric_definitions", Args: map[string]any{"needsReview": "yes"}, Want: 400, WantMessage: "query.needsReview: must be one of true, false"},
		{Name: "unknown filter", Op: "list_metric_definitions", Args: map[string]any{"unit": "count"}, Want: 400, WantMessage: "query.unit"},
	})
	// Ensure a record has exactly the fields of the specification, in the order of the
	// specification, and null for fields that have no value.
	r := s.Send(t, s.IssueKey(t), "GET", definitionsPath, "")
	for _, want := range []string{
		`{"id":"mdf_1","companyId":"` + s.CompanyID + `","key":"custom.signups","name":null,"description":null,"unit":null,"aggregation":null,"polarity":null,"kind":null,` +
			`"formula":null,"dimensions":null,"source":null,"needsReview":true,"createdAt":"2026-01-01T00:00:00.000Z","updatedAt":null}`,
		`"name":"MRR","description":"a & b <c>","unit":"currency_minor","aggregation":"last","polarity":"up_is_good","kind":"derived","formula":"a.b * 2","dimensions":["plan","country"],"source":"billing","needsReview":false,`,
		`"dimensions":[],`,
	} {
		if !strings.Contains(r.Body, want) {
			t.Errorf("no %s in %s", want, r.Body)
		}
	}
}

// Ensure pages have no gaps or repeats, with each filter and while definitions are added between
// pages.
func TestPageDefinitions(t *testing.T) {
	t.Parallel()
	apitest.SkipIfShort(t)
	s, _ := start(t)
	for i := range 12 {
		importLines(t, s, s.CompanyID, "metric-definition", definitionJSON(i, fmt.Sprintf("m.k%02d", i), fmt.Sprintf(`,"needsReview":%v`, i%2 == 0)))
	}
	for _, filter := range []string{"", "&needsReview=true", "&needsReview=false"} {
		whole := slices.Concat(listAll(t, s, definitionsPath+"?limit=200"+filter, keyField, nil)...)
		if want := 12; filter == "" && len(whole) != want || filter != "" && len(whole) != 6 {
			t.Fatalf("filter %q: %d definitions, want 12 without a filter and 6 with one: %v", filter, len(whole), whole)
		}
		for limit := 1; limit <= len(whole)+1; limit++ {
			pages := listAll(t, s, fmt.Sprintf("%s?limit=%d%s", definitionsPath, limit, filter), keyField, nil)
			if got := slices.Concat(pages...); !slices.Equal(got, whole) {
				t.Errorf("%s limit %d: %v", filter, limit, got)
			}
			if want := (len(whole) + limit - 1) / limit; len(pages) != want {
				t.Errorf("%s limit %d: %d pages, want %d", filter, limit, len(pages), want)
			}
		}
	}
	pages := listAll(t, s, definitionsPath+"?limit=6", keyField, func(page int) {
		if page == 1 {
			importLines(t, s, s.CompanyID, "metric-definition", definitionJSON(90, "m.a", ""), definitionJSON(91, "m.k07b", ""))
		}
	})
	want := []string{"m.k06", "m.k07", "m.k07b", "m.k08", "m.k09", "m.k10"}
	if len(pages) != 3 || !slices.Equal(pages[1], want) || !slices.Equal(pages[2], []string{"m.k11"}) {
		t.Errorf("pages %v, want 3, the second %q, the last m.k11", pages, want)
	}
}

// Ensure a cursor is valid only for the list and the filters that it came from.
func TestForeignCursor(t *testing.T) {
	t.Parallel()
	s, store := start(t)
	importLines(t, s, s.CompanyID, "metric-definition", definitionJSON(1, "a", `,"needsReview":true`), definitionJSON(2, "b", `,"needsReview":true`))
	putDays(t, store, s.CompanyID, "a", nil, "2026-01-01", 3)
	key := s.IssueKey(t)
	definitionCursor := cursorOf(t, s, key, definitionsPath+"?limit=1")
	pointCursor := cursorOf(t, s, key, pointsPath+"?metricKey=a&limit=1")
	for target, want := range map[string]int{
		definitionsPath + "?limit=2&cursor=" + definitionCursor:           200,
		definitionsPath + "?needsReview=true&cursor=" + definitionCursor:  400,
		definitionsPath + "?cursor=" + pointCursor:                        400,
		pointsPath + "?metricKey=a&limit=7&cursor=" + pointCursor:         200,
		pointsPath + "?metricKey=b&cursor=" + pointCursor:                 400,
		pointsPath + "?metricKey=a&grain=week&cursor=" + pointCursor:      400,
		pointsPath + "?metricKey=a&from=2026-01-01&cursor=" + pointCursor: 400,
		pointsPath + "?metricKey=a&to=2026-01-01&cursor=" + pointCursor:   400,
		pointsPath + "?metricKey=a&cursor=" + definitionCursor:            400,
		pointsPath + "?metricKey=a&cursor=x":                              400,
	} {
		r := s.Send(t, key, "GET", target, "")
		if r.Status != want {
			t.Errorf("%s: status %d, want %d: %s", target, r.Status, want, r.Body)
		}
		if _, messages := r.Messages(t); want == 400 && !strings.HasPrefix(messages[0], "query.cursor: ") {
			t.Errorf("%s: messages %q, want one about query.cursor", target, messages)
		}
	}
}

// Ensure a forged cursor is rejected or returns only records of the list, and never causes an
// internal error.
func TestForgedCursor(t *testing.T) {
	t.Parallel()
	s, store := start(t)
	importLines(t, s, s.CompanyID, "metric-definition", definitionJSON(1, "a", `,"needsReview":true`), definitionJSON(2, "b", `,"needsReview":true`))
	putDays(t, store, s.CompanyID, "a", nil, "2026-01-01", 3)
	key := s.IssueKey(t)
	for target, list := range map[string]struct {
		scope   schema.CursorScope
		refuses bool
	}{
		definitionsPath + "?limit=1":                  {schema.CursorScope{Operation: "list_metric_definitions"}, false},
		definitionsPath + "?limit=1&needsReview=true": {schema.CursorScope{Operation: "list_metric_definitions", Filters: []string{"needsReview=true"}}, false},
		pointsPath + "?metricKey=a&limit=1":           {schema.CursorScope{Operation: "list_metric_points", Filters: []string{"metricKey=a", "grain=day"}}, true},
	} {
		genuine := cursorOf(t, s, key, target)
		if r := s.Send(t, key, "GET", target+"&cursor="+genuine[:len(genuine)-4], ""); r.Status != 400 {
			t.Errorf("%s accepts a truncated cursor: %d %s", target, r.Status, r.Body)
		}
		for _, position := range []string{"~", "#", "\x00", "2026", "2026-01-02", "2026-01-02#x", "9999-99-99T00:00:00.000Z#x", "2026-01-02T00:00:00Z#x", strings.Repeat("a", 900)} {
			r := s.Send(t, key, "GET", target+"&cursor="+list.scope.Encode(position), "")
			if list.refuses && r.Status != 400 || !list.refuses && r.Status != 200 {
				t.Errorf("%s from %q: %d %s", target, position, r.Status, r.Body)
			}
		}
	}
}

// cursorOf returns the cursor of the second page of a list.
func cursorOf(t *testing.T, s *apitest.Service, key, target string) string {
	t.Helper()
	link := s.Send(t, key, "GET", target, "").Header.Get("Link")
	from, to := strings.Index(link, "<"), strings.Index(link, ">")
	if from < 0 || to < 0 {
		t.Fatalf("%s has no next page", target)
	}
	u, err := url.Parse(link[from+1 : to])
	if err != nil {
		t.Fatal(err)
	}
	return u.Query().Get("cursor")
}

// putDays stores n consecutive daily points with the values 0, 1, 2, … The first one is on the day
// `from`.
func putDays(t *testing.T, store metrics.Store, companyID, key string, dims json.RawMessage, from string, n int) {
	t.Helper()
	if err := store.PutPoints(context.WithoutCancel(t.Context()), companyID, consecutivePoints(t, key, metrics.GrainDay, dims, from, n), nil); err != nil {
		t.Fatal(err)
	}
}

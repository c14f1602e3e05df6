package optimise_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	"growthworkspace/functions/optimise"
	"growthworkspace/shared/table"
	"growthworkspace/shared/testkit/apitest"
)

// audits returns a variety of audits: with different sites and without one, with every status and
// without one. Some start times are equal, and some are null.
func audits() (out []optimise.Audit) {
	times := []*string{nil, new("2026-03-01T00:00:00.000Z"), new("2026-03-02T00:00:00.000Z"), new("1969-03-02T00:00:00.000Z")}
	for n := range 64 {
		a := optimise.Audit{AuditSummary: optimise.AuditSummary{ID: fmt.Sprintf("aud_%02d", n*37%64), StartedAt: times[n/4%4]}}
		if status := append(optimise.AuditStatus("").Values(), "")[n%4]; status != "" {
			a.Status = new(optimise.AuditStatus(status))
		}
		if site := []string{"sit_a", "sit_b", "sit_ab", ""}[n/16]; site != "" {
			a.SiteID = &site
		}
		out = append(out, a)
	}
	return out
}

// expectedIDs returns the ids that a list must return, in the order of the list.
func expectedIDs(audits []optimise.Audit, site, status string) []string {
	slices.SortFunc(audits, func(a, b optimise.Audit) int {
		switch {
		case (a.StartedAt == nil) != (b.StartedAt == nil):
			return cmp.Compare(valueOrZero(b.StartedAt), valueOrZero(a.StartedAt)) // null last
		case a.StartedAt != nil && *a.StartedAt != *b.StartedAt:
			return cmp.Compare(*b.StartedAt, *a.StartedAt)
		}
		return cmp.Compare(a.ID, b.ID)
	})
	ids := []string{}
	for _, a := range audits {
		if (site == "" || valueOrZero(a.SiteID) == site) && (status == "" || string(valueOrZero(a.Status)) == status) {
			ids = append(ids, a.ID)
		}
	}
	return ids
}

func valueOrZero[T ~string](s *T) (none T) {
	if s == nil {
		return none
	}
	return *s
}

func importAudits(t *testing.T, s *apitest.Service, audits ...optimise.Audit) {
	t.Helper()
	var records []any
	for _, a := range audits {
		records = append(records, a)
	}
	if err := transferType(t, s, "audit").Write(t.Context(), s.CompanyID, records); err != nil {
		t.Fatal(err)
	}
}

// forEachFilterCombination calls `do` with every combination of filters. An empty filter is not
// sent.
func forEachFilterCombination(do func(site, status string, arguments map[string]any)) {
	for _, site := range []string{"", "sit_a", "sit_b", "sit_ab", "sit_none"} {
		for _, status := range append(optimise.AuditStatus("").Values(), "") {
			arguments := map[string]any{}
			if site != "" {
				arguments["siteId"] = site
			}
			if status != "" {
				arguments["status"] = status
			}
			do(site, status, arguments)
		}
	}
}

// listAll reads all pages of a list and returns the ids of the audits. After each page except the
// last, it calls `between`. Each of these pages must be full.
func listAll(t *testing.T, s *apitest.Service, key string, arguments map[string]any, limit int, between func(page int)) (got []string) {
	t.Helper()
	arguments["limit"] = limit
	defer delete(arguments, "cursor")
	for page := 0; ; page++ {
		r := s.Call(t, key, "list_optimise_audits", arguments)
		found := ids(r.Items(t))
		got = append(got, found...)
		cursor, more := r.NextCursor(t)
		if !more {
			return got
		}
		if len(found) != limit {
			t.Fatalf("page %d of %v has %d audits, want %d", page, arguments, len(found), limit)
		}
		between(page)
		arguments["cursor"] = cursor
	}
}

// Ensure a list with any combination of filters contains each matching audit exactly once, with any
// page size. The newest audits must come first and those without a start time last. Audits with
// equal times must be sorted by id.
func TestAudits(t *testing.T) {
	t.Parallel()
	apitest.SkipIfShort(t)
	s := start(t)
	key := s.IssueKey(t)
	importAudits(t, s, audits()...)
	other := start(t)
	importAudits(t, other, optimise.Audit{AuditSummary: optimise.AuditSummary{ID: "aud_foreign", SiteID: new("sit_a")}})
	forEachFilterCombination(func(site, status string, arguments map[string]any) {
		want := expectedIDs(audits(), site, status)
		for _, limit := range []int{1, 3, max(1, len(want)), len(want) + 1} {
			if limit > 50 {
				continue
			}
			if got := listAll(t, s, key, arguments, limit, func(int) {}); !slices.Equal(got, want) {
				t.Errorf("site %q, status %q, limit %d:\n%v, want\n%v", site, status, limit, got, want)
			}
		}
		delete(arguments, "limit")
		if got := ids(s.Call(t, key, "list_optimise_audits", arguments).Items(t)); !slices.Equal(got, want[:min(20, len(want))]) {
			t.Errorf("site %q, status %q, no limit: %v", site, status, got)
		}
	})
}

// Ensure adding or deleting audits between two pages causes no repetitions or gaps.
func TestAuditsChangeBetweenPages(t *testing.T) {
	t.Parallel()
	apitest.SkipIfShort(t)
	forEachFilterCombination(func(site, status string, arguments map[string]any) {
		want := expectedIDs(audits(), site, status)
		if len(want) < 8 {
			return
		}
		s := start(t)
		importAudits(t, s, audits()...)
		gone := want[7]
		got := listAll(t, s, s.IssueKey(t), arguments, 3, func(page int) {
			if page != 1 { // pages 0 and 1 contain six audits
				return
			}
			newest := optimise.Audit{AuditSummary: optimise.AuditSummary{ID: "aud_new", StartedAt: new("2026-08-01T00:00:00.000Z")}}
			if site != "" {
				newest.SiteID = &site
			}
			if status != "" {
				newest.Status = new(optimise.AuditStatus(status))
			}
			importAudits(t, s, newest)
			last := table.Key{PK: table.Partition(s.CompanyID, "optimise"), SK: table.JoinKey("audit", want[5])} // the record that the cursor points to
			next := table.Key{PK: table.Partition(s.CompanyID, "optimise"), SK: table.JoinKey("audit", gone)}
			if err := s.Table.BatchDelete(t.Context(), []table.Key{last, next}); err != nil {
				t.Fatal(err)
			}
		})
		if want = slices.DeleteFunc(want, func(id string) bool { return id == gone }); !slices.Equal(got, want) {
			t.Errorf("site %q, status %q:\n%v, want\n%v", site, status, got, want)
		}
	})
}

func TestAuditArguments(t *testing.T) {
	t.Parallel()
	apitest.SkipIfShort(t)
	s := start(t)
	key := s.IssueKey(t)
	importAudits(t, s, audits()...)
	checkEmpty := func(t *testing.T, r apitest.Response) {
		if _, more := r.NextCursor(t); r.Body != `{"items":[]}` || more {
			t.Errorf("body %s, another page: %t; want no items and no other page", r.Body, more)
		}
	}
	scenarios := []apitest.Scenario{
		{Name: "limit 50", Op: "list_optimise_audits", Args: map[string]any{"limit": 50}, Check: func(t *testing.T, r apitest.Response) {
			if _, more := r.NextCursor(t); len(r.Items(t)) != 50 || !more {
				t.Errorf("%d audits, another page: %t; want 50 and another page", len(r.Items(t)), more)
			}
		}},
		{Name: "longest siteId", Op: "list_optimise_audits", Args: map[string]any{"siteId": strings.Repeat("é", 50)}, Check: checkEmpty},
		{Name: "siteId too long", Op: "list_optimise_audits", Args: map[string]any{"siteId": strings.Repeat("a", 51)}, Want: 400, WantMessage: "query.siteId: must have at most 50"},
		{Name: "siteId with U+0000", Op: "list_optimise_audits", Args: map[string]any{"siteId": "sit_a\x00"}, Want: 400, WantMessage: "query.siteId: must not have the character U+0000"},
		{Name: "status not in the list", Op: "list_optimise_audits", Args: map[string]any{"status": "done"}, Want: 400, WantMessage: "query.status: must be one of running, complete, failed"},
		{Name: "status of the index", Op: "list_optimise_audits", Args: map[string]any{"status": "none"}, Want: 400, WantMessage: "query.status: must be one of"},
		{Name: "unknown parameter", Op: "list_optimise_audits", Args: map[string]any{"site": "sit_a"}, Want: 400, WantMessage: "query.site: unknown parameter"},
		{Name: "not a cursor", Op: "list_optimise_audits", Args: map[string]any{"cursor": "x"}, Want: 400, WantMessage: "query.cursor: is not a cursor"},
	}
	for _, limit := range []any{0, 51, -1, 1.5, "x", ""} {
		scenarios = append(scenarios, apitest.Scenario{Name: fmt.Sprintf("limit %v", limit), Op: "list_optimise_audits", Args: map[string]any{"limit": limit}, Want: 400, WantMessage: "query.limit: must be"})
	}
	// An invalid siteId must match nothing and must not lead to a different partition.
	for _, site := range []string{"", "x", "sit_", "sit_A", "aud_00", "sit_a#running", "sit_a#none", "running", "failed", "none", "sit_a ", "sit_a\x01"} {
		scenarios = append(scenarios, apitest.Scenario{Name: fmt.Sprintf("siteId %q", site), Op: "list_optimise_audits", Args: map[string]any{"siteId": site}, Check: checkEmpty})
		scenarios = append(scenarios, apitest.Scenario{Name: fmt.Sprintf("siteId %q with status", site), Op: "list_optimise_audits", Args: map[string]any{"siteId": site, "status": "failed"}, Check: checkEmpty})
	}
	s.Run(t, scenarios)

	// A cursor must be valid only with the filters of the list that returned it.
	cursors := map[string]string{}
	forEachFilterCombination(func(site, status string, arguments map[string]any) {
		arguments["limit"] = 1
		cursor, _ := s.Call(t, key, "list_optimise_audits", arguments).NextCursor(t)
		cursors[site+" "+status] = cursor
	})
	forEachFilterCombination(func(site, status string, arguments map[string]any) {
		for filters, cursor := range cursors {
			want := 400
			if filters == site+" "+status {
				want = 200
			}
			if arguments["cursor"] = cursor; cursor == "" {
				continue
			}
			if r := s.Call(t, key, "list_optimise_audits", arguments); r.Status != want {
				t.Errorf("cursor of %q with %v: %d %s", filters, arguments, r.Status, r.Body)
			}
		}
	})
}

// Ensure the audits in a list have every field except findings, and that findings is the last field
// of a single audit.
func TestAuditFields(t *testing.T) {
	t.Parallel()
	s := start(t)
	importRecords(t, s, "audit", `{"id":"aud_0","findings":{"pages":[1]},"siteId":"sit_a","rootUrl":"https://a.example/%3Cb%3E","status":"complete","startedAt":"2026-03-01T01:00:00+01:00",
		"finishedAt":"2026-03-01T00:10:00Z","scoreSeo":91.5,"scoreAeo":0,"scoreGeo":100,"pagesAudited":12,"summary":"Fine & good","error":"","createdAt":"2026-03-01T00:00:00Z","updatedAt":"2026-03-02T00:00:00Z"}`)
	importRecords(t, s, "audit", `{"id":"aud_1"}`)
	full := `"id":"aud_0","companyId":"` + s.CompanyID + `","siteId":"sit_a","rootUrl":"https://a.example/%3Cb%3E","status":"complete","startedAt":"2026-03-01T00:00:00.000Z",` +
		`"finishedAt":"2026-03-01T00:10:00.000Z","scoreSeo":91.5,"scoreAeo":0,"scoreGeo":100,"pagesAudited":12,"summary":"Fine & good","error":"",` +
		`"createdAt":"2026-03-01T00:00:00.000Z","updatedAt":"2026-03-02T00:00:00.000Z"`
	null := `"id":"aud_1","companyId":"` + s.CompanyID + `","siteId":null,"rootUrl":null,"status":null,"startedAt":null,"finishedAt":null,"scoreSeo":null,"scoreAeo":null,` +
		`"scoreGeo":null,"pagesAudited":null,"summary":null,"error":null,"createdAt":null,"updatedAt":null`
	checkBody := func(want string) func(*testing.T, apitest.Response) {
		return func(t *testing.T, r apitest.Response) {
			if r.Body != want {
				t.Errorf("%s, want\n%s", r.Body, want)
			}
		}
	}
	var missing string
	s.Run(t, []apitest.Scenario{
		{Name: "list", Op: "list_optimise_audits", Check: checkBody(`{"items":[{` + full + `},{` + null + `}]}`)},
		{Name: "list by site", Op: "list_optimise_audits", Args: map[string]any{"siteId": "sit_a"}, Check: checkBody(`{"items":[{` + full + `}]}`)},
		{Name: "get", Op: "get_optimise_audit", Args: map[string]any{"auditId": "aud_0"}, Check: checkBody(`{` + full + `,"findings":{"pages":[1]}}`)},
		{Name: "get null", Op: "get_optimise_audit", Args: map[string]any{"auditId": "aud_1"}, Check: checkBody(`{` + null + `,"findings":null}`)},
		{Name: "no such audit", Op: "get_optimise_audit", Args: map[string]any{"auditId": "aud_9"}, Want: 404, WantCode: "not_found",
			Check: func(_ *testing.T, r apitest.Response) { missing = r.Body }},
	})
	other := start(t)
	key, foreign := s.IssueKey(t), other.IssueKey(t)
	for _, audit := range []string{"sit_a", "aud_", "aud_0#x", "AUD_0", "x", "%"} {
		if r := s.Call(t, key, "get_optimise_audit", map[string]any{"auditId": audit}); r.Status != 404 || r.Body != missing {
			t.Errorf("get %s: status %d, body %s; want 404 and %s", audit, r.Status, r.Body, missing)
		}
	}
	if r := other.Call(t, foreign, "get_optimise_audit", map[string]any{"auditId": "aud_0"}); r.Status != 404 || r.Body != missing {
		t.Errorf("another company's audit: %d %s", r.Status, r.Body)
	}
}

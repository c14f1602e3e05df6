package optimise_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"growthworkspace/shared/testkit/apitest"
)

// Ensure the list contains all sites, sorted by createdAt with null last, and then by id.
func TestSites(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.Run(t, []apitest.Scenario{{Name: "none", Op: "list_optimise_sites", Check: func(t *testing.T, r apitest.Response) {
		if r.Body != `{"items":[]}` {
			t.Errorf("body %s, want no items", r.Body)
		}
	}}})
	importRecords(t, s, "site",
		`{"id":"sit_a"}`,
		`{"id":"sit_d","createdAt":"2026-03-01T00:00:00Z"}`,
		`{"id":"sit_c","createdAt":"2026-03-01T00:00:00Z"}`,
		`{"id":"sit_b","name":"Shop","siteKey":"pk_site","domains":["a.example","b.example"],"timezone":"Europe/Vienna","active":false,
		  "lastEventAt":"2026-03-01T02:00:00+02:00","createdAt":"2026-02-01T00:00:00Z","updatedAt":"2026-02-02T00:00:00Z"}`)
	importRecords(t, s, "site-goal", `{"id":"gol_1","siteId":"sit_a"}`)
	importRecords(t, s, "audit", `{"id":"aud_1","siteId":"sit_a"}`)
	s.Run(t, []apitest.Scenario{
		{Name: "order", Op: "list_optimise_sites", Check: func(t *testing.T, r apitest.Response) {
			if diff := cmp.Diff([]string{"sit_b", "sit_c", "sit_d", "sit_a"}, ids(r.Items(t))); diff != "" {
				t.Errorf("sites (-want +got):\n%s", diff)
			}
			if _, more := r.NextCursor(t); more {
				t.Error("the list has a next page, want all sites in one response")
			}
		}},
		{Name: "fields", Op: "list_optimise_sites", Check: func(t *testing.T, r apitest.Response) {
			want := `{"items":[{"id":"sit_b","companyId":"` + s.CompanyID + `","name":"Shop","siteKey":"pk_site","domains":["a.example","b.example"],` +
				`"timezone":"Europe/Vienna","active":false,"lastEventAt":"2026-03-01T00:00:00.000Z","createdAt":"2026-02-01T00:00:00.000Z","updatedAt":"2026-02-02T00:00:00.000Z"},`
			if len(r.Body) < len(want) || r.Body[:len(want)] != want {
				t.Errorf("%s\nwant %s", r.Body, want)
			}
			last := r.Items(t)[3]
			empty := map[string]any{"fields": 10, "domains": nil, "active": nil, "createdAt": nil}
			got := map[string]any{"fields": len(last), "domains": last["domains"], "active": last["active"], "createdAt": last["createdAt"]}
			if diff := cmp.Diff(empty, got); diff != "" {
				t.Errorf("site %v (-want +got):\n%s", last, diff)
			}
		}},
		{Name: "no limit", Op: "list_optimise_sites", Args: map[string]any{"limit": 5}, Want: 400, WantMessage: "query.limit: unknown parameter"},
		{Name: "no such cursor", Op: "list_optimise_sites", Args: map[string]any{"cursor": "x"}, Want: 400, WantMessage: "query.cursor: is not a cursor of this list"},
	})
}

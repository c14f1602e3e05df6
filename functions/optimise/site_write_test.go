package optimise_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"growthworkspace/shared/testkit/apitest"
)

func TestCreateSite(t *testing.T) {
	t.Parallel()
	s := start(t)
	const op = "create_optimise_site"
	withField := func(name string, value any) map[string]any { return map[string]any{"name": "Shop", name: value} }
	longest := strings.Repeat("a", 63) + "." + strings.Repeat("b", 63) + "." + strings.Repeat("c", 63) + "." + strings.Repeat("d", 61)
	const host = "must be a host name without scheme, port or path"
	s.Run(t, []apitest.Scenario{
		{Name: "least", Op: op, Args: map[string]any{"name": "Shop"}, Check: func(t *testing.T, r apitest.Response) {
			site := r.JSON(t)
			key, _ := site["siteKey"].(string)
			if !regexp.MustCompile(`^pk_live_[0-9a-hjkmnp-tv-z]{26}$`).MatchString(key) {
				t.Errorf("siteKey %q", key)
			}
			want := fmt.Sprintf(`{"id":"%s","companyId":"%s","name":"Shop","siteKey":"%s","domains":null,"timezone":null,"active":true,"lastEventAt":null,`+
				`"createdAt":"2026-08-11T09:30:00.000Z","updatedAt":"2026-08-11T09:30:00.000Z"}`, site["id"], s.CompanyID, key)
			if r.Body != want || !strings.HasPrefix(site["id"].(string), "sit_") {
				t.Errorf("%s\nwant %s", r.Body, want)
			}
		}},
		{Name: "most", Op: op, Args: map[string]any{"name": strings.Repeat("ü", 200), "domains": []any{longest, "Shop.example"}, "timezone": "Asia/Calcutta", "active": false},
			WantFields: map[string]any{"name": strings.Repeat("ü", 200), "domains": []any{longest, "Shop.example"}, "timezone": "Asia/Calcutta", "active": false}},
		{Name: "no name", Op: op, Want: 400, WantMessage: "body.name: is required"},
		{Name: "empty name", Op: op, Args: withField("name", ""), Want: 400, WantMessage: "body.name: must not be empty"},
		{Name: "scheme", Op: op, Args: withField("domains", []any{"a.example", "https://a.example"}), Want: 400, WantMessage: "body.domains[1]: " + host},
		{Name: "port", Op: op, Args: withField("domains", []any{"a.example:80"}), Want: 400, WantMessage: "body.domains[0]: " + host},
		{Name: "path", Op: op, Args: withField("domains", []any{"a.example/"}), Want: 400, WantMessage: "body.domains[0]: " + host},
		{Name: "wildcard", Op: op, Args: withField("domains", []any{"*.a.example"}), Want: 400, WantMessage: "body.domains[0]: " + host},
		{Name: "empty domain", Op: op, Args: withField("domains", []any{""}), Want: 400, WantMessage: "body.domains[0]: " + host},
		{Name: "long domain", Op: op, Args: withField("domains", []any{longest + "d"}), Want: 400, WantMessage: "body.domains[0]: must have at most 253 characters, has 254"},
		{Name: "51 domains", Op: op, Args: withField("domains", slices.Repeat([]any{"a.example"}, 51)), Want: 400, WantMessage: "body.domains: must have at most 50 elements, has 51"},
		{Name: "no such zone", Op: op, Args: withField("timezone", "Europe/Nowhere"), Want: 400, WantMessage: "body.timezone: must be a name of the IANA time zone database"},
		{Name: "own key", Op: op, Args: withField("siteKey", "pk_live_1"), Want: 400, WantMessage: "body.siteKey: unknown property"},
		{Name: "nothing of these was stored", Op: "list_optimise_sites", Check: func(t *testing.T, r apitest.Response) {
			if items := r.Items(t); len(items) != 2 || items[0]["siteKey"] == items[1]["siteKey"] {
				t.Errorf("body %s, want 2 sites with keys that differ", r.Body)
			}
		}},
	})
}

func TestUpdateSite(t *testing.T) {
	t.Parallel()
	s := start(t)
	storeUnchecked(t, s, "site", `{"id":"sit_1","name":"Shop","siteKey":"pk_old","domains":["not a host"],"active":true,"lastEventAt":"2026-01-01T00:00:00.000Z","updatedAt":"2026-01-01T00:00:00.000Z"}`)
	s.Clock.Advance(time.Hour)
	const op = "update_optimise_site"
	args := func(name string, value any) map[string]any { return map[string]any{"siteId": "sit_1", name: value} }
	s.Run(t, []apitest.Scenario{
		{Name: "one property", Op: op, Args: args("name", "Web shop"), WantFields: map[string]any{
			"name": "Web shop", "siteKey": "pk_old", "domains": []any{"not a host"}, "active": true, "lastEventAt": "2026-01-01T00:00:00.000Z", "updatedAt": "2026-08-11T10:30:00.000Z",
		}},
		{Name: "another", Op: op, Args: args("domains", []any{"a.example"}), WantFields: map[string]any{"domains": []any{"a.example"}}},
		{Name: "clear", Op: op, Args: args("domains", nil), WantFields: map[string]any{"domains": nil}},
		{Name: "the key never changes", Op: op, Args: args("siteKey", "pk_new"), Want: 400, WantMessage: "body.siteKey: unknown property"},
		{Name: "bad domain", Op: op, Args: args("domains", []any{"a b"}), Want: 400, WantMessage: "body.domains[0]: must be a host name"},
		{Name: "no such site", Op: op, Args: map[string]any{"siteId": "sit_none", "name": "A"}, Want: 404},
		{Name: "stored", Op: "get_optimise_site", Args: map[string]any{"siteId": "sit_1"}, WantFields: map[string]any{"name": "Web shop", "domains": nil, "siteKey": "pk_old"}},
	})
}

// Ensure a company can create at most 200 sites, and at most 200 goals for each site, whatever the
// number of goals on other sites.
func TestCollectionLimits(t *testing.T) {
	t.Parallel()
	s := start(t)
	key := s.IssueKey(t)
	var sites, goals []string
	for n := range 198 {
		sites = append(sites, fmt.Sprintf(`{"id":"sit_%d"}`, n))
		goals = append(goals, fmt.Sprintf(`{"id":"gol_%d","siteId":"sit_0"}`, n), fmt.Sprintf(`{"id":"gol_x%d","siteId":"sit_1"}`, n))
	}
	importRecords(t, s, "site", sites...)
	importRecords(t, s, "site-goal", goals...)
	for op, c := range map[string]struct {
		args    map[string]any
		message string
	}{
		"create_optimise_site": {map[string]any{"name": "A"}, "there are 200 sites already, which is the limit; delete one first"},
		"create_optimise_goal": {
			map[string]any{"siteId": "sit_0", "name": "A", "kind": "path", "matchType": "exact", "pattern": "/"},
			"there are 200 goals of this site already, which is the limit; delete one first",
		},
	} {
		for _, want := range []int{200, 200, 409, 409} {
			r := s.Call(t, key, op, c.args)
			if r.Status != want {
				t.Errorf("%s: status %d, want %d: %s", op, r.Status, want, r.Body)
			}
			if want == 409 {
				if code, messages := r.Messages(t); code != "conflict" || messages[0] != c.message {
					t.Errorf("%s: code %s and messages %q, want conflict and %q", op, code, messages, c.message)
				}
			}
		}
	}
}

// Ensure creating a goal on a deleted site gets not_found, even if an interrupted removal of the
// site has left as many goals as a site may have.
func TestRemoveSiteWithManyGoals(t *testing.T) {
	t.Parallel()
	s := start(t)
	var goals []string
	for n := range 200 {
		goals = append(goals, fmt.Sprintf(`{"id":"gol_%d","siteId":"sit_gone"}`, n))
	}
	storeOrphanGoals(t, s, "sit_gone", goals...)
	args := map[string]any{"siteId": "sit_gone", "name": "A", "kind": "path", "matchType": "exact", "pattern": "/"}
	if r := s.Call(t, s.IssueKey(t), "create_optimise_goal", args); r.Status != 404 {
		t.Errorf("create of a goal without a site: status %d, want 404: %s", r.Status, r.Body)
	}
}

// Ensure deleting a site also deletes its goals and nothing else, and that a second delete gets
// not_found.
func TestDeleteSite(t *testing.T) {
	t.Parallel()
	s := start(t)
	key := s.IssueKey(t)
	importRecords(t, s, "site", `{"id":"sit_a"}`, `{"id":"sit_b"}`)
	importRecords(t, s, "audit", `{"id":"aud_1","siteId":"sit_a"}`)
	var goals []string
	for n := range 200 { // more than one batch of deletes
		goals = append(goals, fmt.Sprintf(`{"id":"gol_%03d","siteId":"sit_a"}`, n))
	}
	importRecords(t, s, "site-goal", append(goals, `{"id":"gol_b","siteId":"sit_b"}`)...)
	if r := s.Call(t, key, "delete_optimise_site", map[string]any{"siteId": "sit_a"}); r.Body != `{"id":"sit_a","deleted":true}` {
		t.Errorf("delete: status %d, body %s; want the id of the deleted site", r.Status, r.Body)
	}
	if diff := cmp.Diff([]string{"audit#aud_1", "goal#gol_b", "site#sit_b"}, sortKeysIn(t, s)); diff != "" {
		t.Errorf("stored keys (-want +got):\n%s", diff)
	}
	for op, args := range map[string]map[string]any{
		"delete_optimise_site": {"siteId": "sit_a"}, "get_optimise_site": {"siteId": "sit_a"}, "list_optimise_goals": {"siteId": "sit_a"},
		"get_optimise_goal":    {"siteId": "sit_a", "goalId": "gol_000"},
		"create_optimise_goal": {"siteId": "sit_a", "name": "A", "kind": "path", "matchType": "exact", "pattern": "/"},
	} {
		if r := s.Call(t, key, op, args); r.Status != 404 {
			t.Errorf("%s of a deleted site: status %d, want 404: %s", op, r.Status, r.Body)
		}
	}
}

// Ensure only the delete operation finds a half-removed site. All other operations must find
// neither the site nor its goals.
func TestPartiallyRemovedSite(t *testing.T) {
	t.Parallel()
	s := start(t)
	key := s.IssueKey(t)
	storeOrphanGoals(t, s, "sit_gone", `{"id":"gol_1","siteId":"sit_gone"}`)
	goalArgs := map[string]any{"siteId": "sit_gone", "goalId": "gol_1"}
	for op, args := range map[string]map[string]any{
		"get_optimise_goal": goalArgs, "delete_optimise_goal": goalArgs, "list_optimise_goals": {"siteId": "sit_gone"},
		"update_optimise_goal": {"siteId": "sit_gone", "goalId": "gol_1", "name": "A"},
	} {
		if r := s.Call(t, key, op, args); r.Status != 404 {
			t.Errorf("%s of a goal without a site: status %d, want 404: %s", op, r.Status, r.Body)
		}
	}
	if got := sortKeysIn(t, s); !slices.Equal(got, []string{"goal#gol_1"}) {
		t.Errorf("stored keys %q, want goal#gol_1", got)
	}
}

// Ensure that of two concurrent deletes of a site, at least one succeeds and nothing is left. A
// goal that is created at the same time must not outlive its site.
func TestSiteRaces(t *testing.T) {
	t.Parallel()
	rounds := 100
	if testing.Short() {
		rounds = 5
	}
	s := start(t)
	key := s.IssueKey(t)
	outcomes := map[string]int{}
	for n := range rounds {
		s.Clock.Advance(time.Minute)
		siteID := fmt.Sprintf("sit_%d", n)
		importRecords(t, s, "site", `{"id":"`+siteID+`"}`)
		importRecords(t, s, "site-goal", fmt.Sprintf(`{"id":"gol_%d","siteId":%q}`, n, siteID))
		goal := map[string]any{"siteId": siteID, "name": "A", "kind": "path", "matchType": "exact", "pattern": "/"}
		calls := []struct {
			op   string
			args map[string]any
		}{
			{"delete_optimise_site", map[string]any{"siteId": siteID}}, {"create_optimise_goal", goal},
			{"delete_optimise_site", map[string]any{"siteId": siteID}}, {"create_optimise_goal", goal},
			{"update_optimise_site", map[string]any{"siteId": siteID, "name": "Late"}},
		}
		statuses := make([]int, len(calls))
		var wg sync.WaitGroup
		for i, c := range calls {
			wg.Go(func() { statuses[i] = s.Call(t, key, c.op, c.args).Status })
		}
		wg.Wait()
		for i, got := range statuses {
			if got != 200 && got != 404 {
				t.Errorf("round %d: %s: %d", n, calls[i].op, got)
			}
		}
		if (statuses[0] == 200) == (statuses[2] == 200) {
			t.Errorf("round %d: the deletes are %d and %d", n, statuses[0], statuses[2])
		}
		outcomes[fmt.Sprint(statuses)]++
		if left := sortKeysIn(t, s); len(left) != 0 {
			t.Fatalf("round %d, %v: left: %v", n, statuses, left)
		}
	}
	t.Logf("%d rounds: %v", rounds, outcomes)
}

package optimise_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"growthworkspace/functions/optimise"
	"growthworkspace/shared/testkit/apitest"
)

// Ensure a list contains the goals of its site, sorted by the field `order` with null last, and
// then by id.
func TestGoals(t *testing.T) {
	t.Parallel()
	s := start(t)
	importRecords(t, s, "site", `{"id":"sit_a"}`, `{"id":"sit_b"}`, `{"id":"sit_ab"}`)
	importRecords(t, s, "site-goal",
		`{"id":"gol_9","siteId":"sit_a","order":-2,"name":"Signed up","kind":"path","matchType":"regex","pattern":"^/a#b$","value":1e-3,"active":true,
		  "createdAt":"2026-02-01T00:00:00Z","updatedAt":"2026-02-02T00:00:00Z"}`,
		`{"id":"gol_1","siteId":"sit_a"}`,
		`{"id":"gol_0","siteId":"sit_a"}`,
		`{"id":"gol_3","siteId":"sit_a","order":10}`,
		`{"id":"gol_5","siteId":"sit_a","order":2}`,
		`{"id":"gol_4","siteId":"sit_a","order":2}`,
		`{"id":"gol_8","siteId":"sit_a","order":-20}`,
		`{"id":"gol_7","siteId":"sit_b","order":1}`)
	storeOrphanGoals(t, s, "sit_gone", `{"id":"gol_x","siteId":"sit_gone","order":1}`)
	missing := apitest.Response{}
	s.Run(t, []apitest.Scenario{
		{Name: "order", Op: "list_optimise_goals", Args: map[string]any{"siteId": "sit_a"}, Check: func(t *testing.T, r apitest.Response) {
			want := []string{"gol_8", "gol_9", "gol_4", "gol_5", "gol_3", "gol_0", "gol_1"}
			if got := ids(r.Items(t)); !slices.Equal(got, want) {
				t.Errorf("%v, want %v", got, want)
			}
			if _, more := r.NextCursor(t); more {
				t.Error("the list has a next page, want all goals in one response")
			}
		}},
		{Name: "fields", Op: "list_optimise_goals", Args: map[string]any{"siteId": "sit_a"}, Check: func(t *testing.T, r apitest.Response) {
			want := map[string]any{
				"id": "gol_9", "companyId": s.CompanyID, "siteId": "sit_a", "name": "Signed up", "kind": "path", "matchType": "regex", "pattern": "^/a#b$",
				"value": 0.001, "order": -2.0, "active": true, "createdAt": "2026-02-01T00:00:00.000Z", "updatedAt": "2026-02-02T00:00:00.000Z",
			}
			got := r.Items(t)[1]
			for name := range want {
				if got[name] != want[name] {
					t.Errorf("%s is %v, want %v", name, got[name], want[name])
				}
			}
			if len(got) != len(want) {
				t.Errorf("%d fields, want %d: %v", len(got), len(want), got)
			}
		}},
		{Name: "a site without goals", Op: "list_optimise_goals", Args: map[string]any{"siteId": "sit_ab"}, Check: func(t *testing.T, r apitest.Response) {
			if r.Body != `{"items":[]}` {
				t.Errorf("body %s, want no items", r.Body)
			}
		}},
		{Name: "no such site", Op: "list_optimise_goals", Args: map[string]any{"siteId": "sit_none"}, Want: 404, WantCode: "not_found",
			Check: func(_ *testing.T, r apitest.Response) { missing = r }},
		{Name: "no limit", Op: "list_optimise_goals", Args: map[string]any{"siteId": "sit_a", "limit": 5}, Want: 400, WantMessage: "query.limit: unknown parameter"},
	})
	other := start(t)
	key, foreign := s.IssueKey(t), other.IssueKey(t)
	for _, site := range []string{"sit_gone", "gol_9", "aud_1", "x", "sit_a#sit_b", "sit_A", "%"} { // sit_gone has goals but does not exist
		if r := s.Call(t, key, "list_optimise_goals", map[string]any{"siteId": site}); r.Status != 404 || r.Body != missing.Body {
			t.Errorf("goals of %s: status %d, body %s; want 404 and %s", site, r.Status, r.Body, missing.Body)
		}
	}
	if r := other.Call(t, foreign, "list_optimise_goals", map[string]any{"siteId": "sit_a"}); r.Status != 404 || r.Body != missing.Body {
		t.Errorf("another company's site: %d %s", r.Status, r.Body)
	}
}

// Ensure importing a goal again with a different site or order moves it to its new position in the
// lists.
func TestGoalMoves(t *testing.T) {
	t.Parallel()
	s := start(t)
	key := s.IssueKey(t)
	importRecords(t, s, "site", `{"id":"sit_a"}`, `{"id":"sit_b"}`)
	importRecords(t, s, "site-goal", `{"id":"gol_1","siteId":"sit_a","order":1}`, `{"id":"gol_2","siteId":"sit_a","order":2}`, `{"id":"gol_3","siteId":"sit_a","order":3}`)
	importRecords(t, s, "site-goal", `{"id":"gol_1","siteId":"sit_b"}`, `{"id":"gol_3","siteId":"sit_a","order":9}`, `{"id":"gol_3","siteId":"sit_a","order":1}`)
	for site, want := range map[string][]string{"sit_a": {"gol_3", "gol_2"}, "sit_b": {"gol_1"}} {
		if got := ids(s.Call(t, key, "list_optimise_goals", map[string]any{"siteId": site}).Items(t)); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", site, got, want)
		}
	}
}

// otherOrder is a transport that reverses the records of each batch of reads.
type otherOrder struct{}

func (otherOrder) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := apitest.Transport.RoundTrip(r)
	if err != nil || !strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".BatchGetItem") {
		return response, err
	}
	defer response.Body.Close()
	var batch map[string]any
	if err := json.NewDecoder(response.Body).Decode(&batch); err != nil {
		return nil, err
	}
	for _, records := range batch["Responses"].(map[string]any) {
		slices.Reverse(records.([]any))
	}
	body, err := json.Marshal(batch)
	response.Body, response.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	response.Header.Del("X-Amz-Crc32") // it is the checksum of the other order
	return response, err
}

// Ensure a goal is found in whichever order DynamoDB returns it and its site.
func TestGoalAndSiteInAnyOrder(t *testing.T) {
	t.Parallel()
	for name, transport := range map[string]http.RoundTripper{"one order": nil, "the other": otherOrder{}} {
		s := apitest.NewWithTransport(t, optimise.Operations, transport)
		importRecords(t, s, "site", `{"id":"sit_1"}`)
		importRecords(t, s, "site-goal", `{"id":"gol_1","siteId":"sit_1","name":"Sign-up"}`)
		r := s.Call(t, s.IssueKey(t), "get_optimise_goal", map[string]any{"siteId": "sit_1", "goalId": "gol_1"})
		if r.Status != 200 {
			t.Errorf("%s: status %d: %s", name, r.Status, r.Body)
		}
	}
}

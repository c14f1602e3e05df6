package optimise_test

import (
	"strings"
	"testing"
	"time"

	"growthworkspace/functions/optimise"
	"growthworkspace/shared/testkit/apitest"
)

func TestCreateGoal(t *testing.T) {
	t.Parallel()
	s := start(t)
	importRecords(t, s, "site", `{"id":"sit_a"}`)
	const op = "create_optimise_goal"
	withField := func(name string, value any) map[string]any {
		args := map[string]any{"siteId": "sit_a", "name": "Bought", "kind": "path", "matchType": "exact", "pattern": "/thanks"}
		if args[name] = value; value == nil {
			delete(args, name)
		}
		return args
	}
	withPattern := func(match, pattern string) map[string]any {
		args := withField("matchType", match)
		args["pattern"] = pattern
		return args
	}
	s.Run(t, []apitest.Scenario{
		{Name: "least", Op: op, Args: withField("value", nil), WantFields: map[string]any{
			"companyId": s.CompanyID, "siteId": "sit_a", "name": "Bought", "kind": "path", "matchType": "exact", "pattern": "/thanks", "value": nil, "order": nil,
			"active": true, "createdAt": "2026-08-11T09:30:00.000Z", "updatedAt": "2026-08-11T09:30:00.000Z",
		}},
		{Name: "most", Op: op, Args: map[string]any{
			"siteId": "sit_a", "name": strings.Repeat("n", 200), "kind": "event", "matchType": "regex", "pattern": `^a|b\d+$`, "value": -0.5, "order": -3, "active": false,
		}, WantFields: map[string]any{"kind": "event", "matchType": "regex", "pattern": `^a|b\d+$`, "value": -0.5, "order": -3, "active": false}},
		{Name: "pattern of 500", Op: op, Args: withField("pattern", strings.Repeat("é", 500)), WantFields: map[string]any{"pattern": strings.Repeat("é", 500)}},
		{Name: "pattern of 501", Op: op, Args: withField("pattern", strings.Repeat("é", 501)), Want: 400, WantMessage: "body.pattern: must have at most 500 characters, has 501"},
		{Name: "empty pattern", Op: op, Args: withField("pattern", ""), Want: 400, WantMessage: "body.pattern: must not be empty"},
		{Name: "no pattern", Op: op, Args: withField("pattern", nil), Want: 400, WantMessage: "body.pattern: is required"},
		{Name: "no kind", Op: op, Args: withField("kind", nil), Want: 400, WantMessage: "body.kind: is required"},
		{Name: "no match", Op: op, Args: withField("matchType", nil), Want: 400, WantMessage: "body.matchType: is required"},
		{Name: "no name", Op: op, Args: withField("name", nil), Want: 400, WantMessage: "body.name: is required"},
		{Name: "no regex", Op: op, Args: withPattern("regex", "a("), Want: 400, WantMessage: "body.pattern: with matchType regex, pattern must be a regular expression of RE2: error parsing regexp: missing closing )"},
		{Name: "not of RE2", Op: op, Args: withPattern("regex", `(?=a)`), Want: 400, WantMessage: "body.pattern: with matchType regex"},
		{Name: "a parenthesis elsewhere", Op: op, Args: withPattern("contains", "a("), WantFields: map[string]any{"pattern": "a("}},
		{Name: "order is whole", Op: op, Args: withField("order", 1.5), Want: 400, WantMessage: "body.order: must be a whole number"},
		{Name: "all problems", Op: op, Args: map[string]any{"siteId": "sit_a", "name": "", "kind": "page", "matchType": "regex", "pattern": "["}, Want: 400,
			WantMessage: "body.name: must not be empty\nbody.kind: must be one of path, event\nbody.pattern: with matchType regex"},
		{Name: "no such site", Op: op, Args: withField("siteId", "sit_none"), Want: 404, WantCode: "not_found"},
		{Name: "nothing else was stored", Op: "list_optimise_goals", Args: map[string]any{"siteId": "sit_a"}, Check: func(t *testing.T, r apitest.Response) {
			if n := len(r.Items(t)); n != 4 {
				t.Errorf("%d goals: %s", n, r.Body)
			}
		}},
	})
}

// Ensure an update checks the resulting pattern and matchType together, even if it changes only one
// of them. A goal must be found only under its site.
func TestUpdateGoal(t *testing.T) {
	t.Parallel()
	s := start(t)
	importRecords(t, s, "site", `{"id":"sit_a"}`, `{"id":"sit_b"}`)
	importRecords(t, s, "site-goal",
		`{"id":"gol_1","siteId":"sit_a","name":"Bought","kind":"path","matchType":"exact","pattern":"a(","value":2,"order":1,"active":true,"updatedAt":"2026-01-01T00:00:00Z"}`)
	storeUnchecked(t, s, "site-goal", `{"id":"gol_2","siteId":"sit_a","matchType":"regex","pattern":"b("}`)
	s.Clock.Advance(time.Hour)
	const op = "update_optimise_goal"
	args := func(more ...any) map[string]any {
		out := map[string]any{"siteId": "sit_a", "goalId": "gol_1"}
		for i := 0; i < len(more); i += 2 {
			out[more[i].(string)] = more[i+1]
		}
		return out
	}
	s.Run(t, []apitest.Scenario{
		{Name: "only the match", Op: op, Args: args("matchType", "regex"), Want: 400, WantMessage: "body.matchType: with matchType regex, pattern must be a regular expression of RE2"},
		{Name: "match and a bad pattern", Op: op, Args: args("matchType", "regex", "pattern", "c("), Want: 400, WantMessage: "body.pattern: with matchType regex"},
		{Name: "unchanged", Op: "get_optimise_goal", Args: args(), WantFields: map[string]any{"matchType": "exact", "pattern": "a(", "updatedAt": "2026-01-01T00:00:00.000Z"}},
		{Name: "both", Op: op, Args: args("matchType", "regex", "pattern", "a+"), WantFields: map[string]any{"matchType": "regex", "pattern": "a+", "value": 2, "updatedAt": "2026-08-11T10:30:00.000Z"}},
		{Name: "only the pattern", Op: op, Args: args("pattern", "["), Want: 400, WantMessage: "body.pattern: with matchType regex"},
		{Name: "back", Op: op, Args: args("matchType", "prefix", "pattern", "["), WantFields: map[string]any{"matchType": "prefix", "pattern": "["}},
		{Name: "clear", Op: op, Args: args("value", nil, "order", nil), WantFields: map[string]any{"value": nil, "order": nil}},
		{Name: "an imported pattern stays until it is changed", Op: op, Args: map[string]any{"siteId": "sit_a", "goalId": "gol_2", "name": "Old"}, WantFields: map[string]any{"name": "Old", "pattern": "b("}},
		{Name: "another site", Op: op, Args: map[string]any{"siteId": "sit_b", "goalId": "gol_1", "name": "A"}, Want: 404},
		{Name: "read at another site", Op: "get_optimise_goal", Args: map[string]any{"siteId": "sit_b", "goalId": "gol_1"}, Want: 404},
		{Name: "delete at another site", Op: "delete_optimise_goal", Args: map[string]any{"siteId": "sit_b", "goalId": "gol_1"}, Want: 404},
		{Name: "the site's own id", Op: "get_optimise_goal", Args: map[string]any{"siteId": "sit_a", "goalId": "sit_a"}, Want: 404},
		{Name: "delete", Op: "delete_optimise_goal", Args: args(), WantFields: map[string]any{"id": "gol_1", "deleted": true}},
		{Name: "again", Op: "delete_optimise_goal", Args: args(), Want: 404},
	})
}

// Ensure updating the order of a goal moves the goal in its site's list.
func TestUpdateGoalMoves(t *testing.T) {
	t.Parallel()
	s := start(t)
	key := s.IssueKey(t)
	importRecords(t, s, "site", `{"id":"sit_a"}`)
	importRecords(t, s, "site-goal", `{"id":"gol_1","siteId":"sit_a","order":1}`, `{"id":"gol_2","siteId":"sit_a","order":2}`)
	s.Call(t, key, "update_optimise_goal", map[string]any{"siteId": "sit_a", "goalId": "gol_1", "order": 7})
	if got := strings.Join(ids(s.Call(t, key, "list_optimise_goals", map[string]any{"siteId": "sit_a"}).Items(t)), " "); got != "gol_2 gol_1" {
		t.Errorf("goals %q, want gol_2 gol_1", got)
	}
}

// Ensure an update or delete of a goal gets not_found and does not change the goal if a concurrent
// import moves it to another site.
func TestConcurrentGoalMove(t *testing.T) {
	t.Parallel()
	for _, op := range []string{"update_optimise_goal", "delete_optimise_goal"} {
		plain := start(t)
		importRecords(t, plain, "site", `{"id":"sit_a"}`, `{"id":"sit_b"}`)
		importRecords(t, plain, "site-goal", `{"id":"gol_1","siteId":"sit_a","name":"Old"}`)
		key := plain.IssueKey(t)
		transport := &apitest.BeforeMatch{
			Matches: func(c apitest.Call) bool {
				return !strings.HasPrefix(c.Action, "Get") && c.Action != "Query" && strings.Contains(c.Body, "goal#gol_1")
			},
			Run: func() { importRecords(t, plain, "site-goal", `{"id":"gol_1","siteId":"sit_b","name":"Moved"}`) },
		}
		s := apitest.NewWithTransport(t, optimise.Operations, transport)
		s.CompanyID = plain.CompanyID
		args := map[string]any{"siteId": "sit_a", "goalId": "gol_1"}
		if op == "update_optimise_goal" {
			args["name"] = "New"
		}
		if r := s.Call(t, key, op, args); r.Status != 404 {
			t.Errorf("%s: status %d, want 404: %s", op, r.Status, r.Body)
		}
		if r := plain.Call(t, key, "get_optimise_goal", map[string]any{"siteId": "sit_b", "goalId": "gol_1"}); r.Status != 200 || r.JSON(t)["name"] != "Moved" {
			t.Errorf("after %s: status %d, want 200 with the name Moved: %s", op, r.Status, r.Body)
		}
	}
}

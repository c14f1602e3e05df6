package brand_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	brand "growthworkspace/functions/context"
	"growthworkspace/shared/testkit/apitest"
)

// Ensure goals are listed oldest first and then by id. Goals without createdAt must come last. Each
// goal must have exactly the fields of the specification, in the same order.
func TestListGoals(t *testing.T) {
	t.Parallel()
	s := start(t)
	importLines(t, s, "brand-goal", s.CompanyID,
		`{"id":"bgl_e"}`, `{"id":"bgl_d"}`,
		`{"id":"bgl_c","createdAt":"2026-01-02T00:00:00.001Z"}`, `{"id":"bgl_b","createdAt":"2026-01-02T00:00:00Z"}`, `{"id":"bgl_a","createdAt":"2026-01-02T00:00:00Z"}`,
		`{"id":"bgl_z","name":"Reach","description":"d","metricKey":"web.visits","baselineValue":1.5,"targetValue":-2,"dueAt":"2026-06-01T00:00:00+02:00","status":"active","priority":1,"createdAt":"2026-01-02T00:30:00+01:00","updatedAt":"2026-01-03T00:00:00Z"}`)
	want := []string{"bgl_z", "bgl_a", "bgl_b", "bgl_c", "bgl_d", "bgl_e"}
	for _, limit := range []int{1, 4, 6, 200} {
		if got := listAll(t, s, "list_context_goals", limit); !slices.Equal(got, want) {
			t.Errorf("limit %d: %v, want %v", limit, got, want)
		}
	}
	r := s.Call(t, s.IssueKey(t), "list_context_goals", map[string]any{"limit": 1})
	wantBody := `{"items":[{"id":"bgl_z","companyId":"` + s.CompanyID + `","name":"Reach","description":"d","metricKey":"web.visits","baselineValue":1.5,"targetValue":-2,` +
		`"dueAt":"2026-05-31T22:00:00.000Z","status":"active","priority":1,"createdAt":"2026-01-01T23:30:00.000Z","updatedAt":"2026-01-03T00:00:00.000Z"}]}`
	if strings.TrimSpace(r.Body) != wantBody {
		t.Errorf("got %s\nwant %s", r.Body, wantBody)
	}
}

func TestCreateGoal(t *testing.T) {
	t.Parallel()
	s := start(t)
	withField := func(name string, value any) map[string]any { return map[string]any{"name": "Reach", name: value} }
	long := strings.Repeat("ü", 2000)
	const wrongKey = "body.metricKey: must match ^[a-z][a-z0-9_]*(\\.[a-z0-9_]+)*$"
	s.Run(t, []apitest.Scenario{
		{Name: "least", Op: "create_context_goal", Args: map[string]any{"name": "Reach"}, Check: func(t *testing.T, r apitest.Response) {
			id := r.JSON(t)["id"].(string)
			want := `{"id":"` + id + `","companyId":"` + s.CompanyID + `","name":"Reach","description":null,"metricKey":null,"baselineValue":null,"targetValue":null,` +
				`"dueAt":null,"status":"active","priority":null,"createdAt":"2026-08-11T09:30:00.000Z","updatedAt":"2026-08-11T09:30:00.000Z"}`
			if strings.TrimSpace(r.Body) != want || !strings.HasPrefix(id, "bgl_") {
				t.Errorf("got %s\nwant %s", r.Body, want)
			}
		}},
		{Name: "most", Op: "create_context_goal",
			Args: map[string]any{"name": long[:400], "description": long, "metricKey": "custom." + strings.Repeat("a", 120), "baselineValue": 1.5, "targetValue": -2e9,
				"dueAt": "2026-12-31T23:30:00.5-01:00", "status": "missed", "priority": -7},
			WantFields: map[string]any{"name": long[:400], "description": long, "metricKey": "custom." + strings.Repeat("a", 120), "baselineValue": 1.5, "targetValue": -2e9,
				"dueAt": "2027-01-01T00:30:00.500Z", "status": "missed", "priority": -7.0}},
		{Name: "null is left out", Op: "create_context_goal", Args: map[string]any{"name": "Null", "description": nil, "metricKey": nil, "dueAt": nil, "status": nil, "priority": nil},
			WantFields: map[string]any{"description": nil, "metricKey": nil, "status": "active", "priority": nil}},
		{Name: "no name", Op: "create_context_goal", Want: 400, WantMessage: "body.name: is required"},
		{Name: "empty name", Op: "create_context_goal", Args: withField("name", ""), Want: 400, WantMessage: "body.name: must not be empty"},
		{Name: "null name", Op: "create_context_goal", Args: withField("name", nil), Want: 400, WantMessage: "body.name: must not be null"},
		{Name: "name too long", Op: "create_context_goal", Args: withField("name", long[:402]), Want: 400, WantMessage: "body.name: must have at most 200 characters, has 201"},
		{Name: "description too long", Op: "create_context_goal", Args: withField("description", long+"x"), Want: 400, WantMessage: "body.description: must have at most 2000"},
		{Name: "metricKey of another form", Op: "create_context_goal", Args: withField("metricKey", "Growth"), Want: 400, WantMessage: wrongKey},
		{Name: "empty metricKey", Op: "create_context_goal", Args: withField("metricKey", ""), Want: 400, WantMessage: wrongKey},
		{Name: "metricKey too long", Op: "create_context_goal", Args: withField("metricKey", strings.Repeat("a", 128)), Want: 400, WantMessage: "body.metricKey: must have at most 127"},
		{Name: "values that are no numbers", Op: "create_context_goal", Args: map[string]any{"name": "Reach", "baselineValue": "1", "targetValue": true}, Want: 400,
			WantMessage: "body.baselineValue: must be a number\nbody.targetValue: must be a number"},
		{Name: "values that DynamoDB cannot store", Op: "create_context_goal", Args: map[string]any{"name": "Reach", "baselineValue": 1e200, "targetValue": 1e-200}, Want: 400, Check: checkMessageCount(2)},
		{Name: "dueAt is a day", Op: "create_context_goal", Args: withField("dueAt", "2026-12-31"), Want: 400, WantMessage: "body.dueAt: must be an RFC 3339 time"},
		{Name: "another status", Op: "create_context_goal", Args: withField("status", "done"), Want: 400, WantMessage: "body.status: must be one of active, achieved, missed, archived"},
		{Name: "priority with a fraction", Op: "create_context_goal", Args: withField("priority", 1.5), Want: 400, WantMessage: "body.priority: must be a whole number"},
		{Name: "unknown property", Op: "create_context_goal", Args: withField("id", "bgl_1"), Want: 400, WantMessage: "body.id: unknown property"},
		{Name: "all problems at once", Op: "create_context_goal", Args: map[string]any{"name": "", "metricKey": "A", "dueAt": "x", "status": "x", "priority": "x", "x": 1}, Want: 400, Check: checkMessageCount(6)},
		{Name: "nothing of these was stored", Op: "list_context_goals", Check: func(t *testing.T, r apitest.Response) {
			if n := len(r.Items(t)); n != 3 {
				t.Errorf("%d goals, want 3", n)
			}
		}},
	})
}

func TestUpdateGoal(t *testing.T) {
	t.Parallel()
	s := start(t)
	importLines(t, s, "brand-goal", s.CompanyID,
		`{"id":"bgl_1","name":"Reach","metricKey":"web.visits","targetValue":2,"status":"active","createdAt":"2026-01-01T00:00:00Z","updatedAt":"2026-01-01T00:00:00Z"}`,
		`{"id":"bgl_2"}`)
	s.Clock.Advance(time.Hour)
	args := func(name string, value any) map[string]any { return map[string]any{"goalId": "bgl_1", name: value} }
	unchanged := map[string]any{"updatedAt": "2026-01-01T00:00:00.000Z"}
	scenarios := []apitest.Scenario{
		{Name: "get", Op: "get_context_goal", Args: map[string]any{"goalId": "bgl_1"}, WantFields: map[string]any{"id": "bgl_1", "name": "Reach", "targetValue": 2.0}},
		{Name: "empty", Op: "update_context_goal", Args: map[string]any{"goalId": "bgl_1"}, WantFields: unchanged},
		{Name: "same value", Op: "update_context_goal", Args: args("targetValue", 2), WantFields: unchanged},
		{Name: "null clears what is clear", Op: "update_context_goal", Args: args("dueAt", nil), WantFields: unchanged},
		{Name: "empty name", Op: "update_context_goal", Args: args("name", ""), Want: 400, WantMessage: "body.name: must not be empty"},
		{Name: "null name", Op: "update_context_goal", Args: args("name", nil), Want: 400, WantMessage: "body.name: must not be null"},
		{Name: "null status", Op: "update_context_goal", Args: args("status", nil), Want: 400, WantMessage: "body.status: must not be null"},
		{Name: "another status", Op: "update_context_goal", Args: args("status", "done"), Want: 400, WantMessage: "body.status: must be one of"},
		{Name: "metricKey of another form", Op: "update_context_goal", Args: args("metricKey", "web visits"), Want: 400, WantMessage: "body.metricKey: must match"},
		{Name: "priority with a fraction", Op: "update_context_goal", Args: args("priority", 0.5), Want: 400, WantMessage: "body.priority: must be a whole number"},
		{Name: "unknown property", Op: "update_context_goal", Args: args("createdAt", "x"), Want: 400, WantMessage: "body.createdAt: unknown property"},
		{Name: "nothing of these was stored", Op: "get_context_goal", Args: map[string]any{"goalId": "bgl_1"}, WantFields: unchanged},
		{Name: "null clears", Op: "update_context_goal", Args: map[string]any{"goalId": "bgl_1", "metricKey": nil, "targetValue": nil},
			WantFields: map[string]any{"name": "Reach", "metricKey": nil, "targetValue": nil, "status": "active", "createdAt": "2026-01-01T00:00:00.000Z", "updatedAt": "2026-08-11T10:30:00.000Z"}},
		{Name: "all fields", Op: "update_context_goal",
			Args: map[string]any{"goalId": "bgl_1", "name": "N", "description": "D", "metricKey": "a.b", "baselineValue": 0, "targetValue": 4.5,
				"dueAt": "2026-12-31T00:00:00+01:00", "status": "active", "priority": 2},
			WantFields: map[string]any{"name": "N", "description": "D", "metricKey": "a.b", "baselineValue": 0.0, "targetValue": 4.5,
				"dueAt": "2026-12-30T23:00:00.000Z", "status": "active", "priority": 2.0}},
		{Name: "an imported goal without a name", Op: "update_context_goal", Args: map[string]any{"goalId": "bgl_2", "status": "archived"}, WantFields: map[string]any{"name": nil, "status": "archived"}},
		{Name: "400 before 404", Op: "update_context_goal", Args: map[string]any{"goalId": "bgl_none", "priority": "x"}, Want: 400},
	}
	s.Run(t, append(scenarios, apitest.AllTransitions("update_context_goal", args, brand.GoalStatus("").Values())...))
}

// Ensure no operation finds a deleted goal or content type. A second delete must return 404, just
// like the delete of an id that never existed.
func TestDelete(t *testing.T) {
	t.Parallel()
	s := start(t)
	importLines(t, s, "brand-goal", s.CompanyID, `{"id":"bgl_1","name":"G"}`, `{"id":"bgl_2"}`)
	importLines(t, s, "content-type", s.CompanyID, `{"id":"cty_1","name":"T"}`, `{"id":"cty_2"}`)
	key := s.IssueKey(t)
	for _, tt := range []struct{ noun, list, argument, id, kept, foreign string }{
		{"context_goal", "list_context_goals", "goalId", "bgl_1", "bgl_2", "cty_2"},
		{"context_content_type", "list_context_content_types", "contentTypeId", "cty_1", "cty_2", "bgl_2"},
	} {
		call := func(verb, id string) apitest.Response {
			return s.Call(t, key, verb+"_"+tt.noun, map[string]any{tt.argument: id})
		}
		missing := call("delete", tt.foreign)
		if missing.Status != 404 {
			t.Errorf("%s of another kind: %d %s", tt.noun, missing.Status, missing.Body)
		}
		if r := call("delete", tt.id); r.Status != 200 || strings.TrimSpace(r.Body) != `{"id":"`+tt.id+`","deleted":true}` {
			t.Errorf("delete %s: status %d, want 200 with its id: %s", tt.noun, r.Status, r.Body)
		}
		for _, verb := range []string{"get", "update", "delete"} {
			if r := call(verb, tt.id); r.Status != 404 || r.Body != missing.Body {
				t.Errorf("%s a deleted %s: %d %s", verb, tt.noun, r.Status, r.Body)
			}
		}
		if got := listAll(t, s, tt.list, 1); !slices.Equal(got, []string{tt.kept}) {
			t.Errorf("%s: ids %v, want %s", tt.list, got, tt.kept)
		}
	}
}

// Ensure a company can create up to 200 goals and 200 content types. After a delete it can create
// another one, and an import may exceed the limit. A create that succeeded before the limit was
// reached must still be replayed afterwards.
func TestCollectionBounds(t *testing.T) {
	t.Parallel()
	s := start(t)
	key := s.IssueKey(t)
	for _, tt := range []struct{ kind, prefix, noun, argument, what string }{
		{"brand-goal", "bgl", "context_goal", "goalId", "brand goals"},
		{"content-type", "cty", "context_content_type", "contentTypeId", "content types"},
	} {
		var lines []string
		for n := range 199 {
			lines = append(lines, fmt.Sprintf(`{"id":"%s_%d","description":%q}`, tt.prefix, n, strings.Repeat("x", 2000)))
		}
		importLines(t, s, tt.kind, s.CompanyID, lines...)
		create := func(idempotencyKey string) apitest.Response {
			args := map[string]any{"name": "N", "Idempotency-Key": idempotencyKey}
			if tt.kind == "content-type" {
				args["active"] = true
			}
			return s.Call(t, key, "create_"+tt.noun, args)
		}
		last := create("a") // the 200th
		full := create("b")
		if last.Status != 200 || full.Status != 409 || !strings.Contains(full.Body, "there are 200 "+tt.what+" already, which is the limit") {
			t.Errorf("%s: %d %s, then %d %s", tt.kind, last.Status, last.Body, full.Status, full.Body)
		}
		if again := create("a"); again.Status != 200 || again.Body != last.Body {
			t.Errorf("%s: the 200th again: %d %s", tt.kind, again.Status, again.Body)
		}
		importLines(t, s, tt.kind, s.CompanyID, `{"id":"`+tt.prefix+`_imported"}`)
		remove := func(id string) {
			if r := s.Call(t, key, "delete_"+tt.noun, map[string]any{tt.argument: id}); r.Status != 200 {
				t.Errorf("delete %s: status %d, want 200: %s", id, r.Status, r.Body)
			}
		}
		remove(tt.prefix + "_0")
		if r := create("c"); r.Status != 409 {
			t.Errorf("%s: beside 200: %d %s", tt.kind, r.Status, r.Body)
		}
		remove(tt.prefix + "_1")
		if r := create("d"); r.Status != 200 {
			t.Errorf("%s: beside 199: %d %s", tt.kind, r.Status, r.Body)
		}
	}
}

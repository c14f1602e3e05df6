package broadcast_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"growthworkspace/functions/broadcast"
	"growthworkspace/shared/testkit/apitest"
)

// listCountScenario returns a scenario that checks the number of records in a list, to show that
// rejected creates have stored nothing.
func listCountScenario(list string, n int) apitest.Scenario {
	return apitest.Scenario{Name: "nothing of these was stored", Op: list, Check: func(t *testing.T, r apitest.Response) {
		if got := len(r.Items(t)); got != n {
			t.Errorf("%d records, want %d", got, n)
		}
	}}
}

// checkMessageCount returns a function that checks that an error lists n problems.
func checkMessageCount(n int) func(*testing.T, apitest.Response) {
	return func(t *testing.T, r apitest.Response) {
		if _, messages := r.Messages(t); len(messages) != n {
			t.Errorf("%d messages, want %d: %q", len(messages), n, messages)
		}
	}
}

func TestCreatePlan(t *testing.T) {
	t.Parallel()
	s := start(t)
	withField := func(name string, value any) record { return record{"name": "Spring", name: value} }
	long := strings.Repeat("ü", 2000)
	const create = "create_broadcast_plan"
	full := record{
		"name": long[:400], "brief": long, "objective": long, "goalId": "bgl_" + strings.Repeat("a", 40), "audience": long, "platforms": []any{"x", "push"},
		"contentTypeIds": []any{"cty_1", "cty_" + strings.Repeat("z", 40)}, "cadence": long[:400], "status": "archived",
		"startsAt": "2026-09-01T00:30:00+01:00", "endsAt": "2026-08-31T23:30:00Z",
	}
	stored := record{}
	for name, value := range full {
		stored[name] = value
	}
	stored["startsAt"], stored["endsAt"] = "2026-08-31T23:30:00.000Z", "2026-08-31T23:30:00.000Z"
	var many []any
	for range 51 {
		many = append(many, "x")
	}
	s.Run(t, []apitest.Scenario{
		{Name: "least", Op: create, Args: record{"name": "Spring"}, Check: func(t *testing.T, r apitest.Response) {
			id := r.JSON(t)["id"].(string)
			want := `{"id":"` + id + `","companyId":"` + s.CompanyID + `","name":"Spring","brief":null,"objective":null,"goalId":null,"audience":null,"platforms":null,` +
				`"contentTypeIds":null,"cadence":null,"status":"draft","startsAt":null,"endsAt":null,"createdAt":"2026-08-11T09:30:00.000Z","updatedAt":"2026-08-11T09:30:00.000Z"}`
			if strings.TrimSpace(r.Body) != want || !strings.HasPrefix(id, "pln_") {
				t.Errorf("got %s\nwant %s", r.Body, want)
			}
		}},
		{Name: "most; an end at the start", Op: create, Args: full, WantFields: stored},
		{Name: "empty lists", Op: create, Args: record{"name": "Empty", "platforms": []any{}, "contentTypeIds": []any{}}, WantFields: record{"platforms": []any{}, "contentTypeIds": []any{}}},
		{Name: "no name", Op: create, Want: 400, WantMessage: "body.name: is required"},
		{Name: "empty name", Op: create, Args: withField("name", ""), Want: 400, WantMessage: "body.name: must not be empty"},
		{Name: "null name", Op: create, Args: withField("name", nil), Want: 400, WantMessage: "body.name: must not be null"},
		{Name: "name too long", Op: create, Args: withField("name", long[:402]), Want: 400, WantMessage: "body.name: must have at most 200 characters, has 201"},
		{Name: "brief too long", Op: create, Args: withField("brief", long+"x"), Want: 400, WantMessage: "body.brief: must have at most 2000 characters, has 2001"},
		{Name: "objective too long", Op: create, Args: withField("objective", long+"x"), Want: 400, WantMessage: "body.objective: must have at most 2000"},
		{Name: "audience too long", Op: create, Args: withField("audience", long+"x"), Want: 400, WantMessage: "body.audience: must have at most 2000"},
		{Name: "cadence too long", Op: create, Args: withField("cadence", long[:402]), Want: 400, WantMessage: "body.cadence: must have at most 200"},
		{Name: "goalId of another kind", Op: create, Args: withField("goalId", "gol_1"), Want: 400, WantMessage: "body.goalId: must match ^bgl_[0-9a-z]{1,40}$"},
		{Name: "goalId too long", Op: create, Args: withField("goalId", "bgl_"+strings.Repeat("a", 41)), Want: 400, WantMessage: "body.goalId: must match"},
		{Name: "goalId empty", Op: create, Args: withField("goalId", ""), Want: 400, WantMessage: "body.goalId: must match"},
		{Name: "content type of another form", Op: create, Args: withField("contentTypeIds", []any{"cty_1", "Tip"}), Want: 400, WantMessage: "body.contentTypeIds[1]: must match ^cty_[0-9a-z]{1,40}$"},
		{Name: "a platform that posts have not", Op: create, Args: withField("platforms", []any{"x", "blog"}), Want: 400, WantMessage: "body.platforms[1]: must be one of x, instagram, tiktok, facebook, reddit, push"},
		{Name: "too many platforms", Op: create, Args: withField("platforms", many), Want: 400, WantMessage: "body.platforms: must have at most 50 elements, has 51"},
		{Name: "another status", Op: create, Args: withField("status", "done"), Want: 400, WantMessage: "body.status: must be one of draft, active, paused, complete, archived"},
		{Name: "a day is no time", Op: create, Args: withField("startsAt", "2026-09-01"), Want: 400, WantMessage: "body.startsAt: must be an RFC 3339 time"},
		{Name: "ends before it starts", Op: create, Args: record{"name": "P", "startsAt": "2026-09-01T00:30:00+01:00", "endsAt": "2026-08-31T23:29:59.999Z"}, Want: 400, WantMessage: "body.endsAt: must not be before startsAt"},
		{Name: "unknown property", Op: create, Args: withField("id", "pln_1"), Want: 400, WantMessage: "body.id: unknown property"},
		{Name: "all problems at once", Op: create, Args: record{"name": "", "goalId": "x", "platforms": []any{"y"}, "startsAt": "x", "endsAt": "2026-01-01T00:00:00Z", "status": "x", "x": 1}, Want: 400, Check: checkMessageCount(6)},
		listCountScenario("list_broadcast_plans", 3),
	})
}

func TestUpdatePlan(t *testing.T) {
	t.Parallel()
	s := start(t)
	importRecords(t, s, "content-plan",
		record{
			"id": "pln_1", "name": "Spring", "platforms": []any{"x"}, "startsAt": "2026-03-01T00:00:00Z", "endsAt": "2026-05-31T00:00:00Z", "status": "active",
			"createdAt": "2026-01-01T00:00:00Z", "updatedAt": "2026-01-01T00:00:00Z",
		})
	storeUnchecked(t, s, "content-plan", record{"id": "pln_2", "platforms": []any{"blog"}, "startsAt": "2026-03-01T00:00:00.000Z", "endsAt": "2026-01-01T00:00:00.000Z"})
	s.Clock.Advance(time.Hour)
	const update = "update_broadcast_plan"
	withField := func(name string, value any) record { return record{"planId": "pln_1", name: value} }
	unchanged := record{"updatedAt": "2026-01-01T00:00:00.000Z", "startsAt": "2026-03-01T00:00:00.000Z", "endsAt": "2026-05-31T00:00:00.000Z"}
	scenarios := []apitest.Scenario{
		{Name: "get", Op: "get_broadcast_plan", Args: record{"planId": "pln_1"}, WantFields: record{"id": "pln_1", "name": "Spring", "status": "active"}},
		{Name: "get: no such plan", Op: "get_broadcast_plan", Args: record{"planId": "pln_none"}, Want: 404},
		{Name: "get: an id of another kind", Op: "get_broadcast_plan", Args: record{"planId": "ida_1"}, Want: 404},
		{Name: "empty", Op: update, Args: record{"planId": "pln_1"}, WantFields: unchanged},
		{Name: "same values", Op: update, Args: record{"planId": "pln_1", "name": "Spring", "platforms": []any{"x"}, "startsAt": "2026-03-01T01:00:00+01:00"}, WantFields: unchanged},
		{Name: "null clears what is clear", Op: update, Args: withField("brief", nil), WantFields: unchanged},
		{Name: "empty name", Op: update, Args: withField("name", ""), Want: 400, WantMessage: "body.name: must not be empty"},
		{Name: "null name", Op: update, Args: withField("name", nil), Want: 400, WantMessage: "body.name: must not be null"},
		{Name: "null status", Op: update, Args: withField("status", nil), Want: 400, WantMessage: "body.status: must not be null"},
		{Name: "another platform", Op: update, Args: withField("platforms", []any{"blog"}), Want: 400, WantMessage: "body.platforms[0]: must be one of x"},
		{Name: "a goal of another form", Op: update, Args: withField("goalId", "launch"), Want: 400, WantMessage: "body.goalId: must match"},
		{Name: "an end before the stored start", Op: update, Args: withField("endsAt", "2026-02-28T23:59:59.999Z"), Want: 400, WantMessage: "body.endsAt: must not be before startsAt, 2026-03-01T00:00:00.000Z"},
		{Name: "a start after the stored end", Op: update, Args: withField("startsAt", "2026-05-31T00:00:00.001Z"), Want: 400, WantMessage: "body.startsAt: must not be after endsAt, 2026-05-31T00:00:00.000Z"},
		{Name: "an end before the start that is sent", Op: update, Args: record{"planId": "pln_1", "startsAt": "2027-01-01T00:00:00Z", "endsAt": "2026-12-31T00:00:00Z"}, Want: 400, WantMessage: "body.endsAt: must not be before startsAt, 2027-01-01T00:00:00.000Z"},
		{Name: "unknown property", Op: update, Args: withField("createdAt", "x"), Want: 400, WantMessage: "body.createdAt: unknown property"},
		{Name: "no such plan", Op: update, Args: record{"planId": "pln_none", "name": "N"}, Want: 404},
		{Name: "400 before 404", Op: update, Args: record{"planId": "pln_none", "status": "x"}, Want: 400},
		{Name: "nothing of these was stored", Op: "get_broadcast_plan", Args: record{"planId": "pln_1"}, WantFields: unchanged},
		{Name: "both move past the old end", Op: update, Args: record{"planId": "pln_1", "startsAt": "2027-01-01T00:00:00Z", "endsAt": "2027-01-01T00:00:00Z"}, WantFields: record{"endsAt": "2027-01-01T00:00:00.000Z", "updatedAt": "2026-08-11T10:30:00.000Z", "createdAt": "2026-01-01T00:00:00.000Z"}},
		{Name: "without an end it may start at any time", Op: update, Args: record{"planId": "pln_1", "startsAt": "2030-01-01T00:00:00Z", "endsAt": nil}, WantFields: record{"startsAt": "2030-01-01T00:00:00.000Z", "endsAt": nil}},
		{Name: "an old plan that ends before it starts", Op: update, Args: record{"planId": "pln_2", "name": "N"}, WantFields: record{"name": "N", "platforms": []any{"blog"}}},
		{Name: "its period can be mended", Op: update, Args: record{"planId": "pln_2", "endsAt": "2026-03-01T00:00:00Z", "platforms": nil}, WantFields: record{"endsAt": "2026-03-01T00:00:00.000Z", "platforms": nil}},
	}
	s.Run(t, append(scenarios, apitest.AllTransitions(update, withField, broadcast.PlanStatus("").Values())...))
}

// Ensure no operation finds a deleted plan or idea. A second delete must return 404, just like the
// delete of an id that never existed. An idea must keep the id of its plan after the plan is
// deleted.
func TestDeletePlansAndIdeas(t *testing.T) {
	t.Parallel()
	s := start(t)
	importRecords(t, s, "content-plan", record{"id": "pln_1", "name": "P"}, record{"id": "pln_2"})
	importRecords(t, s, "content-idea", record{"id": "ida_1", "planId": "pln_1"}, record{"id": "ida_2", "planId": "pln_1", "status": "accepted"})
	key := s.IssueKey(t)
	for _, tt := range []struct{ noun, argument, id, foreign string }{
		{"broadcast_plan", "planId", "pln_1", "ida_2"},
		{"broadcast_idea", "ideaId", "ida_1", "pln_2"},
	} {
		call := func(verb, id string) apitest.Response {
			return s.Call(t, key, verb+"_"+tt.noun, record{tt.argument: id})
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
	}
	if got := idsOf(s.Call(t, key, "list_broadcast_plans", nil).Items(t)); !slices.Equal(got, []string{"pln_2"}) {
		t.Errorf("plans %v, want pln_2", got)
	}
	if got := idsOf(s.Call(t, key, "list_broadcast_ideas", record{"planId": "pln_1"}).Items(t)); !slices.Equal(got, []string{"ida_2"}) {
		t.Error("ideas of the deleted plan:", got)
	}
}

// Ensure a company can create at most 200 plans, and can create another one after a delete. The
// limit must not apply to imports. A create that succeeded must be replayed even when the company
// has reached the limit.
func TestPlansBound(t *testing.T) {
	t.Parallel()
	s := start(t)
	key := s.IssueKey(t)
	var plans []record
	for n := range 199 {
		plans = append(plans, record{"id": fmt.Sprintf("pln_%d", n), "brief": strings.Repeat("x", 2000)})
	}
	importRecords(t, s, "content-plan", plans...)
	create := func(idempotencyKey string) apitest.Response {
		return s.Call(t, key, "create_broadcast_plan", record{"name": "N", "Idempotency-Key": idempotencyKey})
	}
	last := create("a") // the 200th
	full := create("b")
	if last.Status != 200 || full.Status != 409 || !strings.Contains(full.Body, "there are 200 content plans already, which is the limit") {
		t.Errorf("%d %s, then %d %s", last.Status, last.Body, full.Status, full.Body)
	}
	if again := create("a"); again.Status != 200 || again.Body != last.Body {
		t.Errorf("the 200th again: %d %s", again.Status, again.Body)
	}
	importRecords(t, s, "content-plan", record{"id": "pln_imported"})
	for n, want := range []int{409, 200} { // there are 201 plans, so only the second delete makes room for a new one
		if r := s.Call(t, key, "delete_broadcast_plan", record{"planId": fmt.Sprintf("pln_%d", n)}); r.Status != 200 {
			t.Errorf("delete pln_%d: status %d, want 200: %s", n, r.Status, r.Body)
		}
		if r := create(fmt.Sprint(n)); r.Status != want {
			t.Errorf("create %d: %d %s", n, r.Status, r.Body)
		}
	}
}

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

func TestCreateIdea(t *testing.T) {
	t.Parallel()
	s := start(t)
	withField := func(name string, value any) record { return record{"title": "A day in the office", name: value} }
	long := strings.Repeat("ü", 2000)
	const create = "create_broadcast_idea"
	full := record{
		"title": long[:400], "planId": "pln_" + strings.Repeat("a", 40), "contentTypeId": "cty_1", "summary": long, "rationale": long, "platforms": []any{"push", "x"},
		"sourceKind": "roadmap", "sourceId": long[:400], "suggestedFor": "2026-09-01T00:30:00+01:00", "status": "rejected",
	}
	stored := record{}
	for name, value := range full {
		stored[name] = value
	}
	stored["suggestedFor"] = "2026-08-31T23:30:00.000Z"
	s.Run(t, []apitest.Scenario{
		{Name: "least", Op: create, Args: record{"title": "T"}, Check: func(t *testing.T, r apitest.Response) {
			id := r.JSON(t)["id"].(string)
			want := `{"id":"` + id + `","companyId":"` + s.CompanyID + `","planId":null,"contentTypeId":null,"title":"T","summary":null,"rationale":null,"platforms":null,` +
				`"sourceKind":"manual","sourceId":null,"suggestedFor":null,"status":"suggested","createdAt":"2026-08-11T09:30:00.000Z","updatedAt":"2026-08-11T09:30:00.000Z"}`
			if strings.TrimSpace(r.Body) != want || !strings.HasPrefix(id, "ida_") {
				t.Errorf("got %s\nwant %s", r.Body, want)
			}
		}},
		{Name: "most", Op: create, Args: full, WantFields: stored},
		{Name: "no title", Op: create, Want: 400, WantMessage: "body.title: is required"},
		{Name: "empty title", Op: create, Args: withField("title", ""), Want: 400, WantMessage: "body.title: must not be empty"},
		{Name: "null title", Op: create, Args: withField("title", nil), Want: 400, WantMessage: "body.title: must not be null"},
		{Name: "title too long", Op: create, Args: withField("title", long[:402]), Want: 400, WantMessage: "body.title: must have at most 200 characters, has 201"},
		{Name: "summary too long", Op: create, Args: withField("summary", long+"x"), Want: 400, WantMessage: "body.summary: must have at most 2000"},
		{Name: "rationale too long", Op: create, Args: withField("rationale", long+"x"), Want: 400, WantMessage: "body.rationale: must have at most 2000"},
		{Name: "sourceId too long", Op: create, Args: withField("sourceId", long[:402]), Want: 400, WantMessage: "body.sourceId: must have at most 200"},
		{Name: "planId of another kind", Op: create, Args: withField("planId", "ida_1"), Want: 400, WantMessage: "body.planId: must match ^pln_[0-9a-z]{1,40}$"},
		{Name: "planId with the separator of keys", Op: create, Args: withField("planId", "pln_1#accepted"), Want: 400, WantMessage: "body.planId: must match"},
		{Name: "planId too long", Op: create, Args: withField("planId", "pln_"+strings.Repeat("a", 41)), Want: 400, WantMessage: "body.planId: must match"},
		{Name: "contentTypeId of another form", Op: create, Args: withField("contentTypeId", "Tip"), Want: 400, WantMessage: "body.contentTypeId: must match ^cty_[0-9a-z]{1,40}$"},
		{Name: "a platform that posts have not", Op: create, Args: withField("platforms", []any{"X"}), Want: 400, WantMessage: "body.platforms[0]: must be one of x, instagram"},
		{Name: "another source", Op: create, Args: withField("sourceKind", "ai"), Want: 400, WantMessage: "body.sourceKind: must be one of manual, generated, feedback, metric, audit, roadmap"},
		{Name: "another status", Op: create, Args: withField("status", "draft"), Want: 400, WantMessage: "body.status: must be one of suggested, accepted, rejected"},
		{Name: "a day is no time", Op: create, Args: withField("suggestedFor", "2026-09-01"), Want: 400, WantMessage: "body.suggestedFor: must be an RFC 3339 time"},
		{Name: "unknown property", Op: create, Args: withField("name", "N"), Want: 400, WantMessage: "body.name: unknown property"},
		{Name: "all problems at once", Op: create, Args: record{"planId": "x", "contentTypeId": "y", "platforms": []any{"z"}, "sourceKind": 1, "status": "x", "x": 1}, Want: 400, Check: checkMessageCount(7)},
		listCountScenario("list_broadcast_ideas", 2),
	})
}

func TestUpdateIdea(t *testing.T) {
	t.Parallel()
	s := start(t)
	importRecords(t, s, "content-idea",
		record{"id": "ida_1", "title": "Office", "planId": "pln_1", "status": "suggested", "createdAt": "2026-01-01T00:00:00Z", "updatedAt": "2026-01-01T00:00:00Z"})
	storeUnchecked(t, s, "content-idea", record{"id": "ida_2", "platforms": []any{"blog"}})
	s.Clock.Advance(time.Hour)
	const update = "update_broadcast_idea"
	withField := func(name string, value any) record { return record{"ideaId": "ida_1", name: value} }
	unchanged := record{"updatedAt": "2026-01-01T00:00:00.000Z", "planId": "pln_1", "title": "Office", "status": "suggested"}
	scenarios := []apitest.Scenario{
		{Name: "get", Op: "get_broadcast_idea", Args: record{"ideaId": "ida_1"}, WantFields: unchanged},
		{Name: "get: no such idea", Op: "get_broadcast_idea", Args: record{"ideaId": "ida_none"}, Want: 404},
		{Name: "empty", Op: update, Args: record{"ideaId": "ida_1"}, WantFields: unchanged},
		{Name: "same values", Op: update, Args: record{"ideaId": "ida_1", "title": "Office", "planId": "pln_1", "status": "suggested"}, WantFields: unchanged},
		{Name: "null clears what is clear", Op: update, Args: withField("summary", nil), WantFields: unchanged},
		{Name: "empty title", Op: update, Args: withField("title", ""), Want: 400, WantMessage: "body.title: must not be empty"},
		{Name: "null title", Op: update, Args: withField("title", nil), Want: 400, WantMessage: "body.title: must not be null"},
		{Name: "null sourceKind", Op: update, Args: withField("sourceKind", nil), Want: 400, WantMessage: "body.sourceKind: must not be null"},
		{Name: "null status", Op: update, Args: withField("status", nil), Want: 400, WantMessage: "body.status: must not be null"},
		{Name: "a plan of another form", Op: update, Args: withField("planId", "pln_1#"), Want: 400, WantMessage: "body.planId: must match"},
		{Name: "unknown property", Op: update, Args: withField("id", "x"), Want: 400, WantMessage: "body.id: unknown property"},
		{Name: "no such idea", Op: update, Args: record{"ideaId": "ida_none", "title": "N"}, Want: 404},
		{Name: "nothing of these was stored", Op: "get_broadcast_idea", Args: record{"ideaId": "ida_1"}, WantFields: unchanged},
		{Name: "an old idea keeps its platforms", Op: update, Args: record{"ideaId": "ida_2", "title": "N"}, WantFields: record{"title": "N", "platforms": []any{"blog"}, "sourceKind": nil}},
		{Name: "other platforms", Op: update, Args: record{"ideaId": "ida_2", "platforms": []any{"x", "push"}}, WantFields: record{"title": "N", "platforms": []any{"x", "push"}}},
		{Name: "no platforms", Op: update, Args: record{"ideaId": "ida_2", "platforms": nil}, WantFields: record{"platforms": nil}},
	}
	s.Run(t, append(scenarios, apitest.AllTransitions(update, withField, broadcast.IdeaStatus("").Values())...))
}

// Ensure that after every update, an idea is in exactly the lists that match its plan and status.
// After it is deleted, it must be in no list.
func TestIdeaMovesBetweenLists(t *testing.T) {
	t.Parallel()
	s := start(t)
	key := s.IssueKey(t)
	ideaID := s.Call(t, key, "create_broadcast_idea", record{"title": "T"}).JSON(t)["id"].(string)
	check := func(after, plan, status string, exists bool) {
		t.Helper()
		for _, p := range []string{"", "pln_1", "pln_2"} {
			for _, st := range []string{"", "suggested", "accepted", "rejected"} {
				args := record{}
				if p != "" {
					args["planId"] = p
				}
				if st != "" {
					args["status"] = st
				}
				want := []string{}
				if exists && (p == "" || p == plan) && (st == "" || st == status) {
					want = append(want, ideaID)
				}
				if got := idsOf(s.Call(t, key, "list_broadcast_ideas", args).Items(t)); !slices.Equal(got, want) {
					t.Errorf("after %s: %v: %v, want %v", after, args, got, want)
				}
			}
		}
	}
	check("create", "", "suggested", true)
	for _, tt := range []struct {
		args         record
		plan, status string
	}{
		{record{"planId": "pln_1"}, "pln_1", "suggested"},
		{record{"status": "accepted"}, "pln_1", "accepted"},
		{record{"planId": "pln_2", "status": "rejected"}, "pln_2", "rejected"},
		{record{"title": "U"}, "pln_2", "rejected"},
		{record{"planId": nil}, "", "rejected"},
		{record{"planId": "pln_1", "status": "suggested"}, "pln_1", "suggested"},
	} {
		tt.args["ideaId"] = ideaID
		if r := s.Call(t, key, "update_broadcast_idea", tt.args); r.Status != 200 {
			t.Errorf("update %v: status %d, want 200: %s", tt.args, r.Status, r.Body)
		}
		check(fmt.Sprint(tt.args), tt.plan, tt.status, true)
	}
	if r := s.Call(t, key, "delete_broadcast_idea", record{"ideaId": ideaID}); r.Status != 200 {
		t.Errorf("delete: status %d, want 200: %s", r.Status, r.Body)
	}
	check("delete", "", "", false)
}

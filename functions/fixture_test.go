package functions_test

import (
	"bufio"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"growthworkspace/functions"
	"growthworkspace/shared/api"
	"growthworkspace/shared/apitest"
	"growthworkspace/shared/auth"
	"growthworkspace/shared/keys"
	"growthworkspace/shared/table"
	"growthworkspace/shared/transfer"
)

// start returns the whole service, with a company that has at least one record of each type (testdata/company.jsonl).
func start(t testing.TB, transport http.RoundTripper) *apitest.Service {
	t.Helper()
	s := apitest.NewOver(t, functions.Operations, transport)
	s.Handler = functions.Handler(s.Serving, slog.New(slog.DiscardHandler))
	stock(t, s)
	issueSpares(t, s)
	return s
}

// stock imports the fixture's records into the company, also over those that it has: those with the ids, or all without one.
func stock(t testing.TB, s *apitest.Service, ids ...string) {
	t.Helper()
	file, err := os.Open("testdata/company.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	kinds := functions.Transfers(s.Table) // once, because it derives the schema of every type
	for lines := bufio.NewScanner(file); lines.Scan(); {
		var line struct {
			Type   string
			Record json.RawMessage
		}
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			t.Fatal(err)
		}
		var record struct{ ID string }
		if err := json.Unmarshal(line.Record, &record); err != nil {
			t.Fatal(err)
		}
		if len(ids) == 0 || slices.Contains(ids, record.ID) {
			loadKind(t, s, kinds, line.Type, line.Record)
		}
	}
}

func load(t testing.TB, s *apitest.Service, name string, texts ...json.RawMessage) {
	t.Helper()
	loadKind(t, s, functions.Transfers(s.Table), name, texts...)
}

func loadKind(t testing.TB, s *apitest.Service, kinds []transfer.Type, name string, texts ...json.RawMessage) {
	t.Helper()
	for _, kind := range kinds {
		if kind.Name != name {
			continue
		}
		var records []any
		for _, text := range texts {
			record, problems := kind.Check(text)
			if len(problems) > 0 {
				t.Fatalf("%s: %v", text, problems)
			}
			records = append(records, record)
		}
		if err := kind.Write(t.Context(), s.CompanyID, records); err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Fatalf("no type %s", name)
}

// arguments has, for each operation that needs some, the arguments of a call that succeeds on the fixture.
var arguments = map[string]map[string]any{
	"create_optimise_audit": {"rootUrl": "https://docs.example.com", "scoreSeo": 87.5, "findings": []any{"slow"}},
	"update_optimise_audit": {"auditId": "aud_1", "scoreGeo": 66.5, "findings": []any{"slow"}}, "delete_optimise_audit": {"auditId": "aud_2"},
	"get_optimise_goal":    {"siteId": "sit_1", "goalId": "gol_1"},
	"create_optimise_goal": {"siteId": "sit_1", "name": "Contact", "kind": "event", "matchType": "exact", "pattern": "contact"},
	"update_optimise_goal": {"siteId": "sit_1", "goalId": "gol_1", "value": 2.5}, "delete_optimise_goal": {"siteId": "sit_1", "goalId": "gol_2"},
	"get_optimise_site": {"siteId": "sit_1"}, "create_optimise_site": {"name": "Docs", "domains": []any{"docs.example.com"}},
	"update_optimise_site": {"siteId": "sit_1", "timezone": "Europe/Vienna"}, "delete_optimise_site": {"siteId": "sit_2"},
	"update_company":    {"summary": "New"},
	"create_plan_board": {"name": "Ideas"}, "update_plan_board": {"boardId": "brd_1", "name": "What is next"}, "delete_plan_board": {"boardId": "brd_2"},
	"list_plan_live_items": {"boardId": "brd_1"},
	"get_plan_board":       {"boardId": "brd_1"}, "list_plan_items": {"boardId": "brd_1"},
	"create_plan_item": {"boardId": "brd_1", "title": "Another"}, "get_plan_item": {"itemId": "itm_1"},
	"update_plan_item": {"itemId": "itm_1", "title": "Darker mode"}, "delete_plan_item": {"itemId": "itm_2"},
	"preview_plan_publish": {"boardId": "brd_1"}, "publish_plan_board": {"boardId": "brd_1"},
	"get_feedback":          {"feedbackId": "fbk_1"},
	"delete_feedback":       {"feedbackId": "fbk_1"},
	"update_feedback_reply": {"feedbackId": "fbk_1", "replyBody": "Thank you.", "replyStatus": "approved"},
	"get_metric_definition": {"definitionId": "mdf_1"}, "create_metric_definition": {"key": "growth.leads"},
	"delete_metric_definition": {"definitionId": "mdf_2"},
	"delete_metric_points":     {"metricKey": "growth.signups", "from": "2026-08-10", "to": "2026-08-10"},
	"list_metric_points":       {"metricKey": "growth.signups"}, "update_metric_definition": {"definitionId": "mdf_1", "name": "New sign-ups"},
	"list_optimise_goals": {"siteId": "sit_1"}, "get_optimise_audit": {"auditId": "aud_1"},
	"get_broadcast_idea": {"ideaId": "ida_1"}, "create_broadcast_idea": {"title": "A day in the office"},
	"update_broadcast_idea": {"ideaId": "ida_1", "status": "accepted"}, "delete_broadcast_idea": {"ideaId": "ida_1"},
	"get_broadcast_plan": {"planId": "pln_1"}, "create_broadcast_plan": {"name": "Spring"},
	"update_broadcast_plan": {"planId": "pln_1", "cadence": "weekly"}, "delete_broadcast_plan": {"planId": "pln_1"},
	"create_broadcast_post": {"platform": "x", "body": "Hi"}, "get_broadcast_post": {"postId": "pst_1"},
	"update_broadcast_post": {"postId": "pst_1", "body": "Hello again"}, "delete_broadcast_post": {"postId": "pst_1"},
	"update_context_brand_kit":    {"artStyle": "Flat"},
	"create_context_content_type": {"name": "Story", "active": true}, "update_context_content_type": {"contentTypeId": "cty_1", "cadence": "weekly"},
	"get_context_content_type": {"contentTypeId": "cty_1"}, "delete_context_content_type": {"contentTypeId": "cty_1"},
	"get_context_goal": {"goalId": "bgl_1"}, "create_context_goal": {"name": "Rating 4.5"},
	"update_context_goal": {"goalId": "bgl_1", "status": "achieved"}, "delete_context_goal": {"goalId": "bgl_1"},
	"push_metric_points": {"points": []any{
		map[string]any{"metricKey": "growth.signups", "ts": "2026-08-11", "value": 14, "dims": map[string]any{"country": "de"}},
		map[string]any{"metricKey": "trips", "ts": "2026-08-11", "value": 1.5, "grain": "week"},
	}},
	"push_feedback": {"records": []any{
		map[string]any{"source": "app_store", "externalId": "as-90071", "rating": 2, "title": "Sync", "body": "Loses my notes."},
	}},
	"create_key": {"name": "CI", "scopes": []any{"plan:read"}},
	"rotate_key": {"keyId": rotatedKey, "overlapSeconds": 60}, "revoke_key": {"keyId": revokedKey},
}

func init() {
	for _, op := range functions.Operations(nil) {
		if arguments[op.ID] == nil {
			arguments[op.ID] = map[string]any{}
		}
	}
}

// Ensure every operation that needs arguments, or changes something, has some.
func TestArguments(t *testing.T) {
	for _, op := range functions.Operations(nil) {
		var missing []string
		for _, f := range op.Input {
			if _, has := arguments[op.ID][f.Name]; !has && f.Required {
				missing = append(missing, fmt.Sprintf("%q: …", f.Name))
			}
		}
		if len(missing) > 0 || op.Effect != api.Read && len(arguments[op.ID]) == 0 {
			t.Errorf("functions/fixture_test.go: arguments must have those of a call that succeeds: add the line\n%q: {%s},", op.ID, strings.Join(missing, ", "))
		}
	}
}

// The ids of the two keys that start issues, one to rotate and one to revoke.
const (
	rotatedKey = "key_01k2c5vd0v6x8z0b2d4f6h8k0m"
	revokedKey = "key_01k2c5vd1w7y9z1c3e5g7j9m1p"
)

// issueSpares issues these two keys.
func issueSpares(t testing.TB, s *apitest.Service) {
	t.Helper()
	for _, keyID := range []string{rotatedKey, revokedKey} {
		options := apitest.Options(t, s.Clock.Now, nil)
		options.NewID = func(string) string { return keyID }
		store := keys.NewStore(table.New(options).Operator(), s.Clock.Now)
		if _, _, err := store.Issue(t.Context(), s.CompanyID, keys.Grant{Name: "spare", Scopes: []auth.Scope{auth.PlanRead}}, rand.Reader); err != nil {
			t.Fatal(err)
		}
	}
}

// toolOperations returns the operations that are MCP tools.
func toolOperations() []api.Operation {
	return slices.DeleteFunc(functions.Operations(nil), func(op api.Operation) bool { return op.NotTool })
}

// rows returns the rows of a .tsv file in testdata, without comments.
func rows(t *testing.T, name string) (out [][]string) {
	t.Helper()
	text, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimRight(line, "\n"); line != "" && !strings.HasPrefix(line, "#") {
			out = append(out, strings.Split(line, "\t"))
		}
	}
	return out
}

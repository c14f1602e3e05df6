package functions_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"growthworkspace/shared/api"
	"growthworkspace/shared/auth"
	"growthworkspace/shared/keys"
	"growthworkspace/shared/testkit/apitest"
	"growthworkspace/shared/testkit/oracle"
)

// sendMessage sends one JSON-RPC request. The header arguments alternate between names and values.
func sendMessage(t *testing.T, s *apitest.Service, key, method string, params any, header ...string) apitest.Response {
	t.Helper()
	frame := map[string]any{"jsonrpc": "2.0", "id": 1, "method": method}
	if params != nil {
		frame["params"] = params
	}
	text := marshal(t, frame)
	return s.Send(t, key, "POST", "http://api.test/mcp", string(text), header...)
}

// toolResult is the result of a tool call.
type toolResult struct {
	http apitest.Response

	IsError           bool
	Content           []struct{ Text string }
	StructuredContent json.RawMessage
	Meta              struct {
		HasMore    *bool
		NextCursor string
		ETag       string
	} `json:"_meta"`
}

func callTool(t *testing.T, s *apitest.Service, key, operation string, arguments any) toolResult {
	t.Helper()
	r := sendMessage(t, s, key, "tools/call", map[string]any{"name": "service_" + operation, "arguments": arguments})
	var frame struct{ Result *toolResult }
	if r.Decode(t, &frame); r.Status != http.StatusOK || frame.Result == nil || len(frame.Result.Content) == 0 {
		t.Fatalf("%s: status %d, want 200 and a result with content: %s", operation, r.Status, r.Body)
	}
	frame.Result.http = r
	return *frame.Result
}

// response converts the result of a tool to the equivalent HTTP response. It reports a test error
// if the text and the structured content differ. It derives the status from the error code.
func (tr toolResult) response(t *testing.T) apitest.Response {
	t.Helper()
	r := apitest.Response{Status: http.StatusOK, Header: tr.http.Header, Body: string(tr.StructuredContent)}
	if tr.IsError {
		if tr.StructuredContent != nil {
			t.Errorf("an error has structured content: %s", tr.http.Body)
		}
		r.Body = tr.Content[0].Text
		code, _ := r.Messages(t)
		r.Status = statusOf(code)
		return r
	}
	if diff := cmp.Diff(shownToModel(decodeJSON(t, r.Body)), tr.decodeText(t)); diff != "" {
		t.Errorf("the text differs from the structured content (-content +text)\n%s", diff)
	}
	return r
}

func listTools(t *testing.T, s *apitest.Service, key string) (names []string) {
	t.Helper()
	r := sendMessage(t, s, key, "tools/list", nil)
	var frame struct {
		Result struct{ Tools []struct{ Name string } }
	}
	r.Decode(t, &frame)
	for _, tool := range frame.Result.Tools {
		names = append(names, tool.Name)
	}
	return names
}

// Ensure tools/list returns exactly the tools that the scopes of the key allow.
func TestToolsOfEveryScope(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	for _, scope := range auth.Scopes() {
		want := []string{}
		for _, op := range toolOperations() {
			if op.Scope == "" || admits(scope, op) {
				want = append(want, "service_"+op.ID)
			}
		}
		if got := listTools(t, s, s.IssueKey(t, scope)); !slices.Equal(got, want) {
			t.Errorf("%s sees %v, want %v", scope, got, want)
		}
	}
}

// Ensure the response to tools/list stays within its size budgets, both for a key with all scopes
// and for a key with the scopes of one area.
func TestToolListSizes(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	areas := map[string][]auth.Scope{}
	for _, scope := range auth.Scopes() {
		area, _, _ := strings.Cut(string(scope), ":")
		areas[area] = append(areas[area], scope)
	}
	if full := sendMessage(t, s, s.IssueKey(t), "tools/list", nil); len(full.Body) > oracle.ToolsBytesMax {
		t.Errorf("tools/list has %d bytes for a full key, want at most %d", len(full.Body), oracle.ToolsBytesMax)
	}
	for area, scopes := range areas {
		if some := sendMessage(t, s, s.IssueKey(t, scopes...), "tools/list", nil); len(some.Body) > oracle.AreaToolsBytesMax {
			t.Errorf("tools/list has %d bytes for a key of %s, want at most %d", len(some.Body), area, oracle.AreaToolsBytesMax)
		}
	}
}

// Ensure the areas that the MCP endpoint's query accepts match the specification. With one area in
// the query, the endpoint must list and call only that area's tools. A call to another area's tool
// must get the same response as a call to an unknown tool.
func TestToolsOfAreas(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	key := s.IssueKey(t)
	send := func(query, method string, params any) apitest.Response {
		text := marshal(t, map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
		return s.Send(t, key, "POST", "http://api.test/mcp?"+query, string(text))
	}
	listed := 0
	for area, reader := range map[string]string{
		"company": "get_company", "keys": "list_keys", "plan": "list_plan_boards", "feedback": "list_feedback", "metrics": "list_metric_definitions",
		"optimise": "list_optimise_sites", "broadcast": "list_broadcast_plans", "context": "list_context_goals", "changes": "list_changes",
		"overview": "get_company_overview",
	} {
		var frame struct {
			Result struct{ Tools []struct{ Name string } }
		}
		send("areas="+area, "tools/list", nil).Decode(t, &frame)
		for _, tool := range frame.Result.Tools {
			name := strings.TrimPrefix(tool.Name, "service_")
			i := slices.IndexFunc(toolOperations(), func(op api.Operation) bool { return op.ID == name })
			path := toolOperations()[i].Path
			if !strings.HasPrefix(path, "/v1/companies/{companyId}/"+area) && (area != "company" || strings.Count(path, "/") > 3) && (area != "overview" || path != "/v1/companies/{companyId}/week") {
				t.Errorf("%s lists %s, whose path is %s", area, tool.Name, path)
			}
			listed++
		}
		if r := send("areas="+area, "tools/call", map[string]any{"name": "service_" + reader}); r.Status != 200 || !strings.Contains(r.Body, `"structuredContent"`) {
			t.Errorf("%s: %s: status %d, want 200 and structured content: %s", area, reader, r.Status, r.Body)
		}
		other := "list_keys"
		if area == "keys" {
			other = "list_feedback"
		}
		got, unknown := send("areas="+area, "tools/call", map[string]any{"name": "service_" + other}), send("areas="+area, "tools/call", map[string]any{"name": "service_nope"})
		if got.Status != unknown.Status || got.Body != strings.ReplaceAll(unknown.Body, "service_nope", "service_"+other) || !strings.Contains(got.Body, "unknown tool") {
			t.Errorf("%s: %s: %d %s, an unknown name: %d %s", area, other, got.Status, got.Body, unknown.Status, unknown.Body)
		}
	}
	if listed != len(toolOperations()) {
		t.Errorf("the areas list %d tools of %d", listed, len(toolOperations()))
	}
	for _, query := range []string{"areas=", "areas=nope", "areas=plan,plan", "areas=plan&areas=keys", "areas=plan,", "areas=plan;keys"} {
		if r := send(query, "ping", nil); r.Status != 400 || !strings.Contains(r.Body, "areas") && !strings.Contains(r.Body, "malformed") {
			t.Errorf("%s: status %d, want 400 about areas: %s", query, r.Status, r.Body)
		}
	}
}

// Ensure operations that return a secret are not tools, so that a secret never enters a model's
// context.
func TestNoToolIssuesKeys(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	key := s.IssueKey(t)
	for _, operation := range []string{"create_key", "rotate_key"} {
		r := sendMessage(t, s, key, "tools/call", map[string]any{"name": "service_" + operation, "arguments": fixtureArguments[operation]})
		var frame struct{ Error struct{ Code int } }
		if r.Decode(t, &frame); frame.Error.Code != -32602 || strings.Contains(r.Body, "secret") {
			t.Errorf("%s: the error has the code %d, want -32602 and no secret: %s", operation, frame.Error.Code, r.Body)
		}
		if names := listTools(t, s, key); slices.Contains(names, "service_"+operation) {
			t.Errorf("%s is listed", operation)
		}
	}
	if got := s.Call(t, key, "list_keys", nil).Items(t); len(got) != 3 { // this key and the two from the fixture
		t.Errorf("%d keys, want 3", len(got))
	}
}

// Ensure that if a tool takes an id, its "no such record" message names a tool that lists these
// ids.
func TestToolsSayWhereIDsAre(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	key := s.IssueKey(t)
	listed := listTools(t, s, key)
	listToolPattern := regexp.MustCompile(`no such record; (service_list_[a-z_]+) lists the ids`)
	seen := 0
	for _, op := range toolOperations() {
		ids := pathFields(op)
		if len(ids) == 0 {
			continue
		}
		seen++
		s.Clock.Advance(time.Minute)
		unknown := maps.Clone(fixtureArguments[op.ID])
		unknown[ids[len(ids)-1].Name] = "itm_" + strings.Repeat("0", 26)
		got := callTool(t, s, key, op.ID, unknown)
		found := listToolPattern.FindStringSubmatch(got.Content[0].Text)
		if !got.IsError || found == nil || !slices.Contains(listed, found[1]) {
			t.Errorf("%s with an unknown id: want an error that names a tool in the list: %s", op.ID, got.Content[0].Text)
		}
	}
	if seen == 0 {
		t.Error("no tool takes an id")
	}
}

// Ensure every MCP message with an invalid key gets an HTTP 401, while a tool call with a key that
// lacks the scope gets a tool error that the model can read.
func TestKeysOfTools(t *testing.T) {
	t.Parallel()
	calls := &callRecorder{}
	s := start(t, calls)
	unknown, revoked, expired := invalidKeys(t, s)
	good := s.IssueKey(t)
	create := map[string]any{"name": "service_create_plan_item", "arguments": map[string]any{"boardId": "brd_1", "title": "New"}}
	for name, c := range map[string]struct {
		key     string
		noCalls bool
	}{
		"no key": {"", true}, "publishable": {"pk_live_" + good[8:], true}, "typo": {good[:20] + otherLetter(good[20:21]) + good[21:], true},
		"unknown": {unknown, false}, "revoked": {revoked, false}, "expired": {expired, false},
	} {
		for _, method := range []string{"initialize", "ping", "tools/list", "tools/call", "nope"} {
			params := any(nil)
			if method == "tools/call" {
				params = create
			}
			calls.reset()
			r := sendMessage(t, s, c.key, method, params)
			code, _ := r.Messages(t)
			if r.Status != 401 || code != "unauthorised" || r.Header.Get("WWW-Authenticate") != "Bearer" {
				t.Errorf("%s, %s: status %d, WWW-Authenticate %q; want 401 unauthorised and Bearer: %s", name, method, r.Status, r.Header.Get("WWW-Authenticate"), r.Body)
			}
			if writes, n := calls.writes(); len(writes) > 0 || c.noCalls && n > 0 {
				t.Errorf("%s, %s: %d table calls, writes %v", name, method, n, writes)
			}
		}
	}
	got := callTool(t, s, s.IssueKey(t, otherScopes(api.Operation{Spec: api.Spec{Scope: auth.PlanWrite}})...), "create_plan_item", create["arguments"]).response(t)
	if code, messages := got.Messages(t); got.Status != 401 || code != "unauthorised" || !strings.Contains(messages[0], "plan:write") {
		t.Errorf("a missing scope: %v", got)
	}
	suspended := start(t, nil)
	key := suspended.IssueKey(t)
	if _, err := suspended.Keys.Suspend(t.Context(), suspended.CompanyID); err != nil {
		t.Fatal(err)
	}
	for _, method := range []string{"ping", "tools/call"} {
		if r := sendMessage(t, suspended, key, method, create); r.Status != 403 {
			t.Errorf("suspended, %s: %d %s", method, r.Status, r.Body)
		}
	}
}

// Ensure a tool call counts towards the rate limit of its operation's class, and that every other
// message counts as a read.
func TestQuotaOfTools(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	keyID, secret := issueKey(t, s, keys.Grant{})
	limits := map[auth.Class]string{auth.ClassRead: "61", auth.ClassWrite: "62", auth.ClassPublish: "63", auth.ClassPush: "64"}
	for class, quota := range map[auth.Class]auth.Quota{auth.ClassRead: 61, auth.ClassWrite: 62, auth.ClassPublish: 63, auth.ClassPush: 64} {
		if _, err := s.Keys.SetQuota(t.Context(), s.CompanyID, keyID, class, quota); err != nil {
			t.Fatal(err)
		}
	}
	for _, op := range toolOperations() {
		s.Clock.Advance(time.Minute)
		if got := callTool(t, s, secret, op.ID, fixtureArguments[op.ID]); got.IsError || got.http.Header.Get("RateLimit-Limit") != limits[op.Class] {
			t.Errorf("%s: RateLimit-Limit is %q, want %s and no error: %s", op.ID, got.http.Header.Get("RateLimit-Limit"), limits[op.Class], got.http.Body)
		}
	}
	for _, method := range []string{"initialize", "ping", "tools/list", "nope"} {
		if r := sendMessage(t, s, secret, method, map[string]any{}); r.Header.Get("RateLimit-Limit") != "61" {
			t.Errorf("%s: RateLimit-Limit is %q, want 61", method, r.Header.Get("RateLimit-Limit"))
		}
	}
}

// Ensure a tool call takes as many round trips to the table as the HTTP request, plus one if it
// schedules a post. Every other message takes one round trip.
func TestRoundTripsOfTools(t *testing.T) {
	t.Parallel()
	apitest.SkipIfShort(t)
	extra := map[string]int{"update_broadcast_post": 1} // the fixture schedules the post, so the tool also reads the channels
	overHTTP, overMCP := &apitest.RoundTripCounter{}, &apitest.RoundTripCounter{}
	a, b := start(t, overHTTP), start(t, overMCP)
	keyA, keyB := a.IssueKey(t), b.IssueKey(t)
	for _, op := range toolOperations() {
		a.Clock.Advance(time.Minute) // so that the buckets are full
		b.Clock.Advance(time.Minute)
		trips, calls := overHTTP.Count(t, func(t *testing.T) {
			if got := newTestRequest(t, a, op, keyA).send(t, a); got.Status != http.StatusOK {
				t.Errorf("%s over HTTP: status %d, want 200: %s", op.ID, got.Status, got.Body)
			}
		})
		toolTrips, toolCalls := overMCP.Count(t, func(t *testing.T) {
			if got := callTool(t, b, keyB, op.ID, fixtureArguments[op.ID]); got.IsError {
				t.Errorf("%s as a tool: an error, want a result: %s", op.ID, got.http.Body)
			}
		})
		if trips+extra[op.ID] != toolTrips || calls+extra[op.ID] != toolCalls {
			t.Errorf("%s: %d round trips and %d calls over HTTP, %d and %d as a tool", op.ID, trips, calls, toolTrips, toolCalls)
		}
	}
	for _, method := range []string{"initialize", "ping", "tools/list", "nope", "notifications/initialized"} {
		b.Clock.Advance(time.Minute)
		_, calls := overMCP.Count(t, func(t *testing.T) { sendMessage(t, b, keyB, method, map[string]any{}) })
		if calls != 1 {
			t.Errorf("%s: %d calls", method, calls)
		}
	}
}

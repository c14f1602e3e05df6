package infra_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"growthworkspace/functions"
	"growthworkspace/functions/mcp"
	"growthworkspace/functions/recorder"
	"growthworkspace/infra"
	"growthworkspace/shared/api"
	"growthworkspace/shared/auth"
	"growthworkspace/shared/change"
	"growthworkspace/shared/gateway"
	"growthworkspace/shared/keys"
	"growthworkspace/shared/mcpserver"
	"growthworkspace/shared/schema"
	"growthworkspace/shared/table"
	"growthworkspace/shared/testkit/apitest"
	"growthworkspace/shared/testkit/oracle"
	"growthworkspace/shared/trail"
	"growthworkspace/shared/transfer"
)

// deployedStage is the service as the stack deploys it, with a separate handler for each function.
// It records the calls to the table.
type deployedStage struct {
	*apitest.Service
	recorder   *accessRecorder
	operations oracle.Table
	key        string
	functions  map[string]lambdaFunction
}

type lambdaFunction = func(t *testing.T, e events.APIGatewayProxyRequest) events.APIGatewayProxyResponse

func newDeployedStage(t *testing.T) *deployedStage {
	t.Helper()
	operations, err := oracle.Load()
	if err != nil {
		t.Fatal(err)
	}
	r := &accessRecorder{}
	s := &deployedStage{Service: apitest.NewWithTransport(t, functions.Operations, r), recorder: r, operations: operations, functions: map[string]lambdaFunction{}}
	config := s.Config(slog.New(slog.DiscardHandler))
	add := func(name string, h http.Handler) {
		proxy := gateway.Proxy(h)
		s.functions[name] = func(t *testing.T, e events.APIGatewayProxyRequest) events.APIGatewayProxyResponse {
			t.Helper()
			response, err := proxy(t.Context(), e)
			if err != nil {
				t.Fatal(err)
			}
			return response
		}
	}
	for _, a := range functions.All() {
		add(a.Name, s.Serve(a.Operations(s.ServingTable)))
	}
	add("mcp", mcp.Handler(s.Table, config))
	s.key = s.IssueKey(t)
	return s
}

// issueSpareKey issues a key that an operation can rotate or revoke, and returns its id.
func (s *deployedStage) issueSpareKey(t *testing.T) string {
	t.Helper()
	key, _, err := s.Keys.Issue(t.Context(), s.CompanyID, keys.Grant{Name: "spare", Scopes: auth.Scopes()}, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	s.recorder.take(t, s.Table.Name()) // discard these calls, which do not belong to an operation
	return key.ID
}

// importFixture imports the fixture company, which contains a record of each type. If any ids are
// given, it imports only the records with those ids.
func (s *deployedStage) importFixture(t *testing.T, ids ...string) {
	t.Helper()
	text, err := os.ReadFile("../functions/testdata/company.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	kinds := functions.Transfers(s.Table)
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		var line struct {
			Type   string
			Record json.RawMessage
		}
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			t.Fatal(err)
		}
		kind := kinds[slices.IndexFunc(kinds, func(k transfer.Type) bool { return k.Name == line.Type })]
		var named struct{ ID string }
		if err := json.Unmarshal(line.Record, &named); err != nil {
			t.Fatal(err)
		}
		if len(ids) > 0 && !slices.Contains(ids, named.ID) {
			continue
		}
		record, problems := kind.Check(line.Record)
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		if err := kind.Write(t.Context(), s.CompanyID, []any{record}); err != nil {
			t.Fatal(err)
		}
	}
	s.recorder.take(t, s.Table.Name())
}

// restoreClaimable restores the record that an operation claims or reports, because an earlier
// event may have claimed it or reported its outcome. It does nothing for other operations.
func (s *deployedStage) restoreClaimable(t *testing.T, operation string) {
	t.Helper()
	if o, ok := s.operations.Lookup(operation); ok && (strings.HasPrefix(operation, "claim_") || strings.HasPrefix(operation, "report_")) {
		s.importFixture(t, slices.Collect(maps.Values(o.Fixture))...)
	}
}

// claimIDPattern matches the claim id in a sample event. It is replaced, because no record in the
// fixture has a claim.
var claimIDPattern = regexp.MustCompile(`\\"claimId\\":\\"[a-z0-9_]+\\"`)

// event reads the sample event of an operation and fills in its placeholders.
func (s *deployedStage) event(t *testing.T, operation string) events.APIGatewayProxyRequest {
	t.Helper()
	text, err := os.ReadFile("../events/" + operation + ".json")
	if err != nil {
		t.Fatalf("run go run ./scripts/gen: %v", err)
	}
	filled := strings.NewReplacer(infra.KeyPlaceholder, s.key, infra.Placeholder("companyId"), s.CompanyID).Replace(string(text))
	if keyID := infra.Placeholder("keyId"); strings.Contains(filled, keyID) {
		filled = strings.ReplaceAll(filled, keyID, s.issueSpareKey(t))
	}
	filled = claimIDPattern.ReplaceAllString(filled, `\"claimId\":null`)
	o, ok := s.operations.Lookup(operation)
	if !ok {
		t.Fatalf("%s has no line for %s", oracle.AdditionsFile, operation)
	}
	for name, value := range o.Fixture {
		filled = strings.ReplaceAll(filled, infra.Placeholder(name), value)
	}
	if unfilled := regexp.MustCompile(infra.Placeholder("[A-Za-z]+")).FindString(filled); unfilled != "" {
		t.Errorf("%s: events/%s.json has %s, for which there is no value", o.CellLocation("fixture"), operation, unfilled)
	}
	var e events.APIGatewayProxyRequest
	if err := json.Unmarshal([]byte(filled), &e); err != nil {
		t.Fatalf("events/%s.json: %v", operation, err)
	}
	return e
}

// Ensure each operation's function handles the sample event. Unchanged, the event must get a 401
// and cause no table call. With a key and ids filled in, it must get a 200.
func TestEvents(t *testing.T) {
	t.Parallel()
	s := newDeployedStage(t)
	s.importFixture(t)
	for _, area := range functions.All() {
		for _, op := range area.Operations(nil) {
			text, err := os.ReadFile("../events/" + op.ID + ".json")
			if err != nil {
				t.Fatalf("run go run ./scripts/gen: %v", err)
			}
			var sample events.APIGatewayProxyRequest
			if err := json.Unmarshal(text, &sample); err != nil {
				t.Fatalf("events/%s.json: %v", op.ID, err)
			}
			if got := s.functions[area.Name](t, sample); got.StatusCode != http.StatusUnauthorized {
				t.Errorf("%s, unchanged: %d %s", op.ID, got.StatusCode, got.Body)
			}
			if calls := s.recorder.take(t, s.Table.Name()); len(calls) > 0 {
				t.Errorf("%s, unchanged: %v", op.ID, calls)
			}
			s.Clock.Advance(time.Minute) // so that no quota is exceeded
			if got := s.functions[area.Name](t, s.event(t, op.ID)); got.StatusCode != http.StatusOK {
				o, _ := s.operations.Lookup(op.ID)
				t.Errorf("%s: %s: %d %s", o.CellLocation("fixture"), op.ID, got.StatusCode, got.Body)
			}
			s.recorder.take(t, s.Table.Name())
		}
	}
}

// Ensure a Link header begins with the caller's base URL, including the stage, which is not in the
// event's path.
func TestLinkHasTheStage(t *testing.T) {
	t.Parallel()
	s := newDeployedStage(t)
	s.importFixture(t)
	e := s.event(t, "list_plan_items")
	e.MultiValueQueryStringParameters = map[string][]string{"limit": {"1"}}
	got := s.functions["plan"](t, e)
	link := strings.Join(got.MultiValueHeaders["Link"], ",")
	want := "<https://example.execute-api.eu-central-1.amazonaws.com/" + infra.StageName + "/v1/companies/" + s.CompanyID + "/plan/"
	if !strings.HasPrefix(link, want) {
		t.Errorf("%d, Link is %s, want it to begin with %s", got.StatusCode, link, want)
	}
}

// Ensure there is exactly one up-to-date sample event for each operation.
func TestEventsAreUpToDate(t *testing.T) {
	t.Parallel()
	document, err := os.ReadFile("../functions/openapi/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	want, err := infra.New().Events(document)
	if err != nil {
		t.Fatal(err)
	}
	found, err := filepath.Glob("../events/*")
	if err != nil {
		t.Fatal(err)
	}
	if len(found) != len(want) || len(want) != len(functions.Operations(nil)) {
		t.Errorf("%d events of %d operations, %d in the folder: run go run ./scripts/gen", len(want), len(functions.Operations(nil)), len(found))
	}
	for id, text := range want {
		if have, err := os.ReadFile("../events/" + id + ".json"); err != nil || !bytes.Equal(have, text) {
			t.Errorf("events/%s.json is out of date: run go run ./scripts/gen (%v)", id, err)
		}
	}
}

// eventVariant is an event that covers a different code path of an operation, such as a filter, a
// replay, or an error.
type eventVariant struct {
	name  string
	event events.APIGatewayProxyRequest
}

func (s *deployedStage) variants(t *testing.T, op api.Operation) []eventVariant {
	t.Helper()
	foreign := s.event(t, op.ID)
	foreign.Path = strings.Replace(foreign.Path, s.CompanyID, s.Table.NewID("co"), 1)
	out := []eventVariant{{"another company", foreign}, {"plain", s.event(t, op.ID)}}
	for _, query := range queries(op, s.operations) {
		e := s.event(t, op.ID)
		e.QueryStringParameters = nil
		if e.MultiValueQueryStringParameters == nil {
			e.MultiValueQueryStringParameters = map[string][]string{}
		}
		maps.Copy(e.MultiValueQueryStringParameters, query)
		out = append(out, eventVariant{fmt.Sprint(query), e})
	}
	if slices.ContainsFunc(op.Input, func(f schema.Field) bool { return f.Name == "Idempotency-Key" }) {
		path := s.event(t, op.ID).Path                             // all events rotate the same key, so the second rotation is a conflict
		for _, key := range []string{"first", "first", "second"} { // the second request gets the stored response of the first
			e := s.event(t, op.ID)
			e.Path = path
			e.MultiValueHeaders["Idempotency-Key"] = []string{key}
			out = append(out, eventVariant{"with an Idempotency-Key", e})
		}
	}
	if op.ID == "delete_metric_points" { // a second delete, after which the record contains no points
		e := s.event(t, op.ID)
		e.MultiValueQueryStringParameters["to"] = []string{"2026-08-31"}
		e.QueryStringParameters = nil
		out = append(out, eventVariant{"a month", e})
	}
	if op.ID == "push_feedback" { // a second push, which changes a stored record
		e := s.event(t, op.ID)
		e.Body = strings.Replace(e.Body, `"title":"text"`, `"title":"another"`, 1)
		out = append(out, eventVariant{"a change", e})
	}
	return append(out, eventVariant{"repeated", s.event(t, op.ID)})
}

// queries returns the queries for every combination of a list's filters and their values.
func queries(op api.Operation, operations oracle.Table) []map[string][]string {
	out := []map[string][]string{{}}
	for _, f := range op.Input {
		values := f.Enum
		if i := slices.IndexFunc(operations, func(o oracle.Operation) bool { return o.Fixture[f.Name] != "" }); i >= 0 {
			values = []string{operations[i].Fixture[f.Name]}
		}
		if f.Format == "day" && strings.HasSuffix(strings.ToLower(f.Name), "from") {
			values = []string{"2026-01-01"}
		}
		if f.In != schema.InQuery || len(values) == 0 {
			continue
		}
		for _, others := range slices.Clone(out) {
			for _, value := range values {
				query := maps.Clone(others)
				query[f.Name] = []string{value}
				out = append(out, query)
			}
		}
	}
	return out[1:]
}

// Ensure the roles of an operation's function and of the MCP function allow every call that the
// operation sends to the table.
func TestEveryCallIsAllowed(t *testing.T) {
	t.Parallel()
	apitest.SkipIfShort(t)
	s := newDeployedStage(t)
	s.importFixture(t)
	policies := map[string]policy{}
	for _, f := range infra.New().Functions {
		policies[f.Name] = policyOf(t, f)
	}
	used, byOperation := map[string]bool{}, map[string]*operationUse{}
	empty, withoutIDRecords := newDeployedStage(t), newDeployedStage(t)
	withoutIDRecords.importFixture(t)
	if err := withoutIDRecords.Table.BatchDelete(t.Context(), []table.Key{{PK: table.Partition(withoutIDRecords.CompanyID, "metrics"), SK: "defid#mdf_1"}, {PK: table.Partition(withoutIDRecords.CompanyID, "metrics"), SK: "defid#mdf_2"}}); err != nil {
		t.Fatal(err)
	}
	crashed := newDeployedStage(t)
	crashed.importFixture(t)
	plan := table.Partition(crashed.CompanyID, "plan")
	if err := crashed.Table.Transact(t.Context(),
		crashed.Table.WriteUpdate(table.Key{PK: plan, SK: "board#brd_1"}, "SET claim = :claim", "", nil, table.Item{":claim": table.String("snp_1")}),
		crashed.Table.WritePut(table.Keys{Key: table.Key{PK: plan, SK: "snapshot#brd_1#0000000002#snp_1#00000"}}, struct{}{}),
		crashed.Table.WritePut(table.Keys{Key: table.Key{PK: plan, SK: "snapshot#brd_2#0000000001#snp_2#00000"}}, struct{}{}),
		crashed.Table.WritePut(table.Keys{Key: table.Key{PK: table.Partition(crashed.CompanyID, "optimise"), SK: "goal#gol_9"}}, struct {
			ID     string `store:"id"`
			SiteID string `store:"siteId"`
		}{"gol_9", "sit_2"}),
	); err != nil {
		t.Fatal(err)
	}
	for n := range 4 { // drafts of findings whose writes were interrupted long ago; one request deletes three of them
		k := table.Keys{Key: table.Key{PK: table.Partition(withoutIDRecords.CompanyID, "optimise"), SK: fmt.Sprintf("draft#drf_%d", n)}}
		draft := struct {
			AuditID string   `store:"auditId"`
			Chunks  []string `store:"chunks"`
		}{"aud_none", []string{"gen_1#000"}}
		if err := withoutIDRecords.Table.BatchPut(t.Context(), []table.Item{withoutIDRecords.Table.NewItem(k, draft)}); err != nil {
			t.Fatal(err)
		}
	}
	for _, rareCase := range []struct {
		s        *deployedStage
		area, op string
	}{
		{empty, "context", "update_context_brand_kit"}, // the company has no brand kit, so the update creates it
		{crashed, "plan", "publish_plan_board"},        // an earlier publish crashed, so this one deletes its snapshot
		{crashed, "plan", "delete_plan_board"},         // also deletes the board's snapshot; the next operation also deletes the site's goal
		{crashed, "optimise", "delete_optimise_site"},
		{withoutIDRecords, "optimise", "create_optimise_audit"},
		{withoutIDRecords, "optimise", "update_optimise_audit"},
		{withoutIDRecords, "metrics", "get_metric_definition"},
		{withoutIDRecords, "metrics", "delete_metric_definition"},
		{withoutIDRecords, "metrics", "update_metric_definition"}, // the record that maps the id to its key is missing, so the update has to find the definition
	} {
		rareCase.s.recorder.take(t, rareCase.s.Table.Name())
		rareCase.s.functions[rareCase.area](t, rareCase.s.event(t, rareCase.op))
		calls := rareCase.s.recorder.take(t, rareCase.s.Table.Name())
		for _, call := range calls {
			for _, name := range grantsUsed(rareCase.area, call) {
				used[name] = policies[rareCase.area].allows(call) && policies["mcp"].allows(call)
			}
		}
		byOperation[rareCase.op] = &operationUse{withoutIdempotencyKey: areaActions(calls)}
	}
	// A rollback takes the steps of a publish.
	byOperation["rollback_plan_board"] = &operationUse{
		withoutIdempotencyKey: maps.Clone(byOperation["publish_plan_board"].withoutIdempotencyKey),
	}
	s.Table.Warm(t.Context(), 1) // the reads a function makes at startup
	for _, call := range s.recorder.take(t, s.Table.Name()) {
		for name, p := range policies {
			if name != "openapi" && name != infra.RecorderName && !p.allows(call) {
				t.Errorf("%s may not warm up: %v", name, call)
			}
		}
	}
	for _, area := range functions.All() {
		for _, op := range area.Operations(nil) {
			for _, v := range s.variants(t, op) {
				s.Clock.Advance(time.Minute)
				s.restoreClaimable(t, op.ID)
				got := s.functions[area.Name](t, v.event)
				calls := s.recorder.take(t, s.Table.Name())
				if len(calls) == 0 || got.StatusCode >= http.StatusInternalServerError {
					t.Errorf("%s, %s: %d calls, %d %s", op.ID, v.name, len(calls), got.StatusCode, got.Body)
				}
				for _, call := range calls {
					for _, function := range []string{area.Name, "mcp"} {
						if !(function == "mcp" && op.NotTool) && !policies[function].allows(call) {
							t.Errorf("%s, %s: the role of %s does not allow %s on %s in %q: add %s to actionsByOperation in infra/grant.go", op.ID, v.name, function, call.action, call.resource, call.partitionKeys, op.ID)
						}
					}
					for _, name := range grantsUsed(area.Name, call) {
						used[name] = true
					}
				}
				if byOperation[op.ID] == nil {
					byOperation[op.ID] = &operationUse{}
				}
				byOperation[op.ID].add(v.event, calls)
			}
			byOperation[op.ID].check(t, area.Name, op)
		}
	}
	for _, call := range s.recordWrite(t) {
		if !policies[infra.RecorderName].allows(call) {
			t.Errorf("the role of the recorder does not allow %s on %s in %q", call.action, call.resource, call.partitionKeys)
		}
		for _, name := range grantsUsed(infra.RecorderName, call) {
			used[name] = true
		}
	}
	checkGrantsAreUsed(t, used)
}

// recordWrite has the recorder process a write of an item, and returns the recorder's calls.
func (s *deployedStage) recordWrite(t *testing.T) []callAccess {
	t.Helper()
	ctx := t.Context()
	if err := s.Table.Transact(ctx, change.WriteCounter(s.Table, s.CompanyID)); err != nil {
		t.Fatal(err)
	}
	keys := table.Keys{Key: table.Key{PK: table.Partition(s.CompanyID, "plan"), SK: "item#itm_1"}}
	written := change.StreamRecord{
		SequenceNumber: "1", Key: keys.Key, WrittenAt: s.Clock.Now(),
		New: s.Table.NewItem(keys, struct {
			ID string `store:"id"`
		}{"itm_1"}),
	}
	s.recorder.take(t, s.Table.Name())
	park := func(context.Context, recorder.ParkedRecord) error {
		return errors.New("an item that can be read is parked")
	}
	if err := recorder.New(s.Table, park).Record(ctx, "shard", []change.StreamRecord{written}); err != nil {
		t.Fatal(err)
	}
	return s.recorder.take(t, s.Table.Name())
}

// operationUse holds the actions that an operation's calls need: withIdempotencyKey for requests
// with an Idempotency-Key, and withoutIdempotencyKey for requests without one.
type operationUse struct{ withoutIdempotencyKey, withIdempotencyKey map[string]bool }

func (u *operationUse) add(e events.APIGatewayProxyRequest, calls []callAccess) {
	actions := &u.withoutIdempotencyKey
	if e.MultiValueHeaders["Idempotency-Key"] != nil {
		actions = &u.withIdempotencyKey
	}
	if *actions == nil {
		*actions = map[string]bool{}
	}
	maps.Copy(*actions, areaActions(calls))
}

const indexQuery = "Query of an index"

// areaActions returns the area and the action of each call.
func areaActions(calls []callAccess) map[string]bool {
	out := map[string]bool{}
	for _, call := range calls {
		action := strings.TrimPrefix(call.action, "dynamodb:")
		if strings.Contains(call.resource, "/index/") {
			action = indexQuery
		}
		for area := range strings.SplitSeq(call.areas(), "+") {
			if !isDeniedInTrail(area, action) {
				out[area+" "+action] = true
			}
		}
	}
	return out
}

// isDeniedInTrail reports whether the roles deny an action in a trail. A transaction may need such
// an action for other partitions that it writes to.
func isDeniedInTrail(area, action string) bool {
	return area == trail.Area && !slices.Contains(infra.TrailActions, action)
}

// check verifies that infra/grant.go grants the actions that the operation needs and no others. It
// ignores the actions that check a key. A change to a key also needs the actions that report the
// change. A request with an Idempotency-Key also needs the actions that store its response.
func (u *operationUse) check(t *testing.T, area string, op api.Operation) {
	t.Helper()
	own := area
	if strings.Contains(op.Path, "/keys") {
		own = "keys"
	}
	set := func(area string, actions ...string) map[string]bool {
		out := map[string]bool{}
		for _, action := range actions {
			if action == "" {
				action = indexQuery
			}
			out[area+" "+action] = true
		}
		return out
	}
	grants, keys := set(own, infra.ActionsOf(op)...), set("keys", infra.KeyActions...)
	if len(op.Reads) > 0 { // it has the grants of the operations that it calls, also for arguments that it does not send
		for _, read := range op.Reads {
			maps.Copy(keys, set(read.Area, infra.ActionsOf(read)...))
		}
		grants = nil
	}
	idempotencyGrants := set(area, infra.IdempotencyActions...)
	if own != area {
		maps.Copy(idempotencyGrants, set(area, infra.TransactionActions(op)...)) // one transaction uses both areas
	}
	if own == "keys" && op.Effect != api.Read { // the same transaction also adds the key change to the feed and to the trail
		maps.Copy(grants, set(area, append(infra.TransactionActions(op), infra.KeyChangeActions...)...))
		maps.Copy(grants, set(trail.Area, infra.TrailActions...))
	}
	for grant := range u.withoutIdempotencyKey {
		if !grants[grant] && !keys[grant] {
			t.Errorf("%s uses %s: add it to actionsByOperation in infra/grant.go", op.ID, grant)
		}
	}
	for grant := range grants {
		if !u.withoutIdempotencyKey[grant] {
			t.Errorf("%s does not use %s: remove it from actionsByOperation in infra/grant.go", op.ID, grant)
		}
	}
	for grant := range u.withIdempotencyKey {
		if !grants[grant] && !keys[grant] && !idempotencyGrants[grant] {
			t.Errorf("%s, with an Idempotency-Key, uses %s: add it to actionsByOperation or idempotencyActions in infra/grant.go", op.ID, grant)
		}
	}
	for grant := range idempotencyGrants {
		if op.IdempotencyKey != nil && !u.withIdempotencyKey[grant] {
			t.Errorf("%s, with an Idempotency-Key, does not use %s: remove it from idempotencyActions in infra/grant.go", op.ID, grant)
		}
	}
}

// grantsUsed returns the grants that a call needs, in the notation of access.tsv: one for each of
// its areas, and one for all of them together.
func grantsUsed(function string, call callAccess) (out []string) {
	target := "table"
	if strings.Contains(call.resource, "/index/") {
		target = "index"
	}
	all := call.areas()
	for _, area := range append(strings.Split(all, "+"), all) {
		if action := strings.TrimPrefix(call.action, "dynamodb:"); !isDeniedInTrail(area, action) {
			out = append(out, fmt.Sprintf("%s %s %s %s", function, area, target, action))
		}
	}
	return out
}

// areas returns the areas of a call's partitions, joined with "+".
func (a callAccess) areas() string {
	var out []string
	for _, partition := range a.partitionKeys {
		out = append(out, strings.Split(partition, "#")[1])
	}
	slices.Sort(out)
	return strings.Join(slices.Compact(out), "+")
}

// checkGrantsAreUsed checks that each grant in access.tsv is used by an operation of its function,
// and that access.tsv lists every grant that is used. The functions mcp and overview have the grants
// of the operations of other areas that they call.
func checkGrantsAreUsed(t *testing.T, used map[string]bool) {
	t.Helper()
	for cell, actions := range readAccessTable(t) {
		for _, action := range actions {
			name := fmt.Sprintf("%s %s %s %s", cell[0], cell[1], cell[2], action)
			if cell[0] != "mcp" && cell[0] != "overview" && !used[name] {
				t.Errorf("the grant is not used: %s: remove it from actionsByOperation in infra/grant.go", name)
			}
		}
	}
	for name := range used {
		if f := strings.Fields(name); !slices.Contains(readAccessTable(t)[[3]string(f[:3])], f[3]) {
			t.Errorf("not in infra/testdata/access.tsv: add %s to it", name)
		}
	}
}

// Ensure the MCP function's role allows the table calls that are made when a client lists or calls
// tools. The areas in the event's query must limit the listed tools.
func TestToolCallIsAllowed(t *testing.T) {
	t.Parallel()
	s := newDeployedStage(t)
	s.importFixture(t)
	all := infra.New().Functions
	p := policyOf(t, all[slices.IndexFunc(all, func(f infra.Function) bool { return f.Name == "mcp" })])
	for _, body := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`,
		`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"service_list_plan_items","arguments":{"boardId":"brd_1"}}}`,
	} {
		got := s.functions["mcp"](t, events.APIGatewayProxyRequest{
			HTTPMethod: "POST", Path: mcpserver.Path, Body: body, RequestContext: events.APIGatewayProxyRequestContext{Protocol: "HTTP/1.1"},
			QueryStringParameters: map[string]string{"areas": "plan"}, MultiValueQueryStringParameters: map[string][]string{"areas": {"plan"}},
			MultiValueHeaders: map[string][]string{
				"Authorization": {"Bearer " + s.key}, "Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}, "Host": {"api.test"},
			},
		})
		calls := s.recorder.take(t, s.Table.Name())
		if got.StatusCode != http.StatusOK || len(calls) == 0 || strings.Contains(got.Body, "service_list_feedback") {
			t.Errorf("%s: %d %s, %d calls", body, got.StatusCode, got.Body, len(calls))
		}
		for _, call := range calls {
			if !p.allows(call) {
				t.Errorf("%s: not allowed: %v", body, call)
			}
		}
	}
}

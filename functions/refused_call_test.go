package functions_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"growthworkspace/functions"
	"growthworkspace/functions/broadcast"
	"growthworkspace/functions/company"
	"growthworkspace/functions/feedback"
	"growthworkspace/functions/plan"
	"growthworkspace/shared/api"
	"growthworkspace/shared/auth"
	"growthworkspace/shared/keys"
	"growthworkspace/shared/schema"
	"growthworkspace/shared/table"
	"growthworkspace/shared/testkit/apitest"
)

// refusingTransport is a transport that refuses one table call in each run, with an error that is
// not retried. It lets through any call that it refused in an earlier run. It recognises a call by
// its content, because parallel calls arrive in any order.
type refusingTransport struct {
	mu            sync.Mutex
	enabled       bool
	refusedBefore map[string]bool // the calls refused in earlier runs
	callCounts    map[string]int  // how many times each call was made in this run
	refusedCall   string          // the call refused in this run; empty if none
}

// RoundTrip implements http.RoundTripper.
func (r *refusingTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	if !r.shouldRefuse(request) {
		return apitest.Transport.RoundTrip(request)
	}
	const refusal = `{"__type":"com.amazon.coral.service#AccessDeniedException","Message":"planted"}`
	return &http.Response{
		StatusCode: http.StatusBadRequest, Header: http.Header{"Content-Type": {"application/x-amz-json-1.0"}}, Request: request,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, ContentLength: int64(len(refusal)), Body: io.NopCloser(strings.NewReader(refusal)),
	}, nil
}

func (r *refusingTransport) shouldRefuse(request *http.Request) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.enabled {
		return false
	}
	body, err := io.ReadAll(request.Body)
	if err != nil {
		return true
	}
	request.Body = io.NopCloser(bytes.NewReader(body))
	call := describeCall(request.Header.Get("X-Amz-Target"), body)
	if call != laterScanPage {
		r.callCounts[call]++
	}
	if call += strings.Repeat(" again", max(0, r.callCounts[call]-1)); r.refusedCall != "" || r.refusedBefore[call] {
		return false
	}
	r.refusedCall, r.refusedBefore[call] = call, true
	return true
}

var (
	keysInBodyPattern = regexp.MustCompile(`"(?:pk|sk|:pk|:prefix|:low)":\{"S":"([^"]*)"`)
	randomPartPattern = regexp.MustCompile(`_[0-9a-z]{26}|[0-9a-f]{64}|\d{20}|\d{4}-\d\d-\d\dT[0-9:.]+Z?`)
)

// laterScanPage describes every page of a scan except its first. The number of pages depends on
// what other tests have written to the table.
const laterScanPage = "Scan from a key"

// describeCall describes a call by its action and keys. It omits ids, digests and times, which
// differ in every run.
func describeCall(target string, body []byte) string {
	_, action, _ := strings.Cut(target, ".")
	if action == "Scan" && bytes.Contains(body, []byte(`"ExclusiveStartKey"`)) {
		return laterScanPage
	}
	var keys []string
	for _, found := range keysInBodyPattern.FindAllSubmatch(body, -1) {
		keys = append(keys, randomPartPattern.ReplaceAllString(string(found[1]), ""))
	}
	slices.Sort(keys)
	return action + " " + strings.Join(slices.Compact(keys), " ")
}

// refuseEachCall repeats a program until every call that it makes has been refused in one of the
// runs. After each run, it passes the call that was refused in that run to `judge`. After the last
// run, in which no call was refused, it passes "".
func (r *refusingTransport) refuseEachCall(t *testing.T, run func(), judge func(call string)) {
	t.Helper()
	r.startRun(map[string]bool{})
	defer r.stop()
	for range 100 {
		run()
		r.mu.Lock()
		call := r.refusedCall
		r.mu.Unlock()
		judge(call)
		if call == "" {
			return
		}
		r.startRun(r.refusedBefore)
	}
	t.Error("the calls to the table have no end")
}

func (r *refusingTransport) stop() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.enabled = false
}

func (r *refusingTransport) startRun(before map[string]bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.enabled, r.refusedBefore, r.callCounts, r.refusedCall = true, before, map[string]int{}, ""
}

// toleratedRefusals lists the calls that can be refused without causing the request to fail. Each
// entry contains the operation, part of the call's description, and the reason.
var toleratedRefusals = [][3]string{
	{"create_optimise_audit", "Query co#optimise draft#", "the audit is stored; old drafts wait for the next write"},
	{"update_optimise_audit", "Query co#optimise draft#", "the same"},
	{"update_optimise_audit", "gen#000 again", "the audit is changed; its draft names the findings that are left"},
	{"update_optimise_audit", "draft#drf again", "the same"},
	{"update_broadcast_post", "Query channel#", "the post is scheduled; a line beside the result says that the channels could not be read"},
}

// Ensure a request fails with a 5xx when the table refuses any one of its calls, and succeeds once
// nothing is refused. No operation may treat the error of a call as a missing record, an empty list
// or a success.
func TestNoRefusalIsSwallowed(t *testing.T) {
	t.Parallel()
	apitest.SkipIfShort(t)
	overHTTP := func(t *testing.T, s *apitest.Service, key string, op api.Operation, args map[string]any) apitest.Response {
		t.Helper()
		return s.Call(t, key, op.ID, args)
	}
	t.Run("over HTTP", func(t *testing.T) {
		t.Parallel()
		testRefusals(t, functions.Operations(nil), filterVariants, overHTTP)
	})
	t.Run("with an Idempotency-Key", func(t *testing.T) {
		t.Parallel()
		testRefusals(t, operationsWithIdempotencyKey(), func(api.Operation) []map[string]any { return []map[string]any{{"Idempotency-Key": "once"}} }, overHTTP)
	})
	t.Run("as tools", func(t *testing.T) {
		t.Parallel()
		noVariants := func(api.Operation) []map[string]any { return []map[string]any{{}} }
		testRefusals(t, toolOperations(), noVariants, func(t *testing.T, s *apitest.Service, key string, op api.Operation, args map[string]any) apitest.Response {
			t.Helper()
			return callTool(t, s, key, op.ID, args).response(t)
		})
	})
}

// filterVariants returns sets of arguments to add to a request: an empty set, and one set for each
// value of each filter.
func filterVariants(op api.Operation) []map[string]any {
	out := []map[string]any{{}}
	for _, f := range op.Input {
		for _, value := range f.Enum {
			if f.In == schema.InQuery {
				out = append(out, map[string]any{f.Name: value})
			}
		}
	}
	return out
}

// testRefusals calls each operation with each variant of its arguments, for a company with a
// published board. It repeats the operation once for each call that it makes to the table, and the
// table refuses that call.
func testRefusals(t *testing.T, operations []api.Operation, variants func(api.Operation) []map[string]any,
	send func(*testing.T, *apitest.Service, string, api.Operation, map[string]any) apitest.Response,
) {
	t.Helper()
	transport := &refusingTransport{}
	s := start(t, transport)
	key := s.IssueKey(t)
	publishFixtureBoard(t, s, key)
	calls, requests := 0, 0
	for _, op := range operations {
		if op.ID == "publish_plan_board" { // so that the publish has a new item and a changed one
			s.Call(t, key, "create_plan_item", map[string]any{"boardId": "brd_1", "title": "New", "status": "published"})
			s.Call(t, key, "update_plan_item", map[string]any{"itemId": "itm_1", "title": "Changed since"})
		}
		for _, more := range variants(op) {
			var got apitest.Response
			transport.refuseEachCall(t, func() {
				s.Clock.Advance(time.Minute) // so that no rate limit is reached
				got = send(t, s, key, op, fixtureArgumentsWith(op, more))
				requests++
			}, func(call string) {
				if call != "" {
					calls++
				}
				checkRefusedResponse(t, op.ID, call, got)
			})
		}
	}
	if calls < requests/2 {
		t.Errorf("%d calls were refused in %d requests, want at least one in two", calls, requests)
	}
}

// publishFixtureBoard publishes the board with one item.
func publishFixtureBoard(t *testing.T, s *apitest.Service, key string) {
	t.Helper()
	for _, call := range []struct {
		op   string
		args map[string]any
	}{
		{"update_plan_item", map[string]any{"itemId": "itm_1", "title": "Live", "status": "published"}},
		{"publish_plan_board", map[string]any{"boardId": "brd_1"}},
	} {
		if r := s.Call(t, key, call.op, call.args); r.Status != http.StatusOK {
			t.Fatalf("%s: status %d, want 200: %s", call.op, r.Status, r.Body)
		}
	}
}

// checkRefusedResponse checks the response to a request during which the given call was refused. An
// empty call means that none was refused.
func checkRefusedResponse(t *testing.T, operation, call string, got apitest.Response) {
	t.Helper()
	tolerated := slices.ContainsFunc(toleratedRefusals, func(u [3]string) bool { return u[0] == operation && call != "" && strings.Contains(call, u[1]) })
	switch {
	case call == "" || tolerated:
		if got.Status != http.StatusOK {
			t.Errorf("%s: status %d, want 200: %s", operation, got.Status, got.Body)
		}
	case got.Status < http.StatusInternalServerError:
		t.Errorf("%s, refused %s: status %d, want 500 or more: %s", operation, call, got.Status, got.Body)
	default:
		if _, messages := got.Messages(t); len(messages) != 1 || strings.Contains(got.Body, "planted") {
			t.Errorf("%s, refused %s: %s", operation, call, got.Body)
		}
	}
}

// Ensure the functions behind the operator's commands fail when the table refuses any one of their
// calls, because a list or an export that ended early would look complete.
func TestNoRefusalIsSwallowedByStores(t *testing.T) {
	t.Parallel()
	transport := &refusingTransport{}
	s := start(t, transport)
	key := s.IssueKey(t)
	publishFixtureBoard(t, s, key)
	s.Call(t, key, "update_feedback_reply", fixtureArguments["update_feedback_reply"])
	s.Call(t, key, "update_broadcast_post", map[string]any{"postId": "pst_1", "status": "scheduled", "scheduledFor": "2026-08-11T09:00:00Z"})
	calls := 0
	ensure := func(name string, do func(ctx context.Context) error) {
		t.Helper()
		var err error
		transport.refuseEachCall(t, func() { err = do(t.Context()) }, func(call string) {
			if call == "" && err != nil || call != "" && err == nil {
				t.Errorf("%s, refused %q: %v", name, call, err)
			}
			if call != "" {
				calls++
			}
		})
	}
	var imports []func()
	for _, kind := range functions.Transfers(s.Table) {
		var lines []json.RawMessage
		ensure("export of "+kind.Name, func(ctx context.Context) error {
			lines = nil
			return kind.Export(ctx, s.CompanyID, func(record any) error {
				text, err := schema.Encode(record)
				lines = append(lines, text)
				return err
			})
		})
		if len(lines) == 0 {
			t.Errorf("the company has no %s", kind.Name)
		}
		errDiskFull := errors.New("the disk is full")
		if err := kind.Export(t.Context(), s.CompanyID, func(any) error { return errDiskFull }); !errors.Is(err, errDiskFull) {
			t.Errorf("export of %s to a full disk: %v", kind.Name, err)
		}
		var records []any
		for _, text := range lines {
			record, problems := kind.Check(text)
			if len(problems) > 0 {
				t.Errorf("the exported %s has problems: %q", text, problems)
			}
			records = append(records, record)
		}
		ensure("verification of "+kind.Name, func(ctx context.Context) error {
			_, err := kind.Verify(ctx, s.CompanyID, records)
			return err
		})
		ensure("import of "+kind.Name, func(ctx context.Context) error { return kind.Write(ctx, s.CompanyID, records) })
		imports = append(imports, func() {
			kind := kind.ForFile(func(string) bool { return false })
			ensure("import of what is new of "+kind.Name, func(ctx context.Context) error {
				fresh, _, err := kind.FilterNew(ctx, s.CompanyID, records)
				if err == nil && len(fresh) > 0 {
					_, err = kind.Add(ctx, s.CompanyID, fresh)
				}
				return err
			})
			n := 0
			if err := kind.Export(t.Context(), s.CompanyID, func(any) error { n++; return nil }); err != nil || n < len(records) {
				t.Errorf("%d of %d %s records were imported, %v", n, len(records), kind.Name, err)
			}
		})
	}
	posts, replies, boards := broadcast.NewStore(s.Table), feedback.NewStore(s.Table), plan.NewStore(s.Table)
	for _, c := range []struct {
		name string
		do   func(ctx context.Context) error
	}{
		{"companies", func(ctx context.Context) error { _, err := table.RegisteredCompanies(ctx, s.Table); return err }},
		{"profiles", func(ctx context.Context) error {
			_, err := company.NewStore(s.Table).GetMany(ctx, []string{s.CompanyID})
			return err
		}},
		{"suspended companies", func(ctx context.Context) error {
			_, err := s.Keys.SuspensionTimes(ctx, []string{s.CompanyID})
			return err
		}},
		{"keys", func(ctx context.Context) error { _, err := s.Keys.List(ctx, s.CompanyID); return err }},
		{"holder of a key", func(ctx context.Context) error {
			token, err := auth.ParseHeader([]string{"Bearer " + key})
			if err == nil {
				_, err = s.Keys.KeyOfToken(ctx, token)
			}
			return err
		}},
		{"quota", func(ctx context.Context) error {
			_, err := s.Keys.SetQuota(ctx, s.CompanyID, fixtureArguments["rotate_key"]["keyId"].(string), auth.ClassRead, 7)
			return err
		}},
		{"rotation", func(ctx context.Context) error {
			_, _, err := s.Keys.Rotate(ctx, s.CompanyID, fixtureArguments["rotate_key"]["keyId"].(string), time.Hour, rand.Reader)
			return err
		}},
		{"suspension", func(ctx context.Context) error { _, err := s.Keys.Suspend(ctx, s.CompanyID); return err }},
		{"a key of a suspended company", func(ctx context.Context) error {
			_, _, err := s.Keys.Issue(ctx, s.CompanyID, keys.Grant{Name: "new"}, rand.Reader)
			return err
		}},
		{"end of a suspension", func(ctx context.Context) error { _, err := s.Keys.Resume(ctx, s.CompanyID); return err }},
		{"due posts", func(ctx context.Context) error { _, err := posts.DuePosts(ctx, s.CompanyID, nil, "", 10); return err }},
		{"claim of a post", func(ctx context.Context) error { _, err := posts.ClaimPost(ctx, s.CompanyID, "pst_1"); return err }},
		{"approved replies", func(ctx context.Context) error {
			_, err := replies.ApprovedReplies(ctx, s.CompanyID, nil, "", 10)
			return err
		}},
		{"claim of a reply", func(ctx context.Context) error {
			_, err := replies.ClaimReply(ctx, s.CompanyID, "fbk_1", nil)
			return err
		}},
		{"snapshot", func(ctx context.Context) error { _, err := boards.Snapshot(ctx, s.CompanyID, "brd_1", nil); return err }},
		{"versions", func(ctx context.Context) error {
			_, err := boards.Versions(ctx, s.CompanyID, "brd_1", "", 51)
			return err
		}},
	} {
		ensure(c.name, c.do)
	}
	s.Call(t, key, "create_plan_item", map[string]any{"boardId": "brd_1", "title": "New", "status": "published"})
	if r := s.Call(t, key, "publish_plan_board", map[string]any{"boardId": "brd_1"}); r.Status != http.StatusOK {
		t.Fatalf("the publish: status %d, want 200: %s", r.Status, r.Body)
	}
	ensure("an earlier snapshot", func(ctx context.Context) error {
		first := int64(1)
		_, err := boards.Snapshot(ctx, s.CompanyID, "brd_1", &first)
		return err
	})
	ensure("erasure", func(ctx context.Context) error {
		_, err := company.NewStore(s.Table).Erase(ctx, s.CompanyID, nil)
		return err
	})
	for _, add := range imports {
		add()
	}
	if calls == 0 {
		t.Error("no call was refused")
	}
}

package functions_test

import (
	"crypto/rand"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"growthworkspace/functions"
	"growthworkspace/shared/api"
	"growthworkspace/shared/auth"
	"growthworkspace/shared/keys"
	"growthworkspace/shared/schema"
	"growthworkspace/shared/testkit/apitest"
	"growthworkspace/shared/timestamp"
)

func acceptsHeader(op api.Operation, header string) bool {
	return slices.ContainsFunc(op.Input, func(f schema.Field) bool { return f.In == schema.InHeader && f.Name == header })
}

// fixtureArgumentsWith returns arguments with which a call succeeds on the fixture. The arguments
// in `more` are added to them.
func fixtureArgumentsWith(op api.Operation, more map[string]any) map[string]any {
	out := maps.Clone(fixtureArguments[op.ID])
	maps.Copy(out, more)
	return out
}

// Ensure an operation accepts an Idempotency-Key if and only if it is not inherently idempotent.
// Ensure only updates, deletes of single records, publish and rollback accept an If-Match, and that
// all of them do.
func TestContractsOfWrites(t *testing.T) {
	t.Parallel()
	for _, op := range functions.Operations(nil) {
		if got, want := acceptsHeader(op, "Idempotency-Key"), op.Method == http.MethodPost && op.Effect != api.Read; got != want {
			t.Errorf("%s accepts an Idempotency-Key: %v, want %v", op.ID, got, want)
		}
		changesOneRecord := op.Method == http.MethodPatch || op.Method == http.MethodDelete && op.ID != "delete_metric_points" // whether the operation changes a single record
		want := changesOneRecord || op.ID == "publish_plan_board" || op.ID == "rollback_plan_board"
		if got := acceptsHeader(op, "If-Match"); got != want {
			t.Errorf("%s accepts an If-Match: %v, want %v", op.ID, got, want)
		} else if got != honoursIfMatch(op) {
			t.Errorf("%s: %s accepts an If-Match: %v; one that does has the operation that reads its record", operationRow(t, op).CellLocation("reader"), op.ID, got)
		}
	}
}

func operationsWithIdempotencyKey() (out []api.Operation) {
	return slices.DeleteFunc(functions.Operations(nil), func(op api.Operation) bool { return !acceptsHeader(op, "Idempotency-Key") })
}

// Ensure a request that is repeated with its Idempotency-Key runs only once and gets the first
// response again, over HTTP and as a tool. A different request with the same key must be rejected.
func TestReplay(t *testing.T) {
	t.Parallel()
	for _, op := range operationsWithIdempotencyKey() {
		t.Run(op.ID, func(t *testing.T) {
			t.Parallel()
			s := start(t, nil)
			key := s.IssueKey(t)
			args := fixtureArgumentsWith(op, map[string]any{"Idempotency-Key": "once"})
			first := s.Call(t, key, op.ID, args)
			if first.Status != http.StatusOK || first.Header.Get("Idempotent-Replayed") != "" {
				t.Fatalf("the first request: status %d, Idempotent-Replayed %q; want 200 and none: %s", first.Status, first.Header.Get("Idempotent-Replayed"), first.Body)
			}
			s.Clock.Advance(23 * time.Hour)
			again := s.Call(t, key, op.ID, args)
			compareReplay(t, "the repeated request", first, again)
			other := fixtureArgumentsWith(op, differentArgument(t, op))
			other["Idempotency-Key"] = "once"
			if r := s.Call(t, key, op.ID, other); r.Status != http.StatusBadRequest {
				t.Errorf("a different request: status %d, want 400: %s", r.Status, r.Body)
			} else if _, messages := r.Messages(t); messages[0] != "header.Idempotency-Key: was sent before with another request; use a new one" {
				t.Errorf("a different request: the messages are %q, want that the key was sent before", messages)
			}
			if op.NotTool {
				return
			}
			asTool := fixtureArgumentsWith(op, map[string]any{"idempotencyKey": "once"})
			if r := callTool(t, s, key, op.ID, asTool); r.IsError || string(r.StructuredContent) != first.Body {
				t.Errorf("as a tool: %s", r.http.Body)
			}
		})
	}
}

// differentArgument returns one argument for an operation. Its value differs from the value of that
// argument in fixtureArguments. The argument comes from the operation tables or, if they list none,
// is a free-form string property of the body.
func differentArgument(t *testing.T, op api.Operation) map[string]any {
	t.Helper()
	o := operationRow(t, op)
	if o.OtherArguments != nil {
		return o.OtherArguments
	}
	for _, f := range op.Input {
		if f.In == schema.InBody && f.Kind == schema.String && f.Enum == nil && f.Format+f.Pattern+f.Ref == "" {
			return map[string]any{f.Name: "Another"}
		}
	}
	t.Fatalf("%s: %s has no free text in its body: type an argument and another value of it", o.CellLocation("other"), op.ID)
	return nil
}

// Ensure that if two different requests are each sent several times, concurrently, with the same
// Idempotency-Key, only one of the two succeeds. It must run once, and all its copies get the same
// response. All copies of the other request must get a 400.
func TestConcurrentRequestsWithOneKey(t *testing.T) {
	t.Parallel()
	apitest.SkipIfShort(t)
	for _, op := range operationsWithIdempotencyKey() {
		t.Run(op.ID, func(t *testing.T) {
			t.Parallel()
			s := start(t, nil)
			key := s.IssueKey(t)
			const n = 8
			var responses [n]apitest.Response
			var wait sync.WaitGroup
			for i := range n {
				args := fixtureArgumentsWith(op, map[string]any{"Idempotency-Key": "once"})
				if i%2 > 0 {
					maps.Copy(args, differentArgument(t, op))
				}
				wait.Go(func() { responses[i] = s.Call(t, key, op.ID, args) })
			}
			wait.Wait()
			winner := slices.IndexFunc(responses[:], func(r apitest.Response) bool { return r.Status == http.StatusOK })
			fresh := 0
			for i, r := range responses {
				if r.Status == http.StatusOK && r.Header.Get("Idempotent-Replayed") == "" {
					fresh++
				}
				switch {
				case winner >= 0 && i%2 == winner%2 && (r.Status != http.StatusOK || r.Body != responses[winner].Body):
					t.Errorf("%d %s\nand another one: %s", r.Status, r.Body, responses[winner].Body)
				case winner < 0 || i%2 != winner%2 && r.Status != http.StatusBadRequest:
					t.Errorf("a request with other arguments: %d %s", r.Status, r.Body)
				}
			}
			if fresh != 1 {
				t.Errorf("%d requests ran, want 1", fresh)
			}
		})
	}
}

// Ensure an error that depends on a record's state is also replayed, even if the state has changed
// since. An invalid request must not use up its Idempotency-Key. One caller's Idempotency-Key must
// not affect another caller.
func TestReplayOfRefusals(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	key := s.IssueKey(t)
	create := func(slug, idempotencyKey string) apitest.Response {
		return s.Call(t, key, "create_plan_item", map[string]any{"boardId": "brd_1", "title": "T", "slug": slug, "Idempotency-Key": idempotencyKey})
	}
	first := create("taken", "a")
	if first.Status != http.StatusOK {
		t.Fatalf("the first create: status %d, want 200: %s", first.Status, first.Body)
	}
	refused := create("taken", "b")
	if r := s.Call(t, key, "delete_plan_item", map[string]any{"itemId": first.JSON(t)["id"]}); r.Status != http.StatusOK {
		t.Fatalf("the delete: status %d, want 200: %s", r.Status, r.Body)
	}
	if refused.Status != http.StatusConflict {
		t.Errorf("the slug is taken: status %d, want 409: %s", refused.Status, refused.Body)
	}
	compareReplay(t, "the repeated conflict", refused, create("taken", "b"))
	if r := create("Not A Slug", "c"); r.Status != http.StatusBadRequest {
		t.Errorf("an invalid slug: status %d, want 400: %s", r.Status, r.Body)
	}
	if r := create("taken", "c"); r.Status != http.StatusOK || r.Header.Get("Idempotent-Replayed") != "" {
		t.Errorf("after an invalid request: %d %s", r.Status, r.Body)
	}
	if r := s.Call(t, s.IssueKey(t), "create_plan_item", map[string]any{"boardId": "brd_1", "title": "T", "slug": "taken", "Idempotency-Key": "a"}); r.Status != http.StatusConflict {
		t.Errorf("the Idempotency-Key of another caller: %d %s", r.Status, r.Body)
	}
	for _, bad := range []string{"", fmt.Sprintf("%0256d", 1)} {
		if r := create("free", bad); r.Status != http.StatusBadRequest {
			t.Errorf("the Idempotency-Key %q: status %d, want 400: %s", bad, r.Status, r.Body)
		}
	}
}

// Ensure a 400 that was caused by a stored record is replayed even after that record is deleted,
// and that the same request with a new Idempotency-Key succeeds.
func TestReplayOfRefusedPush(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	key := s.IssueKey(t)
	derived := s.Call(t, key, "create_metric_definition", map[string]any{"key": "growth.ratio", "kind": "derived", "formula": "a / b"})
	review := map[string]any{"source": "reddit", "externalId": "r-1", "kind": "mention"}
	stored := s.Call(t, key, "push_feedback", map[string]any{"records": []any{review}})
	if derived.Status != http.StatusOK || stored.Status != http.StatusOK {
		t.Fatalf("the derived metric: status %d, the review: status %d; want 200: %s, %s", derived.Status, stored.Status, derived.Body, stored.Body)
	}
	push := func(operation, idempotencyKey string) apitest.Response {
		args := map[string]any{"Idempotency-Key": idempotencyKey, "points": []any{map[string]any{"metricKey": "growth.ratio", "ts": "2026-08-11", "value": 1}}}
		if operation == "push_feedback" {
			args = map[string]any{"Idempotency-Key": idempotencyKey, "records": []any{map[string]any{"source": "reddit", "externalId": "r-1", "kind": "review"}}}
		}
		return s.Call(t, key, operation, args)
	}
	operations := []string{"push_metric_points", "push_feedback"}
	refused := map[string]apitest.Response{}
	for _, operation := range operations {
		if refused[operation] = push(operation, "a"); refused[operation].Status != http.StatusBadRequest {
			t.Fatalf("%s: status %d, want 400: %s", operation, refused[operation].Status, refused[operation].Body)
		}
	}
	id := s.Call(t, key, "list_feedback", map[string]any{"source": "reddit"}).Items(t)[0]["id"]
	for operation, args := range map[string]map[string]any{"delete_metric_definition": {"definitionId": derived.JSON(t)["id"]}, "delete_feedback": {"feedbackId": id}} {
		if r := s.Call(t, key, operation, args); r.Status != http.StatusOK {
			t.Fatalf("%s: status %d, want 200: %s", operation, r.Status, r.Body)
		}
	}
	for _, operation := range operations {
		compareReplay(t, "the repeated "+operation, refused[operation], push(operation, "a"))
		if r := push(operation, "b"); r.Status != http.StatusOK {
			t.Errorf("%s with another key: %d %s", operation, r.Status, r.Body)
		}
	}
}

// Ensure an Idempotency-Key costs no extra round trip when the change is a single transaction. A
// push of reviews takes more than one transaction. It must therefore claim the Idempotency-Key
// first and store the response at the end.
func TestRoundTripsOfIdempotency(t *testing.T) {
	t.Parallel()
	apitest.SkipIfShort(t)
	counter := &apitest.RoundTripCounter{}
	s := start(t, counter)
	key := s.IssueKey(t)
	calls := 0
	// call makes a call that changes something, and returns the number of round trips it took.
	call := func(op api.Operation, more map[string]any) int {
		calls++
		args := argumentsForCall(t, s, key, op, calls, more)
		s.Clock.Advance(2 * time.Minute) // so that the rate limit buckets are full and the last publish is long past
		trips, _ := counter.Count(t, func(t *testing.T) {
			if r := s.Call(t, key, op.ID, args); r.Status != http.StatusOK {
				t.Errorf("%s: status %d, want 200: %s", op.ID, r.Status, r.Body)
			}
		})
		return trips
	}
	for _, op := range operationsWithIdempotencyKey() {
		call(op, nil) // the first publish of a board has no snapshot to compare with
		tripsWithoutKey, tripsWithKey := call(op, nil), call(op, map[string]any{"Idempotency-Key": "once"})
		if o := operationRow(t, op); tripsWithKey != tripsWithoutKey+o.ExtraRoundTripsWithKey {
			t.Errorf("%s: %s: %d round trips and %d with a key: type +%d", o.CellLocation("trips"), op.ID, tripsWithoutKey, tripsWithKey, tripsWithKey-tripsWithoutKey)
		}
	}
}

func compareReplay(t *testing.T, name string, first, again apitest.Response) {
	t.Helper()
	type replay struct {
		Status               int
		Body, ETag, Replayed string
	}
	want := replay{first.Status, first.Body, first.Header.Get("ETag"), "true"}
	got := replay{again.Status, again.Body, again.Header.Get("ETag"), again.Header.Get("Idempotent-Replayed")}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s is no replay of the first response (-want +got):\n%s", name, diff)
	}
}

// argumentsForCall returns arguments for the n-th call of an operation. The arguments in `more` are
// added to them. The arguments differ from one call to the next, so that each call changes
// something.
func argumentsForCall(t *testing.T, s *apitest.Service, key string, op api.Operation, n int, more map[string]any) map[string]any {
	t.Helper()
	args := fixtureArgumentsWith(op, more)
	switch op.ID {
	case "create_plan_item":
		args["title"] = fmt.Sprintf("Number %d", n) // otherwise the service would have to find a free slug
	case "create_metric_definition":
		args["key"] = fmt.Sprintf("growth.metric_%d", n)
	case "publish_plan_board", "rollback_plan_board":
		s.Call(t, key, "create_plan_item", map[string]any{"boardId": "brd_1", "title": fmt.Sprintf("Number %d", n), "status": "published"})
		if op.ID == "rollback_plan_board" {
			live := s.Call(t, key, "publish_plan_board", map[string]any{"boardId": "brd_1"}).JSON(t)["publishedVersion"].(float64)
			args["version"] = live - 1 // the first versions may have been removed
		}
	case "claim_broadcast_post", "report_broadcast_post":
		importFixture(t, s, args["postId"].(string)) // resets the claim, which another call may have ended or changed
	case "claim_feedback_reply", "report_feedback_reply":
		importFixture(t, s, args["feedbackId"].(string))
	case "rotate_key":
		args["keyId"], _ = issueKey(t, s, keys.Grant{Name: "another"})
	}
	return args
}

// Ensure a response that contains a secret is replayed only to the same key, however the
// Authorization header is spelled.
func TestReplayForAnySpellingOfTheKey(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	key := s.IssueKey(t)
	const path, body = "/v1/companies/{companyId}/keys", `{"name":"CI","scopes":["plan:read"]}`
	first := s.Send(t, key, "POST", path, body, "Idempotency-Key", "once")
	for _, spelling := range []string{"bearer " + key, "Bearer   " + key + " ", "BEARER " + key} {
		again := s.Send(t, "", "POST", path, body, "Idempotency-Key", "once", "Authorization", spelling)
		if first.Status != http.StatusOK || again.Status != http.StatusOK || again.Body != first.Body {
			t.Errorf("%d, then %d %s", first.Status, again.Status, again.Body)
		}
	}
}

// Ensure a key cannot create another key that has higher rate limits or expires later.
func TestKeysAreLimitedByTheirGranter(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	expiry := s.Clock.Now().Add(time.Hour)
	grantor, secret, err := s.Keys.Issue(t.Context(), s.CompanyID, keys.Grant{Name: "for an hour", Scopes: auth.Scopes(), ExpiresAt: expiry}, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Keys.SetQuota(t.Context(), s.CompanyID, grantor.ID, auth.ClassRead, 7); err != nil {
		t.Fatal(err)
	}
	for _, expiresAt := range []any{nil, "2099-01-01T00:00:00Z", expiry.Add(-time.Minute).Format(time.RFC3339)} {
		args := map[string]any{"name": "made", "scopes": []string{"plan:read"}}
		want := expiry
		if expiresAt != nil {
			args["expiresAt"] = expiresAt
		}
		if expiresAt == expiry.Add(-time.Minute).Format(time.RFC3339) {
			want = expiry.Add(-time.Minute)
		}
		made := s.Call(t, secret, "create_key", args)
		if made.Status != http.StatusOK || made.JSON(t)["expiresAt"] != timestamp.Format(want) {
			t.Errorf("%v: %d %s, want the expiry %s", expiresAt, made.Status, made.Body, timestamp.Format(want))
			continue
		}
		if r := s.Call(t, made.JSON(t)["secret"].(string), "list_plan_boards", nil); r.Header.Get("RateLimit-Limit") != "7" {
			t.Errorf("its rate limit is %s, want 7", r.Header.Get("RateLimit-Limit"))
		}
	}
	rotated := s.Call(t, secret, "rotate_key", map[string]any{"keyId": grantor.ID})
	if rotated.Status != http.StatusOK || rotated.JSON(t)["expiresAt"] != timestamp.Format(expiry) {
		t.Errorf("a rotation: %d %s", rotated.Status, rotated.Body)
	}
}

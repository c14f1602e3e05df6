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

	"growthworkspace/functions"
	"growthworkspace/shared/api"
	"growthworkspace/shared/auth"
	"growthworkspace/shared/keys"
	"growthworkspace/shared/schema"
	"growthworkspace/shared/testkit/apitest"
	"growthworkspace/shared/timestamp"
)

// acceptsHeader reports whether an operation accepts a header.
func acceptsHeader(op api.Operation, header string) bool {
	return slices.ContainsFunc(op.Input, func(f schema.Field) bool { return f.In == schema.InHeader && f.Name == header })
}

// argumentsWith returns the arguments of a call that succeeds on the fixture, with more added.
func argumentsWith(op api.Operation, more map[string]any) map[string]any {
	out := maps.Clone(fixtureArguments[op.ID])
	maps.Copy(out, more)
	return out
}

// Ensure every operation that is not idempotent by itself accepts an Idempotency-Key, and no other
// does; and that every update and delete, and publish, accepts an If-Match: every operation whose
// record has a reader, and two more.
func TestContractsOfWrites(t *testing.T) {
	t.Parallel()
	for _, op := range functions.Operations(nil) {
		if got, want := acceptsHeader(op, "Idempotency-Key"), op.Method == http.MethodPost && op.Effect != api.Read; got != want {
			t.Errorf("%s accepts an Idempotency-Key: %v, want %v", op.ID, got, want)
		}
		one := op.Method == http.MethodPatch || op.Method == http.MethodDelete && op.ID != "delete_metric_points" // of one record
		want := one || op.ID == "publish_plan_board"
		if got := acceptsHeader(op, "If-Match"); got != want {
			t.Errorf("%s accepts an If-Match: %v, want %v", op.ID, got, want)
		} else if got != honoursIfMatch(op) {
			t.Errorf("%s: %s accepts an If-Match: %v; one that does has the operation that reads its record", operationLine(t, op).CellLocation("reader"), op.ID, got)
		}
	}
}

func idempotentOperations() (out []api.Operation) {
	return slices.DeleteFunc(functions.Operations(nil), func(op api.Operation) bool { return !acceptsHeader(op, "Idempotency-Key") })
}

// Ensure a request that is repeated with its Idempotency-Key runs once and gets the first response
// again, over HTTP and as a tool, and that a different request with that key is rejected.
func TestReplay(t *testing.T) {
	t.Parallel()
	for _, op := range idempotentOperations() {
		t.Run(op.ID, func(t *testing.T) {
			t.Parallel()
			s := start(t, nil)
			key := s.Key(t)
			args := argumentsWith(op, map[string]any{"Idempotency-Key": "once"})
			first := s.Call(t, key, op.ID, args)
			if first.Status != http.StatusOK || first.Header.Get("Idempotent-Replayed") != "" {
				t.Fatalf("%d %s", first.Status, first.Body)
			}
			s.Clock.Advance(23 * time.Hour)
			again := s.Call(t, key, op.ID, args)
			if again.Status != http.StatusOK || again.Body != first.Body || again.Header.Get("Idempotent-Replayed") != "true" || again.Header.Get("ETag") != first.Header.Get("ETag") {
				t.Errorf("the repeated request: %d %s\nthe first: %s", again.Status, again.Body, first.Body)
			}
			other := argumentsWith(op, differentArgument(t, op))
			other["Idempotency-Key"] = "once"
			if r := s.Call(t, key, op.ID, other); r.Status != http.StatusBadRequest {
				t.Errorf("a different request: %d %s", r.Status, r.Body)
			} else if _, messages := r.Messages(t); messages[0] != "header.Idempotency-Key: was sent before with another request; use a new one" {
				t.Error(messages)
			}
			if op.NotTool {
				return
			}
			asTool := argumentsWith(op, map[string]any{"idempotencyKey": "once"})
			if r := callTool(t, s, key, op.ID, asTool); r.IsError || string(r.StructuredContent) != first.Body {
				t.Errorf("as a tool: %s", r.http.Body)
			}
		})
	}
}

// differentArgument returns an argument of an operation with a value that differs from the
// fixture's. It is the one in the tables, or, if they have none, a text in the body.
func differentArgument(t *testing.T, op api.Operation) map[string]any {
	t.Helper()
	o := operationLine(t, op)
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

// Ensure concurrent requests with one Idempotency-Key run once and all get the same response.
func TestHTTPAndToolsAreEqual(t *testing.T) {
	t.Parallel()
	apitest.SkipIfShort(t)
	for _, op := range idempotentOperations() {
		t.Run(op.ID, func(t *testing.T) {
			t.Parallel()
			s := start(t, nil)
			key := s.Key(t)
			const n = 8
			var responses [n]apitest.Response
			var wait sync.WaitGroup
			for i := range n {
				wait.Go(func() {
					responses[i] = s.Call(t, key, op.ID, argumentsWith(op, map[string]any{"Idempotency-Key": "once"}))
				})
			}
			wait.Wait()
			fresh := 0
			for _, r := range responses {
				if r.Status != http.StatusOK || r.Body != responses[0].Body {
					t.Errorf("%d %s\nand another one: %s", r.Status, r.Body, responses[0].Body)
				}
				if r.Header.Get("Idempotent-Replayed") == "" {
					fresh++
				}
			}
			if fresh != 1 {
				t.Errorf("%d requests ran, want 1", fresh)
			}
		})
	}
}

// Ensure concurrent requests with one Idempotency-Key and two sets of arguments run with one of the
// sets, once, and the others are 400.
func TestConcurrentRequestsWithOneKey(t *testing.T) {
	t.Parallel()
	apitest.SkipIfShort(t)
	for _, op := range idempotentOperations() {
		t.Run(op.ID, func(t *testing.T) {
			t.Parallel()
			s := start(t, nil)
			key := s.Key(t)
			const n = 8
			var responses [n]apitest.Response
			var wait sync.WaitGroup
			for i := range n {
				args := argumentsWith(op, map[string]any{"Idempotency-Key": "once"})
				if i%2 > 0 {
					maps.Copy(args, differentArgument(t, op))
				}
				wait.Go(func() { responses[i] = s.Call(t, key, op.ID, args) })
			}
			wait.Wait()
			winners := slices.IndexFunc(responses[:], func(r apitest.Response) bool { return r.Status == http.StatusOK })
			for i, r := range responses {
				switch {
				case winners >= 0 && i%2 == winners%2 && (r.Status != http.StatusOK || r.Body != responses[winners].Body):
					t.Errorf("%d %s\nand another one: %s", r.Status, r.Body, responses[winners].Body)
				case winners < 0 || i%2 != winners%2 && r.Status != http.StatusBadRequest:
					t.Errorf("a request with other arguments: %d %s", r.Status, r.Body)
				}
			}
		})
	}
}

// Ensure an error that depends on a record's state is replayed too, even when the state has changed
// since; that an invalid request does not use up its key; and that callers do not share
// Idempotency-Keys.
func TestReplayOfRefusals(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	key := s.Key(t)
	create := func(slug, once string) apitest.Response {
		return s.Call(t, key, "create_plan_item", map[string]any{"boardId": "brd_1", "title": "T", "slug": slug, "Idempotency-Key": once})
	}
	first := create("taken", "a")
	if first.Status != http.StatusOK {
		t.Fatal(first.Body)
	}
	refused := create("taken", "b")
	if r := s.Call(t, key, "delete_plan_item", map[string]any{"itemId": first.JSON(t)["id"]}); r.Status != http.StatusOK {
		t.Fatal(r.Body)
	}
	if again := create("taken", "b"); refused.Status != http.StatusConflict || again.Status != http.StatusConflict || again.Body != refused.Body || again.Header.Get("Idempotent-Replayed") != "true" {
		t.Errorf("%d %s, then %d %s", refused.Status, refused.Body, again.Status, again.Body)
	}
	if r := create("Not A Slug", "c"); r.Status != http.StatusBadRequest {
		t.Error(r.Body)
	}
	if r := create("taken", "c"); r.Status != http.StatusOK || r.Header.Get("Idempotent-Replayed") != "" {
		t.Errorf("after an invalid request: %d %s", r.Status, r.Body)
	}
	if r := s.Call(t, s.Key(t), "create_plan_item", map[string]any{"boardId": "brd_1", "title": "T", "slug": "taken", "Idempotency-Key": "a"}); r.Status != http.StatusConflict {
		t.Errorf("the Idempotency-Key of another caller: %d %s", r.Status, r.Body)
	}
	for _, bad := range []string{"", fmt.Sprintf("%0256d", 1)} {
		if r := create("free", bad); r.Status != http.StatusBadRequest {
			t.Errorf("%q: %d %s", bad, r.Status, r.Body)
		}
	}
}

// Ensure a 400 that depends on a stored record is replayed after the record is gone, and that the
// request with another key succeeds.
func TestReplayOfRefusedPush(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	key := s.Key(t)
	derived := s.Call(t, key, "create_metric_definition", map[string]any{"key": "growth.ratio", "kind": "derived", "formula": "a / b"})
	review := map[string]any{"source": "reddit", "externalId": "r-1", "kind": "mention"}
	stored := s.Call(t, key, "push_feedback", map[string]any{"records": []any{review}})
	if derived.Status != http.StatusOK || stored.Status != http.StatusOK {
		t.Fatal(derived.Body, stored.Body)
	}
	push := func(operation, once string) apitest.Response {
		args := map[string]any{"Idempotency-Key": once, "points": []any{map[string]any{"metricKey": "growth.ratio", "ts": "2026-08-11", "value": 1}}}
		if operation == "push_feedback" {
			args = map[string]any{"Idempotency-Key": once, "records": []any{map[string]any{"source": "reddit", "externalId": "r-1", "kind": "review"}}}
		}
		return s.Call(t, key, operation, args)
	}
	operations := []string{"push_metric_points", "push_feedback"}
	refused := map[string]apitest.Response{}
	for _, operation := range operations {
		if refused[operation] = push(operation, "a"); refused[operation].Status != http.StatusBadRequest {
			t.Fatalf("%s: %d %s", operation, refused[operation].Status, refused[operation].Body)
		}
	}
	id := s.Call(t, key, "list_feedback", map[string]any{"source": "reddit"}).Items(t)[0]["id"]
	for operation, args := range map[string]map[string]any{"delete_metric_definition": {"definitionId": derived.JSON(t)["id"]}, "delete_feedback": {"feedbackId": id}} {
		if r := s.Call(t, key, operation, args); r.Status != http.StatusOK {
			t.Fatal(r.Body)
		}
	}
	for _, operation := range operations {
		again := push(operation, "a")
		if again.Status != http.StatusBadRequest || again.Body != refused[operation].Body || again.Header.Get("Idempotent-Replayed") != "true" {
			t.Errorf("%s: %d %s", operation, again.Status, again.Body)
		}
		if r := push(operation, "b"); r.Status != http.StatusOK {
			t.Errorf("%s with another key: %d %s", operation, r.Status, r.Body)
		}
	}
}

// Ensure an Idempotency-Key costs no extra round trip when the change is one transaction. A push of
// reviews is not: it claims the key before, and stores its response after.
func TestRoundTripsOfIdempotency(t *testing.T) {
	t.Parallel()
	apitest.SkipIfShort(t)
	counter := &apitest.RoundTripCounter{}
	s := start(t, counter)
	key := s.Key(t)
	calls := 0
	// call makes a call that changes something, and returns its number of round trips.
	call := func(op api.Operation, more map[string]any) int {
		calls++
		args := argumentsForCall(t, s, key, op, calls, more)
		s.Clock.Advance(2 * time.Minute) // the rate limit buckets are full, and the last publish is long ago
		trips, _ := counter.Count(t, func(t *testing.T) {
			if r := s.Call(t, key, op.ID, args); r.Status != http.StatusOK {
				t.Errorf("%s: %d %s", op.ID, r.Status, r.Body)
			}
		})
		return trips
	}
	for _, op := range idempotentOperations() {
		call(op, nil) // the first publish of a board has no snapshot to compare with
		without, with := call(op, nil), call(op, map[string]any{"Idempotency-Key": "once"})
		if o := operationLine(t, op); with != without+o.KeyedTrips {
			t.Errorf("%s: %s: %d round trips and %d with a key: type +%d", o.CellLocation("trips"), op.ID, without, with, with-without)
		}
	}
}

// argumentsForCall returns the arguments of the n-th call of an operation, which make each call
// change something, with more added.
func argumentsForCall(t *testing.T, s *apitest.Service, key string, op api.Operation, n int, more map[string]any) map[string]any {
	t.Helper()
	args := argumentsWith(op, more)
	switch op.ID {
	case "create_plan_item":
		args["title"] = fmt.Sprintf("Number %d", n) // otherwise the service has to find a free slug
	case "create_metric_definition":
		args["key"] = fmt.Sprintf("growth.metric_%d", n)
	case "publish_plan_board":
		s.Call(t, key, "create_plan_item", map[string]any{"boardId": "brd_1", "title": fmt.Sprintf("Number %d", n), "status": "published"})
	case "rotate_key":
		fresh, _, err := s.Keys.Issue(t.Context(), s.CompanyID, keys.Grant{Name: "another"}, rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		args["keyId"] = fresh.ID
	}
	return args
}

// Ensure a response with a secret is replayed to the same key in any spelling of the Authorization
// header, and to no other key.
func TestReplayForAnySpellingOfTheKey(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	key := s.Key(t)
	const path, body = "/v1/companies/{companyId}/keys", `{"name":"CI","scopes":["plan:read"]}`
	first := s.Send(t, key, "POST", path, body, "Idempotency-Key", "once")
	for _, spelling := range []string{"bearer " + key, "Bearer   " + key + " ", "BEARER " + key} {
		again := s.Send(t, "", "POST", path, body, "Idempotency-Key", "once", "Authorization", spelling)
		if first.Status != http.StatusOK || again.Status != http.StatusOK || again.Body != first.Body {
			t.Errorf("%d, then %d %s", first.Status, again.Status, again.Body)
		}
	}
}

// Ensure a key cannot create a key that has higher rate limits or expires later.
func TestKeysAreBoundByTheirGrantor(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	ends := s.Clock.Now().Add(time.Hour)
	grantor, secret, err := s.Keys.Issue(t.Context(), s.CompanyID, keys.Grant{Name: "for an hour", Scopes: auth.Scopes(), ExpiresAt: ends}, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Keys.SetQuota(t.Context(), s.CompanyID, grantor.ID, auth.ClassRead, 7); err != nil {
		t.Fatal(err)
	}
	for _, expiresAt := range []any{nil, "2099-01-01T00:00:00Z", ends.Add(-time.Minute).Format(time.RFC3339)} {
		args := map[string]any{"name": "made", "scopes": []string{"plan:read"}}
		want := ends
		if expiresAt != nil {
			args["expiresAt"] = expiresAt
		}
		if expiresAt == ends.Add(-time.Minute).Format(time.RFC3339) {
			want = ends.Add(-time.Minute)
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
	if rotated.Status != http.StatusOK || rotated.JSON(t)["expiresAt"] != timestamp.Format(ends) {
		t.Errorf("a rotation: %d %s", rotated.Status, rotated.Body)
	}
}

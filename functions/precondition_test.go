package functions_test

import (
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"growthworkspace/functions"
	"growthworkspace/shared/api"
)

// honoursIfMatch reports whether a write operation supports If-Match: every update and delete of a
// record, the revocation of a key, publish, which compares the content, and rollback, which compares
// the board. TestStatusMatrix ensures that all other writes refuse it.
func honoursIfMatch(op api.Operation) bool {
	o, _ := operationTable.Lookup(op.ID)
	return o.Reader != "" || op.ID == "revoke_key" || op.ID == "publish_plan_board" || op.ID == "rollback_plan_board"
}

// Ensure a tool that writes either has the argument ifMatch or refuses it, and that a refused call
// writes nothing.
func TestToolsRefuseIfMatch(t *testing.T) {
	t.Parallel()
	calls := &callRecorder{}
	s := start(t, calls)
	key, refused := s.IssueKey(t), 0
	for _, op := range functions.Operations(nil) {
		if op.Effect == api.Read || op.NotTool || honoursIfMatch(op) {
			continue
		}
		refused++
		s.Clock.Advance(10 * time.Second) // to stay below the quota
		args := map[string]any{"ifMatch": "*"}
		maps.Copy(args, fixtureArguments[op.ID])
		calls.reset()
		r := callTool(t, s, key, op.ID, args).response(t)
		code, messages := r.Messages(t)
		if r.Status != http.StatusBadRequest || code != "bad_request" || !strings.HasPrefix(messages[0], "ifMatch: unknown argument") {
			t.Errorf("%s: status %d, want 400 and ifMatch: unknown argument: %s", op.ID, r.Status, r.Body)
		}
		if writes, _ := calls.writes(); len(writes) > 0 {
			t.Errorf("%s: writes %v", op.ID, writes)
		}
	}
	if refused < 10 {
		t.Errorf("only %d tools refuse it", refused)
	}
}

// Ensure every response with a single record has an ETag, and that a read that sends the ETag in
// If-None-Match gets a 304.
func TestEntityTags(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	key := s.IssueKey(t)
	for _, op := range functions.Operations(nil) {
		if op.Effect != api.Read || op.Method != http.MethodGet || op.IsList() || op.ID == "get_current_key" || op.Area == api.OverviewArea { // the current key's lastUsedAt changes with each request, and so does what an overview says
			continue
		}
		request := newTestRequest(t, s, op, key)
		got := request.send(t, s)
		tag := got.Header.Get("ETag")
		if got.Status != http.StatusOK || !strings.HasPrefix(tag, `"`) || !op.HasETag() {
			t.Errorf("%s: status %d, ETag %q, declared with a tag: %t; want 200 and a strong tag", op.ID, got.Status, tag, op.HasETag())
			continue
		}
		for value, want := range map[string]int{tag: 304, "W/" + tag: 304, `"x", ` + tag: 304, "*": 304, `"x"`: 200, "": 200} {
			r := s.Send(t, key, op.Method, request.path, "", "If-None-Match", value)
			if r.Status != want || (r.Body == "") != (want == 304) {
				t.Errorf("%s: If-None-Match %s: status %d, want %d, and a body only with 200: %q", op.ID, value, r.Status, want, r.Body)
			}
			if got := r.Header.Get("ETag"); got != tag {
				t.Errorf("%s: If-None-Match %s: the ETag is %s, want %s", op.ID, value, got, tag)
			}
			for _, header := range []string{"RateLimit-Limit", "Service-Request-Id"} {
				if r.Header.Get(header) == "" {
					t.Errorf("%s: If-None-Match %s: the response has no %s", op.ID, value, header)
				}
			}
		}
		if r := s.Send(t, key, http.MethodHead, request.path, "", "If-None-Match", tag); r.Status != 304 {
			t.Errorf("%s: HEAD: %d", op.ID, r.Status)
		}
		if r := s.Send(t, "", op.Method, request.path, "", "If-None-Match", tag); r.Status != 401 {
			t.Errorf("%s without a key: %d", op.ID, r.Status)
		}
	}
}

// Ensure an update or delete with If-Match succeeds only if the record currently has that ETag, and
// that the response to an update has the same ETag as the next read.
func TestPreconditions(t *testing.T) {
	t.Parallel()
	for _, o := range operationTable {
		changer, reader := o.ID, o.Reader
		if reader == "" {
			continue
		}
		t.Run(changer, func(t *testing.T) {
			t.Parallel()
			s := start(t, nil)
			key := s.IssueKey(t)
			read := func() (string, string) {
				r := s.Call(t, key, reader, pathArguments(o))
				if r.Status != http.StatusOK {
					t.Fatalf("%s: %s: status %d, want 200: %s", o.CellLocation("reader"), reader, r.Status, r.Body)
				}
				return r.Header.Get("ETag"), r.Body
			}
			change := func(ifMatch string) (int, string) {
				args := maps.Clone(fixtureArguments[changer])
				args["If-Match"] = ifMatch
				r := s.Call(t, key, changer, args)
				if r.Status == http.StatusPreconditionFailed {
					if code, messages := r.Messages(t); code != "precondition_failed" || !strings.HasPrefix(messages[0], "header.If-Match: ") {
						t.Errorf("the 412 has the code %s and the messages %q, want precondition_failed and header.If-Match", code, messages)
					}
				}
				return r.Status, r.Header.Get("ETag")
			}
			tag, before := read()
			for _, wrong := range []string{`"x"`, "W/" + tag, strings.Trim(tag, `"`), ""} {
				if status, _ := change(wrong); status != http.StatusPreconditionFailed {
					t.Errorf("If-Match %s: %d", wrong, status)
				}
			}
			if _, after := read(); after != before {
				t.Errorf("a rejected change changed the record: %s, then %s", before, after)
			}
			status, next := change(`"x", ` + tag)
			if status != http.StatusOK {
				t.Fatalf("the current ETag: %d", status)
			}
			if strings.HasPrefix(changer, "delete_") {
				return
			}
			if tag2, _ := read(); tag2 != next || tag2 == tag {
				t.Errorf("ETag of the update %s, of the next read %s, of the read before %s", next, tag2, tag)
			}
			if status, _ := change(tag); status != http.StatusPreconditionFailed {
				t.Errorf("a stale ETag: %d", status)
			}
			if status, _ := change("*"); status != http.StatusOK {
				t.Errorf("If-Match *: %d", status)
			}
		})
	}
}

// Ensure an update with If-Match never creates a record. The first update of the brand kit creates
// it, and before that it has no ETag to match.
func TestPreconditionOnMissingRecord(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	other := start(t, nil)
	other.CompanyID = s.Table.NewID("co")
	key := other.IssueKey(t)
	for _, value := range []string{"*", `"x"`} {
		r := other.Call(t, key, "update_context_brand_kit", map[string]any{"artStyle": "Flat", "If-Match": value})
		if r.Status != http.StatusPreconditionFailed {
			t.Errorf("If-Match %s, and no brand kit: status %d, want 412: %s", value, r.Status, r.Body)
		}
	}
	if r := other.Call(t, key, "get_context_brand_kit", nil); r.Status != http.StatusNotFound {
		t.Errorf("it was created: %s", r.Body)
	}
	if r := other.Call(t, key, "update_broadcast_post", map[string]any{"postId": "pst_none", "body": "x", "If-Match": "*"}); r.Status != http.StatusNotFound {
		t.Errorf("an unknown post: %d", r.Status)
	}
}

// Ensure publishing a board changes the ETags of its published items, because their
// publishedVersion changes.
func TestPublishChangesTags(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	key := s.IssueKey(t)
	item := s.Call(t, key, "create_plan_item", map[string]any{"boardId": "brd_1", "title": "Live", "status": "published"})
	itemID := item.JSON(t)["id"]
	if r := s.Call(t, key, "publish_plan_board", map[string]any{"boardId": "brd_1"}); r.Status != http.StatusOK {
		t.Fatalf("the publish: status %d, want 200: %s", r.Status, r.Body)
	}
	stale := s.Call(t, key, "update_plan_item", map[string]any{"itemId": itemID, "title": "Live!", "If-Match": item.Header.Get("ETag")})
	if stale.Status != http.StatusPreconditionFailed {
		t.Errorf("an update with the tag before the publish: status %d, want 412: %s", stale.Status, stale.Body)
	}
	fresh := s.Call(t, key, "get_plan_item", map[string]any{"itemId": itemID})
	if r := s.Call(t, key, "delete_plan_item", map[string]any{"itemId": itemID, "If-Match": fresh.Header.Get("ETag")}); r.Status != http.StatusOK {
		t.Errorf("a delete with the tag after the publish: status %d, want 200: %s", r.Status, r.Body)
	}
}

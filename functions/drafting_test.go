package functions_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"growthworkspace/functions"
	"growthworkspace/functions/broadcast"
	"growthworkspace/functions/feedback"
	"growthworkspace/shared/api"
	"growthworkspace/shared/auth"
	"growthworkspace/shared/testkit/apitest"
	"growthworkspace/shared/transfer"
)

// draftRule says what a key that may only draft can do with an operation.
type draftRule struct {
	writeScope         string   // the scope that allows a key to decide
	statusProperty     string   // the name of the status property
	settable           []string // the statuses that a drafting key may set
	content            map[string]any
	changeableStatuses []string // the statuses in which a drafting key may change the record; nil if the operation creates one
	otherStatuses      []string // all other statuses
	lockedStatuses     []string // the subset of otherStatuses in which no key may change the record
	importType         string   // the record's type in an import
	idArgument         string   // the name of the id argument
	readOperation      string   // the name of the operation that reads the record
}

// draftRules lists the operations open to keys that may only draft, with the rules for each. The
// rules are written by hand. The status "" stands for null.
var draftRules = map[string]draftRule{
	"update_feedback_reply": {
		writeScope: "feedback:write", statusProperty: "replyStatus", settable: []string{"none", "draft", "needs_review"}, content: map[string]any{"replyBody": "New"},
		changeableStatuses: []string{"", "none", "draft", "needs_review", "failed"}, otherStatuses: []string{"approved", "skipped", "posting", "posted"}, lockedStatuses: []string{"posting", "posted"},
		importType: "feedback", idArgument: "feedbackId", readOperation: "get_feedback",
	},
	"create_broadcast_post": {
		writeScope: "broadcast:write", statusProperty: "status", settable: []string{"draft"},
		content: map[string]any{"platform": "x", "body": "New", "scheduledFor": "2026-09-01T09:00:00.000Z"},
	},
	"update_broadcast_post": {
		writeScope: "broadcast:write", statusProperty: "status", settable: []string{"draft"}, content: map[string]any{"body": "New"},
		changeableStatuses: []string{"draft"}, otherStatuses: []string{"", "scheduled", "failed", "publishing", "published"}, lockedStatuses: []string{"publishing", "published"},
		importType: "post", idArgument: "postId", readOperation: "get_broadcast_post",
	},
	"create_broadcast_idea": {writeScope: "broadcast:write", statusProperty: "status", settable: []string{"suggested"}, content: map[string]any{"title": "New"}},
	"update_broadcast_idea": {
		writeScope: "broadcast:write", statusProperty: "status", settable: []string{"suggested"}, content: map[string]any{"title": "New"},
		changeableStatuses: []string{"suggested"}, otherStatuses: []string{"", "accepted", "rejected"}, importType: "content-idea", idArgument: "ideaId", readOperation: "get_broadcast_idea",
	},
}

// draftingService is a service together with its import types, which are slow to compute.
type draftingService struct {
	*apitest.Service

	kinds []transfer.Type
}

func startDrafting(t *testing.T, transport http.RoundTripper) draftingService {
	t.Helper()
	s := start(t, transport)
	return draftingService{s, functions.Transfers(s.Table)}
}

// storeInState stores a record with the given status and returns its id.
func (d draftRule) storeInState(t *testing.T, s draftingService, state string) (id string) {
	t.Helper()
	id = map[string]string{"feedback": "fbk_d", "post": "pst_d", "content-idea": "ida_d"}[d.importType]
	d.store(t, s, map[string]string{id: state})
	return id
}

// store stores records whose content is "Old". states maps their ids to their statuses.
func (d draftRule) store(t *testing.T, s draftingService, states map[string]string) {
	t.Helper()
	var lines []json.RawMessage
	for id, state := range states {
		record := map[string]any{"id": id, "createdAt": "2026-01-01T00:00:00Z", "updatedAt": "2026-01-01T00:00:00Z"}
		if state != "" {
			record[d.statusProperty] = state
		}
		switch d.importType {
		case "feedback":
			maps.Copy(record, map[string]any{"source": "reddit", "externalId": id, "replyBody": "Old"})
		case "post":
			maps.Copy(record, map[string]any{"platform": "x", "body": "Old", "scheduledFor": "2026-09-01T09:00:00Z"})
		case "content-idea":
			record["title"] = "Old"
		}
		lines = append(lines, marshal(t, record))
	}
	importLinesOf(t, s.Service, s.kinds, d.importType, lines...)
	for id, state := range states {
		if state != "" {
			continue
		}
		// Remove the status that the import has set.
		var err error
		switch d.importType {
		case "feedback":
			_, err = feedback.NewStore(s.Table).Modify(t.Context(), s.CompanyID, id, func(f *feedback.Feedback) error { f.ReplyStatus = nil; return nil })
		case "post":
			_, err = broadcast.NewStore(s.Table).Posts.Modify(t.Context(), s.CompanyID, id, func(p *broadcast.Post) error { p.Status = nil; return nil })
		case "content-idea":
			_, err = broadcast.NewStore(s.Table).Ideas.Modify(t.Context(), s.CompanyID, id, func(i *broadcast.Idea) error { i.Status = nil; return nil })
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func marshal(t testing.TB, value any) []byte {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// allowedValues returns all values of an operation's property, according to operationTable.
func allowedValues(t *testing.T, operation, property string) []string {
	t.Helper()
	o, _ := operationTable.Lookup(operation)
	for field := range strings.FieldsSeq(o.Body) {
		if name, kind, _ := strings.Cut(field, ":"); name == property {
			values, _, _ := strings.Cut(kind, "=")
			return strings.Split(values, "|")
		}
	}
	t.Fatalf("the line of %s has no %s", operation, property)
	return nil
}

// Ensure exactly the operations in draftRules declare a DraftScope.
func TestDraftingOperations(t *testing.T) {
	var declared []string
	for _, op := range functions.Operations(nil) {
		if op.DraftScope != "" {
			declared = append(declared, op.ID)
		}
	}
	slices.Sort(declared)
	if want := slices.Sorted(maps.Keys(draftRules)); !slices.Equal(declared, want) {
		t.Errorf("operations with a DraftScope: %v, want %v", declared, want)
	}
}

// Ensure the rules hold for records in each status, and for keys with the scope read, draft or
// write, or with all scopes. The requests set each status, change the content, or send an empty
// update. If a key may only draft, everything that the rules do not permit is refused with 401 and
// the name of the missing scope. A refused request counts towards the quota and changes nothing.
func TestDraftsInEveryState(t *testing.T) {
	t.Parallel()
	apitest.SkipIfShort(t)
	for operation, rule := range draftRules {
		t.Run(operation, func(t *testing.T) {
			t.Parallel()
			s := startDrafting(t, nil)
			area, _, _ := strings.Cut(rule.writeScope, ":")
			keys := map[string]string{"all": s.IssueKey(t)}
			for _, scope := range []string{"read", "draft", "write"} {
				keys[scope] = s.IssueKey(t, auth.Scope(area+":"+scope))
			}
			bodies := []map[string]any{rule.content}
			for _, status := range allowedValues(t, operation, rule.statusProperty) {
				withStatus := maps.Clone(rule.content)
				withStatus[rule.statusProperty] = status
				bodies = append(bodies, withStatus)
				if rule.changeableStatuses != nil {
					bodies = append(bodies, map[string]any{rule.statusProperty: status})
				}
			}
			states := append(slices.Clone(rule.changeableStatuses), rule.otherStatuses...)
			if rule.changeableStatuses == nil {
				states = []string{"(create)"}
			} else {
				bodies = append(bodies, map[string]any{})
			}
			var cases []draftCase
			stateByID := map[string]string{}
			for _, state := range states {
				for _, body := range bodies {
					for scope, key := range keys {
						id := fmt.Sprintf("%s_d%d", map[string]string{"feedback": "fbk", "post": "pst", "content-idea": "ida"}[rule.importType], len(cases))
						stateByID[id] = state
						cases = append(cases, draftCase{id, state, body, scope, key})
					}
				}
			}
			if rule.changeableStatuses != nil {
				rule.store(t, s, stateByID)
			}
			for _, c := range cases {
				rule.checkCase(t, s, operation, c, keys["all"])
			}
		})
	}
}

// draftCase is a request that changes a record. state is the status of that record before the
// request.
type draftCase struct {
	id, state  string
	body       map[string]any
	scope, key string // scope is read, draft, write or all; key is a key with that scope, or with all scopes
}

// checkCase sends a request and compares the response, the quota and the stored record with the
// rule. It reads the stored record with the key `full`.
func (d draftRule) checkCase(t *testing.T, s draftingService, operation string, c draftCase, full string) {
	t.Helper()
	what := fmt.Sprintf("%s of a record in state %q with %v by a key with %s", operation, c.state, c.body, c.scope)
	args := maps.Clone(c.body)
	if d.changeableStatuses != nil {
		args[d.idArgument] = c.id
	}
	s.Clock.Advance(time.Minute) // refills the quota
	r := s.Call(t, c.key, operation, args)

	status, _ := c.body[d.statusProperty].(string)
	want, remaining := 200, "119"
	switch {
	case c.scope == "read":
		want, remaining = 401, "120"
	case len(c.body) == 0:
	case c.scope == "draft" && (status != "" && !slices.Contains(d.settable, status) || slices.Contains(d.otherStatuses, c.state)):
		want = 401
	case slices.Contains(d.lockedStatuses, c.state):
		want = 409
	}
	if got := r.Header.Get("RateLimit-Remaining"); r.Status != want || got != remaining {
		t.Errorf("%s: status %d with %s requests left, want %d with %s: %s", what, r.Status, got, want, remaining, r.Body)
		return
	}
	if want == 401 {
		code, messages := r.Messages(t)
		if code != "unauthorised" || !slices.Equal(messages, []string{"the key lacks the scope " + d.writeScope}) || r.Header.Get("WWW-Authenticate") != "Bearer" {
			t.Errorf("%s: %s, want unauthorised, that the key lacks %s, and a challenge", what, r.Body, d.writeScope)
		}
	}
	if d.changeableStatuses == nil {
		return
	}
	after := s.Call(t, full, d.readOperation, map[string]any{d.idArgument: c.id}).JSON(t)
	expected := map[string]any{"updatedAt": "2026-01-01T00:00:00.000Z"}
	for name := range d.content {
		expected[name] = "Old"
	}
	if expected[d.statusProperty] = c.state; c.state == "" {
		expected[d.statusProperty], expected["updatedAt"] = nil, after["updatedAt"] // draftRule.store removed the status, which changed updatedAt
	}
	if want == 200 && len(c.body) > 0 {
		expected["updatedAt"] = after["updatedAt"]
		if c.state == "approved" && c.body[d.statusProperty] == nil {
			expected[d.statusProperty] = "draft" // the approval was only for the old content
		}
		maps.Copy(expected, c.body)
	}
	for name, value := range expected {
		if after[name] != value {
			t.Errorf("%s: %s is %v, want %v", what, name, after[name], value)
		}
	}
}

// Ensure a key that may only draft gets 400 for an invalid body, even if the body also contains a
// decision. If the record does not exist, it gets 401 for a decision and 404 for a draft. If the
// status does not allow the draft, that error takes precedence over the one for an If-Match that
// does not match.
func TestOrderOfDraftChecks(t *testing.T) {
	t.Parallel()
	s := startDrafting(t, nil)
	key := s.IssueKey(t, auth.DraftingAgentScopes()...)
	posted := draftRules["update_feedback_reply"].storeInState(t, s, "posted")
	for _, c := range []struct {
		operation string
		args      map[string]any
		status    int
	}{
		{"update_feedback_reply", map[string]any{"feedbackId": "fbk_none", "replyStatus": "approved", "nope": 1}, 400},
		{"update_feedback_reply", map[string]any{"feedbackId": "fbk_none", "replyStatus": "approved", "replyBody": 1}, 400},
		{"update_feedback_reply", map[string]any{"feedbackId": "fbk_none", "replyStatus": "approved"}, 401},
		{"update_feedback_reply", map[string]any{"feedbackId": "fbk_none", "replyStatus": "draft"}, 404},
		{"update_feedback_reply", map[string]any{"feedbackId": posted, "replyStatus": "draft", "If-Match": `"x"`}, 401},
		{"update_feedback_reply", map[string]any{"feedbackId": "fbk_1", "replyStatus": "draft", "If-Match": `"x"`}, 412},
		{"create_broadcast_post", map[string]any{"platform": "x", "body": "B", "status": "scheduled"}, 400}, // without scheduledFor
		{"create_broadcast_post", map[string]any{"platform": "x", "body": "B", "status": "scheduled", "scheduledFor": "2026-09-01T09:00:00Z", "Idempotency-Key": "a"}, 401},
		{"create_broadcast_post", map[string]any{"platform": "x", "body": "B", "scheduledFor": "2026-09-01T09:00:00Z", "Idempotency-Key": "a"}, 200}, // the refusal above was not stored for this Idempotency-Key
		{"update_broadcast_post", map[string]any{"postId": "pst_none", "status": "scheduled"}, 401},
		{"update_broadcast_post", map[string]any{"postId": "pst_none", "body": "B"}, 404},
		{"update_broadcast_idea", map[string]any{"ideaId": "ida_none", "status": "accepted"}, 401},
		{"update_broadcast_idea", map[string]any{"ideaId": "ida_none", "title": "T"}, 404},
	} {
		if r := s.Call(t, key, c.operation, c.args); r.Status != c.status {
			t.Errorf("%s %v: status %d, want %d: %s", c.operation, c.args, r.Status, c.status, r.Body)
		}
	}
}

// Ensure the key of a drafting agent can only read and draft, over HTTP and with tools. For every
// other operation, and for every status that is a decision, it must get 401 with the name of the
// missing scope, and nothing may be written.
func TestDraftingKeyDecidesNothing(t *testing.T) {
	t.Parallel()
	calls := &callRecorder{}
	s := start(t, calls)
	key, refused := s.IssueKey(t, auth.DraftingAgentScopes()...), 0
	for _, op := range functions.Operations(nil) {
		var bodies []map[string]any
		rule, canDraft := draftRules[op.ID]
		switch {
		case op.Effect == api.Read:
			continue
		case !canDraft:
			bodies = append(bodies, fixtureArguments[op.ID])
		default:
			for _, status := range allowedValues(t, op.ID, rule.statusProperty) {
				if args := maps.Clone(fixtureArguments[op.ID]); !slices.Contains(rule.settable, status) {
					args[rule.statusProperty], args["scheduledFor"] = status, "2026-09-01T09:00:00Z"
					if rule.importType != "post" && op.ID != "create_broadcast_post" {
						delete(args, "scheduledFor")
					}
					bodies = append(bodies, args)
				}
			}
		}
		for _, args := range bodies {
			s.Clock.Advance(10 * time.Second) // so that the quota is not exceeded
			calls.reset()
			responses := []apitest.Response{s.Call(t, key, op.ID, args)}
			if !op.NotTool {
				responses = append(responses, callTool(t, s, key, op.ID, args).response(t))
			}
			for n, r := range responses {
				if code, messages := r.Messages(t); r.Status != 401 || code != "unauthorised" || !slices.Equal(messages, []string{"the key lacks the scope " + string(op.Scope)}) {
					t.Errorf("%s %v, as a tool %t: status %d, want 401 that names %s: %s", op.ID, args, n == 1, r.Status, op.Scope, r.Body)
				}
				refused++
			}
			if writes, _ := calls.writes(); len(writes) > 0 {
				t.Errorf("%s %v: writes %v", op.ID, args, writes)
			}
		}
	}
	if refused < 80 {
		t.Errorf("only %d requests are refused", refused)
	}
}

// Ensure that, for a key that may only draft, tools/list shows exactly the statuses that the key
// may set. In all other respects, it must list these tools exactly as for a key with all scopes.
func TestStatusesOfDraftingTools(t *testing.T) {
	t.Parallel()
	s := startDrafting(t, nil)
	list := func(key string) map[string]string {
		var frame struct {
			Result struct{ Tools []json.RawMessage }
		}
		sendMessage(t, s.Service, key, "tools/list", nil).Decode(t, &frame)
		out := map[string]string{}
		for _, text := range frame.Result.Tools {
			var tool struct{ Name string }
			if err := json.Unmarshal(text, &tool); err != nil {
				t.Fatal(err)
			}
			out[strings.TrimPrefix(tool.Name, "service_")] = string(text)
		}
		return out
	}
	full, drafting := list(s.IssueKey(t)), list(s.IssueKey(t, auth.DraftingAgentScopes()...))
	for name, text := range drafting {
		want := full[name]
		if rule, ok := draftRules[name]; ok {
			enum := func(values []string) string { return `"enum":` + string(marshal(t, values)) }
			if want = strings.Replace(want, enum(allowedValues(t, name, rule.statusProperty)), enum(rule.settable), 1); want == full[name] {
				t.Errorf("%s: a full key does not see all words: %s", name, want)
			}
		}
		if text != want {
			t.Errorf("%s: a drafting key sees\n%s, want\n%s", name, text, want)
		}
	}
	for operation := range draftRules {
		if drafting[operation] == "" {
			t.Errorf("%s is not listed", operation)
		}
	}
}

// readStep is one request of a sequence, with the expected status of its response.
type readStep struct {
	key     string // draft or write
	args    map[string]any
	ifMatch string // "current" sends the record's ETag, "" sends no If-Match, and any other value is sent unchanged
	status  int
}

// Ensure that if a key that may only draft was the last to write the content, the content can be
// approved or scheduled only by a request that proves that its caller has read it. Either If-Match
// contains the current ETag, or the request repeats each drafted property as it is stored. Once
// another key has written the content, no such proof is needed.
func TestNothingIsApprovedUnread(t *testing.T) {
	t.Parallel()
	type args = map[string]any
	approve, schedule := args{"replyStatus": "approved"}, args{"status": "scheduled"}
	merge := func(more args, base args) args {
		out := maps.Clone(base)
		maps.Copy(out, more)
		return out
	}
	picture := []any{args{"url": "https://example.com/new.png", "kind": "image"}}
	sequences := map[string]map[string][]readStep{
		"update_feedback_reply": {
			"unread": {{"draft", args{"replyBody": "A"}, "", 200}, {"write", approve, "", 409}, {"write", approve, "*", 409}, {"write", approve, `"x", *`, 409}, {"write", approve, `"x"`, 412}},
			"read":   {{"draft", args{"replyBody": "A"}, "", 200}, {"write", approve, "current", 200}},
			"read again after it went back to draft": {
				{"draft", args{"replyBody": "A"}, "", 200}, {"write", approve, "current", 200}, {"write", args{"replyStatus": "draft"}, "", 200}, {"write", approve, "", 409},
			},
			"the same text":              {{"draft", args{"replyBody": "A"}, "", 200}, {"write", merge(args{"replyBody": "A"}, approve), "", 200}},
			"another text":               {{"draft", args{"replyBody": "A"}, "", 200}, {"write", merge(args{"replyBody": "B"}, approve), "", 409}, {"write", merge(args{"replyBody": nil}, approve), "", 409}},
			"another text, having read":  {{"draft", args{"replyBody": "A"}, "", 200}, {"write", merge(args{"replyBody": "B"}, approve), "current", 200}},
			"its own text":               {{"draft", args{"replyBody": "A"}, "", 200}, {"write", args{"replyBody": "B"}, "", 200}, {"write", approve, "", 200}},
			"its own, in the same words": {{"draft", args{"replyBody": "A"}, "", 200}, {"write", args{"replyBody": "A"}, "", 200}, {"write", approve, "", 200}},
			"handed over":                {{"draft", args{"replyBody": "A", "replyStatus": "needs_review"}, "", 200}, {"write", args{"replyStatus": "none"}, "", 200}, {"write", approve, "", 409}},
			"no text of the draft":       {{"write", args{"replyBody": "A"}, "", 200}, {"draft", args{"replyStatus": "needs_review"}, "", 200}, {"draft", args{"replyBody": "A"}, "", 200}, {"write", approve, "", 200}},
			"a text taken away":          {{"write", args{"replyBody": "A"}, "", 200}, {"draft", args{"replyBody": nil}, "", 200}, {"write", approve, "", 409}, {"write", merge(args{"replyBody": nil}, approve), "", 200}},
			"skipped is no approval":     {{"draft", args{"replyBody": "A"}, "", 200}, {"write", args{"replyStatus": "skipped"}, "", 200}, {"write", approve, "", 409}},
			"approved stays approved":    {{"draft", args{"replyBody": "A"}, "", 200}, {"write", approve, "current", 200}, {"write", approve, "", 200}, {"draft", args{"replyBody": "B"}, "", 401}},
		},
		"update_broadcast_post": {
			"unread":        {{"draft", args{"body": "A"}, "", 200}, {"write", schedule, "", 409}, {"write", schedule, "*", 409}, {"write", schedule, `"x"`, 412}},
			"read":          {{"draft", args{"body": "A"}, "", 200}, {"write", schedule, "current", 200}, {"write", args{"scheduledFor": "2026-09-02T09:00:00Z"}, "", 200}},
			"the same text": {{"draft", args{"body": "A"}, "", 200}, {"write", merge(args{"body": "A"}, schedule), "", 200}},
			"another text":  {{"draft", args{"body": "A"}, "", 200}, {"write", merge(args{"body": "B"}, schedule), "", 409}},
			"its own text":  {{"draft", args{"body": "A"}, "", 200}, {"write", args{"body": "B"}, "", 200}, {"write", schedule, "", 200}},
			"part of it": {
				{"draft", args{"body": "A", "title": "T", "deepLink": "https://example.com"}, "", 200}, {"write", args{"body": "B"}, "", 200}, {"write", merge(args{"title": "T"}, schedule), "", 409},
				{"write", merge(args{"title": "T", "deepLink": "https://example.com"}, schedule), "", 200},
			},
			"unscheduled":  {{"draft", args{"body": "A"}, "", 200}, {"write", schedule, "current", 200}, {"write", args{"status": "draft"}, "", 200}, {"write", schedule, "", 409}},
			"a time":       {{"draft", args{"scheduledFor": "2020-09-03T09:00:00Z"}, "", 200}, {"write", schedule, "", 409}, {"write", schedule, "current", 200}},
			"another time": {{"draft", args{"scheduledFor": "2020-09-03T09:00:00Z"}, "", 200}, {"write", merge(args{"scheduledFor": "2026-09-03T09:00:00Z"}, schedule), "", 200}},
			"title":        {{"draft", args{"title": "T"}, "", 200}, {"write", schedule, "", 409}}, "hashtags": {{"draft", args{"hashtags": []string{"a"}}, "", 200}, {"write", schedule, "", 409}},
			"deepLink": {{"draft", args{"deepLink": "https://example.com"}, "", 200}, {"write", schedule, "", 409}}, "destination": {{"draft", args{"destination": "everyone"}, "", 200}, {"write", schedule, "", 409}},
			"media": {
				{"draft", args{"media": picture}, "", 200}, {"write", schedule, "", 409}, {"write", merge(args{"media": []any{}}, schedule), "", 409}, {"write", merge(args{"media": picture}, schedule), "", 200},
			},
		},
	}
	s := startDrafting(t, nil)
	keys := map[string]string{"draft": s.IssueKey(t, auth.DraftingAgentScopes()...), "write": s.IssueKey(t)}
	for operation, stepsByName := range sequences {
		rule := draftRules[operation]
		for name, steps := range stepsByName {
			id := rule.storeInState(t, s, "draft")
			if name == "destination" {
				importLinesOf(t, s.Service, s.kinds, "post", marshal(t, args{"id": id, "platform": "push", "body": "Old", "status": "draft", "scheduledFor": "2026-09-01T09:00:00Z"}))
			}
			for n, step := range steps {
				s.Clock.Advance(10 * time.Second) // so that the quota is not exceeded
				sent := merge(args{rule.idArgument: id}, step.args)
				before := s.Call(t, keys["write"], rule.readOperation, args{rule.idArgument: id})
				switch step.ifMatch {
				case "":
				case "current":
					sent["If-Match"] = before.Header.Get("ETag")
				default:
					sent["If-Match"] = step.ifMatch
				}
				r := s.Call(t, keys[step.key], operation, sent)
				if r.Status != step.status || r.Status == 409 && !strings.Contains(r.Body, "read the record again") {
					t.Errorf("%s, %s, step %d: %v by %s: status %d, want %d: %s", operation, name, n+1, sent, step.key, r.Status, step.status, r.Body)
				}
				if after := s.Call(t, keys["write"], rule.readOperation, args{rule.idArgument: id}); r.Status != 200 && after.Body != before.Body {
					t.Errorf("%s, %s, step %d: refused, and left %s, want %s", operation, name, n+1, after.Body, before.Body)
				}
			}
		}
	}
}

// Ensure a caller can schedule a post only after reading every property that a drafting key wrote.
// These are all properties that an update can change, except the status.
func TestScheduledPostsAreReadCompletely(t *testing.T) {
	t.Parallel()
	s := startDrafting(t, nil)
	draftKey, personKey := s.IssueKey(t, auth.BroadcastDraft), s.IssueKey(t)
	o, _ := operationTable.Lookup("update_broadcast_post")
	for field := range strings.FieldsSeq(o.Body) {
		name, kind, _ := strings.Cut(field, ":")
		if name == "status" {
			continue
		}
		id := draftRules["update_broadcast_post"].storeInState(t, s, "draft")
		importLinesOf(t, s.Service, s.kinds, "post", marshal(t, map[string]any{"id": id, "platform": "push", "body": "Old", "status": "draft", "scheduledFor": "2026-09-01T09:00:00Z"}))
		value := any("https://example.com/new")
		switch {
		case name == "scheduledFor":
			value = "2020-01-01T00:00:00Z"
		case name == "media":
			value = []any{map[string]any{"url": "https://example.com/new", "kind": "image"}}
		case strings.HasPrefix(kind, "array"):
			value = []any{"new"}
		}
		s.Clock.Advance(time.Minute)
		if r := s.Call(t, draftKey, "update_broadcast_post", map[string]any{"postId": id, name: value}); r.Status != 200 {
			t.Errorf("%s: the draft is %d: %s", name, r.Status, r.Body)
		}
		if r := s.Call(t, personKey, "update_broadcast_post", map[string]any{"postId": id, "status": "scheduled"}); r.Status != 409 || !strings.Contains(r.Body, name) {
			t.Errorf("%s: scheduled unread: status %d, want 409 that names it: %s", name, r.Status, r.Body)
		}
	}
}

// Ensure clients cannot see which properties a key that may only draft has written: no response and
// no export contains this information. When another key writes the same value, neither updatedAt
// nor the ETag changes. An import replaces the record, so imported values count as written by the
// importer.
func TestDraftedPropertiesAreHidden(t *testing.T) {
	t.Parallel()
	s := startDrafting(t, nil)
	draftKey, personKey := s.IssueKey(t, auth.DraftingAgentScopes()...), s.IssueKey(t)
	for operation, arguments := range map[string]map[string]any{"update_feedback_reply": {"replyBody": "A"}, "update_broadcast_post": {"body": "A"}} {
		rule := draftRules[operation]
		approval := map[string]any{rule.statusProperty: map[string]string{"replyStatus": "approved", "status": "scheduled"}[rule.statusProperty]}
		id := rule.storeInState(t, s, "draft")
		idArguments := map[string]any{rule.idArgument: id}
		maps.Copy(arguments, idArguments)
		maps.Copy(approval, idArguments)
		responses := []apitest.Response{s.Call(t, draftKey, operation, arguments)}
		before := s.Call(t, personKey, rule.readOperation, idArguments)
		s.Clock.Advance(time.Hour)
		responses = append(responses, before, s.Call(t, personKey, map[string]string{"feedback": "list_feedback", "post": "list_broadcast_posts"}[rule.importType], nil))
		responses = append(responses, s.Call(t, personKey, operation, arguments)) // from now on the value counts as written by this key
		if after := s.Call(t, personKey, rule.readOperation, idArguments); after.Body != before.Body || after.Header.Get("ETag") != before.Header.Get("ETag") {
			t.Errorf("%s: the same text left %s, want %s", operation, after.Body, before.Body)
		}
		if r := s.Call(t, personKey, operation, approval); r.Status != 200 {
			t.Errorf("%s: a text of the same key: %d %s", operation, r.Status, r.Body)
		}

		rule.storeInState(t, s, "draft")
		s.Call(t, draftKey, operation, arguments)
		err := typeNamed(t, s.kinds, rule.importType).Export(t.Context(), s.CompanyID, func(record any) error {
			line := marshal(t, record)
			responses = append(responses, apitest.Response{Body: string(line)})
			if bytes.Contains(line, []byte(`"id":"`+id+`"`)) {
				importLinesOf(t, s.Service, s.kinds, rule.importType, line)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if r := s.Call(t, personKey, operation, approval); r.Status != 200 {
			t.Errorf("%s: an imported text: %d %s", operation, r.Status, r.Body)
		}
		for _, r := range responses {
			if strings.Contains(strings.ToLower(r.Body), "drafted") {
				t.Errorf("%s: a client sees %s", operation, r.Body)
			}
		}
	}
}

// Ensure a draft takes as many round trips, table calls and capacity units as the same request by a
// key that may decide. An approval that is refused because its caller has not read the draft must
// take one round trip, and as many read units as the draft.
func TestDraftsCostNothing(t *testing.T) {
	t.Parallel()
	counter := &apitest.RoundTripCounter{}
	s := startDrafting(t, counter)
	var log bytes.Buffer
	s.Handler = functions.Handler(s.ServingTable, s.Config(slog.New(slog.NewJSONHandler(&log, nil))))
	type cost struct {
		Trips                             int
		TableCalls, ReadUnits, WriteUnits float64
	}
	measure := func(key, operation string, args map[string]any, status int) (out cost) {
		s.Clock.Advance(time.Minute)
		log.Reset()
		out.Trips, _ = counter.Count(t, func(t *testing.T) {
			if r := s.Call(t, key, operation, args); r.Status != status {
				t.Errorf("%s: status %d, want %d: %s", operation, r.Status, status, r.Body)
			}
		})
		if err := json.Unmarshal(log.Bytes(), &out); err != nil {
			t.Fatal(err)
		}
		return out
	}
	draftKey, personKey := s.IssueKey(t, auth.DraftingAgentScopes()...), s.IssueKey(t)
	for operation, rule := range draftRules {
		args := maps.Clone(rule.content)
		if rule.changeableStatuses != nil {
			args[rule.idArgument] = rule.storeInState(t, s, rule.changeableStatuses[len(rule.changeableStatuses)-1])
		}
		decided := measure(personKey, operation, args, 200)
		if rule.changeableStatuses != nil {
			rule.storeInState(t, s, rule.changeableStatuses[len(rule.changeableStatuses)-1])
		}
		drafted := measure(draftKey, operation, args, 200)
		if drafted != decided || drafted.Trips != 2 {
			t.Errorf("%s: a draft costs %+v, without a drafting key %+v", operation, drafted, decided)
		}
		if rule.idArgument != "feedbackId" && rule.idArgument != "postId" {
			continue
		}
		approval := map[string]any{rule.idArgument: args[rule.idArgument], rule.statusProperty: map[string]string{"replyStatus": "approved", "status": "scheduled"}[rule.statusProperty]}
		if unread := measure(personKey, operation, approval, http.StatusConflict); unread.Trips != 1 || unread.ReadUnits != decided.ReadUnits {
			t.Errorf("%s: an unread approval costs %+v, want 1 round trip and %v read units", operation, unread, decided.ReadUnits)
		}
		refused := maps.Clone(approval)
		if r := measure(draftKey, operation, refused, http.StatusUnauthorized); r.Trips != 1 || r.ReadUnits > decided.ReadUnits {
			t.Errorf("%s: a refused decision costs %+v, want 1 round trip", operation, r)
		}
	}
}

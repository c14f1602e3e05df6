package broadcast_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"growthworkspace/functions/broadcast"
	"growthworkspace/shared/testkit/apitest"
)

// Ensure the API allows exactly the status transitions listed in scripts/docs/reference/states.md.
func TestPostStates(t *testing.T) {
	t.Parallel()
	s := start(t)
	key := s.IssueKey(t)
	reason := "rate limit"
	for _, tc := range []struct {
		from            string
		hasScheduledFor bool // whether a scheduledFor is stored
		args            record
		status          int
		want            record // the post's fields afterwards; a rejected request changes none
		message         string
	}{
		{"draft", false, record{"status": "draft"}, 200, record{"status": "draft"}, ""},
		{"draft", false, record{"status": "scheduled"}, 400, record{"status": "draft"}, "body.scheduledFor: is required when status is scheduled"},
		{"draft", false, record{"status": "scheduled", "scheduledFor": laterTime}, 200, record{"status": "scheduled", "scheduledFor": laterTime}, ""},
		{"draft", false, record{"scheduledFor": laterTime}, 200, record{"status": "draft", "scheduledFor": laterTime}, ""},
		{"draft", true, record{"status": "scheduled"}, 200, record{"status": "scheduled", "scheduledFor": earlierTime}, ""},
		{"scheduled", true, record{"scheduledFor": laterTime}, 200, record{"status": "scheduled", "scheduledFor": laterTime}, ""},
		{"scheduled", true, record{"status": "scheduled", "scheduledFor": laterTime}, 200, record{"status": "scheduled", "scheduledFor": laterTime}, ""},
		{"scheduled", true, record{"status": "draft"}, 200, record{"status": "draft", "scheduledFor": earlierTime}, ""},
		{"scheduled", true, record{"title": "T"}, 200, record{"status": "scheduled", "title": "T"}, ""},
		{"publishing", true, record{"title": "T"}, 409, record{"status": "publishing", "title": nil}, "only unsent posts"},
		{"publishing", true, record{"status": "draft"}, 409, record{"status": "publishing"}, "only unsent posts"},
		{"publishing", true, record{"destination": "d"}, 409, record{"status": "publishing"}, "only unsent posts"},
		{"publishing", true, record{}, 200, record{"status": "publishing"}, ""},
		{"published", true, record{"title": "T"}, 409, record{"status": "published", "title": nil}, "only unsent posts"},
		{"published", true, record{"body": "Body"}, 409, record{"status": "published"}, "only unsent posts"},
		{"published", true, record{"hashtags": []string{}}, 409, record{"status": "published"}, "only unsent posts"},
		{"published", true, record{"deepLink": ""}, 409, record{"status": "published"}, "only unsent posts"},
		{"published", true, record{"scheduledFor": laterTime}, 409, record{"status": "published"}, "only unsent posts"},
		{"published", true, record{"status": "published"}, 400, record{"status": "published"}, "body.status"},
		{"published", true, record{}, 200, record{"status": "published"}, ""},
		{"failed", true, record{"title": "T"}, 200, record{"status": "failed", "failureReason": reason, "title": "T"}, ""},
		{"failed", true, record{"status": "draft"}, 200, record{"status": "draft", "failureReason": nil, "scheduledFor": earlierTime}, ""},
		{"failed", true, record{"status": "scheduled"}, 200, record{"status": "scheduled", "failureReason": nil}, ""},
		{"failed", false, record{"status": "scheduled"}, 400, record{"status": "failed", "failureReason": reason}, "body.scheduledFor"},
		{"failed", false, record{"status": "scheduled", "scheduledFor": laterTime}, 200, record{"status": "scheduled", "failureReason": nil}, ""},
		{"", false, record{"status": "draft", "title": "T"}, 200, record{"status": "draft", "title": "T"}, ""},
		{"draft", true, record{"status": "publishing"}, 400, record{"status": "draft"}, "body.status: must be one of draft, scheduled"},
		{"draft", true, record{"status": "published"}, 400, record{"status": "draft"}, "body.status"},
		{"draft", true, record{"status": "failed"}, 400, record{"status": "draft"}, "body.status"},
		{"draft", false, record{"destination": "d"}, 400, record{"destination": nil}, "body.destination: is allowed only when platform is push"},
		{"draft", false, record{"destination": "d", "status": "scheduled"}, 400, record{"destination": nil}, "body.destination: is allowed only when platform is push\nbody.scheduledFor"},
		{"draft", false, record{"platform": "push"}, 400, nil, "body.platform: unknown property"},
		{"draft", false, record{"ideaId": "ida_1"}, 400, nil, "body.ideaId: unknown property"},
		{"draft", false, record{"scheduledFor": nil, "title": "T"}, 200, record{"status": "draft", "scheduledFor": nil}, ""},
		{"draft", true, record{"scheduledFor": nil}, 200, record{"status": "draft", "scheduledFor": nil}, ""},
		{"draft", true, record{"scheduledFor": nil, "status": "scheduled"}, 400, record{"status": "draft", "scheduledFor": earlierTime}, "body.scheduledFor: is required when status is scheduled"},
		{"", true, record{"scheduledFor": nil}, 200, record{"status": nil, "scheduledFor": nil}, ""},
		{"failed", true, record{"scheduledFor": nil}, 200, record{"status": "failed", "failureReason": reason, "scheduledFor": nil}, ""},
		{"scheduled", true, record{"scheduledFor": nil}, 400, record{"status": "scheduled", "scheduledFor": earlierTime}, "body.scheduledFor: is required when status is scheduled"},
		{"scheduled", true, record{"scheduledFor": nil, "title": "T"}, 400, record{"title": nil, "scheduledFor": earlierTime}, "body.scheduledFor: is required when status is scheduled"},
		{"scheduled", true, record{"scheduledFor": nil, "status": "draft"}, 200, record{"status": "draft", "scheduledFor": nil}, ""},
		{"scheduled", false, record{"title": "T"}, 400, record{"title": nil}, "body.scheduledFor: is required when status is scheduled"},
		{"scheduled", false, record{"scheduledFor": laterTime}, 200, record{"status": "scheduled", "scheduledFor": laterTime}, ""},
		{"scheduled", false, record{}, 200, record{"status": "scheduled"}, ""},
		{"published", true, record{"scheduledFor": nil}, 409, record{"status": "published", "scheduledFor": earlierTime}, "only unsent posts"},
		{"publishing", true, record{"title": nil}, 409, record{"status": "publishing"}, "only unsent posts"},
		{"published", true, record{"destination": nil}, 409, record{"status": "published"}, "only unsent posts"},
		{"published", true, record{"hashtags": nil}, 409, record{"status": "published"}, "only unsent posts"},
		{"published", true, record{"deepLink": nil}, 409, record{"status": "published"}, "only unsent posts"},
		{"draft", true, record{"destination": nil, "title": "T"}, 200, record{"status": "draft", "destination": nil}, ""},
		{"draft", true, record{"body": nil}, 400, record{"status": "draft"}, "body.body: must not be null"},
		{"scheduled", true, record{"status": nil}, 400, record{"status": "scheduled"}, "body.status: must not be null"},
	} {
		t.Run(fmt.Sprintf("%s %v", tc.from, tc.args), func(t *testing.T) {
			post := record{"id": "pst_1", "platform": "x", "body": "Body", "failureReason": nil, "updatedAt": earlierTime}
			if tc.from != "" {
				post["status"] = tc.from
			}
			if tc.hasScheduledFor {
				post["scheduledFor"] = earlierTime
			}
			if tc.from == "failed" {
				post["failureReason"] = reason
			}
			storeUnchecked(t, s, "post", post)
			args := record{"postId": "pst_1"}
			for name, value := range tc.args {
				args[name] = value
			}
			r := s.Call(t, key, "update_broadcast_post", args)
			if r.Status != tc.status {
				t.Fatalf("update: status %d, want %d: %s", r.Status, tc.status, r.Body)
			}
			if tc.status != 200 {
				code, messages := r.Messages(t)
				if want := map[int]string{400: "bad_request", 409: "conflict"}[tc.status]; code != want || !strings.Contains(strings.Join(messages, "\n"), tc.message) {
					t.Errorf("code %q and messages %q, want %s and %q", code, messages, want, tc.message)
				}
			}
			after := s.Call(t, key, "get_broadcast_post", record{"postId": "pst_1"})
			if tc.status == 200 && after.Body != r.Body {
				t.Errorf("response %s, stored %s", r.Body, after.Body)
			}
			for name, want := range tc.want {
				if got := after.JSON(t)[name]; got != want {
					t.Errorf("%s is %v, want %v", name, got, want)
				}
			}
			if moved := after.JSON(t)["updatedAt"] != earlierTime; moved != (tc.status == 200 && len(tc.args) > 0 && !(tc.from == "draft" && tc.args["status"] == "draft")) {
				t.Errorf("updatedAt moved: %t", moved)
			}
		})
	}
}

// Ensure a post can be deleted only if it has not been sent, and only once.
func TestDeletePost(t *testing.T) {
	t.Parallel()
	s := start(t)
	key := s.IssueKey(t)
	for status, want := range map[string]int{"draft": 200, "scheduled": 200, "failed": 200, "publishing": 409, "published": 409} {
		id := "pst_" + status
		importRecords(t, s, "post", record{"id": id, "platform": "x", "status": status, "scheduledFor": laterTime, "ideaId": "ida_1"})
		r := s.Call(t, key, "delete_broadcast_post", record{"postId": id})
		if r.Status != want {
			t.Errorf("delete of a %s post: status %d, want %d: %s", status, r.Status, want, r.Body)
		}
		if want == 200 && r.Body != `{"id":"`+id+`","deleted":true}` {
			t.Errorf("delete of a %s post: body %s, want its id", status, r.Body)
		}
		if want == 409 {
			if code, messages := r.Messages(t); code != "conflict" || !strings.Contains(messages[0], "only unsent posts") {
				t.Errorf("delete of a %s post: body %s, want conflict and that only unsent posts can be deleted", status, r.Body)
			}
		}
		wantAgain := map[int]int{200: 404, 409: 409}[want]
		if r := s.Call(t, key, "delete_broadcast_post", record{"postId": id}); r.Status != wantAgain {
			t.Errorf("%s again: %d", status, r.Status)
		}
	}
	for _, args := range []record{{}, {"platform": "x"}, {"ideaId": "ida_1"}} {
		got := idsOf(s.Call(t, key, "list_broadcast_posts", args).Items(t))
		if !slices.Equal(got, []string{"pst_published", "pst_publishing"}) {
			t.Errorf("list with %v: posts %v, want pst_published and pst_publishing", args, got)
		}
	}
}

// beforeWrite returns a transport that runs a function just before a write to the given post.
// action is the DynamoDB operation of that write.
func beforeWrite(action, postID string) *apitest.BeforeMatch {
	return &apitest.BeforeMatch{Matches: func(c apitest.Call) bool {
		return c.Action == action && strings.Contains(c.Body, postID)
	}}
}

// Ensure that if a dispatcher claims a post between the read and the write of an edit or a delete,
// the claim wins: the post is neither edited nor deleted.
func TestClaimWinsOverEdit(t *testing.T) {
	t.Parallel()
	for op, action := range map[string]string{"update_broadcast_post": "UpdateItem", "delete_broadcast_post": "DeleteItem"} {
		transport := beforeWrite(action, "pst_1")
		s := apitest.NewWithTransport(t, broadcast.Operations, transport)
		key := s.IssueKey(t)
		importRecords(t, s, "post", record{"id": "pst_1", "platform": "x", "status": "scheduled", "scheduledFor": earlierTime})
		claimed := false
		transport.Run = func() {
			_, err := broadcast.NewStore(s.Table).Posts.Modify(t.Context(), s.CompanyID, "pst_1", func(p *broadcast.Post) error {
				publishing := broadcast.PostStatusPublishing
				p.Status = &publishing
				return nil
			})
			claimed = err == nil
		}
		args := record{"postId": "pst_1"}
		if op == "update_broadcast_post" {
			args["scheduledFor"] = laterTime
		}
		r := s.Call(t, key, op, args)
		if code, _ := r.Messages(t); !claimed || r.Status != 409 || code != "conflict" {
			t.Errorf("%s: claimed %t, %d %s", op, claimed, r.Status, r.Body)
		}
		post := s.Call(t, key, "get_broadcast_post", record{"postId": "pst_1"}).JSON(t)
		if post["status"] != "publishing" || post["scheduledFor"] != earlierTime {
			t.Errorf("%s left %v", op, post)
		}
	}
}

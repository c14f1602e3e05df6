package feedback_test

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"growthworkspace/functions/feedback"
	"growthworkspace/shared/testkit/apitest"
)

const replyPath = "/v1/companies/{companyId}/feedback/fbk_0001/reply"

// recordWithReply returns record 1 with a reply in the given status, or with a null status if
// status is empty.
func recordWithReply(status feedback.ReplyStatus, body string) feedback.Feedback {
	f := newReview(1)
	f.ReplyBody = &body
	if status != "" {
		f.ReplyStatus = &status
	}
	return f
}

// Ensure each transition of a reply through the API is allowed or rejected as specified: from each
// status to each status, with the body unchanged, changed or omitted.
func TestReplyTransitions(t *testing.T) {
	t.Parallel()
	apitest.SkipIfShort(t)
	s := start(t)
	key := rotatingKeys(t, s)
	settable := []feedback.ReplyStatus{"", "none", "draft", "needs_review", "approved", "skipped"}
	for _, from := range append([]feedback.ReplyStatus{""}, statusValues()...) {
		frozen := from == "posting" || from == "posted"
		for _, to := range append([]feedback.ReplyStatus{""}, statusValues()...) {
			for _, text := range []string{"", `"old"`, `"new"`, "null"} {
				importRecords(t, s, recordWithReply(from, "old"))
				var body []string
				if text != "" {
					body = append(body, `"replyBody":`+text)
				}
				if to != "" {
					body = append(body, `"replyStatus":"`+string(to)+`"`)
				}
				sent := "{" + strings.Join(body, ",") + "}"
				r := s.Send(t, key(), "PATCH", replyPath, sent)

				want, wantStatus, wantText := 200, from, "old"
				switch {
				case !slices.Contains(settable, to):
					want = 400
				case frozen && sent != "{}":
					want = 409
				default:
					if text == `"new"` || text == "null" {
						wantText = strings.Trim(text, `"`)
						if from == "approved" {
							wantStatus = "draft"
						}
					}
					if to != "" {
						wantStatus = to
					}
				}
				if r.Status != want {
					t.Errorf("%q + %s: %d, want %d: %s", from, sent, r.Status, want, r.Body)
				}
				stored, err := feedback.NewStore(s.Table).Get(t.Context(), s.CompanyID, "fbk_0001")
				if err != nil {
					t.Fatal(err)
				}
				got, gotText := valueOrNull(stored.ReplyStatus, ""), valueOrNull(stored.ReplyBody, "null")
				if got != wantStatus || gotText != wantText {
					t.Errorf("%q + %s: stored %q %q, want %q %q", from, sent, got, gotText, wantStatus, wantText)
				}
			}
		}
	}
}

func statusValues() (out []feedback.ReplyStatus) {
	for _, v := range feedback.ReplyStatus("").Values() {
		out = append(out, feedback.ReplyStatus(v))
	}
	return out
}

// Ensure a reply that is approved but has no body is never queued for posting, however it lost its
// body. Adding a body must change its status back to draft.
func TestApprovedWithoutText(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"null", `""`} {
		f := newReview(1)
		f.ReplyStatus, f.ReplyBody = nil, nil
		s := start(t, f)
		key, store := s.IssueKey(t), feedback.NewStore(s.Table)
		send := func(body, wantStatus string, wantQueued int) {
			t.Helper()
			r := s.Send(t, key, "PATCH", replyPath, body)
			if r.Status != 200 || r.JSON(t)["replyStatus"] != wantStatus {
				t.Errorf("update with %s: status %d, want 200 with %s: %s", body, r.Status, wantStatus, r.Body)
			}
			approved, err := store.ApprovedReplies(t.Context(), s.CompanyID, nil, "", 10)
			if err != nil || len(approved.Records) != wantQueued {
				t.Errorf("after %s: %d replies are in the queue, want %d, %v", body, len(approved.Records), wantQueued, err)
			}
		}
		send(`{"replyStatus":"approved"}`, "approved", 0)
		if _, err := store.ClaimReply(t.Context(), s.CompanyID, f.ID, nil); err == nil {
			t.Error("a reply without a text was claimed")
		}
		send(`{"replyBody":"First"}`, "draft", 0)
		send(`{"replyStatus":"approved"}`, "approved", 1)
		send(`{"replyBody":`+text+`,"replyStatus":"approved"}`, "approved", 0)
		send(`{"replyBody":"Second"}`, "draft", 0)
		send(`{"replyBody":"Third","replyStatus":"approved"}`, "approved", 1)
		send(`{"replyBody":`+text+`}`, "draft", 0)
	}
}

func TestReplyInput(t *testing.T) {
	t.Parallel()
	s := start(t, recordWithReply("", ""), func() feedback.Feedback {
		f := newReview(2)
		f.ReplyStatus = new(feedback.ReplyStatusPosted)
		return f
	}())
	args := func(name string, value any) map[string]any {
		return map[string]any{"feedbackId": "fbk_0001", name: value}
	}
	long := strings.Repeat("ü", 6000)
	s.Run(t, []apitest.Scenario{
		{Name: "longest text", Op: "update_feedback_reply", Args: args("replyBody", long), WantFields: map[string]any{"replyBody": long, "replyStatus": nil}},
		{Name: "too long", Op: "update_feedback_reply", Args: args("replyBody", long+"x"), Want: 400, WantCode: "bad_request", WantMessage: "body.replyBody: must have at most 6000 characters, has 6001"},
		{Name: "cleared", Op: "update_feedback_reply", Args: args("replyBody", ""), WantFields: map[string]any{"replyBody": ""}},
		{Name: "null text", Op: "update_feedback_reply", Args: args("replyBody", nil), WantFields: map[string]any{"replyBody": nil, "replyStatus": nil}},
		{Name: "null status", Op: "update_feedback_reply", Args: args("replyStatus", nil), Want: 400, WantMessage: "body.replyStatus: must not be null"},
		{Name: "not in the list", Op: "update_feedback_reply", Args: args("replyStatus", "sent"), Want: 400, WantMessage: "body.replyStatus: must be one of none, draft"},
		{Name: "third-party field", Op: "update_feedback_reply", Args: args("body", "x"), Want: 400, WantMessage: "body.body: unknown property"},
		{Name: "of the posting step", Op: "update_feedback_reply", Args: args("replyStatus", "posted"), Want: 400, WantCode: "bad_request",
			WantMessage: "body.replyStatus: must be one of none, draft, needs_review, approved, skipped"},
		{Name: "400 before 404", Op: "update_feedback_reply", Args: map[string]any{"feedbackId": "fbk_none", "replyStatus": "failed"}, Want: 400},
		{Name: "400 before 409", Op: "update_feedback_reply", Args: map[string]any{"feedbackId": "fbk_0002", "replyStatus": "failed"}, Want: 400},
		{Name: "posted", Op: "update_feedback_reply", Args: map[string]any{"feedbackId": "fbk_0002", "replyBody": "x"}, Want: 409, WantCode: "conflict", WantMessage: "the reply is posted and cannot be changed"},
	})
}

// Ensure updatedAt changes only if a value changes. An update of the reply must change no other
// field.
func TestReplyUpdatedAt(t *testing.T) {
	t.Parallel()
	s := start(t, recordWithReply("approved", "old"))
	key := s.IssueKey(t)
	s.Clock.Advance(time.Hour)
	before := s.Send(t, key, "GET", strings.TrimSuffix(replyPath, "/reply"), "").Body
	for _, body := range []string{`{}`, `{"replyBody":"old"}`, `{"replyStatus":"approved"}`, `{"replyBody":"old","replyStatus":"approved"}`} {
		if r := s.Send(t, key, "PATCH", replyPath, body); r.Status != http.StatusOK || r.Body != before {
			t.Errorf("%s: %d %s, want %s", body, r.Status, r.Body, before)
		}
	}
	r := s.Send(t, key, "PATCH", replyPath, `{"replyStatus":"skipped"}`)
	want := strings.Replace(strings.Replace(before, `"approved"`, `"skipped"`, 1), `"updatedAt":"2026-01-02T03:04:05.000Z"`, `"updatedAt":"2026-08-11T10:30:00.000Z"`, 1)
	if r.Body != want {
		t.Errorf("got %s\nwant %s", r.Body, want)
	}
}

// Ensure that when the reply status changes, even from null, the record moves to the list for the
// new status.
func TestReplyMovesBetweenLists(t *testing.T) {
	t.Parallel()
	s := start(t, recordWithReply("", ""))
	key := s.IssueKey(t)
	for _, status := range []string{"needs_review", "approved", "none"} {
		s.Send(t, key, "PATCH", replyPath, `{"replyStatus":"`+status+`"}`)
		for _, listed := range statusValues() {
			ids, _ := listPage(t, s, key, 5, map[string]any{"replyStatus": string(listed)}, "")
			if (len(ids) == 1) != (string(listed) == status) {
				t.Errorf("status %s: the list of %s has %v", status, listed, ids)
			}
		}
	}
}

// Ensure an edit and a concurrent claim cannot both succeed: the claim either returns the approved
// body or finds a draft and fails.
func TestReplyRace(t *testing.T) {
	t.Parallel()
	s := start(t)
	store := feedback.NewStore(s.Table)
	key := rotatingKeys(t, s)
	for range 10 {
		importRecords(t, s, recordWithReply("approved", "reviewed"))
		var wait sync.WaitGroup
		var claimed bool
		var edit apitest.Response
		k := key()
		wait.Go(func() { claimed = claimReply(t.Context(), store, s.CompanyID) })
		wait.Go(func() { edit = s.Send(t, k, "PATCH", replyPath, `{"replyBody":"other"}`) })
		wait.Wait()
		f, err := store.Get(t.Context(), s.CompanyID, "fbk_0001")
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case claimed && (edit.Status != http.StatusConflict || *f.ReplyBody != "reviewed" || *f.ReplyStatus != "posting"):
			t.Errorf("claimed, and the edit got %d: %s %s", edit.Status, *f.ReplyStatus, *f.ReplyBody)
		case !claimed && (edit.Status != http.StatusOK || *f.ReplyBody != "other" || *f.ReplyStatus != "draft"):
			t.Errorf("not claimed, and the edit got %d: %s %s", edit.Status, *f.ReplyStatus, *f.ReplyBody)
		}
	}
}

// claimReply claims the reply and reports whether it succeeded.
func claimReply(ctx context.Context, store feedback.Store, companyID string) bool {
	_, err := store.Modify(ctx, companyID, "fbk_0001", func(f *feedback.Feedback) error {
		if *f.ReplyStatus != feedback.ReplyStatusApproved {
			return context.Canceled
		}
		f.ReplyStatus = new(feedback.ReplyStatusPosting)
		return nil
	})
	return err == nil
}

package feedback_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"growthworkspace/functions/feedback"
	"growthworkspace/shared/fault"
	"growthworkspace/shared/testkit/apitest"
)

// Ensure exactly one of several concurrent workers claims a reply.
func TestClaimReplyRace(t *testing.T) {
	t.Parallel()
	s := start(t)
	store := feedback.NewStore(s.Table)
	for range 5 {
		importRecords(t, s, recordWithReply("approved", "Thanks"))
		var won atomic.Int64
		var wait sync.WaitGroup
		for range 24 {
			wait.Go(func() {
				_, err := store.ClaimReply(t.Context(), s.CompanyID, "fbk_0001", nil)
				if err == nil {
					won.Add(1)
				} else if codeOf(err) != fault.Conflict {
					t.Errorf("claim: error %v, want none or a conflict", err)
				}
			})
		}
		wait.Wait()
		if won.Load() != 1 {
			t.Errorf("%d workers claimed the reply, want 1", won.Load())
		}
	}
}

// beforeUpdateTransport is a transport that runs a function once just before the next UpdateItem
// call, or loses the responses to the next few UpdateItem calls.
type beforeUpdateTransport struct {
	mu              sync.Mutex
	beforeUpdate    func()
	responsesToLose int
}

func (m *beforeUpdateTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if !strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".UpdateItem") {
		return apitest.Transport.RoundTrip(r)
	}
	m.mu.Lock()
	run, lose := m.beforeUpdate, m.responsesToLose > 0
	m.beforeUpdate = nil
	if lose {
		m.responsesToLose--
	}
	m.mu.Unlock()
	if run != nil {
		run()
	}
	out, err := apitest.Transport.RoundTrip(r)
	if err != nil || !lose {
		return out, err
	}
	_, err = io.Copy(io.Discard, out.Body)
	return nil, errors.Join(errors.New("the response was lost"), err, out.Body.Close())
}

// Ensure only an approved reply is posted: if the reply changes between a claim's read and its
// write, the claim must fail or return the new reply. Likewise, a change must fail if the reply is
// claimed between the change's read and its write.
func TestClaimReplyAndEdit(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		edit string
		want fault.Code
		text string
	}{
		{`{"replyBody":"Reworded"}`, fault.Conflict, ""},
		{`{"replyStatus":"skipped"}`, fault.Conflict, ""},
		{`{"replyBody":"Reworded","replyStatus":"approved"}`, "", "Reworded"},
	} {
		transport := &beforeUpdateTransport{}
		s := apitest.NewWithTransport(t, feedback.Operations, transport)
		key := s.IssueKey(t)
		importRecords(t, s, recordWithReply("approved", "Thanks"))
		edited := 0
		transport.beforeUpdate = func() { edited = s.Send(t, key, "PATCH", replyPath, tc.edit).Status }
		got, err := feedback.NewStore(s.Table).ClaimReply(t.Context(), s.CompanyID, "fbk_0001", nil)
		if edited != http.StatusOK || codeOf(err) != tc.want || err == nil && *got.ReplyBody != tc.text {
			t.Errorf("%s: edited %d, %v, %v", tc.edit, edited, err, got.ReplyBody)
		}
	}
	transport := &beforeUpdateTransport{}
	s := apitest.NewWithTransport(t, feedback.Operations, transport)
	key := s.IssueKey(t)
	importRecords(t, s, recordWithReply("approved", "Thanks"))
	transport.beforeUpdate = func() {
		mustTransition(t)(feedback.NewStore(s.Table).ClaimReply(t.Context(), s.CompanyID, "fbk_0001", nil))
	}
	if r := s.Send(t, key, "PATCH", replyPath, `{"replyBody":"Reworded"}`); r.Status != http.StatusConflict {
		t.Errorf("an edit during a claim: status %d, want 409: %s", r.Status, r.Body)
	}
}

// Ensure a transition whose response was lost can be retried successfully. A claim that no worker
// knows of must keep the reply from being posted until the operator reports an outcome.
func TestPostingSurvivesLostResponses(t *testing.T) {
	t.Parallel()
	apitest.SkipIfShort(t)
	transport := &beforeUpdateTransport{}
	s := apitest.NewWithTransport(t, feedback.Operations, transport)
	store := feedback.NewStore(s.Table)
	importRecords(t, s, recordWithReply("approved", "Thanks"))
	transport.responsesToLose = 1
	claimID := *mustTransition(t)(store.ClaimReply(t.Context(), s.CompanyID, "fbk_0001", nil)).ClaimID
	transport.responsesToLose = 1
	mustTransition(t)(store.ReportPosted(t.Context(), s.CompanyID, "fbk_0001", claimID))
	if transport.responsesToLose != 0 {
		t.Error("no response was lost")
	}

	importRecords(t, s, recordWithReply("approved", "Thanks"))
	transport.responsesToLose = 100
	if _, err := store.ClaimReply(t.Context(), s.CompanyID, "fbk_0001", nil); err == nil || codeOf(err) != "" {
		t.Fatalf("a claim without a response: error %v, want one without a code", err)
	}
	transport.responsesToLose = 0
	if _, err := store.ClaimReply(t.Context(), s.CompanyID, "fbk_0001", nil); codeOf(err) != fault.Conflict {
		t.Errorf("a second claim: error %v, want a conflict", err)
	}
	stuck, err := store.StuckReplies(t.Context(), s.CompanyID, s.Table.Now())
	if err != nil || len(stuck) != 1 {
		t.Fatalf("stuck replies %+v, want one: %v", stuck, err)
	}
	mustTransition(t)(store.ReportReplyFailed(t.Context(), s.CompanyID, "fbk_0001", *stuck[0].ClaimID))
}

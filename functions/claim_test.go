package functions_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"growthworkspace/functions"
	"growthworkspace/shared/api"
	"growthworkspace/shared/testkit/apitest"
)

// workflow is a pair of operations that a program calls to send a record: the first claims the
// record, the second reports the outcome.
type workflow struct {
	claim, report  string
	id             string                                             // the record's id in the fixture
	claimArgs      map[string]any                                     // arguments of the claim operation, without the Idempotency-Key
	sentOutcome    string                                             // the outcome to report for a record that was sent
	sentStatus     string                                             // the record's status after that report
	reclaimOutcome string                                             // the outcome after which the record can be claimed again, once reclaim has run
	reclaim        func(t *testing.T, s *apitest.Service, key string) // nil if nothing else is needed
}

var workflows = []workflow{
	{claim: "claim_broadcast_post", report: "report_broadcast_post", id: "pst_3", claimArgs: map[string]any{"postId": "pst_3"},
		sentOutcome: "published", sentStatus: "published", reclaimOutcome: "retry"},
	{claim: "claim_feedback_reply", report: "report_feedback_reply", id: "fbk_3", claimArgs: map[string]any{"feedbackId": "fbk_3", "confirmedBy": "the support lead"},
		sentOutcome: "posted", sentStatus: "posted", reclaimOutcome: "failed",
		reclaim: func(t *testing.T, s *apitest.Service, key string) {
			if r := s.Call(t, key, "update_feedback_reply", map[string]any{"feedbackId": "fbk_3", "replyStatus": "approved"}); r.Status != http.StatusOK {
				t.Fatalf("approve the reply again: status %d, want 200: %s", r.Status, r.Body)
			}
		}},
}

// claimWith claims the record. If idempotencyKey is not empty, it is sent.
func (w workflow) claimWith(t *testing.T, s *apitest.Service, key, idempotencyKey string) apitest.Response {
	t.Helper()
	args := map[string]any{}
	for name, value := range w.claimArgs {
		args[name] = value
	}
	if idempotencyKey != "" {
		args["Idempotency-Key"] = idempotencyKey
	}
	return s.Call(t, key, w.claim, args)
}

// reportOutcome reports the outcome of a claim. claimed is the response to the claim operation.
func (w workflow) reportOutcome(t *testing.T, s *apitest.Service, key string, claimed apitest.Response, outcome string) apitest.Response {
	t.Helper()
	args := map[string]any{"claimId": claimed.JSON(t)["claimId"], "outcome": outcome}
	for _, name := range []string{"postId", "feedbackId"} {
		if id := w.claimArgs[name]; id != nil {
			args[name] = id
		}
	}
	return s.Call(t, key, w.report, args)
}

// Ensure a claim is never handed out twice. A retry with the same Idempotency-Key gets the same
// claim only while that claim locks the record. Once an outcome is reported, or the record is
// claimed again, the retry gets a conflict.
func TestClaimIsReplayedOnlyWhileItLocks(t *testing.T) {
	t.Parallel()
	for _, w := range workflows {
		t.Run(w.claim, func(t *testing.T) {
			t.Parallel()
			s := start(t, nil)
			key := s.IssueKey(t)
			first := w.claimWith(t, s, key, "a")
			if first.Status != http.StatusOK {
				t.Fatalf("the claim: status %d, want 200: %s", first.Status, first.Body)
			}
			compareReplay(t, "the repeated claim", first, w.claimWith(t, s, key, "a"))
			checkRefused := func(when, idempotencyKey string) {
				t.Helper()
				r := w.claimWith(t, s, key, idempotencyKey)
				if r.Status != http.StatusConflict || strings.Contains(r.Body, "clm_") {
					t.Errorf("%s: the repeated claim has the status %d, want 409 without a claim: %s", when, r.Status, r.Body)
				}
			}
			report := func(claimed apitest.Response, outcome string) {
				t.Helper()
				if r := w.reportOutcome(t, s, key, claimed, outcome); r.Status != http.StatusOK {
					t.Fatalf("report %s: status %d, want 200: %s", outcome, r.Status, r.Body)
				}
			}
			report(first, w.reclaimOutcome)
			checkRefused("the record can be claimed again", "a")
			if w.reclaim != nil {
				w.reclaim(t, s, key)
			}
			second := w.claimWith(t, s, key, "b")
			if second.Status != http.StatusOK || second.JSON(t)["claimId"] == first.JSON(t)["claimId"] {
				t.Fatalf("the second claim: status %d, want 200 and another claim than %s: %s", second.Status, first.Body, second.Body)
			}
			checkRefused("another claim locks the record", "a")
			if r := w.reportOutcome(t, s, key, first, w.sentOutcome); r.Status != http.StatusConflict {
				t.Errorf("a report with the first claim: status %d, want 409: %s", r.Status, r.Body)
			}
			for range 2 {
				report(second, w.sentOutcome)
			}
			checkRefused("the record was sent", "a")
			checkRefused("the record was sent", "b")
			checkRefused("without a claim of its own", "c")
		})
	}
}

// Ensure the refusal of a claim is not stored under its Idempotency-Key: the same request must
// succeed once the record can be claimed.
func TestRefusedClaimIsNotRemembered(t *testing.T) {
	t.Parallel()
	for _, w := range workflows {
		s := start(t, nil)
		key := s.IssueKey(t)
		holder := w.claimWith(t, s, key, "")
		if r := w.claimWith(t, s, key, "a"); r.Status != http.StatusConflict {
			t.Errorf("%s of a claimed record: status %d, want 409: %s", w.claim, r.Status, r.Body)
		}
		if r := w.reportOutcome(t, s, key, holder, w.reclaimOutcome); r.Status != http.StatusOK {
			t.Fatalf("report %s: status %d, want 200: %s", w.reclaimOutcome, r.Status, r.Body)
		}
		if w.reclaim != nil {
			w.reclaim(t, s, key)
		}
		if r := w.claimWith(t, s, key, "a"); r.Status != http.StatusOK || r.Header.Get("Idempotent-Replayed") != "" {
			t.Errorf("%s of a record that can be claimed: status %d, want 200 and no replay: %s", w.claim, r.Status, r.Body)
		}
	}
}

// Ensure that if many programs claim a record at the same time, exactly one succeeds. Either no
// program sends an Idempotency-Key, or each sends its own.
func TestConcurrentClaims(t *testing.T) {
	t.Parallel()
	for _, w := range workflows {
		for _, keyed := range []bool{false, true} {
			s := start(t, nil)
			key := s.IssueKey(t)
			var statuses [16]int
			var wait sync.WaitGroup
			for n := range statuses {
				wait.Go(func() {
					idempotencyKey := ""
					if keyed {
						idempotencyKey = fmt.Sprint("program-", n)
					}
					statuses[n] = w.claimWith(t, s, key, idempotencyKey).Status
				})
			}
			wait.Wait()
			slices.Sort(statuses[:])
			want := slices.Repeat([]int{http.StatusConflict}, len(statuses))
			want[0] = http.StatusOK
			if !slices.Equal(statuses[:], want) {
				t.Errorf("%s with a key: %t: statuses %v, want one 200 and otherwise 409", w.claim, keyed, statuses)
			}
		}
	}
}

// Ensure a program sends a record exactly once, even if the service crashes at any table call,
// during the claim or during the report. The program repeats each request with the same
// Idempotency-Key until it gets a response, and sends only what a claim returned.
func TestSendingThroughCrashes(t *testing.T) {
	t.Parallel()
	apitest.SkipIfShort(t)
	for _, w := range workflows {
		t.Run(w.claim, func(t *testing.T) {
			t.Parallel()
			s, n := start(t, nil), 0
			key := s.IssueKey(t)
			for _, crashingOperation := range []string{w.claim, w.report} {
				forEachCrash(t, s, func(crashing *apitest.Service, where string) {
					n++
					importFixture(t, s, w.id)
					service := map[string]*apitest.Service{w.claim: s, w.report: s}
					service[crashingOperation] = crashing
					callWithRetry := func(do func(s *apitest.Service) apitest.Response, operation string) apitest.Response {
						r := do(service[operation])
						if r.Status >= http.StatusInternalServerError {
							s.Clock.Advance(time.Minute)
							r = do(s)
						}
						return r
					}
					idempotencyKey := fmt.Sprint("once-", n)
					claimed := callWithRetry(func(s *apitest.Service) apitest.Response { return w.claimWith(t, s, key, idempotencyKey) }, w.claim)
					if claimed.Status != http.StatusOK {
						t.Fatalf("%s: the claim has the status %d, want 200: %s", where, claimed.Status, claimed.Body)
					}
					reported := callWithRetry(func(s *apitest.Service) apitest.Response { return w.reportOutcome(t, s, key, claimed, w.sentOutcome) }, w.report)
					if reported.Status != http.StatusOK || !strings.Contains(reported.Body, `"`+w.sentStatus+`"`) {
						t.Errorf("%s: the report has the status %d, want 200 and the record %s: %s", where, reported.Status, w.sentStatus, reported.Body)
					}
					if r := w.claimWith(t, s, key, idempotencyKey); r.Status != http.StatusConflict {
						t.Errorf("%s: a repeated claim of the sent record has the status %d, want 409: %s", where, r.Status, r.Body)
					}
				})
			}
		})
	}
}

// Ensure a key can claim and report only if it has the send scope itself. No other scope includes
// the send scope.
func TestSendingNeedsItsScope(t *testing.T) {
	t.Parallel()
	sending := 0
	for _, op := range functions.Operations(nil) {
		if !strings.HasSuffix(string(op.Scope), ":send") {
			continue
		}
		sending++
		if len(op.Scope.AdmittingScopes()) != 1 || !op.NotTool {
			t.Errorf("%s: %s is contained in %v, want no other scope; a tool: %t, want none", op.ID, op.Scope, op.Scope.AdmittingScopes()[1:], !op.NotTool)
		}
		if op.Effect == api.Destructive || op.DraftScope != "" {
			t.Errorf("%s has the effect %v and the draft scope %q", op.ID, op.Effect, op.DraftScope)
		}
	}
	if sending != 8 {
		t.Errorf("%d operations need a scope to send, want 8", sending)
	}
}

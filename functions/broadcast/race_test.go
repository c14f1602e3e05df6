package broadcast_test

import (
	"fmt"
	"sync"
	"testing"

	"growthworkspace/functions/broadcast"
	"growthworkspace/shared/fault"
	"growthworkspace/shared/testkit/apitest"
)

// Ensure concurrent dispatchers send every post exactly once.
func TestConcurrentDispatchers(t *testing.T) {
	t.Parallel()
	s := start(t)
	store := broadcast.NewStore(s.Table)
	const posts = 40
	var records []record
	for n := range posts {
		records = append(records, record{"id": fmt.Sprintf("pst_%02d", n), "platform": []string{"x", "push"}[n%2], "status": "scheduled", "scheduledFor": earlierTime})
	}
	importRecords(t, s, "post", records...)
	var mu sync.Mutex
	sent := map[string]int{}
	dispatch := func() bool {
		due, err := store.DuePosts(t.Context(), s.CompanyID, nil, "", 10)
		if err != nil {
			t.Error(err)
		}
		for _, p := range due.Records {
			d, err := store.ClaimPost(t.Context(), s.CompanyID, p.ID)
			if isConflict(err) {
				continue
			}
			if err != nil {
				t.Error(err)
				continue
			}
			mu.Lock()
			sent[d.ID]++
			mu.Unlock()
			mustTransition(t)(store.ReportPublished(t.Context(), s.CompanyID, d.ID, *d.ClaimID, broadcast.Outcome{}))
		}
		return len(due.Records) > 0
	}
	var wait sync.WaitGroup
	for range 6 {
		wait.Go(func() {
			for dispatch() {
			}
		})
	}
	wait.Wait()
	for id, n := range sent {
		if n != 1 {
			t.Errorf("%s was sent %d times", id, n)
		}
	}
	if len(sent) != posts {
		t.Errorf("%d of %d posts were sent", len(sent), posts)
	}
}

// Ensure that if a post is edited between the read and the write of a claim, the edit wins. The
// claim must fail if the edit postponed, unscheduled or deleted the post. Otherwise it must return
// the edited post.
func TestEditWinsOverClaim(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		op   string
		args record
		want fault.Code
		body string
	}{
		{"update_broadcast_post", record{"scheduledFor": laterTime}, fault.Conflict, ""},
		{"update_broadcast_post", record{"status": "draft"}, fault.Conflict, ""},
		{"delete_broadcast_post", record{}, fault.NotFound, ""},
		{"update_broadcast_post", record{"body": "Reworded"}, "", "Reworded"},
	} {
		transport := beforeWrite("UpdateItem", "pst_1")
		s := apitest.NewWithTransport(t, broadcast.Operations, transport)
		key := s.IssueKey(t)
		importRecords(t, s, "post", record{"id": "pst_1", "platform": "x", "body": "B", "status": "scheduled", "scheduledFor": earlierTime})
		edited := false
		transport.Run = func() {
			tc.args["postId"] = "pst_1"
			edited = s.Call(t, key, tc.op, tc.args).Status == 200
		}
		got, err := broadcast.NewStore(s.Table).ClaimPost(t.Context(), s.CompanyID, "pst_1")
		if !edited || codeOf(err) != tc.want || err == nil && deref(got.Body) != tc.body {
			t.Errorf("%s %v: edited %t, %v, body %s", tc.op, tc.args, edited, err, deref(got.Body))
		}
	}
}

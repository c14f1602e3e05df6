package plan_test

import (
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"growthworkspace/functions/plan"
	"growthworkspace/shared/fault"
	"growthworkspace/shared/table"
	"growthworkspace/shared/testkit/apitest"
)

// leaseOf returns the board's lease, or nil if it has none.
func leaseOf(t *testing.T, s *apitest.Service) any {
	t.Helper()
	board, err := table.GetItem(t.Context(), s.Table, table.Key{PK: table.Partition(s.CompanyID, "plan"), SK: "board#brd_1"})
	if err != nil {
		t.Fatal(err)
	}
	if board["claim"] == nil && board["claimAt"] == nil {
		return nil
	}
	return []any{board["claim"], board["claimAt"]}
}

// Ensure a publish releases its lease if it gives up because the content is no longer what was
// reviewed, or is already live.
func TestLeaseIsReleased(t *testing.T) {
	t.Parallel()
	refused := errors.New("changed since the review")
	for name, newTitle := range map[string]string{"edited": "Other", "edited back": "Live"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for at, reached := int64(1), true; reached; at++ {
				s, key := start(t)
				item := createItem(t, s, key, map[string]any{"title": "Live", "status": "published"})["id"]
				callOperation(t, s, key, "publish_plan_board", map[string]any{"boardId": "brd_1"})
				callOperation(t, s, key, "update_plan_item", map[string]any{"itemId": item, "title": "New"})
				transport := apitest.NewBeforeCall(at, func() {
					callOperation(t, s, key, "update_plan_item", map[string]any{"itemId": item, "title": newTitle})
				})
				reviewed := ""
				_, err := plan.NewStore(apitest.NewWithTransport(t, plan.Operations, transport).Table).Publish(t.Context(), s.CompanyID, "brd_1", func(digest string) error {
					if reviewed == "" {
						reviewed = digest
					}
					if reviewed != digest && newTitle != "Live" {
						return refused
					}
					return nil
				})
				if err != nil && !errors.Is(err, refused) {
					t.Errorf("before call %d: %v", at, err)
				}
				if c := leaseOf(t, s); c != nil {
					t.Errorf("before call %d: the board still has the lease %v", at, c)
				}
				reached = transport.Reached()
			}
		})
	}
}

// Ensure a publish that fails at any table call releases its lease, so that the next publish does
// not have to wait.
func TestFailedPublishIsReleased(t *testing.T) {
	t.Parallel()
	failures := 0
	for at := int64(1); ; at++ {
		s, key := start(t)
		createItem(t, s, key, map[string]any{"title": "New", "status": "published"})
		var calls atomic.Int64
		transport := apitest.Intercept(func(c apitest.Call) (*http.Response, error) {
			if calls.Add(1) == at {
				return c.Refuse()
			}
			return c.Send()
		})
		_, err := plan.NewStore(apitest.NewWithTransport(t, plan.Operations, transport).Table).Publish(t.Context(), s.CompanyID, "brd_1", func(string) error { return nil })
		if c := leaseOf(t, s); c != nil {
			t.Errorf("call %d refused: the board still has the lease %v", at, c)
		}
		if err == nil {
			break
		}
		failures++
	}
	if failures < 3 {
		t.Errorf("%d calls fail a publish", failures)
	}
}

// Ensure a publish waits for a concurrent one to finish and then succeeds. It must also replace the
// lease of a crashed publish. If that lease has expired according to the waiting publish's clock,
// it must do so immediately. Otherwise it must first wait for as long as a lease lasts.
func TestLeaseOfADeadPublish(t *testing.T) {
	t.Parallel()
	apitest.SkipIfShort(t)
	for name, c := range map[string]struct {
		ago         time.Duration
		least, most time.Duration
	}{"old": {time.Hour, 0, 20 * time.Millisecond}, "of a clock that is ahead": {-time.Hour, time.Second, 3 * time.Second}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, key := start(t)
			createItem(t, s, key, map[string]any{"title": "A", "status": "published"})
			transport := &apitest.CrashingTransport{}
			transport.CrashAfter(4, false) // the publish makes four calls, and crashes after it has leased the board
			crashing := apitest.NewWithTransport(t, plan.Operations, transport)
			crashing.Clock.Advance(-c.ago)
			if _, err := plan.NewStore(crashing.Table).Publish(t.Context(), s.CompanyID, "brd_1", acceptAnyDigest); err == nil || leaseOf(t, s) == nil {
				t.Fatalf("the publish did not die after its lease: %v", err)
			}
			counter := &apitest.RoundTripCounter{}
			store := plan.NewStore(apitest.NewWithTransport(t, plan.Operations, counter).Table)
			counter.Count(t, func(t *testing.T) { // on the fake clock, each call takes a millisecond
				began := time.Now()
				done, err := store.Publish(t.Context(), s.CompanyID, "brd_1", acceptAnyDigest)
				if err != nil || done.PublishedVersion != 1 {
					t.Errorf("published version %d, want 1: %v", done.PublishedVersion, err)
				}
				if took := time.Since(began); took < c.least || took > c.most {
					t.Errorf("the publish took %s, want %s to %s", took, c.least, c.most)
				}
			})
			if c := leaseOf(t, s); c != nil {
				t.Errorf("the board still has the lease %v", c)
			}
		})
	}
}

// Ensure a publish releases its lease if it gives up because other callers keep editing the board.
func TestLeaseIsReleasedAfterTheLastAttempt(t *testing.T) {
	t.Parallel()
	s, key := start(t)
	createItem(t, s, key, map[string]any{"title": "First", "status": "published"})
	edits := 0
	e := afterLease(func() {
		edits++
		createItem(t, s, key, map[string]any{"title": fmt.Sprint("Edit ", edits), "status": "published"})
	})
	_, err := plan.NewStore(apitest.NewWithTransport(t, plan.Operations, e).Table).Publish(t.Context(), s.CompanyID, "brd_1", acceptAnyDigest)
	if code := fault.PublicError(err).Code; code != fault.Conflict || edits < 2 {
		t.Errorf("after %d edits the publish returns %v, want a conflict after several", edits, err)
	}
	if c := leaseOf(t, s); c != nil {
		t.Errorf("the board still has the lease %v", c)
	}
}

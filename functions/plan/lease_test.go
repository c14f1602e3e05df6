package plan_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"growthworkspace/functions/plan"
	"growthworkspace/shared/fault"
	"growthworkspace/shared/table"
	"growthworkspace/shared/testkit/apitest"
)

// leaseOf returns the lease of the board, nil when it has none.
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

// Ensure a publish releases the board when it gives up after its lease, because the content is no
// longer the reviewed one, or when it finds its content live.
func TestLeaseIsReleased(t *testing.T) {
	t.Parallel()
	refused := errors.New("changed since the review")
	for name, intrude := range map[string]string{"edited": "Other", "edited back": "Live"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for at, reached := int64(1), true; reached; at++ {
				s, key := start(t)
				item := createItem(t, s, key, map[string]any{"title": "Live", "status": "published"})["id"]
				callOperation(t, s, key, "publish_plan_board", map[string]any{"boardId": "brd_1"})
				callOperation(t, s, key, "update_plan_item", map[string]any{"itemId": item, "title": "New"})
				edits := &beforeCallTransport{intrude: func() {
					callOperation(t, s, key, "update_plan_item", map[string]any{"itemId": item, "title": intrude})
				}}
				edits.at.Store(at)
				reviewed := ""
				_, err := plan.NewStore(apitest.NewOver(t, plan.Operations, edits).Table).Publish(t.Context(), s.CompanyID, "brd_1", func(digest string) error {
					if reviewed == "" {
						reviewed = digest
					}
					if reviewed != digest && intrude != "Live" {
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
				reached = edits.calls.Load() >= at
			}
		})
	}
}

// refusingTransport refuses the call with the number at.
type refusingTransport struct {
	calls atomic.Int64
	at    int64
}

func (r *refusingTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	if r.calls.Add(1) == r.at {
		return &http.Response{StatusCode: http.StatusBadRequest, Body: io.NopCloser(strings.NewReader(`{"__type":"ValidationException"}`)), Request: request}, nil
	}
	return apitest.Transport.RoundTrip(request)
}

// Ensure a publish that fails, at any call to the table, releases the board, so that the next one
// does not wait.
func TestFailedPublishIsReleased(t *testing.T) {
	t.Parallel()
	failures := 0
	for at := int64(1); ; at++ {
		s, key := start(t)
		createItem(t, s, key, map[string]any{"title": "New", "status": "published"})
		refuses := &refusingTransport{at: at}
		_, err := plan.NewStore(apitest.NewOver(t, plan.Operations, refuses).Table).Publish(t.Context(), s.CompanyID, "brd_1", func(string) error { return nil })
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

// Ensure a publish waits for another one and then succeeds, and that it replaces the lease of a
// crashed one: at once when the lease is old by the clock, otherwise after seeing it for as long as
// a lease lasts.
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
			breaking := &crashTransport{next: http.DefaultTransport}
			breaking.left.Store(4) // crashes after its lease
			dying := apitest.NewOver(t, plan.Operations, breaking)
			dying.Clock.Advance(-c.ago)
			if _, err := plan.NewStore(dying.Table).Publish(t.Context(), s.CompanyID, "brd_1", acceptAnyDigest); err == nil || leaseOf(t, s) == nil {
				t.Fatalf("the publish did not die after its lease: %v", err)
			}
			counter := &apitest.RoundTripCounter{}
			store := plan.NewStore(apitest.NewOver(t, plan.Operations, counter).Table)
			counter.Count(t, func(t *testing.T) { // on its clock a call takes a millisecond
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

// Ensure a publish that gives up because others edit the board all the time releases it.
func TestLeaseIsReleasedAfterTheLastAttempt(t *testing.T) {
	t.Parallel()
	s, key := start(t)
	createItem(t, s, key, map[string]any{"title": "First", "status": "published"})
	edits := 0
	e := afterLeaseTransport{func() {
		edits++
		createItem(t, s, key, map[string]any{"title": fmt.Sprint("Edit ", edits), "status": "published"})
	}}
	_, err := plan.NewStore(apitest.NewOver(t, plan.Operations, e).Table).Publish(t.Context(), s.CompanyID, "brd_1", acceptAnyDigest)
	if code := fault.PublicError(err).Code; code != fault.Conflict || edits < 2 {
		t.Errorf("after %d edits the publish returns %v, want a conflict after several", edits, err)
	}
	if c := leaseOf(t, s); c != nil {
		t.Errorf("the board still has the lease %v", c)
	}
}

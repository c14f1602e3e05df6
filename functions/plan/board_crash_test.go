package plan_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"growthworkspace/functions/plan"
	"growthworkspace/shared/fault"
	"growthworkspace/shared/table"
	"growthworkspace/shared/testkit/apitest"
)

// addCrashLeftovers adds the records that crashed publishes and imports can leave on a board: a
// snapshot that never went live, and a slug record without its item.
func addCrashLeftovers(t *testing.T, s *apitest.Service, boardID string) {
	t.Helper()
	at := func(parts ...string) table.Keys {
		return table.Keys{Key: table.Key{PK: table.Partition(s.CompanyID, "plan"), SK: table.JoinKey(parts...)}}
	}
	if err := s.Table.Transact(t.Context(),
		s.Table.WritePut(at("snapshot", boardID, "0000000009", "snp_dead", "00000"), struct{}{}),
		s.Table.WritePut(at("slug", boardID, "lost"), struct{}{}),
	); err != nil {
		t.Fatal(err)
	}
}

// Ensure a delete that crashes after any of its table calls leaves the board either intact or not
// found. Repeating the delete must succeed and remove what is left. A board that is imported under
// the same id between the two deletes must be complete and contain nothing of the deleted board.
func TestDeleteBoardCrashes(t *testing.T) {
	t.Parallel()
	apitest.SkipIfShort(t)
	died := map[bool]int{} // the number of crashed deletes, by whether the board was gone afterwards
	for _, imports := range []bool{false, true} {
		for calls, finished := int64(0), false; !finished; calls++ {
			s := apitest.New(t, plan.Operations)
			key := s.IssueKey(t)
			addEmptiedBoard(t, s, "brd_1")
			addCrashLeftovers(t, s, "brd_1")
			whole := remainingRecords(t, s, "brd_1")
			ctx, store := crashingStore(t, &crashingTransport{}, 0, calls+1)
			err := store.Boards.Remove(ctx, s.CompanyID, "brd_1", acceptAnyBoard)
			finished = err == nil

			now := remainingRecords(t, s, "brd_1")
			status := s.Call(t, key, "get_plan_board", map[string]any{"boardId": "brd_1"}).Status
			gone := !slices.Contains(now, "board#brd_1")
			if died[gone]++; gone != (status == http.StatusNotFound) || !gone && !slices.Equal(now, whole) || gone && slices.Contains(now, "heads") {
				t.Errorf("died after %d calls (%v): the board is %d, left %q", calls, err, status, now)
			}
			if gone {
				_, err := plan.NewStore(s.Table).Items.Insert(t.Context(), s.CompanyID, plan.Item{ID: "itm_1", CompanyID: s.CompanyID, RoadmapID: "brd_1", Slug: "a", Title: "A"})
				if !errors.Is(err, fault.ErrNotFound) {
					t.Errorf("died after %d calls: an item on it: %v", calls, err)
				}
			}
			if imports {
				importRecords(t, s, "board", `{"id":"brd_1","publishedVersion":2,"publishedAt":"2026-01-01T00:00:00Z","snapshot":[]}`)
				if now := remainingRecords(t, s, "brd_1"); gone && (len(now) != 4 || !slices.Contains(now, "version#brd_1#0000000002")) {
					t.Errorf("died after %d calls: the imported board has %q", calls, now)
				}
			}
			retryErr := plan.NewStore(s.Table).Boards.Remove(t.Context(), s.CompanyID, "brd_1", acceptAnyBoard)
			if now := remainingRecords(t, s, "brd_1"); len(now) > 0 || finished && !imports != errors.Is(retryErr, fault.ErrNotFound) || !finished && retryErr != nil {
				t.Errorf("died after %d calls: the next delete: %v, left %q", calls, retryErr, now)
			}
		}
	}
	if died[false] < 4 || died[true] < 6 {
		t.Errorf("%v deletes died before and after the board was gone", died)
	}
}

// crashingTransport simulates a process that crashes at call number crashAt: neither that call nor
// any later counted call reaches the table. Just before call number interruptAt, it calls the
// function `interrupt`.
type crashingTransport struct {
	calls, interruptAt, crashAt atomic.Int64
	interrupt                   func()
	cancel                      context.CancelFunc
	action                      string // the DynamoDB operation whose calls are counted; empty for all operations
}

func (c *crashingTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if !strings.HasSuffix(r.Header.Get("X-Amz-Target"), c.action) {
		return http.DefaultTransport.RoundTrip(r)
	}
	n := c.calls.Add(1)
	if n == c.interruptAt.Load() {
		c.interrupt()
	}
	if n >= c.crashAt.Load() {
		c.cancel()
		return nil, context.Canceled
	}
	return http.DefaultTransport.RoundTrip(r)
}

// crashingStore returns a store that sends its calls through m, and the context for these calls.
func crashingStore(t *testing.T, m *crashingTransport, at, crashAt int64) (context.Context, plan.Store) {
	ctx, die := context.WithCancel(t.Context())
	t.Cleanup(die)
	m.cancel = die
	m.interruptAt.Store(at)
	m.crashAt.Store(crashAt)
	return ctx, plan.NewStore(apitest.NewWithTransport(t, plan.Operations, m).Table)
}

// Ensure that if a board is deleted just before any table call of an operation on it, nothing of
// the board is left, even if the operation crashes at that call or a later one. An operation that
// does not crash must succeed or return not_found.
func TestBoardIsDeletedConcurrently(t *testing.T) {
	t.Parallel()
	apitest.SkipIfShort(t)
	for name, run := range map[string]func(ctx context.Context, store plan.Store, companyID string) error{
		"a publish": func(ctx context.Context, store plan.Store, companyID string) error {
			_, err := store.Publish(ctx, companyID, "brd_1", acceptAnyDigest)
			return err
		},
		"a preview": func(ctx context.Context, store plan.Store, companyID string) error {
			_, err := store.PlanPublish(ctx, companyID, "brd_1")
			return err
		},
		"a rollback": func(ctx context.Context, store plan.Store, companyID string) error {
			_, err := store.Rollback(ctx, companyID, "brd_1", 1, acceptAnyBoard)
			return err
		},
		"a list of live items": func(ctx context.Context, store plan.Store, companyID string) error {
			_, err := store.LiveItems(ctx, companyID, "brd_1", "", 1)
			return err
		},
		"an item": func(ctx context.Context, store plan.Store, companyID string) error {
			_, err := store.Items.InsertWithFreeSlug(ctx, companyID, plan.Item{ID: "itm_1", CompanyID: companyID, RoadmapID: "brd_1", Title: "A"}, "lost") // the slug "lost" is taken, so the insert looks for a free one
			return err
		},
		"an update": func(ctx context.Context, store plan.Store, companyID string) error {
			_, err := store.Boards.Modify(ctx, companyID, "brd_1", func(b *plan.Board) error { name := "New"; b.Name = &name; return nil })
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			notFound := 0
			for at, reached := int64(1), true; reached; at++ {
				survived := false
				for crashCall := at; !survived; crashCall++ { // the last run does not crash
					s := apitest.New(t, plan.Operations)
					key := s.IssueKey(t)
					if name == "a publish" { // a publish starts from a board that was never published
						importRecords(t, s, "board", `{"id":"brd_1"}`)
					} else {
						addEmptiedBoard(t, s, "brd_1")
					}
					addCrashLeftovers(t, s, "brd_1")
					transport := &crashingTransport{interrupt: func() {
						if err := plan.NewStore(s.Table).Boards.Remove(t.Context(), s.CompanyID, "brd_1", acceptAnyBoard); err != nil && !isFault(err, fault.Conflict) {
							t.Errorf("deleted before call %d: error %v, want none or a conflict", at, err)
						}
					}}
					ctx, store := crashingStore(t, transport, at, crashCall)
					err := run(ctx, store, s.CompanyID)
					calls := transport.calls.Load()
					reached, survived = calls >= at, calls < crashCall
					if !reached {
						break
					}
					if now := remainingRecords(t, s, "brd_1"); len(now) > 0 && !slices.Contains(now, "board#brd_1") {
						t.Errorf("deleted before call %d, dies at call %d: left %q", at, crashCall, now)
					}
					gone := s.Call(t, key, "get_plan_board", map[string]any{"boardId": "brd_1"}).Status == http.StatusNotFound
					if survived && gone && err != nil && !isFault(err, fault.NotFound) {
						t.Errorf("deleted before call %d: %v", at, err)
					}
					if err != nil && survived {
						notFound++
					}
				}
			}
			if notFound == 0 {
				t.Error("it never found that the board is deleted")
			}
		})
	}
}

// Ensure an update and a publish of the same board both succeed and keep each other's changes, even
// if one of them runs just before any table call of the other. The board's updatedAt must not be
// before its publishedAt. Afterwards, an update must fail if its If-Match contains the board's
// original ETag.
func TestUpdateMeetsPublish(t *testing.T) {
	t.Parallel()
	apitest.SkipIfShort(t)
	for _, updates := range []bool{true, false} { // whether the update interrupts the publish; otherwise the publish interrupts the update
		for at, reached := int64(1), true; reached; at++ {
			s, key := start(t)
			createItem(t, s, key, map[string]any{"title": "New", "status": "published"})
			before := s.Call(t, key, "get_plan_board", map[string]any{"boardId": "brd_1"})
			s.Clock.Advance(time.Second)
			update := func(store plan.Store) error {
				_, err := store.Boards.Modify(t.Context(), s.CompanyID, "brd_1", func(b *plan.Board) error { name := "Renamed"; b.Name = &name; return nil })
				return err
			}
			publish := func(store plan.Store) error {
				done, err := store.Publish(t.Context(), s.CompanyID, "brd_1", acceptAnyDigest)
				if err == nil && (!done.Changed || done.PublishedVersion != 1) {
					err = fmt.Errorf("published %+v", done)
				}
				return err
			}
			outer, inner := publish, update
			if !updates {
				outer, inner = update, publish
			}
			transport := apitest.NewBeforeCall(at, func() {
				if err := inner(plan.NewStore(s.Table)); err != nil {
					t.Errorf("before call %d: %v", at, err)
				}
			})
			if err := outer(plan.NewStore(apitest.NewWithTransport(t, plan.Operations, transport).Table)); err != nil {
				t.Errorf("before call %d: %v", at, err)
			}
			if reached = transport.Reached(); !reached {
				break
			}
			got := callOperation(t, s, key, "get_plan_board", map[string]any{"boardId": "brd_1"})
			want := map[string]any{"name": "Renamed", "version": 1.0, "claim": nil, "live items": []string{"New"}}
			if diff := cmp.Diff(want, map[string]any{"name": got["name"], "version": got["publishedVersion"], "claim": leaseOf(t, s), "live items": versionTitles(t, s, 0)}); diff != "" {
				t.Errorf("updates %v, before call %d: board (-want +got):\n%s", updates, at, diff)
			}
			if got["updatedAt"].(string) < got["publishedAt"].(string) {
				t.Errorf("updates %v, before call %d: updated at %v, before it was published at %v", updates, at, got["updatedAt"], got["publishedAt"])
			}
			stale := map[string]any{"boardId": "brd_1", "name": "Stale", "If-Match": before.Header.Get("ETag")}
			if r := s.Call(t, key, "update_plan_board", stale); r.Status != http.StatusPreconditionFailed {
				t.Errorf("updates %v, before call %d: for a stale revision: %d %s", updates, at, r.Status, r.Body)
			}
		}
	}
}

// Ensure that if the chunks of a snapshot need several transactions and the board is deleted
// between them, no chunks are left behind, even if the process crashes. Without a delete, the
// snapshot must be complete.
func TestManyChunks(t *testing.T) {
	t.Parallel()
	apitest.SkipIfShort(t)
	const total = 12 * 350 << 10 / 30_000 // enough items for about 12 chunks of 350 KB
	items := make([]string, total)
	for n := range items {
		items[n] = fmt.Sprintf(`{"id":"itm_%03d","slug":"s-%d","title":"T","summary":"%s"}`, n, n, strings.Repeat("s", 30_000))
	}
	for at, reached := int64(1), true; reached; at++ {
		for _, dies := range []bool{false, true} {
			s := apitest.New(t, plan.Operations)
			key := s.IssueKey(t)
			importRecords(t, s, "board", `{"id":"brd_1","publishedVersion":1,"publishedAt":"2026-01-01T00:00:00Z","snapshot":[`+strings.Join(items, ",")+`]}`)
			if _, err := plan.NewStore(s.Table).Publish(t.Context(), s.CompanyID, "brd_1", acceptAnyDigest); err != nil {
				t.Fatal(err)
			}
			transport := &crashingTransport{action: ".TransactWriteItems", interrupt: func() {
				if err := plan.NewStore(s.Table).Boards.Remove(t.Context(), s.CompanyID, "brd_1", acceptAnyBoard); err != nil && !isFault(err, fault.Conflict) {
					t.Errorf("deleted before call %d: error %v, want none or a conflict", at, err)
				}
			}}
			end := int64(math.MaxInt64)
			if dies {
				end = at + 1
			}
			ctx, store := crashingStore(t, transport, at, end)
			_, err := store.Rollback(ctx, s.CompanyID, "brd_1", 1, acceptAnyBoard)
			if reached = transport.calls.Load() >= at; !reached {
				if got, _ := liveItems(t, s, key, 100); err != nil || len(got) != total || got[total-1]["id"] != fmt.Sprintf("itm_%03d", total-1) {
					t.Errorf("%d live items: %v", len(got), err)
				}
				if chunks := slices.DeleteFunc(remainingRecords(t, s, "brd_1"), func(key string) bool { return !strings.HasPrefix(key, "snapshot#") }); len(chunks) < 2*12+1 {
					t.Errorf("%d chunks", len(chunks))
				}
				break
			}
			if now := remainingRecords(t, s, "brd_1"); len(now) > 0 && !slices.Contains(now, "board#brd_1") {
				t.Errorf("deleted before transaction %d, dies %v: left %q", at, dies, now)
			}
		}
	}
}

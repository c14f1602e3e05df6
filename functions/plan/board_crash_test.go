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

// leaveCrashRemains adds to a board what crashed publishes and imports can leave: a snapshot that
// never went live, and a slug without its item.
func leaveCrashRemains(t *testing.T, s *apitest.Service, boardID string) {
	t.Helper()
	at := func(parts ...string) table.Keys {
		return table.Keys{Key: table.Key{PK: table.Partition(s.CompanyID, "plan"), SK: table.Join(parts...)}}
	}
	if err := s.Table.Transact(t.Context(),
		s.Table.WritePut(at("snapshot", boardID, "0000000009", "snp_dead", "00000"), struct{}{}),
		s.Table.WritePut(at("slug", boardID, "lost"), struct{}{}),
	); err != nil {
		t.Fatal(err)
	}
}

// Ensure a delete that crashes after any of its table calls leaves the whole board or none, that
// repeating it removes the rest and succeeds, and that an import under the same id in between is
// whole and keeps nothing of the earlier board.
func TestDeleteBoardCrashes(t *testing.T) {
	t.Parallel()
	apitest.SkipIfShort(t)
	died := map[bool]int{} // by whether the board was gone
	for _, imports := range []bool{false, true} {
		for calls, finished := int64(0), false; !finished; calls++ {
			s := apitest.New(t, plan.Operations)
			key := s.Key(t)
			addEmptiedBoard(t, s, "brd_1")
			leaveCrashRemains(t, s, "brd_1")
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
			again := plan.NewStore(s.Table).Boards.Remove(t.Context(), s.CompanyID, "brd_1", acceptAnyBoard)
			if now := remainingRecords(t, s, "brd_1"); len(now) > 0 || finished && !imports != errors.Is(again, fault.ErrNotFound) || !finished && again != nil {
				t.Errorf("died after %d calls: the next delete: %v, left %q", calls, again, now)
			}
		}
	}
	if died[false] < 4 || died[true] < 6 {
		t.Errorf("%v deletes died before and after the board was gone", died)
	}
}

// crashingTransport is a process that crashes at the call with the number crashAt: neither that
// call nor a later one that counts reaches the table. Before the call with the number at it runs a
// function.
type crashingTransport struct {
	calls, at, crashAt atomic.Int64
	intrude            func()
	crash              context.CancelFunc
	action             string // only calls of this action count; empty: all
}

func (m *crashingTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if !strings.HasSuffix(r.Header.Get("X-Amz-Target"), m.action) {
		return http.DefaultTransport.RoundTrip(r)
	}
	n := m.calls.Add(1)
	if n == m.at.Load() {
		m.intrude()
	}
	if n >= m.crashAt.Load() {
		m.crash()
		return nil, errCrashed
	}
	return http.DefaultTransport.RoundTrip(r)
}

// crashingStore returns the store of a process that crashes and the context of its calls.
func crashingStore(t *testing.T, m *crashingTransport, at, dies int64) (context.Context, plan.Store) {
	ctx, die := context.WithCancel(t.Context())
	t.Cleanup(die)
	m.crash = die
	m.at.Store(at)
	m.crashAt.Store(dies)
	return ctx, plan.NewStore(apitest.NewOver(t, plan.Operations, m).Table)
}

// Ensure any call that runs when a board is deleted, before any of its table calls, ends with
// not_found, and leaves nothing of the board, even if it crashes at that call or at a later one.
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
			_, err := store.Rollback(ctx, companyID, "brd_1", 1)
			return err
		},
		"a list of live items": func(ctx context.Context, store plan.Store, companyID string) error {
			_, err := store.LiveItems(ctx, companyID, "brd_1", "", 1)
			return err
		},
		"an item": func(ctx context.Context, store plan.Store, companyID string) error {
			_, err := store.Items.InsertWithFreeSlug(ctx, companyID, plan.Item{ID: "itm_1", CompanyID: companyID, RoadmapID: "brd_1", Title: "A"}, "lost") // taken: it looks for a free one
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
				lives := false
				for dies := at; !lives; dies++ { // the last one does not die
					s := apitest.New(t, plan.Operations)
					key := s.Key(t)
					if name == "a publish" { // of something that is not live yet
						importRecords(t, s, "board", `{"id":"brd_1"}`)
					} else {
						addEmptiedBoard(t, s, "brd_1")
					}
					leaveCrashRemains(t, s, "brd_1")
					meanwhile := &crashingTransport{intrude: func() {
						if err := plan.NewStore(s.Table).Boards.Remove(t.Context(), s.CompanyID, "brd_1", acceptAnyBoard); err != nil && !isFault(err, fault.Conflict) {
							t.Errorf("deleted before call %d: error %v, want none or a conflict", at, err)
						}
					}}
					ctx, store := crashingStore(t, meanwhile, at, dies)
					err := run(ctx, store, s.CompanyID)
					calls := meanwhile.calls.Load()
					reached, lives = calls >= at, calls < dies
					if !reached {
						break
					}
					if now := remainingRecords(t, s, "brd_1"); len(now) > 0 && !slices.Contains(now, "board#brd_1") {
						t.Errorf("deleted before call %d, dies at call %d: left %q", at, dies, now)
					}
					gone := s.Call(t, key, "get_plan_board", map[string]any{"boardId": "brd_1"}).Status == http.StatusNotFound
					if lives && gone && err != nil && !isFault(err, fault.NotFound) {
						t.Errorf("deleted before call %d: %v", at, err)
					}
					if err != nil && lives {
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

// Ensure a concurrent update and publish of a board, one before any table call of the other, both
// succeed and keep each other's changes, that updatedAt never goes back, and that an update for the
// revision before the publish fails.
func TestUpdateMeetsPublish(t *testing.T) {
	t.Parallel()
	apitest.SkipIfShort(t)
	for _, updates := range []bool{true, false} { // whether it is the update that comes between the calls of the publish
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
			meets := &beforeCallTransport{intrude: func() {
				if err := inner(plan.NewStore(s.Table)); err != nil {
					t.Errorf("before call %d: %v", at, err)
				}
			}}
			meets.at.Store(at)
			if err := outer(plan.NewStore(apitest.NewOver(t, plan.Operations, meets).Table)); err != nil {
				t.Errorf("before call %d: %v", at, err)
			}
			if reached = meets.calls.Load() >= at; !reached {
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

// Ensure a snapshot whose chunks take several transactions is written whole, or is not left behind
// when the board is deleted or the process crashes between them.
func TestManyChunks(t *testing.T) {
	t.Parallel()
	apitest.SkipIfShort(t)
	const total = 12 * 350 << 10 / 30_000 // chunks of 350 KB
	items := make([]string, total)
	for n := range items {
		items[n] = fmt.Sprintf(`{"id":"itm_%03d","slug":"s-%d","title":"T","summary":"%s"}`, n, n, strings.Repeat("s", 30_000))
	}
	for at, reached := int64(1), true; reached; at++ {
		for _, dies := range []bool{false, true} {
			s := apitest.New(t, plan.Operations)
			key := s.Key(t)
			importRecords(t, s, "board", `{"id":"brd_1","publishedVersion":1,"publishedAt":"2026-01-01T00:00:00Z","snapshot":[`+strings.Join(items, ",")+`]}`)
			if _, err := plan.NewStore(s.Table).Publish(t.Context(), s.CompanyID, "brd_1", acceptAnyDigest); err != nil {
				t.Fatal(err)
			}
			deletes := &crashingTransport{action: ".TransactWriteItems", intrude: func() {
				if err := plan.NewStore(s.Table).Boards.Remove(t.Context(), s.CompanyID, "brd_1", acceptAnyBoard); err != nil && !isFault(err, fault.Conflict) {
					t.Errorf("deleted before call %d: error %v, want none or a conflict", at, err)
				}
			}}
			end := int64(math.MaxInt64)
			if dies {
				end = at + 1
			}
			ctx, store := crashingStore(t, deletes, at, end)
			_, err := store.Rollback(ctx, s.CompanyID, "brd_1", 1)
			if reached = deletes.calls.Load() >= at; !reached {
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

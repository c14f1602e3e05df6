package plan_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"growthworkspace/functions/plan"
	"growthworkspace/shared/fault"
	"growthworkspace/shared/table"
	"growthworkspace/shared/testkit/apitest"
)

// remainingRecords describes what is still stored for a board: it returns the sort keys of its
// records, the ids of its items, and its live version in the heads record.
func remainingRecords(t *testing.T, s *apitest.Service, boardID string) (out []string) {
	t.Helper()
	for _, key := range storedSortKeys(t, s) {
		if strings.HasSuffix(key, "#"+boardID) || strings.Contains(key, "#"+boardID+"#") {
			out = append(out, key)
		}
	}
	items, err := table.ReadAll[plan.Item](t.Context(), s.Table, table.Collection{Partition: table.Partition(s.CompanyID, "plan"), Prefix: "item#", Consistent: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range items {
		if i.RoadmapID == boardID {
			out = append(out, i.ID)
		}
	}
	if hasLiveVersion(t, s, boardID) {
		out = append(out, "heads")
	}
	return out
}

func acceptAnyBoard(plan.Board) error { return nil }

func isFault(err error, code fault.Code) bool {
	var faultErr *fault.Error
	return errors.As(err, &faultErr) && faultErr.Code == code
}

// addEmptiedBoard adds a board that showed one item in version 1 and none in version 2. The board
// has no items left.
func addEmptiedBoard(t *testing.T, s *apitest.Service, boardID string) {
	t.Helper()
	importRecords(t, s, "board", fmt.Sprintf(`{"id":%q,"publishedVersion":1,"publishedAt":"2026-01-01T00:00:00Z","snapshot":[{"id":"itm_0","slug":"a","title":"A"}]}`, boardID))
	if _, err := plan.NewStore(s.Table).Publish(t.Context(), s.CompanyID, boardID, acceptAnyDigest); err != nil {
		t.Fatal(err)
	}
}

// Ensure a board that is deleted during another operation is either completely gone or completely
// intact afterwards, whichever of the two starts first.
func TestBoardRaces(t *testing.T) {
	t.Parallel()
	rounds := 100
	if testing.Short() {
		rounds = 5
	}
	const callsMax = 9 // the maximum number of table calls that a publish makes
	type outcome struct{ removeErr, otherErr error }
	wasRemoved := func(o outcome) bool { return o.removeErr == nil }
	for name, race := range map[string]struct {
		prepare func(t *testing.T, s *apitest.Service, boardID string)
		other   func(ctx context.Context, store plan.Store, companyID, boardID string) error
		allowed func(outcome) bool // reports whether both operations may return these errors
	}{
		"an item is created": {
			other: func(ctx context.Context, store plan.Store, companyID, boardID string) error {
				_, err := store.Items.Insert(ctx, companyID, plan.Item{ID: "itm_" + boardID, CompanyID: companyID, RoadmapID: boardID, Slug: "a", Title: "A"})
				return err
			},
			allowed: func(o outcome) bool {
				return wasRemoved(o) && errors.Is(o.otherErr, fault.ErrNotFound) || isFault(o.removeErr, fault.Conflict) && o.otherErr == nil
			},
		},
		"an item is created without a slug": {
			other: func(ctx context.Context, store plan.Store, companyID, boardID string) error {
				_, err := store.Items.InsertWithFreeSlug(ctx, companyID, plan.Item{ID: "itm_" + boardID, CompanyID: companyID, RoadmapID: boardID, Title: "A"}, "a")
				return err
			},
			allowed: func(o outcome) bool {
				return wasRemoved(o) && errors.Is(o.otherErr, fault.ErrNotFound) || isFault(o.removeErr, fault.Conflict) && o.otherErr == nil
			},
		},
		"it is published": {
			other: func(ctx context.Context, store plan.Store, companyID, boardID string) error {
				_, err := store.Publish(ctx, companyID, boardID, acceptAnyDigest)
				return err
			},
			allowed: func(o outcome) bool {
				return wasRemoved(o) && (o.otherErr == nil || errors.Is(o.otherErr, fault.ErrNotFound))
			},
		},
		"an earlier version comes back": {
			prepare: addEmptiedBoard,
			other: func(ctx context.Context, store plan.Store, companyID, boardID string) error {
				_, err := store.Rollback(ctx, companyID, boardID, 1, acceptAnyBoard)
				return err
			},
			allowed: func(o outcome) bool {
				return wasRemoved(o) && isFault(o.otherErr, fault.NotFound) || isFault(o.removeErr, fault.Conflict) && o.otherErr == nil
			},
		},
		"it is deleted": {
			prepare: addEmptiedBoard,
			other: func(ctx context.Context, store plan.Store, companyID, boardID string) error {
				return store.Boards.Remove(ctx, companyID, boardID, acceptAnyBoard)
			},
			allowed: func(o outcome) bool {
				return wasRemoved(o) && errors.Is(o.otherErr, fault.ErrNotFound) || errors.Is(o.removeErr, fault.ErrNotFound) && o.otherErr == nil
			},
		},
		"it is updated": {
			other: func(ctx context.Context, store plan.Store, companyID, boardID string) error {
				_, err := store.Boards.Modify(ctx, companyID, boardID, func(b *plan.Board) error { name := "New"; b.Name = &name; return nil })
				return err
			},
			allowed: func(o outcome) bool {
				return wasRemoved(o) && (o.otherErr == nil || errors.Is(o.otherErr, fault.ErrNotFound))
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := apitest.New(t, plan.Operations)
			store := plan.NewStore(s.Table)
			for round := range rounds {
				boardID := fmt.Sprintf("brd_%d", round)
				if race.prepare != nil {
					race.prepare(t, s, boardID)
				} else {
					importRecords(t, s, "board", fmt.Sprintf(`{"id":%q}`, boardID))
				}
				// Either the delete or the other operation starts first. The second one starts just
				// before the first one's n-th table call.
				var o outcome
				remove := func(store plan.Store) {
					o.removeErr = store.Boards.Remove(t.Context(), s.CompanyID, boardID, acceptAnyBoard)
				}
				other := func(store plan.Store) { o.otherErr = race.other(t.Context(), store, s.CompanyID, boardID) }
				first, second := remove, other
				if round%2 == 1 {
					first, second = other, remove
				}
				startSecond := make(chan struct{})
				transport := apitest.NewBeforeCall(int64(1+round/2%callsMax), func() { close(startSecond) })
				firstStore := plan.NewStore(apitest.NewWithTransport(t, plan.Operations, transport).Table)
				var wait sync.WaitGroup
				wait.Go(func() {
					first(firstStore)
					if !transport.Reached() {
						close(startSecond)
					}
				})
				wait.Go(func() { <-startSecond; second(store) })
				wait.Wait()
				kept := remainingRecords(t, s, boardID)
				intact := isFault(o.removeErr, fault.Conflict)
				if !race.allowed(o) || intact != (len(kept) > 0) {
					t.Fatalf("round %d: the delete: %v, the other: %v, left: %q", round, o.removeErr, o.otherErr, kept)
				}
				if intact { // the board was not deleted, so it can still be published
					if _, err := store.Publish(t.Context(), s.CompanyID, boardID, acceptAnyDigest); err != nil {
						t.Fatal(err)
					}
				}
			}
		})
	}
}

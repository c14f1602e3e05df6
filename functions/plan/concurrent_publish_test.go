package plan_test

import (
	"testing"
	"time"

	"growthworkspace/functions/plan"
	"growthworkspace/shared/table"
	"growthworkspace/shared/testkit/apitest"
	"growthworkspace/shared/timestamp"
)

// Ensure a board's live items match its live version even if, just before any table call of a
// publish, another caller edits and publishes the board. Each change to the content must add one
// version.
func TestPublishLosesRace(t *testing.T) {
	t.Parallel()
	apitest.SkipIfShort(t)
	for at, reached := int64(1), true; reached; at++ {
		s, key := start(t)
		keptID := createItem(t, s, key, map[string]any{"title": "Stays", "status": "published"})["id"]
		removedID := createItem(t, s, key, map[string]any{"title": "Goes", "status": "published"})["id"]
		addedID := createItem(t, s, key, map[string]any{"title": "Comes"})["id"]
		always := func(string) error { return nil }

		transport := apitest.NewBeforeCall(at, func() {
			s.Clock.Advance(time.Minute) // so that the slow publish's lease has expired
			callOperation(t, s, key, "update_plan_item", map[string]any{"itemId": removedID, "status": "archived"})
			callOperation(t, s, key, "update_plan_item", map[string]any{"itemId": addedID, "status": "published"})
			if _, err := plan.NewStore(s.Table).Publish(t.Context(), s.CompanyID, "brd_1", always); err != nil {
				t.Error(err)
			}
		})
		slow := apitest.NewWithTransport(t, plan.Operations, transport)
		if _, err := plan.NewStore(slow.Table).Publish(t.Context(), s.CompanyID, "brd_1", always); err != nil {
			t.Errorf("before call %d: %v", at, err)
		}
		reached = transport.Reached()
		if !reached {
			return
		}
		boardVersion := callOperation(t, s, key, "get_plan_board", map[string]any{"boardId": "brd_1"})["publishedVersion"]
		if boardVersion != 1.0 && boardVersion != 2.0 {
			t.Errorf("before call %d: version %v after at most two changes", at, boardVersion)
		}
		for id, wantLive := range map[any]bool{keptID: true, removedID: false, addedID: true} {
			if got := callOperation(t, s, key, "get_plan_item", map[string]any{"itemId": id})["publishedVersion"]; (got == boardVersion) != wantLive {
				t.Errorf("before call %d: %v shows version %v on version %v of the board, want live %v", at, id, got, boardVersion, wantLive)
			}
		}
		if p := callOperation(t, s, key, "preview_plan_publish", map[string]any{"boardId": "brd_1"}); p["hasChanges"] != false {
			t.Errorf("before call %d: changes are left: %v", at, p)
		}
	}
}

// Ensure a board's updatedAt never moves backwards if a writer whose clock is ahead edits the board
// just before any table call of a publish. The time of the publish must then be one millisecond
// after that of the edit.
func TestPublishAfterEditFromFasterClock(t *testing.T) {
	t.Parallel()
	for at, reached := int64(1), true; reached; at++ {
		s, key := start(t)
		createItem(t, s, key, map[string]any{"title": "New", "status": "published"})
		later := timestamp.Format(s.Clock.Now().Add(20 * time.Second))
		transport := apitest.NewBeforeCall(at, func() {
			board := table.Key{PK: table.Partition(s.CompanyID, "plan"), SK: "board#brd_1"}
			if err := s.Table.Transact(t.Context(), s.Table.WriteUpdate(board, "SET updatedAt = :at ADD rev :one", "", nil,
				table.Item{":at": table.String(later), ":one": table.Number(1)})); err != nil {
				t.Error(err)
			}
		})
		slow := apitest.NewWithTransport(t, plan.Operations, transport)
		done, err := plan.NewStore(slow.Table).Publish(t.Context(), s.CompanyID, "brd_1", func(string) error { return nil })
		if reached = transport.Reached(); !reached {
			return
		}
		got := callOperation(t, s, key, "get_plan_board", map[string]any{"boardId": "brd_1"})
		if err != nil || got["updatedAt"].(string) < later || got["publishedAt"] != done.PublishedAt {
			t.Errorf("before call %d: %v, updatedAt %v, publishedAt %v, want %s or later", at, err, got["updatedAt"], got["publishedAt"], later)
		}
	}
}

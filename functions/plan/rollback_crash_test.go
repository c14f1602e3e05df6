package plan_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"growthworkspace/functions/plan"
	"growthworkspace/shared/testkit/apitest"
)

// publishTwoVersions returns a service whose company has a board that shows one item in version 1
// and a different one in version 2.
func publishTwoVersions(t *testing.T) (s *apitest.Service, key string, first, second any) {
	t.Helper()
	s, key = start(t)
	first = createItem(t, s, key, map[string]any{"title": "First", "status": "published"})["id"]
	callOperation(t, s, key, "publish_plan_board", map[string]any{"boardId": "brd_1"})
	callOperation(t, s, key, "update_plan_item", map[string]any{"itemId": first, "status": "draft"})
	second = createItem(t, s, key, map[string]any{"title": "Second", "status": "published"})["id"]
	callOperation(t, s, key, "publish_plan_board", map[string]any{"boardId": "brd_1"})
	return s, key, first, second
}

// Ensure a rollback that crashes after any of its table calls leaves either the old or the new
// state, and that the snapshot, the versions, the board and the items agree on it. The next publish
// and rollback must succeed.
func TestRollbackCrashes(t *testing.T) {
	t.Parallel()
	apitest.SkipIfShort(t)
	for calls, finished := 0, false; !finished; calls++ {
		if calls > 40 {
			t.Fatal("the rollback did not finish within 40 calls")
		}
		s, key, first, second := publishTwoVersions(t)
		transport := &apitest.CrashingTransport{}
		transport.CrashAfter(calls, false)
		_, err := plan.NewStore(apitest.NewWithTransport(t, plan.Operations, transport).Table).Rollback(t.Context(), s.CompanyID, "brd_1", 1, acceptAnyBoard)
		s.Clock.Advance(time.Minute) // so that the crashed rollback's lease has expired

		state := func() string {
			return fmt.Sprint(versionTitles(t, s, 0), " of ", len(allVersions(t, s, "brd_1")), " on ", callOperation(t, s, key, "get_plan_board", map[string]any{"boardId": "brd_1"})["publishedVersion"],
				": ", callOperation(t, s, key, "get_plan_item", map[string]any{"itemId": first})["publishedVersion"],
				" ", callOperation(t, s, key, "get_plan_item", map[string]any{"itemId": second})["publishedVersion"])
		}
		got := state()
		done := got == "[First] of 3 on 3: 3 2"
		if !done && got != "[Second] of 2 on 2: 1 2" || err == nil && !done {
			t.Errorf("died after %d calls (%v): %s", calls, err, got)
		}
		finished = err == nil

		// The live state that the crashed rollback prepared must have no effect on a later publish
		// or rollback.
		callOperation(t, s, key, "publish_plan_board", map[string]any{"boardId": "brd_1"})
		want := "[Second] of 2 on 2: 1 2"
		if done {
			want = "[Second] of 4 on 4: 3 4"
		}
		if got := state(); got != want {
			t.Errorf("after %d calls, published: %s, want %s", calls, got, want)
		}
		if _, err := plan.NewStore(s.Table).Rollback(t.Context(), s.CompanyID, "brd_1", 1, acceptAnyBoard); err != nil {
			t.Error(err)
		}
		want = "[First] of 3 on 3: 3 2"
		if done {
			want = "[First] of 5 on 5: 5 4"
		}
		if got := state(); got != want {
			t.Errorf("after %d calls, rolled back: %s, want %s", calls, got, want)
		}
	}
}

// Ensure a board's live items match its live version even if, just before any table call of a
// rollback, another caller edits and publishes the board. Each change to the content must add one
// version.
func TestRollbackLosesRace(t *testing.T) {
	t.Parallel()
	apitest.SkipIfShort(t)
	for at, reached := int64(1), true; reached; at++ {
		s, key, first, second := publishTwoVersions(t)
		third := createItem(t, s, key, map[string]any{"title": "Third"})["id"]
		transport := apitest.NewBeforeCall(at, func() {
			s.Clock.Advance(time.Minute) // so that the slow rollback's lease has expired
			callOperation(t, s, key, "update_plan_item", map[string]any{"itemId": third, "status": "published"})
			if _, err := plan.NewStore(s.Table).Publish(t.Context(), s.CompanyID, "brd_1", acceptAnyDigest); err != nil {
				t.Error(err)
			}
		})
		slow := plan.NewStore(apitest.NewWithTransport(t, plan.Operations, transport).Table)
		if _, err := slow.Rollback(t.Context(), s.CompanyID, "brd_1", 1, acceptAnyBoard); err != nil {
			t.Errorf("before call %d: %v", at, err)
		}
		if reached = transport.Reached(); !reached {
			return
		}
		boardVersion := callOperation(t, s, key, "get_plan_board", map[string]any{"boardId": "brd_1"})["publishedVersion"]
		shown := versionTitles(t, s, 0)
		if boardVersion != 4.0 || !slices.Equal(shown, []string{"First"}) { // the publish is version 3, and the rollback is version 4
			t.Errorf("before call %d: version %v shows %v", at, boardVersion, shown)
		}
		for title, id := range map[string]any{"First": first, "Second": second, "Third": third} {
			got := callOperation(t, s, key, "get_plan_item", map[string]any{"itemId": id})["publishedVersion"]
			if (got == boardVersion) != slices.Contains(shown, title) {
				t.Errorf("before call %d: %s shows version %v on version %v of the board, whose items are %v", at, title, got, boardVersion, shown)
			}
		}
		if versions := allVersions(t, s, "brd_1"); len(versions) != 4 || !versions[0].Live {
			t.Errorf("before call %d: %+v", at, versions)
		}
	}
}

package broadcast_test

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"growthworkspace/functions/broadcast"
	"growthworkspace/shared/testkit/apitest"
)

// recordKinds lists the kinds of records that the API writes, each with the values of a new record
// and an update that moves its index entries.
var recordKinds = []struct {
	noun, list, argument string
	create, update       record
}{
	{"broadcast_plan", "list_broadcast_plans", "planId", record{"name": "N"}, record{"name": "Late", "status": "active"}},
	{"broadcast_idea", "list_broadcast_ideas", "ideaId", record{"title": "T", "planId": "pln_1"}, record{"planId": "pln_2", "status": "accepted"}},
	{"broadcast_post", "list_broadcast_posts", "postId", record{"platform": "x", "body": "B"}, record{"status": "scheduled", "scheduledFor": laterTime}},
}

// mergeArguments returns the fields of a and b. If both have a field, the value of b wins.
func mergeArguments(a, b record) record {
	out := maps.Clone(a)
	maps.Copy(out, b)
	return out
}

// idsInAllLists calls a list operation without a filter, and then with each filter whose result an
// update can change. It returns the ids from each call. The ids from the first call are followed by
// the records' statuses.
func idsInAllLists(t *testing.T, s *apitest.Service, key, list string) (lists [][]string) {
	t.Helper()
	filters := []record{{}}
	switch list {
	case "list_broadcast_ideas":
		filters = append(filters, record{"planId": "pln_1"}, record{"planId": "pln_2"}, record{"status": "suggested"}, record{"status": "accepted"})
	case "list_broadcast_posts":
		filters = append(filters, record{"status": "draft"}, record{"status": "scheduled"}, record{"platform": "x", "from": laterTime[:10], "to": laterTime[:10]})
	}
	for i, f := range filters {
		items := s.Call(t, key, list, f).Items(t)
		lists = append(lists, idsOf(items))
		for n, item := range items {
			if i == 0 {
				lists[0][n] += fmt.Sprint(" ", item["status"])
			}
		}
	}
	return lists
}

// Ensure that of two deletes and an update that run concurrently, exactly one delete succeeds.
// Afterwards no list may contain the record.
func TestWriteRaces(t *testing.T) {
	t.Parallel()
	rounds := 100
	if testing.Short() {
		rounds = 5
	}
	for _, n := range recordKinds {
		t.Run(n.noun, func(t *testing.T) {
			t.Parallel()
			s := start(t)
			key := s.IssueKey(t)
			outcomes := map[string]int{}
			for round := range rounds {
				s.Clock.Advance(time.Minute) // so that no quota is exceeded
				id := s.Call(t, key, "create_"+n.noun, n.create).JSON(t)["id"].(string)
				idArguments := record{n.argument: id}
				ops := []string{"update_" + n.noun, "delete_" + n.noun, "delete_" + n.noun}
				var statuses [3]int
				var wg sync.WaitGroup
				for i, op := range ops {
					wg.Go(func() {
						args := idArguments
						if i == 0 {
							args = mergeArguments(idArguments, n.update)
						}
						statuses[i] = s.Call(t, key, op, args).Status
					})
				}
				wg.Wait()
				if statuses[0] != 200 && statuses[0] != 404 || statuses[1]+statuses[2] != 200+404 {
					t.Errorf("round %d: %v", round, statuses)
				}
				outcomes[fmt.Sprint(statuses)]++
			}
			if lists := idsInAllLists(t, s, key, n.list); slices.ContainsFunc(lists, func(ids []string) bool { return len(ids) > 0 }) {
				t.Errorf("left in the lists: %v", lists)
			}
			t.Logf("%d rounds: %v", rounds, outcomes)
		})
	}
}

// Ensure an update whose process crashes at any table call leaves either the old or the new state in
// every list, and that repeating it leads to the new state. TestIdempotencyKeyThroughCrashes and
// TestDeletesThroughCrashes of package functions cover creates and deletes.
func TestUpdatesThroughCrashes(t *testing.T) {
	t.Parallel()
	apitest.SkipIfShort(t)
	for _, n := range recordKinds {
		t.Run(n.noun, func(t *testing.T) {
			t.Parallel()
			transport := &apitest.CrashingTransport{}
			for calls, died := 0, true; died; calls++ {
				died = false
				for _, duringCall := range []bool{false, true} {
					s := apitest.NewWithTransport(t, broadcast.Operations, transport)
					key := s.IssueKey(t)
					id := s.Call(t, key, "create_"+n.noun, n.create).JSON(t)["id"]
					args := mergeArguments(n.update, record{n.argument: id})
					before := idsInAllLists(t, s, key, n.list)
					transport.CrashAfter(calls, duringCall)
					first := s.Call(t, key, "update_"+n.noun, args)
					died = died || transport.Crashed()
					transport.StopCrashing()
					left := idsInAllLists(t, s, key, n.list)
					again := s.Call(t, key, "update_"+n.noun, args)
					after := idsInAllLists(t, s, key, n.list)
					unchanged, applied := fmt.Sprint(left) == fmt.Sprint(before), fmt.Sprint(left) == fmt.Sprint(after)
					if !unchanged && !applied || first.Status == 200 && !applied {
						t.Errorf("death after %d calls, during %t: %d; the lists were %v, then %v, and after the next call %v",
							calls, duringCall, first.Status, before, left, after)
					}
					if again.Status != 200 || fmt.Sprint(after) == fmt.Sprint(before) {
						t.Errorf("death after %d calls, during %t: again: %d %s; %v",
							calls, duringCall, again.Status, again.Body, after)
					}
				}
				if !died && calls < 2 {
					t.Errorf("the update makes %d calls", calls)
				}
			}
		})
	}
}

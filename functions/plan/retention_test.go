package plan_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"growthworkspace/functions/plan"
	"growthworkspace/shared/fault"
	"growthworkspace/shared/table"
	"growthworkspace/shared/testkit/apitest"
	"growthworkspace/shared/transfer"
)

// startWithVersions returns a service whose company has a board with the given live version, a
// record and chunks for each earlier version, and an unpublished edit.
func startWithVersions(t *testing.T, live int) (s *apitest.Service, key string) {
	t.Helper()
	s, key = start(t)
	importWithoutChecks(t, s, "board", fmt.Sprintf(`{"id":"brd_1","name":"B","publishedVersion":%d,"publishedAt":"2026-08-01T00:00:00Z","snapshot":[]}`, live))
	empty, err := table.Compress([]byte("[]"))
	if err != nil {
		t.Fatal(err)
	}
	type version struct {
		Version        float64 `store:"version"`
		PublishedAt    string  `store:"publishedAt"`
		ItemCount      float64 `store:"itemCount"`
		SnapshotID     string  `store:"snapshotId"`
		SnapshotChunks float64 `store:"snapshotChunks"`
	}
	var records []table.Item
	add := func(sk string, record any) {
		records = append(records, s.Table.NewItem(table.Keys{Key: table.Key{PK: table.Partition(s.CompanyID, "plan"), SK: sk}}, record))
	}
	for n := 1; n < live; n++ {
		id := fmt.Sprintf("snp_%d", n)
		add(fmt.Sprintf("version#brd_1#%010d", n), version{float64(n), "2026-07-01T00:00:00.000Z", 0, id, 2})
		for part := range 2 {
			add(fmt.Sprintf("snapshot#brd_1#%010d#%s#%05d", n, id, part), struct {
				Items []byte `store:"items"`
			}{empty})
		}
	}
	if err := s.Table.BatchPut(t.Context(), records); err != nil {
		t.Fatal(err)
	}
	editBoard(t, s, key)
	return s, key
}

// editBoard makes an edit that the next publish will make visible.
func editBoard(t *testing.T, s *apitest.Service, key string) {
	t.Helper()
	createItem(t, s, key, map[string]any{"title": "New", "status": "published"})
}

// publishBoard publishes the board and returns the new version. A fake clock measures the time
// limit for removing old versions.
func publishBoard(t *testing.T, s *apitest.Service, key string) (version float64) {
	t.Helper()
	counter := &apitest.RoundTripCounter{}
	service := apitest.NewWithTransport(t, plan.Operations, counter)
	service.CompanyID = s.CompanyID
	service.Clock.Advance(s.Clock.Now().Sub(service.Clock.Now()))
	counter.Count(t, func(t *testing.T) {
		version = callOperation(t, service, key, "publish_plan_board", map[string]any{"boardId": "brd_1"})["publishedVersion"].(float64)
	})
	return version
}

// storedVersions returns the versions that have a record, and those that have chunks, both in
// order.
func storedVersions(t *testing.T, s *apitest.Service) (versions, chunks []int) {
	t.Helper()
	for prefix, list := range map[string]*[]int{"version#brd_1#": &versions, "snapshot#brd_1#": &chunks} {
		err := table.ForEach(t.Context(), s.Table, table.Collection{Partition: table.Partition(s.CompanyID, "plan"), Prefix: prefix}, func(r struct {
			SK string `store:"sk"`
		}) error {
			var n int
			_, err := fmt.Sscanf(r.SK[len(prefix):], "%010d", &n)
			*list = append(*list, n)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
	return versions, chunks
}

func intsBetween(first, last int) (out []int) {
	for n := first; n <= last; n++ {
		out = append(out, n)
	}
	return out
}

// Ensure a publish removes versions that are more than 50 versions older than the live one, oldest
// first and at most 20 at a time. Reading a removed version must return not_found.
func TestRetention(t *testing.T) {
	t.Parallel()
	s, key := startWithVersions(t, 80)
	store := plan.NewStore(s.Table)
	for _, want := range [][]int{intsBetween(21, 81), intsBetween(32, 82), intsBetween(33, 83)} {
		publishBoard(t, s, key)
		if versions, chunks := storedVersions(t, s); !slices.Equal(versions, want) || !slices.Equal(chunks, want) {
			t.Errorf("versions %v, chunks %v, want %v", versions, chunks, want)
		}
		editBoard(t, s, key)
	}
	_, err := store.Rollback(t.Context(), s.CompanyID, "brd_1", 32, acceptAnyBoard)
	if err == nil || !strings.Contains(err.Error(), "no version 32; the oldest that is kept is version 33") {
		t.Errorf("a rollback to a version that is gone: error %v, want that version 33 is the oldest", err)
	}
	units := func(limit int) table.Usage {
		ctx, m := apitest.NewRequest(t)
		page, err := store.Versions(ctx, s.CompanyID, "brd_1", "", limit)
		if err != nil || len(page.Records) != limit || page.Records[0].Version != 83 {
			t.Errorf("%d versions, want %d from version 83 on: %v", len(page.Records), limit, err)
		}
		return m.Usage()
	}
	if one, all := units(1), units(51); one != all || all.Read == 0 || all.Read > 5 || all.Write != 0 {
		t.Errorf("units %+v and %+v, want the same, at most 5 read and none written", one, all)
	}
	if done, err := store.Rollback(t.Context(), s.CompanyID, "brd_1", 33, acceptAnyBoard); err != nil || done.PublishedVersion != 84 {
		t.Errorf("a rollback to the oldest version: %+v %v", done, err)
	}
}

// Ensure that if all table calls of a publish fail from some point on, the publish either has
// changed nothing that visitors see, or returns success. Every listed version must be readable, and
// later publishes must remove everything that the crash left.
func TestRetentionCrashes(t *testing.T) {
	t.Parallel()
	apitest.SkipIfShort(t)
	for calls, finished := 6, false; !finished; calls++ { // TestPublishCrashes covers the earlier calls
		if calls > 40 {
			t.Fatal("the publish did not finish within 40 calls")
		}
		s, key := startWithVersions(t, 54)
		transport := &apitest.CrashingTransport{}
		transport.CrashAfter(calls, false)
		_, err := plan.NewStore(apitest.NewWithTransport(t, plan.Operations, transport).Table).Publish(t.Context(), s.CompanyID, "brd_1", acceptAnyDigest)
		s.Clock.Advance(time.Minute) // so that the crashed publish's lease has expired
		live := callOperation(t, s, key, "get_plan_board", map[string]any{"boardId": "brd_1"})["publishedVersion"].(float64)
		if (live == 55) != (err == nil) {
			t.Errorf("died after %d calls: version %v, %v", calls, live, err)
		}
		for _, v := range allVersions(t, s, "brd_1") {
			if _, err := plan.NewStore(s.Table).Snapshot(t.Context(), s.CompanyID, "brd_1", &v.Version); err != nil {
				t.Errorf("died after %d calls: version %v: %v", calls, v.Version, err)
			}
		}
		for last := 0.0; last < 57; {
			last = publishBoard(t, s, key)
			editBoard(t, s, key)
		}
		kept, chunks := storedVersions(t, s)
		if want := intsBetween(7, 57); !slices.Equal(kept, want) || !slices.Equal(chunks, want) {
			t.Errorf("died after %d calls: versions %v, chunks %v", calls, kept, chunks)
		}
		finished = !transport.Crashed()
	}
}

// Ensure that if a version is removed just before any table call of a rollback to it or of a read
// of it, that operation either succeeds or returns not_found.
func TestVersionIsRemovedConcurrently(t *testing.T) {
	t.Parallel()
	apitest.SkipIfShort(t)
	for name, use := range map[string]func(plan.Store, *apitest.Service) error{
		"rollback": func(store plan.Store, s *apitest.Service) error {
			_, err := store.Rollback(t.Context(), s.CompanyID, "brd_1", 1, acceptAnyBoard)
			return err
		},
		"read": func(store plan.Store, s *apitest.Service) error {
			one := int64(1)
			_, err := store.Snapshot(t.Context(), s.CompanyID, "brd_1", &one)
			return err
		},
	} {
		for at, reached := int64(1), true; reached; at++ {
			s, _, _, _ := publishTwoVersions(t)
			transport := apitest.NewBeforeCall(at, func() {
				removeVersion(t, s, 1)
			})
			err := use(plan.NewStore(apitest.NewWithTransport(t, plan.Operations, transport).Table), s)
			var refused *fault.Error
			if err != nil && (!errors.As(err, &refused) || refused.Code != fault.NotFound) {
				t.Errorf("%s, before call %d: %v", name, at, err)
			}
			reached = transport.Reached()
		}
	}
}

// removeVersion removes a version of the board as a publish does.
func removeVersion(t *testing.T, s *apitest.Service, version int) {
	t.Helper()
	partition := table.Partition(s.CompanyID, "plan")
	keys := []table.Key{{PK: partition, SK: fmt.Sprintf("version#brd_1#%010d", version)}}
	err := table.ForEach(t.Context(), s.Table, table.Collection{Partition: partition, Prefix: fmt.Sprintf("snapshot#brd_1#%010d#", version)}, func(r struct {
		SK string `store:"sk"`
	}) error {
		keys = append(keys, table.Key{PK: partition, SK: r.SK})
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	if err := s.Table.BatchDelete(t.Context(), keys); err != nil {
		t.Error(err)
	}
}

// Ensure that version 1 is removed by the publish of version 52, and not earlier.
func TestRetentionOfFirstVersion(t *testing.T) {
	t.Parallel()
	s, key := startWithVersions(t, 50)
	for _, want := range [][]int{intsBetween(1, 51), intsBetween(2, 52)} {
		callOperation(t, s, key, "publish_plan_board", map[string]any{"boardId": "brd_1"})
		if versions, chunks := storedVersions(t, s); !slices.Equal(versions, want) || !slices.Equal(chunks, want) {
			t.Errorf("versions %v, chunks %v, want %v", versions, chunks, want)
		}
		editBoard(t, s, key)
	}
}

// Ensure items created one after another with the same title are numbered without gaps.
func TestSlugsWithoutGaps(t *testing.T) {
	t.Parallel()
	s, key := start(t)
	importWithoutChecks(t, s, "board", `{"id":"brd_1","name":"B"}`)
	for n := 1; n <= 12; n++ {
		want := "new"
		if n > 1 {
			want = fmt.Sprintf("new-%d", n)
		}
		if got := createItem(t, s, key, map[string]any{"title": "New"}); got["slug"] != want {
			t.Errorf("item %d has the slug %v, want %s", n, got["slug"], want)
		}
	}
}

// Ensure an import with --new-only also imports the live version of a board.
func TestNewOnlyImportsVersion(t *testing.T) {
	t.Parallel()
	s, _ := start(t)
	kind, records := checkImport(t, s, "board", `{"id":"brd_2","name":"B","publishedVersion":7,"publishedAt":"2026-08-01T00:00:00Z","snapshot":[]}`)
	if skipped, err := kind.Add(t.Context(), s.CompanyID, records); err != nil || skipped != 0 {
		t.Fatalf("%d skipped, want none: %v", skipped, err)
	}
	if versions := allVersions(t, s, "brd_2"); len(versions) != 1 || versions[0].Version != 7 {
		t.Errorf("versions %+v, want version 7 only", versions)
	}
	if skipped, err := kind.Add(t.Context(), s.CompanyID, records); err != nil || skipped != 1 {
		t.Errorf("%d skipped, %v", skipped, err)
	}
}

// Ensure two items in a file share a transfer.UniqueText if and only if they have the same id, or
// the same slug on the same board.
func TestUniqueTextsOfItems(t *testing.T) {
	t.Parallel()
	s, _ := start(t)
	kind, items := checkImport(t, s, "item", `{"id":"itm_1","roadmapId":"brd_1","slug":"a","title":"A"}`, `{"id":"itm_2","roadmapId":"brd_1","slug":"a","title":"A"}`,
		`{"id":"itm_3","roadmapId":"brd_2","slug":"a","title":"A"}`, `{"id":"itm_4","roadmapId":"brd_1","slug":"b","title":"A"}`, `{"id":"itm_4","roadmapId":"brd_2","slug":"c","title":"A"}`)
	shares := func(a, b any) bool {
		return slices.ContainsFunc(kind.Entry(a).Unique, func(c transfer.UniqueText) bool {
			return slices.ContainsFunc(kind.Entry(b).Unique, func(d transfer.UniqueText) bool { return c.Text == d.Text })
		})
	}
	for i := range items {
		for j := range i {
			if want := i == 1 && j == 0 || i == 4 && j == 3; shares(items[i], items[j]) != want {
				t.Errorf("%+v and %+v: want %v", items[j], items[i], want)
			}
		}
	}
}

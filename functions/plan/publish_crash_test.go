package plan_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"testing"
	"time"

	"growthworkspace/functions/plan"
	"growthworkspace/shared/testkit/apitest"
	"growthworkspace/shared/transfer"
)

// crashBoard is the only board of a company. It knows its live content, and its content after the
// next publish.
type crashBoard struct {
	*apitest.Service
	key        string
	items      []crashBoardItem
	generation int               // counts the edits
	version    int               // the live one, 0 before the first publish
	shown      map[string]string // the live content: the titles by the items' ids
	next       map[string]string // the content after the next publish
	last       map[string]int    // the version in which each item was last live
}

type crashBoardItem struct {
	ID               string `json:"id"`
	RoadmapID        string `json:"roadmapId"`
	Slug             string `json:"slug"`
	Title            string `json:"title"`
	Status           string `json:"status"`
	PublishedVersion *int   `json:"publishedVersion"`
}

// newCrashBoard returns a board of some items that was never published.
func newCrashBoard(t *testing.T, size int) *crashBoard {
	t.Helper()
	b := &crashBoard{shown: map[string]string{}, next: map[string]string{}, last: map[string]int{}}
	b.Service, b.key = start(t)
	for n := range size {
		b.items = append(b.items, crashBoardItem{ID: fmt.Sprintf("itm_%d", n), RoadmapID: "brd_1", Slug: fmt.Sprintf("s-%d", n)})
	}
	return b
}

// edit changes titles and statuses, so that items appear, disappear and change with the next
// publish: all items of a small board, and every fourth of a large one after the first time.
func (b *crashBoard) edit(t *testing.T) {
	t.Helper()
	b.generation++
	b.next = map[string]string{}
	var records []string
	for n := range b.items {
		i := &b.items[n]
		some := len(b.items) > 200 && b.generation > 1
		if !some || n%4 == b.generation%4 {
			i.Title, i.Status, i.PublishedVersion = fmt.Sprintf("Item %d of generation %d", n, b.generation), "draft", nil
			if !some && (b.generation%2 == 1 || n%2 == 1) || some && (n/4+b.generation/4)%2 == 0 {
				i.Status = "published"
			}
			if last, was := b.last[i.ID]; was {
				i.PublishedVersion = &last
			}
			text, err := json.Marshal(i)
			if err != nil {
				t.Fatal(err)
			}
			records = append(records, string(text))
		}
		if i.Status == "published" {
			b.next[i.ID] = i.Title
		}
	}
	if len(records) > 0 {
		importUnchecked(t, b.Service, "item", records...)
	}
}

// checkLiveContent reads the live content and reports whether it is the next one. It must be that
// or the previous content, and every item must show the version in which it was last live.
func (b *crashBoard) checkLiveContent(t *testing.T, where string) (published bool) {
	t.Helper()
	var board struct {
		PublishedVersion int
		Snapshot         []struct{ ID, Title string }
	}
	decode(t, export(t, b.Service, kindOf(t, b, "board"))[0], &board)
	content := map[string]string{}
	for _, i := range board.Snapshot {
		content[i.ID] = i.Title
	}
	switch {
	case board.PublishedVersion == b.version+1 && maps.Equal(content, b.next):
		b.version, b.shown, published = b.version+1, b.next, true
	case board.PublishedVersion != b.version || !maps.Equal(content, b.shown):
		t.Fatalf("%s: version %d shows %d items, neither the %d of version %d nor the %d of the next",
			where, board.PublishedVersion, len(content), len(b.shown), b.version, len(b.next))
	}
	for id := range b.shown {
		b.last[id] = b.version
	}
	lines := export(t, b.Service, kindOf(t, b, "item"))
	for _, line := range lines {
		var i crashBoardItem
		if decode(t, line, &i); i.PublishedVersion == nil {
			i.PublishedVersion = new(int)
		}
		if *i.PublishedVersion != b.last[i.ID] {
			t.Errorf("%s: item %s has version %d and was last live in %d", where, i.ID, *i.PublishedVersion, b.last[i.ID])
		}
	}
	if len(lines) != len(b.items) {
		t.Errorf("%s: %d items of %d are left", where, len(lines), len(b.items))
	}
	return published
}

func kindOf(t *testing.T, b *crashBoard, name string) transfer.Type {
	t.Helper()
	kind, _ := checkImport(t, b.Service, name)
	return kind
}

func decode(t *testing.T, line string, into any) {
	t.Helper()
	if err := json.Unmarshal([]byte(line), into); err != nil {
		t.Fatal(err)
	}
}

// publish publishes in a process that does not crash. It must succeed in any state that an earlier
// crash left.
func (b *crashBoard) publish(t *testing.T, where string) {
	t.Helper()
	if r := b.Call(t, b.key, "publish_plan_board", map[string]any{"boardId": "brd_1"}); r.Status != http.StatusOK {
		t.Fatalf("%s: the next publish: %d %s", where, r.Status, r.Body)
	}
	if !b.checkLiveContent(t, where) {
		t.Errorf("%s: an acknowledged publish is lost", where)
	}
}

// Ensure a publish of 0, 30 or 1,000 items whose process crashes after or during any call to the
// table leaves the old content or the new one, and that the next publish in another process
// completes it.
func TestPublishOfAnySizeCrashes(t *testing.T) {
	t.Parallel()
	apitest.SkipIfShort(t)
	for _, size := range []int{0, 30, 1000} {
		for _, during := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d items, during a call: %v", size, during), func(t *testing.T) {
				t.Parallel()
				b, deaths := newCrashBoard(t, size), map[bool]int{} // by whether the new content was live
				if size > 0 {
					b.edit(t)
					b.publish(t, "before any death")
				}
				for calls, died := 0, true; died; calls++ {
					if calls > 100 {
						t.Fatal("the calls to the table have no end")
					}
					if size == 0 { // the first publish is all that can change
						b = newCrashBoard(t, size)
					}
					b.edit(t)
					var published bool
					died, published = b.publishInCrashingProcess(t, calls, during)
					if died {
						deaths[published]++
					}
				}
				if deaths[false] < 5 {
					t.Errorf("%d deaths left the old content, want at least 5; %d left the new", deaths[false], deaths[true])
				}
			})
		}
	}
}

// publishInCrashingProcess publishes in a process that crashes. If the old content is then still
// live, it publishes again in a process that does not.
func (b *crashBoard) publishInCrashingProcess(t *testing.T, calls int, during bool) (died, published bool) {
	t.Helper()
	m := &apitest.CrashingTransport{}
	dying := apitest.NewOver(t, plan.Operations, m)
	dying.CompanyID = b.CompanyID
	b.Clock.Advance(time.Minute) // no rate limit is reached
	dying.Clock.Advance(b.Clock.Now().Sub(dying.Clock.Now()))
	m.CrashAfter(calls, during)
	r := dying.Call(t, b.key, "publish_plan_board", map[string]any{"boardId": "brd_1"})
	where := fmt.Sprintf("death after %d calls: %d %s", calls, r.Status, r.Body)
	if r.Status != http.StatusOK && r.Status < http.StatusInternalServerError {
		t.Errorf("%s: the status is that of a refused request", where)
	}
	if published = b.checkLiveContent(t, where); r.Status == http.StatusOK && !published {
		t.Errorf("%s: an acknowledged publish is lost", where)
	}
	if !published {
		b.Clock.Advance(time.Minute) // so that the lease of the crashed publish has expired
		b.publish(t, where)
	}
	return m.Crashed(), published
}

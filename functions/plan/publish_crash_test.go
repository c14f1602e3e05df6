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

// crashBoard is a company's only board. The fields hold its live content and the content that the
// next publish will make live.
type crashBoard struct {
	*apitest.Service
	key             string
	items           []crashBoardItem
	generation      int               // increments with each edit
	liveVersion     int               // the live version; 0 before the first publish
	liveTitles      map[string]string // the live content: titles by item id
	nextTitles      map[string]string // the content after the next publish
	lastLiveVersion map[string]int    // the version in which each item was last live
}

type crashBoardItem struct {
	ID               string `json:"id"`
	RoadmapID        string `json:"roadmapId"`
	Slug             string `json:"slug"`
	Title            string `json:"title"`
	Status           string `json:"status"`
	PublishedVersion *int   `json:"publishedVersion"`
}

// newCrashBoard returns a board that has the given number of items and was never published.
func newCrashBoard(t *testing.T, size int) *crashBoard {
	t.Helper()
	b := &crashBoard{liveTitles: map[string]string{}, nextTitles: map[string]string{}, lastLiveVersion: map[string]int{}}
	b.Service, b.key = start(t)
	for n := range size {
		b.items = append(b.items, crashBoardItem{ID: fmt.Sprintf("itm_%d", n), RoadmapID: "brd_1", Slug: fmt.Sprintf("s-%d", n)})
	}
	return b
}

// edit changes titles and statuses so that the next publish makes items appear, disappear and
// change. It changes all items of a small board. In a large board, the first edit changes all
// items, and each later edit changes one item in four.
func (b *crashBoard) edit(t *testing.T) {
	t.Helper()
	b.generation++
	b.nextTitles = map[string]string{}
	var records []string
	for n := range b.items {
		i := &b.items[n]
		partial := len(b.items) > 200 && b.generation > 1
		if !partial || n%4 == b.generation%4 {
			i.Title, i.Status, i.PublishedVersion = fmt.Sprintf("Item %d of generation %d", n, b.generation), "draft", nil
			if !partial && (b.generation%2 == 1 || n%2 == 1) || partial && (n/4+b.generation/4)%2 == 0 {
				i.Status = "published"
			}
			if last, wasLive := b.lastLiveVersion[i.ID]; wasLive {
				i.PublishedVersion = &last
			}
			text, err := json.Marshal(i)
			if err != nil {
				t.Fatal(err)
			}
			records = append(records, string(text))
		}
		if i.Status == "published" {
			b.nextTitles[i.ID] = i.Title
		}
	}
	if len(records) > 0 {
		importWithoutChecks(t, b.Service, "item", records...)
	}
}

// checkLiveContent reads the live content. It must be either the old content or the content of the
// next publish, and every item must show the version in which it was last live. checkLiveContent
// returns true if the content of the next publish is live.
func (b *crashBoard) checkLiveContent(t *testing.T, where string) (published bool) {
	t.Helper()
	var board struct {
		PublishedVersion int
		Snapshot         []struct{ ID, Title string }
	}
	decode(t, exportLines(t, b.Service, typeNamed(t, b, "board"))[0], &board)
	content := map[string]string{}
	for _, i := range board.Snapshot {
		content[i.ID] = i.Title
	}
	switch {
	case board.PublishedVersion == b.liveVersion+1 && maps.Equal(content, b.nextTitles):
		b.liveVersion, b.liveTitles, published = b.liveVersion+1, b.nextTitles, true
	case board.PublishedVersion != b.liveVersion || !maps.Equal(content, b.liveTitles):
		t.Fatalf("%s: version %d shows %d items, neither the %d of version %d nor the %d of the next",
			where, board.PublishedVersion, len(content), len(b.liveTitles), b.liveVersion, len(b.nextTitles))
	}
	for id := range b.liveTitles {
		b.lastLiveVersion[id] = b.liveVersion
	}
	lines := exportLines(t, b.Service, typeNamed(t, b, "item"))
	for _, line := range lines {
		var i crashBoardItem
		if decode(t, line, &i); i.PublishedVersion == nil {
			i.PublishedVersion = new(int)
		}
		if *i.PublishedVersion != b.lastLiveVersion[i.ID] {
			t.Errorf("%s: item %s has version %d and was last live in %d", where, i.ID, *i.PublishedVersion, b.lastLiveVersion[i.ID])
		}
	}
	if len(lines) != len(b.items) {
		t.Errorf("%s: %d items of %d are left", where, len(lines), len(b.items))
	}
	return published
}

func typeNamed(t *testing.T, b *crashBoard, name string) transfer.Type {
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

// publish publishes the board in a process that does not crash. It must succeed whatever state an
// earlier crash left.
func (b *crashBoard) publish(t *testing.T, where string) {
	t.Helper()
	if r := b.Call(t, b.key, "publish_plan_board", map[string]any{"boardId": "brd_1"}); r.Status != http.StatusOK {
		t.Fatalf("%s: the next publish: %d %s", where, r.Status, r.Body)
	}
	if !b.checkLiveContent(t, where) {
		t.Errorf("%s: an acknowledged publish is lost", where)
	}
}

// Ensure that if the process of a publish of 0, 30 or 1,000 items crashes during or after any table
// call, either the old or the new content is live. The next publish in another process must then
// make the new content live.
func TestPublishOfAnySizeCrashes(t *testing.T) {
	t.Parallel()
	apitest.SkipIfShort(t)
	for _, size := range []int{0, 30, 1000} {
		for _, during := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d items, during a call: %v", size, during), func(t *testing.T) {
				t.Parallel()
				b, deaths := newCrashBoard(t, size), map[bool]int{} // the number of crashes, by whether the new content was live
				if size > 0 {
					b.edit(t)
					b.publish(t, "before any death")
				}
				for calls, died := 0, true; died; calls++ {
					if calls > 100 {
						t.Fatal("the calls to the table have no end")
					}
					if size == 0 { // an empty board has no more changes after its first publish
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

// publishInCrashingProcess publishes in a process that crashes. If the old content is still live
// afterwards, it publishes again in a process that does not crash.
func (b *crashBoard) publishInCrashingProcess(t *testing.T, calls int, duringCall bool) (crashed, published bool) {
	t.Helper()
	m := &apitest.CrashingTransport{}
	crashing := apitest.NewWithTransport(t, plan.Operations, m)
	crashing.CompanyID = b.CompanyID
	b.Clock.Advance(time.Minute) // so that no rate limit is reached
	crashing.Clock.Advance(b.Clock.Now().Sub(crashing.Clock.Now()))
	m.CrashAfter(calls, duringCall)
	r := crashing.Call(t, b.key, "publish_plan_board", map[string]any{"boardId": "brd_1"})
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

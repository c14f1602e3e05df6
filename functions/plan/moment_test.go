package plan_test

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"growthworkspace/functions/plan"
	"growthworkspace/shared/apitest"
)

// between lets the read of an item go first, then runs a function once, and only then lets the read of the boards'
// versions go.
type between struct {
	itemRead chan struct{}
	run      func()
	once     sync.Once
}

func (b *between) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	if strings.Contains(string(body), `"heads"`) {
		<-b.itemRead
		b.once.Do(b.run)
	}
	answer, err := http.DefaultTransport.RoundTrip(r)
	if strings.Contains(string(body), `"item#`) {
		select {
		case <-b.itemRead:
		default:
			close(b.itemRead)
		}
	}
	return answer, err
}

// Ensure an item is live exactly when its version is its board's (decisions.md §4), also for a reader whose two reads a
// publish comes between: the item is read as it was, the version as it became.
func TestItemBesideANewerBoard(t *testing.T) {
	t.Parallel()
	s, key := start(t)
	item := create(t, s, key, map[string]any{"title": "A", "status": "published"})["id"].(string)
	call(t, s, key, "publish_plan_board", map[string]any{"boardId": "brd_1"})
	call(t, s, key, "update_plan_item", map[string]any{"itemId": item, "status": "archived"})
	held := &between{itemRead: make(chan struct{}), run: func() {
		call(t, s, key, "publish_plan_board", map[string]any{"boardId": "brd_1"})
	}}
	reader := plan.NewStore(apitest.NewOver(t, plan.Operations, held).Table)
	got, err := reader.Item(t.Context(), s.CompanyID, item)
	if err != nil || got.PublishedVersion == nil || *got.PublishedVersion != 1 {
		t.Errorf("an item that version 2 took out reads %v: %v", got.PublishedVersion, err)
	}
}

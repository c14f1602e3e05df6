package plan_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"growthworkspace/functions/plan"
	"growthworkspace/shared/apitest"
)

// between answers the first batch of reads as a table may: key by key, in their order, with a function run after the first.
type between struct {
	run  func()
	once sync.Once
}

func (b *between) RoundTrip(r *http.Request) (answer *http.Response, err error) {
	if strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".BatchGetItem") {
		b.once.Do(func() { answer, err = b.oneByOne(r) })
	}
	if answer != nil || err != nil {
		return answer, err
	}
	return http.DefaultTransport.RoundTrip(r)
}

type batch struct {
	RequestItems map[string]map[string]any
}

func (b *between) oneByOne(r *http.Request) (*http.Response, error) {
	var in batch
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		return nil, err
	}
	found := map[string][]any{}
	for name, wanted := range in.RequestItems {
		for n, key := range wanted["Keys"].([]any) {
			if n == 1 {
				b.run()
			}
			wanted["Keys"] = []any{key}
			var out struct{ Responses map[string][]any }
			if err := send(r, in, &out); err != nil {
				return nil, err
			}
			found[name] = append(found[name], out.Responses[name]...)
		}
	}
	text, err := json.Marshal(map[string]any{"Responses": found})
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/x-amz-json-1.0"}}, Body: io.NopCloser(bytes.NewReader(text)), Request: r}, err
}

// send sends a request with another body.
func send(r *http.Request, in, out any) error {
	text, err := json.Marshal(in)
	if err != nil {
		return err
	}
	r = r.Clone(r.Context())
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	return json.NewDecoder(resp.Body).Decode(out)
}

// Ensure an item is live exactly when its version is its board's (decisions.md §4), also for a reader whose batch a
// publish comes into: the item is read as it was, the version as it became.
func TestItemBesideANewerBoard(t *testing.T) {
	t.Parallel()
	s, key := start(t)
	item := create(t, s, key, map[string]any{"title": "A", "status": "published"})["id"].(string)
	call(t, s, key, "publish_plan_board", map[string]any{"boardId": "brd_1"})
	call(t, s, key, "update_plan_item", map[string]any{"itemId": item, "status": "archived"})
	ran := false
	held := &between{run: func() {
		ran = true
		call(t, s, key, "publish_plan_board", map[string]any{"boardId": "brd_1"})
	}}
	reader := plan.NewStore(apitest.NewOver(t, plan.Operations, held).Table)
	got, err := reader.Item(t.Context(), s.CompanyID, item)
	if !ran {
		t.Error("no batch of two was read")
	}
	if err != nil || got.PublishedVersion == nil || *got.PublishedVersion != 1 {
		t.Errorf("an item that version 2 took out reads %v: %v", got.PublishedVersion, err)
	}
}

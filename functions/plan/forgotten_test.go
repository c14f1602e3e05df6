package plan_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"growthworkspace/functions/plan"
	"growthworkspace/shared/apitest"
)

// forgetful does every transaction, loses the answer to its first time, and has forgotten it when it is repeated: an
// engine that was killed right after the commit and started again.
type forgetful struct{}

func (forgetful) RoundTrip(r *http.Request) (*http.Response, error) {
	if !strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".TransactWriteItems") {
		return apitest.Transport.RoundTrip(r)
	}
	var body map[string]any
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		return nil, err
	}
	delete(body, "ClientRequestToken")
	text, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	again := r.Clone(r.Context())
	again.Body, again.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
	out, err := apitest.Transport.RoundTrip(again)
	if err != nil || !strings.Contains(r.Header.Get("Amz-Sdk-Request"), "attempt=1;") {
		return out, err
	}
	_, err = io.Copy(io.Discard, out.Body)
	return nil, errors.Join(errors.New("the answer was lost"), err, out.Body.Close())
}

// Ensure a publish that was committed, and whose repetition is refused, is answered as done and keeps its snapshot; and
// that an item is made once, under its own slug (decisions.md §4: whenever the process dies).
func TestForgottenTransactions(t *testing.T) {
	t.Parallel()
	s, key := start(t)
	store := plan.NewStore(apitest.NewOver(t, plan.Operations, forgetful{}).Table)
	made, err := store.CreateItemWithFreeSlug(t.Context(), s.CompanyID, plan.Item{ID: "itm_1", CompanyID: s.CompanyID, RoadmapID: "brd_1", Title: "A"}, "a")
	if err != nil || made.Slug != "a" {
		t.Errorf("the item's slug is %q: %v", made.Slug, err)
	}
	call(t, s, key, "update_plan_item", map[string]any{"itemId": "itm_1", "status": "published"})
	done, err := store.Publish(t.Context(), s.CompanyID, "brd_1", func(string) error { return nil })
	if err != nil || !done.Changed || done.PublishedVersion != 1 || done.ItemCount != 1 {
		t.Errorf("%+v: %v", done, err)
	}
	if p := call(t, s, key, "preview_plan_publish", map[string]any{"boardId": "brd_1"}); p["hasChanges"] != false || p["unchangedCount"] != 1.0 {
		t.Errorf("after the publish the preview says %v", p)
	}
}

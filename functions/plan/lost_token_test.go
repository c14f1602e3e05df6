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
	"growthworkspace/shared/testkit/apitest"
)

// tokenForgettingTransport is a transport that executes every transaction, loses the response to
// the first attempt, and does not recognise the SDK's retry. It behaves like an engine that was
// killed right after the commit and restarted.
type tokenForgettingTransport struct{}

func (tokenForgettingTransport) RoundTrip(r *http.Request) (*http.Response, error) {
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
	stripped := r.Clone(r.Context())
	stripped.Body, stripped.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
	out, err := apitest.Transport.RoundTrip(stripped)
	if err != nil || !strings.Contains(r.Header.Get("Amz-Sdk-Request"), "attempt=1;") {
		return out, err
	}
	_, err = io.Copy(io.Discard, out.Body)
	return nil, errors.Join(errors.New("the response was lost"), err, out.Body.Close())
}

// Ensure a publish still succeeds and keeps its snapshot if the response to its commit is lost and
// the SDK's retry is rejected. A create in the same situation must create one item, with the
// requested slug.
func TestRetryOfForgottenTransaction(t *testing.T) {
	t.Parallel()
	s, key := start(t)
	store := plan.NewStore(apitest.NewWithTransport(t, plan.Operations, tokenForgettingTransport{}).Table)
	created, err := store.Items.InsertWithFreeSlug(t.Context(), s.CompanyID, plan.Item{ID: "itm_1", CompanyID: s.CompanyID, RoadmapID: "brd_1", Title: "A"}, "a")
	if err != nil || created.Slug != "a" {
		t.Errorf("the item's slug is %q: %v", created.Slug, err)
	}
	callOperation(t, s, key, "update_plan_item", map[string]any{"itemId": "itm_1", "status": "published"})
	done, err := store.Publish(t.Context(), s.CompanyID, "brd_1", func(string) error { return nil })
	if err != nil {
		t.Error(err)
	}
	if !done.Changed || done.PublishedVersion != 1 || done.ItemCount != 1 {
		t.Errorf("changed %t, version %d, %d items; want true, 1 and 1", done.Changed, done.PublishedVersion, done.ItemCount)
	}
	if p := callOperation(t, s, key, "preview_plan_publish", map[string]any{"boardId": "brd_1"}); p["hasChanges"] != false || p["unchangedCount"] != 1.0 {
		t.Errorf("the preview after the publish is %v", p)
	}
}

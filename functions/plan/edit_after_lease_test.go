package plan_test

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"growthworkspace/functions/plan"
	"growthworkspace/shared/testkit/apitest"
)

// editAfterLeaseTransport is a transport that calls the function `edit` as soon as a publish has
// leased the board. It then rejects the first call whose operation name and body together contain
// all the strings in refusedCalls.
type editAfterLeaseTransport struct {
	edit         func()
	refusedCalls []string

	edited, refused atomic.Bool
}

func (o *editAfterLeaseTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	text := r.Header.Get("X-Amz-Target") + string(body)
	isRefused := o.edited.Load()
	for _, word := range o.refusedCalls {
		isRefused = isRefused && strings.Contains(text, word)
	}
	if isRefused && o.refused.CompareAndSwap(false, true) {
		return &http.Response{StatusCode: http.StatusBadRequest, Body: io.NopCloser(strings.NewReader(`{"__type":"ValidationException"}`)), Request: r}, nil
	}
	return afterLeaseTransport{func() {
		if o.edited.CompareAndSwap(false, true) {
			o.edit()
		}
	}}.RoundTrip(r)
}

// afterLeaseTransport is a transport that calls afterLease after each table call that leases a
// board.
type afterLeaseTransport struct{ afterLease func() }

func (a afterLeaseTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	response, err := apitest.Transport.RoundTrip(r)
	if strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".TransactWriteItems") && bytes.Contains(body, []byte("SET claim")) {
		a.afterLease()
	}
	return response, err
}

// Ensure a publish that is overtaken by an edit fails if it cannot delete the snapshot that it will
// never commit, and that the error says that the deletion failed. The failed publish must change
// nothing that visitors see and must release its lease. The next publish must succeed.
func TestPublishCannotDeleteItsSnapshot(t *testing.T) {
	t.Parallel()
	for name, refusedCalls := range map[string][]string{
		"the snapshot cannot be read":    {".Query", "snapshot#brd_1"},
		"the snapshot cannot be deleted": {".BatchWriteItem", "DeleteRequest", "snapshot#brd_1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, key := start(t)
			createItem(t, s, key, map[string]any{"title": "First", "status": "published"})
			o := &editAfterLeaseTransport{refusedCalls: refusedCalls, edit: func() { createItem(t, s, key, map[string]any{"title": "Second", "status": "published"}) }}
			_, err := plan.NewStore(apitest.NewWithTransport(t, plan.Operations, o).Table).Publish(t.Context(), s.CompanyID, "brd_1", acceptAnyDigest)
			if !o.refused.Load() {
				t.Fatal("the publish was not overtaken")
			}
			if err == nil || !strings.Contains(err.Error(), "drop chunks") {
				t.Errorf("the publish returns %v", err)
			}
			board := callOperation(t, s, key, "get_plan_board", map[string]any{"boardId": "brd_1"})
			if c := leaseOf(t, s); c != nil || board["publishedVersion"] != nil {
				t.Errorf("the board has the lease %v and the version %v", c, board["publishedVersion"])
			}
			done, err := plan.NewStore(s.Table).Publish(t.Context(), s.CompanyID, "brd_1", acceptAnyDigest)
			if err != nil || done.PublishedVersion != 1 || done.ItemCount != 2 {
				t.Errorf("the next publish: %+v, %v", done, err)
			}
		})
	}
}

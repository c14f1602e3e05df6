package plan_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"growthworkspace/functions/plan"
	"growthworkspace/shared/testkit/apitest"
)

// Ensure a read or an update of an item returns a consistent publishedVersion even if the board is
// published just before any of its table calls. It must be the one from before or after those
// publishes, never the version that removed the item.
func TestItemAndPublish(t *testing.T) {
	t.Parallel()
	apitest.SkipIfShort(t)
	edit := func(i *plan.Item) error { i.Summary = new("edited"); return nil }
	nothing := func(*plan.Item) error { return nil }
	type operation func(s plan.Store, companyID, itemID string) (plan.Item, error)
	for name, operate := range map[string]operation{
		"get": func(s plan.Store, companyID, itemID string) (plan.Item, error) {
			return s.Items.Get(t.Context(), companyID, itemID)
		},
		"update": func(s plan.Store, companyID, itemID string) (plan.Item, error) {
			return s.Items.Modify(t.Context(), companyID, itemID, edit)
		},
		"empty update": func(s plan.Store, companyID, itemID string) (plan.Item, error) {
			return s.Items.Modify(t.Context(), companyID, itemID, nothing)
		},
	} {
		for _, c := range []struct {
			item       string
			statuses   []string // the item's status before each interrupting publish
			old, fresh any      // the item's publishedVersion before and after these publishes
		}{
			{"that is removed", []string{"archived"}, 1.0, 1.0},
			{"that is added", []string{"published"}, nil, 2.0},
			{"that is added and removed", []string{"published", "draft"}, nil, 2.0},
			{"that is removed and added", []string{"draft", "published"}, 1.0, 3.0},
		} {
			for _, canceled := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s an item %s, transaction canceled %v", name, c.item, canceled), func(t *testing.T) {
					t.Parallel()
					for at, reached := int64(1), true; reached; at++ {
						s, key := start(t)
						createItem(t, s, key, map[string]any{"title": "Other", "status": "published"})
						status := "draft"
						if c.old != nil {
							status = "published"
						}
						item := createItem(t, s, key, map[string]any{"title": "Item", "status": status})["id"].(string)
						callOperation(t, s, key, "publish_plan_board", map[string]any{"boardId": "brd_1"})
						hook := apitest.NewBeforeCall(at, func() {
							for _, status := range c.statuses {
								callOperation(t, s, key, "update_plan_item", map[string]any{"itemId": item, "status": status})
								callOperation(t, s, key, "publish_plan_board", map[string]any{"boardId": "brd_1"})
							}
						})
						var transport http.RoundTripper = hook
						if canceled {
							transport = cancelingTransport{hook}
						}
						got, err := operate(plan.NewStore(apitest.NewWithTransport(t, plan.Operations, transport).Table), s.CompanyID, item)
						if reached = hook.Reached(); !reached {
							return
						}
						if err != nil {
							t.Fatal(err)
						}
						shown := "null"
						if got.PublishedVersion != nil {
							shown = fmt.Sprint(*got.PublishedVersion)
						}
						if want := []any{c.old, c.fresh}; shown != formatVersion(want[0]) && shown != formatVersion(want[1]) {
							t.Errorf("before call %d: the item shows version %s, want %v", at, shown, want)
						}
						if at == 1 && shown != formatVersion(c.fresh) {
							t.Errorf("after the publishes the item shows version %s, want %v", shown, c.fresh)
						}
					}
				})
			}
		}
	}
}

// cancelingTransport is a transport that fails every transactional read with the error that
// DynamoDB returns for a conflict with a concurrent write.
type cancelingTransport struct{ next http.RoundTripper }

func (c cancelingTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if !strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".TransactGetItems") {
		return c.next.RoundTrip(r)
	}
	const body = `{"__type":"com.amazonaws.dynamodb.v20120810#TransactionCanceledException","CancellationReasons":[{"Code":"TransactionConflict"},{"Code":"None"}]}`
	return &http.Response{
		StatusCode: http.StatusBadRequest, Header: http.Header{"Content-Type": {"application/x-amz-json-1.0"}}, Request: r,
		Body: io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body)),
	}, nil
}

func formatVersion(version any) string {
	if version == nil {
		return "null"
	}
	return fmt.Sprint(version)
}

// Ensure reads just before each table call of a publish show only the old version: items that the
// publish removes are still live, and items that it adds are not live yet.
func TestPublishDuringReads(t *testing.T) {
	t.Parallel()
	apitest.SkipIfShort(t)
	for at, reached := int64(1), true; reached; at++ {
		s, key := start(t)
		removedID := createItem(t, s, key, map[string]any{"title": "Goes", "status": "published"})["id"]
		callOperation(t, s, key, "publish_plan_board", map[string]any{"boardId": "brd_1"})
		callOperation(t, s, key, "update_plan_item", map[string]any{"itemId": removedID, "status": "archived"})
		addedID := createItem(t, s, key, map[string]any{"title": "Comes", "status": "published"})["id"]
		versionOf := func(item any, op string) any {
			return callOperation(t, s, key, op, map[string]any{"itemId": item})["publishedVersion"]
		}
		transport := apitest.NewBeforeCall(at, func() {
			for _, op := range []string{"get_plan_item", "update_plan_item"} {
				if before, after := versionOf(removedID, op), versionOf(addedID, op); before != 1.0 || after != nil {
					t.Errorf("before call %d: %s shows version %v of the item to be removed, and %v of the item to be added", at, op, before, after)
				}
			}
			for _, i := range allItems(t, s, key) {
				if want := map[any]any{removedID: 1.0, addedID: nil}[i["id"]]; i["publishedVersion"] != want {
					t.Errorf("before call %d: the list shows version %v of %v", at, i["publishedVersion"], i["title"])
				}
			}
		})
		publisher := apitest.NewWithTransport(t, plan.Operations, transport)
		if _, err := plan.NewStore(publisher.Table).Publish(t.Context(), s.CompanyID, "brd_1", func(string) error { return nil }); err != nil {
			t.Errorf("before call %d: %v", at, err)
		}
		if reached = transport.Reached(); reached {
			if before, after := versionOf(removedID, "get_plan_item"), versionOf(addedID, "get_plan_item"); before != 1.0 || after != 2.0 {
				t.Errorf("after the publish the removed item shows version %v, the added one %v", before, after)
			}
		}
	}
}

package contract

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"growthworkspace/shared/fault"
)

// createdRecord is a record that a rule has created and must delete.
type createdRecord struct {
	path   string
	fields map[string]any
	response
}

// create creates a record. The caller must delete it with remove. create skips the rule if the key
// lacks the scope.
func (k *runner) create(collection, body, pathPrefix string, header ...string) (createdRecord, bool) {
	got := k.do(http.MethodPost, collection, body, header...)
	if got.status == http.StatusUnauthorized {
		k.skip("the key may not write here")
		return createdRecord{}, false
	}
	record, ok := k.checkRecord(got)
	if !ok {
		return createdRecord{}, false
	}
	id, ok := record["id"].(string)
	if !ok || id == "" {
		k.fail("%s: the record has no id", got.request)
		return createdRecord{}, false
	}
	return createdRecord{k.companyPath(pathPrefix + id), record, got}, true
}

// remove deletes a record that a rule has created. It fails the rule if it cannot delete the
// record.
func (k *runner) remove(c createdRecord) { k.deletePath(c.path) }

func (k *runner) deletePath(path string) {
	if got := k.do(http.MethodDelete, path, ""); got.status != http.StatusOK && got.status != http.StatusNotFound {
		k.fail("%s: %d: the record could not be deleted and remains", got.request, got.status)
	}
}

// checkRefusedCreate fails the rule unless got is a refusal to create a record. If the service
// created the record, checkRefusedCreate deletes it.
func (k *runner) checkRefusedCreate(got response, pathPrefix string, code fault.Code, wantText string) {
	k.checkError(got, code, wantText)
	var record struct{ ID string }
	if got.status == http.StatusOK && json.Unmarshal(got.body, &record) == nil && record.ID != "" {
		k.deletePath(k.companyPath(pathPrefix + record.ID))
	}
}

// itemsPath returns the path of the items of a board. It skips the rule if discover has found no
// board.
func (k *runner) itemsPath() (string, bool) {
	path, ok := k.fillPath("/v1/companies/{companyId}/plan/boards/{boardId}/items")
	if !ok {
		k.skip("the company has no board, or the key lacks plan:read")
	}
	return path, ok
}

const itemPathPrefix, postPathPrefix, goalPathPrefix = "/plan/items/", "/broadcast/posts/", "/context/goals/"

// createItem creates an item. The caller must delete it with remove.
func (k *runner) createItem(header ...string) (createdRecord, bool) {
	items, ok := k.itemsPath()
	if !ok {
		return createdRecord{}, false
	}
	return k.create(items, `{"title":"Conformance check"}`, itemPathPrefix, header...)
}

// checkFields fails the rule unless `record` has the values in `want`. label identifies the record
// in messages.
func (k *runner) checkFields(label string, record, want map[string]any) {
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if !reflect.DeepEqual(record[name], want[name]) {
			k.fail("%s: %s is %v instead of %v", label, name, record[name], want[name])
		}
	}
}

// checkUpdate reads a record that the rule has created, updates it, and requires that a later read
// returns the new values.
func (k *runner) checkUpdate(m createdRecord, update, updateOperation string, want map[string]any) {
	if read, ok := k.checkRecord(k.get(m.path)); ok && !reflect.DeepEqual(read, m.fields) {
		k.fail("GET of the record differs from the response to its creation")
	}
	changed := k.do(http.MethodPatch, m.path, update)
	k.checkSchema(updateOperation, changed)
	if after, ok := k.checkRecord(k.get(m.path)); ok {
		k.checkFields(changed.request, after, want)
	}
}

// checkDelete deletes the record and requires that it can no longer be read.
func (k *runner) checkDelete(m createdRecord) {
	got := k.do(http.MethodDelete, m.path, "")
	if deleted, ok := k.checkRecord(got); ok && !reflect.DeepEqual(deleted, map[string]any{"id": m.fields["id"], "deleted": true}) {
		k.fail("%s: the response is %s", got.request, got.body)
	}
	k.checkError(k.get(m.path), fault.NotFound, "")
	k.checkError(k.do(http.MethodDelete, m.path, ""), fault.NotFound, "")
}

func checkItemLifecycle(k *runner) {
	item, ok := k.createItem()
	if !ok {
		return
	}
	defer k.remove(item)
	k.checkSchema("create_plan_item", item.response)
	k.checkFields(item.request, item.fields, map[string]any{"status": "draft", "title": "Conformance check", "publishedVersion": nil, "companyId": k.company})
	if slug, ok := item.fields["slug"].(string); !ok || !strings.HasPrefix(slug, "conformance-check") {
		k.fail("%s: the slug is %v, not derived from the title", item.request, item.fields["slug"])
	}
	k.checkUpdate(item, `{"summary":"Changed.","status":"in_review","sortOrder":7,"categoryIds":["a"]}`, "update_plan_item", map[string]any{
		"summary": "Changed.", "status": "in_review", "sortOrder": float64(7), "categoryIds": []any{"a"}, "slug": item.fields["slug"], "title": item.fields["title"],
	})
	k.checkDelete(item)
}

// checkSlugScripts checks the slugs of items whose titles contain letters of other scripts, an
// emoji or an apostrophe.
func checkSlugScripts(k *runner) {
	items, ok := k.itemsPath()
	if !ok {
		return
	}
	for title, want := range map[string]string{"Ωmega": "omega", "Don't stop": "dont-stop", "Привет": "privet", "日本": "", "🚀": "item"} {
		item, ok := k.create(items, fmt.Sprintf(`{"title":%q}`, title), itemPathPrefix)
		if !ok {
			return
		}
		defer k.remove(item)
		slug, _ := item.fields["slug"].(string)
		k.countCheck()
		if !strings.HasPrefix(slug, want) || want == "" && strings.HasPrefix(slug, "item") {
			k.fail("%s: the slug of %q is %q, want %s", item.request, title, slug, want)
		}
	}
}

// checkPostThread checks how the service splits posts for the platform "x", which gives characters,
// emoji and links different weights.
func checkPostThread(k *runner) {
	wide, family := strings.Repeat("日", 140), strings.Repeat("👩‍👩‍👧‍👦", 140)
	link := "https://example.com/" + strings.Repeat("a", 300)
	for body, want := range map[string]any{
		strings.Repeat("a", 280):       nil,
		strings.Repeat("a", 281):       []any{strings.Repeat("a", 280), "a"},
		wide:                           nil,
		wide + "日":                     []any{wide, "日"},
		family:                         nil,
		family + "👩‍👩‍👧‍👦":             []any{family, "👩‍👩‍👧‍👦"},
		link:                           nil,
		strings.Repeat("e\u0301", 281): []any{strings.Repeat("e\u0301", 280), "e\u0301"},
	} {
		post, ok := k.create(k.companyPath("/broadcast/posts"), fmt.Sprintf(`{"platform":"x","body":%q}`, body), postPathPrefix)
		if !ok {
			return
		}
		defer k.remove(post)
		k.checkFields(post.request, post.fields, map[string]any{"threadParts": want})
	}
}

const farFuture = "2099-01-01T00:00:00.000Z"

func checkPostLifecycle(k *runner) {
	post, ok := k.create(k.companyPath("/broadcast/posts"), `{"platform":"x","body":"Conformance check"}`, postPathPrefix)
	if !ok {
		return
	}
	defer k.remove(post)
	k.checkSchema("create_broadcast_post", post.response)
	k.checkFields(post.request, post.fields, map[string]any{"status": "draft", "publishedAt": nil})
	k.checkUpdate(post, `{"scheduledFor":"`+farFuture+`","status":"scheduled"}`, "update_broadcast_post", map[string]any{"status": "scheduled", "scheduledFor": farFuture})
	k.checkError(k.do(http.MethodPatch, post.path, `{"platform":"push"}`), fault.BadRequest, "platform")
	k.checkDelete(post)
}

func checkGoalLifecycle(k *runner) {
	goal, ok := k.create(k.companyPath("/context/goals"), `{"name":"Conformance check","metricKey":"growth.signups","dueAt":"`+farFuture+`"}`, goalPathPrefix)
	if !ok {
		return
	}
	defer k.remove(goal)
	k.checkSchema("create_context_goal", goal.response)
	k.checkFields(goal.request, goal.fields, map[string]any{"status": "active", "dueAt": farFuture, "priority": nil})
	k.checkUpdate(goal, `{"status":"achieved","dueAt":null,"priority":1}`, "update_context_goal", map[string]any{"status": "achieved", "dueAt": nil, "priority": float64(1)})
	k.checkError(k.do(http.MethodPatch, goal.path, `{"name":""}`), fault.BadRequest, "name")
	k.checkError(k.do(http.MethodPatch, goal.path, `{"priority":0.5}`), fault.BadRequest, "priority")
	k.checkDelete(goal)
}

func checkItemSlug(k *runner) {
	item, ok := k.createItem()
	if !ok {
		return
	}
	defer k.remove(item)
	k.checkError(k.do(http.MethodPatch, item.path, `{"slug":"another"}`), fault.BadRequest, "slug")
	items, _ := k.itemsPath()
	slug := fmt.Sprint(item.fields["slug"])
	k.checkRefusedCreate(k.do(http.MethodPost, items, fmt.Sprintf(`{"title":"Conformance check","slug":%q}`, slug)), itemPathPrefix, fault.Conflict, "")
	second, ok := k.createItem()
	if !ok {
		return
	}
	defer k.remove(second)
	if second.fields["slug"] == item.fields["slug"] {
		k.fail("two items of a board have the slug %s", slug)
	}
}

// checkNullClears creates an item with null fields, sets these fields, and clears them by setting
// them to null. It requires that the title cannot be cleared.
func checkNullClears(k *runner) {
	items, ok := k.itemsPath()
	if !ok {
		return
	}
	nulls := map[string]any{"summary": nil, "columnId": nil, "categoryIds": nil, "sortOrder": nil, "targetLabel": nil}
	item, ok := k.create(items, `{"title":"Conformance check","slug":null,"status":null,"summary":null,"columnId":null,"categoryIds":null,"sortOrder":null,"targetLabel":null}`, itemPathPrefix)
	if !ok {
		return
	}
	defer k.remove(item)
	k.checkFields(item.request+" with nulls", item.fields, nulls)
	k.checkFields(item.request+" with nulls", item.fields, map[string]any{"status": "draft"})
	full := `{"summary":"S","columnId":"a","categoryIds":["a"],"sortOrder":1,"targetLabel":"T"}`
	k.checkUpdate(item, full, "update_plan_item", map[string]any{"summary": "S", "columnId": "a", "categoryIds": []any{"a"}, "sortOrder": float64(1), "targetLabel": "T"})
	cleared := k.do(http.MethodPatch, item.path, `{"summary":null,"columnId":null,"categoryIds":null,"sortOrder":null,"targetLabel":null}`)
	k.checkSchema("update_plan_item", cleared)
	if after, ok := k.checkRecord(k.get(item.path)); ok {
		k.checkFields(cleared.request+" with nulls", after, nulls)
	}
	k.checkError(k.do(http.MethodPatch, item.path, `{"title":null}`), fault.BadRequest, "title")
	k.checkError(k.do(http.MethodPatch, item.path, `{"status":null}`), fault.BadRequest, "status")
}

func checkEmptyUpdate(k *runner) {
	item, ok := k.createItem()
	if !ok {
		return
	}
	defer k.remove(item)
	if after, ok := k.checkRecord(k.do(http.MethodPatch, item.path, `{}`)); ok && !reflect.DeepEqual(after, item.fields) {
		k.fail("PATCH of an item with {}: the record changed")
	}
}

func checkIfMatch(k *runner) {
	item, ok := k.createItem()
	if !ok {
		return
	}
	defer k.remove(item)
	tag := k.get(item.path).header.Get("ETag")
	if tag == "" {
		k.skip("records have no ETag: the service does not support it")
		k.checkCount = 0
		return
	}
	k.checkRecord(k.do(http.MethodPatch, item.path, `{"summary":"One."}`, "If-Match", tag))
	k.checkError(k.do(http.MethodPatch, item.path, `{"summary":"Two."}`, "If-Match", tag), fault.PreconditionFailed, "")
	k.checkError(k.do(http.MethodDelete, item.path, "", "If-Match", tag), fault.PreconditionFailed, "")
	if after, ok := k.checkRecord(k.get(item.path)); ok && after["summary"] != "One." {
		k.fail("an update that got a 412 was done: the summary is %v", after["summary"])
	}
}

func checkIdempotency(k *runner) {
	idempotencyKey := rand.Text()
	item, ok := k.createItem("Idempotency-Key", idempotencyKey)
	if !ok {
		return
	}
	defer k.remove(item)
	items, _ := k.itemsPath()
	retry := k.do(http.MethodPost, items, `{"title":"Conformance check"}`, "Idempotency-Key", idempotencyKey)
	record, ok := k.checkRecord(retry)
	if !ok {
		return
	}
	if record["id"] != item.fields["id"] {
		k.deletePath(k.companyPath(itemPathPrefix + fmt.Sprint(record["id"])))
		k.fail("%s: two requests with one Idempotency-Key created two records", retry.request)
		return
	}
	if retry.header.Get("Idempotent-Replayed") != "true" {
		k.fail("%s: Idempotent-Replayed is %q on a replayed response", retry.request, retry.header.Get("Idempotent-Replayed"))
	}
	k.checkError(k.do(http.MethodPost, items, `{"title":"Another"}`, "Idempotency-Key", idempotencyKey), fault.BadRequest, "Idempotency-Key")
}

package main

import (
	"fmt"
	"net/http"
	"reflect"
	"strings"

	"growthworkspace/functions"
	"growthworkspace/shared/fault"
)

// post, patch and remove are writes with a JSON body.
func (k *kit) post(path, body string, header ...string) reply {
	return k.send(ask{method: http.MethodPost, path: path, body: body, header: pairs(header)})
}

func (k *kit) patch(path, body string, header ...string) reply {
	return k.send(ask{method: http.MethodPatch, path: path, body: body, header: pairs(header)})
}

func (k *kit) remove(path string, header ...string) reply {
	return k.send(ask{method: http.MethodDelete, path: path, header: pairs(header)})
}

func pairs(texts []string) map[string]string {
	out := map[string]string{}
	for i := 0; i+1 < len(texts); i += 2 {
		out[texts[i]] = texts[i+1]
	}
	return out
}

// made is a record that a rule has made, to be removed again.
type made struct {
	path   string
	record map[string]any
	reply  reply
}

// make creates a record for a rule, which skips where the key may not write. The caller removes it.
func (k *kit) make(collection, body, byID string, header ...string) (made, bool) {
	got := k.post(collection, body, header...)
	if got.status == http.StatusUnauthorized {
		k.report.skip("the key may not write here")
		return made{}, false
	}
	var record map[string]any
	if !k.ok(got, &record) {
		return made{}, false
	}
	id, ok := record["id"].(string)
	if !ok || id == "" {
		k.report.fail("%s: the record has no id", got.what)
		return made{}, false
	}
	return made{k.companyPath(byID + id), record, got}, true
}

// clean removes what a rule has made, and says what it had to leave behind.
func (k *kit) clean(m made) {
	if got := k.remove(m.path); got.status != http.StatusOK && got.status != http.StatusNotFound {
		k.report.fail("%s: %d: the record is left behind", got.what, got.status)
	}
}

// items is the path of the items of a board.
func (k *kit) items() (string, bool) {
	board, ok := k.fill("/v1/companies/{companyId}/plan/boards/{boardId}/items")
	if !ok {
		k.report.skip("the company has no board, or the key lacks plan:read")
	}
	return board, ok
}

// item makes an item for a rule.
func (k *kit) item(header ...string) (made, bool) {
	items, ok := k.items()
	if !ok {
		return made{}, false
	}
	return k.make(items, `{"title":"Conformance check"}`, "/plan/items/", header...)
}

// schemaOf holds an answer to the schema of an operation.
func (k *kit) schemaOf(operation string, got reply) {
	for _, op := range functions.Operations(nil) {
		if op.ID == operation {
			k.valid(op, got)
		}
	}
}

func itemLife(k *kit, r *ruleReport) {
	item, ok := k.item()
	if !ok {
		return
	}
	defer k.clean(item)
	k.schemaOf("create_plan_item", item.reply)
	for name, want := range map[string]any{"status": "draft", "title": "Conformance check", "publishedVersion": nil, "companyId": k.company} {
		if got := item.record[name]; got != want {
			r.fail("%s: %s is %v", item.reply.what, name, got)
		}
	}
	if slug, ok := item.record["slug"].(string); !ok || !strings.HasPrefix(slug, "conformance-check") {
		r.fail("%s: the slug is %v, not derived from the title", item.reply.what, item.record["slug"])
	}
	var read map[string]any
	if k.ok(k.get(item.path), &read) && !reflect.DeepEqual(read, item.record) {
		r.fail("GET of the item differs from the answer to its creation")
	}
	changed := k.patch(item.path, `{"summary":"Changed.","status":"in_review","sortOrder":7,"categoryIds":["a"]}`)
	k.schemaOf("update_plan_item", changed)
	var after map[string]any
	if k.ok(k.get(item.path), &after) {
		for name, want := range map[string]any{"summary": "Changed.", "status": "in_review", "sortOrder": float64(7), "categoryIds": []any{"a"}, "slug": item.record["slug"], "title": item.record["title"]} {
			if !reflect.DeepEqual(after[name], want) {
				r.fail("%s: %s is %v afterwards", changed.what, name, after[name])
			}
		}
	}
	gone := k.remove(item.path)
	var deleted map[string]any
	if k.ok(gone, &deleted) && (len(deleted) != 2 || deleted["id"] != item.record["id"] || deleted["deleted"] != true) {
		r.fail("%s: it answers %s", gone.what, gone.body)
	}
	k.is(k.get(item.path), fault.NotFound, "")
	k.is(k.remove(item.path), fault.NotFound, "")
}

// refusedBody is a body that must be refused, and what a message must name.
type refusedBody struct{ body, names string }

// refuse sends bodies that must be refused; one that is taken makes a record, which is removed.
func (k *kit) refuse(method, path, byID string, bodies []refusedBody) {
	for _, b := range bodies {
		got := k.send(ask{method: method, path: path, body: b.body})
		if got.status == http.StatusUnauthorized {
			k.report.skip("the key may not write here")
			return
		}
		got.what += " " + cut(b.body)
		k.is(got, fault.BadRequest, b.names)
		var record struct{ ID string }
		if got.status == http.StatusOK && method == http.MethodPost && k.ok(got, &record) && record.ID != "" {
			k.clean(made{path: k.companyPath(byID + record.ID)})
		}
	}
}

func itemBody(k *kit, r *ruleReport) {
	items, ok := k.items()
	if !ok {
		return
	}
	k.refuse(http.MethodPost, items, "/plan/items/", []refusedBody{
		{`{}`, "title"}, {`{"title":""}`, "title"}, {`{"title":5}`, "title"}, {`{"title":"x","status":"live"}`, "status"},
		{`{"title":"x","sortOrder":1.5}`, "sortOrder"}, {`{"title":"x","categoryIds":"a"}`, "categoryIds"},
	})
	var both reply
	if both = k.post(items, `{"status":"live"}`); both.status == fault.BadRequest.Status() {
		k.is(both, fault.BadRequest, "title")
		k.is(both, fault.BadRequest, "status")
	}
}

func strictBody(k *kit, r *ruleReport) {
	items, ok := k.items()
	if !ok {
		return
	}
	k.refuse(http.MethodPost, items, "/plan/items/", []refusedBody{
		{`{"title":"x","nope":1}`, "nope"}, {`{"title":"x","summary":null}`, "summary"}, {`{"title":"x","title":"y"}`, "title"},
		{`{"title":"x"} {}`, "body"}, {`{"title":`, "body"}, {`[]`, "body"}, {"{\"title\":\"\xff\"}", "body"}, {`{"Title":"x"}`, "Title"},
	})
	got := k.send(ask{method: http.MethodPost, path: items, body: `{"title":"x"}`, header: map[string]string{"Content-Type": "text/plain"}})
	got.what += " as text/plain"
	k.is(got, fault.BadRequest, "Content-Type")
	var record struct{ ID string }
	if got.status == http.StatusOK && k.ok(got, &record) {
		k.clean(made{path: k.companyPath("/plan/items/" + record.ID)})
	}
}

func itemSlug(k *kit, r *ruleReport) {
	item, ok := k.item()
	if !ok {
		return
	}
	defer k.clean(item)
	k.is(k.patch(item.path, `{"slug":"another"}`), fault.BadRequest, "slug")
	items, _ := k.items()
	slug := fmt.Sprint(item.record["slug"])
	taken := k.post(items, fmt.Sprintf(`{"title":"Conformance check","slug":%q}`, slug))
	k.is(taken, fault.Conflict, "")
	var record struct{ ID string }
	if taken.status == http.StatusOK && k.ok(taken, &record) {
		k.clean(made{path: k.companyPath("/plan/items/" + record.ID)})
	}
	second, ok := k.item()
	if !ok {
		return
	}
	defer k.clean(second)
	if second.record["slug"] == item.record["slug"] {
		r.fail("two items of a board have the slug %s", slug)
	}
}

func emptyUpdate(k *kit, r *ruleReport) {
	item, ok := k.item()
	if !ok {
		return
	}
	defer k.clean(item)
	var after map[string]any
	if k.ok(k.patch(item.path, `{}`), &after) && !reflect.DeepEqual(after, item.record) {
		r.fail("PATCH of an item with {}: the record changed")
	}
}

func ifMatch(k *kit, r *ruleReport) {
	item, ok := k.item()
	if !ok {
		return
	}
	defer k.clean(item)
	tag := k.get(item.path).header.Get("ETag")
	if tag == "" {
		r.skip("records have no ETag: it is not offered")
		r.looked = 0
		return
	}
	var body any
	k.ok(k.patch(item.path, `{"summary":"One."}`, "If-Match", tag), &body)
	k.is(k.patch(item.path, `{"summary":"Two."}`, "If-Match", tag), fault.PreconditionFailed, "")
	k.is(k.remove(item.path, "If-Match", tag), fault.PreconditionFailed, "")
	var after map[string]any
	if k.ok(k.get(item.path), &after) && after["summary"] != "One." {
		r.fail("a refused update was done: the summary is %v", after["summary"])
	}
}

package conformance

import (
	"net/http"
	"reflect"
	"slices"
	"strings"

	"growthworkspace/shared/fault"
	"growthworkspace/shared/schema/jsonschema"
)

// changedText is the value to which the rules change a text of a record.
const changedText = "Changed by the check"

// changedBody returns the example of an update with another value of its first plain text, and the
// name of that text.
func (run *runner) changedBody(update operation) map[string]any {
	body := ownExample(update)
	if name := run.plainText(update.body); name != "" {
		body[name] = changedText
	}
	return body
}

// plainText returns the name of the first property of a body that can be any text, or "".
func (run *runner) plainText(body *jsonschema.Schema) string {
	for _, name := range sortedKeys(body.Properties) {
		s := run.document.deref(body.Properties[name])
		isText := s.Type == "string" || slices.Equal(s.Types, []string{"string", "null"})
		if isText && s.Enum == nil && s.Pattern == "" && s.Format == "" && !strings.HasSuffix(name, "Id") && (s.MaxLength == nil || *s.MaxLength >= len(changedText)) && name != "timezone" {
			return name
		}
	}
	return ""
}

// eachCreated calls visit for one record of each kind that the run has created.
func (run *runner) eachCreated(visit func(createdRecord)) {
	seen := map[string]bool{}
	for _, c := range run.created {
		if !seen[c.create.ID] && c.fields != nil {
			visit(c)
		}
		seen[c.create.ID] = true
	}
	if len(run.created) == 0 {
		run.skip("the key lacks every scope for writing")
	}
}

// checkRecords requires that the records that the run has created are stored as they were sent, and
// updates them.
func checkRecords(k *runner) {
	for _, c := range k.created {
		if k.requireStored(c.create, c.sent, c.response) && c.fields == nil {
			k.fail("%s: the created record cannot be found", c.request)
		}
	}
	k.eachCreated(func(c createdRecord) {
		read, hasRead := k.document.of(c.create, http.MethodGet)
		if !hasRead {
			return
		}
		got := k.get(c.path)
		if before, ok := k.requireValid(read, got); ok && c.create.isCreate() {
			k.require(sameValues(before, c.fields) && got.ETag() == c.ETag(), "%s: another record, or another ETag, than in the response to its creation", got.request)
		}
		update, hasUpdate := k.document.of(c.create, http.MethodPatch)
		if !hasUpdate {
			return
		}
		body := k.changedBody(update)
		changed := k.do(http.MethodPatch, c.path, encode(body))
		k.requireStored(update, body, changed)
		k.require(sameValues(changed.object(), k.get(c.path).object()), "%s: a later GET returns another record", changed.request)
		empty := k.do(http.MethodPatch, c.path, `{}`)
		k.requireObject(empty)
		k.require(reflect.DeepEqual(empty.object(), changed.object()), "%s with {}: the record changed", empty.request)
	})
}

// requireStored fails the rule unless the response to a create or an update matches the operation's
// schema and has the values that were sent.
func (run *runner) requireStored(op operation, sent map[string]any, got response) bool {
	fields, ok := run.requireValid(op, got)
	for _, name := range sortedKeys(sent) {
		if stored, has := fields[name]; has {
			run.require(reflect.DeepEqual(stored, sent[name]), "%s: %s is %v instead of %v", got.request, name, stored, sent[name])
		}
	}
	return ok
}

// requireRefusedCreate fails the rule unless got is a refusal to create a record. If the service
// created the record, the run deletes it at the end.
func (run *runner) requireRefusedCreate(create operation, got response, code fault.Code, wantText string) {
	run.requireError(got, code, wantText)
	if fields := got.object(); fields != nil {
		c := createdRecord{response: got, create: create}
		run.keep(&c, fields)
		run.created = append(run.created, c)
	}
}

// checkPreconditions updates and deletes records with an old entity tag and with the current one.
func checkPreconditions(k *runner) {
	k.eachCreated(func(c createdRecord) {
		update, ok := k.document.of(c.create, http.MethodPatch)
		if !ok || update.parameter("If-Match") == nil {
			return
		}
		before := k.get(c.path)
		name := k.plainText(update.body)
		change := encode(map[string]any{name: "Changed once more"})
		changed := k.do(http.MethodPatch, c.path, change, "If-Match", before.ETag())
		k.requireObject(changed)
		k.require(changed.ETag() != before.ETag(), "%s: another record has the same ETag", changed.request)
		for _, method := range []string{http.MethodPatch, http.MethodDelete} {
			body := ""
			if method == http.MethodPatch {
				body = encode(map[string]any{name: "Lost"})
			}
			k.requireError(k.do(method, c.path, body, "If-Match", before.ETag()), fault.PreconditionFailed, "")
		}
		k.require(sameValues(k.get(c.path).object(), changed.object()), "%s: a request that got a 412 was done", changed.request)
	})
}

// checkIdempotency repeats the creation of records with its Idempotency-Key, and sends another body
// with it.
func checkIdempotency(k *runner) {
	for _, c := range slices.Clone(k.created) {
		if c.idempotencyKey == "" || c.fields == nil {
			continue
		}
		path, _ := k.fillPath(c.create.path)
		retry := k.do(http.MethodPost, path, encode(c.sent), "Idempotency-Key", c.idempotencyKey)
		if retry.object()["id"] != c.fields["id"] {
			k.requireRefusedCreate(c.create, retry, fault.BadRequest, "two requests with one Idempotency-Key created two records")
			continue
		}
		k.require(retry.Header.Get("Idempotent-Replayed") == "true", "%s: Idempotent-Replayed is %q on a replayed response", retry.request, retry.Header.Get("Idempotent-Replayed"))
		other := k.do(http.MethodPost, path, encode(k.changedBody(c.create)), "Idempotency-Key", c.idempotencyKey)
		k.requireRefusedCreate(c.create, other, fault.BadRequest, "Idempotency-Key")
	}
}

// checkPublish publishes the board of the run, changes its items, and publishes it without them.
func checkPublish(k *runner) {
	publish, ok1 := k.document.byID("publish_plan_board")
	preview, ok2 := k.document.byID("preview_plan_publish")
	board := k.pathOf("get_plan_board")
	if !ok1 || !ok2 || k.lacks(publish) || !slices.ContainsFunc(k.created, func(c createdRecord) bool { return c.create.ID == "create_plan_item" && c.fields != nil }) {
		k.skip("the service cannot publish, or the key lacks plan:write or plan:publish")
		return
	}
	publishPath, live, list := k.pathOf(publish.ID), k.pathOf("list_plan_live_items"), k.pathOf("list_plan_items")
	items := k.get(list).records()
	setStatus := func(status string) {
		for _, c := range k.created {
			if c.create.ID == "create_plan_item" {
				k.requireObject(k.do(http.MethodPatch, c.path, `{"status":"`+status+`"}`))
			}
		}
	}
	setStatus("published")
	boardBefore, itemsBefore := k.get(board).object(), k.get(list).object()
	previewed := k.do(preview.method, k.pathOf(preview.ID), "")
	planned, _ := k.requireValid(preview, previewed)
	for _, item := range items {
		k.require(strings.Contains(encode(planned["added"]), encode(item["slug"])), "%s: it does not add %v", previewed.request, item["slug"])
	}
	k.requireError(k.do(publish.method, publishPath, "", "If-Match", `"other"`), fault.PreconditionFailed, "")
	k.require(reflect.DeepEqual(k.get(board).object(), boardBefore) && reflect.DeepEqual(k.get(list).object(), itemsBefore),
		"%s: a preview, or a publish that got a 412, changed the board or its items", previewed.request)
	k.requireLive(live, nil)

	published := k.do(publish.method, publishPath, "", "If-Match", previewed.ETag())
	result, _ := k.requireValid(publish, published)
	version := planned["nextVersion"]
	k.require(result["publishedVersion"] == version && result["changed"] == true, "%s: version %v, changed %v; the preview says %v", published.request, result["publishedVersion"], result["changed"], version)
	for _, record := range append(k.get(list).records(), k.get(board).object()) {
		k.require(record["publishedVersion"] == version, "%s: the publishedVersion of %v is %v afterwards", published.request, record["id"], record["publishedVersion"])
	}
	k.requireLive(live, items)
	setStatus("draft")
	k.requireLive(live, items)
	k.requireObject(k.do(publish.method, publishPath, ""))
	k.requireLive(live, nil)
}

// pathOf returns the path of an operation on a known record.
func (run *runner) pathOf(operation string) string {
	op, _ := run.document.byID(operation)
	path, _ := run.fillPath(op.path)
	return path
}

// requireLive fails the rule unless visitors of a board see exactly these items.
func (run *runner) requireLive(path string, want []map[string]any) {
	got := run.get(path)
	run.requireObject(got)
	ids := func(records []map[string]any) (all []string) {
		for _, r := range records {
			all = append(all, text(r["id"]))
		}
		slices.Sort(all)
		return all
	}
	run.require(slices.Equal(ids(got.records()), ids(want)), "%s: visitors see %v instead of %v", got.request, ids(got.records()), ids(want))
}

// checkDeletes deletes the records of the run and requires that they are gone.
func checkDeletes(k *runner) {
	k.deleteRecords(func(c createdRecord, got response) {
		deleted, _ := k.requireObject(got)
		k.require(deleted["id"] == c.fields["id"] && deleted["deleted"] == true, "%s: the response is %s", got.request, got.Body)
		if _, ok := k.document.of(c.create, http.MethodGet); ok {
			k.requireError(k.get(c.path), fault.NotFound, "")
			k.requireError(k.do(http.MethodDelete, c.path, ""), fault.NotFound, "")
		}
	})
}

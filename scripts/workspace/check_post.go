package main

import (
	"crypto/rand"
	"encoding/json"
	"net/http"
	"strings"

	"growthworkspace/functions"
	"growthworkspace/shared/fault"
	"growthworkspace/shared/schema"
)

// idempotencyRule makes an item twice under one key.
func idempotencyRule(k *kit, r *ruleReport) {
	name := rand.Text()
	item, ok := k.item("Idempotency-Key", name)
	if !ok {
		return
	}
	defer k.clean(item)
	items, _ := k.items()
	again := k.post(items, `{"title":"Conformance check"}`, "Idempotency-Key", name)
	var record struct{ ID string }
	if !k.ok(again, &record) {
		return
	}
	if record.ID != item.record["id"] {
		k.clean(made{path: k.companyPath("/plan/items/" + record.ID)})
		r.fail("%s: sent twice under one Idempotency-Key, it made two records", again.what)
		return
	}
	if again.header.Get("Idempotent-Replayed") != "true" {
		r.fail("%s: Idempotent-Replayed is %q on a replayed answer", again.what, again.header.Get("Idempotent-Replayed"))
	}
	k.is(k.post(items, `{"title":"Another"}`, "Idempotency-Key", name), fault.BadRequest, "Idempotency-Key")
}

const farTime = "2099-01-01T00:00:00.000Z"

func postLife(k *kit, r *ruleReport) {
	posts := k.companyPath("/broadcast/posts")
	post, ok := k.make(posts, `{"platform":"x","body":"Conformance check"}`, "/broadcast/posts/")
	if !ok {
		return
	}
	defer k.clean(post)
	k.schemaOf("create_broadcast_post", post.reply)
	if post.record["status"] != "draft" || post.record["publishedAt"] != nil {
		r.fail("%s: the status is %v, publishedAt %v", post.reply.what, post.record["status"], post.record["publishedAt"])
	}
	scheduled := k.patch(post.path, `{"scheduledFor":"`+farTime+`","status":"scheduled"}`)
	k.schemaOf("update_broadcast_post", scheduled)
	var after map[string]any
	if k.ok(scheduled, &after) && (after["status"] != "scheduled" || after["scheduledFor"] != farTime) {
		r.fail("%s: the status is %v, scheduledFor %v", scheduled.what, after["status"], after["scheduledFor"])
	}
	k.is(k.patch(post.path, `{"platform":"push"}`), fault.BadRequest, "platform")
	var deleted map[string]any
	gone := k.remove(post.path)
	if k.ok(gone, &deleted) && (deleted["id"] != post.record["id"] || deleted["deleted"] != true) {
		r.fail("%s: it answers %s", gone.what, gone.body)
	}
	k.is(k.get(post.path), fault.NotFound, "")
}

func postBody(k *kit, r *ruleReport) {
	k.refuse(http.MethodPost, k.companyPath("/broadcast/posts"), "/broadcast/posts/", []refusedBody{
		{`{"platform":"x"}`, "body"}, {`{"body":"x"}`, "platform"}, {`{"platform":"fax","body":"x"}`, "platform"},
		{`{"platform":"x","body":"x","status":"scheduled"}`, "scheduledFor"}, {`{"platform":"x","body":"x","status":"published"}`, "status"},
		{`{"platform":"x","body":"x","destination":"all"}`, "destination"}, {`{"platform":"x","body":"x","scheduledFor":"soon"}`, "scheduledFor"},
	})
}

// companyBody sends updates that must be refused. Where one is taken, the company gets its own value back.
func companyBody(k *kit, r *ruleReport) {
	var before map[string]any
	if !k.ok(k.get(k.companyPath("")), &before) {
		return
	}
	r.looked = 0
	for field, value := range map[string]string{
		"name": `""`, "stage": `"unicorn"`, "targetMarket": `"b2x"`, "websiteUrl": `"not a uri"`, "repositoryUrl": `"//"`, "slug": `"another"`, "summary": `5`,
	} {
		got := k.patch(k.companyPath(""), `{"`+field+`":`+value+`}`)
		if got.status == http.StatusUnauthorized {
			r.skip("the key lacks company:write")
			return
		}
		k.is(got, fault.BadRequest, field)
		if old, had := before[field].(string); got.status == http.StatusOK && had {
			text, err := json.Marshal(map[string]string{field: old})
			if restored := k.patch(k.companyPath(""), string(text)); err != nil || restored.status != http.StatusOK {
				r.fail("the company's %s, which was %q, could not be put back", field, old)
			}
		}
	}
}

func largeBody(k *kit, r *ruleReport) {
	items, ok := k.items()
	if !ok {
		return
	}
	got := k.post(items, `{"title":"`+strings.Repeat("x", 256<<10)+`"}`)
	if got.status == http.StatusUnauthorized {
		r.skip("the key lacks plan:write")
		return
	}
	k.is(got, fault.PayloadTooLarge, "")
}

// writeAccess sends every write to records that do not exist: without a key, and to another company.
func writeAccess(k *kit, r *ruleReport) {
	for _, op := range functions.Operations(nil) {
		if op.Method == http.MethodGet || optional(op) {
			continue
		}
		body := ""
		for _, f := range op.Input {
			if f.In == schema.InBody {
				body = `{}`
			}
		}
		path := k.invented(op.Path)
		got := k.send(ask{method: op.Method, path: path, body: body, header: map[string]string{"Authorization": ""}})
		got.what += " without a key"
		k.is(got, fault.Unauthorised, "")
		k.is(k.send(ask{method: op.Method, path: strings.Replace(path, k.company, k.otherID(), 1), body: body}), fault.NotFound, "")
	}
}

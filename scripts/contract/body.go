package contract

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"growthworkspace/functions"
	"growthworkspace/shared/fault"
	"growthworkspace/shared/schema"
)

// refused sends invalid bodies. Each pair is a body and the field that the message must name.
func (k *kit) refused(path, byID string, bodies [][2]string) {
	for _, b := range bodies {
		got := k.do(http.MethodPost, path, b[0])
		if got.status == http.StatusUnauthorized {
			k.skip("the key may not write here")
			return
		}
		got.what += fmt.Sprintf(" %.60s", b[0])
		k.refusedCreate(got, byID, fault.BadRequest, b[1])
	}
}

func itemBody(k *kit) {
	items, ok := k.items()
	if !ok {
		return
	}
	k.refused(items, itemByID, [][2]string{
		{`{}`, "title"}, {`{"title":""}`, "title"}, {`{"title":5}`, "title"}, {`{"title":"x","status":"live"}`, "status"},
		{`{"title":"x","sortOrder":1.5}`, "sortOrder"}, {`{"title":"x","categoryIds":"a"}`, "categoryIds"},
	})
	if both := k.do(http.MethodPost, items, `{"status":"live"}`); both.status == fault.BadRequest.Status() {
		k.is(both, fault.BadRequest, "title")
		k.is(both, fault.BadRequest, "status")
	}
}

func postBody(k *kit) {
	k.refused(k.companyPath("/broadcast/posts"), postByID, [][2]string{
		{`{"platform":"x"}`, "body"}, {`{"body":"x"}`, "platform"}, {`{"platform":"fax","body":"x"}`, "platform"},
		{`{"platform":"x","body":"x","status":"scheduled"}`, "scheduledFor"}, {`{"platform":"x","body":"x","status":"published"}`, "status"},
		{`{"platform":"x","body":"x","destination":"all"}`, "destination"}, {`{"platform":"x","body":"x","scheduledFor":"soon"}`, "scheduledFor"},
	})
}

func strictBody(k *kit) {
	items, ok := k.items()
	if !ok {
		return
	}
	k.refused(items, itemByID, [][2]string{
		{`{"title":"x","nope":1}`, "nope"}, {`{"title":null}`, "title"}, {`{"title":"x","title":"y"}`, "title"},
		{`{"title":"x"} {}`, "body"}, {`{"title":`, "body"}, {`[]`, "body"}, {"{\"title\":\"\xff\"}", "body"}, {`{"Title":"x"}`, "Title"},
	})
	got := k.do(http.MethodPost, items, `{"title":"x"}`, "Content-Type", "text/plain")
	got.what += " as text/plain"
	k.refusedCreate(got, itemByID, fault.BadRequest, "Content-Type")
}

func nulBody(k *kit) {
	items, ok := k.items()
	if !ok {
		return
	}
	k.refused(items, itemByID, [][2]string{
		{`{"title":"x\u0000"}`, "title"}, {`{"title":"x","summary":"\u0000"}`, "summary"}, {`{"title":"x","categoryIds":["a","\u0000"]}`, "categoryIds[1]"},
	})
	k.is(k.get(items+"?cursor=%00"), fault.BadRequest, "cursor")
}

func largeBody(k *kit) {
	items, ok := k.items()
	if !ok {
		return
	}
	got := k.do(http.MethodPost, items, `{"title":"`+strings.Repeat("x", 256<<10)+`"}`)
	if got.status == http.StatusUnauthorized {
		k.skip("the key lacks plan:write")
		return
	}
	k.is(got, fault.PayloadTooLarge, "")
}

// companyBody sends invalid updates. If the service accepts one, it restores the company's value.
func companyBody(k *kit) {
	before, ok := k.record(k.get(k.companyPath("")))
	if !ok {
		return
	}
	k.checked = 0
	for field, value := range map[string]string{
		"name": `""`, "stage": `"unicorn"`, "targetMarket": `"b2x"`, "websiteUrl": `"not a uri"`, "repositoryUrl": `"//"`, "slug": `"another"`, "summary": `5`,
	} {
		got := k.do(http.MethodPatch, k.companyPath(""), `{"`+field+`":`+value+`}`)
		if got.status == http.StatusUnauthorized {
			k.skip("the key lacks company:write")
			return
		}
		k.is(got, fault.BadRequest, field)
		if old, had := before[field].(string); got.status == http.StatusOK && had {
			text, err := json.Marshal(map[string]string{field: old})
			if restored := k.do(http.MethodPatch, k.companyPath(""), string(text)); err != nil || restored.status != http.StatusOK {
				k.fail("the company's %s was changed and could not be restored to %q", field, old)
			}
		}
	}
}

// writeAccess sends every write, for records that do not exist: without a key, and with another
// company in the path.
func writeAccess(k *kit) {
	for _, op := range functions.Operations(nil) {
		if op.Method == http.MethodGet || optional(op) {
			continue
		}
		body := ""
		if slices.ContainsFunc(op.Input, func(f schema.Field) bool { return f.In == schema.InBody }) {
			body = `{}`
		}
		path := k.invented(op.Path)
		got := k.do(op.Method, path, body, "Authorization", "")
		got.what += " without a key"
		k.is(got, fault.Unauthorised, "")
		k.is(k.do(op.Method, strings.Replace(path, k.company, k.otherID(), 1), body), fault.NotFound, "")
	}
}

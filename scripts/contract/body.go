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

// checkInvalidBodies sends each body and requires an error. An element of bodies is a pair: the
// invalid body, and the field that the error message must name.
func (k *runner) checkInvalidBodies(path, pathPrefix string, bodies [][2]string) {
	for _, b := range bodies {
		got := k.do(http.MethodPost, path, b[0])
		if got.status == http.StatusUnauthorized {
			k.skip("the key may not write here")
			return
		}
		got.request += fmt.Sprintf(" %.60s", b[0])
		k.checkRefusedCreate(got, pathPrefix, fault.BadRequest, b[1])
	}
}

func checkItemBody(k *runner) {
	items, ok := k.itemsPath()
	if !ok {
		return
	}
	k.checkInvalidBodies(items, itemPathPrefix, [][2]string{
		{`{}`, "title"}, {`{"title":""}`, "title"}, {`{"title":5}`, "title"}, {`{"title":"x","status":"live"}`, "status"},
		{`{"title":"x","sortOrder":1.5}`, "sortOrder"}, {`{"title":"x","categoryIds":"a"}`, "categoryIds"},
	})
	if got := k.do(http.MethodPost, items, `{"status":"live"}`); got.status == fault.BadRequest.Status() {
		k.checkError(got, fault.BadRequest, "title")
		k.checkError(got, fault.BadRequest, "status")
	}
}

func checkPostBody(k *runner) {
	k.checkInvalidBodies(k.companyPath("/broadcast/posts"), postPathPrefix, [][2]string{
		{`{"platform":"x"}`, "body"}, {`{"body":"x"}`, "platform"}, {`{"platform":"fax","body":"x"}`, "platform"},
		{`{"platform":"x","body":"x","status":"scheduled"}`, "scheduledFor"}, {`{"platform":"x","body":"x","status":"published"}`, "status"},
		{`{"platform":"x","body":"x","destination":"all"}`, "destination"}, {`{"platform":"x","body":"x","scheduledFor":"soon"}`, "scheduledFor"},
	})
}

func checkStrictBody(k *runner) {
	items, ok := k.itemsPath()
	if !ok {
		return
	}
	k.checkInvalidBodies(items, itemPathPrefix, [][2]string{
		{`{"title":"x","nope":1}`, "nope"}, {`{"title":null}`, "title"}, {`{"title":"x","title":"y"}`, "title"},
		{`{"title":"x"} {}`, "body"}, {`{"title":`, "body"}, {`[]`, "body"}, {"{\"title\":\"\xff\"}", "body"}, {`{"Title":"x"}`, "Title"},
	})
	got := k.do(http.MethodPost, items, `{"title":"x"}`, "Content-Type", "text/plain")
	got.request += " as text/plain"
	k.checkRefusedCreate(got, itemPathPrefix, fault.BadRequest, "Content-Type")
}

func checkNULBody(k *runner) {
	items, ok := k.itemsPath()
	if !ok {
		return
	}
	k.checkInvalidBodies(items, itemPathPrefix, [][2]string{
		{`{"title":"x\u0000"}`, "title"}, {`{"title":"x","summary":"\u0000"}`, "summary"}, {`{"title":"x","categoryIds":["a","\u0000"]}`, "categoryIds[1]"},
	})
	k.checkError(k.get(items+"?cursor=%00"), fault.BadRequest, "cursor")
}

func checkLargeBody(k *runner) {
	items, ok := k.itemsPath()
	if !ok {
		return
	}
	got := k.do(http.MethodPost, items, `{"title":"`+strings.Repeat("x", 256<<10)+`"}`)
	if got.status == http.StatusUnauthorized {
		k.skip("the key lacks plan:write")
		return
	}
	k.checkError(got, fault.PayloadTooLarge, "")
}

// checkCompanyBody sends invalid updates of the company. If the service accepts one by mistake,
// checkCompanyBody restores the previous value.
func checkCompanyBody(k *runner) {
	before, ok := k.checkRecord(k.get(k.companyPath("")))
	if !ok {
		return
	}
	k.checkCount = 0
	for field, value := range map[string]string{
		"name": `""`, "stage": `"unicorn"`, "targetMarket": `"b2x"`, "websiteUrl": `"not a uri"`, "repositoryUrl": `"//"`, "slug": `"another"`, "summary": `5`,
	} {
		got := k.do(http.MethodPatch, k.companyPath(""), `{"`+field+`":`+value+`}`)
		if got.status == http.StatusUnauthorized {
			k.skip("the key lacks company:write")
			return
		}
		k.checkError(got, fault.BadRequest, field)
		if old, isString := before[field].(string); got.status == http.StatusOK && isString {
			text, err := json.Marshal(map[string]string{field: old})
			if restored := k.do(http.MethodPatch, k.companyPath(""), string(text)); err != nil || restored.status != http.StatusOK {
				k.fail("the company's %s was changed and could not be restored to %q", field, old)
			}
		}
	}
}

// checkWriteAccess sends every write without a key, and every write with another company's id in
// the path. The record ids in the paths belong to no record.
func checkWriteAccess(k *runner) {
	for _, op := range functions.Operations(nil) {
		if op.Method == http.MethodGet || isOptional(op) {
			continue
		}
		body := ""
		if slices.ContainsFunc(op.Input, func(f schema.Field) bool { return f.In == schema.InBody }) {
			body = `{}`
		}
		path := k.pathWithUnknownIDs(op.Path)
		got := k.do(op.Method, path, body, "Authorization", "")
		got.request += " without a key"
		k.checkError(got, fault.Unauthorised, "")
		k.checkError(k.do(op.Method, strings.Replace(path, k.company, k.otherCompanyID(), 1), body), fault.NotFound, "")
	}
}

package contract

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"growthworkspace/shared/fault"
)

// checkPublish adds an item to a board and publishes the board. If the preview has an entity tag,
// it publishes with If-Match.
func checkPublish(k *runner) {
	item, ok := k.createItem()
	if !ok {
		return
	}
	defer k.remove(item)
	k.checkRecord(k.do(http.MethodPatch, item.path, `{"status":"published"}`))
	board, _ := k.fillPath("/v1/companies/{companyId}/plan/boards/{boardId}")
	preview := k.do(http.MethodPost, board+"/publish/preview", "")
	k.checkSchema("preview_plan_publish", preview)
	planned, ok := k.checkRecord(preview)
	if !ok {
		return
	}
	if added := fmt.Sprint(planned["added"]); !strings.Contains(added, fmt.Sprint(item.fields["slug"])) {
		k.fail("%s: it does not add %v, but %s", preview.request, item.fields["slug"], added)
	}
	var condition []string
	if tag := preview.header.Get("ETag"); tag != "" {
		condition = []string{"If-Match", tag}
		k.checkError(k.do(http.MethodPost, board+"/publish", "", "If-Match", `"other"`), fault.PreconditionFailed, "")
	}
	publishResponse := k.do(http.MethodPost, board+"/publish", "", condition...)
	k.checkSchema("publish_plan_board", publishResponse)
	version := map[string]any{"publishedVersion": planned["nextVersion"]}
	if result, ok := k.checkRecord(publishResponse); ok {
		k.checkFields(publishResponse.request, result, version)
		k.checkFields(publishResponse.request, result, map[string]any{"changed": true})
	}
	for _, path := range []string{board, item.path} {
		got := k.get(path)
		if record, ok := k.checkRecord(got); ok {
			k.checkFields(got.request+" after the publish", record, version)
		}
	}
}

// checkUpdates updates existing records, one of each kind that can be updated and that no other
// rule creates. It then reads each record again.
func checkUpdates(k *runner) {
	k.checkUpdateOf("update_company", k.companyPath(""), k.companyPath(""), `{"summary":"Résumé of the contract"}`)
	k.checkUpdateOf("update_context_brand_kit", k.companyPath("/context/brand-kit"), k.companyPath("/context/brand-kit"), `{"avoidWords":["synergy"]}`)
	for _, p := range k.discovered {
		for _, record := range p.records() {
			id, _ := record["id"].(string)
			status, _ := record["replyStatus"].(string)
			switch {
			case p.ID == "list_context_content_types":
				k.checkUpdateOf("update_context_content_type", p.path+"/"+id, "", `{"cadence":"weekly"}`)
			case p.ID == "list_feedback" && strings.Contains(" none draft needs_review approved", " "+status):
				k.checkUpdateOf("update_feedback_reply", p.path+"/"+id+"/reply", p.path+"/"+id, `{"replyBody":"Thank you — 谢谢.","replyStatus":"approved"}`)
				k.checkError(k.do(http.MethodPatch, p.path+"/"+id+"/reply", `{"replyStatus":"posted"}`), fault.BadRequest, "replyStatus")
			default:
				continue
			}
			break // one record of each kind is enough
		}
	}
	const summary = "Written by a tool"
	result, err := k.callTool("service_update_company", map[string]any{"summary": summary})
	if err != nil {
		k.fail("%v", err)
		return
	}
	content, _ := result["structuredContent"].(map[string]any)
	k.checkFields("service_update_company", content, map[string]any{"summary": summary})
	if company, ok := k.checkRecord(k.get(k.companyPath(""))); ok {
		k.checkFields("GET after service_update_company", company, map[string]any{"summary": summary})
	}
}

// checkUpdateOf sends an update. It requires that the response has the values in body. Unless
// readPath is empty, a later read must return the same values.
func (k *runner) checkUpdateOf(operation, path, readPath, body string) {
	var want map[string]any
	if err := json.NewDecoder(bytes.NewReader([]byte(body))).Decode(&want); err != nil {
		k.fail("%s: %v", operation, err)
		return
	}
	got := k.do(http.MethodPatch, path, body)
	k.checkSchema(operation, got)
	if record, ok := k.checkRecord(got); ok {
		k.checkFields(got.request, record, want)
	}
	if readPath == "" {
		return
	}
	if record, ok := k.checkRecord(k.get(readPath)); ok {
		k.checkFields(got.request+", read again", record, want)
	}
}

// checkEveryReadHasRecord requires that the company has a record of every kind. Otherwise, the
// rules would check nothing for operations without a record.
func checkEveryReadHasRecord(k *runner) {
	hasFindings := false
	for _, p := range k.discovered {
		k.countCheck()
		if p.reason != "" {
			k.fail("%s", p.reason)
		} else if p.IsList() && !p.IsFeed() && len(p.records()) == 0 { // a feed is empty if nothing has changed
			k.fail("%s: the list is empty", p.request)
		}
		if p.ID != "list_optimise_audits" {
			continue
		}
		for _, audit := range p.records() {
			one, ok := k.checkRecord(k.get(p.path + "/" + fmt.Sprint(audit["id"])))
			hasFindings = hasFindings || ok && one["findings"] != nil
		}
	}
	if !hasFindings {
		k.fail("no audit has findings")
	}
}

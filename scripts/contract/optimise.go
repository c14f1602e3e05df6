package contract

import (
	"net/http"

	"growthworkspace/shared/fault"
)

const sitePathPrefix, auditPathPrefix = "/optimise/sites/", "/optimise/audits/"

// checkSiteLifecycle creates, updates and deletes a site with a goal. It requires that the site's
// key cannot change, and that the goal is deleted with the site.
func checkSiteLifecycle(k *runner) {
	site, ok := k.create(k.companyPath("/optimise/sites"), `{"name":"Conformance check"}`, sitePathPrefix)
	if !ok {
		return
	}
	defer k.remove(site)
	k.checkSchema("create_optimise_site", site.response)
	if siteKey, _ := site.fields["siteKey"].(string); !publicKeyPattern.MatchString(siteKey) {
		k.fail("%s: the site key is %v", site.request, site.fields["siteKey"])
	}
	k.checkUpdate(site, `{"domains":["a.example.com"]}`, "update_optimise_site", map[string]any{
		"name": "Conformance check", "domains": []any{"a.example.com"}, "siteKey": site.fields["siteKey"],
	})
	k.checkError(k.do(http.MethodPatch, site.path, `{"domains":["b.example.com:8080"]}`), fault.BadRequest, "domains[0]")
	const body = `{"name":"Conformance check","kind":"path","matchType":"prefix","pattern":"a("}`
	goal, ok := k.create(site.path+"/goals", body, sitePathPrefix+site.fields["id"].(string)+"/goals/")
	if !ok {
		return
	}
	defer k.remove(goal)
	k.checkSchema("create_optimise_goal", goal.response)
	k.checkError(k.do(http.MethodPatch, goal.path, `{"matchType":"regex"}`), fault.BadRequest, "matchType")
	k.checkUpdate(goal, `{"matchType":"regex","pattern":"a+"}`, "update_optimise_goal", map[string]any{"pattern": "a+", "matchType": "regex", "siteId": site.fields["id"]})
	k.checkDelete(site)
	k.checkError(k.get(goal.path), fault.NotFound, "")
}

// checkAuditLifecycle creates an audit whose status is "running", replaces its findings, completes
// it and deletes it.
func checkAuditLifecycle(k *runner) {
	audit, ok := k.create(k.companyPath("/optimise/audits"), `{"rootUrl":"https://example.com","status":"running","findings":[1]}`, auditPathPrefix)
	if !ok {
		return
	}
	defer k.remove(audit)
	k.checkSchema("create_optimise_audit", audit.response)
	read := k.get(audit.path)
	if before, ok := k.checkRecord(read); ok {
		k.checkFields(read.request, before, map[string]any{"status": "running", "finishedAt": nil, "findings": []any{1.0}})
	}
	if read.header.Get("ETag") != audit.header.Get("ETag") {
		k.fail("%s: the ETag is %s, that of the create %s", read.request, read.header.Get("ETag"), audit.header.Get("ETag"))
	}
	changed := k.do(http.MethodPatch, audit.path, `{"findings":{"pages":2},"status":"complete"}`)
	k.checkSchema("update_optimise_audit", changed)
	after := k.get(audit.path)
	if record, ok := k.checkRecord(after); ok {
		k.checkFields(after.request, record, map[string]any{"status": "complete", "findings": map[string]any{"pages": 2.0}})
		if record["finishedAt"] == nil {
			k.fail("%s: a complete audit has no finishedAt", after.request)
		}
	}
	if after.header.Get("ETag") == read.header.Get("ETag") {
		k.fail("%s: other findings have the same ETag", after.request)
	}
	k.checkError(k.do(http.MethodPatch, audit.path, `{"status":"running"}`), fault.Conflict, "")
	k.checkError(k.do(http.MethodPatch, audit.path, `{"scoreSeo":100.5}`), fault.BadRequest, "scoreSeo")
	k.checkDelete(audit)
}

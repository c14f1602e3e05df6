package contract

import (
	"net/http"

	"growthworkspace/shared/fault"
)

const siteByID, auditByID = "/optimise/sites/", "/optimise/audits/"

// siteLife creates, updates and deletes a site with a goal. A site's key cannot change, and
// deleting a site deletes its goals.
func siteLife(k *kit) {
	site, ok := k.create(k.companyPath("/optimise/sites"), `{"name":"Conformance check"}`, siteByID)
	if !ok {
		return
	}
	defer k.remove(site)
	k.valid("create_optimise_site", site.response)
	if siteKey, _ := site.record["siteKey"].(string); !publicKeyForm.MatchString(siteKey) {
		k.fail("%s: the site key is %v", site.what, site.record["siteKey"])
	}
	k.life(site, `{"domains":["a.example.com"]}`, "update_optimise_site", map[string]any{
		"name": "Conformance check", "domains": []any{"a.example.com"}, "siteKey": site.record["siteKey"],
	})
	k.is(k.do(http.MethodPatch, site.path, `{"domains":["b.example.com:8080"]}`), fault.BadRequest, "domains[0]")
	const body = `{"name":"Conformance check","kind":"path","matchType":"prefix","pattern":"a("}`
	goal, ok := k.create(site.path+"/goals", body, siteByID+site.record["id"].(string)+"/goals/")
	if !ok {
		return
	}
	defer k.remove(goal)
	k.valid("create_optimise_goal", goal.response)
	k.is(k.do(http.MethodPatch, goal.path, `{"matchType":"regex"}`), fault.BadRequest, "matchType")
	k.life(goal, `{"matchType":"regex","pattern":"a+"}`, "update_optimise_goal", map[string]any{"pattern": "a+", "matchType": "regex", "siteId": site.record["id"]})
	k.death(site)
	k.is(k.get(goal.path), fault.NotFound, "")
}

// auditLife creates a running audit, replaces its findings, completes it and deletes it.
func auditLife(k *kit) {
	audit, ok := k.create(k.companyPath("/optimise/audits"), `{"rootUrl":"https://example.com","status":"running","findings":[1]}`, auditByID)
	if !ok {
		return
	}
	defer k.remove(audit)
	k.valid("create_optimise_audit", audit.response)
	read := k.get(audit.path)
	if before, ok := k.record(read); ok {
		k.has(read.what, before, map[string]any{"status": "running", "finishedAt": nil, "findings": []any{1.0}})
	}
	if read.header.Get("ETag") != audit.header.Get("ETag") {
		k.fail("%s: the ETag is %s, that of the create %s", read.what, read.header.Get("ETag"), audit.header.Get("ETag"))
	}
	changed := k.do(http.MethodPatch, audit.path, `{"findings":{"pages":2},"status":"complete"}`)
	k.valid("update_optimise_audit", changed)
	after := k.get(audit.path)
	if record, ok := k.record(after); ok {
		k.has(after.what, record, map[string]any{"status": "complete", "findings": map[string]any{"pages": 2.0}})
		if record["finishedAt"] == nil {
			k.fail("%s: a complete audit has no finishedAt", after.what)
		}
	}
	if after.header.Get("ETag") == read.header.Get("ETag") {
		k.fail("%s: other findings have the same ETag", after.what)
	}
	k.is(k.do(http.MethodPatch, audit.path, `{"status":"running"}`), fault.Conflict, "")
	k.is(k.do(http.MethodPatch, audit.path, `{"scoreSeo":100.5}`), fault.BadRequest, "scoreSeo")
	k.death(audit)
}

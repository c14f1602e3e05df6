package main

// rule is one rule of the contract.
type rule struct {
	name    string
	section string
	title   string
	write   bool // changes records
	run     func(k *kit, r *ruleReport)
}

// rules returns all of them. Those at the end are about every answer that the others got, so they come last.
func rules() []rule {
	return []rule{
		{"one-company", "spec.md, Endpoints: Company", "a key opens exactly one company", false, oneCompany},
		{"list-shape", "spec.md, Endpoints 5", "a list is an object with items and nothing else", false, listShape},
		{"record-fields", "spec.md, Resources", "a record has every field of its table, and no other", false, recordFieldsRule},
		{"record-by-id", "spec.md, Endpoints", "a record reads by its id as it is listed", false, recordByID},
		{"findings-apart", "spec.md, Audit", "findings are in a single audit and in no list", false, findingsApart},
		{"preview-is-dry", "spec.md, States", "a preview of publishing changes nothing", false, previewIsDry},

		{"missing-key", "spec.md, Authentication 7", "without a key every operation is 401", false, withKey("", "no key")},
		{"unknown-key", "spec.md, Authentication 7", "an unknown key is 401", false, withKey("Bearer sk_live_"+nobody, "an unknown key")},
		{"publishable-key", "spec.md, Authentication 4", "a publishable key is refused", false, withKey("Bearer pk_live_"+nobody, "a publishable key")},
		{"other-scheme", "spec.md, Authentication 1", "another scheme than Bearer is 401", false, withKey("Basic c2s6", "the scheme Basic")},
		{"other-company", "spec.md, Endpoints 2", "another company is 404", false, otherCompany},
		{"unknown-record", "spec.md, Errors", "an unknown record is 404, and reads like one of another company", false, unknownRecord},
		{"unknown-path", "spec.md, Errors", "an unknown path is 404", false, unknownPath},
		{"wrong-verb", "spec.md, Errors", "a wrong verb is 405, and Allow lists those that work", false, wrongVerb},

		{"limit-honoured", "spec.md, Limits", "a list has at most limit records", false, limitHonoured},
		{"limit-default", "spec.md, Limits", "without a limit a list has at most the default", false, limitDefault},
		{"limit-bounds", "spec.md, Limits", "a limit outside of its bounds is 400", false, limitBounds(specified)},
		{"limit-bounds-all", "decisions.md §8", "so is one of the other lists", false, limitBounds(notSpecified)},
		{"closed-filters", "spec.md, Errors", "a filter outside of its values is 400", false, closedFilters},
		{"required-parameter", "spec.md, Endpoints: Metrics", "metric points without metricKey are 400", false, requiredParameter},
		{"days", "decisions.md §1", "from and to are days, and from is not after to", false, days},
		{"unknown-parameter", "decisions.md §8", "an unknown or a repeated parameter is 400", false, unknownParameter},
		{"paging", "decisions.md §8", "pages put together are the list", false, paging},
		{"forged-cursor", "decisions.md §8", "a cursor of nobody is 400", false, forgedCursor},

		{"pinned-version", "spec.md, Versioning 2", "the version that is served can be pinned", false, pinnedVersion},
		{"unknown-version", "decisions.md §10", "an unknown version is 400", false, unknownVersion},
		{"head", "decisions.md §1", "HEAD is GET without a body", false, head},
		{"entity-tags", "decisions.md §12", "If-None-Match of an unchanged record is 304", false, entityTags},
		{"quota-headers", "decisions.md §9", "answers say what is left of the quota", false, quotaHeaders},
		{"openapi", "spec.md, the introduction", "/openapi.json describes every operation", false, openapiDocument},
		{"mcp-tools", "spec.md, MCP 1 and 3", "every operation is a tool", false, mcpTools},
		{"mcp-key", "spec.md, MCP 2", "tools need the key", false, mcpKey},
		{"mcp-call", "spec.md, MCP 1", "a tool answers what the operation does", false, mcpCall},

		{"item-life", "spec.md, Endpoints: Plan", "an item is created as a draft, updated and deleted", true, itemLife},
		{"item-body", "spec.md, Errors 2", "a body that breaks the rules is 400 and names the field", true, itemBody},
		{"strict-body", "decisions.md §1", "bodies are strict JSON objects", true, strictBody},
		{"item-slug", "spec.md, Roadmap item", "a slug is frozen, and unique on its board", true, itemSlug},
		{"empty-update", "decisions.md §1", "an empty update changes nothing", true, emptyUpdate},
		{"if-match", "decisions.md §12", "If-Match of another state is 412", true, ifMatch},
		{"idempotency", "decisions.md §12", "a request is done once under one Idempotency-Key", true, idempotencyRule},
		{"post-life", "spec.md, States", "a post is created as a draft, scheduled and deleted", true, postLife},
		{"post-body", "decisions.md §3", "a post is queued with a time, and never sent by hand", true, postBody},
		{"company-body", "spec.md, Endpoints: Company", "an update of the company outside of its constraints is 400", true, companyBody},
		{"large-body", "decisions.md §9", "a body above 256 KB is 413", true, largeBody},
		{"write-access", "spec.md, Endpoints 2", "writes need the key, and its company", true, writeAccess},

		{ruleEnvelope, "spec.md, Errors", "every refusal is the envelope, with the code of its status", false, observedRule(ruleEnvelope)},
		{ruleVersion, "spec.md, Versioning 2", "every answer names the current version", false, observedRule(ruleVersion)},
		{ruleJSON, "spec.md, Endpoints 1", "every body is JSON and says so", false, observedRule(ruleJSON)},
		{ruleRetry, "spec.md, Errors", "a 429 says when to come again", false, observedRule(ruleRetry)},
		{ruleRequestID, "decisions.md §1", "every answer has a request id of its own", false, observedRule(ruleRequestID)},
		{ruleCache, "decisions.md §1", "no answer is kept by a cache", false, observedRule(ruleCache)},
		{ruleChallenge, "decisions.md §6", "a 401 names the scheme", false, observedRule(ruleChallenge)},
	}
}

// nobody is the rest of a key that nobody has. It has no checksum.
const nobody = "0000000000000000000000000000000000000000"

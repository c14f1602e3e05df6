package contract

// level is what a rule needs of a run.
type level int

const (
	reads     level = iota // it changes nothing
	writes                 // it creates, changes and removes records of its own
	publishes              // it publishes a board or changes records for good
	complete               // it is for a company that has a record of every kind
)

// Rule is one rule of the contract.
type Rule struct {
	name    string
	section string
	title   string
	level   level
	run     func(k *kit)
}

// rules are all rules. Those at the end are about every response that the others got, so they come last.
var rules = []Rule{
	{"complete", "spec.md, Endpoints", "every operation that reads has something to read", complete, everyRead},
	{"one-company", "spec.md, Endpoints: Company", "a key opens exactly one company", reads, oneCompany},
	{"list-shape", "spec.md, Endpoints 5", "a list is an object with items and nothing else", reads, listShape},
	{"record-fields", "spec.md, Resources", "a record has every field of its table, and no other", reads, recordFieldsRule},
	{"record-by-id", "spec.md, Endpoints", "a record reads by its id as it is listed", reads, recordByID},
	{"findings-apart", "spec.md, Audit", "findings are in a single audit and in no list", reads, findingsApart},
	{"preview-is-dry", "spec.md, States", "a preview of publishing changes nothing", reads, previewIsDry},

	{"missing-key", "spec.md, Authentication 7", "without a key every operation is 401", reads, withKey("", "no key")},
	{"unknown-key", "spec.md, Authentication 7", "an unknown key is 401", reads, withKey("Bearer sk_live_"+nobody, "an unknown key")},
	{"publishable-key", "spec.md, Authentication 4", "a publishable key is refused", reads, withKey("Bearer pk_live_"+nobody, "a publishable key")},
	{"other-scheme", "spec.md, Authentication 1", "another scheme than Bearer is 401", reads, withKey("Basic c2s6", "the scheme Basic")},
	{"other-company", "spec.md, Endpoints 2", "another company is 404", reads, otherCompany},
	{"unknown-record", "spec.md, Errors", "an unknown record is 404, and reads like one of another company", reads, unknownRecord},
	{"unknown-path", "spec.md, Errors", "an unknown path is 404", reads, unknownPath},
	{"wrong-verb", "spec.md, Errors", "a wrong verb is 405, and Allow lists those that work", reads, wrongVerb},

	{"limit-honoured", "spec.md, Limits", "a list has at most limit records", reads, limitHonoured},
	{"limit-default", "spec.md, Limits", "without a limit a list has at most the default", reads, limitDefault},
	{"limit-bounds", "spec.md, Limits", "a limit outside of its bounds is 400", reads, limitBounds(specified)},
	{"limit-bounds-all", "decisions.md §8", "so is one of the other lists", reads, limitBounds(notSpecified)},
	{"closed-filters", "spec.md, Errors", "a filter outside of its values is 400", reads, closedFilters},
	{"required-parameter", "spec.md, Endpoints: Metrics", "metric points without metricKey are 400", reads, requiredParameter},
	{"days", "decisions.md §1", "from and to are days, and from is not after to", reads, days},
	{"unknown-parameter", "decisions.md §8", "an unknown or a repeated parameter is 400", reads, unknownParameter},
	{"paging", "decisions.md §8", "pages put together are the list", reads, paging},
	{"forged-cursor", "decisions.md §8", "a cursor of nobody is 400", reads, forgedCursor},

	{"pinned-version", "spec.md, Versioning 2", "the version that is served can be pinned", reads, pinnedVersion},
	{"unknown-version", "decisions.md §10", "an unknown version is 400", reads, unknownVersion},
	{"head", "decisions.md §1", "HEAD is GET without a body", reads, head},
	{"entity-tags", "decisions.md §12", "If-None-Match of an unchanged record is 304", reads, entityTags},
	{"quota-headers", "decisions.md §9", "responses say what is left of the quota", reads, quotaHeaders},
	{"openapi", "spec.md, the introduction", "/openapi.json describes every operation", reads, openapiDocument},
	{"mcp-tools", "spec.md, MCP 1 and 3", "every operation is a tool", reads, mcpTools},
	{"mcp-key", "spec.md, MCP 2", "tools need the key", reads, mcpKey},
	{"mcp-call", "spec.md, MCP 1", "a tool returns what the operation does", reads, mcpCall},

	{"item-life", "spec.md, Endpoints: Plan", "an item is created as a draft, updated and deleted", writes, itemLife},
	{"item-body", "spec.md, Errors 2", "a body that breaks the rules is 400 and names the field", writes, itemBody},
	{"strict-body", "decisions.md §1", "bodies are strict JSON objects", writes, strictBody},
	{"item-slug", "spec.md, Roadmap item", "a slug is frozen, and unique on its board", writes, itemSlug},
	{"empty-update", "decisions.md §1", "an empty update changes nothing", writes, emptyUpdate},
	{"if-match", "decisions.md §12", "If-Match of another state is 412", writes, ifMatch},
	{"idempotency", "decisions.md §12", "a request is done once under one Idempotency-Key", writes, idempotencyRule},
	{"post-life", "spec.md, States", "a post is created as a draft, scheduled and deleted", writes, postLife},
	{"post-body", "decisions.md §3", "a post is queued with a time, and never sent by hand", writes, postBody},
	{"company-body", "spec.md, Endpoints: Company", "an update of the company outside of its constraints is 400", writes, companyBody},
	{"large-body", "decisions.md §9", "a body above 256 KB is 413", writes, largeBody},
	{"write-access", "spec.md, Endpoints 2", "writes need the key, and its company", writes, writeAccess},

	{"publish", "spec.md, States", "a publish makes live what its preview shows", publishes, publish},
	{"updates", "spec.md, Endpoints", "updates, by requests and by a tool, are stored", publishes, updates},

	{ruleEnvelope, "spec.md, Errors", "every refusal is the envelope, with the code of its status", reads, observedRule(ruleEnvelope)},
	{ruleVersion, "spec.md, Versioning 2", "every response names the current version", reads, observedRule(ruleVersion)},
	{ruleJSON, "spec.md, Endpoints 1", "every body is JSON and says so", reads, observedRule(ruleJSON)},
	{ruleRetry, "spec.md, Errors", "a 429 says when to come again", reads, observedRule(ruleRetry)},
	{ruleRequestID, "decisions.md §1", "every response has a request id of its own", reads, observedRule(ruleRequestID)},
	{ruleCache, "decisions.md §1", "no response is kept by a cache", reads, observedRule(ruleCache)},
	{ruleChallenge, "decisions.md §6", "a 401 names the scheme", reads, observedRule(ruleChallenge)},
}

// nobody is the rest of a key that nobody has. It has no checksum.
const nobody = "0000000000000000000000000000000000000000"

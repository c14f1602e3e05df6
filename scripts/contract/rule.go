package contract

// level says what a rule does to the company. It determines what the rule needs: permission to
// write, or a company with certain records.
type level int

const (
	reads     level = iota // changes nothing
	writes                 // creates, changes and deletes records of its own
	publishes              // publishes a board or changes existing records
	complete               // needs a company with a record of every kind
)

// The values of Rule.specified: the specification states the rule, or this project added it.
const (
	spec = true
	ours = false
)

// Rule is one rule of the contract.
type Rule struct {
	name      string
	section   string // page#heading in scripts/docs/reference that states the rule
	specified bool   // the specification itself states the rule
	title     string
	level     level
	run       func(k *kit)
}

// rules lists every rule in the order in which they run. The rules of the last group check every
// response that the run has received.
var rules = []Rule{
	{"complete", "operations", spec, "every read operation returns a record", complete, everyRead},
	{"one-company", "keys", spec, "a key opens exactly one company", reads, oneCompany},
	{"list-shape", "requests#responses", spec, "a list is an object with items and nothing else", reads, listShape},
	{"record-fields", "requests#responses", spec, "a record has every field of its type and no other", reads, recordFieldsRule},
	{"record-by-id", "requests#responses", spec, "a record is the same in a list and by its id", reads, recordByID},
	{"findings-apart", "requests#responses", spec, "findings are in a single audit, not in lists", reads, findingsApart},
	{"preview-is-dry", "publish#preview", spec, "a preview of publishing changes nothing", reads, previewIsDry},

	{"missing-key", "errors#codes", spec, "without a key every operation is 401", reads, withKey("", "no key")},
	{"unknown-key", "errors#codes", spec, "an unknown key is 401", reads, withKey("Bearer sk_live_"+nobody, "an unknown key")},
	{"publishable-key", "keys#form", spec, "a publishable key is 401", reads, withKey("Bearer pk_live_"+nobody, "a publishable key")},
	{"other-scheme", "keys", spec, "a scheme other than Bearer is 401", reads, withKey("Basic c2s6", "the scheme Basic")},
	{"other-company", "requests#paths", spec, "another company is 404", reads, otherCompany},
	{"unknown-record", "errors#codes", spec, "an unknown record and one of another company get the same 404", reads, unknownRecord},
	{"unknown-path", "errors#codes", spec, "an unknown path is 404", reads, unknownPath},
	{"wrong-verb", "requests#methods", spec, "a wrong method is 405, and Allow lists the right ones", reads, wrongVerb},

	{"limit-honoured", "lists#limits", spec, "a list has at most limit records", reads, limitHonoured},
	{"limit-default", "lists#limits", spec, "without a limit a list has at most the default", reads, limitDefault},
	{"limit-bounds", "lists#limits", spec, "a limit that is out of range is 400", reads, limitBounds(specified)},
	{"limit-bounds-all", "lists#limits", ours, "a limit that is out of range is 400, in the other lists too", reads, limitBounds(notSpecified)},
	{"closed-filters", "records#closed-lists", spec, "a filter with an unknown value is 400", reads, closedFilters},
	{"required-parameter", "metrics#read-points", spec, "metric points without metricKey are 400", reads, requiredParameter},
	{"days", "requests#times", ours, "from and to are days, and from is not after to", reads, days},
	{"posted-days", "lists#filters", ours, "reviews of posted days are those of the days, newest first", reads, postedDays},
	{"post-days", "lists#filters", ours, "the posts of a day are those of the whole list, in either order", reads, postDays},
	{"unknown-parameter", "requests#bodies", ours, "an unknown or a repeated parameter is 400", reads, unknownParameter},
	{"paging", "lists#paging", ours, "the pages of a list together are the whole list", reads, paging},
	{"forged-cursor", "lists#paging", ours, "a forged cursor is 400", reads, forgedCursor},

	{"pinned-version", "versions#which-version-a-request-gets", spec, "the current version can be pinned", reads, pinnedVersion},
	{"unknown-version", "versions#which-version-a-request-gets", ours, "an unknown version is 400", reads, unknownVersion},
	{"head", "requests#methods", ours, "HEAD is GET without a body", reads, head},
	{"entity-tags", "retries#etag-and-preconditions", ours, "If-None-Match of an unchanged record is 304", reads, entityTags},
	{"quota-headers", "limits#rate-limits", ours, "responses have the RateLimit headers", reads, quotaHeaders},
	{"openapi", "clients#the-openapi-document", spec, "/openapi.json describes every operation", reads, openapiDocument},
	{"openapi-server", "clients#the-openapi-document", ours, "the server in /openapi.json is this one", reads, openapiServer},
	{"mcp-tools", "tools#names-and-arguments", spec, "every operation is a tool", reads, mcpTools},
	{"mcp-key", "tools#connect", spec, "tools need the key", reads, mcpKey},
	{"mcp-call", "tools#results", spec, "a tool returns the same as its operation", reads, mcpCall},
	{"mcp-hints", "tools#annotations", ours, "the hints of a tool say what it does to stored values", reads, mcpHints},
	{"mcp-areas", "tools#areas", ours, "areas in the address of the tools offer their tools only", reads, mcpAreas},
	{"mcp-errors", "tools#results", ours, "the errors of a tool name arguments, the nearest one, and where ids are", reads, mcpErrors},

	{"item-life", "states#items", spec, "an item is created as a draft, updated and deleted", writes, itemLife},
	{"item-body", "errors#codes", spec, "an invalid body is 400, and the message names the field", writes, itemBody},
	{"strict-body", "requests#bodies", ours, "bodies are strict JSON objects", writes, strictBody},
	{"nul", "requests#bodies", ours, "the character U+0000 in a text is 400", writes, nulBody},
	{"slug-scripts", "requests#texts", ours, "a slug is derived from a title of any script", writes, slugScripts},
	{"item-slug", "requests#texts", spec, "a slug never changes and is unique on its board", writes, itemSlug},
	{"empty-update", "requests#bodies", ours, "an empty update changes nothing", writes, emptyUpdate},
	{"null-clears", "requests#bodies", ours, "null clears a property of an update, and is left out in a create", writes, nullClears},
	{"if-match", "retries#etag-and-preconditions", ours, "If-Match with an old ETag is 412", writes, ifMatch},
	{"idempotency", "retries#idempotency-key", ours, "requests with the same Idempotency-Key run once", writes, idempotencyRule},
	{"board-life", "states#boards", ours, "a board is created, updated, and deleted when it has no items", writes, boardLife},
	{"site-life", "records#what-null-clears", ours, "a site keeps its key, and its goals go with it", writes, siteLife},
	{"audit-life", "states#audits", ours, "an audit is stored with its findings, and only a running one changes its status", writes, auditLife},
	{"post-life", "states#posts", spec, "a post is created as a draft, scheduled and deleted", writes, postLife},
	{"goal-life", "records#brand-goal", ours, "a brand goal is created, updated and deleted", writes, goalLife},
	{"idea-life", "records#content-idea", ours, "a content plan and an idea are created, updated and deleted, and a plan does not end before it starts", writes, ideaLife},
	{"post-body", "states#posts", ours, "a post needs a time to be scheduled, and the API cannot mark it as sent", writes, postBody},
	{"post-thread", "states#posts", ours, "a thread on x follows the weights of X and tears no character", writes, postThread},
	{"company-body", "errors#codes", spec, "an invalid update of the company is 400", writes, companyBody},
	{"roll-up", "metrics#roll-up", ours, "a week or month of a metric is what its days say", writes, rollUp},
	{"metric-names", "metrics#two-names-of-a-metric", ours, "a metric has two names, and either can be sent", writes, metricNames},
	{"metric-total", "metrics#one-series-or-the-total", ours, "a list of one series, and of all as one, is what their points say", writes, metricTotal},
	{"metric-life", "metrics#delete-points", ours, "a metric is defined once, its points are deleted and counted, then its definition", writes, metricLife},
	{"metric-definition", "metrics#definitions", ours, "a definition is updated and confirmed, and keeps its key", writes, metricDefinition},
	{"large-body", "limits#sizes", ours, "a body above 256 KB is 413", writes, largeBody},
	{"write-access", "requests#paths", spec, "writes need a key of the company", writes, writeAccess},

	{"push-identity", "feedback#identity", ours, "a review that is pushed again is the same record", publishes, pushIdentity},
	{"refused-push", "retries#idempotency-key", ours, "of different pushes with one Idempotency-Key one is stored", publishes, refusedPush},

	{"publish", "publish#publish", spec, "publishing makes exactly the previewed changes live", publishes, publish},
	{"live-items", "publish#what-is-live", ours, "the live items of a board are those of the last publish", publishes, liveItems},
	{"updates", "operations", spec, "updates are stored, over HTTP and by a tool", publishes, updates},

	{ruleEnvelope, "errors#the-envelope", spec, "every error has the envelope and a code that fits its status", reads, observedRule(ruleEnvelope)},
	{ruleVersion, "requests#headers-of-every-response", spec, "every response names the current version", reads, observedRule(ruleVersion)},
	{ruleJSON, "requests#responses", spec, "every body is JSON, with its Content-Type", reads, observedRule(ruleJSON)},
	{ruleRetry, "limits#rate-limits", spec, "a 429 has a Retry-After", reads, observedRule(ruleRetry)},
	{ruleRequestID, "requests#headers-of-every-response", ours, "every response has a request id of its own", reads, observedRule(ruleRequestID)},
	{ruleCache, "requests#headers-of-every-response", ours, "every response is no-store", reads, observedRule(ruleCache)},
	{ruleChallenge, "errors#codes", ours, "a 401 has WWW-Authenticate", reads, observedRule(ruleChallenge)},
}

// nobody is the rest of a key that does not exist, after the prefix sk_live_ or pk_live_. Its
// checksum is wrong.
const nobody = "0000000000000000000000000000000000000000"

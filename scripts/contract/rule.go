package contract

// ruleLevel says what a rule does to the company or requires of it. A run skips the rule if the
// Options do not allow its level.
type ruleLevel int

const (
	levelReads      ruleLevel = iota // changes nothing
	levelWrites                      // changes only records that it creates, and deletes them
	levelPublishes                   // publishes a board or changes existing records
	levelAllRecords                  // needs a company with a record of every kind
)

// The values of Rule.specified. A specRule is stated by the specification. An ownRule was added by
// this project.
const (
	specRule = true
	ownRule  = false
)

// Rule is one rule of the contract.
type Rule struct {
	name      string
	section   string // the page and heading in scripts/docs/reference that state the rule, as page#heading
	specified bool   // specRule or ownRule
	title     string
	level     ruleLevel
	run       func(k *runner)
}

// rules lists every rule in the order in which the rules run. Those of the last group send no
// requests, but check all responses that the run has received.
var rules = []Rule{
	{"complete", "operations", specRule, "every read operation returns a record", levelAllRecords, checkEveryReadHasRecord},
	{"one-company", "keys", specRule, "a key opens exactly one company", levelReads, checkOnlyOwnCompany},
	{"list-shape", "requests#responses", specRule, "a list is an object with items and nothing else", levelReads, checkListShape},
	{"record-fields", "requests#responses", specRule, "a record has every field of its type and no other", levelReads, checkRecordFields},
	{"record-by-id", "requests#responses", specRule, "a record is the same in a list and by its id", levelReads, checkRecordByID},
	{"findings-apart", "requests#responses", specRule, "findings are in a single audit, not in lists", levelReads, checkFindingsOnlyInGet},
	{"preview-is-dry", "publish#preview", specRule, "a preview of publishing changes nothing", levelReads, checkPreviewChangesNothing},

	{"missing-key", "errors#codes", specRule, "without a key every operation is 401", levelReads, requireUnauthorised("", "no key")},
	{"unknown-key", "errors#codes", specRule, "an unknown key is 401", levelReads, requireUnauthorised("Bearer sk_live_"+unknownKeySuffix, "an unknown key")},
	{"publishable-key", "keys#form", specRule, "a publishable key is 401", levelReads, requireUnauthorised("Bearer pk_live_"+unknownKeySuffix, "a publishable key")},
	{"other-scheme", "keys", specRule, "a scheme other than Bearer is 401", levelReads, requireUnauthorised("Basic c2s6", "the scheme Basic")},
	{"other-company", "requests#paths", specRule, "another company is 404", levelReads, checkOtherCompany},
	{"unknown-record", "errors#codes", specRule, "an unknown record and one of another company get the same 404", levelReads, checkUnknownRecord},
	{"unknown-path", "errors#codes", specRule, "an unknown path is 404", levelReads, checkUnknownPath},
	{"wrong-verb", "requests#methods", specRule, "a wrong method is 405, and Allow lists the right ones", levelReads, checkWrongMethod},

	{"limit-honoured", "lists#limits", specRule, "a list has at most limit records", levelReads, checkLimitHonoured},
	{"limit-default", "lists#limits", specRule, "without a limit a list has at most the default", levelReads, checkLimitDefault},
	{"limit-bounds", "lists#limits", specRule, "a limit that is out of range is 400", levelReads, checkLimitBounds(isSpecifiedList)},
	{"limit-bounds-all", "lists#limits", ownRule, "a limit that is out of range is 400, in the other lists too", levelReads, checkLimitBounds(isUnspecifiedList)},
	{"closed-filters", "records#closed-lists", specRule, "a filter with an unknown value is 400", levelReads, checkClosedFilters},
	{"required-parameter", "metrics#read-points", specRule, "metric points without metricKey are 400", levelReads, checkRequiredParameter},
	{"days", "requests#times", ownRule, "from and to are days, and from is not after to", levelReads, checkDayBounds},
	{"posted-days", "lists#filters", ownRule, "reviews of posted days are those of the days, newest first", levelReads, checkPostedDays},
	{"post-days", "lists#filters", ownRule, "the posts of a day are those of the whole list, in either order", levelReads, checkPostDays},
	{"unknown-parameter", "requests#bodies", ownRule, "an unknown or a repeated parameter is 400", levelReads, checkUnknownParameter},
	{"paging", "lists#paging", ownRule, "the pages of a list together are the whole list", levelReads, checkPaging},
	{"forged-cursor", "lists#paging", ownRule, "a forged cursor is 400", levelReads, checkForgedCursor},

	{"pinned-version", "versions#which-version-a-request-gets", specRule, "the current version can be pinned", levelReads, checkPinnedVersion},
	{"unknown-version", "versions#which-version-a-request-gets", ownRule, "an unknown version is 400", levelReads, checkUnknownVersion},
	{"head", "requests#methods", ownRule, "HEAD is GET without a body", levelReads, checkHeadRequests},
	{"entity-tags", "retries#etag-and-preconditions", ownRule, "If-None-Match of an unchanged record is 304", levelReads, checkEntityTags},
	{"quota-headers", "limits#rate-limits", ownRule, "responses have the RateLimit headers", levelReads, checkQuotaHeaders},
	{"openapi", "clients#the-openapi-document", specRule, "/openapi.json describes every operation", levelReads, checkOpenAPIDocument},
	{"openapi-server", "clients#the-openapi-document", ownRule, "the server in /openapi.json is this one", levelReads, checkOpenAPIServer},
	{"mcp-tools", "tools#names-and-arguments", specRule, "every operation is a tool, but for those that send", levelReads, checkMCPTools},
	{"mcp-key", "tools#connect", specRule, "tools need the key", levelReads, checkMCPKey},
	{"mcp-call", "tools#results", specRule, "a tool returns the same as its operation", levelReads, checkMCPCall},
	{"mcp-hints", "tools#annotations", ownRule, "the hints of a tool say what it does to stored values", levelReads, checkMCPHints},
	{"mcp-areas", "tools#areas", ownRule, "areas in the address of the tools offer their tools only", levelReads, checkMCPAreas},
	{"mcp-errors", "tools#results", ownRule, "the errors of a tool name arguments, the nearest one, and where ids are", levelReads, checkMCPErrors},

	{"item-life", "states#items", specRule, "an item is created as a draft, updated and deleted", levelWrites, checkItemLifecycle},
	{"item-body", "errors#codes", specRule, "an invalid body is 400, and the message names the field", levelWrites, checkItemBody},
	{"strict-body", "requests#bodies", ownRule, "bodies are strict JSON objects", levelWrites, checkStrictBody},
	{"nul", "requests#bodies", ownRule, "the character U+0000 in a text is 400", levelWrites, checkNULBody},
	{"slug-scripts", "requests#texts", ownRule, "a slug is derived from a title of any script", levelWrites, checkSlugScripts},
	{"item-slug", "requests#texts", specRule, "a slug never changes and is unique on its board", levelWrites, checkItemSlug},
	{"empty-update", "requests#bodies", ownRule, "an empty update changes nothing", levelWrites, checkEmptyUpdate},
	{"null-clears", "requests#bodies", ownRule, "null clears a property of an update, and is left out in a create", levelWrites, checkNullClears},
	{"if-match", "retries#etag-and-preconditions", ownRule, "If-Match with an old ETag is 412", levelWrites, checkIfMatch},
	{"idempotency", "retries#idempotency-key", ownRule, "requests with the same Idempotency-Key run once", levelWrites, checkIdempotency},
	{"board-life", "states#boards", ownRule, "a board is created, updated, and deleted when it has no items", levelWrites, checkBoardLifecycle},
	{"site-life", "records#what-null-clears", ownRule, "a site keeps its key, and its goals go with it", levelWrites, checkSiteLifecycle},
	{"audit-life", "states#audits", ownRule, "an audit is stored with its findings, and only a running one changes its status", levelWrites, checkAuditLifecycle},
	{"post-life", "states#posts", specRule, "a post is created as a draft, scheduled and deleted", levelWrites, checkPostLifecycle},
	{"goal-life", "records#brand-goal", ownRule, "a brand goal is created, updated and deleted", levelWrites, checkGoalLifecycle},
	{"idea-life", "records#content-idea", ownRule, "a content plan and an idea are created, updated and deleted, and a plan does not end before it starts", levelWrites, checkIdeaLifecycle},
	{"post-body", "states#posts", ownRule, "a post needs a time to be scheduled, and the API cannot mark it as sent", levelWrites, checkPostBody},
	{"post-thread", "states#posts", ownRule, "a thread on x follows the weights of X and tears no character", levelWrites, checkPostThread},
	{"company-body", "errors#codes", specRule, "an invalid update of the company is 400", levelWrites, checkCompanyBody},
	{"roll-up", "metrics#roll-up", ownRule, "a week or month of a metric is what its days say", levelWrites, checkRollup},
	{"metric-names", "metrics#two-names-of-a-metric", ownRule, "a metric has two names, and either can be sent", levelWrites, checkMetricNames},
	{"metric-total", "metrics#one-series-or-the-total", ownRule, "a list of one series, and of all as one, is what their points say", levelWrites, checkMetricTotal},
	{"metric-life", "metrics#delete-points", ownRule, "a metric is defined once, its points are deleted and counted, then its definition", levelWrites, checkMetricLifecycle},
	{"metric-definition", "metrics#definitions", ownRule, "a definition is updated and confirmed, and keeps its key", levelWrites, checkMetricDefinition},
	{"large-body", "limits#sizes", ownRule, "a body above 256 KB is 413", levelWrites, checkLargeBody},
	{"write-access", "requests#paths", specRule, "writes need a key of the company", levelWrites, checkWriteAccess},

	{"push-identity", "feedback#identity", ownRule, "a review that is pushed again is the same record", levelPublishes, checkPushIdentity},
	{"refused-push", "retries#idempotency-key", ownRule, "of different pushes with one Idempotency-Key one is stored", levelPublishes, checkRefusedPush},

	{"publish", "publish#publish", specRule, "publishing makes exactly the previewed changes live", levelPublishes, checkPublish},
	{"live-items", "publish#what-is-live", ownRule, "the live items of a board are those of the last publish", levelPublishes, checkLiveItems},
	{"updates", "operations", specRule, "updates are stored, over HTTP and by a tool", levelPublishes, checkUpdates},

	{ruleEnvelope, "errors#the-envelope", specRule, "every error has the envelope and a code that fits its status", levelReads, observedRule(ruleEnvelope)},
	{ruleVersion, "requests#headers-of-every-response", specRule, "every response names the current version", levelReads, observedRule(ruleVersion)},
	{ruleJSON, "requests#responses", specRule, "every body is JSON, with its Content-Type", levelReads, observedRule(ruleJSON)},
	{ruleRetry, "limits#rate-limits", specRule, "a 429 has a Retry-After", levelReads, observedRule(ruleRetry)},
	{ruleRequestID, "requests#headers-of-every-response", ownRule, "every response has a request id of its own", levelReads, observedRule(ruleRequestID)},
	{ruleCache, "requests#headers-of-every-response", ownRule, "every response is no-store", levelReads, observedRule(ruleCache)},
	{ruleChallenge, "errors#codes", ownRule, "a 401 has WWW-Authenticate", levelReads, observedRule(ruleChallenge)},
}

// unknownKeySuffix follows the prefix sk_live_ or pk_live_ in a key that does not exist. Its
// checksum is wrong.
const unknownKeySuffix = "0000000000000000000000000000000000000000"

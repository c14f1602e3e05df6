package openapi

import (
	"fmt"
	"strings"

	"growthworkspace/shared/auth"
	"growthworkspace/shared/fault"
)

func documentInfo() info {
	return info{
		Title: "Company Growth Workspace API", Version: semanticVersion(fault.Version), Date: fault.Version,
		Summary:     "One company's roadmap boards, customer feedback, metrics, site audits, posts and brand context.",
		Description: documentDescription(),
		Contact:     contact{"The maintainers"},
		License:     license{"Apache License 2.0", "Apache-2.0"},
	}
}

// semanticVersion converts the date of an API version to the version of the generated client
// packages, such as "2026-08-11" to "2026.8.11". The result is valid as a semantic version and as a
// Python version.
func semanticVersion(date string) string {
	return strings.ReplaceAll(strings.ReplaceAll(date, "-0", "-"), "-", ".")
}

// documentDescription returns the introduction of the document. The numbers and lists in it come
// from the code that enforces them.
func documentDescription() string {
	var refusals, quotas []string
	for _, code := range Codes() {
		refusals = append(refusals, fmt.Sprintf("| `%s` | %d | %s |", code, code.Status(), errorTexts[code].meaning))
	}
	for _, class := range auth.Classes() {
		quotas = append(quotas, fmt.Sprintf("`%s` %d", class, auth.DefaultQuota(class)))
	}
	return strings.NewReplacer(
		"{prefix}", auth.SecretPrefix, "{version}", fault.Version, "{refusals}", strings.Join(refusals, "\n"),
		"{quotas}", strings.Join(quotas, ", "), "{window}", fmt.Sprint(int(auth.QuotaWindow.Seconds())),
	).Replace(strings.TrimSpace(introduction))
}

const introduction = `
The operations of the company's own app, for scripts, CI jobs and AI tools. Writes only store records: other systems send
scheduled posts and approved replies. Every operation is also an MCP tool at ` + "`/mcp`" + `, except creating and rotating keys. The
tool's name is ` + "`service_`" + ` and the operationId.

## Authentication

Send a secret key with every request: ` + "`Authorization: Bearer {prefix}…`" + `. Keep keys on servers, never in a browser or a
repository. Publishable keys (` + "`pk_live_…`" + `) are refused. A key has scopes; each operation needs at most one, here as ` + "`x-scope`" + `.
With the smaller ` + "`x-draft-scope`" + `, a key can write drafts, on which a key with ` + "`x-scope`" + ` decides: ` + "`feedback:write`" + ` contains
` + "`feedback:draft`" + `, which contains ` + "`feedback:read`" + `; the scopes of ` + "`broadcast`" + ` likewise.
To rotate a key, issue a new one, move the integration, then revoke the old one. Both work in the meantime.

## One key, one company

` + "`{companyId}`" + ` in a path is the id of the key's company, from ` + "`GET /v1/companies`" + `. Any other id is ` + "`not_found`" + `, the same as a
record that does not exist.

## Requests

Bodies are JSON objects with ` + "`Content-Type: application/json`" + `, at most 256 KB unless the operation names another
limit. Unknown and repeated properties are rejected.
An update changes only the properties that it sends, and ` + "`updatedAt`" + ` only when a value changes. In an update ` + "`null`" + ` clears a
property that says so; in a create it is the same as leaving the property out. Unknown and repeated query parameters are
rejected. Times are RFC 3339 with any
offset. Ids are opaque.

## Responses

Every success is 200 with a JSON body that has exactly the fields of its schema. An unknown value is null. Times are UTC with
milliseconds: ` + "`2026-08-11T09:30:00.000Z`" + `. HEAD responds as GET does, without the body. Responses must not be cached
(` + "`Cache-Control: no-store`" + `). ` + "`Service-Request-Id`" + ` is the request's id.

New fields and operations ship without notice: a client must ignore fields that it does not know, although the schemas
here are closed.

## Errors

Every error response is an object with ` + "`errors`" + `, a list of entries with ` + "`code`" + ` and ` + "`message`" + `. Branch on the code, never on
the message. All validation errors of a request are returned at once, each prefixed with the field's path.

| Code | Status | Meaning |
|---|---|---|
{refusals}

## Lists

A list is ` + "`{\"items\": […]}`" + `. ` + "`limit`" + ` is the maximum page size. With ` + "`Service-Has-More: true`" + ` there is a next page, and the
header ` + "`Link`" + ` has its URL, ` + "`<…>; rel=\"next\"`" + `. The ` + "`cursor`" + ` in it is valid only for this list with these filters.

## Rate limits

Requests per {window} seconds and key: {quotas}. Each operation uses one of these quotas, here as ` + "`x-quota`" + `. They refill
evenly. The operator can change them for a key. The ` + "`RateLimit-*`" + ` headers show how much is left. After a 429, wait the
seconds in ` + "`Retry-After`" + `.

## Retries

A request without a response may have taken effect. Reads, updates and publishing are safe to retry: a repeat changes
nothing. A repeated delete is ` + "`not_found`" + `. A repeated create creates another record, unless it has an ` + "`Idempotency-Key`" + `, a
text of up to 255 characters that you choose. For 24 hours, a repeat of the request with the same key is not executed again:
it gets the stored response with ` + "`Idempotent-Replayed: true`" + `. Errors of the record's state are stored too. A different request
with the same key is rejected. Every POST that changes something accepts this header. 429, 500 and 503 are safe to retry after the
seconds in ` + "`Retry-After`" + `.

## Concurrency

The response of a single record has an ` + "`ETag`" + `. A GET with ` + "`If-None-Match`" + ` responds 304 while the record is unchanged. An
update or delete with ` + "`If-Match`" + ` succeeds only if the record is unchanged since you read it. Otherwise it is
` + "`precondition_failed`" + ` and nothing changes: read the record again and decide. Without ` + "`If-Match`" + `, the last update of each
property wins.

## Versions

The current version is {version}; every response has it in ` + "`Service-Version`" + `. Send the header to pin a version. An unknown
date is rejected with the list of supported ones. Breaking changes get a new date, and a version is served for at least 24
months after its successor.
`

// errorTexts maps each error code to its meaning and an example message. See
// scripts/docs/reference/errors.md.
var errorTexts = map[fault.Code]struct{ meaning, message string }{
	fault.BadRequest:         {"the request is not valid; the message names the field", "body.title: must not be empty"},
	fault.Unauthorised:       {"the key is missing, unknown, revoked or expired, or it lacks the scope", "missing, unknown or revoked key; send Authorization: Bearer <secret key>"},
	fault.Forbidden:          {"the operator has suspended the company or the key, or frozen the operation's quota for the key", "the company or the key is suspended by the operator"},
	fault.NotFound:           {"no such path, no such record, or a record that the key cannot reach", "no such record"},
	fault.MethodNotAllowed:   {"the path exists; the response header Allow lists its methods", "this path accepts GET, HEAD"},
	fault.Conflict:           {"the record's state does not allow the change; the message says why", "the post is published; only unsent posts can be edited or deleted"},
	fault.PreconditionFailed: {"the record, or the content of a preview, has changed since the ETag in If-Match", "header.If-Match: the record has changed since; read it again"},
	fault.PayloadTooLarge:    {"the body is too large", "body: must have at most 262144 bytes"},
	fault.RateLimited:        {"too many requests; wait the seconds in the response header Retry-After", "too many read requests; retry after the seconds in Retry-After"},
	fault.Internal:           {"a fault of the service; safe to retry after the seconds in the response header Retry-After", "internal error; safe to retry"},
	fault.NotImplemented:     {"this deployment does not have what the operation needs; a retry gets the same response", "the table has no stream, so the changes of records are not known here"},
	fault.Unavailable:        {"the service has too many requests at the moment; wait the seconds in the response header Retry-After", fault.ErrUnavailable.Messages[0]},
}

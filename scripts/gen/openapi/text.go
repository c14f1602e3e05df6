package openapi

import (
	"fmt"
	"strings"

	"growthworkspace/shared/auth"
	"growthworkspace/shared/fault"
	"growthworkspace/shared/version"
)

func information() info {
	return info{
		Title: "Company Growth Workspace API", Version: version.Current,
		Summary:     "One company's roadmap boards, customer feedback, metrics, site audits, posts and brand context.",
		Description: description(),
		Contact:     contact{"The maintainers"},
		License:     license{"Apache License 2.0", "Apache-2.0"},
	}
}

// description is what a developer reads first. Numbers and lists in it are taken from the code that applies them.
func description() string {
	var refusals, quotas []string
	for _, code := range codes() {
		refusals = append(refusals, fmt.Sprintf("| `%s` | %d | %s |", code, code.Status(), refusalTexts[code].meaning))
	}
	for _, class := range auth.Classes() {
		quotas = append(quotas, fmt.Sprintf("`%s` %d", class, auth.DefaultQuota(class)))
	}
	return strings.NewReplacer(
		"{prefix}", auth.SecretPrefix, "{version}", version.Current, "{refusals}", strings.Join(refusals, "\n"),
		"{quotas}", strings.Join(quotas, ", "), "{window}", fmt.Sprint(int(auth.QuotaWindow.Seconds())),
	).Replace(strings.TrimSpace(guide))
}

const guide = `
Everything that the company's own app can do, for scripts, CI jobs and AI tools. Writes store records and send nothing:
posts that are scheduled and replies that are approved are picked up by systems outside of this API. The operations are
MCP tools, too, at ` + "`/mcp`" + `: a tool's name is the operationId with the prefix ` + "`service_`" + `.

## Authentication

Send a secret key with every request: ` + "`Authorization: Bearer {prefix}…`" + `. A key belongs on a server, never into a
browser or a repository. Publishable keys (` + "`pk_live_…`" + `) are refused. A key holds scopes; each operation names the one
that it needs, here as ` + "`x-scope`" + `. To rotate a key, issue a new one, move the integration, then revoke the old one: both
work meanwhile.

## One key, one company

` + "`{companyId}`" + ` in a path is the id of the key's company, which ` + "`GET /v1/companies`" + ` lists. Any other id is ` + "`not_found`" + `,
exactly as a record that does not exist.

## Requests

Bodies are JSON objects with ` + "`Content-Type: application/json`" + `, at most 256 KB. Unknown and repeated properties are
refused, and so is null: clear a text with ` + "`\"\"`" + `, an array with ` + "`[]`" + `. An update changes the properties that it sends;
` + "`updatedAt`" + ` moves only when a value does. Unknown and repeated query parameters are refused. Times are RFC 3339
with any offset. Ids are opaque.

## Responses

Every success is 200 with a JSON body that has exactly the fields of its schema, null where a value is unknown. Times are
UTC with milliseconds: ` + "`2026-08-11T09:30:00.000Z`" + `. HEAD answers as GET does, without the body. Answers are not to be
cached (` + "`Cache-Control: no-store`" + `). ` + "`Service-Request-Id`" + ` names the request.

New fields and operations ship without notice: a client must ignore fields that it does not know, although the schemas
here are closed.

## Errors

Every failure is an object with ` + "`errors`" + `, a list of entries with ` + "`code`" + ` and ` + "`message`" + `. Branch on the code, never on
the message. What is wrong with a request is listed in one answer, each message beginning with the place of the field.

| Code | Status | Meaning |
|---|---|---|
{refusals}

## Lists

A list is ` + "`{\"items\": […]}`" + `. ` + "`limit`" + ` bounds the page. ` + "`Service-Has-More: true`" + ` says that the list goes on; the header
` + "`Link`" + ` then has the address of the next page, ` + "`<…>; rel=\"next\"`" + `, with a ` + "`cursor`" + ` that holds for this list with these filters
only.

## Rate limits

Requests per {window} seconds and key: {quotas}. Each operation counts in one of these quotas, here as ` + "`x-quota`" + `;
they refill evenly, and the operator can set others for a key. The ` + "`RateLimit-*`" + ` headers tell how much is left. After a 429
wait for the seconds of ` + "`Retry-After`" + `.

## Retries

A request without an answer may have taken effect. Reads, updates and publishing are safe to send again: the second time
nothing changes. A delete sent again is ` + "`not_found`" + `. A create sent again creates again, unless it carries an
` + "`Idempotency-Key`" + `, a text of your own of up to 255 characters: for 24 hours the same request under the same key is not
done again but answered as the first time, with ` + "`Idempotent-Replayed: true`" + `, refusals of the record's state included. Another
request under the same key is refused. Every POST that changes something takes one. 429 and 500 are safe to retry.

## Changes by others

The answer with a single record has an ` + "`ETag`" + `. A GET with ` + "`If-None-Match`" + ` answers 304 while the record is the same. An update or
a delete with ` + "`If-Match`" + ` is done only if the record still is the one that you read, else it is ` + "`precondition_failed`" + ` and nothing
is changed: read it again, decide again. Without it the later of two updates wins, property by property.

## Versions

The current version is {version}; ` + "`Service-Version`" + ` says so on every response. Send the header to pin a version: an
unknown date is refused with the list of supported ones. Breaking changes get a new date, and a version is served for at least
24 months after its successor.
`

// refusalTexts are what the codes mean (spec.md, Errors; decisions.md §11), and a message as an example.
var refusalTexts = map[fault.Code]struct{ meaning, message string }{
	fault.BadRequest:         {"the request did not validate; the message names the field", "body.title: must have at least 1 characters"},
	fault.Unauthorised:       {"missing, unknown or revoked key, or a scope not held", "missing, unknown or revoked key; send Authorization: Bearer <secret key>"},
	fault.Forbidden:          {"the company or the key is suspended by the operator", "the company or the key is suspended by the operator"},
	fault.NotFound:           {"no such record, or one the key cannot reach; the two cases are deliberately indistinguishable", "no such record"},
	fault.MethodNotAllowed:   {"right path, wrong verb; the Allow response header lists the working verbs", "this path accepts GET, HEAD"},
	fault.Conflict:           {"the state of the record does not allow it; the message says why", "the post is published; only unsent posts can be edited or deleted"},
	fault.PreconditionFailed: {"If-Match names a state that has changed since", "header.If-Match: the record has changed since; read it again"},
	fault.PayloadTooLarge:    {"the body is too large", "body: must have at most 262144 bytes"},
	fault.RateLimited:        {"too many requests; the Retry-After response header says how long to wait", "too many read requests; retry after the seconds in Retry-After"},
	fault.Internal:           {"server fault; safe to retry", "internal error; safe to retry"},
}

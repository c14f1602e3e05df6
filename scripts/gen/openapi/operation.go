package openapi

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"growthworkspace/shared/api"
	"growthworkspace/shared/fault"
	"growthworkspace/shared/schema"
	"growthworkspace/shared/schema/jsonschema"
)

func (b *builder) operation(op api.Operation) operation {
	out := operation{
		ID: op.ID, Tags: []string{op.Area}, Summary: op.Summary, Description: operationDescription(op),
		Scope: string(op.Scope), DraftScope: string(op.DraftScope), Quota: string(op.Class), Parameters: b.parameters(op),
	}
	success := b.successResponse(op)
	if body := b.addBody(op); body != nil {
		out.RequestBody = &requestBody{Required: op.BodyRequired(), Content: jsonContent(mediaType{body, b.bodyExample(op)})}
	}
	out.Responses.set("200", success)
	if hasNotModified(op) {
		out.Responses.set("304", refTo("responses", notModifiedResponse))
		b.usedSourceEntries["304"] = true
	}
	for _, code := range errorCodesOf(op) {
		b.usedSourceEntries["refusal."+string(code)] = true
		out.Responses.set(strconv.Itoa(code.Status()), refTo("responses", pascal(string(code))))
	}
	out.Responses.set("default", refTo("responses", otherError))
	return out
}

// operationDescription returns the description of an operation. It includes the scopes and the
// quota, because rendered pages do not show the extensions x-scope, x-draft-scope and x-quota.
func operationDescription(op api.Operation) string {
	text := op.Description
	if text != "" {
		text += "\n\n"
	}
	scope := "Accepts any valid key"
	if op.Scope != "" {
		scope = fmt.Sprintf("Needs the scope `%s`", op.Scope)
	}
	if op.DraftScope != "" {
		scope += fmt.Sprintf("; for a draft, the scope `%s`", op.DraftScope)
	}
	text += fmt.Sprintf("%s. Uses the quota `%s`.", scope, op.Class)
	if op.BodyBytesMax > 0 {
		text += fmt.Sprintf(" The body may have %d bytes.", op.BodyLimit())
	}
	return text
}

// hasNotModified reports whether an operation can respond with 304. It can if it is a read whose
// record has an entity tag.
func hasNotModified(op api.Operation) bool { return op.Method == http.MethodGet && op.HasETag() }

// errorCodesOf returns the error codes that an operation can return, sorted by status and without
// duplicates.
func errorCodesOf(op api.Operation) []fault.Code {
	codes := []fault.Code{fault.BadRequest, fault.Unauthorised, fault.Forbidden, fault.NotFound, fault.RateLimited}
	for _, f := range op.Input {
		switch {
		case f.In == schema.InHeader && f.Name == "If-Match":
			codes = append(codes, fault.PreconditionFailed)
		case f.In == schema.InBody:
			codes = append(codes, fault.PayloadTooLarge)
		}
	}
	if op.IdempotencyKey != nil {
		codes = append(codes, fault.Conflict) // returned if the stored response to an earlier request cannot be read
	}
	codes = append(codes, op.Errors...)
	slices.SortFunc(codes, func(a, b fault.Code) int { return a.Status() - b.Status() })
	return slices.Compact(codes)
}

func (b *builder) parameters(op api.Operation) []any {
	var out []any
	if op.HasCompanyID() {
		out = append(out, refTo("parameters", companyParameter))
	}
	for _, f := range op.Input {
		if f.In == schema.InBody {
			continue
		}
		p := parameter{
			Name: f.Name, In: string(f.In), Required: f.Required, Description: f.Description(), Schema: addFormatsAndDescriptions(jsonschema.Parameter(f, b.refer)),
			Example: b.parameterExample(op, f),
		}
		p.Schema.Description = "" // do not repeat the description of the parameter
		if p.Description == "" && f.In == schema.InPath {
			p.Description = "the id of the " + splitCamelCase(strings.TrimSuffix(f.Name, "Id"))
		}
		out = append(out, p)
	}
	if hasNotModified(op) {
		out = append(out, refTo("parameters", ifNoneMatchHeader))
	}
	return append(out, refTo("parameters", versionHeader))
}

// successResponse returns the response with status 200, and adds the components to which it refers.
func (b *builder) successResponse(op api.Operation) response {
	headers := []string{versionHeader, requestIDHeader}
	headers = append(headers, quotaHeaders...)
	out := response{Description: "The record."}
	t, name := op.Output, ""
	if op.IsList() {
		out.Description = "A page of the list."
		headers = append(headers, hasMoreHeader, linkHeader)
		if op.IsFeed() {
			headers[len(headers)-1] = afterHeader
		}
		name = b.addRecordType(t.Field(0).Type.Elem()) + "List"
		b.addRecord(name, t)
	} else {
		name = b.addRecordType(t)
	}
	if op.IsPartial() {
		headers = append(headers, hasMoreHeader)
	}
	if op.HasETag() {
		headers = append(headers, tagHeader)
	}
	if op.IdempotencyKey != nil {
		headers = append(headers, replayedHeader)
	}
	for _, h := range headers {
		out.Headers.set(h, refTo("headers", h))
	}
	if text := b.source.Records[name].Description; text != "" && !op.IsList() {
		out.Description = text
	}
	out.Content = jsonContent(mediaType{refTo("schemas", name), b.responseExample(op)})
	return out
}

// splitCamelCase separates the words of a name in camel case with spaces. For example, it converts
// "contentType" to "content type".
func splitCamelCase(camel string) string {
	var out strings.Builder
	for _, c := range camel {
		if unicode.IsUpper(c) {
			out.WriteByte(' ')
		}
		out.WriteRune(unicode.ToLower(c))
	}
	return out.String()
}

// commonDescriptions describes properties that mean the same in every record. These properties have
// no doc tag, because Go code and tools do not need their descriptions.
var commonDescriptions = map[string]string{
	"id": "the record's id", "companyId": "the company's id", "items": "the records of the page, in the order of the list",
	"createdAt": "when the record was created", "updatedAt": "when a value last changed", "name": "the display name",
	"title": "the title", "summary": "a short summary",
}

// addFormatsAndDescriptions adds a format to each number in a schema. Without it, client generators
// choose types that are too narrow. It also adds commonDescriptions.
func addFormatsAndDescriptions(s *jsonschema.Schema) *jsonschema.Schema {
	if s == nil {
		return nil
	}
	switch {
	case s.Type == "number" || slices.Contains(s.Types, "number"):
		s.Format = "double"
	case s.Type == "integer" || slices.Contains(s.Types, "integer"):
		s.Format = "int64"
	}
	for _, name := range s.PropertyOrder {
		p := addFormatsAndDescriptions(s.Properties[name])
		if p.Description == "" && p.Ref == "" {
			p.Description = commonDescriptions[name]
		}
	}
	addFormatsAndDescriptions(s.Items)
	return s
}

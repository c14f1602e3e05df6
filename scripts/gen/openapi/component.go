package openapi

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	"growthworkspace/shared/api"
	"growthworkspace/shared/auth"
	"growthworkspace/shared/change"
	"growthworkspace/shared/fault"
	"growthworkspace/shared/schema"
	"growthworkspace/shared/schema/jsonschema"
)

// The names of the OpenAPI components that operations share. The component of a header has the
// header's name.
const (
	securityScheme      = "secretKey"
	companyParameter    = "companyId"
	versionHeader       = "Service-Version"
	requestIDHeader     = "Service-Request-Id"
	hasMoreHeader       = "Service-Has-More"
	afterHeader         = "Service-After"
	linkHeader          = "Link"
	tagHeader           = "ETag"
	ifNoneMatchHeader   = "If-None-Match"
	notModifiedResponse = "NotModified"
	otherError          = "Error"
	replayedHeader      = "Idempotent-Replayed"
	retryHeader         = "Retry-After"
	authenticateHeader  = "WWW-Authenticate"
	envelopeSchema      = "ErrorEnvelope"
	entrySchema         = "ErrorEntry"
	codeSchema          = "ErrorCode"
	versionSchema       = "ServiceVersion"
)

var quotaHeaders = []string{"RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset", "RateLimit-Policy", "RateLimit"}

// addRecordType adds a record and the types of its fields to the components. It returns the name of
// the record's component.
func (b *builder) addRecordType(t reflect.Type) string {
	b.addRecord(t.Name(), t)
	return t.Name()
}

func (b *builder) addRecord(name string, t reflect.Type) {
	if !b.addComponent(name, t) {
		return
	}
	b.schemas.set(name, nil) // reserve its place in front of the types of its fields
	s := jsonschema.Record(t, b.refer)
	s.Description = b.source.Records[name].Description
	b.usedSourceEntries["records."+name] = true
	b.schemas.set(name, addFormatsAndDescriptions(s))
}

// addComponent registers a type under the name of its component, and reports whether the name is
// new. If the name belongs to a different type, it adds a problem.
func (b *builder) addComponent(name string, t reflect.Type) bool {
	known, ok := b.types[name]
	if ok && known != t {
		b.problem("%v and %v are both called %s", known, t, name) // a body has no type, so %v prints <nil>
	}
	b.types[name] = t
	return !ok
}

// refer adds the type of a field to the components and returns a reference to it. The type is a
// record or a closed list of values.
func (b *builder) refer(t reflect.Type) *jsonschema.Schema {
	enum, ok := reflect.Zero(t).Interface().(schema.Enum)
	if !ok {
		return component(b.addRecordType(t))
	}
	name := EnumName(t)
	if b.addComponent(name, t) {
		b.schemas.set(name, enumSchema(enum.Values()...))
	}
	return component(name)
}

// addBody adds the body of an operation, and the types in it, to the components. It returns a
// reference to the body, or nil if the operation has none.
func (b *builder) addBody(op api.Operation) *jsonschema.Schema {
	s := jsonschema.Body(op.Input, func(t reflect.Type) *jsonschema.Schema {
		for _, f := range op.Input {
			if f.Fields != nil && f.Type == t {
				return b.addInput(ElementName(op.ID, f.Name), t, jsonschema.Body(f.Fields, b.refer))
			}
		}
		return b.refer(t)
	})
	if s == nil {
		return nil
	}
	return b.addInput(pascal(op.ID), nil, s)
}

// addInput adds the schema of a body, or of an object in a body, to the components.
func (b *builder) addInput(name string, t reflect.Type, s *jsonschema.Schema) *jsonschema.Schema {
	if b.addComponent(name, t) {
		b.schemas.set(name, addFormatsAndDescriptions(s))
	}
	return component(name)
}

// EnumName returns the name of a closed list of values (an enum type) in the OpenAPI document and
// in the Go client. It consists of the area and the name of the Go type, because several areas have
// a type named Status.
func EnumName(t reflect.Type) string {
	if area, ok := strings.CutPrefix(t.PkgPath(), "growthworkspace/functions/"); ok {
		return pascal(area) + t.Name()
	}
	if t.PkgPath() == reflect.TypeFor[change.Type]().PkgPath() {
		return "Change" + t.Name()
	}
	return t.Name()
}

// ElementName returns the type name for the elements of an array field, in the OpenAPI document and
// in the Go client. For example, an element of the points field of push_metric_points is a
// PushMetricPointsPoint.
func ElementName(operation, field string) string {
	return pascal(operation) + strings.TrimSuffix(pascal(field), "s")
}

func component(name string) *jsonschema.Schema {
	return &jsonschema.Schema{Ref: refTo("schemas", name).Ref}
}

func enumSchema(values ...string) *jsonschema.Schema {
	s := &jsonschema.Schema{Type: "string"}
	for _, v := range values {
		s.Enum = append(s.Enum, v)
	}
	return s
}

func (b *builder) components() components {
	b.schemas.set(envelopeSchema, errorEnvelope(entrySchema))
	b.schemas.set(entrySchema, errorEntry(codeSchema))
	b.schemas.set(codeSchema, errorCodes())
	for _, code := range separateCodes {
		name := pascal(string(code))
		b.schemas.set(name+envelopeSchema, errorEnvelope(name+entrySchema))
		b.schemas.set(name+entrySchema, errorEntry(name+codeSchema))
		b.schemas.set(name+codeSchema, enumSchema(string(code)))
	}
	b.schemas.set(versionSchema, enumSchema(fault.Version))
	return components{
		SecuritySchemes: orderedObject[any]{{securityScheme, map[string]string{
			"type": "http", "scheme": "bearer",
			"description": "A secret key, which begins with " + auth.SecretPrefix + ". It is for one company and has scopes. Keep it on a server.",
		}}},
		Parameters: orderedObject[parameter]{
			{companyParameter, parameter{
				Name: companyParameter, In: "path", Required: true, Schema: &jsonschema.Schema{Type: "string"}, Example: exampleCompany,
				Description: "the id of the key's company, from `GET /v1/companies`; any other id is `not_found`",
			}},
			{versionHeader, parameter{
				Name: versionHeader, In: "header", Schema: component(versionSchema),
				Description: "the dated API version of this request; default: the version at which the key was issued",
			}},
			{ifNoneMatchHeader, parameter{
				Name: ifNoneMatchHeader, In: "header", Schema: &jsonschema.Schema{Type: "string"},
				Description: "the ETag of your copy of the record; if it is current, the response is 304 without a body",
			}},
		},
		Headers:   headers(),
		Responses: b.responses(),
		Schemas:   b.schemas,
	}
}

func headers() (out orderedObject[header]) {
	add := func(name, description string, required bool, s jsonschema.Schema, example any) {
		out.set(name, header{description, required, &s, example})
	}
	nonNegativeInteger := jsonschema.Schema{Type: "integer", Minimum: new(float64(0))}
	add(versionHeader, "The current API version.", true, jsonschema.Schema{Type: "string", Format: "date"}, fault.Version)
	add(requestIDHeader, "The id of this request, for questions to the operator.", true, jsonschema.Schema{Type: "string"}, "TWegAcC4EowCHnA=")
	add("RateLimit-Limit", "The requests of this quota that the key may send in the window.", false, nonNegativeInteger, 600)
	add("RateLimit-Remaining", "The requests that are left now.", false, nonNegativeInteger, 599)
	add("RateLimit-Reset", "Seconds until the quota is full again.", false, nonNegativeInteger, 1)
	add("RateLimit-Policy", "The class of the request, its quota and the window in seconds (draft-ietf-httpapi-ratelimit-headers-10).", false,
		jsonschema.Schema{Type: "string", Pattern: `^"[a-z]+";q=[0-9]+;w=[0-9]+$`}, `"read";q=600;w=60`)
	add("RateLimit", "The class of the request, the requests that are left now, and the seconds until the quota is full again.", false,
		jsonschema.Schema{Type: "string", Pattern: `^"[a-z]+";r=[0-9]+;t=[0-9]+$`}, `"read";r=599;t=1`)
	add(hasMoreHeader, "Whether there is a next page. Of a delete: whether something remains, so that the same call must be repeated.", true, jsonschema.Schema{Type: "string", Enum: []any{"true", "false"}}, "true")
	add(afterHeader, "Where a list of changes continues, also at its end: send it as `after`.", true, jsonschema.Schema{Type: "string"}, "AQqbW2vJr0fCAAZEnQ4Gp8AAAAGaruGsgAAAd2hFlg")
	add(linkHeader, "The URL of the next page, if there is one: `<url>; rel=\"next\"`.", false, jsonschema.Schema{Type: "string"},
		`<https://api.example.com/v1/companies/`+exampleCompany+`/plan/boards?cursor=c3VwcG9zZWRseSBvcGFxdWU>; rel="next"`)
	add(replayedHeader, "true if this is the stored response to an earlier request with the same Idempotency-Key; otherwise absent.", false, jsonschema.Schema{Type: "string", Enum: []any{"true"}}, "true")
	add(tagHeader, "The entity tag of the record or the preview, for If-Match and If-None-Match.", false, jsonschema.Schema{Type: "string"}, `"5d41402abc4b2a76b9719d911017c592"`)
	add(retryHeader, "Seconds to wait before the next request.", true, jsonschema.Schema{Type: "integer", Minimum: new(float64(1))}, 12)
	add(authenticateHeader, "The authentication scheme.", true, jsonschema.Schema{Type: "string", Enum: []any{"Bearer"}}, "Bearer")
	return out
}

// Codes returns every error code, sorted by status.
func Codes() []fault.Code {
	var out []fault.Code
	for code := range fault.Codes() {
		out = append(out, code)
	}
	slices.SortFunc(out, func(a, b fault.Code) int { return a.Status() - b.Status() })
	return out
}

// CodeMeaning returns what an error code means.
func CodeMeaning(code fault.Code) string { return errorTexts[code].meaning }

// responses returns the components for error responses and for status 304. It leaves out error
// codes that no operation returns.
func (b *builder) responses() (out orderedObject[response]) {
	for _, code := range Codes() {
		t, ok := errorTexts[code]
		if !ok {
			b.problem("the code %s has no text", code)
		}
		if !b.usedSourceEntries["refusal."+string(code)] {
			continue
		}
		names := []string{versionHeader, requestIDHeader}
		switch code {
		case fault.Unauthorised:
			names = append(names, authenticateHeader)
		case fault.RateLimited:
			names = append(append(names, retryHeader), quotaHeaders...)
		case fault.Forbidden:
		default:
			names = append(names, quotaHeaders...)
		}
		envelope := envelopeSchema
		if slices.Contains(separateCodes, code) {
			envelope = pascal(string(code)) + envelopeSchema
		}
		r := response{Description: asSentence(t.meaning), Content: jsonContent(mediaType{refTo("schemas", envelope), exampleEnvelope(code, t.message)})}
		for _, h := range names {
			r.Headers.set(h, refTo("headers", h))
		}
		out.set(pascal(string(code)), r)
	}
	// This response describes errors that operations do not list, because any request can get them:
	// the service is down or overloaded, or a proxy in between refuses the request.
	other := response{
		Description: asSentence("any other error. With `internal` (500) and `unavailable` (503), retry after the seconds in `Retry-After`"),
		Content:     jsonContent(mediaType{refTo("schemas", envelopeSchema), exampleEnvelope(fault.Unavailable, errorTexts[fault.Unavailable].message)}),
	}
	for _, h := range []string{versionHeader, requestIDHeader} {
		other.Headers.set(h, refTo("headers", h))
	}
	retry := headers().at(retryHeader)
	retry.Required = false // not every such response has this header, only those with status 5xx
	other.Headers.set(retryHeader, retry)
	out.set(otherError, other)
	if b.usedSourceEntries["304"] {
		r := response{Description: "The record still has the entity tag in `If-None-Match`. There is no body."}
		for _, h := range append([]string{versionHeader, requestIDHeader, tagHeader}, quotaHeaders...) {
			r.Headers.set(h, refTo("headers", h))
		}
		out.set(notModifiedResponse, r)
	}
	return out
}

// separateCodes are the codes that only some operations return. Each has schemas of its own, so that
// it is not in the list of every error response.
var separateCodes = []fault.Code{fault.NotImplemented}

// errorEnvelope returns the schema of an error response's body (scripts/docs/reference/errors.md).
// entry is the name of the schema of its errors.
func errorEnvelope(entry string) *jsonschema.Schema {
	return closedObject("The body of every error response.", "errors", &jsonschema.Schema{
		Type: "array", MinItems: new(1), Items: component(entry),
		Description: "the errors of the request, all with the same code",
	})
}

func errorEntry(code string) *jsonschema.Schema {
	return closedObject("One error.",
		"code", &jsonschema.Schema{Ref: refTo("schemas", code).Ref, Description: "stable; branch on it"},
		"message", &jsonschema.Schema{Type: "string", Description: "for people, and may be reworded; for `bad_request` it starts with the path of the field: `body.title: …`"},
	)
}

func errorCodes() *jsonschema.Schema {
	var all []string
	for _, code := range Codes() {
		if !slices.Contains(separateCodes, code) {
			all = append(all, string(code))
		}
	}
	return enumSchema(all...)
}

// closedObject returns the schema of an object that has all of the given properties and no others.
// members alternates between the name of a property and its schema.
func closedObject(description string, members ...any) *jsonschema.Schema {
	s := &jsonschema.Schema{Type: "object", Description: description, Properties: map[string]*jsonschema.Schema{}, AdditionalProperties: &jsonschema.Schema{Not: &jsonschema.Schema{}}}
	for i := 0; i < len(members); i += 2 {
		name := members[i].(string)
		s.Properties[name] = members[i+1].(*jsonschema.Schema)
		s.PropertyOrder = append(s.PropertyOrder, name)
	}
	s.Required = s.PropertyOrder
	return s
}

func exampleEnvelope(code fault.Code, message string) json.RawMessage {
	return fault.Envelope(fault.New(code, "%s", message))
}

// pascal converts a name in snake case to Pascal case, such as "not_found" to "NotFound".
func pascal(snake string) string {
	var out strings.Builder
	for word := range strings.SplitSeq(snake, "_") {
		out.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return out.String()
}

func asSentence(text string) string { return strings.ToUpper(text[:1]) + text[1:] + "." }

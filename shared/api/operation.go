package api

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"growthworkspace/shared/auth"
	"growthworkspace/shared/change"
	"growthworkspace/shared/fault"
	"growthworkspace/shared/schema"
	"growthworkspace/shared/table"
)

// Effect is what an operation does to records. It determines retries, tool annotations and rate
// limits.
type Effect int

// Read changes nothing. Create adds a record, and repeating it adds another one. Write replaces
// stored values: it is the effect of updates and pushes. Destructive deletes or publishes, which
// cannot be undone.
const (
	Read Effect = iota
	Create
	Write
	Destructive
)

// Overwrites reports whether stored values may be lost, for example because an update or a push
// replaces them.
func (e Effect) Overwrites() bool { return e == Write || e == Destructive }

// Repeatable reports whether repeating a call has no further effect.
func (e Effect) Repeatable() bool { return e != Create }

// Spec declares one operation, except for its input and output types. Routes, tools, the OpenAPI
// document, permissions and sample events are generated from it.
type Spec struct {
	ID           string // snake_case verb_noun; also the tool's name and the operationId
	Method       string
	Path         string     // contains {parameters}; {companyId} needs no input field, because the pipeline checks it
	Scope        auth.Scope // if empty, any valid key may call the operation
	DraftScope   auth.Scope // a scope contained in Scope; a key with DraftScope but not Scope can write drafts (see schema.DraftEnum and Caller.Has); if empty, only a key with Scope can call the operation
	Effect       Effect
	Class        auth.Class    // if empty, ClassRead or ClassWrite, depending on the effect
	Summary      string        // one line
	Description  string        // what the summary leaves out; may be empty
	BodyBytesMax int           // maximum size of the body over HTTP; 0 means 256 KB. A body of more than 256 KB is read only after the key and its scope have been checked
	NotTool      bool          // true if it is not an MCP tool, because its response contains a secret, which must not enter a model's context, or because only programs should call it
	Errors       []fault.Code  // codes that the function may return, in addition to the common ones
	Noun         Noun          // the kind of record that the operation is about; empty if it returns something else, or the same as another operation of the kind
	Changes      []change.Type // the types of changes that the operation may make; if empty, that of Noun, or none for a Read
	Reads        []Operation   // the operations of other areas that the function calls with Caller.Read
}

// Operation is a declared operation with its types and its function.
type Operation struct {
	Spec
	Area           string         // derived from the path; see AreaOfPath
	Input          []schema.Field // location and constraints of each argument
	IdempotencyKey *schema.Field  // the field of Input for this header; nil if the operation does not accept the header
	Output         reflect.Type

	input           reflect.Type
	rawFields       []string // the names of the body properties that accept any JSON value
	hasETag         bool
	admittingScopes []auth.Scope // the key must have one of these scopes, the first of which is Scope; if empty, none is required
	run             func(ctx context.Context, caller Caller, in any) (out any, err error)
	explainEmpty    func(ctx context.Context, caller Caller, in any) (string, error)    // set by ExplainEmpty; may be nil
	note            func(ctx context.Context, caller Caller, in, out any) string        // set by AddNote; may be nil
	checkReplay     func(ctx context.Context, caller Caller, in any, body []byte) error // set by CheckReplay; may be nil
}

// Caller identifies the caller of an operation. It comes from the request's key, never from its
// path or arguments. The company is the first argument of every store method.
//
// The key may not be verified yet when the operation's function runs. The function can read, but
// its writes to the table wait until the key is verified. It must have no other side effects.
type Caller struct {
	CompanyID string
	KeyID     string

	call *callState
}

// Has reports whether the key has the scope or one that contains it. It waits until the key is
// verified, so an operation's function should call it only after its reads, for example in the
// function that it passes to table.Modify. If the key is refused, Has returns false, and the caller
// gets the refusal instead of the function's result.
func (c Caller) Has(scope auth.Scope) bool {
	<-c.call.admissionDone
	return scope.IsGrantedBy(c.call.admission.Scopes)
}

// requireDecider returns nil if the key has the operation's Scope, and an error if it has only the
// DraftScope. Like Has, it waits until the key is verified.
func (c Caller) requireDecider() error {
	<-c.call.admissionDone
	return c.call.draftOnly
}

var operationID = regexp.MustCompile(`^[a-z]+(_[a-z]+)+$`)

// Define declares an operation. In is a flat struct in which each field has a path, query, header
// or json tag, which says where the argument is (see schema.Field). Out is a record or a List of
// records. Define panics on an invalid declaration, so that mistakes are detected when the program
// starts.
func Define[In, Out any](spec Spec, fn func(ctx context.Context, caller Caller, in In) (Out, error)) Operation {
	return Declare(spec, Function{reflect.TypeFor[In](), reflect.TypeFor[Out](), func(ctx context.Context, caller Caller, in any) (any, error) {
		return fn(ctx, caller, *in.(*In))
	}})
}

// Function is the function of an operation, with its input and output types. Call gets a pointer to
// the input.
type Function struct {
	In, Out reflect.Type
	Call    func(ctx context.Context, caller Caller, in any) (out any, err error)
}

// Declare is like Define, but takes a Function. It is for code that declares the same operations
// for many types, because each instance of a generic function increases the size of the program.
func Declare(spec Spec, f Function) Operation {
	op := Operation{Spec: spec, Area: AreaOfPath(spec.Path), Output: f.Out, input: f.In, run: f.Call}
	op.Input = nameSharedFields(schema.Fields(op.input), op.Path)
	if op.Method == http.MethodPost {
		schema.AcceptNull(op.Input)
	}
	op.rawFields = schema.RawProperties(op.Input)
	op.IdempotencyKey = op.field(schema.InHeader, "Idempotency-Key")
	op.hasETag = op.HasETag()
	if op.Scope != "" {
		op.admittingScopes = op.Scope.AdmittingScopes()
	}
	if op.DraftScope != "" {
		op.admittingScopes = append(op.admittingScopes, op.DraftScope)
	}
	if op.Class == "" {
		op.Class = auth.ClassRead
		if op.Effect != Read {
			op.Class = auth.ClassWrite
		}
	}
	if op.Changes == nil && op.Effect != Read && op.Noun.Change != "" {
		op.Changes = []change.Type{op.Noun.Change}
	}
	if err := op.check(); err != nil {
		panic(fmt.Sprintf("api: operation %s: %v", spec.ID, err))
	}
	return op
}

// ExplainEmpty returns the list operation with a function that explains to the caller, in a
// sentence or two, why the arguments match no record: "no metric growth.signup; did you mean
// growth.signups?". The function is called only for tool calls, and only if the first page of the
// list is empty. It may read the table; if it returns an error, the call fails. If it returns an
// empty string, the caller gets a sentence that names the filters in the call.
func ExplainEmpty[In any](op Operation, explain func(ctx context.Context, caller Caller, in In) (string, error)) Operation {
	if !op.IsList() || op.input != reflect.TypeFor[In]() {
		panic(fmt.Sprintf("api: operation %s: is not a list with this input", op.ID))
	}
	op.explainEmpty = func(ctx context.Context, caller Caller, in any) (string, error) {
		return explain(ctx, caller, *in.(*In))
	}
	return op
}

// AddNote returns the write operation with a function that is called after each successful tool
// call. The function returns a sentence to add to the result for the caller, or "" for none. It may
// read the table. It cannot return an error, because the write has already been made, so its
// sentence must say if a read failed.
func AddNote[In, Out any](op Operation, note func(ctx context.Context, caller Caller, in In, out Out) string) Operation {
	if op.input != reflect.TypeFor[In]() || op.Output != reflect.TypeFor[Out]() {
		panic(fmt.Sprintf("api: operation %s: has another input or output", op.ID))
	}
	op.note = func(ctx context.Context, caller Caller, in, out any) string {
		return note(ctx, caller, *in.(*In), out.(Out))
	}
	return op
}

// CheckReplay returns the operation, which must accept an Idempotency-Key, with a check function.
// That function is called before the stored response of a successful request is replayed. It
// returns an error if what the response says is no longer true. Errors of such an operation are not
// stored: if a request that failed is repeated, it runs again.
func CheckReplay[In, Out any](op Operation, check func(ctx context.Context, caller Caller, in In, stored Out) error) Operation {
	if op.IdempotencyKey == nil || op.input != reflect.TypeFor[In]() || op.Output != reflect.TypeFor[Out]() {
		panic(fmt.Sprintf("api: operation %s: accepts no Idempotency-Key, or has another input or output", op.ID))
	}
	op.checkReplay = func(ctx context.Context, caller Caller, in any, body []byte) error {
		var stored Out
		if err := json.Unmarshal(body, &stored); err != nil {
			return fmt.Errorf("read a stored response: %w", err)
		}
		return check(ctx, caller, *in.(*In), stored)
	}
	return op
}

// Placeholders for the names of path parameters, in an input struct that several operations share.
// They stand for the ids of the record and of its parent. If the path of an operation does not
// contain such a parameter, the operation does not have the field either.
const (
	recordParameter = "{id}"
	parentParameter = "{parentId}"
)

// call calls the operation's function with a valid input and encodes the result. If explain is
// true, the result includes the note from the function passed to AddNote.
func (op *Operation) call(ctx context.Context, caller Caller, in reflect.Value, explain bool) (result, error) {
	out, err := op.run(ctx, caller, in.Addr().Interface())
	if err != nil {
		return result{}, err
	}
	r, err := encode(out, op.hasETag)
	if err == nil && explain && op.note != nil {
		r.note = op.note(ctx, caller, in.Addr().Interface(), out)
	}
	if short, ok := out.(ToolShortener); ok && err == nil && explain {
		r.toolBody, err = schema.Encode(short.ForTool())
	}
	return r, err
}

// nameSharedFields renames the placeholder fields after the parameters of the path, ignoring the
// company's. The record's field gets the name of the last parameter. The parent's field gets the
// name of the one before it, or of the last parameter if the input has no field for the record.
func nameSharedFields(fields []schema.Field, path string) []schema.Field {
	var last, nextToLast string
	for s := range strings.SplitSeq(path, "/") {
		if name, isParameter := PathParameter(s); isParameter && name != companyParameter {
			last, nextToLast = name, last
		}
	}
	for _, shared := range []string{recordParameter, parentParameter} {
		n := slices.IndexFunc(fields, func(f schema.Field) bool { return f.In == schema.InPath && f.Name == shared })
		switch {
		case n < 0:
		case last == "":
			fields = slices.Delete(fields, n, n+1)
		default:
			fields[n].Name, last, nextToLast = last, nextToLast, ""
		}
	}
	return fields
}

func (op Operation) check() error {
	switch {
	case !operationID.MatchString(op.ID):
		return fmt.Errorf("the id is not a verb and a noun")
	case op.Summary == "":
		return fmt.Errorf("no summary")
	case op.Scope != "" && !op.Scope.IsKnown():
		return fmt.Errorf("no scope %s", op.Scope)
	case op.DraftScope != "" && !slices.Contains(op.DraftScope.AdmittingScopes()[1:], op.Scope):
		return fmt.Errorf("the scope %s is not contained in %s", op.DraftScope, op.Scope)
	case op.DraftScope != "" && !slices.ContainsFunc(op.Input, isDecision):
		return fmt.Errorf("no property has values that decide, so %s would be the same as %s", op.DraftScope, op.Scope)
	case op.Method != "GET" && op.Method != "POST" && op.Method != "PATCH" && op.Method != "DELETE":
		return fmt.Errorf("no method %s", op.Method)
	case strings.HasPrefix(op.ID, "create_") != (op.Effect == Create):
		return fmt.Errorf("the effect of a create, and of nothing else, is Create")
	case op.Method == "GET" && op.Effect != Read:
		return fmt.Errorf("a GET changes nothing")
	case !slices.Contains(auth.Classes(), op.Class):
		return fmt.Errorf("no class %s", op.Class)
	case op.BodyBytesMax != 0 && op.BodyBytesMax <= bodyBytesMax:
		return fmt.Errorf("a limit of %d bytes is not an exception", op.BodyBytesMax)
	case !strings.HasPrefix(op.Path, "/"):
		return fmt.Errorf("the path does not begin with a slash")
	}
	for s := range strings.SplitSeq(op.Path, "/") {
		name, isParameter := PathParameter(s)
		if isParameter && name != companyParameter && op.field(schema.InPath, name) == nil {
			return fmt.Errorf("no input field for {%s}", name)
		}
	}
	for _, f := range op.Input {
		if f.In == schema.InPath && !strings.Contains(op.Path, "{"+f.Name+"}") {
			return fmt.Errorf("no {%s} in the path", f.Name)
		}
		if f.In == schema.InBody && (op.Method == "GET" || op.Method == "DELETE") {
			return fmt.Errorf("a %s has no body", op.Method)
		}
	}
	if _, onRecord := lastParameter(op.Path); op.Noun.Name == "" && (onRecord || op.Effect == Create) {
		return fmt.Errorf("no noun, so nothing outside the service knows which kind of record it is about")
	}
	return nil
}

// isDecision reports whether a field has values that a draft-only key cannot set.
func isDecision(f schema.Field) bool { return f.In == schema.InBody && f.Drafts != nil }

// isDraft reports whether an input contains no value that is a decision. It returns true for any
// operation without a DraftScope.
func (op *Operation) isDraft(input reflect.Value) bool {
	return op.DraftScope == "" || !slices.ContainsFunc(op.Input, func(f schema.Field) bool {
		if !isDecision(f) {
			return false
		}
		value := reflect.Indirect(f.ValueIn(input)) // the zero Value if the request does not contain the field
		return value.IsValid() && !slices.Contains(f.Drafts, value.String())
	})
}

// ToolShortener is a record whose text for a model is shorter than its JSON. ForTool returns the
// record as the text of a tool's result shows it; the structured content is the whole record.
type ToolShortener interface{ ForTool() any }

// ForDrafting returns the operation for keys with the DraftScope but not the Scope: its
// fields accept only the values that such a key may set.
func (op Operation) ForDrafting() Operation {
	op.Input = slices.Clone(op.Input)
	for i, f := range op.Input {
		if isDecision(f) {
			op.Input[i].Enum = f.Drafts
		}
	}
	return op
}

// IsList reports whether the operation returns a List.
func (op Operation) IsList() bool { return op.Output.Implements(reflect.TypeFor[listResult]()) }

// IsFeed reports whether the operation lists a feed, which clients resume by passing the after
// parameter.
func (op Operation) IsFeed() bool { return op.IsList() && op.field(schema.InQuery, "after") != nil }

// Record returns the type of the record that the operation returns or lists.
func (op Operation) Record() reflect.Type {
	if !op.IsList() {
		return op.Output
	}
	items, _ := op.Output.FieldByName("Items")
	return items.Type.Elem()
}

// IsPartial reports whether the operation returns a PartialResult.
func (op Operation) IsPartial() bool { return op.Output.Implements(reflect.TypeFor[PartialResult]()) }

// BodyRequired reports whether a request must have a body. It must if a property is required, or if
// the operation is an update, because an update without a body is a mistake.
func (op Operation) BodyRequired() bool {
	return slices.ContainsFunc(op.Input, func(f schema.Field) bool {
		return f.In == schema.InBody && (f.Required || op.Method == "PATCH")
	})
}

// BodyLimit returns the maximum size of a request's body over HTTP, in bytes. The arguments of a
// tool are always limited to 256 KB.
func (op Operation) BodyLimit() int { return max(op.BodyBytesMax, bodyBytesMax) }

// HasCompanyID reports whether the path contains the id of the company. Every path except that of
// list_companies does.
func (op Operation) HasCompanyID() bool { return strings.Contains(op.Path, "{"+companyParameter+"}") }

// CompanyArea is the area of paths that name no other area. Its Lambda function also serves the
// operations on keys.
const CompanyArea = "company"

// OverviewArea is the area of what is read across areas. It serves the paths of two segments: its
// own, and weekSegment.
const (
	OverviewArea = "overview"
	weekSegment  = "week"
)

// AreaOfPath returns the area of a path or path pattern: the segment after the company's id, or
// CompanyArea if there is none.
func AreaOfPath(path string) string {
	afterPrefix, hasPrefix := strings.CutPrefix(path, "/v1/companies/")
	_, rest, hasRest := strings.Cut(afterPrefix, "/")
	if !hasPrefix || !hasRest {
		return CompanyArea
	}
	area, _, _ := strings.Cut(rest, "/")
	if area == weekSegment {
		return OverviewArea
	}
	return area
}

// idempotencyArea returns the area in whose partition responses are stored under their
// Idempotency-Key. Operations on keys use the company's area, because only authentication may
// access the partition of the keys.
func (op Operation) idempotencyArea() string {
	if op.Area == table.KeysArea {
		return CompanyArea
	}
	return op.Area
}

// PathSegments splits a path pattern.
func PathSegments(path string) []string { return strings.Split(strings.TrimPrefix(path, "/"), "/") }

// PathParameter returns the name of the parameter in a segment such as {itemId}. ok is false for a
// literal segment.
func PathParameter(segment string) (name string, ok bool) {
	if strings.HasPrefix(segment, "{") && strings.HasSuffix(segment, "}") {
		return segment[1 : len(segment)-1], true
	}
	return "", false
}

func (op Operation) field(in schema.Place, name string) *schema.Field {
	for i := range op.Input {
		if op.Input[i].In == in && op.Input[i].Name == name {
			return &op.Input[i]
		}
	}
	return nil
}

const companyParameter = "companyId"

// Cursor is the type of the input field for the cursor of a list. Its value is the position that
// was passed to NewList, or empty.
type Cursor = schema.Cursor

// HasETag reports whether the operation's responses have an entity tag. They do if the response is
// a single record, or if its type implements ETagger.
func (op Operation) HasETag() bool {
	if op.Output.Implements(reflect.TypeFor[ETagger]()) {
		return true
	}
	if op.Output == reflect.TypeFor[Deleted]() || op.Output.Kind() != reflect.Struct {
		return false
	}
	_, hasID := op.Output.FieldByName("ID")
	_, hasCompany := op.Output.FieldByName("CompanyID")
	return hasID || hasCompany
}

// Idempotent is the part of an input that makes it safe to retry a request: a repeated request with
// the same key is not executed again. Embed Idempotent in the input of every operation that creates
// or triggers something, and write through package idempotency.
type Idempotent struct {
	IdempotencyKey *string `header:"Idempotency-Key" min:"1" max:"255" doc:"a unique text for this request; a retry with it within 24 hours gets the first response and changes nothing" tool:"unique text; makes a retry safe"`
}

// Deleted is the response of every delete.
type Deleted struct {
	ID      string `json:"id" doc:"the id of the deleted record"`
	Deleted bool   `json:"deleted" doc:"always true"`
}

// Clearable is the type of a property that can be cleared with null in an update, such as
// Clearable[*string] or Clearable[[]string]. Its method Apply assigns the value that was sent. For
// a field of a record, use the set tag instead (schema.Body). In an operation with the method POST,
// null in any other optional property is the same as leaving it out, unless the property has the
// tag null:"never".
type Clearable[T any] = schema.Clearable[T]

package api

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"growthworkspace/shared/auth"
	"growthworkspace/shared/fault"
	"growthworkspace/shared/schema"
)

// Effect says what an operation does to the records; retries, tool annotations and quotas follow from it.
type Effect int

// Read changes nothing. Write creates or changes. Destructive removes or makes public what cannot be taken back.
const (
	Read Effect = iota
	Write
	Destructive
)

// Spec is the declaration of one operation: everything about it that is not in its types. It is all that a route, a
// tool, an OpenAPI operation, a permission and a sample event are made from.
type Spec struct {
	ID          string // snake_case verb_noun; also the tool's name and the operationId
	Method      string
	Path        string     // with {parameters}; {companyId} is checked by the pipeline and needs no input field
	Scope       auth.Scope // empty: any valid key
	Effect      Effect
	Class       auth.Class   // empty: read or write, from the effect
	Summary     string       // one line
	Description string       // what a caller must know beyond the summary; may be empty
	NotTool     bool         // no tool, because its response holds a secret, which must not enter a model's context
	Errors      []fault.Code // what its function may return beside what every operation may, such as conflict
}

// Operation is a declared operation with its types and its function.
type Operation struct {
	Spec
	Input  []schema.Field // where each argument is, and what it may be
	Output reflect.Type

	input          reflect.Type
	idempotencyKey *schema.Field // of Input; nil: none
	tagged         bool
	run            func(ctx context.Context, caller Caller, in reflect.Value) (result, error)
}

// Caller is who a function works for. It comes from the verified key, never from the request; the company is the first
// argument of every store method.
type Caller struct {
	CompanyID string
	KeyID     string
}

var operationID = regexp.MustCompile(`^(list|get|create|update|delete|publish|preview|push|rotate|revoke)_[a-z]+(_[a-z]+)*$`)

// Define declares an operation. In is a flat struct whose fields carry a path, query, header or json tag, which says
// where the argument is (see schema.Field). Out is a record, or a List of them. Define panics on a declaration that is not
// sound: that is found when the program starts, never at a request.
func Define[In, Out any](spec Spec, fn func(ctx context.Context, caller Caller, in In) (Out, error)) Operation {
	op := Operation{
		Spec:   spec,
		Output: reflect.TypeFor[Out](),
		input:  reflect.TypeFor[In](),
	}
	op.Input = schema.Fields(op.input)
	op.idempotencyKey = op.field(schema.InHeader, "Idempotency-Key")
	op.tagged = op.Tagged()
	op.run = func(ctx context.Context, caller Caller, in reflect.Value) (result, error) {
		out, err := fn(ctx, caller, in.Interface().(In))
		if err != nil {
			return result{}, err
		}
		return encode(out, op.tagged)
	}
	if op.Class == "" {
		op.Class = auth.ClassRead
		if op.Effect != Read {
			op.Class = auth.ClassWrite
		}
	}
	if err := op.check(); err != nil {
		panic(fmt.Sprintf("api: operation %s: %v", spec.ID, err))
	}
	return op
}

func (op Operation) check() error {
	switch {
	case !operationID.MatchString(op.ID):
		return fmt.Errorf("the id is not a verb and a noun")
	case op.Summary == "":
		return fmt.Errorf("no summary")
	case op.Scope != "" && !op.Scope.Known():
		return fmt.Errorf("no scope %s", op.Scope)
	case op.Method != "GET" && op.Method != "POST" && op.Method != "PATCH" && op.Method != "DELETE":
		return fmt.Errorf("no method %s", op.Method)
	case op.Method == "GET" && op.Effect != Read:
		return fmt.Errorf("a GET changes nothing")
	case !slices.Contains(auth.Classes(), op.Class):
		return fmt.Errorf("no class %s", op.Class)
	case !strings.HasPrefix(op.Path, "/"):
		return fmt.Errorf("the path does not begin with a slash")
	}
	for _, s := range PathSegments(op.Path) {
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
	return nil
}

// IsList reports whether the operation returns a List.
func (op Operation) IsList() bool { return op.Output.Implements(reflect.TypeFor[lister]()) }

// BodyRequired reports whether a request must have a body: where a property must be there, and with every update, because one
// without a body was meant to change something.
func (op Operation) BodyRequired() bool {
	return slices.ContainsFunc(op.Input, func(f schema.Field) bool {
		return f.In == schema.InBody && (f.Required || op.Method == "PATCH")
	})
}

// Company reports whether the path names the company; the one operation that does not lists the key's.
func (op Operation) Company() bool { return strings.Contains(op.Path, "{"+companyParameter+"}") }

// area returns the path segment after the company's id. Operations without one, and those on keys, whose partition only
// authentication reaches, belong to the company.
func (op Operation) area() string {
	if segments := PathSegments(op.Path); len(segments) > 3 && segments[3] != "keys" {
		return segments[3]
	}
	return "company"
}

func (op Operation) field(in schema.Place, name string) *schema.Field {
	for i := range op.Input {
		if op.Input[i].In == in && op.Input[i].Name == name {
			return &op.Input[i]
		}
	}
	return nil
}

// Checker is an input with rules beyond its single fields. Check returns what is wrong, each text beginning with a place
// (`body.scheduledFor: …`); the caller reads it together with what is wrong with the fields, so Check runs on an input
// that may have faults of its own and must not repeat them.
type Checker interface{ Check() []string }

const companyParameter = "companyId"

// Cursor is the type of the input field that a list goes on from: the position that NewList was given, or empty.
type Cursor = schema.Cursor

// List is the response of every list: an object with items and nothing else. The cursor of the next page is in headers, because
// the body is published to have no other field.
type List[T any] struct {
	Items []T `json:"items"`

	texts []json.RawMessage // in place of Items
	next  string
}

// NewList returns a page of records. next is the position to go on from, empty at the end of the list.
func NewList[T any](items []T, next string) List[T] {
	return List[T]{Items: items, next: next}
}

// NewTextList is NewList of the JSON texts of the records.
func NewTextList[T any](texts []json.RawMessage, next string) List[T] {
	return List[T]{texts: texts, next: next}
}

type lister interface {
	Body() ([]byte, error)
	position() string
}

// MarshalJSON is json.Marshaler.
func (l List[T]) MarshalJSON() ([]byte, error) { return l.Body() }

// Body returns the list as JSON. Texts are copied as they are: encoding/json would check each of their bytes once more.
func (l List[T]) Body() ([]byte, error) {
	if len(l.texts) == 0 {
		items := l.Items
		if items == nil {
			items = []T{} // encoding/json would write null
		}
		return schema.Encode(map[string][]T{"items": items})
	}
	size := len(`{"items":[]}`)
	for _, text := range l.texts {
		size += len(text) + len(",")
	}
	body := append(make([]byte, 0, size), `{"items":`...)
	separator := byte('[')
	for _, text := range l.texts {
		body = append(append(body, separator), text...)
		separator = ','
	}
	return append(body, "]}"...), nil
}

func (l List[T]) position() string { return l.next }

// Tagged reports whether the responses have an entity tag: those of one record do, and those that bring their own.
func (op Operation) Tagged() bool {
	if op.Output.Implements(reflect.TypeFor[Tagged]()) {
		return true
	}
	if op.Output == reflect.TypeFor[Deleted]() || op.Output.Kind() != reflect.Struct {
		return false
	}
	_, hasID := op.Output.FieldByName("ID")
	_, hasCompany := op.Output.FieldByName("CompanyID")
	return hasID || hasCompany
}

// Idempotent is the part of an input that lets a caller send a request again without doing it again: embed it in that of
// every operation that creates or does something, and let the function's write go through package idempotency.
type Idempotent struct {
	IdempotencyKey *string `header:"Idempotency-Key" min:"1" max:"255" doc:"a text of your own for this one request: sent again within 24 hours, it is answered as the first time and not done again"`
}

// Deleted is the response of every delete.
type Deleted struct {
	ID      string `json:"id" doc:"the id of the record that is gone"`
	Deleted bool   `json:"deleted" doc:"always true"`
}

// Set gives a field the value that the caller sent, if the caller sent one: how an update applies its input.
func Set[T any](field **T, sent *T) {
	if sent != nil {
		*field = sent
	}
}

// SetList is Set for lists, of which nil means that none was sent.
func SetList[T any](field *[]T, sent []T) {
	if sent != nil {
		*field = sent
	}
}

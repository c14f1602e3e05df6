package conformance

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"growthworkspace/shared/api"
	"growthworkspace/shared/auth"
	"growthworkspace/shared/schema/jsonschema"
)

// document is the part of an OpenAPI document that the rules need.
type document struct {
	OpenAPI string
	Servers []struct{ URL string }
	Paths   map[string]map[string]operation

	Components struct {
		Schemas    map[string]*jsonschema.Schema
		Parameters map[string]parameter
	}

	operations []operation     // sorted by path and method
	validate   func(any) error // validates an object whose properties are responses 200, by operation
}

// operation is an operation of the document.
type operation struct {
	ID          string     `json:"operationId"`
	Scope       auth.Scope `json:"x-scope"`
	DraftScope  auth.Scope `json:"x-draft-scope"`
	Tags        []string   // the operation's area
	Parameters  []parameter
	RequestBody struct{ Content content }
	Responses   map[string]struct{ Content content }

	method, path string
	result       *jsonschema.Schema // of the body of a 200
	body         *jsonschema.Schema // nil if the operation has no body
}

// parameter is a parameter of an operation.
type parameter struct {
	Name, In string
	Required bool
	Schema   *jsonschema.Schema
	Example  any
	Ref      string `json:"$ref"`
}

// content is the body of a request or a response.
type content struct {
	JSON struct {
		Schema  *jsonschema.Schema
		Example map[string]any
	} `json:"application/json"`
}

const (
	componentSchemas    = "#/components/schemas/"
	componentParameters = "#/components/parameters/"
	schemaDefinitions   = "#/$defs/" // where a JSON Schema outside an OpenAPI document has them
)

// parseDocument decodes an OpenAPI document and resolves its references.
func parseDocument(text []byte) (*document, error) {
	d := &document{}
	if err := json.Unmarshal(bytes.ReplaceAll(text, []byte(componentSchemas), []byte(schemaDefinitions)), d); err != nil {
		return nil, err
	}
	responses := &jsonschema.Schema{Defs: d.Components.Schemas, Properties: map[string]*jsonschema.Schema{}}
	for path, methods := range d.Paths {
		for method, op := range methods {
			op.method, op.path = strings.ToUpper(method), path
			for i, p := range op.Parameters {
				if p.Ref != "" {
					op.Parameters[i] = d.Components.Parameters[strings.TrimPrefix(p.Ref, componentParameters)]
				}
				if p := &op.Parameters[i]; p.Schema == nil {
					return nil, fmt.Errorf("%s: the parameter %s has no schema", op.ID, cmp.Or(p.Name, p.Ref))
				}
			}
			success := op.Responses["200"].Content.JSON.Schema
			op.body, op.result = d.deref(op.RequestBody.Content.JSON.Schema), d.deref(success)
			if op.ID == "" || op.result == nil {
				return nil, fmt.Errorf("%s %s: it has no operationId, or its response 200 has no schema", op.method, path)
			}
			responses.Properties[op.ID] = success
			d.operations = append(d.operations, op)
		}
	}
	slices.SortFunc(d.operations, func(a, b operation) int {
		return cmp.Or(strings.Compare(a.path, b.path), strings.Compare(a.method, b.method))
	})
	if len(d.operations) == 0 {
		return nil, errors.New("it has no operations")
	}
	resolved, err := responses.Resolve(nil)
	if err != nil {
		return nil, err
	}
	d.validate = resolved.Validate
	return d, nil
}

// deref returns the schema that s refers to, or s if it is not a reference. Alternatives with null
// are reduced to the other one.
func (d *document) deref(s *jsonschema.Schema) *jsonschema.Schema {
	for s != nil {
		switch {
		case strings.HasPrefix(s.Ref, schemaDefinitions):
			s = d.Components.Schemas[strings.TrimPrefix(s.Ref, schemaDefinitions)]
		case len(s.AnyOf) == 2 && s.AnyOf[1].Type == "null":
			s = s.AnyOf[0]
		default:
			return s
		}
	}
	return nil
}

// byID returns the operation with the given id.
func (d *document) byID(id string) (operation, bool) {
	i := slices.IndexFunc(d.operations, func(op operation) bool { return op.ID == id })
	if i < 0 {
		return operation{}, false
	}
	return d.operations[i], true
}

// of returns the operation with the given method on a single record of the collection to which
// create adds records.
func (d *document) of(create operation, method string) (operation, bool) {
	for _, op := range d.operations {
		if op.method == method && op.collection() == create.path[strings.LastIndex(create.path, "/")+1:] && op.area() == create.area() {
			return op, true
		}
	}
	return operation{}, false
}

// isOpenTo reports whether a key with the given scopes may use the operation, at least for drafts.
func (op operation) isOpenTo(scopes []auth.Scope) bool {
	return op.Scope == "" || op.Scope.IsGrantedBy(scopes) || op.DraftScope != "" && op.DraftScope.IsGrantedBy(scopes)
}

func (op operation) isRead() bool { return op.method == "GET" }

// isList reports whether the response is an object with items and nothing else.
func (op operation) isList() bool {
	return op.isRead() && op.result.Properties["items"] != nil && len(op.result.Properties) == 1
}

// isCreate reports whether the operation adds one record to a collection.
func (op operation) isCreate() bool {
	return op.method == "POST" && op.body != nil && op.result.Properties["id"] != nil && strings.HasPrefix(op.ID, "create_")
}

// isTool reports whether the operation must be a tool. Operations that send something to another
// platform, or that return a secret, must not be tools.
func (op operation) isTool() bool {
	return !strings.HasSuffix(string(op.Scope), ":send") && (op.Scope != auth.KeysWrite || op.method != "POST")
}

// areaSegment is the index of the path segment that names the area. The name of a collection does
// not identify its area, because two areas have goals.
const areaSegment = 4

// area returns the name of the operation's area, or "company" for the operations on the company.
func (op operation) area() string {
	segments := strings.Split(op.path, "/")
	if len(segments) <= areaSegment {
		return "company"
	}
	return segments[areaSegment]
}

// collection returns the name of the collection that contains the record of the path. It is empty
// if the path does not end with the id of a record.
func (op operation) collection() string {
	segments := strings.Split(op.path, "/")
	if _, isParameter := api.PathParameter(segments[len(segments)-1]); !isParameter || op.path == companyPath {
		return ""
	}
	return segments[len(segments)-2]
}

// companyPath is the path of the key's company.
const companyPath = "/v1/companies/{companyId}"

func (op operation) inCompany() bool { return strings.HasPrefix(op.path, companyPath) }

// parameter returns the parameter with the given name, or nil.
func (op operation) parameter(name string) *parameter {
	for i := range op.Parameters {
		if op.Parameters[i].Name == name {
			return &op.Parameters[i]
		}
	}
	return nil
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

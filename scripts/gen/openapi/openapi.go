// Package openapi builds the OpenAPI 3.1 document of the declared operations. document.go defines
// the types of a document, operation.go builds an operation, component.go the shared components,
// example.go the examples, and text.go the introduction. The package knows nothing about the areas:
// descriptions and examples that it cannot derive from declarations come from a Source.
package openapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"growthworkspace/shared/api"
	"growthworkspace/shared/schema"
)

// Source contains what cannot be derived from the declarations: descriptions and examples for the
// document.
type Source struct {
	Areas   map[string]SourceArea      `json:"areas"`   // by path segment, or "company"
	Records map[string]SourceRecord    `json:"records"` // by the name of the Go type
	Bodies  map[string]json.RawMessage `json:"bodies"`  // examples of bodies, by operation id; a missing one is derived from the record's example
}

// SourceArea describes an area. The reference page shows Title as a heading.
type SourceArea struct {
	Title       string `json:"title"`
	Description string `json:"description"`
}

// SourceRecord describes a record. Properties that the example leaves out are null.
type SourceRecord struct {
	Description string          `json:"description"`
	Example     json.RawMessage `json:"example"`
}

// ParseSource decodes a Source. Unknown properties are an error.
func ParseSource(text []byte) (s Source, err error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&s); err != nil {
		return s, fmt.Errorf("openapi: read the source: %w", err)
	}
	return s, nil
}

// Build returns the document, indented. The same declarations and source always give the same
// bytes.
func Build(operations []api.Operation, source Source) ([]byte, error) {
	b := builder{operations: operations, source: source, types: map[string]reflect.Type{}, usedSourceEntries: map[string]bool{}}
	d := document{
		Generated: "by go run ./scripts/gen; do not edit", OpenAPI: "3.1.0", Info: documentInfo(),
		// Clients resolve a relative URL against the document's own URL. Unlike "/", "." keeps the
		// stage of API Gateway in the path.
		Servers:  []server{{URL: ".", Description: "the server of this document"}},
		Security: []map[string][]string{{securityScheme: {}}},
	}
	for _, op := range operations {
		d.Tags = b.addTag(d.Tags, op.Area)
		item := d.Paths.at(op.Path)
		item.set(strings.ToLower(op.Method), b.operation(op))
		d.Paths.set(op.Path, item)
	}
	d.Components = b.components()
	b.reportUnused()
	if len(b.problems) > 0 {
		return nil, fmt.Errorf("openapi: %w", errors.Join(b.problems...))
	}
	return encode(d)
}

// builder builds the operations of a document. It collects the components to which they refer.
type builder struct {
	operations        []api.Operation
	source            Source
	schemas           orderedObject[any]      // the components, in the order of their first use
	types             map[string]reflect.Type // the types of the components, by name
	usedSourceEntries map[string]bool         // the entries of the source that were used, such as "areas.plan"
	problems          []error
}

func (b *builder) problem(format string, args ...any) {
	b.problems = append(b.problems, fmt.Errorf(format, args...))
}

// reportUnused adds a problem for each entry of the source that was not used. The name of such an
// entry is misspelled or out of date.
func (b *builder) reportUnused() {
	var names []string
	for name := range b.source.Areas {
		names = append(names, "areas."+name)
	}
	for name := range b.source.Records {
		names = append(names, "records."+name)
	}
	for name := range b.source.Bodies {
		names = append(names, "bodies."+name)
	}
	slices.Sort(names)
	for _, name := range names {
		if !b.usedSourceEntries[name] {
			b.problem("the source has %s, which does not exist", name)
		}
	}
}

func (b *builder) addTag(tags []tag, area string) []tag {
	for _, t := range tags {
		if t.Name == area {
			return tags
		}
	}
	text, ok := b.source.Areas[area]
	if !ok {
		b.problem("the source has no areas.%s: describe the area in one sentence", area)
	}
	b.usedSourceEntries["areas."+area] = true
	return append(tags, tag{area, text.Title, text.Description})
}

func encode(v any) ([]byte, error) {
	text, err := schema.Encode(v) // unlike json.Marshal, it does not escape HTML, so the document is easier to read
	if err != nil {
		return nil, fmt.Errorf("openapi: %w", err)
	}
	var out bytes.Buffer
	if err := json.Indent(&out, text, "", "  "); err != nil {
		return nil, fmt.Errorf("openapi: %w", err)
	}
	return append(out.Bytes(), '\n'), nil
}

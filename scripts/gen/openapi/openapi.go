// Package openapi makes the OpenAPI 3.1 document of the declared operations. document.go has the shape of a document,
// operation.go what one operation becomes, component.go what operations share, example.go the examples, and text.go
// what a developer reads first. Nothing here knows an area: what cannot be derived is in a Source.
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

// Source is what a document says beyond the declarations: the words and examples that nobody can derive.
type Source struct {
	Areas   map[string]string          `json:"areas"`   // what an area is, by its path segment; company where there is none
	Records map[string]SourceRecord    `json:"records"` // by the name of the Go type
	Bodies  map[string]json.RawMessage `json:"bodies"`  // examples of bodies by operation, where the record's does not do
}

// SourceRecord describes a record. Properties that the example leaves out are null.
type SourceRecord struct {
	Description string          `json:"description"`
	Example     json.RawMessage `json:"example"`
}

// ParseSource reads a Source, strictly.
func ParseSource(text []byte) (s Source, err error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&s); err != nil {
		return s, fmt.Errorf("openapi: read the source: %w", err)
	}
	return s, nil
}

// Build returns the document, indented. The same declarations and source give the same bytes.
func Build(operations []api.Operation, source Source) ([]byte, error) {
	b := builder{source: source, types: map[string]reflect.Type{}, used: map[string]bool{}}
	d := document{
		Generated: "by go run ./scripts/gen; do not edit", OpenAPI: "3.1.0", Info: information(),
		// A relative address is one from where the document was read, stage included.
		Servers:  []server{{URL: "/", Description: "where this document was served"}},
		Security: []map[string][]string{{securityScheme: {}}},
	}
	for _, op := range operations {
		d.Tags = b.addTag(d.Tags, areaOf(op))
		item := d.Paths.at(op.Path)
		item.set(strings.ToLower(op.Method), b.operation(op))
		d.Paths.set(op.Path, item)
	}
	d.Components = b.components()
	b.unused()
	if len(b.problems) > 0 {
		return nil, fmt.Errorf("openapi: %w", errors.Join(b.problems...))
	}
	return encode(d)
}

// builder collects what operations share on the way through them.
type builder struct {
	source   Source
	schemas  ordered[any]            // components, in the order of their first use
	types    map[string]reflect.Type // of the components
	used     map[string]bool         // what of the source was used
	problems []error
}

func (b *builder) problem(format string, args ...any) {
	b.problems = append(b.problems, fmt.Errorf(format, args...))
}

// unused names what of the source is for nothing, which is a name that was misspelled or has changed.
func (b *builder) unused() {
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
		if !b.used[name] {
			b.problem("the source has %s, which nothing is called", name)
		}
	}
}

// areaOf is the path segment after the company's id; the company itself has none.
func areaOf(op api.Operation) string {
	segments := strings.Split(op.Path, "/")
	if len(segments) > 4 {
		return segments[4]
	}
	return "company"
}

func (b *builder) addTag(tags []tag, area string) []tag {
	for _, t := range tags {
		if t.Name == area {
			return tags
		}
	}
	text, ok := b.source.Areas[area]
	if !ok {
		b.problem("the source has no areas.%s: say in a sentence what the area is", area)
	}
	b.used["areas."+area] = true
	return append(tags, tag{area, text})
}

func encode(v any) ([]byte, error) {
	text, err := schema.Encode(v) // with the characters of HTML as they are: people read the document
	if err != nil {
		return nil, fmt.Errorf("openapi: %w", err)
	}
	var out bytes.Buffer
	if err := json.Indent(&out, text, "", "  "); err != nil {
		return nil, fmt.Errorf("openapi: %w", err)
	}
	return append(out.Bytes(), '\n'), nil
}

package main

import (
	"cmp"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"growthworkspace/scripts/gen/openapi"
	"growthworkspace/shared/api"
	"growthworkspace/shared/schema"
)

// operationDeclarations returns Go declarations of an area's inputs and methods.
func (m *clientModel) operationDeclarations(operations []api.Operation) string {
	var body strings.Builder
	for _, op := range operations {
		m.declareInput(&body, op)
		m.declareMethod(&body, op)
	}
	return importsOf(body.String()) + body.String()
}

// inputOf returns the input fields of an operation, except those in headers. The client has call
// options for the headers.
func inputOf(op api.Operation) []schema.Field {
	return slices.DeleteFunc(slices.Clone(op.Input), func(f schema.Field) bool { return f.In == schema.InHeader })
}

func (m *clientModel) declareInput(out *strings.Builder, op api.Operation) {
	fields := inputOf(op)
	if len(fields) == 0 {
		return
	}
	name := goName(op.ID)
	for _, f := range fields {
		if f.Fields != nil {
			m.declareStruct(out, fmt.Sprintf("%s is an element of %s of %sInput.", openapi.ElementName(op.ID, f.Name), goName(f.Name), name), openapi.ElementName(op.ID, f.Name), op, f.Fields)
		}
	}
	m.declareStruct(out, fmt.Sprintf("%sInput is the input of %s.", name, name), name+"Input", op, fields)
}

// declareStruct writes the declaration of a struct with the given fields to out.
func (m *clientModel) declareStruct(out *strings.Builder, doc, name string, op api.Operation, fields []schema.Field) {
	fmt.Fprintf(out, "%stype %s struct {\n", formatComment("", doc), name)
	for _, f := range fields {
		tag := fmt.Sprintf(`json:"-" %s:%q`, f.In, f.Name)
		if f.In == schema.InBody {
			tag = fmt.Sprintf(`json:"%s"`, f.Name)
			if !f.Required {
				tag = fmt.Sprintf(`json:"%s,omitzero"`, f.Name)
			}
		}
		fmt.Fprintf(out, "%s %s `%s`%s\n", goName(f.Name), m.inputType(op, f), tag, fieldComment(f, m.valueType(op, f)))
	}
	out.WriteString("}\n\n")
}

// fieldComment returns the comment for a field: its description, allowed values and default.
func fieldComment(f schema.Field, kind string) string {
	text := f.Description()
	add := func(format string, args ...any) {
		if text != "" {
			text += "; "
		}
		text += fmt.Sprintf(format, args...)
	}
	if f.Enum != nil && strings.HasSuffix(kind, "string") {
		add("%s", strings.Join(f.Enum, ", "))
	}
	if f.Default != "" {
		add("default %s", f.Default)
	}
	if text == "" {
		return ""
	}
	return " // " + text
}

// inputType returns the Go type of an input field. It is an Optional unless the field is required.
func (m *clientModel) inputType(op api.Operation, f schema.Field) string {
	kind := m.valueType(op, f)
	if f.Required {
		return kind
	}
	return optionalType(kind)
}

// valueType returns the Go type of an input field's value, without the Optional.
func (m *clientModel) valueType(op api.Operation, f schema.Field) string {
	switch f.Kind {
	case schema.String:
		switch {
		case f.Format == "date-time":
			return "time.Time"
		case slices.Equal(f.Enum, []string{"true", "false"}): // a Boolean in the query string, where every value is a string
			return "bool"
		}
		return m.stringType(op, f)
	case schema.Integer:
		return "int"
	case schema.Number:
		return "float64"
	case schema.Boolean:
		return "bool"
	case schema.Map:
		return goName(f.Name) // the client declares this type by hand, because the field of a record may contain other JSON
	case schema.Any:
		return "json.RawMessage"
	case schema.Array:
		if f.Fields != nil {
			return "[]" + openapi.ElementName(op.ID, f.Name)
		}
		return "[]" + m.stringType(op, f)
	}
	m.fail("%s: %s has the kind %s, which has no Go type", op.ID, f.Name, f.Kind)
	return ""
}

// stringType returns the Go type of a string field. For an enum, it is the type of the field with
// the same name in the operation's record, or an enum type with the same values. So a value from a
// response can be sent in a request. If the field is not an enum, the type is string.
func (m *clientModel) stringType(op api.Operation, f schema.Field) string {
	if f.Enum == nil {
		return "string"
	}
	for _, r := range jsonFields(recordOf(op)) {
		element := r.Type
		for element.Kind() == reflect.Pointer || element.Kind() == reflect.Slice {
			element = element.Elem()
		}
		name, _, _ := strings.Cut(r.Tag.Get("json"), ",")
		if name != f.Name {
			continue
		}
		for _, known := range m.enumOrder {
			if m.enums[known] == element {
				return known
			}
		}
	}
	return cmp.Or(m.enumWithValues(f.Enum), "string")
}

func (m *clientModel) declareMethod(out *strings.Builder, op api.Operation) {
	name, in, argument := goName(op.ID), "", "struct{}{}"
	if len(inputOf(op)) > 0 {
		in, argument = "in "+name+"Input, ", "in"
	}
	scope := "any valid key"
	if op.Scope != "" {
		scope = "the scope " + string(op.Scope)
	}
	if op.DraftScope != "" {
		scope += ", or " + string(op.DraftScope) + " for a draft"
	}
	doc := fmt.Sprintf("%s calls %s: %s", name, op.ID, withFullStop(lowerFirst(op.Summary)))
	if op.Description != "" {
		doc += "\n\n" + strings.ReplaceAll(op.Description, "`", "")
	}
	doc += fmt.Sprintf("\n\nIt sends %s %s and needs %s.", op.Method, op.Path, scope)
	variable := strings.ToLower(name[:1]) + name[1:]

	fmt.Fprintf(out, "var %s = operation{method: %q, path: %q", variable, op.Method, op.Path)
	if slices.ContainsFunc(op.Input, func(f schema.Field) bool { return f.In == schema.InBody }) {
		out.WriteString(", hasBody: true")
	}
	// An idempotent request may be repeated. Every request is idempotent, except a POST that is not
	// a read.
	if op.Method != http.MethodPost || op.Effect == api.Read {
		out.WriteString(", repeatable: true")
	}
	if op.IdempotencyKey != nil {
		out.WriteString(", takesKey: true")
	}
	fmt.Fprintf(out, ", quota: %q}\n\n", op.Class)

	if !op.IsList() {
		fmt.Fprintf(out, "%sfunc (c *Client) %s(ctx context.Context, %soptions ...CallOption) (%s, error) {\nreturn call[%s](ctx, c, %s, %s, options)\n}\n\n",
			formatComment("", doc), name, in, op.Output.Name(), op.Output.Name(), variable, argument)
		return
	}
	record := listElement(op.Output).Name()
	fmt.Fprintf(out, "%sfunc (c *Client) %s(ctx context.Context, %soptions ...CallOption) (Page[%s], error) {\nreturn onePage[%s](ctx, c, %s, %s, options)\n}\n\n",
		formatComment("", doc), name, in, record, record, variable, argument)
	allName := "All" + strings.TrimPrefix(name, "List")
	fmt.Fprintf(out, "%sfunc (c *Client) %s(ctx context.Context, %soptions ...CallOption) iter.Seq2[%s, error] {\nreturn allPages[%s](ctx, c, %s, %s, options)\n}\n\n",
		formatComment("", allName+" calls "+name+" for every page of the list. It stops at the first error."), allName, in, record, record, variable, argument)
}

func lowerFirst(text string) string { return strings.ToLower(text[:1]) + text[1:] }

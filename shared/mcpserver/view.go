package mcpserver

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"growthworkspace/shared/api"
	"growthworkspace/shared/modeltext"
	"growthworkspace/shared/schema"
	"growthworkspace/shared/schema/jsonschema"
)

// resultInstructions is the part of the server's instructions that describes results and the
// arguments "fields" and "at". The schemas of the tools do not describe these arguments, because
// the list of tools would repeat the descriptions for every tool.
const resultInstructions = "Texts leave out properties that are null, and companyId. " +
	"A result has at most 40 KB: a list ends early, with a cursor; in a record, outlines replace values that do not fit. " +
	"fields: an array of names, to get only these properties of a record. " +
	"at: a JSON Pointer to one value in a record, such as /findings/pages/0; a last part such as 20-39 takes these entries of an array or characters of a string."

// The names of the arguments that select what a result shows.
const (
	fieldsArgument = "fields"
	atArgument     = "at"
)

// acceptsFields reports whether an operation's tool has the argument "fields". All read-only tools
// have it.
func acceptsFields(op api.Operation) bool { return op.Effect == api.Read }

// acceptsAt reports whether an operation's tool has the argument "at". All tools that read one
// record have it.
func acceptsAt(op api.Operation) bool { return op.Effect == api.Read && !op.IsList() }

// viewFields declares the arguments that select what the result of an operation's tool shows.
func viewFields(op api.Operation) (out []schema.Field) {
	if acceptsFields(op) {
		out = append(out, schema.Field{Name: fieldsArgument, In: schema.InQuery, Kind: schema.Array})
	}
	if acceptsAt(op) {
		out = append(out, schema.Field{Name: atArgument, In: schema.InQuery, Kind: schema.String})
	}
	return out
}

// view selects what the result of a call shows.
type view struct {
	op     *api.Operation
	fields []string // names of properties; nil means all
	at     *string  // a JSON Pointer into the record; nil means the whole record
}

// arguments returns the arguments that set the view's fields.
func (v *view) arguments() (out []api.ExtraArgument) {
	if acceptsFields(*v.op) {
		out = append(out, api.ExtraArgument{Name: fieldsArgument, Read: v.readFields})
	}
	if acceptsAt(*v.op) {
		out = append(out, api.ExtraArgument{Name: atArgument, Read: v.readAt})
	}
	return out
}

// readFields parses an array of property names, which may also be sent as a string with commas
// between the names.
func (v *view) readFields(value any) (problems []string) {
	if value == nil {
		return nil
	}
	entries, isArray := value.([]any)
	if text, isText := value.(string); isText {
		for name := range strings.SplitSeq(text, ",") {
			entries = append(entries, strings.TrimSpace(name))
		}
	} else if !isArray {
		return []string{"must be an array of names of properties"}
	}
	v.fields = []string{}
	known := jsonschema.Record(v.op.Record(), nil).PropertyOrder
	for _, entry := range entries {
		name, isText := entry.(string)
		if !isText {
			text, _ := schema.Encode(entry) // it was decoded from JSON
			problems = append(problems, fmt.Sprintf("has the entry %.100s, which is not a name in quotation marks", text))
			continue
		}
		if slices.Contains(known, name) {
			v.fields = append(v.fields, name)
			continue
		}
		hint := "the properties are " + strings.Join(known, ", ")
		if nearest := schema.Nearest(name, known); nearest != "" {
			hint = "did you mean " + nearest + "?"
		}
		problems = append(problems, fmt.Sprintf("%.100q is not a property of the record; %s", name, hint))
	}
	return problems
}

func (v *view) readAt(value any) []string {
	pointer, isText := value.(string)
	switch {
	case value == nil:
		return nil
	case !isText || pointer != "" && !strings.HasPrefix(pointer, "/"):
		return []string{"must be a JSON Pointer, which begins with a slash, such as /" + jsonschema.Record(v.op.Record(), nil).PropertyOrder[0]}
	case v.fields != nil:
		return []string{"returns one value; leave out fields"}
	}
	v.at = &pointer
	return nil
}

// shownText is the text that shows a response.
type shownText struct {
	modeltext.Text
	restHint string // how to read the rest of a value after a slice
	isWhole  bool   // false if the view leaves something out, or if some records of the list did not fit
}

// show returns the text that shows a response. If a list does not fit, show changes the cursor in
// the response, so that the next page begins where the text ends. The error says why the view's
// pointer is invalid.
func (v *view) show(response *api.Response) (out shownText, err error) {
	out.isWhole = v.fields == nil && v.at == nil
	textView := modeltext.View{Fields: v.fields, BytesMax: bodyTextMax}
	switch {
	case v.at != nil:
		out.Text, out.restHint, err = modeltext.At(response.Body, *v.at, bodyTextMax)
	case response.ToolBody != nil:
		out.Text = textView.Record(response.ToolBody)
	case !v.op.IsList():
		out.Text = textView.Record(response.Body)
	default:
		list := textView.List
		if record, ok := reflect.Zero(v.op.Record()).Interface().(modeltext.Rows); ok {
			list = func(body []byte) modeltext.ListText { return textView.Rows(body, record.Rows()) }
		}
		page := list(response.Body)
		if out.Text = page.Text; page.IsCut() {
			out.isWhole = false
			last := page.End - 1
			if response.Backward {
				last = page.First
			}
			response.More = new(true)
			if response.After != "" {
				response.After = response.CursorAt(last)
			} else {
				response.Next = response.CursorAt(last)
			}
		}
	}
	return out, err
}

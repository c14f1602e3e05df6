package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"unicode"

	"github.com/spf13/cobra"

	"growthworkspace/shared/api"
	"growthworkspace/shared/client"
	"growthworkspace/shared/schema"
)

// operationCall is a call of an operation as the command line says it.
type operationCall struct {
	api.Operation

	fields map[string]*fieldFlag // by the field's name
	all    bool
	input  string // file with the body; empty: the flags have it
	body   []byte // of that file
}

// fieldFlag is a field of an operation as a flag.
type fieldFlag struct {
	schema.Field

	values []string
}

// String is pflag.Value.
func (f *fieldFlag) String() string {
	if len(f.values) == 0 {
		return f.Default
	}
	return strings.Join(f.values, ",")
}

// Type is pflag.Value: how the value is called in the help.
func (f *fieldFlag) Type() string {
	switch f.Kind {
	case schema.Boolean:
		return "true|false"
	case schema.Array:
		if f.Fields != nil {
			return "JSON"
		}
		return "text ..."
	case schema.Map:
		return "JSON"
	case schema.Integer, schema.Number:
		return "number"
	}
	return "text"
}

// Set is pflag.Value. What a value may be is for the service to say; here it must only be one of its JSON type.
func (f *fieldFlag) Set(text string) error {
	if len(f.values) > 0 && f.Kind != schema.Array {
		return errors.New("is given twice")
	}
	f.values = append(f.values, text)
	if f.In != schema.InBody {
		return nil
	}
	_, err := f.value()
	return err
}

// value spells the flag as JSON.
func (f *fieldFlag) value() (json.RawMessage, error) {
	switch f.Kind {
	case schema.String:
		return schema.Encode(f.values[0])
	case schema.Array:
		return f.array()
	}
	text := strings.TrimSpace(f.values[0])
	var value any
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	err := d.Decode(&value)
	switch value.(type) {
	case json.Number:
		if err == nil && json.Valid([]byte(text)) && (f.Kind == schema.Integer || f.Kind == schema.Number) {
			return json.RawMessage(text), nil
		}
	case bool:
		if err == nil && json.Valid([]byte(text)) && f.Kind == schema.Boolean {
			return json.RawMessage(text), nil
		}
	case map[string]any:
		if err == nil && json.Valid([]byte(text)) && f.Kind == schema.Map {
			return json.RawMessage(text), nil
		}
	}
	return nil, fmt.Errorf("must be %s", map[schema.Kind]string{
		schema.Integer: "a whole number", schema.Number: "a number", schema.Boolean: "true or false", schema.Map: "a JSON object",
	}[f.Kind])
}

// array takes each value as an element, or as a JSON array of them. An empty array clears.
func (f *fieldFlag) array() (json.RawMessage, error) {
	elements := []json.RawMessage{}
	for _, text := range f.values {
		var several []json.RawMessage
		switch begin := strings.TrimSpace(text); {
		case strings.HasPrefix(begin, "[") && json.Unmarshal([]byte(begin), &several) == nil:
			elements = append(elements, several...)
		case f.Fields != nil && (!strings.HasPrefix(begin, "{") || !json.Valid([]byte(begin))):
			return nil, errors.New("must be a JSON object, or an array of them")
		case f.Fields != nil:
			elements = append(elements, json.RawMessage(begin))
		default:
			element, err := schema.Encode(text)
			if err != nil {
				return nil, err
			}
			elements = append(elements, element)
		}
	}
	return json.Marshal(elements)
}

// kebab spells metricKey and If-Match as flags are spelled.
func kebab(name string) string {
	var out strings.Builder
	for i, c := range name {
		switch {
		case c == '_':
			out.WriteByte('-')
		case unicode.IsUpper(c):
			if i > 0 && !strings.HasSuffix(out.String(), "-") {
				out.WriteByte('-')
			}
			out.WriteRune(unicode.ToLower(c))
		default:
			out.WriteRune(c)
		}
	}
	return out.String()
}

// flags gives the command a flag for each field.
func (c *operationCall) flags(cmd *cobra.Command) {
	cmd.Flags().SortFlags = false
	for _, field := range c.Input {
		f := &fieldFlag{Field: field}
		c.fields[field.Name] = f
		usage := field.Doc
		if usage == "" && field.In == schema.InPath {
			usage = "the id"
		}
		if field.Enum != nil {
			usage = strings.TrimPrefix(usage+"; ", "; ") + "one of " + strings.Join(field.Enum, ", ")
		}
		if field.Required && field.In != schema.InPath {
			usage = strings.TrimPrefix(usage+"; ", "; ") + "required"
		}
		name := kebab(field.Name)
		cmd.Flags().Var(f, name, strings.ReplaceAll(usage, "`", ""))
		complete(cmd, name, field)
	}
	if c.IsList() && c.fields["cursor"] != nil {
		cmd.Flags().BoolVar(&c.all, "all", false, "follow the pages to the end of the list")
	}
	if c.hasBody() {
		cmd.Flags().StringVar(&c.input, "input", "", "send the JSON body in this `file`, or of standard input with -")
	}
}

func complete(cmd *cobra.Command, name string, f schema.Field) {
	values := f.Enum
	if f.Kind == schema.Boolean {
		values = []string{"true", "false"}
	}
	if err := cmd.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)); err != nil {
		panic("workspace: " + err.Error()) // two completions for one flag
	}
}

func (c *operationCall) hasBody() bool {
	return slices.ContainsFunc(c.Input, func(f schema.Field) bool { return f.In == schema.InBody })
}

// names returns the fields of a place.
func (c *operationCall) names(in schema.Place) (names []string) {
	for _, f := range c.Input {
		if f.In == in {
			names = append(names, f.Name)
		}
	}
	return names
}

// take lets arguments be the ids of the path that no flag has, and says what is missing.
func (c *operationCall) take(cmd *cobra.Command, args []string) error {
	for _, name := range c.names(schema.InPath) {
		if f := c.fields[name]; len(f.values) == 0 && len(args) > 0 {
			f.values, args = args[:1], args[1:]
		}
	}
	if len(args) > 0 {
		return misuse(cmd, "too many arguments, from %q on", args[0])
	}
	for _, f := range c.Input {
		sent := c.fields[f.Name]
		switch {
		case f.In == schema.InBody && c.input != "":
			if len(sent.values) > 0 {
				return misuse(cmd, "--input has the whole body: leave out --%s", kebab(f.Name))
			}
		case f.Required && len(sent.values) == 0:
			return misuse(cmd, "--%s: is required", kebab(f.Name))
		case f.In == schema.InPath && (sent.values[0] == "" || sent.values[0] == "." || sent.values[0] == ".."):
			return misuse(cmd, "--%s: must be an id", kebab(f.Name))
		}
	}
	if c.all && len(c.fields["cursor"].values) > 0 {
		return misuse(cmd, "--all begins at the beginning: leave out --cursor")
	}
	return nil
}

// readInput reads the body that --input names.
func (c *operationCall) readInput(in io.Reader) (err error) {
	switch name := strings.TrimPrefix(c.input, "@"); name {
	case "":
		return nil
	case "-":
		c.body, err = io.ReadAll(in)
	default:
		c.body, err = os.ReadFile(name)
	}
	if err != nil {
		return fmt.Errorf("--input: %w", err)
	}
	return nil
}

// request is the call as it is sent. Every value was checked when it was set.
func (c *operationCall) request() client.Request {
	r := client.Request{
		Method: c.Method, Path: c.Path, Query: url.Values{}, Body: c.body,
		Repeatable: c.Method != http.MethodPost || c.Effect == api.Read, TakesKey: c.fields["Idempotency-Key"] != nil,
	}
	body := map[string]json.RawMessage{}
	for _, f := range c.Input {
		sent := c.fields[f.Name]
		if len(sent.values) == 0 {
			continue
		}
		switch f.In {
		case schema.InPath:
			r.Path = strings.ReplaceAll(r.Path, "{"+f.Name+"}", url.PathEscape(sent.values[0]))
		case schema.InQuery:
			r.Query.Set(f.Name, sent.values[0])
		case schema.InBody:
			body[f.Name], _ = sent.value()
		case schema.InHeader: // options
		}
	}
	if c.hasBody() && c.body == nil {
		r.Body, _ = schema.Encode(body) // of valid JSON
	}
	return r
}

// options are the headers.
func (c *operationCall) options() (out []client.CallOption) {
	for _, name := range c.names(schema.InHeader) {
		if sent := c.fields[name].values; len(sent) > 0 {
			out = append(out, client.Header(name, sent[0]))
		}
	}
	return out
}

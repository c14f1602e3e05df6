package user

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

	"growthworkspace/scripts/workspace/terminal"
	"growthworkspace/shared/api"
	"growthworkspace/shared/client"
	"growthworkspace/shared/schema"
)

// operationCall is a call to an operation, with its fields set by flags of the command line.
type operationCall struct {
	api.Operation

	fields     map[string]*fieldFlag // by the name of the field
	allPages   bool
	yes        bool     // whether to delete without asking
	clearNames []string // the flags of the properties to set to null
	inputFile  string   // the file that contains the body; if empty, the flags set the body
	body       []byte   // the content of inputFile
}

// fieldFlag is the flag for a field of an operation.
type fieldFlag struct {
	schema.Field

	values []string
}

// String returns the flag's value or the default, as pflag.Value requires.
func (f *fieldFlag) String() string {
	if len(f.values) == 0 {
		return f.Default
	}
	return strings.Join(f.values, ",")
}

// Type returns the name of the value's type for the help text, as pflag.Value requires.
func (f *fieldFlag) Type() string {
	switch f.Kind {
	case schema.Boolean:
		return "true|false"
	case schema.Array, schema.Map, schema.Any:
		if f.isJSON() {
			return "JSON|@file"
		}
		return "text ..."
	case schema.Integer, schema.Number:
		return "number"
	}
	return "text"
}

// isJSON reports whether the flag's value is JSON.
func (f *fieldFlag) isJSON() bool {
	return f.Kind == schema.Map || f.Kind == schema.Any || f.Kind == schema.Array && f.Fields != nil
}

// refersToFile reports whether text refers to a file (@FILE) or to standard input (-), from which a
// flag can read a value that is too long for an argument. No JSON value looks like this.
func (f *fieldFlag) refersToFile(text string) bool {
	return f.isJSON() && (text == "-" || strings.HasPrefix(text, "@"))
}

// Set adds a value, as pflag.Value requires. It checks only the JSON type, because the service
// checks the rest.
func (f *fieldFlag) Set(text string) error {
	if len(f.values) > 0 && f.Kind != schema.Array {
		return errors.New("is given twice")
	}
	f.values = append(f.values, text)
	if f.In != schema.InBody || slices.ContainsFunc(f.values, f.refersToFile) {
		return nil
	}
	_, err := f.value()
	return err
}

// value returns the flag's value as JSON.
func (f *fieldFlag) value() (json.RawMessage, error) {
	switch f.Kind {
	case schema.String:
		return schema.Encode(f.values[0])
	case schema.Array:
		return f.jsonArray()
	}
	text, kind := []byte(strings.TrimSpace(f.values[0])), jsonStarts[f.Kind]
	if !json.Valid(text) || !strings.ContainsRune(kind.first, rune(text[0])) {
		return nil, fmt.Errorf("must be %s", kind.name)
	}
	return text, nil
}

// jsonStarts holds two strings for each kind of field: the characters with which its JSON values
// can begin, and the kind's name in error messages.
var jsonStarts = map[schema.Kind]struct{ first, name string }{
	schema.Integer: {"-0123456789", "a whole number"}, schema.Number: {"-0123456789", "a number"},
	schema.Boolean: {"tf", "true or false"}, schema.Map: {"{", "a JSON object"},
	schema.Any: {`{["-0123456789tfn`, "a JSON value; put quotes around a string"},
}

// jsonArray returns the flag's values as one JSON array. A flag can be given several times, and
// each of its values is an element or a JSON array of elements. An empty array clears the field.
func (f *fieldFlag) jsonArray() (json.RawMessage, error) {
	elements := []json.RawMessage{}
	for _, text := range f.values {
		var jsonElements []json.RawMessage
		switch trimmed := strings.TrimSpace(text); {
		case strings.HasPrefix(trimmed, "[") && json.Unmarshal([]byte(trimmed), &jsonElements) == nil:
			elements = append(elements, jsonElements...)
		case f.Fields != nil && (!strings.HasPrefix(trimmed, "{") || !json.Valid([]byte(trimmed))):
			return nil, errors.New("must be a JSON object, or an array of them")
		case f.Fields != nil:
			elements = append(elements, json.RawMessage(trimmed))
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

// kebabCase converts a name to the form of a flag: metricKey to metric-key, and If-Match to
// if-match.
func kebabCase(name string) string {
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

// addFlags adds a flag for each field.
func (c *operationCall) addFlags(cmd *cobra.Command) {
	cmd.Flags().SortFlags = false
	for _, field := range c.Input {
		f := &fieldFlag{Field: field}
		c.fields[field.Name] = f
		cmd.Flags().Var(f, kebabCase(field.Name), usageOf(field))
	}
	if c.IsList() && c.fields["cursor"] != nil {
		cmd.Flags().BoolVar(&c.allPages, "all", false, "fetch every page of the list")
	}
	if c.Method == http.MethodDelete {
		cmd.Flags().BoolVarP(&c.yes, "yes", "y", false, "do not ask for a confirmation")
	}
	if names := c.clearableFlags(); len(names) > 0 {
		cmd.Flags().StringSliceVar(&c.clearNames, "clear", nil, "clear these `fields`: "+strings.Join(names, ", "))
	}
	if c.hasBody() {
		cmd.Flags().StringVar(&c.inputFile, "input", "", "send the JSON body in this `file`, or from standard input with -")
	}
}

// usageOf returns the help text for a field: its meaning, its enum values, and whether it is
// required.
func usageOf(f schema.Field) string {
	usage := f.Doc
	if usage == "" && f.In == schema.InPath {
		usage = "the id"
	}
	if f.Enum != nil {
		usage = strings.TrimPrefix(usage+"; ", "; ") + "one of " + strings.Join(f.Enum, ", ")
	}
	if f.Required && f.In != schema.InPath {
		usage = strings.TrimPrefix(usage+"; ", "; ") + "required"
	}
	return strings.ReplaceAll(usage, "`", "")
}

func (c *operationCall) hasBody() bool {
	return slices.ContainsFunc(c.Input, func(f schema.Field) bool { return f.In == schema.InBody })
}

// clearableFlags returns the flags of the properties that may be set to null.
func (c *operationCall) clearableFlags() (names []string) {
	for _, f := range c.Input {
		if f.Null == schema.NullClears {
			names = append(names, kebabCase(f.Name))
		}
	}
	return names
}

// checkClear returns a usage error if --clear names a field that cannot be cleared, or one that
// also has a value.
func (c *operationCall) checkClear(cmd *cobra.Command) error {
	if c.inputFile != "" && len(c.clearNames) > 0 {
		return terminal.NewCommandUsageError(cmd, "--input has the whole body: leave out --clear")
	}
	for i, name := range c.clearNames {
		c.clearNames[i] = kebabCase(name)
		switch {
		case !slices.Contains(c.clearableFlags(), c.clearNames[i]):
			return terminal.NewCommandUsageError(cmd, "--clear: %q cannot be cleared; these can: %s", name, strings.Join(c.clearableFlags(), ", "))
		case cmd.Flags().Changed(c.clearNames[i]):
			return terminal.NewCommandUsageError(cmd, "--clear: --%s also has a value", c.clearNames[i])
		}
	}
	return nil
}

// fieldNames returns the names of the fields that a request has in the given place: path, query,
// header or body.
func (c *operationCall) fieldNames(in schema.Place) (names []string) {
	for _, f := range c.Input {
		if f.In == in {
			names = append(names, f.Name)
		}
	}
	return names
}

// setArguments uses the arguments for the ids in the path that were not given as flags. It returns
// a usage error for missing or extra arguments.
func (c *operationCall) setArguments(cmd *cobra.Command, args []string) error {
	for _, name := range c.fieldNames(schema.InPath) {
		if f := c.fields[name]; len(f.values) == 0 && len(args) > 0 {
			f.values, args = args[:1], args[1:]
		}
	}
	if len(args) > 0 {
		return terminal.NewCommandUsageError(cmd, "too many arguments, starting with %q", args[0])
	}
	for _, f := range c.Input {
		flag := c.fields[f.Name]
		switch {
		case f.In == schema.InBody && c.inputFile != "":
			if len(flag.values) > 0 {
				return terminal.NewCommandUsageError(cmd, "--input has the whole body: leave out --%s", kebabCase(f.Name))
			}
		case f.Required && len(flag.values) == 0:
			return terminal.NewCommandUsageError(cmd, "--%s: is required", kebabCase(f.Name))
		case f.In == schema.InPath && (flag.values[0] == "" || flag.values[0] == "." || flag.values[0] == ".."):
			return terminal.NewCommandUsageError(cmd, "--%s: must be an id", kebabCase(f.Name))
		}
	}
	if c.allPages && len(c.fields["cursor"].values) > 0 {
		return terminal.NewCommandUsageError(cmd, "--all starts at the first page: leave out --cursor")
	}
	if err := c.checkClear(cmd); err != nil {
		return err
	}
	return c.checkHasChange(cmd)
}

// checkHasChange returns a usage error for an update without anything to change. The service would
// accept it, and the user would think that something had changed.
func (c *operationCall) checkHasChange(cmd *cobra.Command) error {
	if c.Method != http.MethodPatch || c.inputFile != "" || len(c.clearNames) > 0 {
		return nil
	}
	properties := c.fieldNames(schema.InBody)
	if slices.ContainsFunc(properties, func(name string) bool { return len(c.fields[name].values) > 0 }) {
		return nil
	}
	if len(c.clearableFlags()) > 0 {
		properties = append(properties, "clear")
	}
	for i, name := range properties {
		properties[i] = "--" + kebabCase(name)
	}
	return terminal.NewCommandUsageError(cmd, "nothing to change: give at least one of %s or --input", strings.Join(properties, ", "))
}

// requireYes returns a usage error for a delete without --yes if there is no terminal, so that no
// script deletes by mistake.
func (c *operationCall) requireYes(cmd *cobra.Command, t *terminal.Terminal) error {
	if c.Method == http.MethodDelete && !c.yes && !t.Interactive {
		return terminal.NewCommandUsageError(cmd, "without a terminal to ask at, --yes is needed")
	}
	return nil
}

// confirm asks the user for confirmation before a delete. The question names the service and the
// key, because a variable may have selected them.
func (c *operationCall) confirm(t *terminal.Terminal, r connection) error {
	if c.Method != http.MethodDelete || c.yes {
		return nil
	}
	what := c.Summary + ":"
	for _, f := range c.Input {
		if flag := c.fields[f.Name]; f.In != schema.InHeader && len(flag.values) > 0 {
			what += " --" + kebabCase(f.Name) + " " + terminal.EscapeControls(flag.String())
		}
	}
	return t.Confirm("%s, at %s with %s. This cannot be undone. Continue?", what, r.BaseURL, r.source)
}

// readInput reads the body from the file of --input, and JSON values from their files.
func (c *operationCall) readInput(cmd *cobra.Command, in io.Reader) (err error) {
	if c.inputFile != "" {
		if c.body, err = readFile(in, c.inputFile); err != nil {
			return fmt.Errorf("--input: %w", err)
		}
	}
	for name, f := range c.fields {
		if !slices.ContainsFunc(f.values, f.refersToFile) {
			continue
		}
		for i, text := range f.values {
			if !f.refersToFile(text) {
				continue
			}
			content, err := readFile(in, text)
			if err != nil {
				return fmt.Errorf("--%s: %w", kebabCase(name), err)
			}
			f.values[i] = string(content)
		}
		if _, err := f.value(); err != nil {
			return terminal.NewCommandUsageError(cmd, "--%s: %v", kebabCase(name), err)
		}
	}
	return nil
}

// readFile reads a file, with or without @ before its name, or standard input for a dash.
func readFile(in io.Reader, name string) ([]byte, error) {
	if name == "-" {
		return io.ReadAll(in)
	}
	return os.ReadFile(strings.TrimPrefix(name, "@"))
}

// request returns the HTTP request. It cannot fail, because Set has checked the values.
func (c *operationCall) request() client.Request {
	r := client.Request{
		Method: c.Method, Path: c.Path, Query: url.Values{}, Body: c.body,
		Repeatable: c.Method != http.MethodPost || c.Effect == api.Read, AcceptsIdempotencyKey: c.IdempotencyKey != nil,
	}
	body := map[string]json.RawMessage{}
	for _, f := range c.Input {
		flag := c.fields[f.Name]
		if f.Null == schema.NullClears && slices.Contains(c.clearNames, kebabCase(f.Name)) {
			body[f.Name] = json.RawMessage("null")
		}
		if len(flag.values) == 0 {
			continue
		}
		switch f.In {
		case schema.InPath:
			r.Path = strings.ReplaceAll(r.Path, "{"+f.Name+"}", url.PathEscape(flag.values[0]))
		case schema.InQuery:
			r.Query.Set(f.Name, flag.values[0])
		case schema.InBody:
			body[f.Name], _ = flag.value()
		case schema.InHeader: // see options
		}
	}
	if c.hasBody() && c.body == nil {
		r.Body, _ = schema.Encode(body) // cannot fail, because the values are valid JSON
	}
	return r
}

// options returns the call options for the fields that are sent as headers.
func (c *operationCall) options() (out []client.CallOption) {
	for _, name := range c.fieldNames(schema.InHeader) {
		if values := c.fields[name].values; len(values) > 0 {
			out = append(out, client.Header(name, values[0]))
		}
	}
	return out
}

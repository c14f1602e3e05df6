package user

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"growthworkspace/scripts/workspace/terminal"
	"growthworkspace/shared/client"
	"growthworkspace/shared/schema"
)

// outputFlags holds the values of the flags that select how a response is printed.
type outputFlags struct {
	fields  []string
	csv     bool
	include bool
	jq      string
}

func (o *outputFlags) register(cmd *cobra.Command) {
	flags := cmd.PersistentFlags()
	flags.StringSliceVar(&o.fields, "fields", nil, "print only these `fields` of each record, in this order")
	flags.BoolVar(&o.csv, "csv", false, "print comma-separated values, with a line of field names")
	flags.StringVar(&o.jq, "jq", "", "print the result of this jq `expression` on the JSON response")
	flags.BoolVar(&o.include, "include", false, `print {"status","headers","nextCursor","body"} as JSON`)
	completeFlag(cmd, "fields", completeFields)
}

// isUsed reports whether one of the flags is set.
func (o outputFlags) isUsed() bool { return o.fields != nil || o.csv || o.include || o.jq != "" }

// responseFormat is how the response of one call is printed.
type responseFormat struct {
	outputFlags

	isJSON bool          // set by --json, --include and --jq
	all    []recordField // the fields of a record
	chosen []recordField // the fields of --fields; without the flag, empty
	filter *jqFilter     // the expression of --jq, or nil
}

// formatOf returns the format that the flags select for a call, or a usage error.
func (c *operationCall) formatOf(cmd *cobra.Command, flags outputFlags, isJSON bool) (f responseFormat, err error) {
	f = responseFormat{outputFlags: flags, isJSON: isJSON || flags.include || flags.jq != "", all: recordFields(c.Record())}
	switch {
	case flags.csv && f.isJSON:
		return f, terminal.NewCommandUsageError(cmd, "--csv cannot be combined with --json, --jq or --include")
	case flags.include && c.allPages:
		return f, terminal.NewCommandUsageError(cmd, "--all joins the bodies of several responses: leave out --include")
	case cmd.Flags().Changed("fields") && len(flags.fields) == 0:
		return f, terminal.NewCommandUsageError(cmd, "--fields: name at least one of %s", strings.Join(namesOf(f.all), ", "))
	}
	for _, name := range flags.fields {
		i := slices.IndexFunc(f.all, func(field recordField) bool { return kebabCase(field.name) == kebabCase(strings.TrimSpace(name)) })
		if i < 0 {
			return f, terminal.NewCommandUsageError(cmd, "--fields: no field %q; the fields are %s", name, strings.Join(namesOf(f.all), ", "))
		}
		if slices.Contains(namesOf(f.chosen), f.all[i].name) {
			return f, terminal.NewCommandUsageError(cmd, "--fields: %s is named twice", f.all[i].name)
		}
		f.chosen = append(f.chosen, f.all[i])
	}
	if cmd.Flags().Changed("jq") {
		if f.filter, err = newJQFilter(flags.jq); err != nil {
			return f, terminal.NewCommandUsageError(cmd, "--jq: %v", err)
		}
	}
	return f, nil
}

func namesOf(fields []recordField) (names []string) {
	for _, f := range fields {
		names = append(names, f.name)
	}
	return names
}

// printedFields returns the fields to print: those of --fields, or all.
func (f responseFormat) printedFields() []recordField {
	if len(f.chosen) > 0 {
		return f.chosen
	}
	return f.all
}

// readPages fetches every page of a list, and returns a body with the items of all pages.
func readPages(ctx context.Context, r connection, c *operationCall) ([]byte, error) {
	items := []json.RawMessage{}
	for item, err := range client.All[json.RawMessage](ctx, r.client, c.request(), c.options()...) {
		if err != nil {
			return nil, err
		}
		items = append(items, item)
	}
	body, err := schema.Encode(terminal.ItemList[json.RawMessage]{Items: items})
	if err != nil {
		return nil, fmt.Errorf("join the pages: %w", err)
	}
	return body, nil
}

// printResponse prints a response: as JSON, as comma-separated values, as the fields of a record,
// or as a table of records. next is the cursor of the list's next page, or empty.
func (u *userCommands) printResponse(ctx context.Context, c *operationCall, response client.Response, next string, format responseFormat) error {
	if format.isJSON {
		return u.printJSON(ctx, c, response, next, format)
	}
	var value map[string]any
	if err := decodeJSON(response.Body, &value); err != nil {
		return fmt.Errorf("the response is not a JSON object: %w", err)
	}
	rows := []map[string]any{value}
	if c.IsList() {
		rows = recordsOf(value["items"])
	}
	style := tableStyle{width: cmp.Or(terminal.Width(u.Out), widthDefault), color: u.hasColor()}
	var text string
	switch {
	case format.csv:
		text = csvOf(format.printedFields(), rows)
	case len(rows) == 0 && next != "": // a filter can drop every record that a page has read
		u.Note("no records on this page")
	case len(rows) == 0:
		u.Note("no records")
	case !c.IsList():
		text = formatFields(format.printedFields(), value, style)
	case len(format.chosen) > 0:
		text = wideTableOf(format.chosen, rows, style.color)
	default:
		text = tableOf(c.Record(), rows, style)
	}
	if err := u.Write(text); err != nil {
		return err
	}
	if next != "" {
		u.Note("\nThere are more: --all fetches every page, --cursor %s the next one.", next)
	}
	return nil
}

// widthDefault is the width of a table that is written to a file or a pipe.
const widthDefault = 80

// hasColor reports whether the output is for a person at a terminal with colors. NO_COLOR is the
// variable of no-color.org. On Windows, only Windows Terminal, which sets WT_SESSION, is known to
// support colors.
func (u *userCommands) hasColor() bool {
	if runtime.GOOS == "windows" && os.Getenv("WT_SESSION") == "" {
		return false
	}
	return terminal.Width(u.Out) > 0 && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

// decodeJSON decodes JSON and keeps the numbers exactly as they are.
func decodeJSON(text []byte, value any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	return d.Decode(value)
}

// includedResponse is the output of --include.
type includedResponse struct {
	Status     int               `json:"status"`
	Headers    map[string]string `json:"headers"`    // by name in lower case
	NextCursor *string           `json:"nextCursor"` // the value of --cursor for the next page; null if there is none
	Body       json.RawMessage   `json:"body"`
}

// printJSON prints a response as JSON. With no flag other than --json, it prints the body as the
// service sent it, but indented on a terminal.
func (u *userCommands) printJSON(ctx context.Context, c *operationCall, response client.Response, next string, format responseFormat) error {
	text := bytes.TrimSpace(response.Body)
	var err error
	if len(format.chosen) > 0 {
		if text, err = selectFields(text, c.IsList(), format.chosen); err != nil {
			return fmt.Errorf("the response has other fields than expected: %w", err)
		}
	}
	if format.include {
		out := includedResponse{Status: response.Status, Headers: map[string]string{}, Body: text}
		for name, values := range response.Header {
			out.Headers[strings.ToLower(name)] = strings.Join(values, ", ")
		}
		if next != "" {
			out.NextCursor = &next
		}
		if text, err = schema.Encode(out); err != nil {
			return fmt.Errorf("the response is not JSON: %w", err)
		}
	}
	if format.filter == nil {
		return u.Write(u.indentJSON(text) + "\n")
	}
	return format.filter.run(ctx, text, func(result any) error {
		if s, ok := result.(string); ok {
			if terminal.Width(u.Out) > 0 {
				s = formatValue(s, "\n")
			}
			return u.Write(s + "\n")
		}
		line, err := format.filter.encode(result)
		if err != nil {
			return err
		}
		return u.Write(u.indentJSON(line) + "\n")
	})
}

// indentJSON indents JSON and escapes the characters in it that control a terminal. If the output
// is not a terminal, it returns text unchanged.
func (u *userCommands) indentJSON(text []byte) string {
	var lines bytes.Buffer
	if terminal.Width(u.Out) > 0 && json.Indent(&lines, text, "", "  ") == nil {
		return string(terminal.EscapeJSON(lines.Bytes()))
	}
	return string(text)
}

// selectFields returns a body that contains only the given fields of a record, or of each record of
// a list.
func selectFields(body []byte, isList bool, fields []recordField) ([]byte, error) {
	if !isList {
		var record map[string]json.RawMessage
		if err := json.Unmarshal(body, &record); err != nil {
			return nil, err
		}
		return fieldsJSON(record, fields)
	}
	var list terminal.ItemList[map[string]json.RawMessage]
	if err := json.Unmarshal(body, &list); err != nil {
		return nil, err
	}
	out := terminal.ItemList[json.RawMessage]{Items: []json.RawMessage{}}
	for _, record := range list.Items {
		text, err := fieldsJSON(record, fields)
		if err != nil {
			return nil, err
		}
		out.Items = append(out.Items, text)
	}
	return schema.Encode(out)
}

// fieldsJSON encodes the given fields of a record, in their order.
func fieldsJSON(record map[string]json.RawMessage, fields []recordField) ([]byte, error) {
	out := []byte("{")
	for i, f := range fields {
		if i > 0 {
			out = append(out, ',')
		}
		value := record[f.name]
		if value == nil {
			value = json.RawMessage("null")
		}
		name, err := schema.Encode(f.name)
		if err != nil {
			return nil, err
		}
		out = append(append(append(out, name...), ':'), value...)
	}
	return append(out, '}'), nil
}

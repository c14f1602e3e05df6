package user

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"growthworkspace/scripts/workspace/terminal"
	"growthworkspace/shared/schema"
)

// printPages fetches every page of a list and prints them as one list.
func (u *userCommands) printPages(ctx context.Context, r connection, c *operationCall) error {
	items, request := []json.RawMessage{}, c.request()
	for {
		response, err := r.client.Do(ctx, request, c.options()...)
		if err != nil {
			return err
		}
		var page terminal.ItemList[json.RawMessage]
		if err := json.Unmarshal(response.Body, &page); err != nil {
			return fmt.Errorf("the response is not a list: %w", err)
		}
		items = append(items, page.Items...)
		next, err := response.Next()
		if err != nil {
			return err
		}
		if next == "" {
			break
		}
		if next == request.Query.Get("cursor") {
			return errors.New("the cursor of the next page is that of this page: the service's paging is broken")
		}
		request.Query.Set("cursor", next)
	}
	body, err := schema.Encode(terminal.ItemList[json.RawMessage]{Items: items})
	if err != nil {
		return fmt.Errorf("join the pages: %w", err)
	}
	return u.printResponse(c, body, "")
}

// printResponse prints the body of a response. With --json it prints the body unchanged, or
// indented on a terminal. Without --json it prints the fields of a record or a table of records.
func (u *userCommands) printResponse(c *operationCall, body []byte, next string) error {
	if u.JSON {
		text := bytes.TrimSpace(body)
		if terminal.Width(u.Out) > 0 {
			var lines bytes.Buffer
			if json.Indent(&lines, text, "", "  ") == nil {
				text = lines.Bytes()
			}
		}
		return u.Write(string(text) + "\n")
	}
	var value map[string]any
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	if err := d.Decode(&value); err != nil {
		return fmt.Errorf("the response is not a JSON object: %w", err)
	}
	if !c.IsList() {
		return u.Write(fieldsOf(c.Output, value, ""))
	}
	rows := rowsOf(value["items"])
	if len(rows) == 0 {
		u.Note("no records")
		return nil
	}
	if err := u.Write(tableOf(c.Output.Field(0).Type.Elem(), rows, cmp.Or(terminal.Width(u.Out), widthDefault))); err != nil {
		return err
	}
	if next != "" {
		u.Note("\nThere are more: --all fetches every page, --cursor %s the next one.", next)
	}
	return nil
}

func rowsOf(v any) (rows []map[string]any) {
	items, _ := v.([]any) // a value of a different type counts as an empty list
	for _, item := range items {
		if row, ok := item.(map[string]any); ok {
			rows = append(rows, row)
		}
	}
	return rows
}

// fieldsOf formats a record with one field on each line. Its lists of records follow as tables.
func fieldsOf(t reflect.Type, value map[string]any, indent string) string {
	var out, tables strings.Builder
	width := 0
	for _, f := range recordFields(t) {
		width = max(width, len(f.name))
	}
	for _, f := range recordFields(t) {
		v := value[f.name]
		if rows := rowsOf(v); f.isRecordList() {
			v = json.Number(fmt.Sprint(len(rows)))
			if len(rows) > 0 {
				fmt.Fprintf(&tables, "\n%s%s\n%s", indent, f.name, tableOf(f.element, rows, widthDefault))
			}
		}
		text := textOf(v, "\n"+indent+strings.Repeat(" ", width+2))
		fmt.Fprintf(&out, "%s%-*s  %s\n", indent, width, f.name, text)
	}
	return out.String() + tables.String()
}

// textOf formats a value and escapes control characters. It replaces line breaks in a string with
// newline.
func textOf(v any, newline string) string {
	switch v := v.(type) {
	case nil:
		return "-"
	case string:
		lines := strings.Split(v, "\n")
		for i := range lines {
			lines[i] = terminal.EscapeControls(lines[i])
		}
		return strings.Join(lines, newline)
	case []any:
		parts := make([]string, len(v))
		for i, element := range v {
			parts[i] = textOf(element, " ")
		}
		return strings.Join(parts, ", ")
	}
	text, err := schema.Encode(v)
	if err != nil {
		return "?"
	}
	return terminal.EscapeControls(string(text))
}

type recordField struct {
	name    string
	element reflect.Type // the field's type, without pointers and slices
	isSlice bool
}

func (f recordField) isRecordList() bool { return f.isSlice && f.element.Kind() == reflect.Struct }

func recordFields(t reflect.Type) (out []recordField) {
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous || !f.IsExported() || name == "" || name == "-" {
			continue
		}
		element := f.Type
		raw := element == reflect.TypeFor[json.RawMessage]()
		for !raw && (element.Kind() == reflect.Pointer || element.Kind() == reflect.Slice) {
			element = element.Elem()
		}
		out = append(out, recordField{name, element, f.Type.Kind() == reflect.Slice && !raw})
	}
	return out
}

// rank returns the rank of a field as a column of a table, where 0 is the most important, or -1 to
// leave it out.
func (f recordField) rank() int {
	_, closed := reflect.Zero(f.element).Interface().(schema.Enum)
	switch {
	case f.name == "id":
		return 0
	case f.name == "companyId", f.name == "createdAt", f.name == "updatedAt", f.isRecordList():
		return -1
	case slices.Contains([]string{"name", "title", "key", "metricKey", "ts", "value", "dims"}, f.name):
		return 1
	case f.element == reflect.TypeFor[json.RawMessage]():
		return -1
	case closed && !f.isSlice:
		return 2
	case f.element.Kind() != reflect.String:
		return 3
	case f.isSlice, strings.HasSuffix(f.name, "At"), strings.HasSuffix(f.name, "Id"), strings.HasSuffix(f.name, "Url"):
		return 5
	}
	return 4
}

// widthDefault is the width of a table that is written to a file or a pipe.
const widthDefault = 120

// cellCharsMax is the maximum length of a string in a table cell.
const cellCharsMax = 36

// tableOf formats records as the rows of a table, with as many columns as fit into the width. It
// leaves out empty columns.
func tableOf(t reflect.Type, rows []map[string]any, width int) string {
	fields := slices.DeleteFunc(recordFields(t), func(f recordField) bool {
		return f.rank() < 0 || !slices.ContainsFunc(rows, func(r map[string]any) bool { return r[f.name] != nil })
	})
	slices.SortStableFunc(fields, func(x, y recordField) int { return cmp.Compare(x.rank(), y.rank()) })
	lines, used := make([][]string, len(rows)+1), 0
	for n, f := range fields {
		cells, widest := []string{columnHeading(f.name)}, 0
		for _, row := range rows {
			cells = append(cells, truncateText(textOf(row[f.name], " ")))
		}
		for _, cell := range cells {
			widest = max(widest, utf8.RuneCountInString(cell))
		}
		if used += widest + 2; n > 1 && used-2 > width {
			break
		}
		for i, cell := range cells {
			lines[i] = append(lines[i], cell)
		}
	}
	joined := make([]string, len(lines))
	for i, cells := range lines {
		joined[i] = strings.Join(cells, "\t")
	}
	return terminal.AlignColumns(joined)
}

// truncateText shortens a string for a table cell. It does not shorten strings without spaces, such
// as ids and URLs, so that they can be copied.
func truncateText(text string) string {
	chars := []rune(text)
	if len(chars) <= cellCharsMax || !strings.ContainsAny(text, " {") {
		return text
	}
	return string(chars[:cellCharsMax-1]) + "…"
}

// columnHeading converts the name of a field to a heading, such as replyStatus to REPLY STATUS.
func columnHeading(name string) string {
	var out strings.Builder
	for _, c := range name {
		if unicode.IsUpper(c) {
			out.WriteByte(' ')
		}
		out.WriteRune(unicode.ToUpper(c))
	}
	return out.String()
}

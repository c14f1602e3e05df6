package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/term"

	"growthworkspace/shared/schema"
)

// terminal returns the width of the terminal that w is, 0 when it is none.
func terminal(w io.Writer) int {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return 0
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return widthDefault
	}
	return width
}

// widthDefault bounds a table that goes into a file or a pipe.
const widthDefault = 120

// printPages prints a list to its end.
func (a *app) printPages(ctx context.Context, r connection, c *operationCall) error {
	items, request := []json.RawMessage{}, c.request()
	for {
		answer, err := r.client.Do(ctx, request, c.options()...)
		if err != nil {
			return err
		}
		var page list[json.RawMessage]
		if err := json.Unmarshal(answer.Body, &page); err != nil {
			return fmt.Errorf("the answer is no list: %w", err)
		}
		items = append(items, page.Items...)
		next, err := answer.Next()
		if err != nil {
			return err
		}
		if next == "" {
			break
		}
		if next == request.Query.Get("cursor") {
			return errors.New("a page names itself as the next one: the service does not keep the rules of lists")
		}
		request.Query.Set("cursor", next)
	}
	body, err := schema.Encode(list[json.RawMessage]{items})
	if err != nil {
		return fmt.Errorf("put the pages together: %w", err)
	}
	return a.printAnswer(c, body, "")
}

// printAnswer prints what was answered: as it came with --json, set in lines where a person looks.
func (a *app) printAnswer(c *operationCall, body []byte, next string) error {
	if a.json {
		text := bytes.TrimSpace(body)
		if terminal(a.out) > 0 {
			var lines bytes.Buffer
			if json.Indent(&lines, text, "", "  ") == nil {
				text = lines.Bytes()
			}
		}
		return a.write(string(text) + "\n")
	}
	var value map[string]any
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	if err := d.Decode(&value); err != nil {
		return fmt.Errorf("the answer is no JSON object: %w", err)
	}
	if !c.IsList() {
		return a.write(fieldsOf(c.Output, value, ""))
	}
	rows := rowsOf(value["items"])
	if len(rows) == 0 {
		a.note("no records")
		return nil
	}
	if err := a.write(tableOf(c.Output.Field(0).Type.Elem(), rows, cmp.Or(terminal(a.out), widthDefault))); err != nil {
		return err
	}
	if next != "" {
		a.note("\nThere is more: --all follows the pages, --cursor %s is the next one.", next)
	}
	return nil
}

func (a *app) write(text string) error {
	if _, err := io.WriteString(a.out, text); err != nil {
		return fmt.Errorf("print the answer: %w", err)
	}
	return nil
}

func rowsOf(v any) (rows []map[string]any) {
	items, _ := v.([]any) // anything else has no rows
	for _, item := range items {
		if row, ok := item.(map[string]any); ok {
			rows = append(rows, row)
		}
	}
	return rows
}

// fieldsOf shows a record, a field in a line, in the order of the record. A list of records in it follows as a table.
func fieldsOf(t reflect.Type, value map[string]any, indent string) string {
	var out, tables strings.Builder
	width := 0
	for _, f := range recordFields(t) {
		width = max(width, len(f.name))
	}
	for _, f := range recordFields(t) {
		v := value[f.name]
		if rows := rowsOf(v); f.records() {
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

// textOf shows a value. What could move the cursor is shown as its escape (shown), because much is written by strangers;
// newline is what goes between the lines of a text.
func textOf(v any, newline string) string {
	switch v := v.(type) {
	case nil:
		return "-"
	case string:
		lines := strings.Split(v, "\n")
		for i := range lines {
			lines[i] = shown(&lines[i])
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
	s := string(text)
	return shown(&s)
}

type recordField struct {
	name    string
	element reflect.Type // without pointer and slice
	slice   bool
}

func (f recordField) records() bool { return f.slice && f.element.Kind() == reflect.Struct }

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

// rank says how soon a person wants to see a field in a table; -1: not at all.
func (f recordField) rank() int {
	_, closed := reflect.Zero(f.element).Interface().(schema.Enum)
	switch {
	case f.name == "id":
		return 0
	case f.name == "companyId", f.name == "createdAt", f.name == "updatedAt", f.records():
		return -1
	case slices.Contains([]string{"name", "title", "key", "metricKey", "ts", "value", "dims"}, f.name):
		return 1
	case f.element == reflect.TypeFor[json.RawMessage]():
		return -1
	case closed && !f.slice:
		return 2
	case f.element.Kind() != reflect.String:
		return 3
	case f.slice, strings.HasSuffix(f.name, "At"), strings.HasSuffix(f.name, "Id"), strings.HasSuffix(f.name, "Url"):
		return 5
	}
	return 4
}

// cellCharsMax cuts a text in a table.
const cellCharsMax = 36

// tableOf shows records in rows: the columns that people want first, as many as the width takes, and none that is empty.
func tableOf(t reflect.Type, rows []map[string]any, width int) string {
	fields := slices.DeleteFunc(recordFields(t), func(f recordField) bool {
		return f.rank() < 0 || !slices.ContainsFunc(rows, func(r map[string]any) bool { return r[f.name] != nil })
	})
	slices.SortStableFunc(fields, func(x, y recordField) int { return cmp.Compare(x.rank(), y.rank()) })
	lines, used := make([]string, len(rows)+1), 0
	for n, f := range fields {
		cells := []string{heading(f.name)}
		for _, row := range rows {
			cells = append(cells, cut(textOf(row[f.name], " ")))
		}
		widest := 0
		for _, cell := range cells {
			widest = max(widest, utf8.RuneCountInString(cell))
		}
		if used += widest + 2; n > 1 && used-2 > width {
			break
		}
		for i, cell := range cells {
			lines[i] += cell + strings.Repeat(" ", widest-utf8.RuneCountInString(cell)+2)
		}
	}
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.Join(lines, "\n") + "\n"
}

// cut shortens all but what has to be copied whole, which has no spaces.
func cut(text string) string {
	chars := []rune(text)
	if len(chars) <= cellCharsMax || !strings.ContainsAny(text, " {") {
		return text
	}
	return string(chars[:cellCharsMax-1]) + "…"
}

// heading spells replyStatus as REPLY STATUS.
func heading(name string) string {
	var out strings.Builder
	for _, c := range name {
		if unicode.IsUpper(c) {
			out.WriteByte(' ')
		}
		out.WriteRune(unicode.ToUpper(c))
	}
	return out.String()
}

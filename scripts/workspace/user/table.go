package user

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unicode"

	"github.com/clipperhouse/uax29/v2/graphemes"

	"growthworkspace/functions/broadcast"
	"growthworkspace/functions/feedback"
	"growthworkspace/functions/overview"
	"growthworkspace/functions/plan"
	"growthworkspace/scripts/workspace/terminal"
	"growthworkspace/shared/schema"
)

// otherColumns lists the columns of a table for records that are no kind of their own, in the form
// of api.Noun. A column is the name of a field or, for a field of a nested record, both names with
// a dot between them.
var otherColumns = map[reflect.Type]string{
	reflect.TypeFor[plan.LiveItem]():           "columnId:column title publishedVersion:version sortOrder:order targetLabel:target slug",
	reflect.TypeFor[plan.BoardVersion]():       "version publishedAt:published itemCount:items restores live",
	reflect.TypeFor[plan.PublishedItem]():      "columnId:column title slug",
	reflect.TypeFor[plan.ChangedItem]():        "columnId:column title changed slug",
	reflect.TypeFor[feedback.ReplyClaim]():     "claimedAt:claimed feedback.id claimId feedback.source:source feedback.replyBody:reply",
	reflect.TypeFor[broadcast.PostClaim]():     "claimedAt:claimed post.id claimId post.platform:platform post.body:body",
	reflect.TypeFor[overview.Attention]():      "kind count since more",
	reflect.TypeFor[overview.OverviewMetric](): "name value previous change through better unit key",
	reflect.TypeFor[overview.WeekMetric]():     "name value previous change better unit key",
}

// tableColumns returns the columns of a table for a type of record, the most important first. A
// record's id is always the last column and is not listed.
func tableColumns(record reflect.Type) string {
	for _, k := range recordKinds() {
		if k.List != nil && k.List.Record() == record {
			return k.Columns
		}
	}
	return otherColumns[record]
}

// The minimum widths of columns. If a column would have to be narrower, a less important column is
// left out instead.
const (
	textCharsMin = 14
	dayChars     = len("2006-01-02")
	minuteChars  = len("2006-01-02 15:04")
)

// columnGap is the space between two columns.
const columnGap = 2

// idField is the name of the field that is the last column of every table.
const idField = "id"

// tableColumn is one column of a table.
type tableColumn struct {
	recordField

	cells     []string // the heading and a cell for each row
	fullWidth int      // the width of the longest cell
	width     int      // the width in this table
}

// tableStyle describes the output to which a table is printed.
type tableStyle struct {
	width int
	color bool
}

// tableOf formats records as the rows of a table that fits into the width. It truncates long
// values, and leaves out empty columns and those for which there is no space. The id is never cut.
func tableOf(t reflect.Type, rows []map[string]any, style tableStyle) string {
	return formatColumns(fitColumns(columnsOf(t, rows), style.width), len(rows), style.color)
}

// wideTableOf formats records as the rows of a table that has the fields as columns. It cuts
// nothing.
func wideTableOf(fields []recordField, rows []map[string]any, color bool) string {
	columns := make([]*tableColumn, len(fields))
	for i, f := range fields {
		columns[i] = newColumn(f, f.name, valuesAt(rows, f.name), false)
		columns[i].width = columns[i].fullWidth
	}
	return formatColumns(columns, len(rows), color)
}

func formatColumns(columns []*tableColumn, rowCount int, color bool) string {
	var out strings.Builder
	for i := range rowCount + 1 {
		var line strings.Builder
		for _, c := range columns {
			cell := c.cell(i)
			padding := strings.Repeat(" ", c.width-textWidth(cell)+columnGap)
			if i > 0 {
				cell = c.colorize(cell, color)
			}
			line.WriteString(cell + padding)
		}
		out.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	return out.String()
}

// cell returns the heading or the cell of a row, cut to the width of the column.
func (c *tableColumn) cell(i int) string {
	if c.isTime && c.width < minuteChars && len(c.cells[i]) == minuteChars {
		return c.cells[i][:dayChars]
	}
	return cutText(c.cells[i], c.width)
}

// columnsOf returns the columns for a record type, except those without a value in any row.
func columnsOf(t reflect.Type, rows []map[string]any) (columns []*tableColumn) {
	for _, column := range strings.Fields(tableColumns(t) + " " + idField) {
		path, heading, found := strings.Cut(column, ":")
		if !found {
			heading = path
		}
		f, found := fieldAt(t, path)
		if !found || !slices.ContainsFunc(rows, func(r map[string]any) bool { return valueAt(r, path) != nil }) {
			continue
		}
		columns = append(columns, newColumn(f, heading, valuesAt(rows, path), true))
	}
	return columns
}

// fieldAt returns the field that a column names, in a record or in a record nested in it.
func fieldAt(t reflect.Type, path string) (f recordField, found bool) {
	name, inner, isNested := strings.Cut(path, ".")
	fields := recordFields(t)
	i := slices.IndexFunc(fields, func(f recordField) bool { return f.name == name })
	if i < 0 || isNested && !fields[i].isRecord() {
		return recordField{}, false
	}
	if isNested {
		return fieldAt(fields[i].element, inner)
	}
	return fields[i], true
}

// valueAt returns the value of the field that a column names, or nil.
func valueAt(row map[string]any, path string) any {
	name, inner, isNested := strings.Cut(path, ".")
	if !isNested {
		return row[name]
	}
	record, _ := row[name].(map[string]any) // null has no fields
	return valueAt(record, inner)
}

func valuesAt(rows []map[string]any, path string) []any {
	values := make([]any, len(rows))
	for i, row := range rows {
		values[i] = valueAt(row, path)
	}
	return values
}

// newColumn returns a column with a cell for each value. If short is true, times are shortened.
func newColumn(f recordField, heading string, values []any, short bool) *tableColumn {
	c := &tableColumn{recordField: f, cells: []string{columnHeading(heading)}}
	for _, value := range values {
		c.cells = append(c.cells, formatValue(value, " "))
	}
	if short && f.isTime {
		shortenTimes(c.cells[1:])
	}
	for _, text := range c.cells {
		c.fullWidth = max(c.fullWidth, textWidth(text))
	}
	return c
}

// shortenTimes shortens times to the minute, or to the day if all of them are at midnight.
func shortenTimes(cells []string) {
	const midnight = " 00:00"
	allMidnight := true
	for i, text := range cells {
		cells[i] = truncateToMinute(text)
		allMidnight = allMidnight && (text == "-" || strings.HasSuffix(cells[i], midnight))
	}
	for i, text := range cells {
		if allMidnight {
			cells[i] = strings.TrimSuffix(text, midnight)
		}
	}
}

// truncateToMinute shortens a time such as 2006-01-02T15:04:05.000Z to the minute.
func truncateToMinute(text string) string {
	if len(text) <= minuteChars || text[dayChars] != 'T' {
		return text
	}
	return text[:dayChars] + " " + text[dayChars+1:minuteChars]
}

// minWidth returns the width to which the column can be cut.
func (c *tableColumn) minWidth() int {
	switch {
	case c.isTime:
		return min(c.fullWidth, max(dayChars, textWidth(c.cells[0])))
	case c.isText():
		return min(c.fullWidth, max(textCharsMin, textWidth(c.cells[0])))
	}
	return c.fullWidth
}

// fitColumns returns the columns for which there is space, with their widths. The first column and
// the id are always among them.
func fitColumns(columns []*tableColumn, width int) []*tableColumn {
	var last []*tableColumn
	spare := width + columnGap // no gap follows the last column
	if n := len(columns); n > 0 && columns[n-1].name == idField {
		columns, last = columns[:n-1], columns[n-1:]
		last[0].width = last[0].fullWidth
		spare -= last[0].width + columnGap
	}
	var kept []*tableColumn
	for i, c := range columns {
		c.width = c.minWidth()
		if i == 0 {
			c.width = min(c.width, max(spare-columnGap, dayChars))
		} else if c.width+columnGap > spare {
			break
		}
		spare -= c.width + columnGap
		kept = append(kept, c)
	}
	for _, c := range kept {
		more := min(c.fullWidth-c.width, spare)
		if more <= 0 || c.isTime && more < c.fullWidth-c.width {
			continue // a time is cut to the day, or not at all
		}
		c.width += more
		spare -= more
	}
	return append(kept, last...)
}

// cutText truncates text to width columns.
func cutText(text string, width int) string {
	if textWidth(text) <= width {
		return text
	}
	var out strings.Builder
	used := 0
	for g := graphemes.FromString(text); g.Next(); {
		if used += clusterWidth(g.Value()); used > width-1 {
			break
		}
		out.WriteString(g.Value())
	}
	return strings.TrimRight(out.String(), " ") + "…"
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
	return strings.ReplaceAll(out.String(), ".", " ")
}

// statusColors contains the color of each value of a field whose name ends in "status". A color is
// the number in an ANSI escape sequence. A value that is not listed has no color.
var statusColors = map[string]string{
	"achieved": green, "accepted": green, "active": green, "approved": green, "complete": green, "connected": green, "posted": green, "published": green,
	"expiring": yellow, "in_progress": yellow, "in_review": yellow, "needs_review": yellow, "paused": yellow, "posting": yellow,
	"publishing": yellow, "running": yellow, "scheduled": yellow, "suggested": yellow,
	"disconnected": red, "error": red, "failed": red, "missed": red, "rejected": red,
}

const red, green, yellow = "31", "32", "33"

// colorize adds the color of a status to text. It returns text unchanged if the field is not a
// status, or if color is false.
func (f recordField) colorize(text string, color bool) string {
	code := statusColors[text]
	if !color || code == "" || !f.isStatus() {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// recordField is a field of a record.
type recordField struct {
	name    string
	element reflect.Type // the field's type, without pointers and slices
	isSlice bool
	isTime  bool
}

func (f recordField) isRecordList() bool { return f.isSlice && f.element.Kind() == reflect.Struct }

// isRecord reports whether the value of the field is another record.
func (f recordField) isRecord() bool { return !f.isSlice && f.element.Kind() == reflect.Struct }

// isStatus reports whether the field contains the status of the record.
func (f recordField) isStatus() bool {
	return f.isEnum() && !f.isSlice && strings.HasSuffix(strings.ToLower(f.name), "status")
}

func (f recordField) isEnum() bool {
	_, closed := reflect.Zero(f.element).Interface().(schema.Enum)
	return closed
}

// identifierSuffixes lists the suffixes of the names of fields whose values are useless when cut,
// because people copy them.
var identifierSuffixes = []string{"id", "Id", "Url", "key", "Key", "prefix", "slug"}

// isText reports whether a value of the field is still useful when it is cut.
func (f recordField) isText() bool {
	switch {
	case f.isSlice, f.element == reflect.TypeFor[json.RawMessage]():
		return true
	case f.element.Kind() != reflect.String, f.isEnum(), f.isTime:
		return false
	}
	return !slices.ContainsFunc(identifierSuffixes, func(end string) bool { return strings.HasSuffix(f.name, end) })
}

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
		out = append(out, recordField{
			name: name, element: element, isSlice: f.Type.Kind() == reflect.Slice && !raw,
			isTime: f.Tag.Get("format") == "date-time" && element.Kind() == reflect.String,
		})
	}
	return out
}

// formatFields formats a record with one field per line. Lists of records follow as tables, and
// nested records as additional lines.
func formatFields(fields []recordField, value map[string]any, style tableStyle) string {
	var out, tables strings.Builder
	width := 0
	for _, f := range fields {
		width = max(width, len(f.name))
	}
	for _, f := range fields {
		v := value[f.name]
		if inner, ok := v.(map[string]any); ok && f.isRecord() {
			fmt.Fprintf(&tables, "\n%s\n%s", f.name, formatFields(recordFields(f.element), inner, style))
			continue
		}
		if rows := recordsOf(v); f.isRecordList() {
			v = json.Number(fmt.Sprint(len(rows)))
			if len(rows) > 0 {
				fmt.Fprintf(&tables, "\n%s\n%s", f.name, tableOf(f.element, rows, style))
			}
		}
		text := formatValue(v, "\n"+strings.Repeat(" ", width+columnGap))
		fmt.Fprintf(&out, "%-*s%s\n", width+columnGap, f.name, f.colorize(text, style.color))
	}
	return out.String() + tables.String()
}

// recordsOf returns the records of a list. A value of a different type counts as an empty list.
func recordsOf(v any) (rows []map[string]any) {
	items, _ := v.([]any)
	for _, item := range items {
		if row, ok := item.(map[string]any); ok {
			rows = append(rows, row)
		}
	}
	return rows
}

// formatValue formats a value and escapes control characters. It replaces line breaks in a string
// with the string newline.
func formatValue(v any, newline string) string {
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
			parts[i] = formatValue(element, " ")
		}
		return strings.Join(parts, ", ")
	}
	text, err := schema.Encode(v)
	if err != nil {
		return "?"
	}
	return terminal.EscapeControls(string(text))
}

package sheet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"growthworkspace/scripts/workspace/convert"
	"growthworkspace/shared/schema"
	"growthworkspace/shared/tabular"
)

// ga4Series describes the columns of Google Analytics by their English names in lower case. Numbers
// of users have the aggregation "none", because the same user may be counted on several days.
var ga4Series = map[string]series{
	"users": {"count", "none", ""}, "active users": {"count", "none", ""}, "new users": {"count", "sum", ""}, "total users": {"count", "none", ""}, "returning users": {"count", "none", ""},
	"views": {"count", "sum", ""}, "sessions": {"count", "sum", ""}, "engaged sessions": {"count", "sum", ""}, "event count": {"count", "sum", ""},
	"key events": {"count", "sum", ""}, "conversions": {"count", "sum", ""}, "entrances": {"count", "sum", ""}, "exits": {"count", "sum", ""},
	"engagement rate": {"ratio", "none", ""}, "bounce rate": {"ratio", "none", ""}, "session key event rate": {"ratio", "none", ""}, "user key event rate": {"ratio", "none", ""},
	"average engagement time": {"duration_ms", "none", "1000"}, "average engagement time per session": {"duration_ms", "none", "1000"},
	"average engagement time per active user": {"duration_ms", "none", "1000"}, "average session duration": {"duration_ms", "none", "1000"},
	"user engagement": {"duration_ms", "sum", "1000"},
}

const ga4DateLayout = "20060102"

// isNthDay reports whether a cell is a number of a day, such as 0003, and not a date.
func isNthDay(cell string) bool {
	cell = strings.TrimSpace(cell)
	return len(cell) < len(ga4DateLayout) && !isText(cell)
}

// ga4Dates contains the first and last days of a report, read from the report's comments. The two
// days are on separate lines or together on one line.
type ga4Dates struct {
	start, end time.Time
	needsEnd   bool // whether the start was read and the end is still missing
}

var (
	ga4DateLine  = regexp.MustCompile(`^(.*):\s*(\d{8})\s*$`)
	ga4RangeLine = regexp.MustCompile(`^\s*(\d{8})-(\d{8})\s*$`)
)

func (d *ga4Dates) readComment(line string) {
	day := func(text string) time.Time {
		at, err := time.Parse(ga4DateLayout, text)
		if err != nil {
			return time.Time{}
		}
		return at
	}
	if found := ga4RangeLine.FindStringSubmatch(line); found != nil {
		d.start, d.end = day(found[1]), day(found[2])
		return
	}
	found := ga4DateLine.FindStringSubmatch(line)
	if found == nil || day(found[2]).IsZero() {
		return
	}
	label := strings.ToLower(strings.TrimSpace(found[1]))
	switch {
	case label == "account" || label == "property": // a name of eight digits would look like a date
	case label == "end date", d.needsEnd && label != "start date":
		d.end, d.needsEnd = day(found[2]), false
	default:
		d.start, d.end, d.needsEnd = day(found[2]), time.Time{}, true
	}
}

// nthDay converts a cell that counts days from the report's first day, starting with 0.
func (d *ga4Dates) nthDay(cell string) (time.Time, error) {
	n, err := strconv.Atoi(strings.TrimSpace(cell))
	if err != nil || n < 0 || n > 100_000 {
		return time.Time{}, fmt.Errorf("%q is not a number of a day", cell)
	}
	day := d.start.AddDate(0, 0, n)
	if !d.end.IsZero() && day.After(d.end) {
		return time.Time{}, fmt.Errorf("%q is %s, after the end of the report", cell, day.Format(time.DateOnly))
	}
	return day, nil
}

const reasonNoDay = "rows of tables without a day (a column Nth day or Date)"

// convertGA4 converts the tables in a file that have a column for the day.
func convertGA4(ctx context.Context, in convert.Input, m mapping, out *convert.Output) error {
	if err := m.requirePoints("ga4"); err != nil {
		return err
	}
	if m.Decimal == "" {
		m.Decimal = "."
	}
	text, err := tabular.OpenText(in, m.Encoding)
	if err != nil {
		return err
	}
	dates := &ga4Dates{}
	s := tabular.NewSource(text)
	s.Comment, s.HasTables, s.OnComment, s.Skip, s.Encoding, s.NamesFlags, s.Nearest = "#", true, dates.readComment, m.SkipLines, m.Encoding, true, schema.Nearest
	found, withDay := map[string]bool{}, 0
	for {
		t, err := tabular.OpenTable(s, "")
		if errors.Is(err, io.EOF) {
			if !s.NextTable() {
				break
			}
			continue
		}
		if err != nil {
			return err
		}
		hasDay, err := convertGA4Table(ctx, t, m, dates, found, out)
		if err != nil {
			return err
		}
		if hasDay {
			withDay++
		}
		if !s.NextTable() {
			break
		}
	}
	if withDay == 0 {
		return errors.New("has no table with a column Nth day or Date: choose a report over time, or add the dimension Date to an exploration; --date-column names a column of another language")
	}
	for _, column := range m.columns() {
		if !found[strings.ToLower(column)] {
			return fmt.Errorf("no table with a day has the column %q", column)
		}
	}
	return nil
}

// convertGA4Table converts one table. hasDay reports whether the table has a column for the day. If
// it has none, convertGA4Table skips its rows. It records in found which of the mapping's columns
// the table has.
func convertGA4Table(ctx context.Context, t *tabular.Table, m mapping, dates *ga4Dates, found map[string]bool, out *convert.Output) (hasDay bool, err error) {
	dayIndex := slices.IndexFunc(t.Header, func(h string) bool {
		if m.DateColumn != "" {
			return strings.EqualFold(h, m.DateColumn)
		}
		return strings.EqualFold(h, "Nth day") || strings.EqualFold(h, "Date")
	})
	tableMapping := m
	tableMapping.Metrics, tableMapping.Fields = map[string]string{}, map[string]string{}
	hasColumn := func(column string) bool {
		return slices.ContainsFunc(t.Header, func(h string) bool { return strings.EqualFold(h, tabular.CleanHeading(column)) })
	}
	for column, key := range m.Metrics {
		if hasColumn(column) {
			tableMapping.Metrics[column] = key
		}
	}
	if dayIndex < 0 || len(m.Metrics) > 0 && len(tableMapping.Metrics) == 0 {
		for {
			if err := t.Read(); errors.Is(err, io.EOF) {
				return false, nil
			} else if err != nil {
				return false, err
			}
			out.Skip(reasonNoDay)
		}
	}
	for field, column := range m.Fields {
		tableMapping.Fields[field] = column
		if !hasColumn(column) {
			delete(tableMapping.Fields, field)
		}
	}
	tableMapping.DateColumn = t.Header[dayIndex]
	for _, column := range tableMapping.columns() {
		found[strings.ToLower(column)] = true
	}
	for { // skip rows of totals: they have one cell more than the header, or only numbers and no day
		err = t.Next()
		var bad tabular.RowProblem
		switch {
		case errors.Is(err, io.EOF):
			return true, nil
		case errors.As(err, &bad) && slices.ContainsFunc(t.Cells, isTotalWord), err == nil && tabular.IsBlank(t.Cells[dayIndex]) && !slices.ContainsFunc(t.Cells, isText):
			out.Skip(reasonTotal)
			continue
		case errors.As(err, &bad):
			err = out.Report(bad.Problem)
			if err == nil {
				continue
			}
		}
		if err != nil {
			return true, err
		}
		break
	}
	if len(m.Metrics) == 0 {
		tableMapping.addGA4Columns(t, dayIndex)
	}
	for column := range tableMapping.Metrics {
		tableMapping.addSeries(column, ga4Series[strings.ToLower(column)])
	}
	r, err := newRowConverter(t, tableMapping.forTable(t), out)
	if err != nil {
		return true, err
	}
	r.totalsHaveNoDay, r.nthDay = true, dates.nthDay
	if dates.start.IsZero() {
		r.nthDay = func(string) (time.Time, error) {
			return time.Time{}, convert.Problem{Row: t.HeaderRow, Column: t.Heading(dayIndex), Message: "counts from the start date, but no comment above has one: export the report with its comments"}
		}
	}
	if r.isTotal() {
		out.Skip(reasonTotal)
	} else if err := r.convert(); err != nil {
		return true, err
	}
	return true, r.convertAll(ctx)
}

// forTable returns the mapping without the values for columns that the table does not have.
func (m mapping) forTable(t *tabular.Table) mapping {
	for _, values := range []*map[string]string{&m.Scales, &m.Units, &m.Currencies, &m.Aggregations} {
		kept := maps.Clone(*values)
		maps.DeleteFunc(kept, func(column, _ string) bool {
			return column != "" && !slices.ContainsFunc(t.Header, func(h string) bool { return strings.EqualFold(h, tabular.CleanHeading(column)) })
		})
		*values = kept
	}
	return m
}

// addGA4Columns maps the columns of a table based on its first row. The columns up to the last one
// that contains text are dimensions. The columns after it are metrics.
func (m *mapping) addGA4Columns(t *tabular.Table, dayIndex int) {
	last := dayIndex
	for i, cell := range t.Cells[:len(t.Header)] {
		if i != dayIndex && isText(cell) {
			last = max(last, i)
		}
	}
	for i, heading := range t.Header {
		switch name := keyPart(heading); {
		case i == dayIndex || heading == "":
		case i <= last:
			m.Fields[dimsPrefix+name] = heading
		default:
			m.Metrics[heading] = "ga4." + name
		}
	}
}

// isText reports whether a cell has a value that is not a number.
func isText(cell string) bool {
	n, err := tabular.NewNumbers(".", nil).Read(cell)
	return err != nil && !errors.Is(err, tabular.ErrEmpty) || n.Currency != ""
}

// keyPart converts a heading to a part of a metric key.
func keyPart(heading string) string {
	var out strings.Builder
	for _, c := range strings.ToLower(heading) {
		switch {
		case c >= 'a' && c <= 'z' || c >= '0' && c <= '9' && out.Len() > 0:
			out.WriteRune(c)
		case out.Len() > 0 && !strings.HasSuffix(out.String(), "_"):
			out.WriteByte('_')
		}
	}
	return strings.TrimRight(out.String(), "_")
}

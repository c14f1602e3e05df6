package sheet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"growthworkspace/scripts/workspace/convert"
	"growthworkspace/shared/schema"
	"growthworkspace/shared/tabular"
)

// preset describes the tables of numbers that a program exports.
type preset struct {
	kind      string            // the value of --from
	prefix    string            // the beginning of the keys of metrics
	days      []string          // the headings of the column of days
	decimal   string            // the decimal separator
	comment   string            // lines with this prefix are not part of a table; if set, a file may have several tables
	series    map[string]series // the known columns of values, by heading in lower case
	onlyKnown bool              // whether other columns are left out; otherwise they are dimensions and metrics, too
	noTable   string            // the error for a file without a table that has a column of days

	sumColumn string            // a column that only tables of sums have
	sums      map[string]series // the columns of such a table that differ from series
}

// series describes a known column of values. Its key is that of the heading if it is empty.
type series struct{ unit, aggregation, scale, key string }

// Properties that several columns have.
var (
	counts  = series{"count", "sum", "", ""}
	uniques = series{"count", "none", "", ""} // the same person may be counted on several days
	rates   = series{"ratio", "none", "", ""}
	means   = series{"duration_ms", "none", "1000", ""} // in seconds
)

// ga4 is a report or an exploration of Google Analytics 4, with English headings. Numbers of users
// have the aggregation "none", because the same user may be counted on several days.
var ga4 = preset{
	kind: "ga4", prefix: "ga4.", days: []string{"Nth day", "Date"}, decimal: ".", comment: "#",
	noTable: "has no table with a column Nth day or Date: choose a report over time, or add the dimension Date to an exploration; --date-column names a column of another language",
	series: map[string]series{
		"users": uniques, "active users": uniques, "total users": uniques, "returning users": uniques, "new users": counts, "views": counts, "sessions": counts,
		"engaged sessions": counts, "event count": counts, "key events": counts, "conversions": counts, "entrances": counts, "exits": counts,
		"engagement rate": rates, "bounce rate": rates, "session key event rate": rates, "user key event rate": rates,
		"average engagement time": means, "average engagement time per session": means, "average engagement time per active user": means, "average session duration": means,
		"user engagement": {"duration_ms", "sum", "1000", ""},
	},
}

// plausible is the visitors file of Plausible. In a dashboard export, the column visit_duration is
// the mean duration of a visit. In a site export, it is the total duration of all visits.
var plausible = preset{
	kind: "plausible", prefix: "plausible.", days: []string{"date"}, decimal: ".", onlyKnown: true,
	noTable: "has no columns date and visitors, so it is not the visitors file of Plausible",
	series: map[string]series{
		"visitors": uniques, "pageviews": counts, "visits": counts, "bounces": counts, "views_per_visit": {"", "none", "", ""},
		"bounce_rate": {"ratio", "none", "0.01", ""}, "visit_duration": means,
	},
	sumColumn: "bounces", sums: map[string]series{"visit_duration": {"duration_ms", "sum", "1000", "visit_duration_total"}},
}

// check returns the mapping for the preset's tables. It returns an error if a flag asks for another
// type of records, or identifies the records in a different way.
func (p preset) check(m mapping) (mapping, error) {
	if m.Type != "" && m.Type != typePoint {
		return m, fmt.Errorf("--from %s yields records of type %s", p.kind, typePoint)
	}
	if m.IDColumn != "" {
		return m, errors.New("--id-column: a point is identified by its metric, dimensions and day")
	}
	if m.Type = typePoint; m.Decimal == "" {
		m.Decimal = p.decimal
	}
	return m, nil
}

const reasonNoDay = "rows of tables without a day (a column Nth day or Date)"

// convertFile converts the tables of a file that is not in an archive.
func (p preset) convertFile(ctx context.Context, in convert.Input, m mapping, out *convert.Output) error {
	text, err := tabular.OpenText(in, m.Encoding)
	if err != nil {
		return err
	}
	return p.convert(ctx, text, "", m, out)
}

// convert converts the tables of a file that have a column of days. suffix is appended to headings
// in messages.
func (p preset) convert(ctx context.Context, text io.Reader, suffix string, m mapping, out *convert.Output) error {
	m, err := p.check(m)
	if err != nil {
		return err
	}
	period := &reportPeriod{}
	s := tabular.NewSource(text)
	s.Comment, s.HasTables, s.OnComment, s.Skip, s.Encoding, s.NamesFlags, s.Nearest = p.comment, p.comment != "", period.readComment, m.SkipLines, m.Encoding, true, schema.Nearest
	found, withDay := map[string]bool{}, 0
	for more := true; more; more = s.NextTable() {
		t, err := tabular.OpenTable(s, suffix)
		if errors.Is(err, io.EOF) {
			continue
		}
		if err != nil {
			return err
		}
		hasDay, err := p.convertTable(ctx, t, m, period, found, out)
		if err != nil {
			return err
		}
		if hasDay {
			withDay++
		}
	}
	if withDay == 0 {
		return errors.New(strings.TrimSpace(strings.TrimPrefix(suffix, " of ") + " " + p.noTable))
	}
	for _, column := range m.columns() {
		if !found[strings.ToLower(column)] {
			return fmt.Errorf("no table with a day has the column %q", column)
		}
	}
	return nil
}

// convertTable converts one table. hasDay reports whether the table has a column of days and one of
// the mapping's metrics. If it has not, convertTable skips its rows. It records in found which of the
// mapping's columns the table has.
func (p preset) convertTable(ctx context.Context, t *tabular.Table, m mapping, period *reportPeriod, found map[string]bool, out *convert.Output) (hasDay bool, err error) {
	dayIndex := slices.IndexFunc(t.Header, func(h string) bool {
		isDay := func(name string) bool { return strings.EqualFold(h, name) }
		return m.DateColumn != "" && isDay(m.DateColumn) || m.DateColumn == "" && slices.ContainsFunc(p.days, isDay)
	})
	own := m
	own.Metrics, own.Fields = maps.Clone(m.Metrics), maps.Clone(m.Fields)
	maps.DeleteFunc(own.Metrics, func(column, _ string) bool { return !hasColumn(t, column) })
	maps.DeleteFunc(own.Fields, func(_, column string) bool { return !hasColumn(t, column) })
	if dayIndex < 0 || len(m.Metrics) > 0 && len(own.Metrics) == 0 {
		return false, skipTable(t, out)
	}
	own.DateColumn = t.Header[dayIndex]
	for _, column := range own.columns() {
		found[strings.ToLower(column)] = true
	}
	isSum := p.sumColumn != "" && hasColumn(t, p.sumColumn)
	own.known = maps.Clone(p.series)
	if isSum {
		maps.Copy(own.known, p.sums)
	}
	hasRow := false // whether the first row was read, which shows which columns contain text
	if !p.onlyKnown {
		if hasRow, err = skipTotals(t, dayIndex, out); err != nil || !hasRow {
			return true, err
		}
	}
	if len(m.Metrics) == 0 {
		p.addColumns(&own, t, dayIndex)
	}
	if len(own.Metrics) == 0 {
		return false, skipTable(t, out)
	}
	r, err := newRowConverter(t, own, out)
	if err != nil {
		return true, err
	}
	if r.consecutiveDays = p.onlyKnown && !isSum; !p.onlyKnown { // a table of sums leaves out days without visits, and is never weekly
		r.totalsHaveNoDay, r.nthDay = true, period.nthDay
		if period.start.IsZero() {
			r.nthDay = func(string) (time.Time, error) {
				return time.Time{}, convert.Problem{Row: t.HeaderRow, Column: t.Heading(dayIndex), Message: "counts from the start date, but no comment above has one: export the report with its comments"}
			}
		}
	}
	if hasRow {
		if err := r.convert(); err != nil {
			return true, err
		}
	}
	return true, r.convertAll(ctx)
}

func hasColumn(t *tabular.Table, column string) bool {
	return slices.ContainsFunc(t.Header, func(h string) bool { return strings.EqualFold(h, tabular.CleanHeading(column)) })
}

// skipTable counts the rows of a table as skipped.
func skipTable(t *tabular.Table, out *convert.Output) error {
	for {
		if err := t.Read(); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		out.Skip(reasonNoDay)
	}
}

// skipTotals reads the first row that does not contain totals. Rows of totals have one cell more
// than the header, or only numbers and no day. It returns false if there is no such row.
func skipTotals(t *tabular.Table, dayIndex int, out *convert.Output) (hasRow bool, err error) {
	for {
		err := t.Next()
		var bad tabular.RowProblem
		isBad := errors.As(err, &bad)
		switch {
		case errors.Is(err, io.EOF):
			return false, nil
		case isBad && slices.ContainsFunc(t.Cells, isTotalWord), err == nil && tabular.IsBlank(t.Cells[dayIndex]) && !slices.ContainsFunc(t.Cells, isText):
			out.Skip(reasonTotal)
		case isBad:
			if err := out.Report(bad.Problem); err != nil {
				return false, err
			}
		default:
			return err == nil, err
		}
	}
}

// addColumns maps the columns of a table, if no flag does. If the preset does not know the columns,
// those up to the last one that contains text in the first row are dimensions, and the later ones
// are metrics.
func (p preset) addColumns(m *mapping, t *tabular.Table, dayIndex int) {
	m.Metrics = map[string]string{}
	if m.Fields == nil {
		m.Fields = map[string]string{}
	}
	last := dayIndex
	for i, cell := range t.Cells {
		if !p.onlyKnown && i < len(t.Header) && i != dayIndex && isText(cell) {
			last = max(last, i)
		}
	}
	for i, heading := range t.Header {
		s, isKnown := m.known[strings.ToLower(heading)]
		switch name := keyPart(heading); {
		case i == dayIndex || heading == "" || p.onlyKnown && !isKnown:
		case !p.onlyKnown && i <= last:
			m.Fields[dimsPrefix+name] = heading
		case s.key != "":
			m.Metrics[heading] = p.prefix + s.key
		default:
			m.Metrics[heading] = p.prefix + name
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

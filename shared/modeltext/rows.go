package modeltext

import "slices"

// Rows is implemented by a record type whose records are values over time. A list of such records
// is shown as a table, because otherwise most of the output would be property names.
type Rows interface{ Rows() Columns }

// Columns says where a table shows the properties of a record. A property that is not listed here
// is shown, in an additional column, only if View.Fields names it.
type Columns struct {
	Series   []string // properties that are the same in all rows of a series, shown once; the first is the id of the series
	Day      string   // the timestamp whose day is the first column; never null
	Always   []string // the columns after the day
	Optional []string // columns that are shown only if any record has a value
}

// dayColumn is the name of the column with the day.
const dayColumn = "day"

// table is a list of records, arranged in rows and columns.
type table struct {
	names []string // the properties in the columns after the day
	rows  []row
	heads [][]byte // the JSON of each series, up to its first row
}

// row is the row of one record in a table.
type row struct {
	series int      // index in table.heads
	cells  [][]byte // the timestamp, of which only the day is shown, followed by the other columns
}

// Rows returns the Text for a list whose records are values over time:
//
//	{"columns":["day","value"],"series":[{"seriesId":"…","dims":{…},"rows":[["2026-08-11",7],…]}]}
//
// If the list does not fit, its first records are left out, which are the oldest. An empty list is
// {"items":[]}, like any other empty list.
func (v View) Rows(list []byte, columns Columns) ListText {
	items := itemsOf(list)
	if len(items) == 0 {
		return v.List(list)
	}
	t := v.table(items, columns)
	first := v.firstThatFits(t)
	if first > 0 { // without the oldest records, some columns may be empty
		t = v.table(items[first:], columns)
	}
	return ListText{Text: Text{JSON: t.text(0)}, First: first, End: len(items), Length: len(items)}
}

// columns returns the properties that are shown in the columns after the day.
func (v View) columns(items [][]byte, c Columns) []string {
	names := slices.Clone(c.Always)
	if v.Fields != nil {
		for _, name := range v.Fields {
			if name != c.Day && !slices.Contains(names, name) && !slices.Contains(c.Series, name) {
				names = append(names, name)
			}
		}
		return names
	}
	for _, name := range c.Optional {
		if slices.ContainsFunc(items, func(item []byte) bool { return string(property(item, name)) != "null" }) {
			names = append(names, name)
		}
	}
	return names
}

// table arranges records in rows and columns.
func (v View) table(items [][]byte, c Columns) table {
	t := table{names: v.columns(items, c), rows: make([]row, len(items))}
	width := 1 + len(t.names)
	cells, series := make([][]byte, width*len(items)), make([][]byte, len(c.Series))
	index := map[string]int{}
	for n, item := range items {
		r := row{cells: cells[width*n : width*(n+1)]}
		for name, value := range members(item) {
			unquoted := name[1 : len(name)-1]
			for i := range c.Series {
				if string(unquoted) == c.Series[i] {
					series[i] = value
				}
			}
			if string(unquoted) == c.Day {
				r.cells[0] = value
			}
			for i := range t.names {
				if string(unquoted) == t.names[i] {
					r.cells[1+i] = value
				}
			}
		}
		id := series[0]
		known := false
		if r.series, known = index[string(id)]; !known {
			r.series = len(t.heads)
			index[string(id)] = r.series
			t.heads = append(t.heads, v.seriesHead(series, c))
		}
		t.rows[n] = r
	}
	return t
}

// seriesHead returns the JSON of a series, up to its first row. A property that would take more
// than a quarter of View.BytesMax is replaced with an outline.
func (v View) seriesHead(series [][]byte, c Columns) []byte {
	out := []byte{'{'}
	for i, name := range c.Series {
		if v.Fields != nil && i > 0 && !slices.Contains(v.Fields, name) || string(series[i]) == "null" {
			continue
		}
		value, _ := fit(series[i], place{}, v.BytesMax/4)
		out = append(append(append(append(out, encodeText(name)...), ':'), value...), ',')
	}
	return append(out, `"rows":[`...)
}

// firstThatFits returns the lowest index such that the row at that index and all later rows fit. At
// least the last row is shown.
func (v View) firstThatFits(t table) int {
	seen := make([]bool, len(t.heads))
	size := len(t.text(len(t.rows)))
	first := len(t.rows)
	for first > 0 {
		r := t.rows[first-1]
		if !seen[r.series] {
			seen[r.series] = true
			size += len(t.heads[r.series]) + len("]},")
		}
		size += len("[],")
		for i, cell := range r.cells {
			size += len(cell) + len(",")
			if i == 0 {
				size += len(dayOf(cell)) + len(`"`) - len(cell)
			}
		}
		if size > v.BytesMax && first < len(t.rows) {
			break
		}
		first--
	}
	return first
}

// text returns the JSON of the table with the rows from index first on.
func (t table) text(first int) []byte {
	out := append([]byte(`{"columns":["`), dayColumn...)
	for _, name := range t.names {
		out = append(append(out, `","`...), name...)
	}
	out = append(out, `"],"series":[`...)
	separator := ""
	for series, head := range t.heads {
		begin := len(out)
		for _, r := range t.rows[first:] {
			if r.series != series {
				continue
			}
			if len(out) == begin {
				out = append(append(out, separator...), head...)
			} else {
				out = append(out, ',')
			}
			out = append(append(out, '['), dayOf(r.cells[0])...)
			out = append(out, '"')
			for _, cell := range r.cells[1:] {
				out = append(append(out, ','), cell...)
			}
			out = append(out, ']')
		}
		if len(out) > begin {
			out, separator = append(out, "]}"...), ","
		}
	}
	return append(out, "]}"...)
}

// dayOf returns the day at the beginning of timestamp, which is a JSON string. The result includes
// the opening quotation mark, but not the closing one.
func dayOf(timestamp []byte) []byte { return timestamp[:min(len(timestamp)-1, len(`"2006-01-02`))] }

// property returns the value of a property, or null if the record does not have the property.
func property(record []byte, name string) []byte {
	for key, value := range members(record) {
		if string(key[1:len(key)-1]) == name {
			return value
		}
	}
	return []byte("null")
}

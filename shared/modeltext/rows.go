package modeltext

import "slices"

// Rows is implemented by a record that is a value at a time. A list of them is shown as a table,
// because the names of the properties would take most of the text.
type Rows interface{ Rows() Columns }

// Columns says which properties of a record are shown where. The others are shown only if
// View.Fields names them, as further columns.
type Columns struct {
	Series   []string // the properties that the rows of one series share, which are shown once; the first is its id
	Day      string   // the time, whose day is the first column; never null
	Always   []string // the next columns
	Optional []string // columns that are shown only if a record has a value
}

// dayColumn is the name of the column with the day.
const dayColumn = "day"

// table is a list of records as rows.
type table struct {
	names []string // the properties that the columns after the day show
	rows  []row
	heads [][]byte // of each series, the beginning of its text up to its first row
}

// row is a record as a row of a table.
type row struct {
	series int      // index in table.heads
	cells  [][]byte // the timestamp, whose day is shown, and the other columns
}

// Rows returns the text of a list of records that are values at a time:
//
//	{"columns":["day","value"],"series":[{"seriesId":"…","dims":{…},"rows":[["2026-08-11",7],…]}]}
//
// A list that does not fit loses its first records, which are the oldest. An empty list is
// {"items":[]} like any other.
func (v View) Rows(list []byte, columns Columns) ListText {
	items := itemsOf(list)
	if len(items) == 0 {
		return v.List(list)
	}
	t := v.table(items, columns)
	first := v.firstThatFits(t)
	if first > 0 { // some columns may be in none of the other records
		t = v.table(items[first:], columns)
	}
	return ListText{Text: Text{JSON: t.text(0)}, First: first, End: len(items), Length: len(items)}
}

// columns returns the properties that the columns after the day show.
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

// table returns records as rows.
func (v View) table(items [][]byte, c Columns) table {
	t := table{names: v.columns(items, c), rows: make([]row, len(items))}
	width := 1 + len(t.names)
	cells, series := make([][]byte, width*len(items)), make([][]byte, len(c.Series))
	index := map[string]int{}
	for n, item := range items {
		r := row{cells: cells[width*n : width*(n+1)]}
		for name, value := range members(item) {
			plain := name[1 : len(name)-1]
			for i := range c.Series {
				if string(plain) == c.Series[i] {
					series[i] = value
				}
			}
			if string(plain) == c.Day {
				r.cells[0] = value
			}
			for i := range t.names {
				if string(plain) == t.names[i] {
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

// seriesHead returns the beginning of a series, up to its first row. A value of it that takes more
// than a quarter of the text is outlined.
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

// firstThatFits returns the index of the first row that is shown, so that all from there on fit. At
// least one row is shown.
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

// text returns the text of the table from a row on.
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

// dayOf returns the beginning of a JSON string with a timestamp: its day, without the quote at the
// end.
func dayOf(timestamp []byte) []byte { return timestamp[:min(len(timestamp)-1, len(`"2006-01-02`))] }

// property returns the value of a property of a record, or null.
func property(record []byte, name string) []byte {
	for key, value := range members(record) {
		if string(key[1:len(key)-1]) == name {
			return value
		}
	}
	return []byte("null")
}

package modeltext

import (
	"bytes"
	"slices"
)

// Rows is implemented by a record that is a value at a time. A list of them is shown as a table,
// because the names of the properties would take most of the text.
type Rows interface{ Rows() Columns }

// Columns says which properties of a record are shown where. The others are shown only if View.Fields
// names them, as further columns.
type Columns struct {
	Series   []string // the properties that the rows of one series share, which are shown once; the first is its id
	Day      string   // the time, whose day is the first column
	Always   []string // the next columns
	Optional []string // columns that are shown only if a record has a value
}

// dayColumn is the name of the column with the day.
const dayColumn = "day"

// row is a record as a row of a table.
type row struct {
	series [][]byte // the values of the properties in Columns.Series
	cells  [][]byte
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
	names := v.columns(items, columns)
	rows := make([]row, len(items))
	for i, item := range items {
		rows[i] = v.row(item, columns, names)
	}
	first := v.firstThatFits(rows, columns, names)
	if first > 0 { // some optional columns may be in none of the other records
		names = v.columns(items[first:], columns)
		for i := first; i < len(items); i++ {
			rows[i] = v.row(items[i], columns, names)
		}
	}
	return ListText{Text: Text{JSON: v.table(rows[first:], columns, names)}, First: first, End: len(items), Length: len(items)}
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

// row returns a record as a row with these columns after the day.
func (v View) row(item []byte, c Columns, names []string) row {
	values := make([][]byte, len(c.Series)+1+len(names))
	for name, value := range members(item) {
		plain := string(name[1 : len(name)-1])
		if i := slices.Index(c.Series, plain); i >= 0 {
			values[i] = value
		}
		if plain == c.Day {
			values[len(c.Series)] = dayOf(value)
		}
		if i := slices.Index(names, plain); i >= 0 {
			values[len(c.Series)+1+i] = value
		}
	}
	return row{values[:len(c.Series)], values[len(c.Series):]}
}

// dayOf returns the day of a timestamp, both as JSON strings.
func dayOf(timestamp []byte) []byte {
	const day = len(`"2006-01-02`)
	if len(timestamp) <= day {
		return timestamp
	}
	return append(slices.Clip(timestamp[:day]), '"')
}

// firstThatFits returns the index of the first row that is shown, so that all from there on fit. At
// least one row is shown.
func (v View) firstThatFits(rows []row, c Columns, names []string) int {
	size, seen := len(v.table(nil, c, names)), map[string]bool{}
	first := len(rows)
	for first > 0 {
		r := rows[first-1]
		if key := r.key(); !seen[key] {
			seen[key] = true
			size += len(v.seriesHead(r, c)) + len("]},")
		}
		if size += sizeOfCells(r.cells); size > v.BytesMax && first < len(rows) {
			break
		}
		first--
	}
	return first
}

// key identifies the series of a row.
func (r row) key() string { return string(bytes.Join(r.series, []byte{0})) }

func sizeOfCells(cells [][]byte) int {
	size := len("[],")
	for _, cell := range cells {
		size += len(cell) + len(",")
	}
	return size
}

// seriesHead returns the beginning of a series, up to its first row. A value of it that takes more
// than a quarter of the text is outlined.
func (v View) seriesHead(r row, c Columns) []byte {
	out := []byte{'{'}
	for i, name := range c.Series {
		if v.Fields != nil && i > 0 && !slices.Contains(v.Fields, name) || string(r.series[i]) == "null" {
			continue
		}
		value, _ := fit(r.series[i], place{}, v.BytesMax/4)
		out = append(append(append(append(out, encodeText(name)...), ':'), value...), ',')
	}
	return append(out, `"rows":[`...)
}

// table returns the text of rows.
func (v View) table(rows []row, c Columns, names []string) []byte {
	var order []string
	series := map[string][]byte{}
	for _, r := range rows {
		key := r.key()
		text, known := series[key]
		if !known {
			order, text = append(order, key), v.seriesHead(r, c)
		} else {
			text = append(text, ',')
		}
		series[key] = append(append(append(text, '['), bytes.Join(r.cells, []byte{','})...), ']')
	}
	out := append([]byte(`{"columns":["`), dayColumn...)
	for _, name := range names {
		out = append(append(out, `","`...), name...)
	}
	out = append(out, `"],"series":[`...)
	for i, key := range order {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(append(out, series[key]...), "]}"...)
	}
	return append(out, "]}"...)
}

// property returns the value of a property of a record, or null.
func property(record []byte, name string) []byte {
	for key, value := range members(record) {
		if string(key[1:len(key)-1]) == name {
			return value
		}
	}
	return []byte("null")
}

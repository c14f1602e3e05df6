package user

import (
	"encoding/csv"
	"encoding/json"
	"strings"
	"unicode"

	"growthworkspace/shared/schema"
)

// csvOf formats records as comma-separated values. The first line has the names of the fields.
func csvOf(fields []recordField, rows []map[string]any) string {
	var out strings.Builder
	w := csv.NewWriter(&out)
	_ = w.Write(namesOf(fields)) // writing to a strings.Builder cannot fail
	for _, row := range rows {
		var cells []string
		for _, f := range fields {
			cells = append(cells, csvCell(row[f.name]))
		}
		_ = w.Write(cells)
	}
	w.Flush()
	return out.String()
}

// csvCell formats a value. The strings of a list are joined with commas. An object or a list of
// objects is formatted as JSON, and a missing value as an empty string.
func csvCell(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case json.Number:
		return v.String() // a negative number is not a formula
	case string:
		return csvText(v)
	case []any:
		if texts, ok := textsOf(v); ok {
			return csvText(strings.Join(texts, ", "))
		}
	}
	text, err := schema.Encode(v)
	if err != nil {
		return "?"
	}
	return csvText(string(text))
}

func textsOf(values []any) (texts []string, ok bool) {
	for _, v := range values {
		text, ok := v.(string)
		if !ok {
			return nil, false
		}
		texts = append(texts, text)
	}
	return texts, true
}

// formulaStarts holds the characters with which a spreadsheet program can begin a formula. The last
// four are the full-width forms of the first four.
const formulaStarts = "=+-@\t\r\n＝＋－＠"

// csvText makes a string safe for a cell, because third parties write many of the strings. An
// apostrophe before a string that begins like a formula makes a spreadsheet program show the string
// as text. Control characters other than line breaks and tabs are removed, because they could
// control a terminal.
func csvText(text string) string {
	text = strings.Map(func(c rune) rune {
		if unicode.IsControl(c) && !strings.ContainsRune("\t\n", c) {
			return -1
		}
		return c
	}, text)
	if first := []rune(text); len(first) > 0 && strings.ContainsRune(formulaStarts, first[0]) {
		return "'" + text
	}
	return text
}

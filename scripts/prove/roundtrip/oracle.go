package roundtrip

import (
	"errors"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"growthworkspace/shared/testkit/oracle"
)

// listLine is the line for one list in the hand-typed tables of functions/testdata.
type listLine struct {
	operation           string
	path                string // the path of the list after the company's path
	limit               int
	filters             []filter // the values of a filter are set only if it filters by an enum
	orders              []string
	hasWindowParameters bool // whether the list has the parameters "from", "to" and "order"
}

// listLines reads the lists from the hand-typed tables of functions/testdata.
func listLines() (all []listLine, err error) {
	tables, err := oracle.Load()
	if err != nil {
		return nil, err
	}
	for _, o := range tables {
		if path, ofCompany := strings.CutPrefix(o.Path, "/companies/{companyId}"); ofCompany && o.SortOrder != nil {
			all = append(all, newListLine(o, path))
		}
	}
	if all == nil {
		return nil, errors.New("functions/testdata has no lists")
	}
	return all, nil
}

var limitPattern = regexp.MustCompile(`^limit:integer=\d+\(\d+\.\.(\d+)\)$`)

// compare compares two records by the fields in l.orders.
func (l listLine) compare(a, b record) int {
	for _, field := range l.orders {
		if c := comparatorBy(field)(a, b); c != 0 {
			return c
		}
	}
	return 0
}

func newListLine(o oracle.Operation, path string) listLine {
	l := listLine{operation: o.ID, path: path}
	for field := range strings.FieldsSeq(o.Query) {
		if m := limitPattern.FindStringSubmatch(field); m != nil {
			l.limit, _ = strconv.Atoi(m[1]) // cannot fail, because the pattern matches only digits
			continue
		}
		name, kind, _ := strings.Cut(field, ":")
		if name == "from" || name == "to" || name == "order" {
			l.hasWindowParameters = l.hasWindowParameters || name == "order"
			continue
		}
		var values []any
		if kind, _, _ = strings.Cut(kind, "="); strings.Contains(kind, "|") {
			for value := range strings.SplitSeq(kind, "|") {
				values = append(values, valueOf(value))
			}
		}
		if name != "-" {
			l.filters = append(l.filters, filter{name, values})
		}
	}
	l.orders = append(slices.Clone(o.SortOrder), "id")
	return l
}

func valueOf(text string) any {
	switch text {
	case "true":
		return true
	case "false":
		return false
	}
	return text
}

// fieldsOf returns the names of the fields in an order, such as "a" and "b" for "-a|b".
func fieldsOf(order string) []string { return strings.Split(strings.TrimPrefix(order, "-"), "|") }

// valueGetter returns a function that returns the value by which an order sorts a record. For the
// order "-a|b", it is the value of the field "a", or of "b" if "a" is null.
func valueGetter(order string) func(record) any {
	return func(r record) any {
		for _, name := range fieldsOf(order) {
			if r[name] != nil {
				return r[name]
			}
		}
		return nil
	}
}

// comparatorBy returns a comparison function that sorts by a field, with nulls last. A "-" before
// the field's name means descending order. For "a|b", it sorts by "a", or by "b" if "a" is null.
func comparatorBy(field string) func(a, b record) int {
	sign := 1
	if strings.HasPrefix(field, "-") {
		sign = -1
	}
	value := valueGetter(field)
	return func(a, b record) int { return compare(value(a), value(b), sign) }
}

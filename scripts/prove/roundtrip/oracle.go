package roundtrip

import (
	"errors"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"growthworkspace/shared/testkit/oracle"
)

// listLine is the line of one list in the hand-typed tables.
type listLine struct {
	operation string
	path      string // after the company
	limit     int
	filters   []filter // without values unless they are a closed list
	orders    []string
	turns     bool // has the parameters from, to and order
}

// listLines returns the lists of the hand-typed tables.
func listLines() (all []listLine, err error) {
	tables, err := oracle.Read()
	if err != nil {
		return nil, err
	}
	for _, o := range tables {
		if path, ofCompany := strings.CutPrefix(o.Path, "/companies/{companyId}"); ofCompany && o.Order != nil {
			all = append(all, newListLine(o, path))
		}
	}
	if all == nil {
		return nil, errors.New("functions/testdata has no lists")
	}
	return all, nil
}

var limitPattern = regexp.MustCompile(`^limit:integer=\d+\(\d+\.\.(\d+)\)$`)

// compare orders two records by the fields of orders.
func (l listLine) compare(a, b record) int {
	for _, field := range l.orders {
		if c := orderOf(field)(a, b); c != 0 {
			return c
		}
	}
	return 0
}

func newListLine(o oracle.Operation, path string) listLine {
	l := listLine{operation: o.ID, path: path}
	for field := range strings.FieldsSeq(o.Query) {
		if m := limitPattern.FindStringSubmatch(field); m != nil {
			l.limit, _ = strconv.Atoi(m[1]) // digits
			continue
		}
		name, kind, _ := strings.Cut(field, ":")
		if name == "from" || name == "to" || name == "order" {
			l.turns = l.turns || name == "order"
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
	l.orders = append(slices.Clone(o.Order), "id")
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

// fieldsOf returns the fields of an order: a and b of -a|b.
func fieldsOf(order string) []string { return strings.Split(strings.TrimPrefix(order, "-"), "|") }

// valueBy returns what an order compares: a, or b where a is null, for -a|b.
func valueBy(order string) func(record) any {
	return func(r record) any {
		for _, name := range fieldsOf(order) {
			if r[name] != nil {
				return r[name]
			}
		}
		return nil
	}
}

// orderOf returns an order by a field, null last. With - before it the greatest is first; a|b is b
// where a is null.
func orderOf(field string) func(a, b record) int {
	sign := 1
	if strings.HasPrefix(field, "-") {
		sign = -1
	}
	value := valueBy(field)
	return func(a, b record) int { return compare(value(a), value(b), sign) }
}

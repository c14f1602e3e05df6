package oracle

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// emptyCell is the content of a cell that has its column's default value.
const emptyCell = "-"

// column is a column of the operation tables. Its function sets fields of the operation from a
// cell. The columns are parsed in order, so the function can use what earlier columns have set.
type column struct {
	name  string
	parse func(o *Operation, cell string) error
}

var columns = []column{
	textColumn("id", func(o *Operation) *string { return &o.ID }, `[a-z]+(_[a-z]+)+`),
	textColumn("method", func(o *Operation) *string { return &o.Method }, `GET|POST|PATCH|DELETE`),
	textColumn("path", func(o *Operation) *string { return &o.Path }, `/companies(/[a-z-]+|/\{[A-Za-z]+\})*`),
	{"scope", (*Operation).parseScope},
	textColumn("query", func(o *Operation) *string { return &o.Query }, emptyCell+`|`+requestFieldsPattern),
	wordsColumn("order", func(o *Operation) *[]string { return &o.SortOrder }, `-?[A-Za-z]+(\|[A-Za-z]+)?`),
	{"fixture", (*Operation).parseFixture},
	{"trips", (*Operation).parseTrips},
	{"consistent", (*Operation).parseConsistent},
	{"reader", (*Operation).parseReader},
	{"conflict", (*Operation).parseConflict},
	{"sample", (*Operation).parseSample},
	{"other", (*Operation).parseOther},
	{"body", (*Operation).parseBody},
	textColumn("response", func(o *Operation) *string { return &o.Response }, `as [a-z_]+|[A-Za-z]+:[a-z]+\??( [A-Za-z]+:[a-z]+\??)*`),
}

const (
	requestFieldPattern  = `[A-Za-z]+:[A-Za-z0-9_|]+!?\??(=[A-Za-z0-9_]+)?(\(\d+\.\.\d+\))?`
	requestFieldsPattern = requestFieldPattern + `( ` + requestFieldPattern + `)*`
)

// textColumn returns a column whose cells match a pattern.
func textColumn(name string, field func(*Operation) *string, pattern string) column {
	re := cellPattern(pattern)
	return column{name, func(o *Operation, cell string) error {
		*field(o) = cell
		return matchCell(re, cell)
	}}
}

// wordsColumn returns a column whose cells contain words that match a pattern.
func wordsColumn(name string, field func(*Operation) *[]string, pattern string) column {
	re := cellPattern(pattern)
	return column{name, func(o *Operation, cell string) error {
		if cell == emptyCell {
			return nil
		}
		*field(o) = strings.Split(cell, " ")
		for _, word := range *field(o) {
			if err := matchCell(re, word); err != nil {
				return err
			}
		}
		return nil
	}}
}

func cellPattern(pattern string) *regexp.Regexp { return regexp.MustCompile(`^(?:` + pattern + `)$`) }

func matchCell(re *regexp.Regexp, cell string) error {
	if !re.MatchString(cell) {
		return fmt.Errorf("%q does not match %s", cell, strings.Trim(re.String(), "^$"))
	}
	return nil
}

var scopePattern = cellPattern(`any|[a-z]+:[a-z]+(\|[a-z]+:draft)?`)

func (o *Operation) parseScope(cell string) error {
	o.Scope, o.DraftScope, _ = strings.Cut(cell, "|")
	return matchCell(scopePattern, cell)
}

var parameterPattern = regexp.MustCompile(`\{([A-Za-z]+)\}`)

// fixtureArgumentNames returns the names of the arguments whose values the fixture column contains.
func (o *Operation) fixtureArgumentNames() (names []string) {
	for _, m := range parameterPattern.FindAllStringSubmatch(o.Path, -1) {
		if m[1] != "companyId" {
			names = append(names, m[1])
		}
	}
	return append(names, requiredFields(o.Query)...)
}

// requiredFields returns the names of the fields that are marked with a ! in a cell.
func requiredFields(fields string) (names []string) {
	for field := range strings.FieldsSeq(fields) {
		if name, kind, _ := strings.Cut(field, ":"); strings.Contains(kind, "!") {
			names = append(names, name)
		}
	}
	return names
}

func (o *Operation) parseFixture(cell string) error {
	var values []string
	if cell != emptyCell {
		values = strings.Split(cell, " ")
	}
	names := o.fixtureArgumentNames()
	if len(values) != len(names) || slices.Contains(values, "") {
		return fmt.Errorf("%q has %d values, want one for each of %q: those of a record of functions/testdata/company.jsonl", cell, len(values), names)
	}
	o.Fixture = map[string]string{}
	for i, name := range names {
		o.Fixture[name] = values[i]
	}
	return nil
}

var roundTripsPattern = cellPattern(`([1-9][0-9]*)?(\+[1-9][0-9]*)?`)

func (o *Operation) parseTrips(cell string) error {
	if cell == emptyCell {
		return nil
	}
	if cell == "" || !roundTripsPattern.MatchString(cell) {
		return fmt.Errorf("%q must be a number of round trips, such as 3, +2 or 3+2, or -", cell)
	}
	trips, extra, _ := strings.Cut(cell, "+")
	o.RoundTrips, _ = strconv.Atoi(trips)             // 0 if empty
	o.ExtraRoundTripsWithKey, _ = strconv.Atoi(extra) // 0 if empty
	return nil
}

var consistentPattern = cellPattern(`(Query|BatchGetItem)(:[a-z]+)?`)

func (o *Operation) parseConsistent(cell string) error {
	if cell == emptyCell {
		return nil
	}
	for word := range strings.SplitSeq(cell, " ") {
		if err := matchCell(consistentPattern, word); err != nil {
			return err
		}
		o.ConsistentReads = append(o.ConsistentReads, strings.Replace(word, ":", " ", 1))
	}
	slices.Sort(o.ConsistentReads)
	return nil
}

func (o *Operation) parseReader(cell string) error {
	verb, noun, _ := strings.Cut(o.ID, "_")
	switch isChange := verb == "update" || verb == "delete"; {
	case cell == emptyCell && isChange:
		o.Reader = "get_" + noun
	case cell == emptyCell, cell == "none" && isChange:
	case cell == "none":
		return errors.New("- says the same")
	default:
		o.Reader = cell
	}
	return nil
}

func (o *Operation) parseConflict(cell string) error {
	o.CanConflict = cell == "409"
	if !o.CanConflict && cell != emptyCell {
		return fmt.Errorf("%q must be 409 or -", cell)
	}
	return nil
}

func (o *Operation) parseSample(cell string) error {
	if cell == emptyCell {
		return nil
	}
	if err := json.Unmarshal([]byte(cell), &o.SampleBody); err != nil {
		return fmt.Errorf("%q must be a JSON object or -: %w", cell, err)
	}
	return nil
}

func (o *Operation) parseOther(cell string) error {
	if cell == emptyCell {
		return nil
	}
	name, text, _ := strings.Cut(cell, "=")
	var value any
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		return fmt.Errorf("%q must be the name of an argument, = and a JSON value: %w", cell, err)
	}
	o.OtherArguments = map[string]any{name: value}
	return nil
}

var bodyPattern = cellPattern(emptyCell + `|` + requestFieldsPattern)

func (o *Operation) parseBody(cell string) error {
	o.Body = cell
	for field := range strings.FieldsSeq(cell) {
		if name, kind, _ := strings.Cut(field, ":"); strings.HasSuffix(kind, "?") {
			o.ClearedByNull = append(o.ClearedByNull, name)
		}
	}
	if o.ClearedByNull != nil && o.Method != "PATCH" {
		return fmt.Errorf("null clears %q only in an update", o.ClearedByNull)
	}
	return matchCell(bodyPattern, cell)
}

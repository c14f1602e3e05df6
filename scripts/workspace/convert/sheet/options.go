package sheet

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"growthworkspace/scripts/workspace/convert"
	"growthworkspace/shared/tabular"
)

// mapping says what the columns of a table mean. --save-mapping stores it as JSON.
type mapping struct {
	Type       string            `json:"type,omitempty"`
	Fields     map[string]string `json:"map,omitempty"`    // columns, by field
	Constants  map[string]string `json:"set,omitempty"`    // values, by field
	Metrics    map[string]string `json:"metric,omitempty"` // metric keys, by column
	DateColumn string            `json:"dateColumn,omitempty"`
	DateFormat string            `json:"dateFormat,omitempty"`
	Timezone   string            `json:"timezone,omitempty"`
	Decimal    string            `json:"decimal,omitempty"`
	IDColumn   string            `json:"idColumn,omitempty"`

	// These maps are keyed by column. The key "" stands for all columns with values.
	Scales       map[string]string `json:"scale,omitempty"`
	Units        map[string]string `json:"unit,omitempty"`
	Currencies   map[string]string `json:"currency,omitempty"`
	Aggregations map[string]string `json:"aggregation,omitempty"`

	Separator string   `json:"separator,omitempty"`
	Encoding  string   `json:"encoding,omitempty"`
	SkipLines int      `json:"skipLines,omitempty"`
	Comment   string   `json:"comment,omitempty"`
	SkipRows  []string `json:"skipRows,omitempty"`

	// State about the files converted so far. All files of a command share it.
	defined map[string]bool // the keys of the metrics whose definitions were emitted
	seen    *daySet         // the days that have a point
}

// options holds the values of the flags that the kinds in this package share.
type options struct {
	singleValues mapping // the values of the flags that take a single value
	fields       []string
	constants    []string
	metrics      []string
	scales       []string
	units        []string
	currencies   []string
	aggregations []string
	mappingFile  string
	saveFile     string
	defined      map[string]bool
	seen         *daySet
}

// register registers the flags and returns their names.
func (o *options) register(flags *pflag.FlagSet) (names []string) {
	before := map[string]bool{}
	flags.VisitAll(func(f *pflag.Flag) { before[f.Name] = true })
	flags.StringVar(&o.singleValues.Type, "type", "", "record `type` that a row becomes: "+strings.Join(targetTypes, ", "))
	flags.StringSliceVar(&o.fields, "map", nil, "columns of the fields, such as `title=Headline,rating=Stars`; dims.country=Country for a dimension of points")
	flags.StringArrayVar(&o.constants, "set", nil, "value of a field in all records, such as `source=google_play`; repeatable")
	flags.StringArrayVar(&o.metrics, "metric", nil, "column of values and the key of its metric, such as `Visitors=web.visitors`; repeatable")
	flags.StringVar(&o.singleValues.DateColumn, "date-column", "", "`column` of the date")
	flags.StringVar(&o.singleValues.DateFormat, "date-format", "", "`format` of dates, such as DD.MM.YYYY, if it cannot be recognised")
	flags.StringVar(&o.singleValues.Timezone, "timezone", "", "`zone` of times without an offset, such as Europe/Berlin (default UTC)")
	flags.StringVar(&o.singleValues.Decimal, "decimal", "", "decimal `separator`: . or ,")
	flags.StringVar(&o.singleValues.IDColumn, "id-column", "", "`column` that identifies the record; without it, a digest of the fields does")
	flags.StringArrayVar(&o.scales, "scale", nil, "multiply a column, such as `Revenue=100`; or a number for all columns")
	flags.StringArrayVar(&o.units, "unit", nil, "unit of a metric, such as `Revenue=currency_minor`; or a unit for all columns")
	flags.StringArrayVar(&o.currencies, "currency", nil, "currency of a column, such as `Revenue=EUR`; or a currency for all columns")
	flags.StringArrayVar(&o.aggregations, "aggregation", nil, "how the days of a metric combine into weeks, such as `Visitors=sum`; or one for all columns")
	flags.StringVar(&o.singleValues.Separator, "separator", "", "`character` between cells, or tab, if it cannot be recognised")
	flags.StringVar(&o.singleValues.Encoding, "encoding", "", "`encoding` of a file that is neither UTF-8 nor UTF-16, such as windows-1252")
	flags.IntVar(&o.singleValues.SkipLines, "skip-lines", 0, "leave out the first `n` lines, which are above the header")
	flags.StringVar(&o.singleValues.Comment, "comment", "", "leave out lines that begin with this `text`, such as #")
	flags.StringSliceVar(&o.singleValues.SkipRows, "skip-rows", nil, "leave out rows with a cell that is one of these `words`; rows of totals are known")
	flags.StringVar(&o.mappingFile, "mapping", "", "read these flags from a `file` of --save-mapping; flags on the command line come first")
	flags.StringVar(&o.saveFile, "save-mapping", "", "write these flags to a `file` for --mapping")
	flags.VisitAll(func(f *pflag.Flag) {
		if !before[f.Name] {
			names = append(names, f.Name)
		}
	})
	return names
}

// mapping returns the mapping that the flags and the --mapping file specify. The flags take
// precedence.
func (o *options) mapping() (mapping, error) {
	m := mapping{defined: o.defined, seen: o.seen}
	if o.mappingFile != "" {
		f, err := os.Open(o.mappingFile)
		if err != nil {
			return m, fmt.Errorf("--mapping: %w", err)
		}
		d := json.NewDecoder(f)
		d.DisallowUnknownFields()
		if err := errors.Join(d.Decode(&m), f.Close()); err != nil {
			return m, fmt.Errorf("--mapping %s: %w", o.mappingFile, err)
		}
	}
	for _, p := range []struct{ own, to *string }{
		{&o.singleValues.Type, &m.Type},
		{&o.singleValues.DateColumn, &m.DateColumn},
		{&o.singleValues.DateFormat, &m.DateFormat},
		{&o.singleValues.Timezone, &m.Timezone},
		{&o.singleValues.Decimal, &m.Decimal},
		{&o.singleValues.IDColumn, &m.IDColumn},
		{&o.singleValues.Separator, &m.Separator},
		{&o.singleValues.Encoding, &m.Encoding},
		{&o.singleValues.Comment, &m.Comment},
	} {
		if *p.own != "" {
			*p.to = *p.own
		}
	}
	if o.singleValues.SkipLines != 0 {
		m.SkipLines = o.singleValues.SkipLines
	}
	m.SkipRows = append(m.SkipRows, o.singleValues.SkipRows...)
	err := errors.Join(
		addPairs(&m.Fields, "map", "FIELD=COLUMN", o.fields, strings.Index, false),
		addPairs(&m.Constants, "set", "FIELD=VALUE", o.constants, strings.Index, false),
		addPairs(&m.Metrics, "metric", "COLUMN=KEY", o.metrics, strings.LastIndex, false),
		addPairs(&m.Scales, "scale", "COLUMN=NUMBER", o.scales, strings.LastIndex, true),
		addPairs(&m.Units, "unit", "COLUMN=UNIT", o.units, strings.LastIndex, true),
		addPairs(&m.Currencies, "currency", "COLUMN=CODE", o.currencies, strings.LastIndex, true),
		addPairs(&m.Aggregations, "aggregation", "COLUMN=HOW", o.aggregations, strings.LastIndex, true),
	)
	return m, errors.Join(err, m.check())
}

// addPairs parses the values of a flag, which have the form NAME=VALUE, and adds them to the map.
// If allowUnnamed is set, a value without a name is also allowed, and its name is "".
func addPairs(to *map[string]string, flag, form string, pairs []string, index func(s, separator string) int, allowUnnamed bool) error {
	for _, pair := range pairs {
		at := index(pair, "=")
		if at < 0 && !allowUnnamed || at == 0 || at == len(pair)-1 {
			return fmt.Errorf("--%s %s: must be %s", flag, pair, form)
		}
		if *to == nil {
			*to = map[string]string{}
		}
		name, value := "", pair
		if at > 0 {
			name, value = strings.TrimSpace(pair[:at]), strings.TrimSpace(pair[at+1:])
		}
		(*to)[name] = value
	}
	return nil
}

// check returns an error for the first invalid flag value. It checks only what does not depend on
// the file.
func (m mapping) check() error {
	switch {
	case m.Decimal != "" && m.Decimal != "," && m.Decimal != ".":
		return fmt.Errorf("--decimal %s: must be . or ,", m.Decimal)
	case m.Separator != "" && m.Separator != "tab" && (len(m.Separator) != 1 || strings.ContainsAny(m.Separator, "\"\r\n")):
		return fmt.Errorf("--separator %s: must be one character or tab", m.Separator)
	case m.SkipLines < 0:
		return fmt.Errorf("--skip-lines %d: must not be negative", m.SkipLines)
	}
	for _, text := range m.Scales {
		if _, err := parseScale(text); err != nil {
			return err
		}
	}
	return nil
}

// dates returns the values of --date-format and --timezone.
func (m mapping) dates() (format tabular.Format, zone *time.Location, err error) {
	zone = time.UTC
	if m.Timezone != "" {
		if zone, err = time.LoadLocation(m.Timezone); err != nil || m.Timezone == "Local" {
			return format, nil, fmt.Errorf("--timezone %s: must be a name of the IANA time zone database, for example Europe/Berlin", m.Timezone)
		}
	}
	if m.DateFormat != "" {
		if format, err = tabular.ParseFormat(m.DateFormat); err != nil {
			return format, nil, fmt.Errorf("--date-format %s: %w", m.DateFormat, err)
		}
	}
	return format, zone, nil
}

func parseScale(text string) (*big.Rat, error) {
	scale, ok := new(big.Rat).SetString(text)
	if !ok || len(text) > 40 || strings.ContainsAny(text, "eE") || scale.Sign() == 0 {
		return nil, fmt.Errorf("--scale %s: must be a number other than 0", text)
	}
	return scale, nil
}

// columns returns the names of the columns in the mapping, sorted.
func (m mapping) columns() []string {
	names := slices.Concat(slices.Collect(maps.Values(m.Fields)), slices.Collect(maps.Keys(m.Metrics)))
	for _, name := range []string{m.DateColumn, m.IDColumn} {
		if name != "" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// forColumn returns the value for a column, or the value for all columns if the column has none of
// its own.
func forColumn(values map[string]string, column string) string {
	for name, value := range values {
		if name != "" && strings.EqualFold(tabular.CleanHeading(name), tabular.CleanHeading(column)) {
			return value
		}
	}
	return values[""]
}

// save writes the mapping to the --save-mapping file, if the flag is set.
func (o *options) save(m mapping) error {
	if o.saveFile == "" {
		return nil
	}
	err := convert.CheckReplaceable(o.saveFile, "{")
	text, err2 := json.MarshalIndent(m, "", "  ")
	if err = errors.Join(err, err2); err == nil {
		err = os.WriteFile(o.saveFile, append(text, '\n'), 0o644)
	}
	if err != nil {
		return fmt.Errorf("--save-mapping: %w", err)
	}
	return nil
}

package sheet

import (
	"cmp"
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

	known map[string]series // the properties of the known columns of a preset, by heading in lower case

	// State about the files converted so far. All files of a command share it.
	defined map[string]bool // the keys of the metrics whose definitions were emitted
	seen    *daySet         // the days that have a point
}

// options holds the values of the flags that the kinds in this package share.
type options struct {
	own         mapping                // the values of the flags that take a single value
	pairs       []func(*mapping) error // adds the values of a flag whose values are pairs
	mappingFile string
	saveFile    string
	defined     map[string]bool
	seen        *daySet
}

// register registers the flags and returns their names.
func (o *options) register(all *pflag.FlagSet) (names []string) {
	own, flags := &o.own, pflag.NewFlagSet("", pflag.ContinueOnError)
	flags.StringVar(&own.Type, "type", "", "record `type` that a row becomes: "+strings.Join(targetTypes, ", "))
	fields := flags.StringSlice("map", nil, "columns of the fields, such as `title=Headline,rating=Stars`; dims.country=Country for a dimension of points")
	constants := flags.StringArray("set", nil, "value of a field in all records, such as `source=google_play`; repeatable")
	metrics := flags.StringArray("metric", nil, "column of values and the key of its metric, such as `Visitors=web.visitors`; repeatable")
	flags.StringVar(&own.DateColumn, "date-column", "", "`column` of the date")
	flags.StringVar(&own.DateFormat, "date-format", "", "`format` of dates, such as DD.MM.YYYY, if it cannot be recognised")
	flags.StringVar(&own.Timezone, "timezone", "", "`zone` of times without an offset, such as Europe/Berlin (default UTC)")
	flags.StringVar(&own.Decimal, "decimal", "", "decimal `separator`: . or ,")
	flags.StringVar(&own.IDColumn, "id-column", "", "`column` that identifies the record; without it, a digest of the fields does")
	scales := flags.StringArray("scale", nil, "multiply a column, such as `Revenue=100`; or a number for all columns")
	units := flags.StringArray("unit", nil, "unit of a metric, such as `Revenue=currency_minor`; or a unit for all columns")
	currencies := flags.StringArray("currency", nil, "currency of a column, such as `Revenue=EUR`; or a currency for all columns")
	aggregations := flags.StringArray("aggregation", nil, "how the days of a metric combine into weeks, such as `Visitors=sum`; or one for all columns")
	flags.StringVar(&own.Separator, "separator", "", "`character` between cells, or tab, if it cannot be recognised")
	flags.StringVar(&own.Encoding, "encoding", "", "`encoding` of a file that is neither UTF-8 nor UTF-16, such as windows-1252")
	flags.IntVar(&own.SkipLines, "skip-lines", 0, "leave out the first `n` lines, which are above the header")
	flags.StringVar(&own.Comment, "comment", "", "leave out lines that begin with this `text`, such as #")
	flags.StringSliceVar(&own.SkipRows, "skip-rows", nil, "leave out rows with a cell that is one of these `words`; rows of totals are known")
	flags.StringVar(&o.mappingFile, "mapping", "", "read these flags from a `file` of --save-mapping; flags on the command line come first")
	flags.StringVar(&o.saveFile, "save-mapping", "", "write these flags to a `file` for --mapping")
	flags.VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	all.AddFlagSet(flags)
	o.pairs = []func(*mapping) error{
		func(m *mapping) error { return addPairs(&m.Fields, "map", "FIELD=COLUMN", *fields) },
		func(m *mapping) error { return addPairs(&m.Constants, "set", "FIELD=VALUE", *constants) },
		func(m *mapping) error { return addPairs(&m.Metrics, "metric", "COLUMN=KEY", *metrics) },
		func(m *mapping) error { return addPairs(&m.Scales, "scale", "COLUMN=NUMBER", *scales) },
		func(m *mapping) error { return addPairs(&m.Units, "unit", "COLUMN=UNIT", *units) },
		func(m *mapping) error { return addPairs(&m.Currencies, "currency", "COLUMN=CODE", *currencies) },
		func(m *mapping) error { return addPairs(&m.Aggregations, "aggregation", "COLUMN=HOW", *aggregations) },
	}
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
	words := slices.Concat(m.SkipRows, o.own.SkipRows)
	own, err := json.Marshal(o.own) // leaves out the flags that are not set
	if err == nil {
		err = json.Unmarshal(own, &m)
	}
	m.SkipRows = words
	for _, add := range o.pairs {
		err = errors.Join(err, add(&m))
	}
	return m, errors.Join(err, m.check())
}

// addPairs parses the values of a flag and adds them to the map. form is the form of a value: a
// value of a column may leave out the name, which is then "", unless the flag names a metric's key.
// A column's name may contain an equals sign.
func addPairs(to *map[string]string, flag, form string, pairs []string) error {
	isByColumn := strings.HasPrefix(form, "COLUMN=")
	for _, pair := range pairs {
		at := strings.Index(pair, "=")
		if isByColumn {
			at = strings.LastIndex(pair, "=")
		}
		isUnnamed := at < 0 && isByColumn && flag != "metric"
		if at < 0 && !isUnnamed || at == 0 || at == len(pair)-1 {
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

// seriesOf returns the properties of a column of values. The flags take precedence over the preset.
func (m mapping) seriesOf(column string) series {
	s := m.known[strings.ToLower(column)]
	s.unit = cmp.Or(forColumn(m.Units, column), s.unit)
	s.aggregation = cmp.Or(forColumn(m.Aggregations, column), s.aggregation)
	s.scale = cmp.Or(forColumn(m.Scales, column), s.scale)
	return s
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

// Package sheet converts tables: CSV files from any program, and exports from Google Analytics and
// Plausible.
package sheet

import (
	"context"
	"errors"
	"io"
	"slices"

	"github.com/spf13/pflag"

	"growthworkspace/scripts/workspace/convert"
	"growthworkspace/shared/schema"
	"growthworkspace/shared/tabular"
)

// Kinds registers the flags of the kinds "csv", "ga4" and "plausible", and returns the kinds.
func Kinds(flags *pflag.FlagSet) []convert.Kind {
	o := &options{defined: map[string]bool{}, seen: newDaySet()}
	names := o.register(flags)
	points := []string{typeDefinition, typePoint}
	kind := func(name, summary string, types []string, convertTables func(context.Context, convert.Input, mapping, *convert.Output) error) convert.Kind {
		return convert.Kind{Name: name, Summary: summary, Types: types, Flags: names, Convert: func(ctx context.Context, in convert.Input, out *convert.Output) error {
			m, err := o.mapping()
			if err == nil {
				err = convertTables(ctx, in, m, out)
			}
			if err == nil {
				err = o.save(m)
			}
			return err
		}}
	}
	return []convert.Kind{
		kind("csv", "a table with a header: reviews, numbers, posts, ideas or items", append(slices.Clone(targetTypes), typeDefinition), convertCSV),
		kind("ga4", "a CSV file of a Google Analytics report or exploration with a day", points, ga4.convertFile),
		kind("plausible", "an export of Plausible: the zip archive, or its file of visitors", points, convertPlausible),
	}
}

// convertCSV converts a file that contains one table.
func convertCSV(ctx context.Context, in convert.Input, m mapping, out *convert.Output) error {
	if _, err := newTarget(m.Type); err != nil {
		return err
	}
	separator, skip := byte(0), m.SkipLines
	switch {
	case m.Separator == "tab":
		separator = '\t'
	case m.Separator != "":
		separator = m.Separator[0]
	default:
		sample, err := tabular.OpenText(in, m.Encoding)
		if err != nil {
			return err
		}
		separator, skip = tabular.FindSeparator(sample, m.Comment, skip)
	}
	open := func() (*tabular.Table, error) {
		text, err := tabular.OpenText(in, m.Encoding)
		if err != nil {
			return nil, err
		}
		s := tabular.NewSource(text)
		s.Separator, s.Skip, s.Comment, s.Encoding, s.NamesFlags, s.Nearest = separator, skip, m.Comment, m.Encoding, true, schema.Nearest
		return tabular.OpenTable(s, "")
	}
	t, err := open()
	if errors.Is(err, io.EOF) {
		return errors.New("has no header")
	}
	if err != nil {
		return err
	}
	t.Reopen = open
	r, err := newRowConverter(t, m, out)
	if err != nil {
		return err
	}
	return r.convertAll(ctx)
}

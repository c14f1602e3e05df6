package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"growthworkspace/functions"
)

func (a *app) importCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "import --company ID FILE|-", Short: "Write records from a file into a company", Args: takes("FILE"),
		Long: `Write records into a company, from a file or, with -, from standard input.

A line is one record: {"type": "feedback", "record": {"id": "fbk_1", ...}}. The records
are those of the API's answers; what a record lacks is null. Types, in any order:

  ` + strings.Join(typeNames(), ", ") + `

A record replaces the stored one with the same id, whole: what it leaves out is null
then; everything else stays. A metric definition is known by its key, a metric point by
its metric, grain, dimensions and time, the brand kit and the company by there being one
of each. An export shows the fields of every type. companyId may be left out, and is not
used: the records go to the company that you name.

The whole file is checked first. If a line is wrong, up to ` + fmt.Sprint(badLinesMax) + ` lines are named with all
that is wrong with them, and nothing is written. To run an import again is safe.`,
		Example: `  workspace import --company co_... records.jsonl
  workspace export --company co_... | workspace import --company co_... -
  echo '{"type":"brand-goal","record":{"id":"bgl_1","name":"1,000 teams"}}' | workspace import --company co_... -`,
	}
	companyID := cmd.Flags().String("company", "", "the company's `id`")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if *companyID == "" {
			return misuse(cmd, "name the company with --company ID")
		}
		in, size, err := a.source(args[0])
		if err != nil {
			return err
		}
		defer in.Close()
		return a.with(cmd, func(ctx context.Context, s *session) error { return a.importRecords(ctx, s, *companyID, in, size) })
	}
	return cmd
}

func typeNames() []string {
	var names []string
	for _, t := range functions.Transfers(nil) { // only their names
		names = append(names, t.Name)
	}
	return names
}

// source opens what is imported. The size is -1 when nobody knows it.
func (a *app) source(name string) (in io.ReadCloser, size int64, err error) {
	if name == "-" {
		return io.NopCloser(a.in), -1, nil
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, 0, fmt.Errorf("open the file to import: %w", err)
	}
	st, err := f.Stat()
	if err == nil && st.IsDir() {
		err = errors.New("it is a folder: name a file of JSON lines, or - for standard input")
	}
	if err != nil {
		return nil, 0, errors.Join(fmt.Errorf("import %s: %w", name, err), f.Close())
	}
	if !st.Mode().IsRegular() {
		return f, -1, nil
	}
	return f, st.Size(), nil
}

type imported struct {
	Imported map[string]int `json:"imported"`
	Seconds  float64        `json:"seconds"`
}

func (a *app) importRecords(ctx context.Context, s *session, companyID string, in io.Reader, size int64) error {
	if _, err := s.company(ctx, companyID); err != nil {
		return err
	}
	begin := time.Now()
	sp, err := newSpool(functions.Transfers(s.table))
	if err != nil {
		return err
	}
	defer sp.remove()
	bar := a.bar("checking", size, largeBytes)
	err = (&checking{types: sp.types, companyID: companyID, spool: sp}).run(ctx, io.TeeReader(in, bar))
	bar.finish()
	if err != nil {
		if ctx.Err() != nil {
			return errors.New("interrupted while checking: nothing was written")
		}
		return fmt.Errorf("%w\nnothing was written", err)
	}
	bar = a.bar("writing", int64(sp.total()), largeRecords)
	written, err := sp.write(ctx, companyID, bar)
	bar.finish()
	if err != nil {
		n := 0
		for _, c := range written {
			n += c
		}
		why := err.Error()
		if ctx.Err() != nil {
			why = "interrupted"
		}
		return fmt.Errorf("%s: at least %d of %d records were written (%s); to run the import again is safe, it replaces what is there",
			why, n, sp.total(), counts(written))
	}
	result := imported{written, seconds(begin)}
	return a.print(result, "imported %s in %.1f s", counts(written), result.Seconds)
}

func seconds(since time.Time) float64 { return float64(time.Since(since).Milliseconds()) / 1000 }

// counts spells a number of records by type, in the order of the alphabet.
func counts(byType map[string]int) string {
	var parts []string
	for name, n := range byType {
		parts = append(parts, fmt.Sprintf("%s %d", name, n))
	}
	slices.Sort(parts)
	if len(parts) == 0 {
		return "no records"
	}
	return strings.Join(parts, ", ")
}

package operator

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"growthworkspace/functions"
	"growthworkspace/scripts/workspace/convert"
	"growthworkspace/scripts/workspace/convert/kinds"
	"growthworkspace/scripts/workspace/jsonl"
	"growthworkspace/scripts/workspace/tableconn"
	"growthworkspace/scripts/workspace/terminal"
	"growthworkspace/shared/table"
	"growthworkspace/shared/trail"
	"growthworkspace/shared/transfer"
)

func (o *operatorCommands) importCommand() *cobra.Command {
	var newOnly, replace, reportChanges bool
	var convertFlags convert.Flags
	command := &cobra.Command{
		Use: "import --company ID FILE|-", Short: "Write records from a file into a company", Args: importArgs(&convertFlags),
		Example: `  workspace import --company co_... records.jsonl
  workspace import --company co_... --from google-play reviews_*.csv
  workspace export --company co_... | workspace import --company co_... -
  echo '{"type":"brand-goal","record":{"id":"bgl_1","name":"1,000 teams"}}' | workspace import --company co_... -`,
	}
	convertFlags.Register(command, kinds.RegisterAll)
	command.Long = `Write records into a company, from a file or, with -, from standard input.

A line is one record: {"type": "feedback", "record": {"id": "fbk_1", ...}}. A record has the
fields of the API's responses; a missing field is null. Types, in any order:

  ` + strings.Join(jsonl.TypeNames(functions.Transfers(nil)), ", ") + `

A record replaces the whole stored record with the same id: fields that it leaves out
become null. Stored records that are not in the file stay. A metric definition is
identified by its key, a metric point by its metric, grain, dimensions and time; the brand
kit and the company exist once. A point whose metric has no definition creates one. The second
name of a stored metric (a and custom.a) is refused, unless the file has both. An export shows the fields of every type. companyId is
ignored: the records go to the company of --company.

With --new-only, records that the company has are skipped and counted: those with the same
id; feedback with the same source and externalId; a metric definition with the same key; a
metric point of the same series and time; the brand kit and the company if there is one.
Records that are created while the import runs are kept, too.

Values are checked as the API checks them; only null is valid in any field that can be null,
and so are the statuses that the API sets itself. Feedback may leave out the id: it follows
from source and externalId. Feedback whose source and externalId are stored under another id
replaces that record and keeps the stored id. An item needs its board and a site goal its
site, in the file or stored. An updatedAt may be at most a day in the future.

The whole file is checked first. If lines are invalid, the errors of the first ` + fmt.Sprint(jsonl.BadLinesMax) + ` are listed
and nothing is written. If others take a slug or delete a parent while the import runs, the
lines that were not stored are listed; all others are stored. Repeating an import is safe.

list_changes does not report what an import writes. With --report-changes it does, as written
by the operator.

With --from KIND, the files are those of another program. Kinds:

` + convertFlags.HelpKinds() + `

Their reviews and mentions are merged instead of replaced: fields that a file does not have
keep the stored value, and a version that is older than the stored one is skipped. A reply
that the store shows becomes the reply, posted. It never replaces a reply of your own that
is not posted; such reviews are listed. Records of other types that the company has are
skipped, unless you pass --replace; definitions of metrics are skipped even then.
--dry-run prints the first records and all problems.`
	tableOf := func(s *tableconn.Session) *table.Client {
		if reportChanges {
			return s.Table
		}
		return s.Table.AsImport()
	}
	c := o.companyAction(command, func(cmd *cobra.Command) error { return checkImportFlags(cmd, &convertFlags, newOnly, replace) }, func(ctx context.Context, s *tableconn.Session, companyID string, args []string) error {
		if convertFlags.From != "" {
			kind, err := convertFlags.Kind(command)
			if err != nil {
				return err
			}
			return convertFlags.Run(ctx, o.Terminal, kind, args, func(r *convert.Result) error {
				lines := r.Lines()
				defer lines.Close()
				return o.importRecords(ctx, tableOf(s), companyID, lines, -1, jsonl.Options{
					SkipExisting: !replace, Merge: !newOnly, PlaceOf: r.PlaceOf,
					SkipExistingTypes: []string{"metric-definition"}, // a stored definition says more about a metric than a file does
				})
			})
		}
		in, size, err := o.openSource(args[0])
		if err != nil {
			return err
		}
		defer in.Close()
		return o.importRecords(ctx, tableOf(s), companyID, in, size, jsonl.Options{SkipExisting: newOnly})
	})
	c.Flags().BoolVar(&newOnly, "new-only", false, "skip the records that the company has already")
	c.Flags().BoolVar(&replace, "replace", false, "replace the records that the company has already, except reviews and mentions (needs --from)")
	c.Flags().BoolVar(&reportChanges, "report-changes", false, "report the written records in list_changes")
	return c
}

// importArgs requires one file, or with --from at least one.
func importArgs(f *convert.Flags) cobra.PositionalArgs {
	one := terminal.RequireArgs("FILE")
	return func(cmd *cobra.Command, args []string) error {
		if f.From != "" && len(args) > 1 {
			args = args[:1]
		}
		return one(cmd, args)
	}
}

// checkImportFlags validates the flags of an import that depend on each other.
func checkImportFlags(cmd *cobra.Command, f *convert.Flags, newOnly, replace bool) error {
	switch {
	case replace && f.From == "":
		return terminal.NewCommandUsageError(cmd, "--replace needs --from KIND: an import without it replaces records anyway")
	case replace && newOnly:
		return terminal.NewCommandUsageError(cmd, "--replace cannot be combined with --new-only")
	case f.From == "":
		return f.RequireFrom(cmd, "dry-run", "skip-bad")
	}
	_, err := f.Kind(cmd)
	return err
}

// openSource opens the file to import, or standard input. size is -1 if it is unknown.
func (o *operatorCommands) openSource(name string) (in io.ReadCloser, size int64, err error) {
	if name == "-" {
		return io.NopCloser(o.In), -1, nil
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

type importResult struct {
	Imported map[string]int `json:"imported"`
	Skipped  map[string]int `json:"skipped"`
	Seconds  float64        `json:"seconds"`

	// Set only with --from: the number of reviews and mentions for each outcome of the merge, and
	// messages about those whose reply in the file was left out.
	Merged    map[transfer.MergeOutcome]int `json:"merged,omitempty"`
	NotMerged []string                      `json:"kept,omitempty"`
}

// notMergedMax is the maximum number of messages about left-out replies that are listed.
const notMergedMax = 20

func (o *operatorCommands) importRecords(ctx context.Context, t *table.Client, companyID string, in io.Reader, size int64, options jsonl.Options) error {
	begin := time.Now()
	bar := o.ByteProgress("checking", size)
	checked, err := jsonl.Check(ctx, functions.Transfers(t), companyID, io.TeeReader(in, bar), options)
	bar.End()
	if err != nil && ctx.Err() != nil {
		return errors.New("interrupted while checking: nothing was written")
	}
	if err != nil {
		return fmt.Errorf("%w\nnothing was written", err)
	}
	defer checked.Close()
	running, err := trail.Begin(ctx, t, companyID, trail.Import)
	if err != nil {
		return fmt.Errorf("%w\nnothing was written", err)
	}
	bar = o.RecordProgress("writing", checked.Total())
	written, err := checked.Write(ctx, companyID, bar.Add)
	bar.End()
	err = running.End(ctx, trail.Details{Records: written}, err)
	if err != nil {
		n := 0
		for count := range maps.Values(written) {
			n += count
		}
		if ctx.Err() != nil {
			err = errors.New("interrupted")
		}
		return errors.Join(notStoredError(checked), fmt.Errorf("%w: at least %d of %d records were written (%s); repeating the import is safe, it replaces stored records",
			err, n, checked.Total(), formatCounts(written)))
	}
	if err := notStoredError(checked); err != nil {
		return fmt.Errorf("%w\nother callers wrote while the file was imported, so these %d lines were not stored; all others are (imported %s; skipped %s). "+
			"Repeating the import is safe", err, len(checked.Refused()), formatCounts(written), formatCounts(checked.Skipped()))
	}
	result := importResult{written, checked.Skipped(), secondsSince(begin), checked.Merged(), checked.NotMergedTexts()}
	outcomeText := ""
	if len(result.Skipped) > 0 {
		outcomeText = ", skipped " + formatCounts(result.Skipped)
	}
	if m := result.Merged; len(m) > 0 {
		outcomeText += fmt.Sprintf(": reviews and mentions %d created, %d updated, %d unchanged, %d older than the stored ones",
			m[transfer.MergedCreated], m[transfer.MergedUpdated], m[transfer.MergedUnchanged], m[transfer.MergedOlder])
	}
	for _, message := range result.NotMerged[:min(len(result.NotMerged), notMergedMax)] {
		o.Note("%s", message)
	}
	if more := len(result.NotMerged) - notMergedMax; more > 0 {
		o.Note("and %d more replies that were left out; --json lists all of them", more)
	}
	return o.Print(result, "imported %s in %.1f s%s", formatCounts(written), result.Seconds, outcomeText)
}

// notStoredError returns an error that lists the lines that jsonl refused to write, or nil if there
// are none.
func notStoredError(checked *jsonl.CheckedFile) error {
	lines := checked.Refused()
	if len(lines) == 0 {
		return nil
	}
	return errors.New(strings.Join(lines, "\n"))
}

func secondsSince(begin time.Time) float64 { return float64(time.Since(begin).Milliseconds()) / 1000 }

func formatCounts(counts map[string]int) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		parts = append(parts, fmt.Sprintf("%s %d", name, counts[name]))
	}
	if len(parts) == 0 {
		return "no records"
	}
	return strings.Join(parts, ", ")
}

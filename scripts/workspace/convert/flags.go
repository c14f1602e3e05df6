package convert

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"growthworkspace/scripts/workspace/terminal"
)

// Flags are the flags of a command that converts files.
type Flags struct {
	From    string
	DryRun  bool
	SkipBad string // the file to which rows with problems are written

	kinds []Kind
}

// Register registers the flags and calls kindsOf. kindsOf must register the flags of the kinds and
// return the kinds.
func (f *Flags) Register(cmd *cobra.Command, kindsOf func(*pflag.FlagSet) []Kind) {
	flags := cmd.Flags()
	flags.StringVar(&f.From, "from", "", "the `kind` of the files; the kinds are listed above")
	flags.BoolVar(&f.DryRun, "dry-run", false, "print the first records and all problems, and write nothing")
	flags.StringVar(&f.SkipBad, "skip-bad", "", "leave out the rows that are invalid, and write them to this `file` as lines of JSON")
	f.kinds = kindsOf(flags)
	var names []string
	for _, k := range f.kinds {
		names = append(names, k.Name)
	}
	if err := cmd.RegisterFlagCompletionFunc("from", cobra.FixedCompletions(names, cobra.ShellCompDirectiveNoFileComp)); err != nil {
		panic("workspace: " + err.Error()) // registering a second completion for a flag is a bug
	}
}

// HelpKinds returns the list of kinds for a command's help text. It lists the flags of consecutive
// kinds only once if they are the same.
func (f *Flags) HelpKinds() string {
	var lines []string
	for i, k := range f.kinds {
		lines = append(lines, fmt.Sprintf("  %-12s %s", k.Name, k.Summary))
		if i+1 < len(f.kinds) && slices.Equal(k.Flags, f.kinds[i+1].Flags) {
			continue
		}
		line := ""
		for _, name := range k.Flags {
			if len(line)+len(name) > 70 {
				lines, line = append(lines, "               "+line), ""
			}
			line += " --" + name
		}
		if line != "" {
			lines = append(lines, "               "+line)
		}
	}
	return strings.Join(lines, "\n")
}

// Kind returns the kind that --from names. It returns a usage error if there is no such kind, or if
// a flag of a different kind is set.
func (f *Flags) Kind(cmd *cobra.Command) (Kind, error) {
	var names, foreign []string
	var chosen *Kind
	for i, k := range f.kinds {
		names = append(names, k.Name)
		if k.Name == f.From {
			chosen = &f.kinds[i]
		}
	}
	if chosen == nil {
		return Kind{}, terminal.NewCommandUsageError(cmd, "--from: must be one of %s", strings.Join(names, ", "))
	}
	for _, k := range f.kinds {
		for _, name := range k.Flags {
			if cmd.Flags().Changed(name) && !slices.Contains(chosen.Flags, name) {
				foreign = append(foreign, fmt.Sprintf("--%s belongs to --from %s", name, k.Name))
			}
		}
	}
	if len(foreign) > 0 {
		return Kind{}, terminal.NewCommandUsageError(cmd, "%s", foreign[0])
	}
	return *chosen, nil
}

// RequireFrom returns a usage error if one of the flags in names, or a flag of a kind, is set
// without --from.
func (f *Flags) RequireFrom(cmd *cobra.Command, names ...string) error {
	if f.From != "" {
		return nil
	}
	for _, k := range f.kinds {
		names = append(names, k.Flags...)
	}
	for _, name := range names {
		if cmd.Flags().Changed(name) {
			return terminal.NewCommandUsageError(cmd, "--%s needs --from KIND", name)
		}
	}
	return nil
}

// Run converts files and passes the result to the function use, but only if all rows are valid or
// --skip-bad is set. With --dry-run it prints the first records and all problems instead.
func (f *Flags) Run(ctx context.Context, t *terminal.Terminal, kind Kind, names []string, use func(*Result) error) error {
	if f.SkipBad != "" {
		if err := CheckReplaceable(f.SkipBad, `{"file":`); err != nil {
			return fmt.Errorf("--skip-bad: %w", err)
		}
	}
	inputs, err := OpenInputs(names, t.In)
	if err != nil {
		return err
	}
	defer inputs.Close()
	bar := t.ByteProgress("reading", inputs.Bytes)
	for i := range inputs.List {
		inputs.List[i].ReaderAt = &watchedReader{ReaderAt: inputs.List[i].ReaderAt, progress: bar}
	}
	result, err := Convert(ctx, kind, inputs.List)
	bar.End()
	if err != nil && ctx.Err() != nil {
		return errors.New("interrupted while reading: nothing was written")
	}
	if err != nil {
		return fmt.Errorf("%w\nnothing was written", err)
	}
	defer result.Close()
	if f.DryRun {
		return result.preview(t)
	}
	if result.ProblemCount > 0 && f.SkipBad == "" {
		return fmt.Errorf("%w\nnothing was written; --skip-bad FILE leaves out these rows", result.Err())
	}
	for _, reason := range slices.Sorted(maps.Keys(result.Skipped)) {
		t.Note("skipped %d: %s", result.Skipped[reason], reason)
	}
	if result.ProblemCount > 0 {
		if err := f.writeBadRows(result); err != nil {
			return err
		}
		t.Note("skipped rows with %d problems: they are in %s", result.ProblemCount, f.SkipBad)
	}
	return use(result)
}

// writeBadRows writes the rows with problems to the --skip-bad file.
func (f *Flags) writeBadRows(result *Result) error {
	file, err := os.OpenFile(f.SkipBad, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return fmt.Errorf("--skip-bad: %w", err)
	}
	if err := errors.Join(result.WriteProblems(file), file.Close()); err != nil {
		return fmt.Errorf("--skip-bad: %w", err)
	}
	return nil
}

// CheckReplaceable returns an error if a file exists and does not begin with head, the start of
// every file that the flag writes. Without this check, a flag whose FILE was forgotten would take
// the first file to convert as its FILE and overwrite it.
func CheckReplaceable(name, head string) error {
	st, err := os.Stat(name)
	if errors.Is(err, fs.ErrNotExist) || err == nil && (!st.Mode().IsRegular() || st.Size() == 0) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("check the file to write: %w", err)
	}
	file, err := os.Open(name)
	if err != nil {
		return fmt.Errorf("check the file to write: %w", err)
	}
	defer file.Close()
	text := make([]byte, len(head))
	if _, err := io.ReadFull(file, text); err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("check the file to write: %w", err)
	}
	if string(text) != head {
		return fmt.Errorf("%s exists, and is not a file that this flag writes: name another one", name)
	}
	return nil
}

// watchedReader advances a progress bar to the farthest byte that was read. Reading bytes again
// does not advance it.
type watchedReader struct {
	io.ReaderAt

	progress terminal.Progress
	shown    int64
}

func (w *watchedReader) ReadAt(p []byte, off int64) (int, error) {
	n, err := w.ReaderAt.ReadAt(p, off)
	if end := off + int64(n); end > w.shown {
		w.progress.Add(int(end - w.shown))
		w.shown = end
	}
	return n, err
}

package user

import (
	"github.com/spf13/cobra"

	"growthworkspace/scripts/workspace/convert"
	"growthworkspace/scripts/workspace/convert/kinds"
	"growthworkspace/scripts/workspace/terminal"
)

func (u *userCommands) convertCommand() *cobra.Command {
	var flags convert.Flags
	cmd := &cobra.Command{
		Use: "convert --from KIND FILE...", Short: "Convert files of other programs to the lines of an import",
		Example: `  workspace convert --from google-play reviews_*.csv > reviews.jsonl
  workspace convert --from google-play reviews_*.csv --dry-run
  workspace convert --from app-store page*.json | workspace push reviews -`,
	}
	flags.Register(cmd, kinds.RegisterAll)
	cmd.Long = `Convert files of other programs to the lines that import and push read, and write
them to standard output. - is standard input. Kinds:

` + flags.HelpKinds() + `

All files are read before the first line is written. If a file is invalid, nothing is
written and the exit code is 1. The error names the file, the row and the column: the row
is that of a spreadsheet, or the number of the record in a JSON file. With --skip-bad FILE,
invalid rows are left out and written to FILE as lines of JSON.

--dry-run prints the first records as a table, and every problem of every row.

If the files have one record in several versions, the newest is kept. A property that a
file does not have is left out, so that push and import --from keep the stored value.

The page /docs/reference/import-formats.md of every server describes the formats.`
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return terminal.NewCommandUsageError(cmd, "name the FILE to convert, or - for standard input")
		}
		return nil
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		kind, err := flags.Kind(cmd)
		if err != nil {
			return err
		}
		return flags.Run(cmd.Context(), u.Terminal, kind, args, func(r *convert.Result) error { return r.WriteLines(u.Out) })
	}
	return cmd
}

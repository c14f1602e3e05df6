package operator

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"growthworkspace/functions"
	"growthworkspace/scripts/workspace/jsonl"
	"growthworkspace/scripts/workspace/secretfile"
	"growthworkspace/scripts/workspace/tableconn"
	"growthworkspace/scripts/workspace/terminal"
)

func (o *operatorCommands) exportCommand() *cobra.Command {
	return o.companyAction(&cobra.Command{
		Use: "export --company ID [FILE]", Short: "Read all records of a company into a file", Args: terminal.RequireArgs("[FILE]"),
		Long: `Write all records of a company, as lines that import accepts, to FILE or to standard
output. FILE appears only once it is complete. Keys are not exported.

The order is always the same, so two exports of the same records are identical. Records
that are written during the export may be missing from it.

With --json the summary is one JSON object: on standard output when FILE is named, else
on standard error, because the records are on standard output.`,
		Example: `  workspace export --company co_... records.jsonl
  workspace export --company co_... | gzip > records.jsonl.gz`,
	}, nil, func(ctx context.Context, s *tableconn.Session, companyID string, args []string) error {
		if len(args) == 0 || args[0] == "-" {
			return o.exportToOutput(ctx, s, companyID)
		}
		return o.exportToFile(ctx, s, companyID, args[0])
	})
}

type exportResult struct {
	Exported map[string]int `json:"exported"`
	File     *string        `json:"file"`
	Seconds  float64        `json:"seconds"`
}

func (o *operatorCommands) exportToOutput(ctx context.Context, s *tableconn.Session, companyID string) error {
	begin := time.Now()
	out := o.Out
	if terminal.Width(out) == 0 { // on a terminal, a progress bar would appear between the records
		bar := o.ByteProgress("exporting", -1)
		defer bar.End()
		out = io.MultiWriter(out, bar)
	}
	counts, err := jsonl.Export(ctx, functions.Transfers(s.Table), companyID, out)
	if err != nil {
		return err
	}
	if o.JSON {
		return terminal.PrintJSON(o.Err, exportResult{counts, nil, secondsSince(begin)})
	}
	o.Note("exported %s in %.1f s", formatCounts(counts), secondsSince(begin))
	return nil
}

func (o *operatorCommands) exportToFile(ctx context.Context, s *tableconn.Session, companyID, name string) error {
	begin := time.Now()
	if info, err := os.Stat(name); err == nil && info.IsDir() {
		return fmt.Errorf("export to %s: it is a folder; name a file in it", name)
	}
	var counts map[string]int
	err := secretfile.Create(name, func(w io.Writer) (err error) {
		bar := o.ByteProgress("exporting", -1)
		defer bar.End()
		counts, err = jsonl.Export(ctx, functions.Transfers(s.Table), companyID, io.MultiWriter(w, bar))
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("export to %s: there is no folder %s", name, filepath.Dir(name))
	}
	if err != nil {
		return fmt.Errorf("export to %s: %w", name, err)
	}
	return o.Print(exportResult{counts, &name, secondsSince(begin)}, "exported %s to %s in %.1f s", formatCounts(counts), name, secondsSince(begin))
}

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"growthworkspace/functions"
)

func (a *app) exportCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "export --company ID [FILE]", Short: "Read all records of a company into a file", Args: takes("[FILE]"),
		Long: `Read all records of a company, as lines that import takes: into FILE, which appears when
it is whole, or to standard output. Keys are not exported.

The order is always the same, so two exports of the same records are the same text.
Records that are written meanwhile may or may not be in it.

With --json the summary is one JSON object: on standard output when FILE is named, else
on standard error, because the records themselves are the output.`,
		Example: `  workspace export --company co_... records.jsonl
  workspace export --company co_... | gzip > records.jsonl.gz`,
	}
	companyID := cmd.Flags().String("company", "", "the company's `id`")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if *companyID == "" {
			return misuse(cmd, "name the company with --company ID")
		}
		return a.with(cmd, func(ctx context.Context, s *session) error {
			if _, err := s.company(ctx, *companyID); err != nil {
				return err
			}
			if len(args) == 0 || args[0] == "-" {
				return a.exportToOutput(ctx, s, *companyID)
			}
			return a.exportToFile(ctx, s, *companyID, args[0])
		})
	}
	return cmd
}

type exported struct {
	Exported map[string]int `json:"exported"`
	File     *string        `json:"file"`
	Seconds  float64        `json:"seconds"`
}

func (a *app) exportToOutput(ctx context.Context, s *session, companyID string) error {
	begin := time.Now()
	n, err := exportRecords(ctx, s, companyID, a.out)
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(a.errOut, exported{n, nil, seconds(begin)})
	}
	a.note("exported %s in %.1f s", counts(n), seconds(begin))
	return nil
}

// exportToFile writes beside the file and renames at the end, so that there is never half a file.
func (a *app) exportToFile(ctx context.Context, s *session, companyID, name string) error {
	begin := time.Now()
	if info, err := os.Stat(name); err == nil && info.IsDir() {
		return fmt.Errorf("export to %s: it is a folder; name a file in it", name)
	}
	partial := name + ".tmp"
	f, err := os.OpenFile(partial, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600) // the records of a company are not for everyone
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("export to %s: there is no folder %s", name, filepath.Dir(name))
	}
	if err != nil {
		return fmt.Errorf("make the file of the export: %w", err)
	}
	n, err := exportRecords(ctx, s, companyID, f)
	if err == nil {
		err = f.Sync()
	}
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(partial, name)
	}
	if err != nil {
		_ = os.Remove(partial)
		return fmt.Errorf("export to %s: %w", name, err)
	}
	return a.print(exported{n, &name, seconds(begin)}, "exported %s to %s in %.1f s", counts(n), name, seconds(begin))
}

func exportRecords(ctx context.Context, s *session, companyID string, out io.Writer) (map[string]int, error) {
	written := map[string]int{}
	w := bufio.NewWriterSize(out, 256<<10)
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	for _, t := range functions.Transfers(s.table) {
		err := t.Export(ctx, companyID, func(record any) error {
			written[t.Name]++
			return e.Encode(struct {
				Type   string `json:"type"`
				Record any    `json:"record"`
			}{t.Name, record})
		})
		if ctx.Err() != nil {
			return nil, errors.New("interrupted")
		}
		if err != nil {
			return nil, fmt.Errorf("export the records of type %s: %w", t.Name, err)
		}
	}
	if err := w.Flush(); err != nil {
		return nil, fmt.Errorf("write the export: %w", err)
	}
	return written, nil
}

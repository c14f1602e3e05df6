// Command roundtrip proves that a company of real size comes out as it went in:
//
//	go run ./scripts/prove/roundtrip              10,000 reviews, 5,000 posts, 2,000 items, 3 years of 20 metrics
//	go run ./scripts/prove/roundtrip --scale 0.05 a small one, in seconds
//
// It makes the records, imports them with the real command, serves them, reads every list with every combination of its
// filters over HTTP, page by page, and exports them again. Each record must be in each list that it belongs to exactly
// once, in order and unchanged; filters must part the whole; and the export must be what was imported. The orders and
// filters are written down here a second time, from the documents, so that this program shares no code, and no mistake,
// with the service.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"text/tabwriter"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "roundtrip:", err)
		os.Exit(1)
	}
}

// step is a line of the report.
type step struct {
	name    string
	count   int
	what    string
	seconds float64
}

func run(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("roundtrip", flag.ContinueOnError)
	scale := flags.Float64("scale", 1, "the size of the company, as a share of the full one")
	binary := flags.String("workspace", "", "a built workspace command (default: build ./scripts/workspace)")
	keep := flags.String("keep", "", "work in this folder and leave it (default: a temporary one)")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *scale <= 0 || *scale > 100 || flags.NArg() > 0 {
		return fmt.Errorf("usage: roundtrip [--scale 0.05] [--workspace FILE] [--keep DIR]; the scale is more than 0 and at most 100")
	}
	dir := *keep
	if dir == "" {
		temporary, err := os.MkdirTemp("", "roundtrip-*")
		if err != nil {
			return err
		}
		defer os.RemoveAll(temporary)
		dir = temporary
	} else if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	w, err := newWorkspace(ctx, *binary, dir)
	if err != nil {
		return err
	}
	steps, err := trip(ctx, w, dir, *scale)
	report(out, steps)
	return err
}

// trip does everything; what it returns was done.
func trip(ctx context.Context, w *workspace, dir string, scale float64) (steps []step, err error) {
	begin := time.Now()
	done := func(name string, count int, what string) {
		steps = append(steps, step{name, count, what, time.Since(begin).Seconds()})
		begin = time.Now()
	}
	c := generate(scale)
	file := filepath.Join(dir, "import.jsonl")
	if err := c.write(file); err != nil {
		return steps, err
	}
	done("generate", c.total(), "records")

	companyID, err := w.createCompany(ctx)
	if err != nil {
		return steps, err
	}
	begin = time.Now()
	n, err := w.importFile(ctx, companyID, file)
	if err != nil {
		return steps, err
	}
	if n != c.total() {
		return steps, fmt.Errorf("the import counted %d records of %d", n, c.total())
	}
	done("import", n, "records")

	exported := filepath.Join(dir, "export.jsonl")
	if err := w.exportFile(ctx, companyID, exported); err != nil {
		return steps, err
	}
	done("export", n, "records")
	if err := c.compare(exported); err != nil {
		return steps, err
	}
	done("compare", n, "records, no difference")

	client, stop, err := w.serve(ctx, companyID)
	if err != nil {
		return steps, err
	}
	done("serve", 1, "until it answered, with the demo company")
	if err := readEverything(ctx, client, c, done); err != nil {
		_ = stop() // the difference is what counts
		return steps, err
	}
	begin = time.Now()
	if err := stop(); err != nil {
		return steps, err
	}
	done("stop", 1, "after the signal")
	return steps, nil
}

func readEverything(ctx context.Context, client *client, c *company, done func(string, int, string)) error {
	lists := c.lists()
	var sum tally
	for n, l := range lists {
		checked, err := client.check(ctx, l)
		if err != nil {
			return err
		}
		sum.lists, sum.pages, sum.records = sum.lists+checked.lists, sum.pages+checked.pages, sum.records+checked.records
		if l.group != "" && n+1 < len(lists) && lists[n+1].group == l.group {
			continue
		}
		name := l.name
		if l.group != "" {
			name = l.group
		}
		done(name, sum.records, fmt.Sprintf("records on %d pages of %d lists", sum.pages, sum.lists))
		sum = tally{}
	}
	n, err := client.checkSingles(ctx, c)
	if err != nil {
		return err
	}
	done("one by one", n, "records: the company, its brand kit, audits with their findings")
	return nil
}

func report(out io.Writer, steps []step) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	total := 0.0
	for _, s := range steps {
		fmt.Fprintf(w, "%.2f s\t%d\t\t%s: %s\n", s.seconds, s.count, s.name, s.what)
		total += s.seconds
	}
	fmt.Fprintf(w, "%.2f s\t\t\ttotal\n", total)
	_ = w.Flush() // a report that nobody can read changes no result
}

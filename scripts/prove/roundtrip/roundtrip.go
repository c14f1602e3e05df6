// Package roundtrip proves that lists and exports return a large company exactly as it was
// imported.
//
// It generates records, imports and exports them with the workspace command, and reads every list
// over HTTP with every combination of its filters, page by page. Each record must appear exactly
// once in each list that it belongs to, in order and unchanged, and the export must equal the
// import. The limits, filters and orders come from the hand-typed tables in functions/testdata, so
// that the proof does not share a mistake with the service.
package roundtrip

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"text/tabwriter"
	"time"

	"growthworkspace/scripts/prove/testbed"
)

// errDiffers is wrapped by every error that reports a difference.
var errDiffers = errors.New("a difference")

func newDifference(format string, values ...any) error {
	return fmt.Errorf("%w: %s", errDiffers, fmt.Sprintf(format, values...))
}

// Run runs the proof and reports whether the service returned all records unchanged. Scale 1 means
// 10,000 reviews, 5,000 posts, 2,000 items and 3 years of metrics. An error means that the proof
// could not run.
func Run(ctx context.Context, scale float64, out io.Writer) (matches bool, err error) {
	if !(scale > 0 && scale <= 100) {
		return false, errors.New("the scale must be above 0 and at most 100")
	}
	dir, err := os.MkdirTemp("", "roundtrip-*")
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(dir)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	begin, runBegin := time.Now(), time.Now()
	err = runRoundTrip(ctx, dir, scale, func(name string, count int, what string) {
		fmt.Fprintf(w, "%.2f s\t%d\t\t%s: %s\n", time.Since(begin).Seconds(), count, name, what)
		begin = time.Now()
	})
	fmt.Fprintf(w, "%.2f s\t\t\ttotal\n", time.Since(runBegin).Seconds())
	if errors.Is(err, errDiffers) {
		fmt.Fprintln(w, err)
		return false, w.Flush()
	}
	return true, errors.Join(err, w.Flush())
}

// runRoundTrip runs the proof. It calls reportDone after each part of it.
func runRoundTrip(ctx context.Context, dir string, scale float64, reportDone func(name string, count int, what string)) (err error) {
	w, err := testbed.BuildWorkspace(ctx, dir)
	if err != nil {
		return err
	}
	reportDone("build", 1, "the workspace command")
	c, err := newGeneratedCompany(scale)
	if err != nil {
		return err
	}
	lists, err := c.lists()
	if err != nil {
		return err
	}
	file, exported := filepath.Join(dir, "import.jsonl"), filepath.Join(dir, "export.jsonl")
	if err := c.write(file); err != nil {
		return err
	}
	reportDone("generate", c.total(), "records")

	companyID, err := w.CreateCompany(ctx)
	if err != nil {
		return err
	}
	var result struct{ Imported map[string]int }
	if err := w.Run(ctx, &result, "import", "--company", companyID, file); err != nil {
		return err
	}
	for kind, records := range c.records {
		if result.Imported[kind] != len(records) {
			return newDifference("the import counted %d records of the type %s instead of %d", result.Imported[kind], kind, len(records))
		}
	}
	reportDone("import", c.total(), "records")

	if err := w.Run(ctx, nil, "export", "--company", companyID, exported); err != nil {
		return err
	}
	reportDone("export", c.total(), "records")
	if err := c.compare(exported); err != nil {
		return err
	}
	reportDone("compare", c.total(), "records, no difference")

	base, stop, err := w.Serve(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	key, err := w.IssueKey(ctx, companyID)
	if err != nil {
		return err
	}
	reportDone("serve", 1, "start of the server, with the demo company")
	r, err := newReader(base, companyID, key)
	if err != nil {
		return err
	}
	return r.readEverything(ctx, c, lists, reportDone)
}

func (c *reader) readEverything(ctx context.Context, company *generatedCompany, lists []expectedList, reportDone func(string, int, string)) error {
	var sum readCounts
	for n, l := range lists {
		checked, err := c.check(ctx, l)
		if err != nil {
			return err
		}
		sum.lists, sum.pages, sum.records = sum.lists+checked.lists, sum.pages+checked.pages, sum.records+checked.records
		if n+1 == len(lists) || lists[n+1].operation != l.operation {
			reportDone(l.operation, sum.records, fmt.Sprintf("records on %d pages of %d lists", sum.pages, sum.lists))
			sum = readCounts{}
		}
	}
	n, err := c.checkGets(ctx, company)
	if err != nil {
		return err
	}
	reportDone("one by one", n, "records: the company, its brand kit, audits with their findings")
	return nil
}

package jsonl

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"strconv"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"growthworkspace/shared/transfer"
)

// writerCount is the number of batches written concurrently.
const writerCount = 8

// Write stores the records, type by type, and calls progress with the number of records of each
// batch. It returns how many of each type were certainly written, even with an error. See Refused
// for records that were not stored because of other callers.
func (c *CheckedFile) Write(ctx context.Context, companyID string, progress func(n int)) (map[string]int, error) {
	written := map[string]int{}
	for i, t := range c.types {
		if c.files[i] == nil {
			continue
		}
		n, err := c.writeType(ctx, companyID, i, progress)
		if n > 0 {
			written[t.Name] = n
		}
		if err != nil {
			return written, err
		}
	}
	return written, nil
}

func (c *CheckedFile) writeType(ctx context.Context, companyID string, i int, progress func(n int)) (int, error) {
	if err := c.outs[i].Flush(); err != nil {
		return 0, fmt.Errorf("write a temporary file in %s: %w", c.dir, err)
	}
	if _, err := c.files[i].Seek(0, io.SeekStart); err != nil {
		return 0, fmt.Errorf("read the temporary files of the import: %w", err)
	}
	var written atomic.Int64
	var work [writerCount]chan batch
	group, ctx := errgroup.WithContext(ctx)
	for lane := range work {
		work[lane] = make(chan batch)
		group.Go(func() error {
			for b := range work[lane] {
				stored, err := c.writeBatch(ctx, companyID, i, b)
				if err != nil {
					return fmt.Errorf("write records of type %s: %w", c.types[i].Name, err)
				}
				written.Add(int64(stored))
				progress(len(b.records))
			}
			return nil
		})
	}
	group.Go(func() error {
		defer func() {
			for _, lane := range work {
				close(lane)
			}
		}()
		return c.distribute(ctx, i, work)
	})
	err := group.Wait()
	return int(written.Load()), err
}

// writeBatch writes a batch of the i-th type, except records to skip. It notes refused records and
// returns how many it wrote.
func (c *CheckedFile) writeBatch(ctx context.Context, companyID string, i int, b batch) (written int, err error) {
	kind, all, skipped := c.types[i].ForFile(c.hasName), len(b.records), 0
	if c.options.NewOnly {
		fresh, indexes, err := kind.FilterNew(ctx, companyID, b.records)
		if err != nil {
			return 0, err
		}
		if b = b.subset(fresh, indexes); len(fresh) > 0 {
			skipped, err = kind.Add(ctx, companyID, fresh)
		}
		skipped += all - len(fresh)
		c.skipped[i].Add(int64(skipped))
		return c.written(i, b, all-skipped, err)
	}
	return c.written(i, b, all, kind.Write(ctx, companyID, b.records))
}

// written returns how many of a batch's records that were not skipped were written, and the error
// unless it is Refused.
func (c *CheckedFile) written(i int, b batch, tried int, err error) (int, error) {
	var refused transfer.RefusedRecords
	if errors.As(err, &refused) {
		c.refuse(i, b, refused)
		return tried - len(refused), nil
	}
	return tried, err
}

// distribute reads the records of a type and hands them to the lanes.
func (c *CheckedFile) distribute(ctx context.Context, i int, work [writerCount]chan batch) error {
	var open [writerCount]batch
	send := func(lane int) error {
		select {
		case work[lane] <- open[lane]:
			open[lane] = batch{}
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	lines := newLines(c.files[i])
	for lines.Scan() {
		prefix, text, _ := bytes.Cut(lines.Bytes(), []byte(" "))
		number, err := strconv.Atoi(string(prefix))
		if err != nil {
			return fmt.Errorf("read the temporary files of the import: %w", err)
		}
		record, problems := c.types[i].Check(text)
		if len(problems) > 0 {
			return fmt.Errorf("a record of type %s was valid and is now invalid: %s", c.types[i].Name, problems[0])
		}
		lane := 0 // one batch gains nothing from lanes, and the brand kit has no id that writerOf could use
		if c.count[i] > batchRecordsMax {
			lane = writerOf(c.types[i].OrderKey(record))
		}
		if open[lane].add(record, number, len(text)) {
			if err := send(lane); err != nil {
				return err
			}
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("read the temporary files of the import: %w", err)
	}
	for lane := range open {
		if len(open[lane].records) > 0 {
			if err := send(lane); err != nil {
				return err
			}
		}
	}
	return nil
}

// writerOf returns the lane for a text of transfer.Type.OrderKey. A record without such a text gets
// lane 0.
func writerOf(text string) int {
	if text == "" {
		return 0
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(text)) // a hash never fails
	return int(h.Sum32() % writerCount)
}

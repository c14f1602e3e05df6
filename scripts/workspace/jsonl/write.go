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

	"growthworkspace/shared/parallel"
	"growthworkspace/shared/transfer"
)

// writerCount is the number of goroutines that write batches concurrently.
const writerCount = 8

// Write stores the records, type by type. It calls the function progress with the number of records
// in each batch. It returns how many records of each type were certainly written, even if it also
// returns an error. A record that conflicts with another caller's write is not an error: Refused
// lists these records.
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
	var queues [writerCount]chan batch
	for writer := range queues {
		queues[writer] = make(chan batch)
	}
	ctx, cancel := context.WithCancelCause(ctx) // the first error stops the others
	defer cancel(nil)
	write := func(writer int) error {
		for b := range queues[writer] {
			n, err := c.writeBatch(ctx, companyID, i, b)
			if err != nil {
				return fmt.Errorf("write records of type %s: %w", c.types[i].Name, err)
			}
			written.Add(int64(n))
			progress(len(b.records))
		}
		return nil
	}
	err := parallel.Do(1+writerCount, 1+writerCount, func(n int) (err error) {
		defer func() {
			if err != nil {
				cancel(err)
			}
		}()
		defer parallel.Recover(&err)
		if n < writerCount {
			return write(n)
		}
		defer func() {
			for _, queue := range queues {
				close(queue)
			}
		}()
		return c.distribute(ctx, i, queues)
	})
	if err != nil {
		err = context.Cause(ctx) // without the errors that the first one caused
	}
	return int(written.Load()), err
}

// writeBatch writes a batch of records of the i-th type, except those to skip. It remembers the
// records that were refused, and returns how many it wrote.
func (c *CheckedFile) writeBatch(ctx context.Context, companyID string, i int, b batch) (written int, err error) {
	kind, all, skipped := c.types[i].ForFile(c.hasName), len(b.records), 0
	if c.options.merges(kind) {
		merged, err := kind.Merge(ctx, companyID, b.records)
		var refused transfer.RefusedRecords
		if errors.As(err, &refused) {
			c.addRefused(i, b, refused)
			err = nil
		}
		return c.countMerged(merged, refused), err
	}
	if c.options.skipsExisting(kind) {
		fresh, indexes, err := kind.FilterNew(ctx, companyID, b.records)
		if err != nil {
			return 0, err
		}
		if b = b.subset(fresh, indexes); len(fresh) > 0 {
			skipped, err = kind.Add(ctx, companyID, fresh)
		}
		skipped += all - len(fresh)
		c.skipped[i].Add(int64(skipped))
		return c.countWritten(i, b, all-skipped, err)
	}
	return c.countWritten(i, b, all, kind.Write(ctx, companyID, b.records))
}

// countWritten returns how many records of a batch were written. attempted is the number of records
// that were not skipped, and err is the error of the write. If err only lists refused records,
// countWritten subtracts them and returns no error.
func (c *CheckedFile) countWritten(i int, b batch, attempted int, err error) (int, error) {
	var refused transfer.RefusedRecords
	if errors.As(err, &refused) {
		c.addRefused(i, b, refused)
		return attempted - len(refused), nil
	}
	return attempted, err
}

// distribute reads the records of the i-th type and sends them in batches to the writers' queues.
func (c *CheckedFile) distribute(ctx context.Context, i int, queues [writerCount]chan batch) error {
	var openBatches [writerCount]batch
	send := func(writer int) error {
		select {
		case queues[writer] <- openBatches[writer]:
			openBatches[writer] = batch{}
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
		writer := 0 // use one writer if all records fit in one batch, as with the brand kit, which has no id to hash
		if c.counts[i] > batchRecordsMax {
			writer = writerOf(c.types[i].Entry(record).Group)
		}
		if openBatches[writer].add(record, number, len(text)) {
			if err := send(writer); err != nil {
				return err
			}
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("read the temporary files of the import: %w", err)
	}
	for writer := range openBatches {
		if len(openBatches[writer].records) > 0 {
			if err := send(writer); err != nil {
				return err
			}
		}
	}
	return nil
}

// writerOf returns the index of the writer for the group of a record (transfer.Entry), so that records
// that must stay in order have the same writer. An empty group gets index 0.
func writerOf(text string) int {
	if text == "" {
		return 0
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(text)) // writing to a hash never fails
	return int(h.Sum32() % writerCount)
}

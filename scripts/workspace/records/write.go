package records

import (
	"context"
	"fmt"
	"hash/fnv"
	"io"
	"reflect"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
)

// lanes is how many batches are written at once.
const lanes = 8

// Write stores the records, type by type, and calls progress with the number of records of each batch. It returns how
// many of each type were written for certain, also with an error.
func (c *Checked) Write(ctx context.Context, companyID string, progress func(n int)) (map[string]int, error) {
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

func (c *Checked) writeType(ctx context.Context, companyID string, i int, progress func(n int)) (int, error) {
	if err := c.outs[i].Flush(); err != nil {
		return 0, fmt.Errorf("write a temporary file in %s: %w", c.dir, err)
	}
	if _, err := c.files[i].Seek(0, io.SeekStart); err != nil {
		return 0, fmt.Errorf("read the temporary files of the import: %w", err)
	}
	var written atomic.Int64
	var work [lanes]chan batch
	group, ctx := errgroup.WithContext(ctx)
	for lane := range work {
		work[lane] = make(chan batch)
		group.Go(func() error {
			for b := range work[lane] {
				stored, err := c.writeBatch(ctx, companyID, i, b.records)
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
		return c.deal(ctx, i, work)
	})
	err := group.Wait()
	return int(written.Load()), err
}

// writeBatch writes records of the i-th type, without those to skip, and returns how many it wrote.
func (c *Checked) writeBatch(ctx context.Context, companyID string, i int, all []any) (written int, err error) {
	kind := c.types[i].In(c.has)
	if !c.options.NewOnly {
		return len(all), kind.Write(ctx, companyID, all)
	}
	fresh, _, err := kind.New(ctx, companyID, all)
	if err != nil || len(fresh) == 0 {
		c.skipped[i].Add(int64(len(all) - len(fresh)))
		return 0, err
	}
	skipped, err := kind.Add(ctx, companyID, fresh)
	written = len(fresh) - skipped
	c.skipped[i].Add(int64(len(all) - written))
	return written, err
}

// deal reads the records of a type and hands them to the lanes.
func (c *Checked) deal(ctx context.Context, i int, work [lanes]chan batch) error {
	var open [lanes]batch
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
		record, problems := c.types[i].Check(lines.Bytes())
		if len(problems) > 0 {
			return fmt.Errorf("a record of type %s was valid and is now invalid: %s", c.types[i].Name, problems[0])
		}
		lane := 0 // one batch gains nothing from lanes, and the brand kit has no id that laneOf could use
		if c.count[i] > batchRecordsMax {
			lane = laneOf(record)
		}
		if open[lane].add(record, len(lines.Bytes())) {
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

// laneOf returns the lane of a record. Records with the same identity share a lane, which keeps their order: the last one
// must win. The identity is the metric of a definition or a point, and the id of other records. A record without one gets
// lane 0.
func laneOf(record any) int {
	v := reflect.ValueOf(record)
	for _, name := range []string{"MetricKey", "Key", "ID"} {
		if f := v.FieldByName(name); f.IsValid() && f.Kind() == reflect.String {
			h := fnv.New32a()
			_, _ = h.Write([]byte(f.String())) // a hash never fails
			return int(h.Sum32() % lanes)
		}
	}
	return 0
}

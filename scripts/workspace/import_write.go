package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"sync"

	"growthworkspace/shared/transfer"
)

// spool keeps the checked records of an import in temporary files, one for each type, so that the types can be written
// in their order whatever that of the file is.
type spool struct {
	types []transfer.Type
	dir   string
	files []*os.File
	outs  []*bufio.Writer
	count []int
}

func newSpool(types []transfer.Type) (*spool, error) {
	dir, err := os.MkdirTemp("", "workspace-import-*")
	if err != nil {
		return nil, fmt.Errorf("make a temporary folder for the import: %w", err)
	}
	return &spool{
		types: types, dir: dir,
		files: make([]*os.File, len(types)), outs: make([]*bufio.Writer, len(types)), count: make([]int, len(types)),
	}, nil
}

func (s *spool) remove() {
	for _, f := range s.files {
		if f != nil {
			_ = f.Close() // it goes with its folder
		}
	}
	_ = os.RemoveAll(s.dir)
}

func (s *spool) total() (n int) {
	for _, c := range s.count {
		n += c
	}
	return n
}

// add appends a record, which is the JSON of one line, to those of the i-th type.
func (s *spool) add(i int, record []byte) error {
	if s.files[i] == nil {
		f, err := os.Create(filepath.Join(s.dir, s.types[i].Name))
		if err != nil {
			return fmt.Errorf("keep a record of the import: %w", err)
		}
		s.files[i], s.outs[i] = f, bufio.NewWriterSize(f, 64<<10)
	}
	s.count[i]++
	_, err := s.outs[i].Write(record)
	if err := errors.Join(err, s.outs[i].WriteByte('\n')); err != nil {
		return fmt.Errorf("keep a record of the import in %s: %w", s.dir, err)
	}
	return nil
}

// lanes is how many batches are in flight.
const lanes = 8

// write stores the records, type by type. It returns how many of each were certainly written, after an error too.
func (s *spool) write(ctx context.Context, companyID string, bar *bar) (map[string]int, error) {
	written := map[string]int{}
	for i, t := range s.types {
		if s.files[i] == nil {
			continue
		}
		n, err := s.writeType(ctx, companyID, i, bar)
		if n > 0 {
			written[t.Name] = n
		}
		if err != nil {
			return written, err
		}
	}
	return written, nil
}

func (s *spool) writeType(ctx context.Context, companyID string, i int, bar *bar) (written int, err error) {
	if err := s.outs[i].Flush(); err != nil {
		return 0, fmt.Errorf("keep the records of the import in %s: %w", s.dir, err)
	}
	if _, err := s.files[i].Seek(0, io.SeekStart); err != nil {
		return 0, fmt.Errorf("read the records of the import again: %w", err)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var mu sync.Mutex
	var wait sync.WaitGroup
	work := make([]chan *batch, lanes)
	for lane := range work {
		work[lane] = make(chan *batch)
		wait.Go(func() {
			for b := range work[lane] {
				if ctx.Err() != nil {
					continue
				}
				if err := s.types[i].Write(ctx, companyID, b.records); err != nil {
					cancel(fmt.Errorf("write records of type %s: %w", s.types[i].Name, err))
					continue
				}
				mu.Lock()
				written += len(b.records)
				mu.Unlock()
				bar.add(len(b.records))
			}
		})
	}
	err = s.deal(ctx, i, work)
	for lane := range work {
		close(work[lane])
	}
	wait.Wait()
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return written, err
}

// deal reads the records of a type and hands them to the lanes.
func (s *spool) deal(ctx context.Context, i int, work []chan *batch) error {
	open := make([]*batch, len(work))
	reader := newLines(s.files[i])
	for ctx.Err() == nil {
		text, err := reader.next()
		if errors.Is(err, io.EOF) {
			for lane, b := range open {
				if b != nil {
					work[lane] <- b
				}
			}
			return nil
		}
		if err != nil {
			return fmt.Errorf("read the records of the import again: %w", err)
		}
		record, problems := s.types[i].Check(text)
		if len(problems) > 0 {
			return fmt.Errorf("a record of type %s was right and is now wrong: %s", s.types[i].Name, problems[0])
		}
		lane := 0 // few records are one batch: nothing to win, and the brand kit has no identity but its company
		if s.count[i] > batchRecordsMax {
			lane = laneOf(record) % len(work)
		}
		if open[lane] == nil {
			open[lane] = &batch{}
		}
		if open[lane].add(record, reader.number, len(text)) {
			work[lane] <- open[lane]
			open[lane] = nil
		}
	}
	return nil
}

// laneOf sends records that replace one another to one lane, which keeps them in the order of the file: of two with one
// identity the last must stay. That is the metric of a definition or a point, and the id of everything else; what has
// none of them exists once or a few times and goes one by one.
func laneOf(record any) int {
	v := reflect.ValueOf(record)
	for _, name := range []string{"MetricKey", "Key", "ID"} {
		if f := v.FieldByName(name); f.IsValid() && f.Kind() == reflect.String {
			h := fnv.New32a()
			_, _ = h.Write([]byte(f.String())) // a hash never fails
			return int(h.Sum32() >> 1)
		}
	}
	return 0
}

package jsonl

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"growthworkspace/shared/transfer"
)

type countedRecord struct {
	ID string `json:"id"`
}

// countedKind is a transfer.Kind whose Import calls a function.
type countedKind struct {
	transfer.Stored[countedRecord]

	write func(ctx context.Context, records []countedRecord) error
}

func (k countedKind) Import(ctx context.Context, _ string, records []countedRecord, _ transfer.Mode) (skipped int, err error) {
	return 0, k.write(ctx, records)
}

// Ensure an interrupted import returns how many records it has written, and removes its temporary
// files.
func TestInterrupt(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	var mu sync.Mutex
	stored := 0
	kind := transfer.Define[countedRecord]("counted", "", countedKind{write: func(ctx context.Context, records []countedRecord) error {
		mu.Lock()
		defer mu.Unlock()
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if stored += len(records); stored > 1500 {
			cancel()
		}
		return nil
	}})
	s, err := newCheckedFile([]transfer.Type{kind}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for n := range 20_000 {
		if err := s.add(0, n+1, fmt.Appendf(nil, `{"id":"c_%d"}`, n)); err != nil {
			t.Fatal(err)
		}
	}
	written, err := s.Write(ctx, "co_1", func(int) {})
	if !errors.Is(err, context.Canceled) || written["counted"] != stored || stored > 1500+writerCount*batchRecordsMax {
		t.Errorf("%v: reported %d records, stored %d; want as many, and at most %d", err, written["counted"], stored, 1500+writerCount*batchRecordsMax)
	}
	s.Close()
	if _, err := os.Stat(s.dir); !errors.Is(err, os.ErrNotExist) {
		t.Error("the temporary files are still there")
	}

	broken := transfer.Define[countedRecord]("counted", "", countedKind{write: func(context.Context, []countedRecord) error { return errors.New("no space") }})
	s, err = newCheckedFile([]transfer.Type{broken}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.add(0, 1, []byte(`{"id":"c_1"}`)); err != nil {
		t.Fatal(err)
	}
	if written, err := s.Write(t.Context(), "co_1", func(int) {}); err == nil || len(written) != 0 {
		t.Errorf("written %v, want nothing and an error: %v", written, err)
	}
}

// Ensure an import reports a line that is too long, and reads nothing after it.
func TestLineTooLong(t *testing.T) {
	t.Parallel()
	kind := transfer.Define("counted", "", transfer.Stored[countedRecord]{})
	line := `{"type":"counted","record":{"id":"c_1"}}` + "\n"
	_, err := Check(t.Context(), []transfer.Type{kind}, "co_1", strings.NewReader("\n"+line+strings.Repeat("x", lineBytesMax)+"\n"+line), Options{})
	if err == nil || err.Error() != "line 3: is longer than 40 MB" {
		t.Errorf("error %v, want line 3: is longer than 40 MB", err)
	}
}

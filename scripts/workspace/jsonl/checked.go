package jsonl

import (
	"bufio"
	"crypto/sha256"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"

	"growthworkspace/shared/transfer"
)

// CheckedFile holds the checked records of an import. It stores the records of each type in a
// temporary file, because Write needs the types in a fixed order, and the input may have any order.
type CheckedFile struct {
	types       []transfer.Type
	dir         string
	files       []*os.File
	outs        []*bufio.Writer
	counts      []int
	nameDigests map[[16]byte]bool // digests of the names of the records; see transfer.Entry

	options Options
	skipped []atomic.Int64 // for each type, how many records Write has skipped

	mu             sync.Mutex
	refused        []badLine // the records that Write did not store
	merged         map[transfer.MergeOutcome]int
	notMergedTexts []string // the messages of transfer.Merged.NotMergedText
}

// digest returns a short hash of a string to use as a map key, so that long strings need not stay
// in memory.
func digest(text string) [16]byte {
	sum := sha256.Sum256([]byte(text))
	return [16]byte(sum[:])
}

// hasName reports whether the file contains a record with the name. It implements
// transfer.Mode.FileHasName.
func (c *CheckedFile) hasName(name string) bool { return c.nameDigests[digest(name)] }

func newCheckedFile(types []transfer.Type, o Options) (*CheckedFile, error) {
	dir, err := os.MkdirTemp("", "workspace-import-*")
	if err != nil {
		return nil, fmt.Errorf("create a temporary folder for the import: %w", err)
	}
	return &CheckedFile{
		types: types, dir: dir, merged: map[transfer.MergeOutcome]int{}, nameDigests: map[[16]byte]bool{}, options: o, skipped: make([]atomic.Int64, len(types)),
		files: make([]*os.File, len(types)), outs: make([]*bufio.Writer, len(types)), counts: make([]int, len(types)),
	}, nil
}

// Close removes the temporary files.
func (c *CheckedFile) Close() {
	for _, f := range c.files {
		if f != nil {
			_ = f.Close() // ignore the error, because the file is removed below
		}
	}
	_ = os.RemoveAll(c.dir)
}

// Total returns the number of records.
func (c *CheckedFile) Total() (n int) {
	for _, count := range c.counts {
		n += count
	}
	return n
}

// Skipped returns how many records of each type Write has skipped because the company already had
// them.
func (c *CheckedFile) Skipped() map[string]int {
	out := map[string]int{}
	for i, t := range c.types {
		if n := c.skipped[i].Load(); n > 0 {
			out[t.Name] = int(n)
		}
	}
	return out
}

// Refused returns a message for each record that Write did not store because it conflicts with a
// concurrent write by another caller. A message contains the line number and the problem. The
// messages are in the order of the file. Write has stored or skipped all other records, unless it
// returned an error.
func (c *CheckedFile) Refused() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	sortLines(c.refused)
	return c.formatBadLines(c.refused)
}

// Merged returns how many records Write has merged, by outcome. It is empty without Options.Merge.
func (c *CheckedFile) Merged() map[transfer.MergeOutcome]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.merged)
}

// NotMergedTexts returns the messages about records that were merged only in part, sorted.
func (c *CheckedFile) NotMergedTexts() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	slices.Sort(c.notMergedTexts)
	return c.notMergedTexts
}

// countMerged counts the outcomes of a merge, and returns how many records the merge has written.
func (c *CheckedFile) countMerged(merged []transfer.Merged, refused transfer.RefusedRecords) (written int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for n, m := range merged {
		if refused[n] != "" {
			continue
		}
		c.merged[m.Outcome]++
		if m.NotMergedText != "" {
			c.notMergedTexts = append(c.notMergedTexts, m.NotMergedText)
		}
		if m.Outcome == transfer.MergedCreated || m.Outcome == transfer.MergedUpdated {
			written++
		}
	}
	return written
}

// addRefused remembers the records of a batch that were not stored, for Refused.
func (c *CheckedFile) addRefused(i int, b batch, refused transfer.RefusedRecords) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for n, problem := range refused {
		c.refused = append(c.refused, badLine{b.lines[n], c.types[i].Name, []string{problem}})
	}
}

// add appends the line number and the JSON of a record to the temporary file of the i-th type.
func (c *CheckedFile) add(i, line int, record []byte) error {
	if c.files[i] == nil {
		f, err := os.Create(filepath.Join(c.dir, c.types[i].Name))
		if err != nil {
			return fmt.Errorf("create a temporary file for the import: %w", err)
		}
		c.files[i], c.outs[i] = f, bufio.NewWriterSize(f, 64<<10)
	}
	c.counts[i]++
	_, err := fmt.Fprintf(c.outs[i], "%d %s\n", line, record)
	if err != nil {
		return fmt.Errorf("write a temporary file in %s: %w", c.dir, err)
	}
	return nil
}

// batch is up to batchRecordsMax records of one type, with their line numbers in the file.
type batch struct {
	records []any
	lines   []int
	bytes   int
}

// The maximum size of a batch. batchBytesMax limits the use of memory if records are megabytes
// long.
const (
	batchRecordsMax = 200
	batchBytesMax   = 4 << 20
)

// add appends a record and reports whether the batch is full.
func (b *batch) add(record any, line, size int) (full bool) {
	b.records, b.lines, b.bytes = append(b.records, record), append(b.lines, line), b.bytes+size
	return len(b.records) >= batchRecordsMax || b.bytes >= batchBytesMax
}

// subset returns a batch with some of the records of b. indexes are the indexes of these records in
// b.
func (b *batch) subset(records []any, indexes []int) batch {
	lines := make([]int, len(indexes))
	for n, at := range indexes {
		lines[n] = b.lines[at]
	}
	return batch{records: records, lines: lines, bytes: b.bytes}
}

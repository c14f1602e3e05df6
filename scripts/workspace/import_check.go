package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"growthworkspace/shared/transfer"
)

// badLinesMax is how many bad lines are named, and how many problems of one line.
const badLinesMax = 20

// checking is the first pass of an import: it reads every line once, checks it, and puts it into the spool, from which
// the second pass writes. So what is written is what was checked, whatever happens to the file meanwhile.
type checking struct {
	types     []transfer.Type
	companyID string
	spool     *spool

	bad     []badLine
	pending map[string]*batch
	// first are the lines on which a text was first that may be only once. A digest of each, so that its length does
	// not matter.
	first map[[16]byte]int
}

type badLine struct {
	number   int
	typeName string
	problems []string
}

// batch is a few hundred records of a type, with their lines.
type batch struct {
	records []any
	numbers []int
	bytes   int
}

// A batch ends at either bound: memory must stay flat where records are megabytes.
const (
	batchRecordsMax = 200
	batchBytesMax   = 4 << 20
)

func (b *batch) add(record any, number, size int) (full bool) {
	b.records, b.numbers, b.bytes = append(b.records, record), append(b.numbers, number), b.bytes+size
	return len(b.records) >= batchRecordsMax || b.bytes >= batchBytesMax
}

// run returns an error that names what is wrong, for a person.
func (c *checking) run(ctx context.Context, in io.Reader) error {
	c.pending, c.first = map[string]*batch{}, map[[16]byte]int{}
	reader := newLines(in)
	for len(c.bad) < badLinesMax && ctx.Err() == nil {
		text, err := reader.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if errors.Is(err, errLineTooLong) {
			c.report(reader.number, "", err.Error())
			continue
		}
		if err != nil {
			return fmt.Errorf("read line %d: %w", reader.number, err)
		}
		if err := c.line(ctx, reader.number, text); err != nil {
			return err
		}
	}
	for _, t := range c.types {
		if err := c.verify(ctx, t); err != nil {
			return err
		}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return c.err()
}

func (c *checking) line(ctx context.Context, number int, text []byte) error {
	e, problems := parseEntry(text)
	if len(problems) > 0 {
		c.report(number, e.Type, problems...)
		return nil
	}
	i := slices.IndexFunc(c.types, func(t transfer.Type) bool { return t.Name == e.Type })
	if i < 0 {
		c.report(number, "", fmt.Sprintf("type: %q is unknown; must be one of %s", e.Type, strings.Join(typeNames(), ", ")))
		return nil
	}
	t := c.types[i]
	record, problems := t.Check(e.Record)
	if len(problems) > 0 {
		c.report(number, t.Name, problems...)
		return nil
	}
	if text := t.Unique(record); text != "" {
		sum := sha256.Sum256([]byte(t.Name + "\n" + text))
		key := [16]byte(sum[:])
		if before, taken := c.first[key]; taken {
			c.report(number, t.Name, fmt.Sprintf("%s is on line %d too", text, before))
			return nil
		}
		c.first[key] = number
	}
	if err := c.spool.add(i, e.Record); err != nil {
		return err
	}
	b := c.pending[t.Name]
	if b == nil {
		b = &batch{}
		c.pending[t.Name] = b
	}
	if b.add(record, number, len(e.Record)) {
		return c.verify(ctx, t)
	}
	return nil
}

// verify checks the pending records of a type against the stored ones.
func (c *checking) verify(ctx context.Context, t transfer.Type) error {
	b := c.pending[t.Name]
	if b == nil || len(b.records) == 0 {
		return nil
	}
	delete(c.pending, t.Name)
	problems, err := t.Verify(ctx, c.companyID, b.records)
	if err != nil {
		return fmt.Errorf("check lines %d to %d against the stored records: %w", b.numbers[0], b.numbers[len(b.numbers)-1], err)
	}
	for i, problem := range problems {
		if problem != "" {
			c.report(b.numbers[i], t.Name, problem)
		}
	}
	return nil
}

func (c *checking) report(number int, typeName string, problems ...string) {
	c.bad = append(c.bad, badLine{number, typeName, problems})
}

// err names the bad lines, nil when there are none.
func (c *checking) err() error {
	if len(c.bad) == 0 {
		return nil
	}
	slices.SortFunc(c.bad, func(a, b badLine) int { return cmp.Compare(a.number, b.number) })
	var text strings.Builder
	for _, line := range c.bad[:min(len(c.bad), badLinesMax)] {
		for i, problem := range line.problems {
			if i == badLinesMax {
				problem = fmt.Sprintf("and %d problems more", len(line.problems)-badLinesMax)
			}
			fmt.Fprintf(&text, "line %d: ", line.number)
			if line.typeName != "" {
				text.WriteString(line.typeName + ": ")
			}
			text.WriteString(problem + "\n")
			if i == badLinesMax {
				break
			}
		}
	}
	if len(c.bad) >= badLinesMax {
		fmt.Fprintf(&text, "these are the first %d bad lines; there may be more\n", badLinesMax)
	}
	return errors.New(strings.TrimSuffix(text.String(), "\n"))
}

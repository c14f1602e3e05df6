// Package records imports and exports the records of a company as lines of JSON:
//
//	{"type": "feedback", "record": {"id": "fbk_1", ...}}
//
// An import has two passes. Check reads and checks every line, and copies the records to temporary files. Checked.Write
// then stores them. So exactly the checked records are stored, even if the input file changes in the meantime.
package records

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"growthworkspace/shared/transfer"
)

// BadLinesMax is how many bad lines an error lists, and how many problems of one line.
const BadLinesMax = 20

// Options of an import.
type Options struct {
	NewOnly bool // skip the records that the company has
}

// Check reads every line, checks it alone and against the stored records, and returns the records to write. Returns an
// error that lists the bad lines and their problems.
func Check(ctx context.Context, types []transfer.Type, companyID string, in io.Reader, o Options) (*Checked, error) {
	spool, err := newChecked(types, o)
	if err != nil {
		return nil, err
	}
	c := check{
		Checked: spool, companyID: companyID, pending: make([]pending, len(types)), first: map[[16]byte]int{}, rivals: map[[16]byte][]badLine{},
	}
	if err := c.run(ctx, in); err != nil {
		spool.Close()
		return nil, err
	}
	return spool, nil
}

// check is the first pass of an import.
type check struct {
	*Checked

	companyID string
	bad       []badLine
	pending   []pending // by type: records that are not yet compared with the stored ones
	// first is the line on which a unique text first appeared. The key is a digest, so that long texts cost no memory.
	first map[[16]byte]int
	// rivals are the lines that are bad unless the file has the name, by the digest of the name. At most BadLinesMax of each.
	rivals map[[16]byte][]badLine
}

// pending is a batch with the lines of its records.
type pending struct {
	batch
	numbers []int
}

type badLine struct {
	number   int
	typeName string
	problems []string
}

func (c *check) run(ctx context.Context, in io.Reader) error {
	lines, number := newLines(in), 0
	for len(c.bad) < BadLinesMax && ctx.Err() == nil && lines.Scan() {
		text := bytes.TrimSpace(lines.Bytes())
		if number++; number == 1 {
			text = bytes.TrimPrefix(text, []byte("\ufeff")) // some editors write a byte order mark
		}
		if len(text) == 0 {
			continue
		}
		if err := c.line(ctx, number, text); err != nil {
			return err
		}
	}
	switch err := lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		c.report(number+1, "", fmt.Sprintf("is longer than %d MB", lineBytesMax>>20))
	case err != nil:
		return fmt.Errorf("read line %d: %w", number+1, err)
	}
	for i := range c.types {
		if err := c.verify(ctx, i); err != nil {
			return err
		}
	}
	if len(c.bad) < BadLinesMax { // otherwise the file has lines that were not read
		for name, lines := range c.rivals {
			if !c.names[name] {
				c.bad = append(c.bad, lines...)
			}
		}
	}
	return cmp.Or(ctx.Err(), c.err())
}

func (c *check) line(ctx context.Context, number int, text []byte) error {
	e, problems := parseEntry(text)
	if len(problems) > 0 {
		c.report(number, e.Type, problems...)
		return nil
	}
	i := slices.IndexFunc(c.types, func(t transfer.Type) bool { return t.Name == e.Type })
	if i < 0 {
		c.report(number, "", fmt.Sprintf("type: %q is unknown; must be one of %s", e.Type, strings.Join(Names(c.types), ", ")))
		return nil
	}
	t := c.types[i]
	record, problems := t.Check(e.Record)
	if len(problems) > 0 {
		c.report(number, t.Name, problems...)
		return nil
	}
	if text := t.Unique(record); text != "" {
		key := digest(t.Name + "\n" + text)
		if before, taken := c.first[key]; taken {
			c.report(number, t.Name, fmt.Sprintf("%s is on line %d too", text, before))
			return nil
		}
		c.first[key] = number
	}
	if own, _ := t.Names(record); own != "" {
		c.names[digest(own)] = true
	}
	if err := c.add(i, e.Record); err != nil {
		return err
	}
	c.pending[i].numbers = append(c.pending[i].numbers, number)
	if c.pending[i].add(record, len(e.Record)) {
		return c.verify(ctx, i)
	}
	return nil
}

// verify checks the pending records of a type against the stored ones.
func (c *check) verify(ctx context.Context, i int) error {
	b := c.pending[i]
	c.pending[i] = pending{}
	if len(b.records) == 0 {
		return nil
	}
	if c.options.NewOnly {
		fresh, indexes, err := c.types[i].New(ctx, c.companyID, b.records)
		if err != nil {
			return fmt.Errorf("look for stored records: %w", err)
		}
		numbers := make([]int, len(indexes))
		for n, at := range indexes {
			numbers[n] = b.numbers[at]
		}
		if b.records, b.numbers = fresh, numbers; len(fresh) == 0 {
			return nil
		}
	}
	problems, err := c.types[i].Verify(ctx, c.companyID, b.records)
	if err != nil {
		return fmt.Errorf("check lines %d to %d against the stored records: %w", b.numbers[0], b.numbers[len(b.numbers)-1], err)
	}
	for n, problem := range problems {
		if problem == "" {
			continue
		}
		if _, rival := c.types[i].Names(b.records[n]); rival != "" {
			if key := digest(rival); len(c.rivals[key]) < BadLinesMax {
				c.rivals[key] = append(c.rivals[key], badLine{b.numbers[n], c.types[i].Name, []string{problem}})
			}
			continue
		}
		c.report(b.numbers[n], c.types[i].Name, problem)
	}
	return nil
}

func (c *check) report(number int, typeName string, problems ...string) {
	if len(problems) > BadLinesMax {
		problems = append(problems[:BadLinesMax:BadLinesMax], fmt.Sprintf("and %d more problems", len(problems)-BadLinesMax))
	}
	c.bad = append(c.bad, badLine{number, typeName, problems})
}

// err returns an error that lists the bad lines, or nil when there are none.
func (c *check) err() error {
	if len(c.bad) == 0 {
		return nil
	}
	slices.SortStableFunc(c.bad, func(a, b badLine) int { return cmp.Compare(a.number, b.number) })
	var out []string
	for _, line := range c.bad[:min(len(c.bad), BadLinesMax)] {
		prefix := fmt.Sprintf("line %d: ", line.number)
		if line.typeName != "" {
			prefix += line.typeName + ": "
		}
		for _, problem := range line.problems {
			out = append(out, prefix+problem)
		}
	}
	if len(c.bad) >= BadLinesMax {
		out = append(out, fmt.Sprintf("these are the first %d bad lines; there may be more", BadLinesMax))
	}
	return errors.New(strings.Join(out, "\n"))
}

// Names returns the names of the types.
func Names(types []transfer.Type) []string {
	names := make([]string, len(types))
	for i, t := range types {
		names[i] = t.Name
	}
	return names
}

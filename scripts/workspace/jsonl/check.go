// Package jsonl imports and exports the records of a company as lines of JSON:
//
//	{"type": "feedback", "record": {"id": "fbk_1", ...}}
//
// An import has two passes. Check reads and checks every line, and copies the records to temporary
// files. CheckedFile.Write then stores them. So the stored records are exactly those that were
// checked, even if the input file changes in between.
package jsonl

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

// BadLinesMax is the maximum number of bad lines that an error lists. It is also the maximum number
// of problems that the error lists for each line.
const BadLinesMax = 20

// Options are the options of an import.
type Options struct {
	SkipExisting bool // whether to skip records that the company already has
	Merge        bool // whether to merge records of mergeable types; SkipExisting then does not apply to them

	// SkipExistingTypes are types whose existing records are skipped even if SkipExisting is false.
	SkipExistingTypes []string

	// PlaceOf returns where the line with the given number comes from, for messages. If it is nil,
	// messages contain the line number.
	PlaceOf func(line int) string
}

// skipsExisting reports whether existing records of a type are skipped.
func (o Options) skipsExisting(t transfer.Type) bool {
	return (o.SkipExisting || slices.Contains(o.SkipExistingTypes, t.Name)) && !o.merges(t)
}

// merges reports whether records of a type are merged.
func (o Options) merges(t transfer.Type) bool { return o.Merge && t.CanMerge() }

// place returns where a line comes from, for messages.
func (o Options) place(line int) string {
	if o.PlaceOf != nil {
		return o.PlaceOf(line)
	}
	return fmt.Sprintf("line %d", line)
}

// Check reads the lines of an import, checks each of them against the rules and the stored records,
// and returns the records to write. If any lines are bad, it returns an error that lists them and
// their problems.
func Check(ctx context.Context, types []transfer.Type, companyID string, in io.Reader, o Options) (*CheckedFile, error) {
	checked, err := newCheckedFile(types, o)
	if err != nil {
		return nil, err
	}
	c := importCheck{
		CheckedFile: checked, companyID: companyID, pendingByType: make([]batch, len(types)), claimedTexts: map[[16]byte]uniqueTextOwner{},
		badUnlessNamed: map[[16]byte][]badLine{},
	}
	if err := c.readAll(ctx, in); err != nil {
		checked.Close()
		return nil, err
	}
	return checked, nil
}

// importCheck is the first pass of an import.
type importCheck struct {
	*CheckedFile

	companyID     string
	badLines      []badLine
	pendingByType []batch // for each type, the records that have not been checked against the stored ones yet
	// claimedTexts maps each string that must be unique, such as a slug, to the first record in the
	// file that has it. The keys are digests of the strings.
	claimedTexts map[[16]byte]uniqueTextOwner
	// badUnlessNamed holds lines that are bad unless the file also contains a certain other record,
	// such as the parent. The keys are digests of that record's name. There are at most BadLinesMax
	// lines per name.
	badUnlessNamed map[[16]byte][]badLine
}

// uniqueTextOwner identifies the first record in the file with a certain unique string.
type uniqueTextOwner struct {
	line  int
	owner [16]byte // the digest of UniqueText.Owner
}

type badLine struct {
	number   int
	typeName string
	problems []string
}

func (c *importCheck) readAll(ctx context.Context, in io.Reader) error {
	lines, number := newLines(in), 0
	for len(c.badLines) < BadLinesMax && ctx.Err() == nil && lines.Scan() {
		text := bytes.TrimSpace(lines.Bytes())
		if number++; number == 1 {
			text = bytes.TrimPrefix(text, []byte("\ufeff")) // some editors write a byte order mark
		}
		if len(text) == 0 {
			continue
		}
		if err := c.checkLine(ctx, number, text); err != nil {
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
		if err := c.verifyPending(ctx, i); err != nil {
			return err
		}
	}
	if len(c.badLines) < BadLinesMax { // if Check stopped early, the rest of the file may contain the names
		for name, lines := range c.badUnlessNamed {
			if !c.nameDigests[name] {
				c.badLines = append(c.badLines, lines...)
			}
		}
	}
	return cmp.Or(ctx.Err(), c.badLinesError())
}

func (c *importCheck) checkLine(ctx context.Context, number int, text []byte) error {
	e, problems := parseLine(text)
	if len(problems) > 0 {
		c.report(number, e.Type, problems...)
		return nil
	}
	i := slices.IndexFunc(c.types, func(t transfer.Type) bool { return t.Name == e.Type })
	if i < 0 {
		c.report(number, "", fmt.Sprintf("type: %q is unknown; must be one of %s", e.Type, strings.Join(TypeNames(c.types), ", ")))
		return nil
	}
	t := c.types[i]
	record, problems := t.Check(e.Record)
	if len(problems) > 0 {
		c.report(number, t.Name, problems...)
		return nil
	}
	entry := t.Entry(record)
	if !c.options.merges(t) { // a merge does not match records by id, so two lines cannot conflict
		if problem := c.checkUnique(number, t.Name, entry.Unique); problem != "" {
			c.report(number, t.Name, problem)
			return nil
		}
	}
	if entry.Name != "" {
		c.nameDigests[digest(entry.Name)] = true
	}
	if err := c.add(i, number, e.Record); err != nil {
		return err
	}
	if c.pendingByType[i].add(record, number, len(e.Record)) {
		return c.verifyPending(ctx, i)
	}
	return nil
}

// checkUnique remembers the strings of a record that must be unique, such as its slug. It returns a
// problem if an earlier record in the file has one of them, or "" if there is none.
func (c *importCheck) checkUnique(number int, typeName string, texts []transfer.UniqueText) (problem string) {
	for _, claimed := range texts {
		key, owner := digest(typeName+"\n"+claimed.Text), digest(claimed.Owner)
		before, taken := c.claimedTexts[key]
		if taken && (claimed.Owner == "" || before.owner != owner) {
			return fmt.Sprintf("%s is on %s too", claimed.Text, c.options.place(before.line))
		}
		if !taken {
			c.claimedTexts[key] = uniqueTextOwner{number, owner}
		}
	}
	return ""
}

// verifyPending checks the pending records of the i-th type against the stored ones.
func (c *importCheck) verifyPending(ctx context.Context, i int) error {
	b := c.pendingByType[i]
	c.pendingByType[i] = batch{}
	if len(b.records) == 0 {
		return nil
	}
	if c.options.skipsExisting(c.types[i]) {
		fresh, indexes, err := c.types[i].FilterNew(ctx, c.companyID, b.records)
		if err != nil {
			return fmt.Errorf("look for stored records: %w", err)
		}
		if b = b.subset(fresh, indexes); len(fresh) == 0 {
			return nil
		}
	}
	t := c.types[i]
	problems, err := t.Verify(ctx, c.companyID, b.records)
	if err != nil {
		return fmt.Errorf("check lines %d to %d against the stored records: %w", b.lines[0], b.lines[len(b.lines)-1], err)
	}
	for _, p := range problems {
		if p.UnlessNamed == "" {
			c.report(b.lines[p.Index], t.Name, p.Text)
		} else {
			c.reportUnlessNamed(p.UnlessNamed, badLine{b.lines[p.Index], t.Name, []string{p.Text}})
		}
	}
	return nil
}

// reportUnlessNamed adds a line to badUnlessNamed. At the end of the file, the line is reported
// unless the file contains the name.
func (c *importCheck) reportUnlessNamed(name string, line badLine) {
	if key := digest(name); len(c.badUnlessNamed[key]) < BadLinesMax {
		c.badUnlessNamed[key] = append(c.badUnlessNamed[key], line)
	}
}

func (c *importCheck) report(number int, typeName string, problems ...string) {
	if len(problems) > BadLinesMax {
		problems = append(problems[:BadLinesMax:BadLinesMax], fmt.Sprintf("and %d more problems", len(problems)-BadLinesMax))
	}
	c.badLines = append(c.badLines, badLine{number, typeName, problems})
}

// badLinesError returns an error that lists the bad lines, or nil if there are none.
func (c *importCheck) badLinesError() error {
	if len(c.badLines) == 0 {
		return nil
	}
	sortLines(c.badLines)
	out := c.formatBadLines(c.badLines[:min(len(c.badLines), BadLinesMax)])
	if len(c.badLines) >= BadLinesMax {
		out = append(out, fmt.Sprintf("these are the first %d bad lines; there may be more", BadLinesMax))
	}
	return errors.New(strings.Join(out, "\n"))
}

func sortLines(lines []badLine) {
	slices.SortStableFunc(lines, func(a, b badLine) int { return cmp.Compare(a.number, b.number) })
}

// formatBadLines formats the problems of lines, each with the place and the type in front.
func (c *CheckedFile) formatBadLines(lines []badLine) (out []string) {
	for _, line := range lines {
		prefix := c.options.place(line.number) + ": "
		if line.typeName != "" {
			prefix += line.typeName + ": "
		}
		for _, problem := range line.problems {
			out = append(out, prefix+problem)
		}
	}
	return out
}

// TypeNames returns the names of the types.
func TypeNames(types []transfer.Type) []string {
	names := make([]string, len(types))
	for i, t := range types {
		names[i] = t.Name
	}
	return names
}

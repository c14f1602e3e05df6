package convert

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"growthworkspace/scripts/workspace/terminal"
)

const (
	previewRows      = 10 // the maximum number of records of each type that a dry run shows
	previewCellWidth = 32 // the maximum number of characters of a value that a dry run shows
)

// preview is the result of a dry run.
type preview struct {
	Records  map[string]int    `json:"records"`
	Skipped  map[string]int    `json:"skipped"`
	First    []json.RawMessage `json:"first"` // the first records of each type, as lines of an import
	Problems []Problem         `json:"problems"`
}

// previewTable contains the first records of one type.
type previewTable struct {
	rowNumbers []int // the records' row numbers in the file
	fields     []map[string]any
}

// preview prints the first records of each type, the reasons for skipped rows, and all problems. It
// returns an error if there are problems.
func (r *Result) preview(t *terminal.Terminal) error {
	p := preview{Records: r.Counts, Skipped: r.Skipped, First: []json.RawMessage{}, Problems: []Problem{}}
	tables := map[string]*previewTable{}
	err := r.Each(func(l Line) error {
		var line struct {
			Type   string         `json:"type"`
			Record map[string]any `json:"record"`
		}
		head, _, _ := strings.Cut(string(l.JSON[:min(len(l.JSON), 64)]), `,"record"`)
		if known := tables[head]; known != nil && len(known.rowNumbers) == previewRows {
			return nil
		}
		if err := json.Unmarshal(l.JSON, &line); err != nil {
			return fmt.Errorf("read a temporary file: %w", err)
		}
		if tables[head] == nil {
			tables[head] = &previewTable{}
		}
		tables[head].rowNumbers = append(tables[head].rowNumbers, l.Row)
		tables[head].fields = append(tables[head].fields, line.Record)
		p.First = append(p.First, slices.Clone(l.JSON))
		return nil
	})
	if err == nil && t.JSON {
		err = r.EachProblem(func(problem Problem) error {
			p.Problems = append(p.Problems, problem)
			return nil
		})
		if err == nil {
			err = terminal.PrintJSON(t.Out, p)
		}
	} else if err == nil {
		err = r.printPreview(t, tables)
	}
	if err == nil && r.ProblemCount > 0 {
		err = fmt.Errorf("%d problems; nothing was written", r.ProblemCount)
	}
	return err
}

func (r *Result) printPreview(t *terminal.Terminal, tables map[string]*previewTable) error {
	for _, name := range slices.Sorted(maps.Keys(tables)) {
		if err := t.Write(tables[name].String() + "\n"); err != nil {
			return err
		}
	}
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(r.Counts)) {
		lines = append(lines, fmt.Sprintf("%d records of type %s", r.Counts[name], name))
	}
	for _, reason := range slices.Sorted(maps.Keys(r.Skipped)) {
		lines = append(lines, fmt.Sprintf("%d rows to skip: %s", r.Skipped[reason], reason))
	}
	if len(lines) == 0 {
		lines = []string{"no records"}
	}
	if err := t.Write(strings.Join(lines, "\n") + "\n"); err != nil {
		return err
	}
	return r.EachProblem(func(p Problem) error { return t.Write(p.Error() + "\n") })
}

// String returns the records as a table with a column for each field.
func (p *previewTable) String() string {
	names := map[string]bool{}
	for _, fields := range p.fields {
		for name := range fields {
			names[name] = true
		}
	}
	columns := slices.Sorted(maps.Keys(names))
	lines := []string{"row\t" + strings.Join(columns, "\t")}
	for i, fields := range p.fields {
		cells := []string{strconv.Itoa(p.rowNumbers[i])}
		for _, name := range columns {
			cells = append(cells, previewCell(fields[name]))
		}
		lines = append(lines, strings.Join(cells, "\t"))
	}
	return terminal.AlignColumns(lines)
}

// previewCell formats a value on one line.
func previewCell(value any) string {
	if value == nil {
		return "-"
	}
	text, isText := value.(string)
	if !isText {
		encoded, err := Encode(value)
		if err != nil {
			return err.Error()
		}
		text = string(encoded)
	}
	if runes := []rune(text); len(runes) > previewCellWidth {
		text = string(runes[:previewCellWidth-1]) + "…"
	}
	return terminal.EscapeControls(text)
}

package convert

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// lineBytesMax is the maximum length of a line, the same as for an import.
const lineBytesMax = 40 << 20

// Lines returns the kind for files that already consist of import lines. It skips records whose
// type is not in types.
func Lines(types ...string) Kind {
	return Kind{Name: "lines", Summary: "lines of an import", Types: types, Convert: func(ctx context.Context, in Input, out *Output) error {
		return readLines(ctx, in, out, types)
	}}
}

func readLines(ctx context.Context, in Input, out *Output, types []string) error {
	text, err := in.Text()
	if err != nil {
		return err
	}
	lines := bufio.NewScanner(text)
	lines.Buffer(make([]byte, 0, 256<<10), lineBytesMax)
	for row := 1; lines.Scan() && ctx.Err() == nil; row++ {
		line := bytes.TrimSpace(lines.Bytes())
		if len(line) == 0 {
			continue
		}
		if err := emitLine(row, line, out, types); err != nil {
			return err
		}
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		return fmt.Errorf("a line is longer than %d MB", lineBytesMax>>20)
	}
	return errors.Join(ctx.Err(), lines.Err())
}

func emitLine(row int, line []byte, out *Output, types []string) error {
	var entry struct {
		Type   string         `json:"type"`
		Record map[string]any `json:"record"`
	}
	d := json.NewDecoder(bytes.NewReader(line))
	d.UseNumber()
	if err := d.Decode(&entry); err != nil || d.More() || entry.Record == nil {
		return out.Report(Problem{Row: row, Message: `is not a line of an import, such as {"type": "feedback", "record": {…}}`})
	}
	if !slices.Contains(types, entry.Type) {
		out.Skip(fmt.Sprintf("records of type %q", entry.Type))
		return nil
	}
	return out.Emit(Record{Type: entry.Type, Fields: entry.Record, Row: row})
}

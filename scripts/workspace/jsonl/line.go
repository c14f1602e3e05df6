package jsonl

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// lineBytesMax is the maximum length of a line. The largest record is an audit with 4 MB of
// findings, and JSON escapes can turn one byte into six.
const lineBytesMax = 40 << 20

// newLines returns a scanner for the lines of in.
func newLines(in io.Reader) *bufio.Scanner {
	s := bufio.NewScanner(in)
	s.Buffer(make([]byte, 0, 256<<10), lineBytesMax)
	return s
}

// lineEntry is a parsed line: a type and a record.
type lineEntry struct {
	Type   string          `json:"type"`
	Record json.RawMessage `json:"record"`
}

// parseLine parses a line strictly: it must contain exactly the properties type and record, each
// once.
func parseLine(text []byte) (e lineEntry, problems []string) {
	d := json.NewDecoder(bytes.NewReader(text))
	if token, err := d.Token(); err != nil || token != json.Delim('{') {
		return e, []string{`is not a JSON object such as {"type": "feedback", "record": {…}}`}
	}
	seen := map[string]bool{}
	for d.More() {
		token, err := d.Token()
		name, _ := token.(string)
		var value json.RawMessage
		if err == nil {
			err = d.Decode(&value)
		}
		if err != nil {
			return e, []string{"is not JSON: " + err.Error()}
		}
		switch {
		case seen[name]:
			problems = append(problems, fmt.Sprintf("%q appears twice", name))
		case name == "type":
			if err := json.Unmarshal(value, &e.Type); err != nil || string(value) == "null" {
				problems = append(problems, "type: must be a string")
			}
		case name == "record":
			e.Record = value
		default:
			problems = append(problems, fmt.Sprintf("%q: unknown property; a line has only type and record", name))
		}
		seen[name] = true
	}
	if _, err := d.Token(); err != nil {
		return e, []string{"is not JSON: " + err.Error()}
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return e, []string{"has text after the JSON object"}
	}
	for _, name := range []string{"type", "record"} {
		if !seen[name] {
			problems = append(problems, name+": is required")
		}
	}
	return e, problems
}

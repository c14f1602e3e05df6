package findings

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// Limits of an outline.
const (
	linesMax  = 300
	textMax   = 160 // the maximum number of runes in a value or label
	indentMax = 12  // the maximum number of indentation levels
)

// Outline formats any JSON as indented lines and keeps its order. whole is false if the outline
// leaves out the end of the JSON or of a string in it.
func Outline(text []byte) (lines string, whole bool) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	o := &outline{decoder: d, whole: true}
	if !o.value("", 0) {
		o.whole = false
	}
	return o.out.String(), o.whole
}

type outline struct {
	decoder *json.Decoder
	out     strings.Builder
	lines   int
	whole   bool
}

// value writes the next value. It returns false if the outline is full or the text is not JSON.
func (o *outline) value(label string, depth int) bool {
	token, err := o.decoder.Token()
	if err != nil {
		return false
	}
	switch token {
	case json.Delim('{'), json.Delim('['):
		return o.children(label, depth, token == json.Delim('['))
	}
	shown := fmt.Sprint(token)
	if token == nil {
		shown = "null"
	}
	shown = strings.Join(strings.Fields(shown), " ")
	if runes := []rune(shown); len(runes) > textMax {
		shown, o.whole = string(runes[:textMax])+"…", false
	}
	return o.line(label, shown, depth)
}

func (o *outline) children(label string, depth int, list bool) bool {
	empty := map[bool]string{true: "(empty list)", false: "(empty)"}[list]
	if !o.decoder.More() {
		_, err := o.decoder.Token()
		return err == nil && o.line(label, empty, depth)
	}
	if label != "" {
		if !o.line(label, "", depth) {
			return false
		}
		depth++
	}
	for n := 1; o.decoder.More(); n++ {
		name := fmt.Sprintf("%d.", n)
		if !list {
			token, err := o.decoder.Token()
			if err != nil {
				return false
			}
			name = fmt.Sprint(token) + ":"
		}
		if !o.value(name, depth) {
			return false
		}
	}
	_, err := o.decoder.Token()
	return err == nil
}

func (o *outline) line(label, text string, depth int) bool {
	if o.lines++; o.lines > linesMax {
		return false
	}
	if runes := []rune(label); len(runes) > textMax {
		label, o.whole = string(runes[:textMax])+"…", false
	}
	o.out.WriteString(strings.Repeat("  ", min(depth, indentMax)))
	o.out.WriteString(strings.TrimSpace(label + " " + text))
	o.out.WriteString("\n")
	return true
}

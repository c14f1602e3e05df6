package main

import (
	"fmt"
	"reflect"
	"strings"
	"unicode"
)

// clientModel collects the types that the client declares. All areas share it, so that each record
// and each closed list of values (an enum type) is declared only once.
type clientModel struct {
	records    map[string]reflect.Type
	enums      map[string]reflect.Type // the closed lists of values, by their name in the client
	enumOrder  []string                // the names of the closed lists, in the order in which they are declared
	inputTypes map[string][]string     // the allowed values of arrays in an area's inputs, by field name
	maps       map[string]bool         // the names of the map fields in an area's inputs
	err        error
}

func (m *clientModel) fail(format string, args ...any) {
	if m.err == nil {
		m.err = fmt.Errorf("client: "+format, args...)
	}
}

// goWord returns a word of a name as Go spells it, such as "URL" or "Title".
func goWord(word string) string {
	switch lower := strings.ToLower(word); lower {
	case "id", "url", "ts", "api", "seo", "aeo", "geo":
		return strings.ToUpper(lower)
	case "ids":
		return "IDs"
	}
	return strings.ToUpper(word[:1]) + word[1:]
}

// goName converts a name of the API to a Go name. For example, it converts "create_plan_item" to
// "CreatePlanItem", "websiteUrl" to "WebsiteURL", "2-10" to "2To10" and "plan:read" to "PlanRead".
func goName(name string) string {
	var words []string
	word := ""
	end := func() {
		if word != "" {
			words = append(words, goWord(word))
		}
		word = ""
	}
	previous := rune(0)
	for _, c := range name {
		switch {
		case c == '+':
			end()
			words = append(words, "Plus")
		case c == '-' && unicode.IsDigit(previous):
			end()
			words = append(words, "To")
		case !unicode.IsLetter(c) && !unicode.IsDigit(c):
			end()
		case unicode.IsUpper(c) && !unicode.IsUpper(previous):
			end()
			word = string(c)
		default:
			word += string(c)
		}
		previous = c
	}
	end()
	return strings.Join(words, "")
}

// optionalType returns the Go type of a field that may be absent or null.
func optionalType(kind string) string { return "Optional[" + kind + "]" }

// importsOf returns the import declaration that a generated file needs, given the rest of its
// content.
func importsOf(text string) string {
	var paths []string
	for _, i := range []struct{ path, use string }{
		{"context", "context."}, {"encoding/json", "json.RawMessage"}, {"iter", "iter.Seq2"}, {"time", "time.Time"},
	} {
		if strings.Contains(text, i.use) {
			paths = append(paths, fmt.Sprintf("%q", i.path))
		}
	}
	switch len(paths) {
	case 0:
		return ""
	case 1:
		return "import " + paths[0] + "\n\n"
	}
	return "import (\n" + strings.Join(paths, "\n") + "\n)\n\n"
}

// commentWidth is the maximum width of a comment line.
const commentWidth = 118

// formatComment formats text as the lines of a Go comment.
func formatComment(indent, text string) string {
	var out strings.Builder
	for paragraph := range strings.SplitSeq(text, "\n") {
		line := indent + "//"
		for word := range strings.FieldsSeq(paragraph) {
			if len(line)+1+len(word) > commentWidth && line != indent+"//" {
				out.WriteString(line + "\n")
				line = indent + "//"
			}
			line += " " + word
		}
		out.WriteString(line + "\n")
	}
	return out.String()
}

func withFullStop(text string) string {
	if text == "" || strings.HasSuffix(text, ".") {
		return text
	}
	return text + "."
}

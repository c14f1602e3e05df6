package page

import (
	"bytes"
	"encoding/json"
	"html/template"
	"regexp"
	"strings"
)

// The languages of examples, by the names that browsers and people know.
const (
	languageJSON   = "json"
	languageShell  = "curl"
	languageGo     = "go"
	languageScript = "javascript"
	languagePython = "python"
)

// token is what an example is coloured by: strings, names of properties, numbers and the words of a language. The first
// group that matches says what it is.
var token = map[string]*regexp.Regexp{
	languageJSON:   regexp.MustCompile(`(?P<k>"(?:[^"\\]|\\.)*"):|(?P<s>"(?:[^"\\]|\\.)*")|(?P<n>-?\b\d[\d.eE+-]*|\b(?:true|false|null)\b)`),
	languageShell:  regexp.MustCompile(`(?s)(?P<s>"(?:[^"\\]|\\.)*"|'(?:[^']|'\\'')*')|(?P<w>\bcurl\b|\bexport\b)`),
	languageGo:     regexp.MustCompile("(?P<s>\"(?:[^\"\\\\]|\\\\.)*\"|`[^`]*`)|(?P<w>\\b(?:if|err|nil|defer|:=)\\b)"),
	languageScript: regexp.MustCompile("(?P<s>\"(?:[^\"\\\\]|\\\\.)*\"|`[^`]*`)|(?P<w>\\b(?:const|await|true|false|null)\\b)|(?P<n>\\b\\d[\\d.]*\\b)"),
	languagePython: regexp.MustCompile(`(?P<s>f?"(?:[^"\\]|\\.)*")|(?P<w>\b(?:import|with|as|True|False|None)\b)|(?P<n>\b\d[\d.]*\b)`),
}

// highlighted marks the tokens of an example; its text stays what it is.
func highlighted(language, text string) template.HTML {
	expression := token[language]
	names := expression.SubexpNames()
	var out strings.Builder
	at := 0
	for _, match := range expression.FindAllStringSubmatchIndex(text, -1) {
		for group := 1; group < len(names); group++ {
			begin, end := match[2*group], match[2*group+1]
			if begin < 0 {
				continue
			}
			out.WriteString(escaped(text[at:begin]) + `<span class="` + names[group] + `">` + escaped(text[begin:end]) + "</span>")
			at = end
		}
	}
	out.WriteString(escaped(text[at:]))
	return template.HTML(out.String())
}

// shortChars is how long an array or an object may be to stay on one line.
const shortChars = 60

// indented spells JSON in lines, what is short in one.
func indented(text json.RawMessage) string {
	var out bytes.Buffer
	if json.Indent(&out, text, "", "  ") != nil {
		return string(text)
	}
	return folded.ReplaceAllStringFunc(out.String(), func(list string) string {
		line := strings.ReplaceAll(space.ReplaceAllString(list, " "), "[ ", "[")
		line = strings.ReplaceAll(line, " ]", "]")
		if len(line) > shortChars {
			return list
		}
		return line
	})
}

// folded is an array of texts or numbers over several lines.
var (
	folded = regexp.MustCompile(`\[\n[^\[\]{}]*\n\s*\]`)
	space  = regexp.MustCompile(`\n\s*`)
)

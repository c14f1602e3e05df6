package infra

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// yamlTags are the short forms of a template's functions.
var yamlTags = map[string]string{
	"Ref": "!Ref", "Fn::Sub": "!Sub", "Fn::GetAtt": "!GetAtt", "Fn::If": "!If", "Fn::Equals": "!Equals", "Fn::Not": "!Not",
}

// lineMax is how long a list may be to stand on one line.
const lineMax = 130

// writeFields writes names and values, one below the other.
func writeFields(out *strings.Builder, fields Object, indent int) {
	for _, f := range fields {
		out.WriteString(strings.Repeat(" ", indent) + yamlName(f.Name) + ":")
		writeValue(out, f.Value, indent+2)
	}
}

// writeValue writes what stands after a name or a dash: on the same line what has no parts, or few.
func writeValue(out *strings.Builder, value any, indent int) {
	text, isText := value.(string)
	if isText && strings.Contains(text, "\n") {
		writeLines(out, text, indent)
		return
	}
	if short, ok := inline(value); ok && len(short)+indent <= lineMax {
		out.WriteString(" " + short + "\n")
		return
	}
	switch v := value.(type) {
	case Object:
		if tag, ok := function(v); ok {
			out.WriteString(" " + tag)
			writeValue(out, v[0].Value, indent)
			return
		}
		out.WriteString("\n")
		writeFields(out, v, indent)
	case List:
		out.WriteString("\n")
		for _, e := range v {
			writeElement(out, e, indent)
		}
	default:
		short, _ := scalar(value)
		out.WriteString(" " + short + "\n")
	}
}

// writeElement writes an element of a list; the first field of an object stands beside the dash.
func writeElement(out *strings.Builder, value any, indent int) {
	var part strings.Builder
	if object, ok := value.(Object); ok && len(object) > 0 {
		if _, isFunction := function(object); !isFunction {
			writeFields(&part, object, indent+2)
			out.WriteString(strings.Repeat(" ", indent) + "- " + strings.TrimLeft(part.String(), " "))
			return
		}
	}
	writeValue(&part, value, indent+2)
	out.WriteString(strings.Repeat(" ", indent) + "-" + part.String())
}

func writeLines(out *strings.Builder, text string, indent int) {
	out.WriteString(" |-\n")
	for line := range strings.Lines(strings.TrimSuffix(text, "\n")) {
		out.WriteString(strings.Repeat(" ", indent) + strings.TrimSuffix(line, "\n") + "\n")
	}
}

// inline spells a value on one line. An object with names of its own is better read below each other.
func inline(value any) (string, bool) {
	switch v := value.(type) {
	case Object:
		tag, isFunction := function(v)
		if len(v) == 0 {
			return "{}", true
		}
		if !isFunction {
			return "", false
		}
		if parts, ok := v[0].Value.(List); ok && tag == "!GetAtt" {
			return fmt.Sprintf("%s %s.%s", tag, parts[0], parts[1]), true
		}
		argument, ok := argument(v[0].Value)
		return tag + " " + argument, ok
	case List:
		parts := make([]string, len(v))
		for i, e := range v {
			var ok bool
			if parts[i], ok = inline(e); !ok {
				return "", false
			}
		}
		return "[" + strings.Join(parts, ", ") + "]", true
	}
	return scalar(value)
}

// argument spells what a function takes, in which the names of a substitution may stand on the line.
func argument(value any) (string, bool) {
	list, ok := value.(List)
	if !ok {
		return inline(value)
	}
	parts := make([]string, len(list))
	for i, e := range list {
		names, isNames := e.(Object)
		if _, isFunction := function(names); isNames && !isFunction && len(names) == 1 {
			text, ok := inline(names[0].Value)
			if !ok {
				return "", false
			}
			parts[i] = "{" + names[0].Name + ": " + text + "}"
			continue
		}
		if parts[i], ok = inline(e); !ok {
			return "", false
		}
	}
	return "[" + strings.Join(parts, ", ") + "]", true
}

func function(o Object) (tag string, ok bool) {
	if len(o) != 1 {
		return "", false
	}
	tag, ok = yamlTags[o[0].Name]
	return tag, ok
}

// plainText needs no quotes anywhere in YAML, and no version of it takes it for anything but a text.
var (
	plainText = regexp.MustCompile(`^[A-Za-z/][A-Za-z0-9_./+:-]*( [A-Za-z0-9][A-Za-z0-9_./;-]*)*$`)
	notText   = regexp.MustCompile(`^(?i:true|false|yes|no|on|off|y|n|null)$`)
)

func scalar(value any) (string, bool) {
	text, isText := value.(string)
	switch {
	case !isText:
		return fmt.Sprint(value), true
	case strings.Contains(text, "\n"):
		return "", false
	case plainText.MatchString(text) && !notText.MatchString(text) && !strings.HasSuffix(text, ":"):
		return text, true
	}
	return "'" + strings.ReplaceAll(text, "'", "''") + "'", true
}

func yamlName(name string) string {
	if notText.MatchString(name) || strings.ContainsAny(name, "*'\" ") {
		return strconv.Quote(name)
	}
	return name
}

package page

import (
	"fmt"
	"html/template"
	"slices"
	"strconv"
	"strings"

	"growthworkspace/shared/schema"
)

// field is an argument or a property as it is shown.
type field struct {
	Name     string
	Kind     string // the JSON type, in words
	Required bool
	Default  string
	Enum     []string
	Limits   []string
	Doc      template.HTML
	Fields   []field // of the objects in an array

	// What a form needs to know.
	In, Input string
}

// safeInteger bounds whole numbers that have no bound of their own; it says nothing to a reader.
const safeInteger = 1<<53 - 1

func newField(f schema.Field, doc string) field {
	out := field{
		Name: f.Name, In: string(f.In), Kind: kindOf(f), Required: f.Required, Default: f.Default, Enum: f.Enum,
		Limits: limits(f), Doc: prose(doc), Input: string(f.Kind),
	}
	for _, inner := range f.Fields {
		out.Fields = append(out.Fields, newField(inner, inner.Doc))
	}
	return out
}

func kindOf(f schema.Field) string {
	switch {
	case f.Kind == schema.Array && f.Fields != nil:
		return "array of objects"
	case f.Kind == schema.Array:
		return "array of strings"
	case f.Kind == schema.Map:
		return "object of strings"
	}
	return string(f.Kind)
}

// limits says in words what a value may be beyond its type.
func limits(f schema.Field) (out []string) {
	switch f.Kind {
	case schema.String:
		out = append(out, within(f.Min, f.Max, "characters")...)
	case schema.Integer, schema.Number:
		out = append(out, within(f.Min, f.Max, "")...)
	case schema.Array:
		out = append(out, within(f.Min, asBound(f.Items), "entries")...)
	case schema.Map:
		out = append(out, within(nil, asBound(f.Items), "entries")...)
	}
	if f.Each > 0 {
		out = append(out, fmt.Sprintf("each up to %s characters", number(float64(f.Each))))
	}
	if f.Format != "" {
		out = append(out, formatNames[f.Format])
	}
	if expression := f.Expression(); expression != "" {
		out = append(out, "matches "+expression)
	}
	return slices.DeleteFunc(out, func(s string) bool { return s == "" })
}

// formatNames say the formats of inputs and records in words.
var formatNames = map[string]string{"date-time": "RFC 3339 time", "day": "YYYY-MM-DD", "date": "YYYY-MM-DD", "web": "http or https address", "uri": "absolute URI", "timezone": "IANA time zone", "language": "ISO 639-1 code"}

func asBound(n int) *float64 {
	if n <= 0 {
		return nil
	}
	bound := float64(n)
	return &bound
}

func within(least, most *float64, unit string) []string {
	if least != nil && *least == -safeInteger {
		least = nil
	}
	if most != nil && *most == safeInteger {
		most = nil
	}
	text := ""
	switch {
	case least == nil && most == nil:
		return nil
	case least == nil:
		text = "up to " + number(*most)
	case most == nil:
		text = "at least " + number(*least)
	default:
		text = number(*least) + " to " + number(*most)
	}
	return []string{strings.TrimSpace(text + " " + unit)}
}

// number spells a number with a comma between thousands.
func number(n float64) string {
	text := strconv.FormatFloat(n, 'f', -1, 64)
	for i := strings.IndexByte(text+".", '.') - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

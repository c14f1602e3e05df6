package schema

import (
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// ArgumentName returns the name of the field in the arguments of a tool, which form one flat
// object. The header If-Match becomes ifMatch, for example; the names of other fields stay as they
// are.
func (f Field) ArgumentName() string {
	if f.In != InHeader {
		return f.Name
	}
	words := strings.Split(f.Name, "-")
	words[0] = strings.ToLower(words[0])
	return strings.Join(words, "")
}

// FlatArguments holds the arguments of a tool call: one object with everything that an HTTP request
// contains in its path, query, headers and body.
type FlatArguments struct {
	Operation  string   // the operation for which a cursor is valid
	Arguments  Object   // nil if the JSON as a whole is invalid; Problems then says why, and no field is bound
	Problems   []string // problems found while parsing the JSON
	ExtraNames []string // names of additional arguments that are allowed
}

// BindFlat binds an input of type t with these fields to the arguments of a tool call. It adds a
// problem for every argument that has no field. Models often send "5" instead of 5 and "true"
// instead of true, so both forms are accepted here.
func BindFlat(t reflect.Type, fields []Field, args FlatArguments) *Binder {
	b := newBinder(t)
	b.acceptsPlainText, b.Problems = true, slices.Clone(args.Problems)
	if args.Arguments != nil || len(args.Problems) == 0 {
		b.bindFlat(fields, args)
	}
	b.bindCursor(fields, args.Operation)
	return b
}

func (b *Binder) bindFlat(fields []Field, args FlatArguments) {
	names := slices.Clone(args.ExtraNames)
	for i := range fields {
		f := &fields[i]
		names = append(names, f.ArgumentName())
		value, present := args.Arguments.Get(f.ArgumentName())
		text, isText := value.(string)
		switch {
		case f.In == InPath && isText:
			b.bindText(f, text, true)
		case f.In == InPath && present:
			b.AddProblem("path."+f.Name, "must be a string")
		default:
			b.bindField(f, argument{json: value}, present)
		}
	}
	for _, m := range args.Arguments {
		if slices.Contains(names, m.name) {
			continue
		}
		hint := b.didYouMean(m.name, names)
		if hint == "" && len(names) > 0 && len(b.Problems) < suggestionsMax {
			hint = "; the arguments are " + strings.Join(names, ", ")
		}
		b.AddProblem("arguments."+m.name, "unknown argument%s", hint)
	}
}

// parsePlainText returns the argument that the caller meant. If the field is a number or a boolean,
// a string is parsed like a query parameter. If the field is an enum with the values "true" and
// "false", a boolean is converted to one of them.
func (f *Field) parsePlainText(a argument) argument {
	switch v := a.json.(type) {
	case string:
		if f.Kind == Integer || f.Kind == Number || f.Kind == Boolean {
			return argument{text: v, isRaw: true}
		}
	case bool:
		if word := strconv.FormatBool(v); f.Kind == String && slices.Contains(f.Enum, word) {
			return argument{text: word, isRaw: true}
		}
	}
	return a
}

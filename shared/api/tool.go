package api

import (
	"bytes"
	"context"
	"strings"

	"growthworkspace/shared/fault"
	"growthworkspace/shared/schema"
)

// toolArguments are the arguments of a tool: one flat object with everything that an HTTP request
// contains in its path, query, headers and body.
type toolArguments struct {
	jsonText []byte
	object   schema.Object
	problems []string
	tooLarge bool
	extra    []ExtraArgument
}

// ExtraArgument is an argument of a tool that is not an argument of its operation. Read receives
// the value, which is nil if the argument is null or left out, and returns the problems with it.
type ExtraArgument struct {
	Name string
	Read func(value any) (problems []string)
}

// ArgumentsRoot is the first part of the path in a message about an unknown argument, or about the
// arguments as a whole.
const ArgumentsRoot = "arguments"

// ParseToolArguments parses the arguments of a tool, which may include the extra ones. companyID is
// the value of the argument companyId. It is empty if that argument is null or left out, which
// means the key's own company. If the argument is an empty string or not a string, companyID is an
// id that no company has.
func ParseToolArguments(text []byte, extra ...ExtraArgument) (arguments Arguments, companyID string) {
	text = bytes.TrimSpace(text)
	if len(text) > bodyBytesMax {
		return toolArguments{tooLarge: true}, ""
	}
	if len(text) == 0 || string(text) == "null" {
		return toolArguments{extra: extra}, ""
	}
	o, problems := schema.ParseObject(text, ArgumentsRoot)
	if value, _ := o.Get(companyParameter); value != nil {
		companyID = "?"
		if s, ok := value.(string); ok && s != "" {
			companyID = s
		}
	}
	return toolArguments{jsonText: text, object: o, problems: problems, extra: extra}, companyID
}

func (t toolArguments) needsAuthFirst(*Operation) bool { return false }

func (t toolArguments) bind(op *Operation) input {
	if t.tooLarge {
		return input{err: fault.New(fault.PayloadTooLarge, ArgumentsRoot+": must have at most %d bytes", bodyBytesMax)}
	}
	if t.object != nil && len(op.rawFields) > 0 {
		t.object, t.problems, _ = schema.ParseObjectWithRaw(t.jsonText, ArgumentsRoot, op.rawFields, bodyBytesMax) // cannot be too large, because ParseToolArguments has already checked the total size
	}
	names := []string{companyParameter}
	for _, e := range t.extra {
		names = append(names, e.Name)
	}
	binder := schema.BindFlat(op.input, op.Input, schema.FlatArguments{Operation: op.ID, Arguments: t.object, Problems: t.problems, ExtraNames: names})
	for _, e := range t.extra {
		value, _ := t.object.Get(e.Name)
		for _, problem := range e.Read(value) {
			binder.AddProblem(ArgumentsRoot+"."+e.Name, "%s", problem)
		}
	}
	in := finishBinding(binder)
	for _, f := range op.Input {
		if value, sent := t.object.Get(f.ArgumentName()); f.In != schema.InQuery || !sent || value == nil || f.Name == "limit" {
			continue
		}
		if f.Name == "cursor" {
			in.hasCursor = true
		} else {
			in.sentFilters = append(in.sentFilters, f.ArgumentName())
		}
	}
	return in
}

// explainNoMatches explains why the arguments of a list match no records. It returns "" if there is
// neither a cursor nor a filter, because then there are no records at all.
func (op Operation) explainNoMatches(ctx context.Context, caller Caller, in input) (string, error) {
	if in.hasCursor {
		return "There are no more records after this cursor.", nil
	}
	if op.explainEmpty != nil {
		if text, err := op.explainEmpty(ctx, caller, in.value.Addr().Interface()); text != "" || err != nil {
			return text, err
		}
	}
	switch len(in.sentFilters) {
	case 0:
		return "", nil
	case 1:
		return "No record matches the argument " + in.sentFilters[0] + ".", nil
	}
	return "No record matches all of the arguments " + strings.Join(in.sentFilters, ", ") + ".", nil
}

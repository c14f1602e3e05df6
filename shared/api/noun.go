package api

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"growthworkspace/shared/change"
	"growthworkspace/shared/schema"
)

// Noun describes a kind of record to programs outside the service, such as the command line. Every
// operation on records of the kind names it (Spec.Noun).
type Noun struct {
	Name    string        // the type in an import file, such as "brand-goal"
	Plural  string        // such as "brand goals"
	Prefix  string        // the prefix of the ids; empty if the records have none
	Key     string        // the field by which other records refer to one, such as "key"; empty if it is the id
	Columns string        // the columns of a table, the most important first: fields, each with a heading after a colon if that differs
	Change  change.Type   // the type of the records' changes; empty if they have none
	Also    []change.Type // the types of other changes whose recordId is the id of a record
}

// TitleFields are the fields by which a person recognises a record, in the order in which they are
// tried.
var TitleFields = []string{"name", "title", "body", "summary", "startedAt"}

// Kind is a kind of record with the operations that serve it.
type Kind struct {
	Noun
	Area      string
	Parameter string // the path parameter for one record; empty if a company has only one

	List, Get, Create, Update, Delete *Operation // nil if there is none

	keyPattern string // the pattern of Key
}

// Kinds are the kinds of records of a service.
type Kinds []*Kind

// NewKinds returns the kinds of records that operations serve, in the order of the operations. It
// panics if two operations do the same for a kind, or if a type of change belongs to two kinds.
func NewKinds(operations []Operation) (all Kinds) {
	for i := range operations {
		op := &operations[i]
		if op.Noun.Name == "" {
			continue
		}
		k := all.Named(op.Noun.Name)
		if k == nil {
			k = &Kind{Noun: op.Noun, Area: op.Area}
			for _, t := range k.Changes() {
				if other := all.OfChange(t); other != nil {
					panic(fmt.Sprintf("api: the changes %s are those of %s and of %s", t, other.Name, k.Name))
				}
			}
			all = append(all, k)
		}
		k.add(op)
	}
	return all
}

func (k *Kind) add(op *Operation) {
	if role := k.role(op); role != nil {
		if *role != nil {
			panic(fmt.Sprintf("api: %s and %s do the same for %s", (*role).ID, op.ID, k.Plural))
		}
		*role = op
	}
	if name, ok := lastParameter(op.Path); ok && name != companyParameter {
		k.Parameter = name
	}
	if key := op.field(schema.InBody, k.Key); key != nil {
		k.keyPattern = key.Pattern
	}
}

// role returns the field of the kind for the operation, or nil if the operation does anything else,
// such as publish.
func (k *Kind) role(op *Operation) **Operation {
	switch {
	case op.IsList():
		return &k.List
	case op.Method == http.MethodGet:
		return &k.Get
	case op.Effect == Create:
		return &k.Create
	case op.Method == http.MethodPatch:
		return &k.Update
	case op.Method == http.MethodDelete:
		return &k.Delete
	}
	return nil
}

// lastParameter returns the parameter with which a path ends. ok is false if it ends with a
// literal segment.
func lastParameter(path string) (name string, ok bool) {
	return PathParameter(path[strings.LastIndex(path, "/")+1:])
}

// Changes returns the types of the changes whose recordId is the id of a record.
func (n Noun) Changes() []change.Type {
	if n.Change == "" {
		return n.Also
	}
	return append([]change.Type{n.Change}, n.Also...)
}

// Named returns the kind with a name, or nil.
func (kinds Kinds) Named(name string) *Kind {
	return kinds.find(func(k *Kind) bool { return k.Name == name })
}

// OfChange returns the kind of the records to which changes of a type refer, or nil.
func (kinds Kinds) OfChange(t change.Type) *Kind {
	return kinds.find(func(k *Kind) bool { return slices.Contains(k.Changes(), t) })
}

// ReferredBy returns the kind to whose records an argument of an operation refers, or nil. The
// argument has a ref tag, or the name of the kind's path parameter, or the pattern of its key. Of
// two kinds with the same parameter, such as the goals of a site and of the company, the one in the
// operation's area is returned.
func (kinds Kinds) ReferredBy(op Operation, argument string) *Kind {
	i := slices.IndexFunc(op.Input, func(f schema.Field) bool { return f.Name == argument })
	if i < 0 {
		return nil
	}
	f, parameter := op.Input[i], strings.TrimSuffix(argument, "s")
	if f.Ref != "" {
		return kinds.find(func(k *Kind) bool { return k.Prefix == f.Ref })
	}
	for _, refers := range []func(*Kind) bool{
		func(k *Kind) bool { return parameter == k.Parameter && k.Area == op.Area },
		func(k *Kind) bool { return parameter == k.Parameter },
		func(k *Kind) bool { return f.Pattern != "" && f.Pattern == k.keyPattern && k.Name != op.Noun.Name },
	} {
		if k := kinds.find(refers); k != nil {
			return k
		}
	}
	return nil
}

func (kinds Kinds) find(is func(*Kind) bool) *Kind {
	if i := slices.IndexFunc(kinds, is); i >= 0 {
		return kinds[i]
	}
	return nil
}

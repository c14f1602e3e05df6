// Package catalogue describes the kinds of records of the service as data: how they are called,
// which operations serve them, and which fields requests can set. A program that shows a form or a
// list for every kind reads it instead of naming the fields. catalogue.json, which scripts/gen
// derives from the declarations of the service, is the same data for programs in other languages.
package catalogue

import (
	_ "embed"
	"encoding/json"
	"slices"
	"sync"

	"growthworkspace/shared/client"
)

// Kind describes a kind of record.
type Kind struct {
	Name      string              `json:"name"`   // such as "brand-goal"
	Plural    string              `json:"plural"` // such as "brand goals"
	Area      string              `json:"area"`
	Prefix    string              `json:"prefix,omitempty"`    // the prefix of the ids; empty if the records have none
	Parameter string              `json:"parameter,omitempty"` // the path parameter for one record; empty if a company has only one
	Parent    string              `json:"parent,omitempty"`    // the kind to whose records these records belong; empty if it is the company
	Key       string              `json:"key,omitempty"`       // the field by which other records refer to one; empty if it is the id
	Title     []string            `json:"title,omitempty"`     // the fields by which a person recognises a record; the first that is set
	Changes   []client.ChangeType `json:"changes,omitempty"`   // the types of the changes whose recordId is the id of such a record
	List      *Operation          `json:"list,omitempty"`
	Get       *Operation          `json:"get,omitempty"`
	Create    *Operation          `json:"create,omitempty"`
	Update    *Operation          `json:"update,omitempty"`
	Delete    *Operation          `json:"delete,omitempty"`
	Fields    []Field             `json:"fields,omitempty"` // the fields that a create or an update can set
}

// Operation describes an operation.
type Operation struct {
	ID             string `json:"id"`
	Method         string `json:"method"`
	Path           string `json:"path"`
	Scope          string `json:"scope,omitempty"`      // empty if any key may call it
	DraftScope     string `json:"draftScope,omitempty"` // enough for values that are drafts; see Field.Drafts
	Quota          string `json:"quota"`
	IdempotencyKey bool   `json:"idempotencyKey,omitempty"` // whether it accepts the header
	LimitMax       int    `json:"limitMax,omitempty"`       // the most records on a page; 0 if it accepts no limit
}

// Field describes a property of the body of a create or an update.
type Field struct {
	Name         string   `json:"name"`
	Doc          string   `json:"doc,omitempty"`
	Type         string   `json:"type"` // string, integer, number, boolean, array, object or any
	Format       string   `json:"format,omitempty"`
	Pattern      string   `json:"pattern,omitempty"`
	Enum         []string `json:"enum,omitempty"`
	Drafts       []string `json:"drafts,omitempty"` // the values of Enum that a key which can only draft may set; nil for all
	Default      string   `json:"default,omitempty"`
	Ref          string   `json:"ref,omitempty"` // the name of the kind to which the value, or each element, refers
	Min          *float64 `json:"min,omitempty"` // the bounds of a number, or of the characters of a string
	Max          *float64 `json:"max,omitempty"`
	ItemsMax     int      `json:"itemsMax,omitempty"`     // the most elements of an array
	ItemCharsMax int      `json:"itemCharsMax,omitempty"` // the most characters of an element
	OnCreate     bool     `json:"onCreate,omitempty"`     // whether a create can set it
	OnUpdate     bool     `json:"onUpdate,omitempty"`     // whether an update can set it
	Required     bool     `json:"required,omitempty"`     // whether a create must set it
	Clears       bool     `json:"clears,omitempty"`       // whether null in an update clears it
}

//go:embed catalogue.json
var text []byte

var kinds = sync.OnceValue(func() (all []Kind) {
	if err := json.Unmarshal(text, &all); err != nil {
		panic("catalogue: " + err.Error()) // the embedded file is generated
	}
	return all
})

// Kinds returns the kinds of records, in the order of the areas.
func Kinds() []Kind { return slices.Clone(kinds()) }

// Named returns the kind with a name. ok is false if there is none.
func Named(name string) (k Kind, ok bool) { return find(func(k Kind) bool { return k.Name == name }) }

// OfChange returns the kind of the records to which changes of a type refer. ok is false if there
// is none.
func OfChange(t client.ChangeType) (k Kind, ok bool) {
	return find(func(k Kind) bool { return slices.Contains(k.Changes, t) })
}

func find(is func(Kind) bool) (k Kind, ok bool) {
	i := slices.IndexFunc(kinds(), is)
	if i < 0 {
		return k, false
	}
	return kinds()[i], true
}

package oracle

import "strings"

// The maximum sizes of a tools/list response in bytes of JSON, which leave room in a model's
// context.
const (
	ToolsBytesMax     = 72_000 // all tools
	AreaToolsBytesMax = 18_000 // the tools for a key with the scopes of a single area
)

// The maximum sizes of a tool's result in bytes of UTF-8.
const (
	ResultTextBytesMax = 40_000 // all texts together
	ResultBytesMax     = 80_000 // all texts and the structured content together
)

// Hints are the annotations of a tool that say what it does to stored values. For a read-only tool,
// Destructive and Idempotent mean nothing and are false.
type Hints struct{ ReadOnly, Destructive, Idempotent bool }

// Hints returns the hints that the operation's tool must have. They follow from the method and the
// scope: an operation that requires only a scope for reading is read-only, a create adds another
// record each time, and any other operation replaces stored values, so repeating it has no further
// effect.
func (o Operation) Hints() Hints {
	switch {
	case o.Method == "GET", strings.HasSuffix(o.Scope, ":read"):
		return Hints{ReadOnly: true}
	case strings.HasPrefix(o.ID, "create_"):
		return Hints{}
	}
	return Hints{Destructive: true, Idempotent: true}
}

package oracle

import "strings"

// Limits on the size of a tools/list response, in bytes of JSON, so that it leaves room in a
// model's context.
const (
	ToolsBytesMax     = 66_000 // all tools
	AreaToolsBytesMax = 18_000 // the tools for a key with the scopes of a single area
)

// Limits on the size of a tool's result, in bytes of UTF-8.
const (
	ResultTextBytesMax = 40_000 // of all texts together
	ResultBytesMax     = 80_000 // of the texts and the structured content together
)

// Hints are the annotations of a tool that say what it does to stored values. Destructive and
// Idempotent mean nothing for a tool that only reads, and are false there.
type Hints struct{ ReadOnly, Destructive, Idempotent bool }

// Hints returns what the operation's tool must say. They follow from the method and the scope: an
// operation that needs only a scope for reading only reads, a create adds a record each time, and
// everything else replaces stored values, which a repeat does not change further.
func (o Operation) Hints() Hints {
	switch {
	case o.Method == "GET", strings.HasSuffix(o.Scope, ":read"):
		return Hints{ReadOnly: true}
	case strings.HasPrefix(o.ID, "create_"):
		return Hints{}
	}
	return Hints{Destructive: true, Idempotent: true}
}

package main

import (
	"bytes"
	"fmt"
	"os"

	"growthworkspace/functions"
)

// The part of the reference that is generated lies between these lines.
const (
	operationsPage  = "scripts/docs/reference/operations.md"
	operationsBegin = "<!-- operations: made by go run ./scripts/gen; do not edit -->\n"
	operationsEnd   = "<!-- end of operations -->"
)

// readme returns the page with a current table of operations.
func readme() ([]byte, error) {
	text, err := os.ReadFile(operationsPage)
	if err != nil {
		return nil, err
	}
	before, rest, found1 := bytes.Cut(text, []byte(operationsBegin))
	_, after, found2 := bytes.Cut(rest, []byte(operationsEnd))
	if !found1 || !found2 {
		return nil, fmt.Errorf("%s has no part between %q and %q", operationsPage, operationsBegin, operationsEnd)
	}
	var out bytes.Buffer
	out.Write(before)
	out.WriteString(operationsBegin + "\n| Operation | | Scope | |\n|---|---|---|---|\n")
	for _, op := range functions.Operations(nil) {
		scope := "any key"
		if op.Scope != "" {
			scope = "`" + string(op.Scope) + "`"
		}
		fmt.Fprintf(&out, "| `%s` | `%s %s` | %s | %s |\n", op.ID, op.Method, op.Path, scope, op.Summary)
	}
	out.WriteString("\n" + operationsEnd)
	out.Write(after)
	return out.Bytes(), nil
}

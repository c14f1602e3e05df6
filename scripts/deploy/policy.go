package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// policyStatements returns the statements of all policies in a template, as "resource: statement".
// The policies of roles, queues and topics are in different properties, so any object with an
// Effect counts as a statement.
func policyStatements(t template) map[string]bool {
	out := map[string]bool{}
	resources, _ := t["Resources"].(map[string]any)
	for id, resource := range resources {
		object, _ := resource.(map[string]any)
		if kind, _ := object["Type"].(string); kind == "AWS::Lambda::Permission" {
			out[id+": "+compactJSON(object["Properties"])] = true
		}
		collectStatements(out, id, object["Properties"])
	}
	return out
}

func collectStatements(out map[string]bool, id string, value any) {
	switch v := value.(type) {
	case map[string]any:
		if v["Effect"] != nil && (v["Action"] != nil || v["NotAction"] != nil) {
			out[id+": "+compactJSON(v)] = true
			return
		}
		if arns := v["ManagedPolicyArns"]; arns != nil {
			out[id+": managed policies "+compactJSON(arns)] = true
		}
		for _, part := range v {
			collectStatements(out, id, part)
		}
	case []any:
		for _, part := range v {
			collectStatements(out, id, part)
		}
	}
}

func compactJSON(value any) string {
	var out strings.Builder
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if err := e.Encode(value); err != nil {
		panic("deploy: a template that was parsed does not encode: " + err.Error())
	}
	return strings.TrimSpace(out.String())
}

// printPolicyChanges lists the statements that are removed (-) and added (+).
func printPolicyChanges(out io.Writer, deployed, next template) {
	before, after := policyStatements(deployed), policyStatements(next)
	fmt.Fprintln(out, "\nChanges of permissions:")
	unchanged := true
	all := maps.Clone(before)
	maps.Copy(all, after)
	for _, statement := range slices.Sorted(maps.Keys(all)) {
		if before[statement] == after[statement] {
			continue
		}
		unchanged = false
		sign := "+"
		if before[statement] {
			sign = "-"
		}
		fmt.Fprintln(out, sign, statement)
	}
	if unchanged {
		fmt.Fprintln(out, "(no changes)")
	}
}

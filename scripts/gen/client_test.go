package main

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"growthworkspace/functions"
	"growthworkspace/shared/fault"
)

// Ensure names of operations, fields and values become idiomatic Go names.
func TestGoName(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"create_plan_item": "CreatePlanItem", "boardId": "BoardID", "categoryIds": "CategoryIDs", "websiteUrl": "WebsiteURL", "ts": "TS",
		"plan:read": "PlanRead", "2-10": "2To10", "5001+": "5001Plus", "If-Match": "IfMatch", "b2b2c": "B2b2c", "in_review": "InReview",
	} {
		if got := goName(name); got != want {
			t.Errorf("%s: %s instead of %s", name, got, want)
		}
	}
}

// Ensure every name that the client declares is unique, so that two values do not become the same
// constant.
func TestClientNamesAreUnique(t *testing.T) {
	t.Parallel()
	m := clientModel{records: map[string]reflect.Type{}, enums: map[string]reflect.Type{}}
	seen := map[string]bool{}
	for _, area := range functions.All() {
		text := m.recordDeclarations(area.Operations(nil)) + m.operationDeclarations(area.Operations(nil))
		for line := range strings.Lines(text) {
			name, _, found := strings.Cut(line, " ")
			if strings.HasPrefix(line, "type ") {
				name, found = strings.Fields(line)[1], true
			}
			if !found || !strings.Contains(line, " = \"") && !strings.HasPrefix(line, "type ") {
				continue
			}
			if seen[name] {
				t.Errorf("two declarations are called %s", name)
			}
			seen[name] = true
		}
	}
	if m.err != nil {
		t.Fatal(m.err)
	}
	for _, name := range []string{"Item", "PlanStatusDraft", "CreatePlanItemInput"} {
		if !seen[name] {
			t.Errorf("%s is not among %d declarations", name, len(seen))
		}
	}
}

// Ensure each of the service's error codes has a constant, with the status in its comment.
func TestClientCodes(t *testing.T) {
	t.Parallel()
	text := codeConstants()
	for code, status := range fault.Codes() {
		if !strings.Contains(text, fmt.Sprintf(" = %q // %d: ", code, status)) {
			t.Errorf("no constant for %s in\n%s", code, text)
		}
	}
	if !strings.Contains(text, "CodePreconditionFailed = ") {
		t.Errorf("CodePreconditionFailed is not in\n%s", text)
	}
}

// Ensure clientModel reports an error for two record types with the same name.
func TestClientRejectsDuplicateNames(t *testing.T) {
	t.Parallel()
	type Company struct {
		ID string `json:"id"`
	}
	m := clientModel{records: map[string]reflect.Type{"Company": reflect.TypeFor[Company]()}, enums: map[string]reflect.Type{}}
	m.recordDeclarations(functions.All()[0].Operations(nil))
	if m.err == nil || !strings.Contains(m.err.Error(), "are both called Company") {
		t.Errorf("error %v, want that two types are both called Company", m.err)
	}
}

// Ensure formatComment keeps lines within the maximum width and keeps every word.
func TestFormatComment(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("some words of a description ", 20)
	got := formatComment("\t", text)
	for line := range strings.Lines(got) {
		if len(line) > commentWidth+1 || !strings.HasPrefix(line, "\t// ") {
			t.Errorf("%q is too long or no comment", line)
		}
	}
	if strings.Join(strings.Fields(strings.ReplaceAll(got, "//", "")), " ") != strings.TrimSpace(text) {
		t.Errorf("the comment has other words than %q: %s", text, got)
	}
}

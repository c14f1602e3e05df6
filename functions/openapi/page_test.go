package openapi_test

import (
	"bytes"
	"compress/gzip"
	"go/parser"
	"go/token"
	"html"
	"os"
	"regexp"
	"strings"
	"testing"

	"growthworkspace/functions"
	"growthworkspace/shared/auth"
	"growthworkspace/shared/fault"
	"growthworkspace/shared/version"
)

func file(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// section returns the text of the section of the page with an id, without tags.
func section(t *testing.T, id string) string {
	t.Helper()
	_, rest, found := strings.Cut(file(t, "page.html"), `<section id="`+id+`"`)
	if !found {
		t.Fatalf("the page has no %s: run go run ./scripts/gen", id)
	}
	part, _, _ := strings.Cut(rest, "</section>")
	return html.UnescapeString(regexp.MustCompile(`<[^>]*>`).ReplaceAllString(part, ""))
}

// Ensure the page has everything that a caller needs of each operation: method, path, scope, rate limit, description, every
// argument with its limits, an example in each language, and its error codes.
func TestPageHasTheOperations(t *testing.T) {
	t.Parallel()
	d := read(t)
	for _, op := range functions.Operations(nil) {
		got := section(t, op.ID)
		want := []string{op.Method, op.Path, string(op.Class), op.Summary, "curl", "Go", "JavaScript", "Python", "internal 500", "unavailable 503"}
		if op.Scope != "" {
			want = append(want, string(op.Scope))
		}
		if !op.NotTool {
			want = append(want, "service_"+op.ID)
		}
		for _, f := range op.Input {
			want = append(append(want, f.Name, f.Doc, string(f.Kind), f.Default), f.Enum...)
			for _, inner := range f.Fields {
				want = append(append(want, inner.Name, inner.Doc), inner.Enum...)
			}
		}
		for status := range d.Paths[op.Path][strings.ToLower(op.Method)].Responses {
			if status != "200" && status != "304" && status != "default" {
				want = append(want, status)
			}
		}
		for _, text := range want {
			if !strings.Contains(got, strings.ReplaceAll(text, "`", "")) {
				t.Errorf("%s: the page lacks %q", op.ID, text)
			}
		}
	}
}

// Ensure the page has every record with all of its fields.
func TestPageHasTheRecords(t *testing.T) {
	t.Parallel()
	records := 0
	for name, raw := range read(t).Components.Schemas {
		if strings.HasSuffix(name, "List") || strings.HasPrefix(name, "Error") {
			continue
		}
		records++
		got := section(t, "record-"+name)
		for _, property := range propertyNames(t, raw) {
			if !strings.Contains(got, property) {
				t.Errorf("%s has no %s", name, property)
			}
		}
	}
	if records < 20 {
		t.Errorf("%d records", records)
	}
}

// Ensure the page has every error code, scope, rate limit class, version and page size of the service.
func TestPageHasTheRules(t *testing.T) {
	t.Parallel()
	for code := range fault.Codes() {
		if !strings.Contains(section(t, "errors"), string(code)) {
			t.Errorf("no code %s", code)
		}
	}
	for _, scope := range auth.Scopes() {
		if !strings.Contains(section(t, "authentication"), string(scope)) {
			t.Errorf("no scope %s", scope)
		}
	}
	for _, class := range auth.Classes() {
		if !strings.Contains(section(t, "rate-limits"), string(class)) {
			t.Errorf("no rate limit class %s", class)
		}
	}
	for _, date := range version.Served() {
		if !strings.Contains(section(t, "versions"), date) {
			t.Errorf("no version %s", date)
		}
	}
	for _, row := range []string{"List metric definitions1001200", "List metric points36511,000", "List optimise audits20150", "List plan boards251100"} {
		if !strings.Contains(section(t, "lists"), row) {
			t.Errorf("no page size %s", row)
		}
	}
}

// Ensure the page complies with its Content-Security-Policy: no inline scripts or styles and no resources of other
// origins; and that it contains no key.
func TestPageIsStrict(t *testing.T) {
	t.Parallel()
	text := file(t, "page.html")
	for what, pattern := range map[string]string{
		"an inline script":  `<script(?: type="module")?>|<script[^>]*>[^<]`,
		"an inline style":   `<style|\sstyle=`,
		"a listener":        `<[^>]*\son[a-z]+=`,
		"something foreign": `(?:src|href|action)="(?:https?:)?//`,
		"a whole key":       `(?:sk|pk)_(?:live|test)_[0-9A-Za-z]{20}`,
		"a form":            `<form`,
	} {
		if found := regexp.MustCompile(pattern).FindString(text); found != "" {
			t.Errorf("the page has %s: %s", what, found)
		}
	}
	for name, pattern := range map[string]string{
		"page.js":  `\b(?:innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval|localStorage|sessionStorage|indexedDB)\b|document\.cookie|new Function`,
		"page.css": `@import|url\(`,
	} {
		if found := regexp.MustCompile(pattern).FindString(file(t, name)); found != "" {
			t.Errorf("%s has %s", name, found)
		}
	}
}

// Ensure every link within the page has a target, and that ids are unique.
func TestPageLinksLead(t *testing.T) {
	t.Parallel()
	text := file(t, "page.html")
	ids := map[string]bool{}
	for _, m := range regexp.MustCompile(`\sid="([^"]+)"`).FindAllStringSubmatch(text, -1) {
		if ids[m[1]] {
			t.Errorf("two elements have the id %s", m[1])
		}
		ids[m[1]] = true
	}
	links := regexp.MustCompile(`(?:href="#|for=")([^"]+)"`).FindAllStringSubmatch(text, -1)
	for _, m := range links {
		if !ids[m[1]] {
			t.Errorf("no element has the id %s", m[1])
		}
	}
	if len(links) < 300 {
		t.Errorf("%d links", len(links))
	}
}

// Ensure the Go samples parse.
func TestSamplesInGoParse(t *testing.T) {
	t.Parallel()
	samples := regexp.MustCompile(`(?s)<pre tabindex="0" data-language="go"><code>(.*?)</code>`).FindAllStringSubmatch(file(t, "page.html"), -1)
	for _, m := range samples {
		code := html.UnescapeString(regexp.MustCompile(`<[^>]*>`).ReplaceAllString(m[1], ""))
		if _, err := parser.ParseFile(token.NewFileSet(), "sample.go", "package p\nfunc f() {\n"+code+"\n}\n", parser.SkipObjectResolution); err != nil {
			t.Errorf("%v in\n%s", err, code)
		}
	}
	if len(samples) != len(functions.Operations(nil)) {
		t.Errorf("%d samples of %d operations: run go run ./scripts/gen", len(samples), len(functions.Operations(nil)))
	}
}

// Ensure the page stays small, both as the function's response and compressed as API Gateway sends it.
func TestPageIsSmall(t *testing.T) {
	t.Parallel()
	text := file(t, "page.html")
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if _, err := w.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if len(text) > 1<<20 || packed.Len() > 120<<10 {
		t.Errorf("%d bytes, %d compressed", len(text), packed.Len())
	}
}

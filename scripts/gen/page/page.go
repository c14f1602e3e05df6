// Package page makes the page at `/` from the declared operations and the OpenAPI document that is made of them:
// document.go reads the document, operation.go, field.go and record.go say what is shown of it, guide.go is the prose
// around it, example.go and highlight.go the examples. The HTML is template/, the look style/, what moves script/.
//
// It is made by scripts/gen and served by functions/openapi, which links none of this: a function that starts has
// nothing to render. The page reads without JavaScript, loads nothing from elsewhere, and has neither inline scripts nor
// inline styles, so that the strictest content security policy holds.
package page

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"html/template"
	"io/fs"
	"path"
	"strings"

	"growthworkspace/shared/api"
)

//go:embed template style script
var sources embed.FS

// Files are the page and its two assets, which it links to relative to itself: page.css and page.js.
type Files struct {
	HTML, CSS, JS []byte
}

// Build returns the page of operations. document is what openapi.Build makes of the same operations; an error names
// what the two disagree about. The same arguments give the same bytes.
func Build(operations []api.Operation, document []byte) (Files, error) {
	d, err := read(document)
	if err != nil {
		return Files{}, fmt.Errorf("page: %w", err)
	}
	css, err := joined("style", ".css")
	if err != nil {
		return Files{}, fmt.Errorf("page: %w", err)
	}
	js, err := joined("script", ".js")
	if err != nil {
		return Files{}, fmt.Errorf("page: %w", err)
	}
	v, err := d.view(operations)
	if err != nil {
		return Files{}, fmt.Errorf("page: %w", err)
	}
	v.Greeting = "<!-- demo -->"
	v.CSS, v.JS = "page.css?v="+digest(css), "page.js?v="+digest(js)
	t, err := template.New("page.html").ParseFS(sources, "template/*.html")
	if err != nil {
		return Files{}, fmt.Errorf("page: %w", err)
	}
	var html bytes.Buffer
	if err := t.Execute(&html, v); err != nil {
		return Files{}, fmt.Errorf("page: %w", err)
	}
	return Files{HTML: trimmed(html.Bytes()), CSS: css, JS: js}, nil
}

// view is all that the templates show.
type view struct {
	Title, Summary, Version string
	CSS, JS                 string        // addresses, with the digest of the content: a new page never meets old assets
	Greeting                template.HTML // where functions/openapi greets with the key of a demo company
	Intro                   template.HTML
	Guide                   []chapter
	Areas                   []area
	Records                 []record
	Operations, Tools       int // how many there are
}

// joined is the sources of a folder, one after the other in the order of their names.
func joined(folder, extension string) ([]byte, error) {
	entries, err := fs.ReadDir(sources, folder)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	for _, e := range entries {
		if path.Ext(e.Name()) != extension {
			return nil, fmt.Errorf("%s/%s is no %s", folder, e.Name(), extension)
		}
		text, err := fs.ReadFile(sources, folder+"/"+e.Name())
		if err != nil {
			return nil, err
		}
		out.Write(text)
	}
	return out.Bytes(), nil
}

func digest(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:6])
}

// trimmed leaves out the indentation and the empty lines of the templates, but nothing inside of <pre>.
func trimmed(html []byte) []byte {
	var out bytes.Buffer
	verbatim := false
	for line := range strings.Lines(string(html)) {
		if !verbatim {
			if line = strings.TrimLeft(line, " \t\n"); line == "" {
				continue
			}
		}
		out.WriteString(line)
		if open, end := strings.LastIndex(line, "<pre"), strings.LastIndex(line, "</pre>"); open > end {
			verbatim = true
		} else if end > open {
			verbatim = false
		}
	}
	return out.Bytes()
}

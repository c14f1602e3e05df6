package openapi

import (
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"html"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"growthworkspace/shared/gateway"
	"growthworkspace/shared/scalar"
)

// ReferencePath is the path of the reference page.
const ReferencePath = "/"

// ScriptPath is the path of Scalar's script.
const ScriptPath = "/reference." + scalar.Digest + ".js"

//go:embed reference.html
var referencePage string

// scalarSettings returns Scalar's settings. The page sends no requests: a secret key must not get
// into a browser, so the page has no input for one.
func scalarSettings(base string) map[string]any {
	settings := scalar.Settings(base)
	settings["hideTestRequestButton"] = true
	return settings
}

// Cache-Control values. Browsers revalidate the page each time, which usually returns a 304, so
// that nobody sees an old page after a deployment.
const (
	cacheHour       = "public, max-age=3600"
	cacheYear       = "public, max-age=31536000, immutable"
	cacheRevalidate = "no-cache"
)

// staticFile is the response for one path.
type staticFile struct {
	body   func() []byte
	header map[string]string
	tag    func() string
}

// newStaticFile returns a file whose body is computed on the first request, to keep the cold start
// short.
func newStaticFile(body func() []byte, contentType, cache string) staticFile {
	body = sync.OnceValue(body)
	return staticFile{
		body: body,
		header: map[string]string{
			"Content-Type": contentType, "Cache-Control": cache, "X-Content-Type-Options": "nosniff",
			"Referrer-Policy": "no-referrer", "Cross-Origin-Resource-Policy": "same-origin",
		},
		tag: sync.OnceValue(func() string {
			sum := sha256.Sum256(body())
			return `"` + hex.EncodeToString(sum[:16]) + `"`
		}),
	}
}

func newReferencePage(r *http.Request) staticFile {
	f := newStaticFile(func() []byte {
		base := gateway.BaseURL(r)
		settings, err := json.Marshal(scalarSettings(base))
		if err != nil {
			panic(err) // cannot fail: the settings contain only strings and booleans
		}
		return []byte(strings.NewReplacer(
			"{base}", html.EscapeString(stagePath(base)), "{script}", ScriptPath[1:], "{configuration}", html.EscapeString(string(settings)),
		).Replace(referencePage))
	}, "text/html; charset=utf-8", cacheRevalidate)
	f.header["Content-Security-Policy"] = scalar.Policy
	return f
}

// filesByPath returns, for each path, a function that returns the file for a request.
func filesByPath() map[string]func(*http.Request) staticFile {
	constantFile := func(f staticFile) func(*http.Request) staticFile { return func(*http.Request) staticFile { return f } }
	document := newStaticFile(func() []byte { return documentJSON }, "application/json", cacheHour)
	delete(document.header, "Cross-Origin-Resource-Policy") // pages of other origins may load the document
	files := map[string]func(*http.Request) staticFile{
		DocumentPath:  constantFile(document),
		ScriptPath:    constantFile(newStaticFile(scalar.Script, "text/javascript; charset=utf-8", cacheYear)),
		ReferencePath: newReferencePage,
		GuidePath:     newGuide,
	}
	addPages(files)
	return files
}

// stagePath returns the stage path that API Gateway puts in front of our paths, such as /prod/, or
// "" if there is none. The page needs it for its links: on a page at /prod, without a trailing
// slash, relative links would lead to the wrong path.
func stagePath(base string) string {
	u, err := url.Parse(base)
	if err != nil || u.Path == "" {
		return ""
	}
	return u.EscapedPath() + "/"
}

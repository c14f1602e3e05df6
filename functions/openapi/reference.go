package openapi

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"html"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"growthworkspace/shared/gateway"
)

// The page at ReferencePath loads Scalar, a script that renders the document in the browser. The
// script is that of Scalar's package, compressed. These commands fetch it; the integrity of the
// package is sha512-CmyvtSM9YNTPit1ZxfYhfAp7MtE+KXUxOID4sIf8+Flfr5zFOHVAu1ww1WySszugWG/8xV4BCZuJZtHGwtQyHg==.
//
//	npm pack @scalar/api-reference@1.51.0
//	tar -xzOf scalar-api-reference-1.51.0.tgz package/dist/browser/standalone.js | gzip -9n >functions/openapi/scalar.js.gz

// ReferencePath is the path of the reference page.
const ReferencePath = "/"

// scriptDigest is the beginning of the SHA-256 of Scalar's script. It is part of the script's path,
// so browsers can cache the script forever. TestScript fails when it does not match the script.
const scriptDigest = "27bbe9a8482b9bea"

// ScriptPath is the path of Scalar's script.
const ScriptPath = "/reference." + scriptDigest + ".js"

//go:embed reference.html
var referencePage string

// scalarSettings returns Scalar's settings. The page loads nothing from other hosts, and has no
// input for a key: a secret key must not get into a browser. Its examples call the server at the
// base URL, because the document contains only a relative URL of its server.
func scalarSettings(base string) map[string]any {
	return map[string]any{
		"agent":                 map[string]any{"disabled": true},
		"defaultOpenFirstTag":   false,
		"hideClientButton":      true,
		"hideTestRequestButton": true,
		"mcp":                   map[string]any{"disabled": true},
		"servers":               []map[string]any{{"url": base}},
		"showDeveloperTools":    "never",
		"telemetry":             false,
		"withDefaultFonts":      false,
	}
}

// contentSecurityPolicy is the Content-Security-Policy of the page. It allows inline styles,
// because Scalar writes its styles into the page.
const contentSecurityPolicy = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; connect-src 'self'; " +
	"img-src 'self' data:; font-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

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
	f.header["Content-Security-Policy"] = contentSecurityPolicy
	return f
}

// filesByPath returns, for each path, a function that returns the file for a request.
func filesByPath() map[string]func(*http.Request) staticFile {
	constantFile := func(f staticFile) func(*http.Request) staticFile { return func(*http.Request) staticFile { return f } }
	document := newStaticFile(func() []byte { return documentJSON }, "application/json", cacheHour)
	delete(document.header, "Cross-Origin-Resource-Policy") // pages of other origins may load the document
	files := map[string]func(*http.Request) staticFile{
		DocumentPath:  constantFile(document),
		ScriptPath:    constantFile(newStaticFile(scalarScript, "text/javascript; charset=utf-8", cacheYear)),
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

//go:embed scalar.js.gz
var compressedScript []byte

func scalarScript() []byte {
	r, err := gzip.NewReader(bytes.NewReader(compressedScript))
	if err != nil {
		panic(err) // cannot fail: TestScript reads the file
	}
	script, err := io.ReadAll(r)
	if err != nil {
		panic(err) // cannot fail either
	}
	return script
}

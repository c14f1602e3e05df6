package openapi

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"net/http"
	"net/url"
	"sync"

	"growthworkspace/shared/gateway"
)

// PagePath is where the page is. Its assets are beside it: the page links to them relative to itself, so that it works
// behind a stage's name, too.
const (
	PagePath   = "/"
	stylePath  = "/page.css"
	scriptPath = "/page.js"
)

//go:embed page.html
var page []byte

//go:embed page.css
var style []byte

//go:embed page.js
var script []byte

// policy lets the page load its own assets and call the service that it came from, and nothing else.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// The page is asked for again each time, which costs a 304: after a deployment nobody reads the old one. Its links to the
// assets carry their digests.
const (
	cachePublic = "public, max-age=3600"
	cacheNot    = "no-cache"
	cacheNever  = "no-store"
)

// file is what a path answers with.
type file struct {
	body   []byte
	header map[string]string
	tag    func() string
}

func newFile(body []byte, contentType, cache string) file {
	return file{
		body: body,
		header: map[string]string{
			"Content-Type": contentType, "Cache-Control": cache, "X-Content-Type-Options": "nosniff",
			"Referrer-Policy": "no-referrer", "Cross-Origin-Resource-Policy": "same-origin",
		},
		// At the first request: a function that starts has better things to do.
		tag: sync.OnceValue(func() string {
			sum := sha256.Sum256(body)
			return `"` + hex.EncodeToString(sum[:16]) + `"`
		}),
	}
}

func newPage(body []byte, cache string) file {
	f := newFile(body, "text/html; charset=utf-8", cache)
	f.header["Content-Security-Policy"] = policy
	return f
}

// served says what each path answers with.
func served(demo Demo) map[string]func(*http.Request) file {
	same := func(f file) func(*http.Request) file { return func(*http.Request) file { return f } }
	api := newFile(document, "application/json", cachePublic)
	delete(api.header, "Cross-Origin-Resource-Policy") // other pages may show the document
	bare := newPage(page, cacheNot)
	return map[string]func(*http.Request) file{
		Path:       same(api),
		stylePath:  same(newFile(style, "text/css; charset=utf-8", cachePublic)),
		scriptPath: same(newFile(script, "text/javascript; charset=utf-8", cachePublic)),
		PagePath: func(r *http.Request) file {
			if demo.shownTo(r) {
				return newPage(demo.greet(page), cacheNever)
			}
			if stage := stageOf(r); stage != "" {
				return newPage(below(stage, page), cacheNot)
			}
			return bare
		},
	}
}

// stageOf is the path that the gateway has before ours. A page at `/prod`, without a slash at its end, would look for its
// assets in the wrong place.
func stageOf(r *http.Request) string {
	base, err := url.Parse(gateway.BaseURL(r))
	if err != nil {
		return ""
	}
	return base.EscapedPath()
}

// below makes the page's links absolute, below a stage.
func below(stage string, page []byte) []byte {
	for _, name := range []string{`href="page.css`, `src="page.js`, `href="openapi.json`} {
		attribute, rest, _ := bytes.Cut([]byte(name), []byte(`"`))
		to := string(attribute) + `"` + stage + "/" + string(rest)
		page = bytes.ReplaceAll(page, []byte(name), []byte(to))
	}
	return page
}

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

// PagePath is the path of the reference page. The links in page.html are relative. When the URL has a stage of API Gateway, such
// as /prod, the function below makes them absolute.
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

// policy is the Content-Security-Policy of the page: it may load its own assets, show data: images and call this service.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// Cache-Control values. Browsers revalidate the page each time, at the cost of a 304, so nobody reads an old page after a
// deployment. The assets may be cached for an hour, because the page's links contain their digests and change with them.
const (
	cachePublic = "public, max-age=3600"
	cacheNot    = "no-cache"
	cacheNever  = "no-store"
)

// file is the response of one path.
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
		// Computed at the first request, to keep the cold start short.
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

// served returns, for each path, a function that returns the file for a request.
func served(demo Demo) map[string]func(*http.Request) file {
	same := func(f file) func(*http.Request) file { return func(*http.Request) file { return f } }
	api := newFile(document, "application/json", cachePublic)
	delete(api.header, "Cross-Origin-Resource-Policy") // pages of other origins may load the document
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

// stageOf returns the stage path that API Gateway puts before ours, such as /prod.
func stageOf(r *http.Request) string {
	base, err := url.Parse(gateway.BaseURL(r))
	if err != nil {
		return ""
	}
	return base.EscapedPath()
}

// below returns the page with its relative links made absolute, below a stage path. A page at /prod, without a trailing slash,
// would resolve relative links against the wrong path.
func below(stage string, page []byte) []byte {
	for _, name := range []string{`href="page.css`, `src="page.js`, `href="openapi.json`} {
		attribute, rest, _ := bytes.Cut([]byte(name), []byte(`"`))
		to := string(attribute) + `"` + stage + "/" + string(rest)
		page = bytes.ReplaceAll(page, []byte(name), []byte(to))
	}
	return page
}

// Package openapi serves the OpenAPI document and the reference page at `/`. Both are made by scripts/gen from the declared
// operations. They need no key and no table, so the function links no AWS code.
package openapi

import (
	_ "embed"
	"net/http"
	"strconv"
	"strings"

	"growthworkspace/shared/fault"
	"growthworkspace/shared/id"
	"growthworkspace/shared/version"
)

// Path is where the document is.
const Path = "/openapi.json"

//go:embed openapi.json
var document []byte

// Paths are all that the function serves: the document, the page and the page's assets.
func Paths() []string { return []string{Path, PagePath, stylePath, scriptPath} }

// Handler serves the document at Path and the page at PagePath, with its assets beside it, each with an entity tag. demo is
// a key that the page shows to people at this machine; see Demo. Its zero value is for everywhere else.
//
// Answers 404 `not_found` for any other path, 405 `method_not_allowed` for a verb other than GET and HEAD, and 400
// `bad_request` for a Service-Version that is not served .
func Handler(newID id.Generator, demo Demo) http.Handler {
	files := served(demo)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Service-Version", version.Current)
		h.Set("Service-Request-Id", newID("req"))
		answer, ok := files[r.URL.EscapedPath()]
		switch {
		case !ok:
			refuse(w, r, fault.New(fault.NotFound, "no such path"))
			return
		case r.Method != http.MethodGet && r.Method != http.MethodHead:
			h.Set("Allow", "GET, HEAD")
			refuse(w, r, fault.New(fault.MethodNotAllowed, "this path accepts GET, HEAD"))
			return
		}
		if _, err := version.Requested(r.Header.Values("Service-Version")); err != nil {
			refuse(w, r, fault.Public(err))
			return
		}
		file := answer(r)
		for name, value := range file.header {
			h.Set(name, value)
		}
		h.Set("ETag", file.tag())
		if seen(r.Header.Values("If-None-Match"), file.tag()) {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		send(w, r, http.StatusOK, file.header["Content-Type"], file.body)
	})
}

// seen reports whether the values of an If-None-Match header name an entity tag.
func seen(header []string, tag string) bool {
	for known := range strings.SplitSeq(strings.Join(header, ","), ",") {
		if known = strings.TrimPrefix(strings.TrimSpace(known), "W/"); known == "*" || known == tag {
			return true
		}
	}
	return false
}

func refuse(w http.ResponseWriter, r *http.Request, err *fault.Error) {
	w.Header().Set("Cache-Control", "no-store")
	send(w, r, err.Code.Status(), "application/json", fault.Envelope(err))
}

func send(w http.ResponseWriter, r *http.Request, status int, contentType string, body []byte) {
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		_, _ = w.Write(body) // a caller who has gone needs no answer
	}
}

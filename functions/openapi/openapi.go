// Package openapi serves the OpenAPI document, which scripts/gen generates from the declared operations, and a reference that
// a browser draws from it. They need no key and no table, so this function does not link the AWS SDK.
package openapi

import (
	_ "embed"
	"net/http"
	"strconv"
	"strings"

	"growthworkspace/shared/fault"
	"growthworkspace/shared/id"
)

// Path is the path of the OpenAPI document.
const Path = "/openapi.json"

//go:embed openapi.json
var document []byte

// Paths returns all paths that the function serves: the document, the reference and its script.
func Paths() []string { return []string{Path, ReferencePath, ScriptPath} }

// Handler serves the document at Path, the reference at ReferencePath and its script, each with an ETag.
//
// Responds with 404 not_found for any other path, 405 method_not_allowed for methods other than GET and HEAD, and 400
// bad_request for a Service-Version that is not served.
func Handler(newID id.Generator) http.Handler {
	files := served()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Service-Version", fault.Version)
		h.Set("Service-Request-Id", newID("req"))
		fileOf, ok := files[r.URL.EscapedPath()]
		switch {
		case !ok:
			refuse(w, r, fault.New(fault.NotFound, "no such path"))
			return
		case r.Method != http.MethodGet && r.Method != http.MethodHead:
			h.Set("Allow", "GET, HEAD")
			refuse(w, r, fault.New(fault.MethodNotAllowed, "this path accepts GET, HEAD"))
			return
		}
		if err := fault.CheckVersion(r.Header.Values("Service-Version")); err != nil {
			refuse(w, r, fault.Public(err))
			return
		}
		file := fileOf(r)
		for name, value := range file.header {
			h.Set(name, value)
		}
		h.Set("ETag", file.tag())
		if seen(r.Header.Values("If-None-Match"), file.tag()) {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		send(w, r, http.StatusOK, file.header["Content-Type"], file.body())
	})
}

// seen reports whether the values of an If-None-Match header match an entity tag.
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
		_, _ = w.Write(body) // fails only when the client has closed the connection
	}
}

// Package openapi serves what tells of the service: the OpenAPI document, and the page for people at `/`. Both are made by
// scripts/gen from the declared operations. They need no key and no table: whoever may not call the API may read how it
// is called.
package openapi

import (
	_ "embed"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"growthworkspace/shared/api"
	"growthworkspace/shared/entity"
	"growthworkspace/shared/fault"
	"growthworkspace/shared/id"
	"growthworkspace/shared/refusal"
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
// `bad_request` for a Service-Version that is not served (decisions.md §1, §10 and §11).
func Handler(newID id.Generator, demo Demo) http.Handler {
	files := served(demo)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Service-Version", api.CurrentVersion)
		h.Set("Service-Request-Id", newID("req"))
		answer, ok := files[r.URL.EscapedPath()]
		switch {
		case !ok:
			refuse(w, r, fault.New(fault.NotFound, "no such path"))
			return
		case r.Method != http.MethodGet && r.Method != http.MethodHead:
			h.Set("Allow", "GET, HEAD")
			refuse(w, r, fault.New(fault.MethodNotAllowed, "this path takes GET, HEAD"))
			return
		}
		var wrong *fault.Error
		if _, err := api.Versions.Requested(r.Header.Values("Service-Version")); errors.As(err, &wrong) {
			refuse(w, r, wrong)
			return
		}
		file := answer(r)
		for name, value := range file.header {
			h.Set(name, value)
		}
		h.Set("ETag", file.tag())
		if entity.Seen(strings.Join(r.Header.Values("If-None-Match"), ","), file.tag()) {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		send(w, r, http.StatusOK, file.header["Content-Type"], file.body)
	})
}

func refuse(w http.ResponseWriter, r *http.Request, err *fault.Error) {
	w.Header().Set("Cache-Control", "no-store")
	send(w, r, err.Code.Status(), "application/json", refusal.Envelope(err))
}

func send(w http.ResponseWriter, r *http.Request, status int, contentType string, body []byte) {
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		_, _ = w.Write(body) // a caller who has gone needs no answer
	}
}

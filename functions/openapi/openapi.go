// Package openapi serves the descriptions of the service: the OpenAPI document, which scripts/gen
// generates from the declared operations, a reference page that the browser renders from the
// document, a guide for agents, and the documentation pages. Serving them requires neither a key
// nor the table, so this function does not link the AWS SDK.
package openapi

import (
	_ "embed"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"growthworkspace/shared/fault"
	"growthworkspace/shared/gateway"
	"growthworkspace/shared/id"
)

// DocumentPath is the path of the OpenAPI document.
const DocumentPath = "/openapi.json"

//go:embed openapi.json
var documentJSON []byte

// Paths returns all paths that the function serves, in API Gateway's notation: {proxy+} stands for
// the rest of a path.
func Paths() []string {
	return []string{DocumentPath, ReferencePath, ScriptPath, GuidePath, PagesPath + "{proxy+}"}
}

// Serves reports whether this function handles a path. It is true for every path below PagesPath,
// even if the page does not exist.
func Serves(path string) bool {
	return slices.Contains(Paths(), path) || strings.HasPrefix(path, PagesPath)
}

// Handler serves the document at DocumentPath, the reference at ReferencePath and its script, the
// guide at GuidePath, and the pages below PagesPath, each with an ETag.
//
// It responds with 404 not_found for any other path, 405 method_not_allowed for methods other than
// GET and HEAD, and 400 bad_request for a Service-Version that is not served.
func Handler(newID id.Generator) http.Handler {
	files := filesByPath()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h, requestID := w.Header(), gateway.RequestIDsOf(r.Context(), newID).Public()
		fileOf, ok := files[r.URL.EscapedPath()]
		switch {
		case !ok:
			fault.Write(w, r, requestID, fault.New(fault.NotFound, "no such path"))
			return
		case r.Method != http.MethodGet && r.Method != http.MethodHead:
			h.Set("Allow", "GET, HEAD")
			fault.Write(w, r, requestID, fault.New(fault.MethodNotAllowed, "this path accepts GET, HEAD"))
			return
		}
		if _, err := fault.Versions().OfHeader(r.Header.Values("Service-Version")); err != nil {
			fault.Write(w, r, requestID, fault.PublicError(err))
			return
		}
		file := fileOf(r)
		fault.SetHeader(h, requestID, 0)
		for name, value := range file.header {
			h.Set(name, value)
		}
		h.Set("ETag", file.tag())
		if ifNoneMatchMatches(r.Header.Values("If-None-Match"), file.tag()) {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		body := file.body()
		h.Set("Content-Length", strconv.Itoa(len(body)))
		w.WriteHeader(http.StatusOK)
		if r.Method != http.MethodHead {
			_, _ = w.Write(body) // fails only when the client has closed the connection
		}
	})
}

// ifNoneMatchMatches reports whether the values of an If-None-Match header match an entity tag.
func ifNoneMatchMatches(header []string, tag string) bool {
	for known := range strings.SplitSeq(strings.Join(header, ","), ",") {
		if known = strings.TrimPrefix(strings.TrimSpace(known), "W/"); known == "*" || known == tag {
			return true
		}
	}
	return false
}

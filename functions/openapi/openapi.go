// Package openapi serves the OpenAPI document, which scripts/gen makes from the declared operations. It needs no key and
// no table: whoever may not call the API may read how it is called.
package openapi

import (
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"growthworkspace/shared/api"
	"growthworkspace/shared/fault"
	"growthworkspace/shared/id"
)

// Path is where the document is.
const Path = "/openapi.json"

//go:embed openapi.json
var document []byte

// Handler serves the document at Path, with an entity tag, for an hour's caching.
func Handler(newID id.Generator) http.Handler {
	sum := sha256.Sum256(document)
	tag := `"` + hex.EncodeToString(sum[:16]) + `"`
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Service-Version", api.CurrentVersion)
		h.Set("Service-Request-Id", newID("req"))
		switch {
		case r.URL.EscapedPath() != Path:
			refuse(w, r, fault.New(fault.NotFound, "no such path"))
			return
		case r.Method != http.MethodGet && r.Method != http.MethodHead:
			h.Set("Allow", "GET, HEAD")
			refuse(w, r, fault.New(fault.MethodNotAllowed, "this path takes GET, HEAD"))
			return
		}
		var wrong *fault.Error
		if errors.As(api.CheckVersion(r.Header.Values("Service-Version")), &wrong) {
			refuse(w, r, wrong)
			return
		}
		h.Set("ETag", tag)
		h.Set("Cache-Control", "public, max-age=3600")
		if matches(r.Header.Values("If-None-Match"), tag) {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		send(w, r, http.StatusOK, document)
	})
}

// matches tells whether an If-None-Match value names the entity tag, by the weak comparison (RFC 9110, 13.1.2).
func matches(header []string, tag string) bool {
	for value := range strings.SplitSeq(strings.Join(header, ","), ",") {
		value = strings.TrimSpace(value)
		if value == "*" || strings.TrimPrefix(value, "W/") == tag {
			return true
		}
	}
	return false
}

func refuse(w http.ResponseWriter, r *http.Request, err *fault.Error) {
	w.Header().Set("Cache-Control", "no-store")
	send(w, r, err.Code.Status(), api.Envelope(err))
}

func send(w http.ResponseWriter, r *http.Request, status int, body []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		_, _ = w.Write(body) // a caller who has gone needs no answer
	}
}

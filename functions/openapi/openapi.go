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
	"growthworkspace/shared/entity"
	"growthworkspace/shared/fault"
	"growthworkspace/shared/id"
	"growthworkspace/shared/refusal"
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
		if _, err := api.Versions.Requested(r.Header.Values("Service-Version")); errors.As(err, &wrong) {
			refuse(w, r, wrong)
			return
		}
		h.Set("ETag", tag)
		h.Set("Cache-Control", "public, max-age=3600")
		if entity.Seen(strings.Join(r.Header.Values("If-None-Match"), ","), tag) {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		send(w, r, http.StatusOK, document)
	})
}

func refuse(w http.ResponseWriter, r *http.Request, err *fault.Error) {
	w.Header().Set("Cache-Control", "no-store")
	send(w, r, err.Code.Status(), refusal.Envelope(err))
}

func send(w http.ResponseWriter, r *http.Request, status int, body []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		_, _ = w.Write(body) // a caller who has gone needs no answer
	}
}

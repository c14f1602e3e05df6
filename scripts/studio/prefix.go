package studio

import (
	"net/http"
	"regexp"
	"strings"
)

// rootAddress matches an attribute whose address begins at the root of the host. Text that users
// typed never matches, because templates escape quotation marks. The pattern lists only attributes
// that contain addresses. It must not match an attribute such as "value".
var rootAddress = regexp.MustCompile(` (href|src|action|formaction|data-ask|data-badge)="/([^/]|$)`)

// withPathPrefix serves a studio under a prefix such as /studio. It adds the prefix to the
// addresses in pages and redirects, so templates and handlers need not know the prefix. If the
// prefix is empty, it returns the handler unchanged.
func withPathPrefix(prefix string, next http.Handler) http.Handler {
	if prefix == "" {
		return next
	}
	return http.StripPrefix(prefix, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(&prefixedResponse{ResponseWriter: w, prefix: prefix}, r)
	}))
}

// prefixedResponse adds the prefix to the addresses in a response. It requires that a page is
// written with a single call to Write.
type prefixedResponse struct {
	http.ResponseWriter

	prefix string
	sent   bool // the header has already been sent
}

func (w *prefixedResponse) WriteHeader(status int) {
	h := w.Header()
	if target := h.Get("Location"); !w.sent && strings.HasPrefix(target, "/") {
		h.Set("Location", w.prefix+target)
	}
	w.sent = true
	w.ResponseWriter.WriteHeader(status)
}

func (w *prefixedResponse) Write(text []byte) (int, error) {
	if !w.sent {
		w.WriteHeader(http.StatusOK)
	}
	// A file for download, such as a page for visitors, is not a page of the studio.
	if strings.HasPrefix(w.Header().Get("Content-Type"), "text/html") && w.Header().Get("Content-Disposition") == "" {
		moved := rootAddress.ReplaceAll(text, []byte(` $1="`+w.prefix+`/$2`))
		_, err := w.ResponseWriter.Write(moved)
		return len(text), err
	}
	return w.ResponseWriter.Write(text)
}

package studio

import (
	"net/http"
	"regexp"
	"strings"
)

// rootAddress matches an attribute of a page whose address begins at the root of the host. Templates
// escape quotation marks, so no text that users typed matches. Attributes such as value, whose text
// is not an address, are not listed.
var rootAddress = regexp.MustCompile(` (href|src|action|formaction|data-ask|data-badge)="/([^/]|$)`)

// below serves a studio whose pages are below a prefix such as /studio, where the templates and the
// redirects need no prefix of their own. It adds the prefix to the addresses in the pages and to
// those of redirects. Without a prefix it returns the handler unchanged.
func below(prefix string, next http.Handler) http.Handler {
	if prefix == "" {
		return next
	}
	return http.StripPrefix(prefix, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(&prefixedResponse{ResponseWriter: w, prefix: prefix}, r)
	}))
}

// prefixedResponse adds the prefix to a response. Every page is written in one piece.
type prefixedResponse struct {
	http.ResponseWriter

	prefix string
	sent   bool // the header has been sent
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
	// A file to save, such as a page for visitors, is not a page of the studio.
	if strings.HasPrefix(w.Header().Get("Content-Type"), "text/html") && w.Header().Get("Content-Disposition") == "" {
		moved := rootAddress.ReplaceAll(text, []byte(` $1="`+w.prefix+`/$2`))
		_, err := w.ResponseWriter.Write(moved)
		return len(text), err
	}
	return w.ResponseWriter.Write(text)
}

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

func (p *prefixedResponse) WriteHeader(status int) {
	h := p.Header()
	if target := h.Get("Location"); !p.sent && strings.HasPrefix(target, "/") {
		h.Set("Location", p.prefix+target)
	}
	p.sent = true
	p.ResponseWriter.WriteHeader(status)
}

func (p *prefixedResponse) Write(text []byte) (int, error) {
	if !p.sent {
		p.WriteHeader(http.StatusOK)
	}
	// A file for download, such as a page for visitors, is not a page of the studio.
	if strings.HasPrefix(p.Header().Get("Content-Type"), "text/html") && p.Header().Get("Content-Disposition") == "" {
		moved := rootAddress.ReplaceAll(text, []byte(` $1="`+p.prefix+`/$2`))
		_, err := p.ResponseWriter.Write(moved)
		return len(text), err
	}
	return p.ResponseWriter.Write(text)
}

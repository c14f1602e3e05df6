package gateway

import (
	"bytes"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"unicode/utf8"

	"growthworkspace/shared/version"
)

// responseBytesMax is the most that Lambda carries back, less a reserve for the
// JSON around headers and body.
const responseBytesMax = 6<<20 - 4<<10

// internalBody is all that a caller learns of a failure in here.
const internalBody = `{"errors":[{"code":"internal","message":"internal error; safe to retry"}]}`

// refuse writes a response of this package's own. It wears the envelope of the
// API, because a caller can't know who answered.
func refuse(w http.ResponseWriter, status int, body, requestID string) {
	for name, values := range refusalHeader(requestID) {
		w.Header()[name] = values
	}
	w.WriteHeader(status)
	_, _ = w.Write([]byte(body)) // a caller that left has no use for the error
}

func refusalHeader(requestID string) http.Header {
	header := http.Header{"Content-Type": {"application/json"}, "Cache-Control": {"no-store"}, "Service-Version": {version.Current}}
	if requestID != "" {
		header.Set("Service-Request-Id", requestID)
	}
	return header
}

// recorder keeps a handler's answer whole, by the rules of net/http's server,
// which the adapter's own writer does not follow: the first status counts, 1xx
// are no answer, headers freeze with the status, HEAD, 204 and 304 have no body,
// and a handler that writes nothing has answered 200.
type recorder struct {
	header http.Header
	frozen http.Header // header as of the status; nil before
	status int
	body   bytes.Buffer
	head   bool
}

var (
	_ http.ResponseWriter = (*recorder)(nil)
	_ http.Flusher        = (*recorder)(nil)
)

func newRecorder(method string) *recorder {
	return &recorder{header: http.Header{}, head: method == http.MethodHead}
}

// Header returns the headers to come; later changes have no effect after the
// status is written.
func (rec *recorder) Header() http.Header { return rec.header }

// WriteHeader sets the status. It panics on one that API Gateway would not
// accept, as net/http's server panics on one it can't send.
func (rec *recorder) WriteHeader(status int) {
	if status < 100 || status == http.StatusSwitchingProtocols || status > 599 {
		panic(fmt.Sprintf("gateway: invalid status %d", status))
	}
	if rec.frozen != nil || status < 200 {
		return
	}
	rec.status, rec.frozen = status, rec.header.Clone()
}

// Write adds to the body, with status 200 if none is set.
func (rec *recorder) Write(p []byte) (int, error) {
	rec.WriteHeader(http.StatusOK)
	if !rec.bodyAllowed() {
		return 0, http.ErrBodyNotAllowed
	}
	return rec.body.Write(p)
}

// Flush commits the status. The body leaves in one piece whatever is called.
func (rec *recorder) Flush() { rec.WriteHeader(http.StatusOK) }

// bodyAllowed reports whether a response of this status has a body, to any
// method but HEAD.
func (rec *recorder) bodyAllowed() bool {
	return rec.status != http.StatusNoContent && rec.status != http.StatusNotModified
}

// copyTo gives the recorded answer to the adapter's writer, in one call of each
// method, so that none of that writer's rules matter. The status is set by then.
func (rec *recorder) copyTo(w http.ResponseWriter) {
	final := cleanHeader(rec.frozen)
	_, typed := rec.frozen["Content-Type"] // present and nil: the handler wants none
	if !typed && rec.body.Len() > 0 && final.Get("Content-Encoding") == "" {
		final.Set("Content-Type", http.DetectContentType(rec.body.Bytes()))
	}
	rec.setLength(final)
	header := w.Header()
	for name, values := range final {
		header[name] = values
	}
	w.WriteHeader(rec.status)
	if rec.body.Len() == 0 || rec.head {
		return
	}
	_, _ = w.Write(rec.body.Bytes()) // the adapter's writer is a buffer
	if final.Get("Content-Type") == "" {
		header.Del("Content-Type") // the adapter has guessed one
	}
}

// setLength makes Content-Length true. A HEAD answer keeps what the handler
// said or wrote, because that is the length of the GET; elsewhere the gateway
// counts, and a wrong length would cut or hang the response.
func (rec *recorder) setLength(header http.Header) {
	declared, err := strconv.ParseInt(header.Get("Content-Length"), 10, 64)
	known := err == nil && declared >= 0
	switch {
	case rec.status == http.StatusNoContent:
		known = false
	case rec.status == http.StatusNotModified: // that of the 200 it stands for
	case rec.head && !known && rec.body.Len() > 0:
		header.Set("Content-Length", strconv.Itoa(rec.body.Len()))
		return
	case !rec.head:
		known = known && declared == int64(rec.body.Len())
	}
	if !known {
		header.Del("Content-Length")
	}
}

// cleanHeader returns what of header API Gateway accepts. A null list, a bad
// name or a line break makes it discard the whole response for a bare 502.
func cleanHeader(header http.Header) http.Header {
	clean := make(http.Header, len(header))
	for name, values := range header {
		if !isToken(name) || len(values) == 0 {
			continue
		}
		kept := make([]string, len(values))
		for i, value := range values {
			kept[i] = cleanValue(value)
		}
		clean[name] = kept
	}
	return clean
}

var lineBreaks = strings.NewReplacer("\r", " ", "\n", " ", "\x00", " ")

func cleanValue(value string) string {
	return strings.TrimSpace(strings.ToValidUTF8(lineBreaks.Replace(value), "\uFFFD"))
}

// isToken reports whether name may be a header's name (RFC 9110, token).
func isToken(name string) bool {
	for i := range len(name) {
		c := name[i]
		if c <= ' ' || c >= 0x7f || strings.IndexByte(`"(),/:;<=>?@[\]{}`, c) >= 0 {
			return false
		}
	}
	return name != ""
}

// eventBytes returns the size that body and headers take in the response event,
// which is JSON. Small answers are not counted: nothing grows more than sixfold.
func (rec *recorder) eventBytes() int {
	size := 0
	for name, values := range rec.frozen {
		for _, value := range values {
			size += len(name) + 6*len(value)
		}
	}
	body := rec.body.Bytes()
	switch {
	case rec.head:
		return size
	case size+6*len(body) <= responseBytesMax:
		return size + 6*len(body)
	case !utf8.Valid(body):
		return size + (len(body)+2)/3*4
	}
	return size + jsonBytes(body)
}

// jsonBytes returns the length of text inside a JSON string as Lambda's runtime
// library encodes it, without HTML escapes.
func jsonBytes(text []byte) int {
	size := len(text)
	for _, c := range text {
		switch {
		case c == '"', c == '\\', c == '\n', c == '\r', c == '\t', c == '\b', c == '\f':
			size++
		case c < ' ':
			size += 5
		}
	}
	// These two become \u2028 and \u2029: six bytes for three.
	return size + 3*(bytes.Count(text, []byte("\u2028"))+bytes.Count(text, []byte("\u2029")))
}

package gateway

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/aws/aws-lambda-go/events"

	"growthworkspace/shared/fault"
)

// responseBytesMax is Lambda's limit for a response, minus a reserve for the JSON around headers
// and body.
const responseBytesMax = 6<<20 - 4<<10

// textBytesMax is the size of the largest body that leaves the function as text. Such a body fits
// even if JSON encodes every byte as six bytes. A larger body is encoded in base64, which increases
// its size by a third, whatever its content.
const textBytesMax = 1_000_000

// errResponseTooLarge is the error for a response that is too large to send, even after compression
// if the client accepts gzip. The request was carried out, and a retry would get the same response.
var errResponseTooLarge = fault.New(fault.Internal, "the request was carried out, but its response is too large to be sent; do not retry")

// responseBuffer holds a handler's response by the rules of net/http's server: the first status wins;
// later changes to headers have no effect; HEAD, 204 and 304 have no body; a handler that writes
// nothing sends a 200. Unlike that server, responseBuffer drops 1xx statuses and panics on 101.
type responseBuffer struct {
	header     http.Header
	sentHeader http.Header // a copy of header, made when the status is written; nil until then
	status     int
	body       bytes.Buffer
	isHead     bool
}

var (
	_ http.ResponseWriter = (*responseBuffer)(nil)
	_ http.Flusher        = (*responseBuffer)(nil)
)

func newResponseBuffer(method string) *responseBuffer {
	return &responseBuffer{header: http.Header{}, isHead: method == http.MethodHead}
}

// Header returns the headers of the response. Changes have no effect after the status is written.
func (r *responseBuffer) Header() http.Header { return r.header }

// WriteHeader sets the status. It panics on a status that API Gateway does not accept, like
// net/http's server on an invalid status.
func (r *responseBuffer) WriteHeader(status int) {
	if status < 100 || status == http.StatusSwitchingProtocols || status > 599 {
		panic(fmt.Sprintf("gateway: invalid status %d", status))
	}
	if r.sentHeader != nil || status < 200 {
		return
	}
	r.status, r.sentHeader = status, r.header.Clone()
}

// Write appends to the body. It sets the status to 200 if none is set.
func (r *responseBuffer) Write(p []byte) (int, error) {
	r.WriteHeader(http.StatusOK)
	if !r.bodyAllowed() {
		return 0, http.ErrBodyNotAllowed
	}
	return r.body.Write(p)
}

// Flush sets the status to 200 if none is set. The body is always sent in one piece.
func (r *responseBuffer) Flush() { r.WriteHeader(http.StatusOK) }

// bodyAllowed reports whether a response with this status may have a body, if the method is not
// HEAD.
func (r *responseBuffer) bodyAllowed() bool {
	return r.status != http.StatusNoContent && r.status != http.StatusNotModified
}

// compress compresses the recorded body with gzip. The gateway passes such a body on unchanged: "If
// the integration response contains a Content-Encoding header, API Gateway assumes that the
// integration response payload is already compressed"
// (https://docs.aws.amazon.com/apigateway/latest/developerguide/api-gateway-receive-response-with-compressed-payload.html).
// compress does nothing if the handler has set a Content-Encoding or omitted the body.
func (r *responseBuffer) compress() {
	if r.isHead || r.sentHeader.Get("Content-Encoding") != "" {
		return
	}
	plain := r.body.Bytes()
	if _, hasContentType := r.sentHeader["Content-Type"]; !hasContentType {
		r.sentHeader.Set("Content-Type", http.DetectContentType(plain))
	}
	r.sentHeader.Set("Content-Encoding", codingGzip)
	r.body = *bytes.NewBuffer(compress(plain, codingGzip))
}

// event returns the recorded response as an event. The status must be set.
func (r *responseBuffer) event() events.APIGatewayProxyResponse {
	header, body := cleanHeader(r.sentHeader), r.body.Bytes()
	_, hasContentType := r.sentHeader["Content-Type"] // if it is present but nil, the handler wants no Content-Type
	if !hasContentType && len(body) > 0 && header.Get("Content-Encoding") == "" {
		header.Set("Content-Type", http.DetectContentType(body))
	}
	r.setLength(header)
	e := events.APIGatewayProxyResponse{StatusCode: r.status, MultiValueHeaders: header}
	switch {
	case r.isHead:
	case isText(body):
		e.Body = string(body)
	default:
		e.Body, e.IsBase64Encoded = base64.StdEncoding.EncodeToString(body), true
	}
	return e
}

// setLength corrects Content-Length. For HEAD, it keeps the length that the handler set, or else
// sets it to the size of the body that the handler wrote. For other methods, it removes a wrong
// length, because the gateway sets it.
func (r *responseBuffer) setLength(header http.Header) {
	declared, err := strconv.ParseInt(header.Get("Content-Length"), 10, 64)
	keepLength := err == nil && declared >= 0
	switch {
	case r.status == http.StatusNoContent:
		keepLength = false
	case r.status == http.StatusNotModified: // keeps the length of the body that a 200 would have
	case r.isHead && !keepLength && r.body.Len() > 0:
		header.Set("Content-Length", strconv.Itoa(r.body.Len()))
		return
	case !r.isHead:
		keepLength = keepLength && declared == int64(r.body.Len())
	}
	if !keepLength {
		header.Del("Content-Length")
	}
}

// cleanHeader returns the headers in a form that API Gateway accepts. If any header had an invalid
// name, no values, or a line break in a value, the gateway would discard the response and send a
// 502.
func cleanHeader(header http.Header) http.Header {
	clean := make(http.Header, len(header))
	for name, values := range header {
		if !isToken(name) || len(values) == 0 {
			continue
		}
		cleaned := make([]string, len(values))
		for i, value := range values {
			cleaned[i] = cleanHeaderValue(value)
		}
		clean[name] = cleaned
	}
	return clean
}

var lineBreaks = strings.NewReplacer("\r", " ", "\n", " ", "\x00", " ")

func cleanHeaderValue(value string) string {
	return strings.TrimSpace(strings.ToValidUTF8(lineBreaks.Replace(value), "\uFFFD"))
}

// isToken reports whether name is a valid header name (RFC 9110, token).
func isToken(name string) bool {
	for i := range len(name) {
		c := name[i]
		if c <= ' ' || c >= 0x7f || strings.IndexByte(`"(),/:;<=>?@[\]{}`, c) >= 0 {
			return false
		}
	}
	return name != ""
}

// bodyBytes returns the size of the body as it is sent.
func (r *responseBuffer) bodyBytes() int {
	if r.isHead {
		return 0
	}
	return r.body.Len()
}

// eventBytes returns an upper bound for the size of the body and headers in the JSON of the
// response event. In JSON, a byte of text takes at most six bytes.
func (r *responseBuffer) eventBytes() int {
	size := 0
	for name, values := range r.sentHeader {
		for _, value := range values {
			size += len(name) + 6*len(value)
		}
	}
	body := r.body.Bytes()
	switch {
	case r.isHead:
		return size
	case isText(body):
		return size + 6*len(body)
	}
	return size + base64.StdEncoding.EncodedLen(len(body))
}

// isText reports whether a body leaves the function as text rather than in base64.
func isText(body []byte) bool { return len(body) <= textBytesMax && utf8.Valid(body) }

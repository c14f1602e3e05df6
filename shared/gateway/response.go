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

// recorder records a handler's response by the rules of net/http's server: the first status wins;
// later changes to headers have no effect; HEAD, 204 and 304 have no body; a handler that writes
// nothing sends a 200. Unlike that server, recorder drops 1xx statuses and panics on 101.
type recorder struct {
	header     http.Header
	sentHeader http.Header // a copy of header, made when the status is written; nil until then
	status     int
	body       bytes.Buffer
	isHead     bool
}

var (
	_ http.ResponseWriter = (*recorder)(nil)
	_ http.Flusher        = (*recorder)(nil)
)

func newRecorder(method string) *recorder {
	return &recorder{header: http.Header{}, isHead: method == http.MethodHead}
}

// Header returns the headers of the response. Changes have no effect after the status is written.
func (rec *recorder) Header() http.Header { return rec.header }

// WriteHeader sets the status. It panics on a status that API Gateway does not accept, like
// net/http's server on an invalid status.
func (rec *recorder) WriteHeader(status int) {
	if status < 100 || status == http.StatusSwitchingProtocols || status > 599 {
		panic(fmt.Sprintf("gateway: invalid status %d", status))
	}
	if rec.sentHeader != nil || status < 200 {
		return
	}
	rec.status, rec.sentHeader = status, rec.header.Clone()
}

// Write appends to the body. It sets the status to 200 if none is set.
func (rec *recorder) Write(p []byte) (int, error) {
	rec.WriteHeader(http.StatusOK)
	if !rec.bodyAllowed() {
		return 0, http.ErrBodyNotAllowed
	}
	return rec.body.Write(p)
}

// Flush sets the status to 200 if none is set. The body is always sent in one piece.
func (rec *recorder) Flush() { rec.WriteHeader(http.StatusOK) }

// bodyAllowed reports whether a response with this status may have a body, if the method is not
// HEAD.
func (rec *recorder) bodyAllowed() bool {
	return rec.status != http.StatusNoContent && rec.status != http.StatusNotModified
}

// compress compresses the recorded body with gzip. The gateway passes such a body on unchanged: "If
// the integration response contains a Content-Encoding header, API Gateway assumes that the
// integration response payload is already compressed"
// (https://docs.aws.amazon.com/apigateway/latest/developerguide/api-gateway-receive-response-with-compressed-payload.html).
// compress does nothing if the handler has set a Content-Encoding or omitted the body.
func (rec *recorder) compress() {
	if rec.isHead || rec.sentHeader.Get("Content-Encoding") != "" {
		return
	}
	plain := rec.body.Bytes()
	if _, hasContentType := rec.sentHeader["Content-Type"]; !hasContentType {
		rec.sentHeader.Set("Content-Type", http.DetectContentType(plain))
	}
	rec.sentHeader.Set("Content-Encoding", codingGzip)
	rec.body = *bytes.NewBuffer(compress(plain, codingGzip))
}

// event returns the recorded response as an event. The status must be set.
func (rec *recorder) event() events.APIGatewayProxyResponse {
	header, body := cleanHeader(rec.sentHeader), rec.body.Bytes()
	_, hasContentType := rec.sentHeader["Content-Type"] // if it is present but nil, the handler wants no Content-Type
	if !hasContentType && len(body) > 0 && header.Get("Content-Encoding") == "" {
		header.Set("Content-Type", http.DetectContentType(body))
	}
	rec.setLength(header)
	e := events.APIGatewayProxyResponse{StatusCode: rec.status, MultiValueHeaders: header}
	switch {
	case rec.isHead:
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
func (rec *recorder) setLength(header http.Header) {
	declared, err := strconv.ParseInt(header.Get("Content-Length"), 10, 64)
	keepLength := err == nil && declared >= 0
	switch {
	case rec.status == http.StatusNoContent:
		keepLength = false
	case rec.status == http.StatusNotModified: // keeps the length of the body that a 200 would have
	case rec.isHead && !keepLength && rec.body.Len() > 0:
		header.Set("Content-Length", strconv.Itoa(rec.body.Len()))
		return
	case !rec.isHead:
		keepLength = keepLength && declared == int64(rec.body.Len())
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
func (rec *recorder) bodyBytes() int {
	if rec.isHead {
		return 0
	}
	return rec.body.Len()
}

// eventBytes returns an upper bound for the size of the body and headers in the JSON of the
// response event. In JSON, a byte of text takes at most six bytes.
func (rec *recorder) eventBytes() int {
	size := 0
	for name, values := range rec.sentHeader {
		for _, value := range values {
			size += len(name) + 6*len(value)
		}
	}
	body := rec.body.Bytes()
	switch {
	case rec.isHead:
		return size
	case isText(body):
		return size + 6*len(body)
	}
	return size + base64.StdEncoding.EncodedLen(len(body))
}

// isText reports whether a body leaves the function as text rather than in base64.
func isText(body []byte) bool { return len(body) <= textBytesMax && utf8.Valid(body) }

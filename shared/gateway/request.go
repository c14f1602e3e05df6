package gateway

import (
	"bytes"
	"context"
	"encoding/base64"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-lambda-go/events"
)

// malformedQueryKey is the context key for a malformed query, which an event cannot represent; see
// Local.
type malformedQueryKey struct{}

// newRequest returns the request that e describes, as net/http's server would build it: the URL is
// relative, RequestURI is set, and Host is not in the header.
func newRequest(ctx context.Context, e *events.APIGatewayProxyRequest) *http.Request {
	body := eventBody(e)
	r := (&http.Request{Method: e.HTTPMethod, URL: eventURL(e), Header: eventHeader(e), Body: http.NoBody, ContentLength: int64(len(body))}).WithContext(ctx)
	r.Proto, r.ProtoMajor, r.ProtoMinor = protocol(e.RequestContext.Protocol)
	r.Host = eventHost(e, r.Header)
	r.Header.Del("Host")
	// The body is decoded and complete, so the client's transfer coding and length no longer apply.
	r.Header.Del("Transfer-Encoding")
	if r.Header.Get("Content-Length") != "" {
		r.Header.Set("Content-Length", strconv.Itoa(len(body)))
	}
	if len(body) > 0 {
		r.Body = io.NopCloser(bytes.NewReader(body))
	}
	if ip := e.RequestContext.Identity.SourceIP; ip != "" {
		// The client's port is unknown. It is set to 0, so that net.SplitHostPort works as it does
		// on a server.
		r.RemoteAddr = net.JoinHostPort(ip, "0")
	}
	if raw, ok := ctx.Value(malformedQueryKey{}).(string); ok {
		r.URL.RawQuery = raw
	}
	r.RequestURI = r.URL.RequestURI()
	return r
}

// eventURL returns the path and query of e as a server-side URL. It never fails, because it escapes
// bytes that are not valid in a path.
func eventURL(e *events.APIGatewayProxyRequest) *url.URL {
	path := e.Path
	if path != "*" && !strings.HasPrefix(path, "/") {
		path = "/" + path
	}
	path = escapePath(path)
	u := &url.URL{RawQuery: eventQuery(e)}
	u.Path, _ = url.PathUnescape(path) // cannot fail: escapePath leaves no malformed escape
	// Like url.Parse, set RawPath only if the default encoding differs.
	if u.EscapedPath() != path {
		u.RawPath = path
	}
	return u
}

// escapePath escapes the bytes of path that are not valid in a URL's path, and a "%" that begins no
// escape. It does not change a valid path: REST APIs send the path encoded, and it must not be
// encoded twice. Some emulators send the path decoded. In that case, it is unknown which escapes
// the client sent.
func escapePath(path string) string {
	var b strings.Builder
	for i := range len(path) {
		c := path[i]
		if isPathByte(c) || c == '%' && i+2 < len(path) && isHex(path[i+1]) && isHex(path[i+2]) {
			b.WriteByte(c)
			continue
		}
		const digits = "0123456789ABCDEF"
		b.WriteByte('%')
		b.WriteByte(digits[c>>4])
		b.WriteByte(digits[c&15])
	}
	return b.String()
}

// isPathByte reports whether net/url accepts c, unescaped, in an encoded path.
func isPathByte(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' ||
		strings.IndexByte("-_.~!$&'()*+,;=:@/[]", c) >= 0
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}

// eventQuery encodes the decoded parameters of e. The event does not preserve the order of names,
// so they are sorted, and equal events give equal requests.
func eventQuery(e *events.APIGatewayProxyRequest) string {
	if len(e.MultiValueQueryStringParameters) > 0 {
		return url.Values(e.MultiValueQueryStringParameters).Encode()
	}
	single := make(url.Values, len(e.QueryStringParameters))
	for name, value := range e.QueryStringParameters {
		single.Set(name, value)
	}
	return single.Encode()
}

// eventHeader merges both header maps of e. MultiValueHeaders takes precedence; an event written by
// hand often has only Headers. Names are added in sorted order, so that the result is always the
// same even if a name occurs with different letter case.
func eventHeader(e *events.APIGatewayProxyRequest) http.Header {
	header := make(http.Header, len(e.MultiValueHeaders)+2)
	for _, name := range slices.Sorted(maps.Keys(e.MultiValueHeaders)) {
		key := http.CanonicalHeaderKey(name)
		// Values are not split at commas, because dates contain commas, too.
		header[key] = append(header[key], e.MultiValueHeaders[name]...)
	}
	for _, name := range slices.Sorted(maps.Keys(e.Headers)) {
		if key := http.CanonicalHeaderKey(name); len(header[key]) == 0 {
			header[key] = []string{e.Headers[name]}
		}
	}
	return header
}

// eventHost returns the host that the client called, from the Host header or the domain name.
func eventHost(e *events.APIGatewayProxyRequest, header http.Header) string {
	if host := header.Get("Host"); host != "" {
		return host
	}
	return e.RequestContext.DomainName
}

// eventBody returns the bytes of e's body. If the base64 is invalid, it returns the body undecoded,
// which h rejects because it is not JSON.
func eventBody(e *events.APIGatewayProxyRequest) []byte {
	if e.IsBase64Encoded {
		if body, err := base64.StdEncoding.DecodeString(e.Body); err == nil {
			return body
		}
	}
	return []byte(e.Body)
}

func protocol(p string) (proto string, major, minor int) {
	if major, minor, ok := http.ParseHTTPVersion(p); ok {
		return p, major, minor
	}
	return "HTTP/1.1", 1, 1
}

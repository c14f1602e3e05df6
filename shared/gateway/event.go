package gateway

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/aws/aws-lambda-go/events"
)

// requestBytesMax is the size of the largest body that API Gateway accepts.
const requestBytesMax = 10 << 20

// proxyResource is the resource in every event, whatever its path.
const proxyResource = "/{proxy+}"

// localStage is the stage of the events that NewEvent builds. No path contains it.
const localStage = "local"

// errBodyTooLarge is the error for a body of more than requestBytesMax.
var errBodyTooLarge = errors.New("body over API Gateway's 10 MB")

// NewEvent builds the REST proxy event that API Gateway would send for r on a custom domain, where
// the path contains no stage.
//
// ids holds the ids of the request. NewEvent puts only those that API Gateway assigns into the
// event.
//
// It reads the body of r, up to one byte beyond 10 MB, and does not otherwise change r. It returns
// an error if the body cannot be read or is over 10 MB.
//
// An event is JSON, so its strings are UTF-8. Invalid UTF-8 in a header or in the query becomes
// U+FFFD, so different values can become equal. A handler must reject U+FFFD wherever the
// difference matters. A gateway that instead decodes bytes as Latin-1 converts each byte to one
// character, so different values stay different. The path stays encoded, and a body that is not
// UTF-8 is encoded in base64, so both arrive unchanged. A query parameter with a malformed escape
// is not decoded.
func NewEvent(r *http.Request, ids RequestIDs) (events.APIGatewayProxyRequest, error) {
	body, err := readBody(r)
	if err != nil {
		return events.APIGatewayProxyRequest{}, fmt.Errorf("read body: %w", err)
	}
	path := r.URL.EscapedPath()
	if path == "" {
		path = "/"
	}
	host := r.Host
	if host == "" {
		host = r.URL.Host
	}
	sourceIP := r.RemoteAddr
	if ip, _, err := net.SplitHostPort(r.RemoteAddr); err == nil {
		sourceIP = ip
	}
	query := parseQuery(r.URL.RawQuery)
	headers := gatewayHeaders(r, host, sourceIP)
	e := events.APIGatewayProxyRequest{
		Resource:                        proxyResource,
		Path:                            path,
		HTTPMethod:                      r.Method,
		Headers:                         lastValuePerName(headers),
		MultiValueHeaders:               headers,
		QueryStringParameters:           lastValuePerName(query),
		MultiValueQueryStringParameters: query,
		PathParameters:                  map[string]string{"proxy": toValidUTF8(strings.TrimPrefix(r.URL.Path, "/"))},
		Body:                            string(body),
		RequestContext: events.APIGatewayProxyRequestContext{
			APIID:             localStage,
			Stage:             localStage,
			DomainName:        host,
			RequestID:         ids.Gateway,
			Protocol:          r.Proto,
			ResourcePath:      proxyResource,
			Path:              path,
			HTTPMethod:        r.Method,
			ExtendedRequestID: ids.Extended,
			Identity:          events.APIGatewayRequestIdentity{SourceIP: sourceIP, UserAgent: toValidUTF8(r.UserAgent())},
		},
	}
	if !utf8.Valid(body) {
		e.Body, e.IsBase64Encoded = base64.StdEncoding.EncodeToString(body), true
	}
	return e, nil
}

// readBody reads the body of r, up to the limit of a deployed gateway.
func readBody(r *http.Request) ([]byte, error) {
	if r.Body == nil {
		return nil, nil
	}
	if r.ContentLength > requestBytesMax {
		return nil, errBodyTooLarge
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, requestBytesMax+1))
	if err != nil {
		return nil, err
	}
	if len(body) > requestBytesMax {
		return nil, errBodyTooLarge
	}
	return body, nil
}

// gatewayHeaders returns the headers of r and those that the gateway sets. Like the gateway, it
// appends to X-Forwarded-For and replaces the client's values of the other headers that it sets.
// Otherwise, a client could fake its address or the host in links.
func gatewayHeaders(r *http.Request, host, sourceIP string) map[string][]string {
	headers := make(http.Header, len(r.Header)+4)
	for name, values := range r.Header {
		for _, value := range values {
			headers[name] = append(headers[name], toValidUTF8(value))
		}
	}
	proto, port := "http", "80"
	if r.TLS != nil {
		proto, port = "https", "443"
	}
	if _, p, err := net.SplitHostPort(host); err == nil && p != "" {
		port = p
	}
	headers.Set("Host", host)
	headers.Set("X-Forwarded-Proto", proto)
	headers.Set("X-Forwarded-Port", port)
	if sourceIP != "" {
		// The gateway appends to this header, so only the last address is reliable.
		headers.Set("X-Forwarded-For", strings.Join(append(headers.Values("X-Forwarded-For"), sourceIP), ", "))
	}
	return headers
}

// parseQuery decodes a raw query as a REST API does: "&" and ";" separate pairs, "+" is a space, a
// missing "=" means an empty value, and empty pairs are ignored. It returns nil for no parameters.
// A name or value with a malformed escape is not decoded, so that the handler can reject it;
// url.URL.Query would drop the pair.
func parseQuery(raw string) map[string][]string {
	var query map[string][]string
	for pair := range strings.FieldsFuncSeq(raw, isSeparator) {
		name, value, _ := strings.Cut(pair, "=")
		if query == nil {
			query = map[string][]string{}
		}
		name = unescapeQuery(name)
		query[name] = append(query[name], unescapeQuery(value))
	}
	return query
}

func isSeparator(c rune) bool { return c == '&' || c == ';' }

func unescapeQuery(s string) string {
	if text, err := url.QueryUnescape(s); err == nil {
		return toValidUTF8(text)
	}
	return toValidUTF8(s)
}

// isMalformedQuery reports whether raw contains a malformed escape or a ";", which the HTML
// standard and net/url no longer treat as a separator.
func isMalformedQuery(raw string) bool {
	_, err := url.QueryUnescape(raw)
	return err != nil || strings.Contains(raw, ";")
}

// lastValuePerName returns the last value of each name. An event contains this map in addition to
// the map with all values.
func lastValuePerName(multi map[string][]string) map[string]string {
	if multi == nil {
		return nil
	}
	last := make(map[string]string, len(multi))
	for name, values := range multi {
		last[name] = values[len(values)-1]
	}
	return last
}

func toValidUTF8(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

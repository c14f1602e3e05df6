package gateway

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/aws/aws-lambda-go/events"
)

// BaseURL returns the part of the client's URL before the path, without a trailing slash. It
// consists of the scheme, the host and, on the gateway's default domain, the stage, which is not
// part of r.URL.Path. The client can call BaseURL(r) + r.URL.RequestURI(), for example from Link:
// <…>; rel="next".
//
// Inside Proxy, the scheme is http if that is the last value in X-Forwarded-Proto, which the
// gateway sets, and https otherwise. Outside Proxy, it is the connection's scheme. X-Forwarded-Host
// is ignored, because the client can set it to anything.
func BaseURL(r *http.Request) string {
	scheme, host := "http", r.Host
	if r.TLS != nil {
		scheme = "https"
	}
	x := exchangeOf(r.Context())
	if x == nil {
		return scheme + "://" + host
	}
	e := x.event
	scheme = "https"
	if forwarded := r.Header.Values("X-Forwarded-Proto"); len(forwarded) > 0 {
		last := forwarded[len(forwarded)-1]
		if strings.TrimSpace(last[strings.LastIndexByte(last, ',')+1:]) == "http" {
			scheme = "http"
		}
	}
	if !isHost(host) {
		host = e.RequestContext.DomainName
	}
	return scheme + "://" + host + stagePrefix(e)
}

// stagePrefix returns "/" followed by the stage if the client's URL contained the stage, and ""
// otherwise. It compares the two paths of the event: only requestContext.path includes the stage.
func stagePrefix(e *events.APIGatewayProxyRequest) string {
	calledPath, path := e.RequestContext.Path, e.Path
	if !strings.HasSuffix(calledPath, path) {
		// If only one of the two paths is percent-decoded, compare both in decoded form.
		calledPath, path = unescapePath(calledPath), unescapePath(path)
	}
	prefix, ok := strings.CutSuffix(calledPath, path)
	// At the root, the path that the client called may be "/prod" even though path is "/".
	if !ok && path == "/" {
		prefix = calledPath
	}
	if e.RequestContext.Stage == "" || prefix != "/"+e.RequestContext.Stage {
		return ""
	}
	return prefix
}

func unescapePath(path string) string {
	text, _ := url.PathUnescape(escapePath(path)) // cannot fail: escapePath leaves no malformed escape
	return text
}

// isHost reports whether host is safe to use in a URL inside a header: whether it is a name or an
// address with an optional port, without characters that would end the URL.
func isHost(host string) bool {
	for i := range len(host) {
		c := host[i]
		if !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte("-._:[]", c) >= 0) {
			return false
		}
	}
	return host != ""
}

package mcpserver

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
)

// isForeignOrigin reports whether a web page from a different host sent the request. Browsers send
// the page's host in Origin; other clients send no Origin. On the loopback interface, it also
// returns true if Host is not a loopback name or address. An attacker can point a domain name at
// 127.0.0.1 (DNS rebinding), so that the browser considers the attacker's page to be from the same
// host.
func isForeignOrigin(r *http.Request) bool {
	for _, origin := range r.Header.Values("Origin") {
		u, err := url.Parse(origin)
		if err != nil || u.Host == "" || !strings.EqualFold(u.Host, r.Host) {
			return true
		}
	}
	local, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	return ok && isLoopback(local.String()) && !isLoopback(r.Host)
}

func isLoopback(address string) bool {
	host := address
	if name, _, err := net.SplitHostPort(address); err == nil {
		host = name
	}
	ip, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return strings.EqualFold(host, "localhost") || err == nil && ip.IsLoopback()
}

package serve

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"growthworkspace/functions/company"
	"growthworkspace/scripts/workspace/tableconn"
	"growthworkspace/scripts/workspace/terminal"
	"growthworkspace/shared/fault"
	"growthworkspace/shared/gateway"
	"growthworkspace/shared/id"
)

// Paths on a public server that are not part of the API.
const (
	healthPath = "/healthz"
	studioPath = "/studio"
)

// frontHandler handles every request first. It rejects requests for hosts other than the server's
// own. On a public server it also serves the studio and the health check.
type frontHandler struct {
	api      http.Handler
	newID    id.Generator
	log      *slog.Logger
	loopback bool // whether the server listens on a loopback address

	public *url.URL                    // nil if the server is only for this machine
	studio http.Handler                // nil if this port serves no studio
	health func(context.Context) error // returns an error if the table does not respond
}

func newFrontHandler(api http.Handler, session *tableconn.Session, log *slog.Logger, addr net.Addr, public *url.URL) *frontHandler {
	tcp, ok := addr.(*net.TCPAddr)
	return &frontHandler{
		api: api, newID: session.ServingTable.NewID, log: log, loopback: ok && tcp.IP.IsLoopback(), public: public,
		health: func(ctx context.Context) error {
			_, err := company.NewStore(session.Table).Get(ctx, "co_0") // no company has this id
			if errors.Is(err, fault.ErrNotFound) {
				return nil
			}
			return err
		},
	}
}

// parsePublicURL parses the value of --public-url. It returns nil for an empty string.
func parsePublicURL(text string) (*url.URL, error) {
	if text == "" {
		return nil, nil
	}
	u, err := url.Parse(strings.ToLower(text))
	if err != nil || u.Hostname() == "" || u.User != nil || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "" {
		return nil, terminal.NewUsageError("--public-url: must be https:// and a host name, such as https://growth.example.com, not %q", text)
	}
	if u.Scheme != "https" {
		return nil, terminal.NewUsageError("--public-url: must begin with https://, not %q: keys and the studio's cookie must not cross a network "+
			"unencrypted; put a proxy with TLS, such as Caddy, in front of this server", text)
	}
	host := u.Host
	if u.Port() == "443" {
		host = strings.TrimSuffix(host, ":443")
	}
	return &url.URL{Scheme: "https", Host: host}, nil
}

func (f *frontHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch path := r.URL.EscapedPath(); {
	case f.public != nil && path == healthPath: // handled before the host is checked, because probes send this machine's address as the host
		f.serveHealth(w, r)
	case !f.accepts(r.Host):
		w.Header().Set("Connection", "close") // the body was not read
		fault.Write(w, r, gateway.NewRequestIDs(f.newID).Public(), f.refusal())
	case f.studio != nil && path == studioPath:
		http.Redirect(w, r, studioPath+"/", http.StatusPermanentRedirect)
	case f.studio != nil && strings.HasPrefix(path, studioPath+"/"):
		r.Host = f.public.Host // the request's host may have a different letter case
		f.studio.ServeHTTP(w, r)
	case f.public != nil:
		f.api.ServeHTTP(w, proxiedRequest(r))
	default:
		f.api.ServeHTTP(w, r)
	}
}

// proxiedRequest returns a request as the proxy received it: over TLS, and not at a local address.
// Then URLs in responses start with https, and the MCP handler does not reject the public host as
// DNS rebinding.
func proxiedRequest(r *http.Request) *http.Request {
	out := r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, nil))
	out.TLS = &tls.ConnectionState{}
	return out
}

// accepts reports whether a request with this Host header is accepted. A server that listens only
// on a loopback address accepts only loopback hosts. This prevents DNS rebinding, in which an
// attacker's page uses a name that resolves to this machine. A server that listens on other
// addresses also accepts IP addresses as hosts.
func (f *frontHandler) accepts(host string) bool {
	if f.public != nil {
		return strings.EqualFold(strings.TrimSuffix(host, ":443"), f.public.Host)
	}
	name := host
	if n, _, err := net.SplitHostPort(host); err == nil {
		name = n
	}
	ip, err := netip.ParseAddr(strings.Trim(name, "[]"))
	return name == "" || strings.EqualFold(name, "localhost") || err == nil && (ip.IsLoopback() || !f.loopback)
}

func (f *frontHandler) refusal() *fault.Error {
	if f.public != nil {
		return fault.New(fault.Forbidden, "this server exists only at %s: let the proxy pass on the Host that it received", f.public)
	}
	return fault.New(fault.Forbidden, "this server accepts only the hosts of its own machine, such as localhost: "+
		"for another name, start it behind a proxy with TLS and with --public-url https://NAME")
}

// healthTimeout is the maximum time that the table may take to respond.
const healthTimeout = 3 * time.Second

// serveHealth responds with status 200 if the table responds, and otherwise with 503.
func (f *frontHandler) serveHealth(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), healthTimeout)
	defer cancel()
	w.Header().Set("Cache-Control", "no-store")
	if err := f.health(ctx); err != nil {
		if r.Context().Err() == nil { // otherwise, the probe has disconnected
			f.log.Error("the table does not respond", "error", err)
		}
		http.Error(w, "the table does not respond", http.StatusServiceUnavailable)
		return
	}
	fmt.Fprintln(w, "ok")
}

// selfTransport returns a transport that sends requests for the public URL directly to this server.
// It uses no TLS, because these requests do not leave the machine.
func selfTransport(addr net.Addr) http.RoundTripper {
	hostPort := strings.TrimPrefix(baseURL(addr), "http://")
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "tcp", hostPort)
	}
	return &http.Transport{DialContext: dial, DialTLSContext: dial, MaxIdleConnsPerHost: 16, IdleConnTimeout: 30 * time.Second}
}

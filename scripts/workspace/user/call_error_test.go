package user

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"growthworkspace/scripts/workspace/terminal"
	"growthworkspace/shared/client"
)

// Ensure the error for a refused connection names the command that starts a server, if `serve`
// could listen at that address. Every other network error must say what to do, without the wording
// of Go's errors.
func TestExplainNetwork(t *testing.T) {
	t.Parallel()
	requestError := func(err error) error {
		return fmt.Errorf("client: %w", &url.Error{Op: "Get", URL: "http://x", Err: err})
	}
	dial := func(err error) error { return requestError(&net.OpError{Op: "dial", Net: "tcp", Err: err}) }
	refused := requestError(syscall.ECONNREFUSED)
	expired := x509.CertificateInvalidError{Reason: x509.Expired, Cert: &x509.Certificate{NotBefore: time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC), NotAfter: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}}
	for _, c := range []struct {
		base string
		err  error
		want string
	}{
		{defaultBaseURL, refused, " does not respond: connection refused; start the service there with `run serve`"},
		{"http://localhost:9000", refused, " does not respond: connection refused; start the service there with `run serve --addr localhost:9000`"},
		{"http://[::1]", refused, " does not respond: connection refused; start the service there with `run serve --addr [::1]:80`"},
		{"https://localhost:9000", refused, " does not respond: connection refused; no program listens there: check the address and the port, or ask the service's operator"},
		{"http://service.example", refused, " does not respond: connection refused; no program listens there: check the address and the port, or ask the service's operator"},
		{"https://api.example:8443", dial(&net.DNSError{IsNotFound: true}), " does not respond: there is no host api.example; check the spelling of the address; an internal name needs its network or VPN"},
		{"https://api.example", dial(&net.DNSError{IsTemporary: true}), " does not respond: the name server does not resolve api.example; check the network of this machine"},
		{"https://api.example", dial(syscall.EHOSTUNREACH), " cannot be reached from this machine; check the network, and the VPN if the service needs one"},
		{"https://api.example", requestError(context.DeadlineExceeded), " does not respond in time; if it was a change, it may have been made, so look before you try again; if it stays so, check the network and any firewall between"},
		{"https://api.example", requestError(context.Canceled), " had not responded when the command was interrupted; if it was a change, it may have been made"},
		{"https://api.example", requestError(syscall.ECONNRESET), " closed the connection without a response; if it was a change, it may have been made, so look before you try again; if it stays so, check the address and the port"},
		{"https://api.example", requestError(&net.OpError{Op: "remote error", Err: errors.New("tls: bad certificate")}), " refuses the encrypted connection (tls: bad certificate); check the address; a proxy between this machine and the service may interfere"},
		{"https://api.example", requestError(&tls.CertificateVerificationError{Err: expired}),
			" cannot be trusted: its certificate is valid from 2025-01-01T00:00:00.000Z until 2026-01-01T00:00:00.000Z; check the clock of this machine, or ask the service's operator to renew it; nothing was sent"},
		{"https://api.example", requestError(&tls.CertificateVerificationError{Err: x509.HostnameError{Certificate: &x509.Certificate{DNSNames: []string{"a\x1b[2J"}}, Host: "api.example"}}),
			` cannot be trusted: its certificate is for a\x1b[2J and not for api.example; check the address; nothing was sent`},
		{"https://api.example", requestError(errors.New("Forbidden")), " does not respond (Forbidden); check the address and the network, and HTTPS_PROXY if it is set; NO_PROXY names the hosts that need no proxy"},
	} {
		u := &userCommands{Terminal: &terminal.Terminal{Program: "run"}}
		if got := u.explainNetworkError(c.err, c.base).Error(); got != c.base+c.want {
			t.Errorf("%s\n got %s\nwant %s", c.base, got, c.base+c.want)
		}
	}
	u := &userCommands{Terminal: &terminal.Terminal{}}
	_, folder := os.ReadFile(t.TempDir()) // not a file
	for _, err := range []error{errors.New("no network"), fmt.Errorf("read the position: %w", folder)} {
		if got := u.explainNetworkError(err, defaultBaseURL).Error(); got != err.Error() {
			t.Errorf("the error %q became %q", err, got)
		}
	}
}

// Ensure errors caused by servers, proxies and certificates are explained, and contain neither the
// request's method nor the words of the standard library.
func TestExplainRealErrors(t *testing.T) {
	t.Parallel()
	plain := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch page, _, _ := strings.Cut(r.URL.Path, "/v1/"); page {
		case "/page":
			fmt.Fprint(w, "<!doctype html><title>Welcome</title>")
		case "/closed":
			panic(http.ErrAbortHandler)
		case "/moved":
			http.Redirect(w, r, "https://api.example", http.StatusMovedPermanently)
		case "/gateway":
			w.WriteHeader(http.StatusBadGateway)
		default: // a proxy that refuses every connection
			w.WriteHeader(http.StatusForbidden)
		}
	}))
	t.Cleanup(plain.Close)
	secure := httptest.NewUnstartedServer(http.NotFoundHandler())
	secure.Config.ErrorLog = log.New(io.Discard, "", 0) // otherwise the server logs each failed handshake
	secure.StartTLS()
	t.Cleanup(secure.Close)
	trusting := secure.Client().Transport.(*http.Transport)
	proxyTransport := func(address string) *http.Transport {
		at, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		return &http.Transport{Proxy: http.ProxyURL(at)}
	}
	for name, c := range map[string]struct {
		base      string
		transport *http.Transport
		want      []string
	}{
		"unknown authority":  {secure.URL, &http.Transport{}, []string{"cannot be trusted: no authority that this machine knows has signed its certificate", "SSL_CERT_FILE"}},
		"wrong name":         {strings.Replace(secure.URL, "127.0.0.1", "localhost", 1), trusting, []string{"its certificate is for example.com", "and not for localhost"}},
		"no TLS":             {strings.Replace(plain.URL, "http:", "https:", 1), &http.Transport{}, []string{"does not use TLS", "use " + plain.URL}},
		"TLS":                {strings.Replace(secure.URL, "https:", "http:", 1), &http.Transport{}, []string{"responds with 400 Bad Request, but not as this service does", "begins with https"}},
		"no proxy":           {"https://api.example", proxyTransport("http://127.0.0.1:1"), []string{"cannot be reached: the proxy does not work", "refused", "HTTPS_PROXY"}},
		"a proxy refuses":    {"https://api.example", proxyTransport(plain.URL), []string{"does not respond (Forbidden)", "HTTPS_PROXY"}},
		"a page":             {plain.URL + "/page", &http.Transport{}, []string{"something that is not JSON", "such as /prod"}},
		"closed":             {plain.URL + "/closed", &http.Transport{}, []string{"closed the connection without a response"}},
		"a redirect":         {plain.URL + "/moved", &http.Transport{}, []string{"responds with 301 Moved Permanently", "use the address to which it redirects"}},
		"a gateway's error":  {plain.URL + "/gateway", &http.Transport{}, []string{"responds with 502 Bad Gateway", "try again"}},
		"another's refusal":  {plain.URL + "/other", &http.Transport{}, []string{"responds with 403 Forbidden", "such as /prod"}},
		"an invalid address": {"https://127.0.0.1:0", &http.Transport{}, []string{"https://127.0.0.1:0 "}},
	} {
		t.Run(name, func(t *testing.T) {
			u := &userCommands{Terminal: &terminal.Terminal{}}
			api, err := client.New(c.base, "sk_live_x", client.WithCompany("co_1"), client.WithAttempts(1),
				client.WithHTTPClient(&http.Client{Transport: c.transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}))
			if err != nil {
				t.Fatal(err)
			}
			_, err = api.GetCurrentKey(t.Context())
			got := u.explainCallError(err, connection{api, credential{BaseURL: c.base}}).Error()
			for _, want := range c.want {
				if !strings.Contains(got, want) {
					t.Errorf("%q is not in: %s", want, got)
				}
			}
			for _, word := range []string{"Get \"", "client: ", "dial tcp", "x509", "invalid character"} {
				if strings.Contains(got, word) {
					t.Errorf("%q is in: %s", word, got)
				}
			}
		})
	}
}

// Ensure an error printed as JSON says when to retry, if the service's response does.
func TestErrorSaysWhenToRetry(t *testing.T) {
	t.Parallel()
	u := &userCommands{Terminal: &terminal.Terminal{}}
	for wait, want := range map[time.Duration]string{7 * time.Second: `"retryAfterSeconds":7`, 0: ""} {
		err := u.explainCallError(&client.Error{Status: http.StatusTooManyRequests, Code: "rate_limited", RetryAfter: wait}, connection{})
		var refused *callError
		if !errors.As(err, &refused) {
			t.Fatalf("%v, want a callError", err)
		}
		text, err := json.Marshal(refused.Detail())
		if err != nil || strings.Contains(string(text), "retryAfterSeconds") != (want != "") || !strings.Contains(string(text), want) {
			t.Errorf("%s, want %q: %v", text, want, err)
		}
	}
}

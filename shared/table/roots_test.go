package table

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// Ensure the embedded roots are the ones that Amazon publishes. The test fails a year before any of
// them expires, as a reminder to refresh them.
func TestAmazonRoots(t *testing.T) {
	if err := CheckRoots(amazonRootsPEM, time.Now()); err != nil {
		t.Error(err)
	}
	if amazonRoots().Equal(x509.NewCertPool()) {
		t.Error("the pool is empty")
	}
}

// Ensure CheckRoots rejects an invalid file of roots.
func TestCheckRoots(t *testing.T) {
	now := time.Date(2026, 8, 11, 0, 0, 0, 0, time.UTC)
	second := bytes.Index(amazonRootsPEM[1:], []byte("# ")) + 1
	for name, c := range map[string]struct {
		text []byte
		now  time.Time
		want string
	}{
		"whole":           {amazonRootsPEM, now, ""},
		"one is missing":  {amazonRootsPEM[second:], now, "there are 4 roots"},
		"another order":   {append(bytes.Clone(amazonRootsPEM[second:]), amazonRootsPEM[:second]...), now, "root 1 is Amazon Root CA 2"},
		"nothing":         {nil, now, "there are 0 roots"},
		"expires soon":    {amazonRootsPEM, time.Date(2037, 2, 1, 0, 0, 0, 0, time.UTC), "refresh it"},
		"not yet valid":   {amazonRootsPEM, time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC), "valid from"},
		"no certificates": {[]byte("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"), now, "root 1"},
	} {
		err := CheckRoots(c.text, c.now)
		if (c.want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// startTLSServer returns a TLS server that counts connections, and a pool that verifies it.
func startTLSServer(t *testing.T) (s *httptest.Server, pool *x509.CertPool, connections func() int) {
	t.Helper()
	var mu sync.Mutex
	n := 0
	s = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") }))
	s.Config.ErrorLog = log.New(io.Discard, "", 0) // the tests cause failed handshakes
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		mu.Lock()
		defer mu.Unlock()
		if state == http.StateNew {
			n++
		}
	}
	s.StartTLS()
	t.Cleanup(s.Close)
	pool = x509.NewCertPool()
	pool.AddCert(s.Certificate())
	return s, pool, func() int {
		mu.Lock()
		defer mu.Unlock()
		return n
	}
}

func getWithDialer(t *testing.T, d *dialer, url string) error {
	t.Helper()
	transport := &http.Transport{DialTLSContext: d.DialTLSContext, DisableKeepAlives: true}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := transport.RoundTrip(request)
	if err != nil {
		return err
	}
	return response.Body.Close()
}

// Ensure a server whose root is not trusted is reached with the fallback, which later connections
// use at once.
func TestFallback(t *testing.T) {
	s, pool, connections := startTLSServer(t)
	d := newDialer(amazonRoots(), pool)
	for n, want := range []int{2, 3, 4} { // the first call needs two connections
		if err := getWithDialer(t, d, s.URL); err != nil {
			t.Fatalf("call %d: %v", n+1, err)
		}
		if got := connections(); got != want {
			t.Errorf("after %d calls: %d connections, want %d", n+1, got, want)
		}
	}
}

// Ensure the fallback, which is slow to load, is not used if the trusted roots verify the server.
func TestTrustedRoots(t *testing.T) {
	s, pool, connections := startTLSServer(t)
	if err := getWithDialer(t, newDialer(pool, x509.NewCertPool()), s.URL); err != nil {
		t.Fatal(err)
	}
	if got := connections(); got != 1 {
		t.Errorf("%d connections, want 1", got)
	}
}

// Ensure a server that no root verifies is rejected each time, and so is one whose certificate does
// not match the address.
func TestUntrustedServer(t *testing.T) {
	s, pool, _ := startTLSServer(t)
	d := newDialer(amazonRoots(), x509.NewCertPool())
	for range 2 {
		var unverified *tls.CertificateVerificationError
		if err := getWithDialer(t, d, s.URL); !errors.As(err, &unverified) {
			t.Errorf("%v, want the server refused", err)
		}
	}
	if d.usesFallback.Load() {
		t.Error("a refused server is remembered as a rotation of the roots")
	}
	var hostnameErr x509.HostnameError
	wrongName := strings.Replace(s.URL, "127.0.0.1", "localhost", 1) // the certificate is for 127.0.0.1 and example.com
	if err := getWithDialer(t, newDialer(pool, pool), wrongName); !errors.As(err, &hostnameErr) {
		t.Errorf("%v, want the name refused", err)
	}
}

// Ensure a cancelled dial fails at once and is not repeated with the fallback.
func TestDialEnds(t *testing.T) {
	s, pool, connections := startTLSServer(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := newDialer(pool, pool).DialTLSContext(ctx, "tcp", s.Listener.Addr().String()); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want context.Canceled", err)
	}
	if got := connections(); got != 0 {
		t.Errorf("%d connections, want none", got)
	}
}

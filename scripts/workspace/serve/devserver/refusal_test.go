package devserver

import (
	"bufio"
	"crypto/rand"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"growthworkspace/shared/fault"
	"growthworkspace/shared/gateway"
	"growthworkspace/shared/id"
)

// newServer starts a server for h. It returns the server and its address. The functions in changes
// can adjust the server's limits.
func newServer(t *testing.T, h http.Handler, changes ...func(s *Server)) (s *Server, address string) {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return serve(t, l, h, changes...), l.Addr().String()
}

func serve(t *testing.T, l net.Listener, h http.Handler, changes ...func(s *Server)) *Server {
	t.Helper()
	s := New(h, slog.New(slog.NewTextHandler(t.Output(), nil)), id.NewGenerator(time.Now, rand.Reader), func(*http.Request) error { return nil })
	for _, c := range changes {
		c(s)
	}
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(l) }()
	t.Cleanup(func() {
		_ = s.HTTP().Close()
		if err := <-ended; err != http.ErrServerClosed {
			t.Errorf("the server ended with %v, want %v", err, http.ErrServerClosed)
		}
	})
	return s
}

// memoryListener is a listener with in-memory connections, for tests that use the package synctest.
// There, timeouts are exact and take no real time, and synctest.Wait returns once the server has
// nothing left to do.
type memoryListener struct {
	conns  chan net.Conn
	closed chan struct{}
	close  func()
}

func newMemoryListener(t *testing.T) *memoryListener {
	t.Helper()
	t.Cleanup(func() { time.Sleep(time.Minute) }) // takes no real time; the server leaves a refused connection open for a while
	m := &memoryListener{conns: make(chan net.Conn), closed: make(chan struct{})}
	m.close = sync.OnceFunc(func() { close(m.closed) })
	return m
}

func (m *memoryListener) Accept() (net.Conn, error) {
	select {
	case c := <-m.conns:
		return c, nil
	case <-m.closed:
		return nil, net.ErrClosed
	}
}

func (m *memoryListener) Close() error   { m.close(); return nil }
func (m *memoryListener) Addr() net.Addr { return &net.TCPAddr{} }

// send sends text on a new connection without waiting for the server to read it.
func (m *memoryListener) send(t *testing.T, text string) net.Conn {
	t.Helper()
	ours, theirs := net.Pipe()
	t.Cleanup(func() { _ = ours.Close() })
	m.conns <- theirs
	go func() { _, _ = io.WriteString(ours, text) }() // ignore the error: the server may refuse the request before it is complete
	return ours
}

// exchange sends text on a new connection. It returns the response and its body, once the server
// has nothing left to do.
func (m *memoryListener) exchange(t *testing.T, text string) (*http.Response, string) {
	t.Helper()
	c := m.send(t, text)
	out, body := receive(t, c)
	_ = c.Close()
	synctest.Wait()
	return out, body
}

func dial(t *testing.T, address string) net.Conn {
	t.Helper()
	c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if err := c.SetDeadline(time.Now().Add(2 * time.Minute)); err != nil { // so that the test does not hang
		t.Fatal(err)
	}
	return c
}

// sendAndReceive sends text on a new connection and returns the response and its body.
func sendAndReceive(t *testing.T, address, text string) (*http.Response, string) {
	t.Helper()
	c := dial(t, address)
	defer c.Close()
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatal(err)
	}
	return receive(t, c)
}

func receive(t *testing.T, c net.Conn) (*http.Response, string) {
	t.Helper()
	out, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(out.Body)
	if err != nil {
		t.Fatal(err)
	}
	if err := out.Body.Close(); err != nil {
		t.Fatal(err)
	}
	return out, string(body)
}

// requireEnvelope requires that a response is an error in the API's format, with the headers common
// to all responses.
func requireEnvelope(t *testing.T, out *http.Response, body string, status int, code fault.Code) {
	t.Helper()
	refusal, err := fault.Parse([]byte(body))
	if err != nil || out.StatusCode != status || refusal.Code != code {
		t.Fatalf("%s %q: %v; want %d %s", out.Status, body, err, status, code)
	}
	if requestID := out.Header.Get("Service-Request-Id"); len(requestID) != 16 || !strings.HasSuffix(requestID, "=") {
		t.Errorf("request id %q", requestID)
	}
	for name, want := range map[string]string{"Content-Type": "application/json", "Cache-Control": "no-store"} {
		if got := out.Header.Get(name); got != want {
			t.Errorf("%s %q, want %q", name, got, want)
		}
	}
	if out.Header.Get("Service-Version") == "" || out.Header.Get("Date") == "" {
		t.Errorf("headers %v, want a version and a date", out.Header)
	}
}

// notFoundHandler returns a handler that responds to every request with not_found, in the API's
// format and with the headers common to all responses.
func notFoundHandler() http.Handler {
	newID := id.NewGenerator(time.Now, rand.Reader)
	return gateway.Local(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fault.Write(w, r, gateway.RequestIDsOf(r.Context(), newID).Public(), fault.ErrNotFound)
	}), newID)
}

// Ensure the server refuses a valid HTTP request with an error in the API's format that says what
// is wrong.
func TestEveryRefusalHasTheEnvelope(t *testing.T) {
	t.Parallel()
	_, address := newServer(t, notFoundHandler())
	const end = " HTTP/1.1\r\nHost: localhost\r\n"
	for _, c := range []struct {
		name, request string
		status        int
		code          fault.Code
		message       string
	}{
		{"OK", "GET /v1/companies" + end + "\r\n", 404, fault.NotFound, "no such record"},
		{"Options", "OPTIONS *" + end + "\r\n", 404, fault.NotFound, "no such record"},
		{"Connect", "CONNECT example.com:443" + end + "\r\n", 404, fault.NotFound, "no such record"},
		{"Length", "POST /v1/companies" + end + "Content-Length: 9000000000000000000\r\n\r\n{}", 413, fault.PayloadTooLarge, "body: "},
		{"Unreadable", "POST /v1/companies" + end + "Transfer-Encoding: chunked\r\n\r\nnot a length\r\n\r\n", 400, fault.BadRequest, "body: could not be read"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			out, body := sendAndReceive(t, address, c.request)
			requireEnvelope(t, out, body, c.status, c.code)
			if !strings.Contains(body, c.message) {
				t.Errorf("%s, want %q in it", body, c.message)
			}
		})
	}
}

// Ensure the headers of a request may have at most headerBytesMax bytes, including the request line
// and the empty line.
func TestHeaderLimit(t *testing.T) {
	t.Parallel()
	_, address := newServer(t, notFoundHandler())
	const begin = "GET /v1/companies HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nX-Long: "
	for size, want := range map[int]int{headerBytesMax: 404, headerBytesMax + 1: 431, 12 << 10: 431} {
		out, _ := sendAndReceive(t, address, begin+strings.Repeat("x", size-len(begin)-len("\r\n\r\n"))+"\r\n\r\n")
		if out.StatusCode != want {
			t.Errorf("%d bytes: %s, want %d", size, out.Status, want)
		}
	}
}

// Ensure the server closes the connection after a chunked body, which matters if the request also
// has a Content-Length. A proxy in front of the server may have used the Content-Length. It would
// then treat the bytes that follow as another request.
func TestChunkedBodyEndsTheConnection(t *testing.T) {
	t.Parallel()
	_, address := newServer(t, notFoundHandler())
	for length, closed := range map[string]bool{"Content-Length: 5": false, "Transfer-Encoding: chunked": true, "Content-Length: 5\r\nTransfer-Encoding: chunked": true} {
		c := dial(t, address)
		if _, err := io.WriteString(c, "POST /v1/companies HTTP/1.1\r\nHost: localhost\r\n"+length+"\r\n\r\n0\r\n\r\nGET /v1/companies HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(c)
		if n := strings.Count(string(text), "HTTP/1.1 404"); err != nil || (n == 1) != closed || n == 0 {
			t.Errorf("%s: %d responses, %v: %s", length, n, err, text)
		}
	}
}

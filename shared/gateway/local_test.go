package gateway_test

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"growthworkspace/shared/gateway"
)

// local is gateway.Local with predictable ids.
func local(h http.Handler) http.Handler {
	return gateway.Local(h, func(prefix string) string { return prefix + "_1" })
}

// Ensure the handler gets the request line that the client sent over a real connection.
func TestLocalRequestLine(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(local(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.Method+" "+r.URL.EscapedPath()+" "+r.URL.RawQuery+" "+gateway.BaseURL(r))
	})))
	t.Cleanup(server.Close)
	tests := []struct{ name, target, want string }{
		{"Encoded", "/v1/a%2Fb%23%25%00%3F%20%C3%A9?b=1&a=%20", "/v1/a%2Fb%23%25%00%3F%20%C3%A9 a=+&b=1"},
		{"Unclean", "//v1/..//x/?a&a=", "//v1/..//x/ a=&a="},
		// A handler with a strict parser must also get the pairs that url.URL.Query drops.
		{"MalformedQuery", "/v1?b=%zz&a=1", "/v1 b=%zz&a=1"},
		{"Semicolon", "/v1?limit=5;", "/v1 limit=5;"},
		{"EncodedSemicolon", "/v1?b=1&a=%3B", "/v1 a=%3B&b=1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", server.Listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = conn.Close() }()
			if _, err := io.WriteString(conn, "GET "+tt.target+" HTTP/1.1\r\nHost: api.local:81\r\nX-Forwarded-Host: evil\r\nConnection: close\r\n\r\n"); err != nil {
				t.Fatal(err)
			}
			resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				t.Fatal(err)
			}
			body, _ := io.ReadAll(resp.Body)
			_ = resp.Body.Close()
			if want := "GET " + tt.want + " http://api.local:81"; string(body) != want {
				t.Errorf("handler saw %q, want %q", body, want)
			}
		})
	}
}

// Ensure the response that Local sends is the same, on the wire, as an ordinary server's.
func TestLocalResponse(t *testing.T) {
	t.Parallel()
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Date", "Tue, 11 Aug 2026 09:30:00 GMT")
		w.Header()["Link"] = []string{"<a>", "<b>"}
		switch r.URL.Path {
		case "/text":
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Content-Length", "2")
			_, _ = io.WriteString(w, "{}")
		case "/binary":
			_, _ = w.Write([]byte("\x89PNG\x0d\x0a\x1a\x0a\xff"))
		case "/204":
			w.WriteHeader(204)
		case "/304":
			w.Header().Set("ETag", `"1"`)
			w.WriteHeader(304)
		case "/404":
			http.NotFound(w, r)
		}
	})
	plainServer, localServer := httptest.NewServer(h), httptest.NewServer(local(h))
	t.Cleanup(plainServer.Close)
	t.Cleanup(localServer.Close)
	type response struct {
		Status int
		Header http.Header
		Length int64
		Body   string
	}
	get := func(t *testing.T, method, url string) response {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), method, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = resp.Body.Close() }()
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return response{resp.StatusCode, resp.Header, resp.ContentLength, string(body)}
	}
	for _, path := range []string{"/text", "/binary", "/204", "/304", "/404", "/silent"} {
		for _, method := range []string{"GET", "HEAD", "POST"} {
			t.Run(method+path, func(t *testing.T) {
				if diff := cmp.Diff(get(t, method, plainServer.URL+path), get(t, method, localServer.URL+path)); diff != "" {
					t.Errorf("(-plain +local):\n%s", diff)
				}
			})
		}
	}
}

func TestLocalRefusals(t *testing.T) {
	t.Parallel()
	const tooLarge = `{"errors":[{"code":"payload_too_large","message":"body: is larger than any that the service accepts"}]}`
	tests := []struct {
		name   string
		body   io.Reader
		status int
		want   string
	}{
		{"OKAtLimit", bytes.NewReader(make([]byte, 10<<20)), 200, ""},
		{"ErrTooLarge", bytes.NewReader(make([]byte, 10<<20+1)), 413, tooLarge},
		{"ErrEndless", endlessReader{}, 413, tooLarge},
		{"ErrUnreadable", iotest.ErrReader(io.ErrUnexpectedEOF), 400, `{"errors":[{"code":"bad_request","message":"body: could not be read"}]}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			called := false
			w := httptest.NewRecorder()
			local(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { called = true })).
				ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "POST", "/", tt.body))
			if w.Code != tt.status || w.Body.String() != tt.want || called != (tt.status == 200) {
				t.Errorf("response = %d %s, handler called: %t; want %d %s", w.Code, w.Body, called, tt.status, tt.want)
			}
			if got := w.Header(); tt.status != 200 && (got.Get("Content-Type") != "application/json" ||
				got.Get("Service-Request-Id") != "I7MlhRE35squQwY=" || got.Get("Service-Version") == "") {
				t.Errorf("headers = %v", got)
			}
		})
	}
}

// Ensure a client that sends an oversized body gets a response, not a connection reset.
func TestLocalTooLargeOverNetwork(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(local(http.NotFoundHandler()))
	t.Cleanup(server.Close)
	r, err := http.NewRequestWithContext(t.Context(), "POST", server.URL, io.LimitReader(endlessReader{}, 10<<20+1))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if body, _ := io.ReadAll(resp.Body); resp.StatusCode != 413 || !strings.Contains(string(body), "payload_too_large") {
		t.Errorf("response = %d %s, want 413", resp.StatusCode, body)
	}
}

// Ensure the handler's context is cancelled when the client disconnects.
func TestLocalDisconnect(t *testing.T) {
	t.Parallel()
	started, ended := make(chan struct{}), make(chan struct{})
	server := httptest.NewServer(local(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		close(started)
		<-r.Context().Done()
		close(ended)
	})))
	t.Cleanup(server.Close)
	ctx, cancel := context.WithCancel(t.Context())
	r, err := http.NewRequestWithContext(ctx, "GET", server.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		<-started
		cancel()
	}()
	resp, err := http.DefaultClient.Do(r)
	if err == nil {
		_ = resp.Body.Close()
		t.Fatal("request got a response")
	}
	<-ended // the handler's context is done
}

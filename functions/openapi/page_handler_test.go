package openapi_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"growthworkspace/functions/openapi"
	"growthworkspace/shared/auth"
	"growthworkspace/shared/gateway"
	"growthworkspace/shared/version"
)

// Ensure the committed page and its assets are served without a key, the page with its Content-Security-Policy.
func TestServesThePage(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]struct{ name, contentType, cache string }{
		"/":              {"page.html", "text/html; charset=utf-8", "no-cache"},
		"/page.css":      {"page.css", "text/css; charset=utf-8", "public, max-age=3600"},
		"/page.js?v=any": {"page.js", "text/javascript; charset=utf-8", "public, max-age=3600"},
	} {
		r := send(t, "GET", path)
		if r.StatusCode != 200 || body(t, r) != file(t, want.name) {
			t.Errorf("%s: status %d, or the body differs from %s", path, r.StatusCode, want.name)
		}
		for name, value := range map[string]string{
			"Content-Type": want.contentType, "Cache-Control": want.cache, "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer",
			"Service-Version": version.Current, "Service-Request-Id": "req_1",
		} {
			if got := r.Header.Get(name); got != value {
				t.Errorf("%s: %s is %q, want %q", path, name, got, value)
			}
		}
		policy := r.Header.Get("Content-Security-Policy")
		if path == "/" && policy != "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'" {
			t.Errorf("%s: %s", path, policy)
		}
		head := send(t, "HEAD", path)
		if head.StatusCode != 200 || body(t, head) != "" || head.Header.Get("ETag") != r.Header.Get("ETag") || head.Header.Get("Content-Length") == "0" {
			t.Errorf("HEAD %s: %d %v", path, head.StatusCode, head.Header)
		}
		if again := send(t, "GET", path, "If-None-Match", r.Header.Get("ETag")); again.StatusCode != 304 || body(t, again) != "" {
			t.Errorf("%s with its ETag: %d, want 304", path, again.StatusCode)
		}
	}
	if r := send(t, "GET", "/", "Service-Version", "2020-01-01"); r.StatusCode != 400 || !strings.Contains(body(t, r), version.Current) {
		t.Errorf("an unknown version: %d", r.StatusCode)
	}
}

// greet requests the page with the given Host header from a server that has a demo key.
func greet(t *testing.T, demo openapi.Demo, host string) *http.Response {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), "GET", "/", nil)
	r.Host = host
	w := httptest.NewRecorder()
	newID := func(string) string { return "req_1" }
	gateway.Local(openapi.Handler(newID, demo), newID).ServeHTTP(w, r)
	return w.Result()
}

// Ensure the page contains the demo key only when the Host header names this machine, which prevents DNS rebinding, and
// that a page with the key is not cached.
func TestDemoKeyStaysHere(t *testing.T) {
	t.Parallel()
	key := auth.SecretPrefix + "made<up>"
	demo := openapi.Demo{CompanyID: "co_1", Key: key}
	shown := strings.NewReplacer("<", "&lt;", ">", "&gt;").Replace(key)
	for host, want := range map[string]bool{
		"localhost": true, "localhost:8080": true, "127.0.0.1:8080": true, "127.9.9.9": true, "[::1]:8080": true, "[::1]": true,
		"example.com": false, "localhost.example.com:8080": false, "127.0.0.1.example.com": false, "10.0.0.1:8080": false, "": false, "[": false, "[]": false,
	} {
		r := greet(t, demo, host)
		text := body(t, r)
		if strings.Contains(text, shown) != want || strings.Contains(text, key) {
			t.Errorf("%q: shown %v", host, !want)
		}
		if want != (r.Header.Get("Cache-Control") == "no-store") || r.Header.Get("Content-Security-Policy") == "" {
			t.Errorf("%q: %v", host, r.Header)
		}
	}
	for _, host := range []string{"localhost", "example.com"} {
		if text := body(t, greet(t, openapi.Demo{}, host)); text != file(t, "page.html") {
			t.Errorf("%s: without a demo key the page differs from page.html", host)
		}
	}
}

// Ensure the page finds its assets below a stage name, with and without a trailing slash.
func TestPageBehindAStage(t *testing.T) {
	t.Parallel()
	proxy := gateway.Proxy(openapi.Handler(func(string) string { return "req_1" }, openapi.Demo{}))
	for called, want := range map[string]string{"/prod": `href="/prod/page.css?`, "/prod/": `href="/prod/page.css?`, "/": `href="page.css?`} {
		response, err := proxy(t.Context(), events.APIGatewayProxyRequest{
			HTTPMethod: "GET", Path: "/", Headers: map[string]string{"Host": "api.example.com"},
			RequestContext: events.APIGatewayProxyRequestContext{Stage: "prod", Path: called},
		})
		if err != nil || response.StatusCode != 200 {
			t.Fatal(response.StatusCode, err)
		}
		for _, link := range []string{want, strings.ReplaceAll(strings.Replace(want, "href", "src", 1), "css", "js")} {
			if !strings.Contains(response.Body, link) {
				t.Errorf("requested as %s: the page lacks %s", called, link)
			}
		}
	}
}

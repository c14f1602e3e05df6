package openapi_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"growthworkspace/functions/openapi"
	"growthworkspace/shared/auth"
	"growthworkspace/shared/fault"
	"growthworkspace/shared/gateway"
)

// Ensure the reference and its script are served without a key. The page must have its
// Content-Security-Policy, and the script's path must contain its digest.
func TestServesTheReference(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]struct{ contains, contentType, cache, policy string }{
		"/": {`id="api-reference"`, "text/html; charset=utf-8", "no-cache",
			"default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; connect-src 'self'; img-src 'self' data:; font-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"},
		openapi.ScriptPath: {"@scalar/api-reference", "text/javascript; charset=utf-8", "public, max-age=31536000, immutable", ""},
	} {
		r := send(t, "GET", path)
		text := readBody(t, r)
		if r.StatusCode != 200 || !strings.Contains(text, want.contains) {
			t.Errorf("%s: status %d, or the body has no %s", path, r.StatusCode, want.contains)
		}
		for name, value := range map[string]string{
			"Content-Type": want.contentType, "Cache-Control": want.cache, "Content-Security-Policy": want.policy,
			"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "Cross-Origin-Resource-Policy": "same-origin",
			"Service-Version": fault.Version, "Service-Request-Id": "I7MlhRE35squQwY=",
		} {
			if got := r.Header.Get(name); got != value {
				t.Errorf("%s: %s is %q, want %q", path, name, got, value)
			}
		}
		if tag := r.Header.Get("ETag"); !regexp.MustCompile(`^"[0-9a-f]{32}"$`).MatchString(tag) {
			t.Errorf("%s: ETag %s", path, tag)
		}
		head := send(t, "HEAD", path)
		if text := readBody(t, head); head.StatusCode != 200 || text != "" {
			t.Errorf("HEAD %s: status %d with a body of %d bytes, want 200 without one", path, head.StatusCode, len(text))
		}
		if got, want := head.Header.Get("ETag"), r.Header.Get("ETag"); got != want {
			t.Errorf("HEAD %s: ETag %s, want %s", path, got, want)
		}
		if head.Header.Get("Content-Length") == "0" {
			t.Errorf("HEAD %s: Content-Length is 0, want that of the body, or none", path)
		}
		if again := send(t, "GET", path, "If-None-Match", r.Header.Get("ETag")); again.StatusCode != 304 || readBody(t, again) != "" {
			t.Errorf("%s with its ETag: %d, want 304", path, again.StatusCode)
		}
	}
	if r := send(t, "GET", "/", "Service-Version", "2020-01-01"); r.StatusCode != 400 || !strings.Contains(readBody(t, r), fault.Version) {
		t.Errorf("an unknown version: %d", r.StatusCode)
	}
}

// Ensure the script is that of the pinned package, byte for byte, and that its path contains its
// digest.
func TestScript(t *testing.T) {
	t.Parallel()
	const digest = "27bbe9a8482b9bea7a42dc430acfa0acea77b152549a4d512ea9be513a37c731" // of dist/browser/standalone.js in @scalar/api-reference 1.51.0
	sum := sha256.Sum256([]byte(readBody(t, send(t, "GET", openapi.ScriptPath))))
	if got := hex.EncodeToString(sum[:]); got != digest || openapi.ScriptPath != "/reference."+digest[:16]+".js" {
		t.Errorf("the script at %s has the digest %s, want %s", openapi.ScriptPath, got, digest)
	}
}

// scalarSettingsOf returns the Scalar settings that a page contains.
func scalarSettingsOf(t *testing.T, page string) map[string]any {
	t.Helper()
	m := regexp.MustCompile(`data-configuration="([^"]*)"`).FindStringSubmatch(page)
	if m == nil {
		t.Fatal("the page has no settings")
	}
	var out map[string]any
	if err := json.Unmarshal([]byte(strings.ReplaceAll(m[1], "&#34;", `"`)), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// Ensure the page complies with its policy, loads nothing from other hosts, sends no telemetry, and
// neither contains nor asks for a key.
func TestReferenceFollowsPolicy(t *testing.T) {
	t.Parallel()
	text := readBody(t, send(t, "GET", "/"))
	for what, pattern := range map[string]string{
		"an inline script":  `<script[^>]*>[^<]`,
		"an inline style":   `<style|\sstyle=`,
		"a listener":        `<[^>]*\son[a-z]+=`,
		"something foreign": `(?:src|href|action)="(?:https?:)?//`,
		"a key":             auth.SecretPrefix,
		"a form":            `<form`,
	} {
		if found := regexp.MustCompile(pattern).FindString(text); found != "" {
			t.Errorf("the page has %s: %s", what, found)
		}
	}
	got := scalarSettingsOf(t, text)
	for name, want := range map[string]any{
		"telemetry": false, "withDefaultFonts": false, "hideTestRequestButton": true, "hideClientButton": true, "showDeveloperTools": "never",
	} {
		if got[name] != want {
			t.Errorf("%s is %v, want %v", name, got[name], want)
		}
	}
	if agent, ok := got["agent"].(map[string]any); !ok || agent["disabled"] != true {
		t.Errorf("agent is %v", got["agent"])
	}
}

// Ensure the page finds its script and the document below a stage path, with and without a trailing
// slash, and that its examples call the host and stage of the page.
func TestReferenceBelowStagePath(t *testing.T) {
	t.Parallel()
	proxy := gateway.Proxy(openapi.Handler(func(string) string { return "req_1" }))
	for requestPath, want := range map[string]struct{ base, server string }{
		"/prod": {"/prod/", "https://api.example.com/prod"}, "/prod/": {"/prod/", "https://api.example.com/prod"}, "/": {"", "https://api.example.com"},
	} {
		response, err := proxy(t.Context(), events.APIGatewayProxyRequest{
			HTTPMethod: "GET", Path: "/", Headers: map[string]string{"Host": "api.example.com", "X-Forwarded-Proto": "https"},
			RequestContext: events.APIGatewayProxyRequestContext{Stage: "prod", Path: requestPath},
		})
		if err != nil || response.StatusCode != 200 {
			t.Fatalf("requested as %s: status %d, want 200: %v", requestPath, response.StatusCode, err)
		}
		for _, link := range []string{`data-url="` + want.base + `openapi.json"`, `src="` + want.base + openapi.ScriptPath[1:] + `"`} {
			if !strings.Contains(response.Body, link) {
				t.Errorf("requested as %s: the page lacks %s", requestPath, link)
			}
		}
		servers, _ := scalarSettingsOf(t, response.Body)["servers"].([]any)
		if server, _ := servers[0].(map[string]any); len(servers) != 1 || server["url"] != want.server {
			t.Errorf("requested as %s: servers %v", requestPath, servers)
		}
	}
}

// Ensure the Host header of a request cannot break out of its HTML attribute.
func TestReferenceEscapesTheHost(t *testing.T) {
	t.Parallel()
	newID := func(string) string { return "req_1" }
	for _, host := range []string{`"><script>alert(1)</script>`, `a'b<c>`, "\u2028"} {
		r := httptest.NewRequestWithContext(t.Context(), "GET", "/", nil)
		r.Host = host
		w := httptest.NewRecorder()
		gateway.Local(openapi.Handler(newID), newID).ServeHTTP(w, r)
		if text := w.Body.String(); strings.Contains(text, "<script>") || strings.Contains(text, host) {
			t.Errorf("Host %s is in the page unescaped: %s", host, text)
		}
	}
}

// Ensure the script, encoded in a response to API Gateway, does not exceed Lambda's limit of 6 MB.
func TestScriptFits(t *testing.T) {
	t.Parallel()
	response, err := gateway.Proxy(openapi.Handler(func(string) string { return "req_1" }))(t.Context(), events.APIGatewayProxyRequest{
		HTTPMethod: "GET", Path: openapi.ScriptPath, Headers: map[string]string{"Host": "api.example.com"},
	})
	if err != nil {
		t.Fatal(err)
	}
	var sent bytes.Buffer
	if err := json.NewEncoder(&sent).Encode(response); err != nil {
		t.Fatal(err)
	}
	if sent.Len() < 3_000_000 || sent.Len() > 6_000_000 {
		t.Errorf("%d bytes", sent.Len())
	}
}

// Ensure the descriptions in the document mention every scope, because the reference page shows
// them.
func TestDocumentMentionsScopes(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, scope := range auth.Scopes() {
		if !strings.Contains(string(text), "Needs the scope `"+string(scope)+"`") && !strings.Contains(string(text), "for a draft, the scope `"+string(scope)+"`") {
			t.Errorf("no operation says that it needs %s", scope)
		}
	}
}

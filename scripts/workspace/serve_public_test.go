package main

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"growthworkspace/scripts/workspace/demo"
)

// publicHost is the host in the public URL. The certificate of httptest is valid for it.
const publicHost = "example.com"

// publicServer is a public server behind a TLS proxy, and a browser that is not signed in.
type publicServer struct {
	*server

	token, key string
	browser    *http.Client
}

// startPublicServer starts a public server with the studio of the demo company. Before that, it
// starts a local server once to create the company's records.
func startPublicServer(t *testing.T) *publicServer {
	t.Helper()
	data := dataFolder(t)
	startServer(t, data).stop(t)
	s := startServer(t, data, "--public-url", "https://Example.com:443", "--company", demo.CompanyID)
	proxy := httptest.NewTLSServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(&url.URL{Scheme: "http", Host: s.Listen})
		r.Out.Host = r.In.Host // Caddy does the same
	}})
	t.Cleanup(proxy.Close)
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	transport := proxy.Client().Transport.(*http.Transport).Clone()
	transport.DialContext = func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, proxy.Listener.Addr().String())
	}
	w := &publicServer{server: s, browser: &http.Client{Jar: jar, Transport: transport}}
	for name, dst := range map[string]*string{"studio-token": &w.token, "studio-key.json": &w.key} {
		requireSecretFile(t, filepath.Join(data, name))
		text, err := os.ReadFile(filepath.Join(data, name))
		if err != nil {
			t.Fatal(err)
		}
		*dst = strings.TrimSpace(string(text))
	}
	w.key = regexp.MustCompile(`sk_[a-z0-9A-Z_]+`).FindString(w.key)
	if w.key == "" || len(w.token) < 20 {
		t.Fatalf("the files have no key or no token")
	}
	return w
}

// send sends a request with the browser. The test fails if the response contains the key or the
// token.
func (p *publicServer) send(t *testing.T, method, target string, form url.Values, header ...string) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, "https://"+publicHost+target, strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	out, err := p.browser.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Body.Close()
	body, err := io.ReadAll(out.Body)
	if err != nil {
		t.Fatal(err)
	}
	if text := string(body); strings.Contains(text, p.key) || strings.Contains(text, p.token) {
		t.Errorf("%s %s: the response has the key or the token", method, target)
	}
	return out, string(body)
}

// These tests share one server, because creating the demo company takes a second.
func TestTeamServer(t *testing.T) {
	t.Parallel()
	w := startPublicServer(t)
	t.Run("Studio", func(t *testing.T) { testTeamStudio(t, w) })
	t.Run("API", func(t *testing.T) { testPublicAPI(t, w) })
}

// Ensure a team's studio works behind a proxy, with the guard that the tests of localauth cover.
// Signing in requires the token in the file. The cookie is only for this host and TLS. No page
// contains a key, and neither does the output or the log. Every address in a page is below the
// prefix and leads to a page.
func testTeamStudio(t *testing.T, w *publicServer) {
	if w.StudioURL != "https://example.com/studio/" || w.BaseURL != "https://example.com" || w.CompanyID != demo.CompanyID || w.Key != "" {
		t.Errorf("%+v; want the public addresses and no key", w.Announcement)
	}

	// Without the token, every page is the sign-in page.
	for _, target := range []string{"/studio", "/studio/", "/studio/reviews", "/studio/?token=" + w.token} {
		if out, body := w.send(t, "GET", target, nil); out.StatusCode != 403 || !strings.Contains(body, `action="/studio/sign-in"`) || strings.Contains(body, "<nav") {
			t.Errorf("%s: status %d, want 403 and the sign-in page: %s", target, out.StatusCode, body)
		}
	}
	_, body := w.send(t, "POST", "/studio/sign-in", url.Values{"token": {"wrong"}})
	requireContains(t, body, "This is not the token")
	style := regexp.MustCompile(`href="(/studio/static/[^"]+[.]css)"`).FindStringSubmatch(body)
	if style == nil {
		t.Fatalf("the sign-in page has no style: %s", body)
	}
	if out, _ := w.send(t, "GET", style[1], nil); out.StatusCode != 200 {
		t.Errorf("the style of the sign-in page: status %d, want 200", out.StatusCode)
	}
	follow := w.browser.CheckRedirect
	w.browser.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	out, _ := w.send(t, "POST", "/studio/sign-in", url.Values{"token": {w.token}})
	cookie := out.Header.Get("Set-Cookie")
	if out.StatusCode != 303 || out.Header.Get("Location") != "/studio/" ||
		!regexp.MustCompile(`^__Host-workspace-studio=\w+; Path=/; HttpOnly; Secure; SameSite=Strict$`).MatchString(cookie) {
		t.Fatalf("sign-in: status %d to %s with %q", out.StatusCode, out.Header.Get("Location"), cookie)
	}
	w.browser.CheckRedirect = follow

	// Follow the links from the overview to every page.
	address := regexp.MustCompile(` ([a-z-]+)="(/[^"]*)"`)
	pages, seen := []string{"/studio/"}, map[string]bool{"/studio/": true}
	for len(pages) > 0 && len(seen) < 200 {
		target := pages[0]
		pages = pages[1:]
		out, body := w.send(t, "GET", target, nil)
		if out.StatusCode != 200 || out.Header.Get("X-Frame-Options") != "DENY" || !strings.Contains(out.Header.Get("Content-Security-Policy"), "frame-ancestors 'none'") {
			t.Errorf("%s: status %d, want 200, in no frame: %v", target, out.StatusCode, out.Header)
		}
		if !strings.HasPrefix(out.Header.Get("Content-Type"), "text/html") || out.Header.Get("Content-Disposition") != "" {
			continue
		}
		for _, found := range address.FindAllStringSubmatch(body, -1) {
			name, link := found[1], strings.ReplaceAll(found[2], "&amp;", "&")
			if name == "value" {
				continue
			}
			if !strings.HasPrefix(link, "/studio/") {
				t.Errorf("%s: %s=%q is not below the studio", target, name, link)
			}
			link, _, _ = strings.Cut(link, "#")
			path, _, _ := strings.Cut(link, "?")
			if name == "href" && !seen[path] && len(seen) < 40 {
				seen[path], pages = true, append(pages, link)
			}
		}
	}
	if len(seen) < 30 {
		t.Errorf("%d pages were found, want 30: %v", len(seen), seen)
	}

	// Submit a form, which changes a record through the API of the same server.
	_, body = w.send(t, "GET", "/studio/company", nil)
	fields := url.Values{"name": {"Team Notes"}}
	for _, f := range regexp.MustCompile(`<input type="hidden" name="([^"]+)" value="([^"]*)">`).FindAllStringSubmatch(body, -1) {
		fields.Set(f[1], strings.ReplaceAll(f[2], "&#34;", `"`))
	}
	if out, _ := w.send(t, "POST", "/studio/company", fields, "Origin", "https://evil.example"); out.StatusCode != 403 {
		t.Errorf("a form of another origin: status %d, want 403", out.StatusCode)
	}
	out, body = w.send(t, "POST", "/studio/company", fields, "Origin", "https://example.com")
	if out.StatusCode != 200 || out.Request.URL.Path != "/studio/company" || !strings.Contains(body, "Team Notes") {
		t.Errorf("a form: status %d at %s: %s", out.StatusCode, out.Request.URL, body)
	}
	requireContains(t, body, "https://example.com/v1/companies/"+demo.CompanyID)

	// The secret of a new key is written to a file on the server, because users of the studio may
	// have no access to the server.
	_, body = w.send(t, "GET", "/studio/keys", nil)
	_, body, _ = strings.Cut(body, `id="newkey"`)
	body, _, _ = strings.Cut(body, "</form>")
	fields = url.Values{"name": {"CI"}, "scope": {"plan:read"}}
	for _, f := range regexp.MustCompile(`<input type="hidden" name="([^"]+)" value="([^"]*)">`).FindAllStringSubmatch(body, -1) {
		fields.Set(f[1], f[2])
	}
	_, body = w.send(t, "POST", "/studio/keys", fields, "Origin", "https://example.com")
	requireContains(t, body, "which only whoever runs the server can read")
	if out, _ := w.send(t, "GET", "/studio/nowhere", nil); out.StatusCode != 404 {
		t.Errorf("an unknown page: status %d, want 404", out.StatusCode)
	}
	if logs := w.logs.String(); strings.Contains(logs, w.key) || strings.Contains(logs, w.token) {
		t.Error("the log has the key or the token")
	}
}

// Ensure the API of a public server accepts the public host, and returns https addresses.
func testPublicAPI(t *testing.T, w *publicServer) {
	list := "/v1/companies/" + demo.CompanyID + "/feedback?limit=1"
	out, body := w.send(t, "GET", list, nil, "Authorization", "Bearer "+w.key)
	if link := out.Header.Get("Link"); out.StatusCode != 200 || !strings.HasPrefix(link, "<https://example.com/v1/") {
		t.Errorf("status %d, Link %q; want 200 and a link of https://example.com: %s", out.StatusCode, link, body)
	}
	call := `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://example.com/mcp", strings.NewReader(call))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+w.key)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	answer, err := w.browser.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(answer.Body)
	if closeErr := answer.Body.Close(); err != nil || closeErr != nil || answer.StatusCode != 200 || !strings.Contains(string(text), "service_list_feedback") {
		t.Errorf("tools: status %d, %v: %.200s", answer.StatusCode, err, text)
	}
	for _, c := range []struct {
		host, path string
		want       int
	}{
		{"example.com", "/openapi.json", 200},
		{"Example.com:443", "/openapi.json", 200},
		{"127.0.0.1", "/openapi.json", 403},
		{"evil.example", "/openapi.json", 403},
		{"evil.example", "/studio/", 403},
		{"10.0.0.7:8080", "/healthz", 200},
	} {
		status, body := getDirectly(t, w.Listen, c.host, c.path)
		for deadline := time.Now().Add(waitMax); c.path == "/healthz" && status != c.want && time.Now().Before(deadline); {
			status, body = getDirectly(t, w.Listen, c.host, c.path) // on a busy machine, the table may respond too late
		}
		if status != c.want || status == 403 && !strings.Contains(body, "this server exists only at https://example.com") {
			t.Errorf("%s %s: status %d, want %d: %.200s", c.host, c.path, status, c.want, body)
		}
	}
}

// getDirectly sends a request to a server with the given Host header, without the proxy.
func getDirectly(t *testing.T, addr, host, path string) (status int, body string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+addr+path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	r.Host = host
	out, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Body.Close()
	text, err := io.ReadAll(out.Body)
	if err != nil {
		t.Fatal(err)
	}
	return out.StatusCode, string(text)
}

// Ensure a local server refuses hosts that an attacker may have pointed at this machine.
func TestHostsOfThisMachine(t *testing.T) {
	t.Parallel()
	data := dataFolder(t)
	s := startServer(t, data, "--demo=false")
	if s.CompanyID != "" || s.Key != "" || s.StudioURL != "" {
		t.Errorf("%+v; want no demo company", s.Announcement)
	}
	addr := strings.TrimPrefix(s.BaseURL, "http://")
	for host, want := range map[string]int{addr: 200, "localhost": 200, "LOCALHOST:1": 200, "[::1]:8080": 200, "evil.example": 403, "192.0.2.1": 403} {
		if status, body := getDirectly(t, addr, host, "/openapi.json"); status != want || want == 403 && !strings.Contains(body, "--public-url https://NAME") {
			t.Errorf("%s: status %d, want %d: %.200s", host, status, want, body)
		}
	}
	if status, _ := getDirectly(t, addr, "localhost", "/healthz"); status != 404 {
		t.Errorf("/healthz: status %d, want 404 without --public-url", status)
	}
	wide := startServer(t, data, "--demo=false", "--addr", "0.0.0.0:0")
	_, port, _ := net.SplitHostPort(strings.TrimPrefix(wide.BaseURL, "http://"))
	for host, want := range map[string]int{"192.0.2.1:" + port: 200, "evil.example:" + port: 403} {
		if status, _ := getDirectly(t, "127.0.0.1:"+port, host, "/openapi.json"); status != want {
			t.Errorf("--addr 0.0.0.0, host %s: status %d, want %d", host, status, want)
		}
	}
}

// Ensure wrong uses of --public-url are refused with errors that say what to do.
func TestErrPublicURL(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		code int
		args []string
		want string
	}{
		{2, []string{"--public-url", "http://example.com"}, "must begin with https://"},
		{2, []string{"--public-url", "example.com"}, "such as https://growth.example.com"},
		{2, []string{"--public-url", "https://example.com/path"}, "such as https://growth.example.com"},
		{2, []string{"--public-url", "https://user@example.com"}, "such as https://growth.example.com"},
		{2, []string{"--public-url", "https://example.com", "--demo"}, "no demo company"},
		{2, []string{"--company", "co_1"}, "--company needs --public-url"},
	} {
		requireContains(t, runRefused(t, c.code, "", append([]string{"serve", "--addr", "127.0.0.1:0", "--data", t.TempDir()}, c.args...)...), c.want)
	}
	data := dataFolder(t)
	args := []string{"serve", "--addr", "127.0.0.1:0", "--data", data, "--public-url", "https://example.com", "--company"}
	requireContains(t, runRefused(t, 1, "", append(args, "co_nobody")...), `no company "co_nobody"`, "company list")
	id := newCompany(t, data)
	token := filepath.Join(data, "studio-token")
	for text, want := range map[string]string{"short\n": "less than 20 characters: delete the file", strings.Repeat("long", 9): "can be read by others: delete it"} {
		mode := os.FileMode(0o600)
		if len(text) > 20 {
			mode = 0o644
		}
		_ = os.Remove(token)
		if err := os.WriteFile(token, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		requireContains(t, runRefused(t, 1, "", append(args, id)...), token, want)
	}
}

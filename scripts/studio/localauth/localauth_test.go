package localauth

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const host = "127.0.0.1:41234"

// sequentialSecrets returns a function that generates predictable secrets.
func sequentialSecrets() func() string {
	n := 0
	return func() string { n++; return fmt.Sprintf("secret-%d", n) }
}

type request struct {
	method, target string
	header         map[string]string
	cookie         string
	form           url.Values
	host           string
}

func send(g *Guard, r request) *httptest.ResponseRecorder {
	body := strings.NewReader(r.form.Encode())
	out := httptest.NewRequest(r.method, "http://"+host+r.target, body)
	if r.host != "" {
		out.Host = r.host
	}
	if r.method == http.MethodPost {
		out.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for k, v := range r.header {
		out.Header.Set(k, v)
	}
	if r.cookie != "" {
		out.Header.Set("Cookie", r.cookie)
	}
	w := httptest.NewRecorder()
	g.Wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "inside") })).ServeHTTP(w, out)
	return w
}

func sessionCookie(g *Guard) string { return g.cookieName() + "=" + g.session }

// Ensure a browser can exchange the token for a cookie that it sends only with same-site requests.
// After the exchange, the address no longer contains the token.
func TestTokenBecomesACookie(t *testing.T) {
	t.Parallel()
	opened := 0
	g := New(host, sequentialSecrets(), func() { opened++ })
	target := strings.TrimPrefix(g.URL(), "http://"+host)
	for range 2 {
		w := send(g, request{method: "GET", target: target})
		if w.Code != http.StatusSeeOther || w.Header().Get("Location") != "/" {
			t.Fatalf("status %d to %q, want 303 to /", w.Code, w.Header().Get("Location"))
		}
		if got, want := w.Header().Get("Set-Cookie"), "workspace-studio-41234=secret-2; Path=/; HttpOnly; SameSite=Strict"; got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if opened != 1 {
		t.Errorf("opened %d times", opened)
	}
	if w := send(g, request{method: "GET", target: "//evil.example/?token=" + g.token}); w.Header().Get("Location") != "/" {
		t.Errorf("redirects to %s", w.Header().Get("Location"))
	}
	if w := send(g, request{method: "GET", target: "/reviews", cookie: sessionCookie(g)}); w.Code != 200 || w.Body.String() != "inside" {
		t.Errorf("status %d, want 200 and the page: %s", w.Code, w.Body)
	}
}

// Ensure a request is refused without the cookie, with an old token or cookie, or under a different
// host name.
func TestRefusals(t *testing.T) {
	t.Parallel()
	g := New(host, sequentialSecrets(), nil)
	for name, r := range map[string]request{
		"no token":                    {method: "GET", target: "/"},
		"an old token":                {method: "GET", target: "/?token=secret-0"},
		"an empty token":              {method: "GET", target: "/?token="},
		"the cookie of another start": {method: "GET", target: "/", cookie: g.cookieName() + "=secret-0"},
		"the cookie of another port":  {method: "GET", target: "/", cookie: "workspace-studio-1=" + g.session},
		"the token as a cookie":       {method: "GET", target: "/", cookie: g.cookieName() + "=" + g.token},
		"another host":                {method: "GET", target: "/", cookie: sessionCookie(g), host: "studio.example:41234"},
		"the host without a port":     {method: "GET", target: "/", cookie: sessionCookie(g), host: "127.0.0.1"},
		"another name of loopback":    {method: "GET", target: "/", cookie: sessionCookie(g), host: "localhost:41234"},
		"a form without a form token": {method: "POST", target: "/", cookie: sessionCookie(g), form: url.Values{"a": {"1"}}},
		"a form with an old token":    {method: "POST", target: "/", cookie: sessionCookie(g), form: url.Values{"form": {"secret-0"}}},
		"a form without the cookie":   {method: "POST", target: "/", form: url.Values{"form": {g.form}}},
		"the form token in the query": {method: "POST", target: "/?form=" + g.form, cookie: sessionCookie(g)},
		"a form of another site":      {method: "POST", target: "/", cookie: sessionCookie(g), form: url.Values{"form": {g.form}}, header: map[string]string{"Sec-Fetch-Site": "cross-site"}},
		"a form of another port":      {method: "POST", target: "/", cookie: sessionCookie(g), form: url.Values{"form": {g.form}}, header: map[string]string{"Sec-Fetch-Site": "same-site"}},
		"a form of another origin":    {method: "POST", target: "/", cookie: sessionCookie(g), form: url.Values{"form": {g.form}}, header: map[string]string{"Origin": "http://127.0.0.1:9"}},
		"a form of another scheme":    {method: "POST", target: "/", cookie: sessionCookie(g), form: url.Values{"form": {g.form}}, header: map[string]string{"Origin": "https://" + host}},
		"a form of no origin":         {method: "POST", target: "/", cookie: sessionCookie(g), form: url.Values{"form": {g.form}}, header: map[string]string{"Origin": "null"}},
		"a form that is too large":    {method: "POST", target: "/", cookie: sessionCookie(g), form: url.Values{"form": {g.form}, "a": {strings.Repeat("x", bodyBytesMax)}}},
	} {
		w := send(g, r)
		if w.Code != http.StatusForbidden || strings.Contains(w.Body.String(), "inside") {
			t.Errorf("%s: status %d, want 403 without the page: %s", name, w.Code, w.Body)
		}
		if w.Header().Get("Set-Cookie") != "" || strings.Contains(w.Body.String(), "secret-") {
			t.Errorf("%s: the response has a secret: %s %s", name, w.Header(), w.Body)
		}
	}
	if w := send(g, request{method: "DELETE", target: "/", cookie: sessionCookie(g)}); w.Code != http.StatusMethodNotAllowed {
		t.Errorf("status of DELETE %d, want 405", w.Code)
	}
	own := map[string]string{"Sec-Fetch-Site": "same-origin", "Origin": "http://" + host}
	if w := send(g, request{method: "POST", target: "/", cookie: sessionCookie(g), form: url.Values{"form": {g.form}}, header: own}); w.Code != 200 {
		t.Error("our own form is refused:", w.Code, w.Body)
	}
}

const publicHost = "growth.example.com"

// newPublic returns a guard behind a proxy. Its sign-in page is a form.
func newPublic() *Guard {
	return NewPublic(publicHost, "the-token", sequentialSecrets(), func(w http.ResponseWriter, wrong bool) {
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprint(w, "sign in; wrong: ", wrong)
	})
}

// Ensure a public guard accepts the token only from the form. Browsers must send the cookie only to
// this host and over TLS.
func TestPublicSignIn(t *testing.T) {
	t.Parallel()
	g := newPublic()
	w := send(g, request{method: "POST", target: SignInPath, host: publicHost, form: url.Values{TokenField: {"the-token"}}})
	if want := "__Host-workspace-studio=secret-1; Path=/; HttpOnly; Secure; SameSite=Strict"; w.Code != 303 || w.Header().Get("Location") != "/" || w.Header().Get("Set-Cookie") != want {
		t.Errorf("status %d to %q with %q, want 303 to / with %q", w.Code, w.Header().Get("Location"), w.Header().Get("Set-Cookie"), want)
	}
	inside := request{method: "GET", target: "/reviews?token=x", host: publicHost, cookie: sessionCookie(g)}
	if w := send(g, inside); w.Code != 200 || w.Body.String() != "inside" {
		t.Errorf("status %d, want 200 and the page: %s", w.Code, w.Body)
	}
	if w := send(g, request{method: "GET", target: StaticPath + "studio.css", host: publicHost}); w.Body.String() != "inside" {
		t.Errorf("a static file without a cookie: status %d, want 200: %s", w.Code, w.Body)
	}
	own := request{method: "POST", target: "/", host: publicHost, cookie: sessionCookie(g), form: url.Values{"form": {g.form}}, header: map[string]string{"Origin": "https://" + publicHost}}
	if w := send(g, own); w.Code != 200 {
		t.Errorf("our own form: status %d, want 200: %s", w.Code, w.Body)
	}
	call := request{method: "PATCH", target: CallPath, host: publicHost, cookie: sessionCookie(g), header: map[string]string{CallHeader: g.form, "Origin": "https://" + publicHost}}
	if w := send(g, call); w.Code != 200 {
		t.Errorf("a call of our own page: status %d, want 200: %s", w.Code, w.Body)
	}
}

// Ensure a public guard refuses everything that a local one refuses, and shows the form if a token
// is needed.
func TestPublicRefusals(t *testing.T) {
	t.Parallel()
	g := newPublic()
	form, token := url.Values{"form": {g.form}}, url.Values{TokenField: {"the-token"}}
	for name, c := range map[string]struct {
		request

		want string
	}{
		"no cookie":                   {request{method: "GET", target: "/"}, "sign in; wrong: false"},
		"the token in the URL":        {request{method: "GET", target: "/?token=the-token"}, "sign in; wrong: false"},
		"the token in a form's URL":   {request{method: "POST", target: SignInPath + "?token=the-token"}, "sign in; wrong: true"},
		"a wrong token":               {request{method: "POST", target: SignInPath, form: url.Values{TokenField: {"the-toke"}}}, "sign in; wrong: true"},
		"an empty token":              {request{method: "POST", target: SignInPath}, "sign in; wrong: true"},
		"the cookie of another start": {request{method: "GET", target: "/", cookie: g.cookieName() + "=secret-0"}, "sign in; wrong: false"},
		"a form without the cookie":   {request{method: "POST", target: "/", form: form}, "sign in; wrong: false"},
		"a form with an old token":    {request{method: "POST", target: "/", cookie: sessionCookie(g), form: url.Values{"form": {"secret-0"}}}, "copy what you typed, and open the page again."},
		"a form of another site":      {request{method: "POST", target: "/", cookie: sessionCookie(g), form: form, header: map[string]string{"Sec-Fetch-Site": "cross-site"}}, "another web page"},
		"a form of another origin":    {request{method: "POST", target: "/", cookie: sessionCookie(g), form: form, header: map[string]string{"Origin": "https://evil.example"}}, "another web page"},
		"a form of another scheme":    {request{method: "POST", target: "/", cookie: sessionCookie(g), form: form, header: map[string]string{"Origin": "http://" + publicHost}}, "another web page"},
		"a sign-in of another site":   {request{method: "POST", target: SignInPath, form: token, header: map[string]string{"Sec-Fetch-Site": "cross-site"}}, "another web page"},
		"a form to a static file":     {request{method: "POST", target: StaticPath + "x", form: form}, "sign in; wrong: false"},
		"a call without the token":    {request{method: "GET", target: CallPath, cookie: sessionCookie(g)}, "own page"},
		"a call without the cookie":   {request{method: "GET", target: CallPath, header: map[string]string{CallHeader: g.form}}, "sign in; wrong: false"},
		"a call of another scheme":    {request{method: "PATCH", target: CallPath, cookie: sessionCookie(g), header: map[string]string{CallHeader: g.form, "Origin": "http://" + publicHost}}, "own page"},
		"a call of another site":      {request{method: "GET", target: CallPath, cookie: sessionCookie(g), header: map[string]string{CallHeader: g.form, "Sec-Fetch-Site": "cross-site"}}, "own page"},
		"another host":                {request{method: "GET", target: "/", cookie: sessionCookie(g), host: "evil.example"}, "only at https://" + publicHost},
	} {
		if c.host == "" {
			c.host = publicHost
		}
		w := send(g, c.request)
		if w.Code != 403 || !strings.Contains(w.Body.String(), c.want) || w.Header().Get("Set-Cookie") != "" {
			t.Errorf("%s: status %d with %q, want 403 and %q", name, w.Code, w.Body, c.want)
		}
	}
}

// Ensure the response to a navigation from the redirect file is a page that reloads itself once.
// Without the reload, the navigation would fail, because browsers withhold the SameSite=Strict
// cookie from it.
func TestNavigationFromAFile(t *testing.T) {
	t.Parallel()
	g := New(host, sequentialSecrets(), nil)
	navigation := map[string]string{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
	w := send(g, request{method: "GET", target: "/", header: navigation})
	if w.Code != 200 || w.Header().Get("Refresh") != "0" || strings.Contains(w.Body.String(), "inside") {
		t.Errorf("status %d, want 200 with a reload and without the page: %v %s", w.Code, w.Header(), w.Body)
	}
	navigation["Sec-Fetch-Site"] = "same-origin" // the reloaded request, from a browser that still has no cookie
	if w := send(g, request{method: "GET", target: "/", header: navigation}); w.Code != http.StatusForbidden || w.Header().Get("Refresh") != "" {
		t.Errorf("status of the reload %d, want 403 without another: %v", w.Code, w.Header())
	}
}

// Ensure every response includes the security headers, even if the request was refused.
func TestHeaders(t *testing.T) {
	t.Parallel()
	g := New(host, sequentialSecrets(), nil)
	for _, cookie := range []string{"", sessionCookie(g)} {
		h := send(g, request{method: "GET", target: "/", cookie: cookie}).Header()
		csp := h.Get("Content-Security-Policy")
		if strings.Contains(csp, "unsafe") || !strings.Contains(csp, "default-src 'none'") || !strings.Contains(csp, "frame-ancestors 'none'") {
			t.Errorf("the content security policy is %q", csp)
		}
		for name, want := range map[string]string{"Referrer-Policy": "same-origin", "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff", "Access-Control-Allow-Origin": ""} {
			if got := h.Get(name); got != want {
				t.Errorf("%s: %q, want %q", name, got, want)
			}
		}
	}
}

// Ensure Listen accepts only loopback addresses, and returns a host with the requested name, such
// as localhost.
func TestListen(t *testing.T) {
	t.Parallel()
	for _, addr := range []string{"0.0.0.0:0", ":0", "[::]:0", "192.168.1.7:0", "example.com:80", "127.0.0.1", "127.0.0.1:"} {
		if l, host, err := Listen(t.Context(), addr); err == nil {
			_ = l.Close()
			t.Errorf("%s: listens as %s", addr, host)
		}
	}
	for _, name := range []string{"127.0.0.1", "localhost"} {
		l, host, err := Listen(t.Context(), name+":0")
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(host, name+":") || strings.HasSuffix(host, ":0") {
			t.Errorf("%s: the host is %s, want the same name and a free port", name, host)
		}
		_ = l.Close()
	}
}

// Ensure only the file's owner can read the redirect file, and the remove function deletes it.
func TestRedirectFile(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	g := New(host, sequentialSecrets(), nil)
	path, remove, err := g.RedirectFile()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil || !strings.Contains(string(text), "url="+g.URL()) {
		t.Errorf("the redirect does not lead to %s: %v: %s", g.URL(), err, text)
	}
	for file, want := range map[string]os.FileMode{path: 0o600, filepath.Dir(path): 0o700} {
		info, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		if perm := info.Mode().Perm(); perm != want {
			t.Errorf("%s: permissions %o, want %o", file, perm, want)
		}
	}
	remove()
	if _, err := os.Stat(filepath.Dir(path)); !os.IsNotExist(err) {
		t.Error("the file remains")
	}
}

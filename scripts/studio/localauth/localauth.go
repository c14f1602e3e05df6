// Package localauth restricts a web page to people who know its token. The page is served either on
// the user's own machine, or to a team from behind a TLS proxy. The package rejects requests from
// other web pages, requests with a different host name, and requests from people without the token.
// .github/SECURITY.md describes what it cannot protect against.
package localauth

import (
	"crypto/subtle"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
)

// Guard admits requests to one address. Create a Guard with New or NewPublic.
type Guard struct {
	host        string // the only accepted Host, such as 127.0.0.1:41234
	token       string // a browser exchanges it for the cookie; New makes it part of the printed URL
	signIn      SignIn // shows the form for the token; nil if the token is part of the URL
	session     string // the value of the cookie
	form        string // the value of FormField in every form
	crossOrigin *http.CrossOriginProtection

	opened sync.Once
	onOpen func()
}

// New returns a guard for a host, which includes the port. secret returns a new unguessable string
// on each call. onOpen may be nil; otherwise it is called once, when a browser first exchanges the
// token for the cookie.
func New(host string, secret func() string, onOpen func()) *Guard {
	return &Guard{host: host, token: secret(), session: secret(), form: secret(), crossOrigin: http.NewCrossOriginProtection(), onOpen: onOpen}
}

// SignIn writes a page with a form that posts TokenField to SignInPath. wrong is set if the user
// has just sent a wrong token. The page must set its own status code, such as 403.
type SignIn func(w http.ResponseWriter, wrong bool)

// The path to which the form of SignIn is posted, and the name of its field.
const (
	SignInPath = "/sign-in"
	TokenField = "token"
)

// StaticPath is the prefix of the paths that a Guard from NewPublic admits without a cookie,
// because the page that SignIn writes needs the files below it. These files must not be secret.
const StaticPath = "/static/"

// CallPath is the prefix of the paths to which a script of the page sends requests with any method.
// Each of them, also a GET, must carry the form token in the header CallHeader and come from the
// page itself.
const (
	CallPath   = "/reference/call/"
	CallHeader = "Studio-Form"
)

// NewPublic returns a guard for a page behind a TLS proxy. host is the host in the public URL.
// secret is the same function as in New. The token is not part of a URL, because proxies log URLs.
// Instead, people type it into the form that showForm writes.
func NewPublic(host, token string, secret func() string, showForm SignIn) *Guard {
	return &Guard{host: host, token: token, signIn: showForm, session: secret(), form: secret(), crossOrigin: http.NewCrossOriginProtection()}
}

// URL returns the address to open. It contains the token, so it must not be logged.
func (g *Guard) URL() string { return "http://" + g.host + "/?token=" + url.QueryEscape(g.token) }

// FormField is the name of the form field that every POST must include.
const FormField = "form"

// FormToken returns the value that a POST must send in FormField.
func (g *Guard) FormToken() string { return g.form }

// bodyBytesMax is the maximum size of the request body of a form.
const bodyBytesMax = 1 << 20

// policy is the Content-Security-Policy. It allows only files from this origin, and no inline
// scripts and styles.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// Wrap returns a handler that passes admitted requests to next.
func (g *Guard) Wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("Referrer-Policy", "same-origin") // with no-referrer, browsers would send forms with Origin: null
		h.Set("Cache-Control", "no-store")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		if g.admit(w, r) {
			next.ServeHTTP(w, r)
		}
	})
}

// admit reports whether a request may pass. If the request may not pass, admit has already written
// the response.
func (g *Guard) admit(w http.ResponseWriter, r *http.Request) bool {
	isCall := strings.HasPrefix(r.URL.Path, CallPath)
	switch {
	case r.Host != g.host: // DNS rebinding: an attacker may have pointed a different host name at this machine
		forbid(w, "This page exists only at "+g.origin()+".")
	case isCall && !g.isOwnCall(r):
		forbid(w, "This request was not sent by the studio's own page, so nothing was done.")
	case !isCall && r.Method != http.MethodGet && r.Method != http.MethodHead && r.Method != http.MethodPost:
		w.Header().Set("Allow", "GET, HEAD, POST")
		http.Error(w, "Only GET and POST.", http.StatusMethodNotAllowed)
	case g.crossOrigin.Check(r) != nil || r.Method == http.MethodPost && r.Header.Get("Origin") != "" && r.Header.Get("Origin") != g.origin(): // Check does not compare the scheme
		forbid(w, "This form was sent by another web page, so nothing was changed.")
	case g.signIn == nil && r.URL.Query().Has(TokenField):
		g.redeemToken(w, r, r.URL.Query().Get(TokenField))
	case g.signIn != nil && r.Method == http.MethodPost && r.URL.Path == SignInPath:
		r.Body = http.MaxBytesReader(w, r.Body, bodyBytesMax)
		_ = r.ParseForm() // a form that cannot be parsed has no token
		g.redeemToken(w, r, r.PostForm.Get(TokenField))
	case g.signIn != nil && r.Method != http.MethodPost && strings.HasPrefix(r.URL.Path, StaticPath):
		return true
	case !g.hasSession(r):
		g.reject(w, r)
	case isCall:
		r.Body = http.MaxBytesReader(w, r.Body, bodyBytesMax)
		return true
	case r.Method == http.MethodPost && !g.validForm(w, r):
		hint := "open the address that the studio printed when it started."
		if g.signIn != nil {
			hint = "open the page again." // the request has a session, so the user need not sign in
		}
		forbid(w, "This form is from an earlier start of the studio, so nothing was changed. Go back, copy what you typed, and "+hint)
	default:
		return true
	}
	return false
}

func forbid(w http.ResponseWriter, text string) { http.Error(w, text, http.StatusForbidden) }

const openHint = "Open the address that the studio printed when it started. It ends with a token, which changes with every start."

// redeemToken exchanges the token for the cookie and redirects to /, so that the address does not
// contain the token. It ignores the requested path, because a path such as //example.com would
// redirect to a different host.
func (g *Guard) redeemToken(w http.ResponseWriter, r *http.Request, token string) {
	switch {
	case equalSecrets(token, g.token):
	case g.signIn != nil:
		g.signIn(w, true)
		return
	default:
		forbid(w, "This address is from an earlier start of the studio. "+openHint)
		return
	}
	http.SetCookie(w, &http.Cookie{
		Name: g.cookieName(), Value: g.session, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: g.signIn != nil,
	})
	g.opened.Do(func() {
		if g.onOpen != nil {
			g.onOpen()
		}
	})
	http.Redirect(w, r, "/", http.StatusSeeOther)
}

// origin returns the scheme and the host of the page.
func (g *Guard) origin() string {
	if g.signIn != nil {
		return "https://" + g.host
	}
	return "http://" + g.host
}

// cookieName returns the name of the cookie. On this machine the name contains the port, because
// all ports of a host share their cookies. Behind a proxy the name has the __Host- prefix. It makes
// browsers reject the cookie unless it comes from this host over TLS.
func (g *Guard) cookieName() string {
	if g.signIn != nil {
		return "__Host-workspace-studio"
	}
	_, port, _ := net.SplitHostPort(g.host)
	return "workspace-studio-" + port
}

func (g *Guard) hasSession(r *http.Request) bool {
	for _, c := range r.CookiesNamed(g.cookieName()) {
		if equalSecrets(c.Value, g.session) {
			return true
		}
	}
	return false
}

// reject responds to a request without the cookie. Browsers withhold a SameSite=Strict cookie from
// a cross-site navigation, such as one from the redirect file. To such a navigation, reject
// responds with a page that reloads itself, because the reload is a same-site request and includes
// the cookie.
func (g *Guard) reject(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet && r.Header.Get("Sec-Fetch-Site") == "cross-site" && r.Header.Get("Sec-Fetch-Mode") == "navigate" {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Refresh", "0")
		fmt.Fprint(w, "<!doctype html><html lang=en><title>Studio</title><p>Opening the studio …</p></html>")
		return
	}
	if g.signIn != nil {
		g.signIn(w, false)
		return
	}
	forbid(w, openHint)
}

// isOwnCall reports whether the page itself sent a request to CallPath. Another page cannot know
// the form token. The other checks are for a token that has got out.
func (g *Guard) isOwnCall(r *http.Request) bool {
	site, origin := r.Header.Get("Sec-Fetch-Site"), r.Header.Get("Origin")
	return equalSecrets(r.Header.Get(CallHeader), g.form) && (site == "" || site == "same-origin") && (origin == "" || origin == g.origin())
}

func (g *Guard) validForm(w http.ResponseWriter, r *http.Request) bool {
	r.Body = http.MaxBytesReader(w, r.Body, bodyBytesMax)
	return r.ParseForm() == nil && equalSecrets(r.PostForm.Get(FormField), g.form)
}

func equalSecrets(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

package openapi

import (
	"bytes"
	"html"
	"net"
	"net/http"
	"strings"
)

// Demo is the company and the key that the page greets with on one's own machine. The key opens the whole company, so it
// is in the page only where serving is bound to the loopback interface, and only for requests that name this machine: a
// page of somebody else, whose name was made to point here, is refused it.
type Demo struct {
	CompanyID, Key string
}

// demoPlace is where the page has room for the greeting; it is a comment everywhere else.
const demoPlace = "<!-- demo -->"

// shownTo tells whether the answer to a request may have the key.
func (d Demo) shownTo(r *http.Request) bool {
	if d.Key == "" {
		return false
	}
	host, _, err := net.SplitHostPort(r.Host)
	if err != nil {
		host = r.Host
	}
	address := net.ParseIP(strings.Trim(host, "[]"))
	return host == "localhost" || address != nil && address.IsLoopback()
}

// greeting reads without scripts: the key is folded away, and what scripts add has its place.
const greeting = `<section id="demo" class="chapter demo" data-part>
<h2>Your workspace</h2>
<p class="lead">This server runs on your machine, with a demo company full of records. The key opens that company and nothing else.</p>
<dl class="credentials">
<div><dt>Company</dt><dd><code id="demo-company">COMPANY</code></dd></div>
<div><dt>Key</dt><dd><details><summary><span class="mask">sk_live_••••••••••••</span></summary><code id="demo-key">KEY</code></details></dd></div>
</dl>
<div id="live" class="live"></div>
</section>
`

// greet returns the page with the greeting.
func (d Demo) greet(page []byte) []byte {
	text := bytes.Replace([]byte(greeting), []byte("COMPANY"), []byte(html.EscapeString(d.CompanyID)), 1)
	text = bytes.Replace(text, []byte("KEY"), []byte(html.EscapeString(d.Key)), 1)
	return bytes.Replace(page, []byte(demoPlace), text, 1)
}

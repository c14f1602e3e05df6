package openapi

import (
	"bytes"
	"html"
	"net"
	"net/http"
	"strings"
)

// Demo is the demo company and its key, which the page shows when the service runs on the developer's own machine. The key
// has every scope. So only a server on the loopback interface sets a Demo. The page shows the key only if the Host header
// names this machine, which prevents DNS rebinding.
type Demo struct {
	CompanyID, Key string
}

// demoPlace marks where the page shows the demo company. Without a demo it stays an HTML comment.
const demoPlace = "<!-- demo -->"

// shownTo reports whether the response to a request may contain the key.
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

// greeting is the section about the demo company. It works without scripts; page.js fills the element #live.
const greeting = `<section id="demo" class="chapter demo" data-part>
<h2>Your workspace</h2>
<p class="lead">This server runs on your machine and has a demo company with records. The key gives access to that company only.</p>
<dl class="credentials">
<div><dt>Company</dt><dd><code id="demo-company">COMPANY</code></dd></div>
<div><dt>Key</dt><dd><details><summary><span class="mask">sk_live_••••••••••••</span></summary><code id="demo-key">KEY</code></details></dd></div>
</dl>
<div id="live" class="live"></div>
</section>
`

// greet returns the page with the greeting in place of demoPlace.
func (d Demo) greet(page []byte) []byte {
	text := bytes.Replace([]byte(greeting), []byte("COMPANY"), []byte(html.EscapeString(d.CompanyID)), 1)
	text = bytes.Replace(text, []byte("KEY"), []byte(html.EscapeString(d.Key)), 1)
	return bytes.Replace(page, []byte(demoPlace), text, 1)
}

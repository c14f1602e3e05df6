package studio_test

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
)

// tileNames returns the names of the metrics that have a tile, in the order of the tiles.
func tileNames(body string) (out []string) {
	for _, m := range regexp.MustCompile(`<li class="card tile"><a [^>]*>\s*<h2>([^<]*)</h2>`).FindAllStringSubmatch(body, -1) {
		out = append(out, m[1])
	}
	return out
}

// Ensure metrics can be pinned to the overview. Pinned metrics come first, with the most recent pin
// in front. A pin above the maximum replaces the oldest one. The pins are stored in a browser
// cookie and not with an API request, so the company of this test must not change.
func TestPins(t *testing.T) {
	t.Parallel()
	w := newDemoStudio(t)
	if got := strings.Join(tileNames(w.page(t, "/")), ", "); got != "Sign-ups, Store rating, Sync time" {
		t.Fatal("without pins, the tiles are", got)
	}
	pin := func(key string, want ...string) string {
		form := fields(t, w.page(t, "/metrics?key="+key), "pin")
		status, body := w.submit(t, "/pins", form)
		if checkContains(t, key, body, want...); status != http.StatusOK {
			t.Errorf("%s: status %d", key, status)
		}
		return strings.Join(tileNames(w.page(t, "/")), ", ")
	}
	for _, c := range []struct{ key, want string }{
		{"revenue.mrr", "Monthly recurring revenue, Sign-ups, Store rating"},
		{"growth.activations", "Activations, Monthly recurring revenue, Sign-ups"},
		{"support.first_reply", "First reply, Activations, Monthly recurring revenue"},
	} {
		if got := pin(c.key, "Pinned in this browser", "Unpin from the overview", `<a href="/">Overview</a>`); got != c.want {
			t.Errorf("after %s, the tiles are %s, want %s", c.key, got, c.want)
		}
	}
	if got := pin("product.storage", "revenue.mrr is no longer pinned"); got != "Stored notes, First reply, Activations" {
		t.Error("after a fourth pin, the tiles are", got)
	}
	if got := pin("support.first_reply", "No longer pinned.", "Pin to the overview"); got != "Stored notes, Activations, Sign-ups" {
		t.Error("after an unpin, the tiles are", got)
	}
	checkNotContains(t, "a derived metric", w.page(t, "/metrics?key=growth.activation_rate"), "Pin to the overview") // a derived metric has no tile
	other := startStudio(t, w.Service, w.key, nil)
	if got := strings.Join(tileNames(other.page(t, "/")), ", "); got != "Sign-ups, Store rating, Sync time" {
		t.Error("in another browser, the tiles are", got)
	}
}

// Ensure a form is refused if its key or its company cannot be part of a cookie. Like every write,
// a pin needs the form token.
func TestPinsOfHostileForms(t *testing.T) {
	t.Parallel()
	w := newDemoStudio(t)
	form := fields(t, w.page(t, "/metrics?key=growth.signups"), "pin")
	for name, value := range map[string]string{"key": "a|b; Path=/x", "company": "x=1; Domain=example", "back": "//evil.example"} {
		sent := url.Values{}
		for k, v := range form {
			sent[k] = v
		}
		sent.Set(name, value)
		if _, body := w.submit(t, "/pins", sent); name != "back" {
			checkContains(t, name, body, "This metric cannot be pinned.")
		}
	}
	form.Del("form")
	if status, _ := w.submit(t, "/pins", form); status != http.StatusForbidden {
		t.Errorf("without the form token: status %d, want 403", status)
	}
}

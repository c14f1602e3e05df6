package apitest

import "net/http"

// BubbleTransport returns a transport from a bubble of package synctest to the engine. It keeps no
// connections: no time passes in a bubble while one of its goroutines reads from one. The engine
// must run already, as after New, and no service of the bubble may share the connections of
// Transport.
func BubbleTransport() *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.DisableKeepAlives = true
	return t
}

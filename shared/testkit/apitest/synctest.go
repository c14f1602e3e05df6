package apitest

import "net/http"

// BubbleTransport returns a transport from a bubble of package synctest to the engine. It keeps no
// connections, because no time passes in a bubble while one of its goroutines reads from a
// connection. The engine must already be running, as after New, and no service in the bubble may
// share the connections of Transport.
func BubbleTransport() *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.DisableKeepAlives = true
	return t
}

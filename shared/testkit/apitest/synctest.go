package apitest

import "net/http"

// BubbleTransport returns a transport for calls to the engine from a synctest bubble. It keeps no
// connections open, because no time passes in a bubble while one of its goroutines reads from a
// connection. The engine must already be running, as it is after New, and no service in the bubble
// may use Transport.
func BubbleTransport() *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.DisableKeepAlives = true
	return t
}

package localdb

import (
	"context"
	"crypto/rand"
	"net"
	"net/http"
	"time"
)

// A data folder contains the records of companies, but the engines do not authenticate: they accept
// any signature, and requests from web pages of any origin. Therefore, on Linux, the engine of a
// folder runs in its own network namespace, which no other process can reach. A socket file of mode
// 0600 in the folder leads to the engine. The process that listens on the socket, the proxy, opens
// a TCP connection to the engine for each caller and passes it to the caller's process
// (SCM_RIGHTS). The proxy copies no bytes, so a request takes as long as over TCP.
//
// On other systems, and where namespaces are refused, as in many containers, the engine listens on
// a loopback address. If the system has more than one, the address is random, so that a web page
// cannot guess it. Other users of the machine can still find it.

// socketFile is the name of the socket file in a data folder.
const socketFile = "engine.sock"

// socketEndpoint is the endpoint of an engine that is reached through its socket. The name never
// resolves, so a client without [Transport] gets an error instead of reaching another server.
const socketEndpoint = "http://engine.invalid"

type address struct {
	endpoint string
	socket   string // the path of the socket file; "" for TCP
}

// Transport returns a transport for the clients of an engine. socket is [Engine.Socket]. The
// transport keeps more idle connections than net/http's default of 2 per host. With the default,
// parallel requests would open a new connection for nearly every call.
func Transport(socket string) *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxIdleConnsPerHost = 64
	if socket != "" {
		t.Proxy = nil
		t.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) { return dialSocket(ctx, socket) }
	}
	return t
}

// probeClient returns a client for a single check of the engine. It uses no proxy and keeps no
// connections open, because an engine that is shutting down would wait for them.
func (a address) probeClient() *http.Client {
	t := Transport(a.socket)
	t.Proxy, t.DisableKeepAlives = nil, true
	return &http.Client{Timeout: time.Second, Transport: t}
}

// randomLoopback returns a random loopback address. Linux and Windows have 16 million of them.
func randomLoopback() string {
	var b [3]byte
	_, _ = rand.Read(b[:]) // never returns an error
	return net.IPv4(127, b[0], b[1], 1+b[2]%254).String()
}

// AccessText returns a sentence for the user that says who can reach the engine that Open started
// or joined. It is empty for an endpoint supplied by the caller.
func (e *Engine) AccessText() string {
	switch {
	case e.endpointGiven:
		return ""
	case e.Socket != "":
		return "reachable by your user only"
	case e.Name == engineTitles[DynamoDBLocal]:
		return "reachable by everyone who reaches this machine: it listens on all addresses"
	}
	return "reachable by every user of this machine"
}

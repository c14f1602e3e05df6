package engine

import (
	"context"
	"crypto/rand"
	"net"
	"net/http"
	"time"
)

// A data folder holds the records of companies, but the engines authenticate nobody: they accept
// any signature, and a web page of any origin. So on Linux the engine of a folder runs in a network
// namespace of its own, where no other process has an address to call. A socket file of mode 0600
// in the folder leads to it: the process behind the socket, the proxy, sends each caller a TCP
// connection to the engine, which the kernel passes between the processes (SCM_RIGHTS). The proxy
// copies no bytes, so a request takes as long as over TCP.
//
// Where namespaces are refused, as in many containers, and on other systems, the engine listens at
// a loopback address that is drawn at random where the system has more than one: a web page cannot
// guess it. Other users of the machine can find it.

// socketFile is the name of the socket file in a data folder.
const socketFile = "engine.sock"

// socketEndpoint is the endpoint of an engine that is reached through its socket. The name never
// resolves, so a client without [Transport] gets an error instead of somebody else's server.
const socketEndpoint = "http://engine.invalid"

// address is where an engine is reached.
type address struct {
	endpoint string
	socket   string // the path of the socket file; "" for TCP
}

// Transport returns a transport for the clients of an engine; socket is [Engine.Socket]. It keeps
// more idle connections than the 2 per host of net/http's default, because parallel requests would
// otherwise open one for every call.
func Transport(socket string) *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxIdleConnsPerHost = 64
	if socket != "" {
		t.Proxy = nil
		t.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) { return dialSocket(ctx, socket) }
	}
	return t
}

// probe returns a client for one look at the engine. It uses no proxy and keeps no connection: an
// engine that ends would wait for an open one.
func (a address) probe() *http.Client {
	t := Transport(a.socket)
	t.Proxy, t.DisableKeepAlives = nil, true
	return &http.Client{Timeout: time.Second, Transport: t}
}

// drawLoopback returns a random loopback address. Linux and Windows have 16 million of them.
func drawLoopback() string {
	var b [3]byte
	_, _ = rand.Read(b[:]) // never returns an error
	return net.IPv4(127, b[0], b[1], 1+b[2]%254).String()
}

// Access says, for people, who can reach the engine that Open started or joined; "" for an endpoint
// that the caller named.
func (e *Engine) Access() string {
	switch {
	case e.given:
		return ""
	case e.Socket != "":
		return "reachable by your user only"
	case e.Name == titles[DynamoDBLocal]:
		return "reachable by everyone who reaches this machine: it listens on all addresses"
	}
	return "reachable by every user of this machine"
}

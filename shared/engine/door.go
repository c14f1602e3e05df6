package engine

import (
	"context"
	"crypto/rand"
	"net"
	"net/http"
	"time"
)

// A data folder holds the records of companies, but the engines ask nobody who calls: they accept any signature, and a page
// of any origin. So on Linux a folder's engine runs in a network namespace of its own, where no other process has an address
// to call, and is reached through the door: a socket file of mode 0600 in the folder. The process behind it, the doorkeeper,
// gives each caller a TCP connection to the engine, which the kernel passes from process to process (SCM_RIGHTS). The
// doorkeeper copies no bytes, so a request costs what it costs without a door.
//
// Where namespaces are refused, as in many containers, and on other systems, the engine listens at a loopback address that
// is drawn at random where the system has more than one: a web page cannot guess it. Other users of the machine can find it.

// doorFile is the name of the socket file in a data folder.
const doorFile = "engine.sock"

// behindDoor is the endpoint of an engine that only its door leads to. The name never resolves, so a client without
// [Transport] gets an error instead of somebody else's server.
const behindDoor = "http://engine.invalid"

// address is where an engine is reached.
type address struct {
	endpoint string
	door     string // the path of the socket file; "" for TCP
}

// Transport returns a transport for the clients of an engine; door is [Engine.Door]. It keeps more idle connections than the
// 2 per host of net/http's default, because parallel requests would otherwise open one for every call.
func Transport(door string) *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxIdleConnsPerHost = 64
	if door != "" {
		t.Proxy = nil
		t.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) { return dialDoor(ctx, door) }
	}
	return t
}

// probe returns a client for one look at the engine. It uses no proxy and keeps no connection: an engine that ends would
// wait for an open one.
func (a address) probe() *http.Client {
	t := Transport(a.door)
	t.Proxy, t.DisableKeepAlives = nil, true
	return &http.Client{Timeout: time.Second, Transport: t}
}

// drawLoopback returns a random loopback address. Linux and Windows have 16 million of them.
func drawLoopback() string {
	var b [3]byte
	_, _ = rand.Read(b[:]) // never returns an error
	return net.IPv4(127, b[0], b[1], 1+b[2]%254).String()
}

// Access says, for people, who can reach the engine that Open started or joined; "" for an endpoint that the caller named.
func (e *Engine) Access() string {
	switch {
	case e.given:
		return ""
	case e.Door != "":
		return "reachable by your user only"
	case e.Name == titles[DynamoDBLocal]:
		return "reachable by everyone who reaches this machine: it listens on all addresses"
	}
	return "reachable by every user of this machine"
}

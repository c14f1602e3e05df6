//go:build linux

package main

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"maps"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"time"
)

// relay stands between a program and the engine: it speaks TLS as DynamoDB does, makes the way as long as it is in a
// region, and counts the calls.
type relay struct {
	Address string

	server *http.Server
	rtt    time.Duration
	mu     sync.Mutex
	calls  map[string]int
	dials  int
}

// newRelay listens at the address. A nil certificate means plain HTTP.
func newRelay(address, engine string, certificate *tls.Certificate, rtt time.Duration) (*relay, error) {
	target, err := url.Parse(engine)
	if err != nil {
		return nil, fmt.Errorf("the engine's address: %w", err)
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen as the table: %w", err)
	}
	r := &relay{Address: listener.Addr().String(), rtt: rtt, calls: map[string]int{}}
	proxy := &httputil.ReverseProxy{
		Rewrite: func(p *httputil.ProxyRequest) { p.SetURL(target) },
		Transport: &http.Transport{
			MaxIdleConnsPerHost: 64, DisableCompression: true, // the engine's answer goes on as it is
		},
	}
	r.server = &http.Server{
		ReadHeaderTimeout: time.Minute, ErrorLog: log.New(io.Discard, "", 0), // programs are killed in the middle of calls
		Handler: http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
			_, call, _ := strings.Cut(request.Header.Get("X-Amz-Target"), ".")
			r.mu.Lock()
			r.calls[call]++
			r.mu.Unlock()
			proxy.ServeHTTP(w, request)
		}),
	}
	go func() {
		err := r.server.Serve(&farListener{Listener: listener, relay: r, certificate: certificate})
		if !errors.Is(err, http.ErrServerClosed) {
			panic(fmt.Sprintf("bench: the relay ended: %v", err)) // nothing measured after this would mean anything
		}
	}()
	return r, nil
}

func (r *relay) Close() { _ = r.server.Close() }

// counted returns the calls by name and the connections so far.
func (r *relay) counted() (calls map[string]int, dials int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.calls), r.dials
}

type farListener struct {
	net.Listener
	relay       *relay
	certificate *tls.Certificate
}

func (l *farListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	l.relay.mu.Lock()
	l.relay.dials++
	l.relay.mu.Unlock()
	if l.relay.rtt > 0 {
		conn = far(conn, l.relay.rtt)
	}
	if l.certificate != nil {
		conn = tls.Server(conn, &tls.Config{Certificates: []tls.Certificate{*l.certificate}})
	}
	return conn, nil
}

// far returns a connection that is as far away as rtt says: its bytes take half of it in either direction, in order,
// however many are on their way. The first ones take a whole one more, for the TCP handshake, which the kernel has done
// before anybody sees it.
func far(conn net.Conn, rtt time.Duration) net.Conn {
	near, end := net.Pipe()
	go carry(end, conn, rtt/2, rtt)
	go carry(conn, end, rtt/2, 0)
	return near
}

type parcel struct {
	due  time.Time
	data []byte
}

// parcelsMax is how many are on their way in one direction.
const parcelsMax = 1024

// carry moves bytes, each delay later, until either side ends; then it ends both.
func carry(to io.WriteCloser, from io.ReadCloser, delay, first time.Duration) {
	way := make(chan parcel, parcelsMax)
	go func() {
		defer close(way)
		for {
			buffer := make([]byte, 16<<10)
			n, err := from.Read(buffer)
			if n > 0 {
				way <- parcel{time.Now().Add(delay + first), buffer[:n]}
			}
			if first = 0; err != nil {
				return
			}
		}
	}()
	for p := range way {
		time.Sleep(time.Until(p.due))
		if _, err := to.Write(p.data); err != nil {
			break // the other side has gone
		}
	}
	_, _ = to.Close(), from.Close()
	for range way { // what nobody takes any more, so that the reader ends
	}
}

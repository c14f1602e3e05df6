//go:build linux

package speed

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"sync/atomic"
	"time"
)

// relay is a TLS server between a program and the engine. It adds the latency of a region and counts the connections.
type relay struct {
	net.Listener
	server *http.Server
	rtt    time.Duration
	tls    *tls.Config
	dials  atomic.Int64
}

func newRelay(address, engine string, certificate tls.Certificate, rtt time.Duration) (*relay, error) {
	target, err := url.Parse(engine)
	if err != nil {
		return nil, fmt.Errorf("parse the engine's address: %w", err)
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen for calls to the table: %w", err)
	}
	r := &relay{Listener: listener, rtt: rtt, tls: &tls.Config{Certificates: []tls.Certificate{certificate}}}
	r.server = &http.Server{
		ReadHeaderTimeout: time.Minute, ErrorLog: log.New(io.Discard, "", 0), // killed programs leave errors
		Handler: &httputil.ReverseProxy{
			Rewrite:   func(p *httputil.ProxyRequest) { p.SetURL(target) },
			Transport: &http.Transport{MaxIdleConnsPerHost: 64, DisableCompression: true}, // pass the response on unchanged
		},
	}
	go func() { _ = r.server.Serve(r) }() // if it fails, no program gets a response, and target.run returns an error
	return r, nil
}

func (r *relay) close() { _ = r.server.Close() }

// Accept implements net.Listener.
func (r *relay) Accept() (net.Conn, error) {
	conn, err := r.Listener.Accept()
	if err != nil {
		return nil, err
	}
	r.dials.Add(1)
	return tls.Server(far(conn, r.rtt), r.tls), nil
}

// far returns a connection with a round-trip time of rtt: bytes take half of it in each direction. The first bytes of the
// client take one rtt more, for the TCP handshake, which the kernel has already done.
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

// parcelsMax bounds the parcels in flight in one direction.
const parcelsMax = 1024

// carry copies bytes with a delay until either side is closed; then it closes both.
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
			break // the other side is closed
		}
	}
	_, _ = to.Close(), from.Close()
	for range way { // drain it, so that the reading goroutine ends
	}
}

// newAuthority creates a certificate chain like DynamoDB's for a host: a root, an intermediate and a leaf, all RSA with
// 2,048 bits. It returns the root as PEM.
func newAuthority(host string) (root []byte, leaf tls.Certificate, err error) {
	var above *x509.Certificate
	var aboveKey *rsa.PrivateKey
	for n, name := range []string{"prove root", "prove intermediate", host} {
		key, err := rsa.GenerateKey(rand.Reader, 2048)
		if err != nil {
			return nil, leaf, fmt.Errorf("create a key: %w", err)
		}
		c := &x509.Certificate{
			SerialNumber: big.NewInt(int64(n + 1)), Subject: pkix.Name{CommonName: name}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().AddDate(0, 0, 2),
			IsCA: name != host, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
		}
		if name == host {
			c.KeyUsage, c.DNSNames, c.ExtKeyUsage = x509.KeyUsageDigitalSignature, []string{host}, []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
		}
		if above == nil {
			above, aboveKey = c, key
		}
		der, err := x509.CreateCertificate(rand.Reader, c, above, &key.PublicKey, aboveKey)
		if err != nil {
			return nil, leaf, fmt.Errorf("sign %s: %w", name, err)
		}
		if above, aboveKey = c, key; n == 0 {
			root = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
			continue
		}
		leaf.Certificate, leaf.PrivateKey = append([][]byte{der}, leaf.Certificate...), key
	}
	return root, leaf, nil
}

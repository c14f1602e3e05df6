package table

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	_ "embed"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"time"
)

// Before its first TLS connection, a Go program parses every root certificate of the system, well
// over a hundred. With 128 MB of memory that takes longer than the rest of a cold start. The
// endpoints of AWS chain to five roots of Amazon Trust Services, which are embedded here.
//
// These roots only save time. If they do not verify a server (Amazon rotated its roots, or there is
// a proxy), the connection is retried with the system's roots, which every later connection then
// uses. A server that neither set verifies is rejected.

//go:embed amazon.pem
var amazonRootsPEM []byte

func amazonRoots() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(amazonRootsPEM) // a test checks that all of them parse
	return pool
}

// dialTimeout bounds a connection attempt. A call times out earlier, so this only ends attempts
// that no call is waiting for any more.
const dialTimeout = 5 * time.Second

// dialer opens TLS connections. It is safe for concurrent use.
type dialer struct {
	trusted, fallback *x509.CertPool
	usesFallback      atomic.Bool // whether the fallback has verified a server that the trusted roots did not verify
}

// newDialer returns a dialer that uses fallback if trusted does not verify a server. nil means the
// system's roots, which are loaded when first needed.
func newDialer(trusted, fallback *x509.CertPool) *dialer {
	return &dialer{trusted: trusted, fallback: fallback}
}

// DialTLSContext implements http.Transport.DialTLSContext: it returns after the handshake.
func (d *dialer) DialTLSContext(ctx context.Context, network, address string) (net.Conn, error) {
	if !d.usesFallback.Load() {
		conn, err := dial(ctx, network, address, d.trusted)
		var unverified *tls.CertificateVerificationError
		if !errors.As(err, &unverified) {
			return conn, err
		}
	}
	conn, err := dial(ctx, network, address, d.fallback)
	if err == nil {
		d.usesFallback.Store(true)
	}
	return conn, err
}

func dial(ctx context.Context, network, address string, roots *x509.CertPool) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	tlsDialer := tls.Dialer{Config: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}
	return tlsDialer.DialContext(ctx, network, address) // the server's name is taken from the address
}

// Root is a root certificate that Amazon Trust Services publishes.
type Root struct {
	Name string
	Key  string // SHA-256 of the subject public key information, which a reissued certificate keeps
}

// PublishedRoots returns the roots that https://www.amazontrust.com/repository/ lists for programs
// with their own trust store.
func PublishedRoots() []Root {
	return []Root{
		{"Amazon Root CA 1", "fbe3018031f9586bcbf41727e417b7d1c45c2f47f93be372a17b96b50757d5a2"},
		{"Amazon Root CA 2", "7f4296fc5b6a4e3b35d3c369623e364ab1af381d8fa7121533c9d6c633ea2461"},
		{"Amazon Root CA 3", "36abc32656acfc645c61b71613c4bf21c787f5cabbee48348d58597803d7abc9"},
		{"Amazon Root CA 4", "f7ecded5c66047d28ed6466b543c40e0743abe81d109254dcf845d4c2c7853c5"},
		{"Starfield Services Root Certificate Authority - G2", "2b071c59a0a0ae76b0eadb2bad23bad4580b69c3601b630c2eaf0613afa83f92"},
	}
}

// RootKey returns the Root.Key of a certificate.
func RootKey(c *x509.Certificate) string {
	sum := sha256.Sum256(c.RawSubjectPublicKeyInfo)
	return hex.EncodeToString(sum[:])
}

// CheckRoots checks a PEM file of roots. They must be the published ones in the published order,
// self-signed, and valid from now until at least a year from now, which leaves time to refresh them
// (scripts/gen -roots).
func CheckRoots(text []byte, now time.Time) error {
	published := PublishedRoots()
	var found []*x509.Certificate
	for {
		block, rest := pem.Decode(text)
		if block == nil {
			break
		}
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return fmt.Errorf("root %d: %w", len(found)+1, err)
		}
		found, text = append(found, c), rest
	}
	if len(found) != len(published) {
		return fmt.Errorf("there are %d roots, want %d", len(found), len(published))
	}
	for i, c := range found {
		switch {
		case c.Subject.CommonName != published[i].Name || RootKey(c) != published[i].Key:
			return fmt.Errorf("root %d is %s with the key %s, want %s with %s", i+1, c.Subject.CommonName, RootKey(c), published[i].Name, published[i].Key)
		case c.CheckSignatureFrom(c) != nil:
			return fmt.Errorf("%s is not self-signed", c.Subject.CommonName)
		case now.Before(c.NotBefore) || now.AddDate(1, 0, 0).After(c.NotAfter):
			return fmt.Errorf("%s is valid from %s to %s only: refresh it", c.Subject.CommonName, c.NotBefore.Format(time.DateOnly), c.NotAfter.Format(time.DateOnly))
		}
	}
	return nil
}

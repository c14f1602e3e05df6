// Package roots opens TLS connections to AWS without reading the system's certificates. A Go program parses every root
// of the system before its first connection, well over a hundred, which at 128 MB takes longer than all the rest of a
// cold start together. The endpoints of AWS chain to five roots of Amazon Trust Services; those are embedded here.
//
// They are a short cut, never a gate: where they do not verify a server, because Amazon rotated its roots, or a proxy or
// another cloud is in between, the connection is made again with the system's roots, and every later one with those at
// once. A server that neither verifies is refused.
package roots

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

//go:embed amazon.pem
var amazon []byte

// Amazon returns the embedded roots.
func Amazon() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(amazon) // Check, which a test calls, tells whether they are whole
	return pool
}

// dialTimeout bounds the two steps of a connection that nobody waits for any more: a call to the table gives up earlier.
const dialTimeout = 5 * time.Second

// Dialer opens TLS connections. Safe for concurrent use.
type Dialer struct {
	trusted, fallback *x509.CertPool
	rotated           atomic.Bool // the fallback verified what the trusted roots did not
}

// NewDialer returns a dialer that asks fallback where trusted does not verify a server. nil is the system's roots,
// which are read when they are first needed.
func NewDialer(trusted, fallback *x509.CertPool) *Dialer {
	return &Dialer{trusted: trusted, fallback: fallback}
}

// DialTLSContext is for http.Transport. It returns after the handshake.
func (d *Dialer) DialTLSContext(ctx context.Context, network, address string) (net.Conn, error) {
	if !d.rotated.Load() {
		conn, err := dial(ctx, network, address, d.trusted)
		var unverified *tls.CertificateVerificationError
		if !errors.As(err, &unverified) {
			return conn, err
		}
	}
	conn, err := dial(ctx, network, address, d.fallback)
	if err == nil {
		d.rotated.Store(true)
	}
	return conn, err
}

func dial(ctx context.Context, network, address string, roots *x509.CertPool) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	dialer := tls.Dialer{Config: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}
	return dialer.DialContext(ctx, network, address) // the server's name is that of the address
}

// Root is a root that Amazon Trust Services publishes.
type Root struct {
	Name string
	Key  string // SHA-256 of the subject public key information, which stays when a certificate is issued anew
}

// Published returns what https://www.amazontrust.com/repository/ lists for relying parties with a trust store of their
// own.
func Published() []Root {
	return []Root{
		{"Amazon Root CA 1", "fbe3018031f9586bcbf41727e417b7d1c45c2f47f93be372a17b96b50757d5a2"},
		{"Amazon Root CA 2", "7f4296fc5b6a4e3b35d3c369623e364ab1af381d8fa7121533c9d6c633ea2461"},
		{"Amazon Root CA 3", "36abc32656acfc645c61b71613c4bf21c787f5cabbee48348d58597803d7abc9"},
		{"Amazon Root CA 4", "f7ecded5c66047d28ed6466b543c40e0743abe81d109254dcf845d4c2c7853c5"},
		{"Starfield Services Root Certificate Authority - G2", "2b071c59a0a0ae76b0eadb2bad23bad4580b69c3601b630c2eaf0613afa83f92"},
	}
}

// KeyOf is the Root.Key of a certificate.
func KeyOf(c *x509.Certificate) string {
	sum := sha256.Sum256(c.RawSubjectPublicKeyInfo)
	return hex.EncodeToString(sum[:])
}

// Check returns what is wrong with the embedded roots: they must be the published ones in their order, each signed by
// itself and valid from now until a year from now, so that there is time to refresh them (scripts/gen -roots).
func Check(now time.Time) error { return CheckText(amazon, now) }

// CheckText is Check of roots that are not embedded yet.
func CheckText(text []byte, now time.Time) error {
	published := Published()
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
		case c.Subject.CommonName != published[i].Name || KeyOf(c) != published[i].Key:
			return fmt.Errorf("root %d is %s with the key %s, want %s with %s", i+1, c.Subject.CommonName, KeyOf(c), published[i].Name, published[i].Key)
		case c.CheckSignatureFrom(c) != nil:
			return fmt.Errorf("%s is not signed by itself", c.Subject.CommonName)
		case now.Before(c.NotBefore) || now.AddDate(1, 0, 0).After(c.NotAfter):
			return fmt.Errorf("%s is valid from %s to %s only: refresh it", c.Subject.CommonName, c.NotBefore.Format(time.DateOnly), c.NotAfter.Format(time.DateOnly))
		}
	}
	return nil
}

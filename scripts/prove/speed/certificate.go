//go:build linux

package main

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"time"
)

// authority is a chain as DynamoDB shows one: a root, an intermediate and a leaf, all RSA with 2,048 bits.
type authority struct {
	Root []byte // PEM
	Leaf tls.Certificate
}

// newAuthority makes a chain for the host that is thrown away with the program.
func newAuthority(host string) (*authority, error) {
	now := time.Now()
	template := func(serial int64, name string, isCA bool) *x509.Certificate {
		c := &x509.Certificate{
			SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: name},
			NotBefore: now.Add(-time.Hour), NotAfter: now.AddDate(0, 0, 2), IsCA: isCA, BasicConstraintsValid: true,
			KeyUsage: x509.KeyUsageDigitalSignature,
		}
		if isCA {
			c.KeyUsage = x509.KeyUsageCertSign
			return c
		}
		c.DNSNames, c.ExtKeyUsage = []string{host}, []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
		return c
	}
	root, err := certify(template(1, "bench root", true), nil)
	if err != nil {
		return nil, err
	}
	between, err := certify(template(2, "bench intermediate", true), root)
	if err != nil {
		return nil, err
	}
	leaf, err := certify(template(3, host, false), between)
	if err != nil {
		return nil, err
	}
	return &authority{
		Root: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: root.der}),
		Leaf: tls.Certificate{Certificate: [][]byte{leaf.der, between.der}, PrivateKey: leaf.key},
	}, nil
}

type certified struct {
	der      []byte
	key      *rsa.PrivateKey
	template *x509.Certificate
}

// certify signs a template with the key of the one above it, with its own when there is none.
func certify(template *x509.Certificate, above *certified) (*certified, error) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return nil, fmt.Errorf("make a key: %w", err)
	}
	c := &certified{key: key, template: template}
	if above == nil {
		above = c
	}
	c.der, err = x509.CreateCertificate(rand.Reader, template, above.template, &key.PublicKey, above.key)
	if err != nil {
		return nil, fmt.Errorf("sign %s: %w", template.Subject.CommonName, err)
	}
	return c, nil
}

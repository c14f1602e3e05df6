package main

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"os"
	"time"

	"growthworkspace/shared/table"
)

// rootsFile contains the root certificates of Amazon Trust Services that the functions embed.
const rootsFile = "shared/table/amazon.pem"

// refreshRoots copies the published root certificates from one PEM file to another. The source
// need not be trusted: refreshRoots copies only certificates whose public keys are on the published
// list, and the result must pass table.CheckRoots. It writes nothing if one of the roots is
// missing.
func refreshRoots(from, to string, now time.Time) error {
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	out, err := publishedRoots(text)
	if err != nil {
		return err
	}
	if err := table.CheckRoots(out, now); err != nil {
		return err
	}
	fmt.Println("wrote", to)
	return os.WriteFile(to, out, 0o644)
}

// publishedRoots returns the certificates in text that are published roots, in the published order.
func publishedRoots(text []byte) ([]byte, error) {
	found := map[string]*x509.Certificate{}
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			continue // the file may contain other certificates that Go cannot parse
		}
		if known := found[table.RootKey(c)]; c.CheckSignatureFrom(c) == nil && (known == nil || c.NotAfter.After(known.NotAfter)) {
			found[table.RootKey(c)] = c
		}
	}
	var out bytes.Buffer
	for _, root := range table.PublishedRoots() {
		c := found[root.Key]
		if c == nil {
			return nil, fmt.Errorf("the file has no certificate of %s", root.Name)
		}
		fmt.Fprintf(&out, "# %s, valid to %s\n", c.Subject.CommonName, c.NotAfter.Format(time.DateOnly))
		if err := pem.Encode(&out, &pem.Block{Type: "CERTIFICATE", Bytes: c.Raw}); err != nil {
			return nil, fmt.Errorf("encode %s: %w", root.Name, err)
		}
	}
	return out.Bytes(), nil
}

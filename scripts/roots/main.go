// Command roots keeps the roots of Amazon Trust Services that the functions embed:
//
//	go run ./scripts/roots                  writes shared/table/amazon.pem anew from the system's certificates
//	go run ./scripts/roots --from FILE      from a file of certificates in PEM, such as those of
//	                                        https://www.amazontrust.com/repository/ one after the other
//
// Only certificates whose public keys are on the published list (shared/table) are taken, whatever the source has, so
// that no source needs to be trusted. It fails, and writes nothing, when one of the list is missing, and when what it
// would write does not pass the check that the tests run.
package main

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"time"

	"growthworkspace/shared/table"
)

// target is where the package embeds the roots from; the command runs in the root of the repository.
const target = "shared/table/amazon.pem"

// bundles are where systems keep their certificates: Debian, Fedora and AL2023, Alpine and macOS.
var bundles = []string{"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/cert.pem"}

func main() {
	from := flag.String("from", "", "a file of certificates in PEM (default: the system's)")
	flag.Parse()
	if flag.NArg() > 0 {
		fmt.Fprintf(os.Stderr, "roots: unknown argument %q; a file is named with --from\n", flag.Arg(0))
		os.Exit(2)
	}
	if err := run(*from, target, time.Now()); err != nil {
		fmt.Fprintln(os.Stderr, "roots:", err)
		os.Exit(1)
	}
	fmt.Println("wrote", target)
}

func run(from, to string, now time.Time) error {
	text, err := read(from)
	if err != nil {
		return err
	}
	out, err := extract(text)
	if err != nil {
		return err
	}
	if err := table.CheckRoots(out, now); err != nil {
		return err
	}
	return os.WriteFile(to, out, 0o644)
}

func read(from string) ([]byte, error) {
	if from != "" {
		return os.ReadFile(from)
	}
	for _, name := range bundles {
		text, err := os.ReadFile(name)
		if !errors.Is(err, fs.ErrNotExist) {
			return text, err
		}
	}
	return nil, fmt.Errorf("no certificates in %v; name a file with --from", bundles)
}

// extract returns the published roots among the certificates, in the published order.
func extract(text []byte) ([]byte, error) {
	found := map[string]*x509.Certificate{}
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			continue // not one of ours: a system may have certificates that Go does not read
		}
		if known := found[table.RootKey(c)]; c.CheckSignatureFrom(c) == nil && (known == nil || c.NotAfter.After(known.NotAfter)) {
			found[table.RootKey(c)] = c
		}
	}
	var out bytes.Buffer
	for _, root := range table.PublishedRoots() {
		c := found[root.Key]
		if c == nil {
			return nil, fmt.Errorf("%s is not among the certificates", root.Name)
		}
		fmt.Fprintf(&out, "# %s, valid to %s\n", c.Subject.CommonName, c.NotAfter.Format(time.DateOnly))
		if err := pem.Encode(&out, &pem.Block{Type: "CERTIFICATE", Bytes: c.Raw}); err != nil {
			return nil, fmt.Errorf("encode %s: %w", root.Name, err)
		}
	}
	return out.Bytes(), nil
}

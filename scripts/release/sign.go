package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// sumsName is the name of the file with the digests of all other files. `sha256sum --check` reads
// it.
const sumsName = "SHA256SUMS"

// signatureNamespace is the purpose of a signature. Verification rejects signatures that were
// created for a different purpose.
const signatureNamespace = "growth-workspace-release"

// writeSums writes the digests. If there is a key, it also signs them with ssh-keygen. This tool is
// part of Linux, macOS and Windows, so people can verify a signature without installing anything,
// and no service is involved. Ed25519 signatures are deterministic.
func (r *release) writeSums(ctx context.Context) error {
	entries, err := os.ReadDir(r.out)
	if err != nil {
		return err
	}
	var lines []string
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(r.out, e.Name()))
		if err != nil {
			return err
		}
		sum := sha256.Sum256(text)
		lines = append(lines, hex.EncodeToString(sum[:])+"  "+e.Name())
	}
	slices.SortFunc(lines, func(a, b string) int { return strings.Compare(a[66:], b[66:]) })
	if err := r.write(sumsName, "the digests of all files", []byte(strings.Join(lines, "\n")+"\n")); err != nil {
		return err
	}
	if r.signingKey == "" {
		return nil
	}
	if _, err := output(ctx, "ssh-keygen", "-Y", "sign", "-q", "-f", r.signingKey, "-n", signatureNamespace, filepath.Join(r.out, sumsName)); err != nil {
		return fmt.Errorf("sign: %w", err)
	}
	return nil
}

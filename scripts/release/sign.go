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

// sumsName is the file with the digests of all other files, for sha256sum --check.
const sumsName = "SHA256SUMS"

// namespace is what a signature is for, so that none of another purpose is accepted.
const namespace = "growth-workspace-release"

// writeSums writes the digests and, with a key, their signature. The tool is ssh-keygen: it is part of
// Linux, macOS and Windows, so that people can verify without an installation, and its signatures need
// no service. Those of an Ed25519 key are the same each time.
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
	if r.sign == "" {
		return nil
	}
	if _, err := output(ctx, "ssh-keygen", "-Y", "sign", "-q", "-f", r.sign, "-n", namespace, filepath.Join(r.out, sumsName)); err != nil {
		return fmt.Errorf("sign: %w", err)
	}
	return nil
}

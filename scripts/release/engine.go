package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"crypto/sha512"
	_ "embed"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"growthworkspace/shared/localdb"
)

//go:embed engine-LICENSE.txt
var engineLicence []byte

// fetchEngine returns the engine's binary for a platform, taken from its pinned package. It returns
// nil if no package is pinned for the platform.
func (r *release) fetchEngine(ctx context.Context, platform string) ([]byte, error) {
	p, version := localdb.PackageFor(platform)
	if p.Integrity == "" {
		return nil, nil
	}
	dir := filepath.Join(r.tmp, "engine-"+strings.ReplaceAll(platform, "/", "-"))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	// npm only compares the package with the digest in the registry. unpackEngine compares it with
	// the pinned digest, to detect a change to the package in the registry.
	if _, err := outputIn(ctx, dir, nil, "npm", "pack", p.Name+"@"+version, "--silent", "--ignore-scripts"); err != nil {
		return nil, err
	}
	paths, err := filepath.Glob(filepath.Join(dir, "*.tgz"))
	if err == nil && len(paths) != 1 {
		err = fmt.Errorf("npm pack wrote %d packages, want 1", len(paths))
	}
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(paths[0])
	if err != nil {
		return nil, err
	}
	goos, _, _ := strings.Cut(platform, "/")
	return unpackEngine(text, p, goos)
}

// unpackEngine returns the binary in a package. It compares the package and the binary with their
// pinned digests.
func unpackEngine(packed []byte, p localdb.Package, goos string) ([]byte, error) {
	sum := sha512.Sum512(packed)
	if got := "sha512-" + base64.StdEncoding.EncodeToString(sum[:]); got != p.Integrity {
		return nil, fmt.Errorf("the package %s has the digest %s, not the pinned %s", p.Name, got, p.Integrity)
	}
	name := "package/" + localdb.BinaryName(goos)
	zipped, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, fmt.Errorf("the package %s: %w", p.Name, err)
	}
	archive := tar.NewReader(zipped)
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("the package %s has no %s", p.Name, name)
		}
		if err != nil {
			return nil, fmt.Errorf("the package %s: %w", p.Name, err)
		}
		if header.Name != name {
			continue
		}
		binary, err := io.ReadAll(archive)
		if err != nil {
			return nil, fmt.Errorf("the package %s: %w", p.Name, err)
		}
		sum := sha256.Sum256(binary)
		if got := hex.EncodeToString(sum[:]); got != p.SHA256 {
			return nil, fmt.Errorf("%s of %s has the digest %s, not the pinned %s", name, p.Name, got, p.SHA256)
		}
		return binary, nil
	}
}

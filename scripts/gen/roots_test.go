package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const embeddedRoots = "../../shared/table/amazon.pem"

// Ensure refreshRoots reproduces the embedded file from a file with the roots and other
// certificates. It writes nothing if one of the roots is missing.
func TestRefreshRoots(t *testing.T) {
	text, err := os.ReadFile(embeddedRoots)
	if err != nil {
		t.Fatal(err)
	}
	now, dir := time.Date(2026, 8, 11, 0, 0, 0, 0, time.UTC), t.TempDir()
	from, to := filepath.Join(dir, "from.pem"), filepath.Join(dir, "to.pem")
	second := bytes.Index(text[1:], []byte("# ")) + 1
	broken := []byte("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")
	if err := os.WriteFile(from, bytes.Join([][]byte{broken, text[second:], text[:second]}, nil), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := refreshRoots(from, to, now); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(to); err != nil || !bytes.Equal(got, text) {
		t.Errorf("the refresh differs from the embedded file: %v", err)
	}

	if err := os.WriteFile(from, text[second:], 0o600); err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(dir, "other.pem")
	if err := refreshRoots(from, other, now); err == nil || !strings.Contains(err.Error(), "no certificate of Amazon Root CA 1") {
		t.Errorf("%v, want the missing root named", err)
	}
	if _, err := os.Stat(other); err == nil {
		t.Error("a refresh that failed wrote a file")
	}
}

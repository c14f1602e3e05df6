package main

import (
	"archive/zip"
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Ensure the zip depends only on the program's bytes, not on its time, mode or folder.
func TestSameProgramSameZip(t *testing.T) {
	t.Parallel()
	program := bytes.Repeat([]byte("program "), 1000)
	var zips [][]byte
	for _, file := range []struct {
		mode os.FileMode
		time time.Time
	}{
		{0o755, time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)},
		{0o600, time.Date(2030, 6, 7, 8, 9, 10, 0, time.UTC)},
	} {
		dir := t.TempDir()
		from, to := filepath.Join(dir, "bootstrap"), filepath.Join(dir, "out.zip")
		if err := os.WriteFile(from, program, file.mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(from, file.time, file.time); err != nil {
			t.Fatal(err)
		}
		if _, _, err := pack(from, to); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(to)
		if err != nil {
			t.Fatal(err)
		}
		zips = append(zips, text)
	}
	if !bytes.Equal(zips[0], zips[1]) {
		t.Error("the same program gave two zips")
	}
	archive, err := zip.NewReader(bytes.NewReader(zips[0]), int64(len(zips[0])))
	if err != nil || len(archive.File) != 1 {
		t.Fatalf("%v, %v", archive, err)
	}
	entry := archive.File[0]
	if entry.Name != "bootstrap" || entry.Mode() != 0o755 {
		t.Errorf("the entry is %s with mode %s; Lambda starts an executable bootstrap", entry.Name, entry.Mode())
	}
	r, err := entry.Open()
	if err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, program) {
		t.Errorf("the entry has %d bytes, %v", len(got), err)
	}
}

// Ensure the error of a missing program has its path.
func TestErrMissing(t *testing.T) {
	t.Parallel()
	from := filepath.Join(t.TempDir(), "bootstrap")
	if _, _, err := pack(from, from+".zip"); err == nil || !bytes.Contains([]byte(err.Error()), []byte(from)) {
		t.Errorf("%v does not name %s", err, from)
	}
}

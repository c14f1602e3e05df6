package main

import (
	"archive/zip"
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Ensure the zip depends only on the program's bytes, and not on its modification time, mode or
// folder.
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

// Ensure the error for a missing program contains its path.
func TestErrMissing(t *testing.T) {
	t.Parallel()
	from := filepath.Join(t.TempDir(), "bootstrap")
	if _, _, err := pack(from, from+".zip"); err == nil || !bytes.Contains([]byte(err.Error()), []byte(from)) {
		t.Errorf("%v does not name %s", err, from)
	}
}

// Ensure pack keeps an earlier zip of the same program, and replaces any other file.
func TestEarlierZip(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	from, to := filepath.Join(dir, "bootstrap"), filepath.Join(dir, "out.zip")
	program := []byte("program")
	zipped := func(header zip.FileHeader) string {
		var out bytes.Buffer
		archive := zip.NewWriter(&out)
		entry, err := archive.CreateHeader(&header)
		if err == nil {
			_, err = entry.Write(program)
		}
		if err := errors.Join(err, archive.Close()); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	if err := os.WriteFile(from, program, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, _, err := pack(from, to); err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile(to)
	if err != nil {
		t.Fatal(err)
	}
	for name, earlier := range map[string]string{
		"no zip":     "junk",
		"cut":        string(want[:len(want)/2]),
		"other name": zipped(zip.FileHeader{Name: "program", Modified: zipEpoch}),
		"other mode": zipped(zip.FileHeader{Name: entryName, Modified: zipEpoch}),
	} {
		if err := os.WriteFile(to, []byte(earlier), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, _, err := pack(from, to); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(to); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: the zip was not replaced: %v", name, err)
		}
	}
	old := time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, text := range []string{"program", "another"} {
		if err := errors.Join(os.WriteFile(from, []byte(text), 0o755), os.Chtimes(to, old, old)); err != nil {
			t.Fatal(err)
		}
		if _, _, err := pack(from, to); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(to)
		if err != nil || info.ModTime().Equal(old) != (text == "program") {
			t.Errorf("%s: written again: %v, %v", text, !info.ModTime().Equal(old), err)
		}
	}
}

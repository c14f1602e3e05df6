// Command pack writes the zip of one Lambda function: go run ./scripts/pack BOOTSTRAP ZIP.
//
// The zip is reproducible: the same program always gives the same bytes, because the only entry has
// a fixed name, time and mode. The command prints the size of the zip and its SHA-256 in base64. To
// find out whether a commit is deployed, compare this SHA-256 with the CodeSha256 of the deployed
// function.
package main

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"os"
	"time"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: go run ./scripts/pack BOOTSTRAP ZIP")
		os.Exit(2)
	}
	size, sum, err := pack(os.Args[1], os.Args[2])
	if err != nil {
		fmt.Fprintln(os.Stderr, "pack:", err)
		os.Exit(1)
	}
	fmt.Printf("%10d  %s\n", size, sum)
}

// pack writes a zip file to zipPath. Its only entry is the program at programPath. The entry is
// named "bootstrap", because Lambda starts the file with that name. pack returns the size of the
// zip and its SHA-256 in base64, which Lambda shows as CodeSha256.
func pack(programPath, zipPath string) (size int, sum string, err error) {
	program, err := os.ReadFile(programPath)
	if err != nil {
		return 0, "", fmt.Errorf("read the program: %w", err)
	}
	packed, err := os.ReadFile(zipPath)
	if err != nil || !containsProgram(packed, program) {
		var out bytes.Buffer
		if err := writeZip(&out, program); err != nil {
			return 0, "", fmt.Errorf("create the zip of %s: %w", programPath, err)
		}
		packed = out.Bytes()
		if err := os.WriteFile(zipPath, packed, 0o644); err != nil {
			return 0, "", fmt.Errorf("write the zip: %w", err)
		}
	}
	hash := sha256.Sum256(packed)
	return len(packed), base64.StdEncoding.EncodeToString(hash[:]), nil
}

// containsProgram reports whether packed, the zip of an earlier build, already contains the
// program. If it does, there is no need to compress the program again: the result depends only on
// the program and on the version of Go, which is part of the program.
func containsProgram(packed, program []byte) bool {
	archive, err := zip.NewReader(bytes.NewReader(packed), int64(len(packed)))
	if err != nil || len(archive.File) != 1 {
		return false
	}
	entry := archive.File[0]
	if entry.Name != entryName || entry.Mode() != entryMode || !entry.Modified.Equal(zipEpoch) || entry.UncompressedSize64 != uint64(len(program)) {
		return false
	}
	r, err := entry.Open()
	if err != nil {
		return false
	}
	earlier, err := io.ReadAll(r)
	return err == nil && bytes.Equal(earlier, program)
}

// The entry of the zip. Lambda starts an executable named "bootstrap".
const (
	entryName = "bootstrap"
	entryMode = os.FileMode(0o755)
)

// zipEpoch is the earliest time that the zip format can represent.
var zipEpoch = time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)

func writeZip(w io.Writer, program []byte) error {
	archive := zip.NewWriter(w)
	archive.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) {
		return flate.NewWriter(w, flate.BestCompression)
	})
	header := &zip.FileHeader{Name: entryName, Method: zip.Deflate, Modified: zipEpoch}
	header.SetMode(entryMode)
	entry, err := archive.CreateHeader(header)
	if err != nil {
		return err
	}
	if _, err := entry.Write(program); err != nil {
		return err
	}
	return archive.Close()
}

package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"cmp"
	"compress/flate"
	"compress/gzip"
	"io"
	"os"
	"slices"
	"strings"
	"time"
)

// entry is a file in an archive, or a folder if its name ends with a slash.
type entry struct {
	name string
	text []byte
	mode int64 // 0 means 0644
	user int
}

// tarGz returns an archive with the files in one folder. It returns the same bytes for the same
// files and the same time.
func tarGz(folder string, files []entry, at time.Time) ([]byte, error) {
	text, err := tarOf(inFolder(folder, files), at)
	if err != nil {
		return nil, err
	}
	return gzipBytes(text)
}

func inFolder(folder string, files []entry) []entry {
	files = slices.Clone(files)
	for i := range files {
		files[i].name = folder + "/" + files[i].name
	}
	return files
}

// zipArchive does the same as tarGz in the zip format.
func zipArchive(folder string, files []entry, at time.Time) ([]byte, error) {
	var out bytes.Buffer
	archive := zip.NewWriter(&out)
	archive.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) { return flate.NewWriter(w, flate.BestCompression) })
	for _, f := range inFolder(folder, files) {
		header := &zip.FileHeader{Name: f.name, Method: zip.Deflate, Modified: at}
		header.SetMode(os.FileMode(cmp.Or(f.mode, 0o644)))
		w, err := archive.CreateHeader(header)
		if err != nil {
			return nil, err
		}
		if _, err := w.Write(f.text); err != nil {
			return nil, err
		}
	}
	if err := archive.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

func tarOf(files []entry, at time.Time) ([]byte, error) {
	var out bytes.Buffer
	archive := tar.NewWriter(&out)
	for _, f := range files {
		header := &tar.Header{Name: f.name, Mode: cmp.Or(f.mode, 0o644), Uid: f.user, Gid: f.user, Size: int64(len(f.text)), ModTime: at, Format: tar.FormatUSTAR}
		if strings.HasSuffix(f.name, "/") {
			header.Typeflag = tar.TypeDir
		}
		if err := archive.WriteHeader(header); err != nil {
			return nil, err
		}
		if _, err := archive.Write(f.text); err != nil {
			return nil, err
		}
	}
	if err := archive.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

func gzipBytes(text []byte) ([]byte, error) {
	var out bytes.Buffer
	w, err := gzip.NewWriterLevel(&out, gzip.BestCompression) // do not set the time in the header: the same files must give the same bytes
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(text); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

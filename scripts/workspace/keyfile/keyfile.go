// Package keyfile keeps secrets in files that only their owner can read.
package keyfile

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

// Read decodes a file and reports whether it exists. It refuses a file that others can read: its key is no secret any more.
func Read(file string, v any) (found bool, err error) {
	f, err := os.Open(file)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read the key: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return false, fmt.Errorf("read the key: %w", err)
	}
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		return false, fmt.Errorf("%s can be read by others: run chmod 600 on it, and rotate the key that it holds", file)
	}
	if err := json.NewDecoder(f).Decode(v); err != nil {
		return false, fmt.Errorf("%s does not read: run `workspace login` again", file)
	}
	return true, nil
}

// Write writes the whole file or nothing.
func Write(file string, v any) error {
	dir := filepath.Dir(file)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("keep the key: %w", err)
	}
	f, err := os.CreateTemp(dir, ".key-*") // readable by its owner only
	if err != nil {
		return fmt.Errorf("keep the key: %w", err)
	}
	err = errors.Join(json.NewEncoder(f).Encode(v), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), file)
	}
	if err != nil {
		_ = os.Remove(f.Name())
		return fmt.Errorf("keep the key: %w", err)
	}
	return nil
}

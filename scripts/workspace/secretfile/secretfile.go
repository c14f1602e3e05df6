// Package secretfile stores keys and exported records in files that only the file's owner can read.
package secretfile

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

// Read decodes a key file into v and reports whether it exists. It returns an error for a file that
// others can read, because its key is no longer secret.
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
		return false, fmt.Errorf("%s can be read by others: run chmod 600 on it, and rotate its key", file)
	}
	if err := json.NewDecoder(f).Decode(v); err != nil {
		return false, fmt.Errorf("%s is not a key file: its content is damaged", file)
	}
	return true, nil
}

// Write stores a key as JSON. It creates the folder if it does not exist.
func Write(file string, v any) error {
	err := os.MkdirAll(filepath.Dir(file), 0o700)
	if err == nil {
		err = Create(file, func(w io.Writer) error { return json.NewEncoder(w).Encode(v) })
	}
	if err != nil {
		return fmt.Errorf("store the key: %w", err)
	}
	return nil
}

// ownerOnly is the mode of a file that os.CreateTemp creates.
const ownerOnly fs.FileMode = 0o600

// Create atomically writes a file that only its owner can read. The file is either complete or
// missing.
func Create(file string, write func(io.Writer) error) error {
	return CreateWithMode(file, ownerOnly, write)
}

// CreateWithMode does the same as Create for a file with the given mode.
func CreateWithMode(file string, mode fs.FileMode, write func(io.Writer) error) error {
	f, err := os.CreateTemp(filepath.Dir(file), ".*.tmp")
	if err != nil {
		return err
	}
	err = write(f)
	if err == nil {
		err = f.Sync()
	}
	err = errors.Join(err, f.Close())
	if err == nil && mode != ownerOnly { // some volumes do not support changing the mode
		err = os.Chmod(f.Name(), mode)
	}
	if err == nil {
		err = os.Rename(f.Name(), file)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}

// SecretSaver returns a function that writes a key's secret to a separate file below dir and
// returns the file's name. A later secret for the same key overwrites the file.
func SecretSaver(dir string) func(keyID, secret string) (file string, err error) {
	return func(keyID, secret string) (string, error) {
		if !filepath.IsLocal(keyID) || filepath.Base(keyID) != keyID {
			return "", fmt.Errorf("the id %q cannot be a file name", keyID)
		}
		folder := filepath.Join(dir, "secrets")
		if err := os.MkdirAll(folder, 0o700); err != nil {
			return "", fmt.Errorf("store the secret: %w", err)
		}
		file := filepath.Join(folder, keyID)
		err := Create(file, func(w io.Writer) error { _, err := fmt.Fprintln(w, secret); return err })
		if err != nil {
			return "", fmt.Errorf("store the secret: %w", err)
		}
		return file, nil
	}
}

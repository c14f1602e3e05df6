//go:build unix

// Package filelock provides locks that only one process on a machine can hold at a time.
package filelock

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// Try locks the file at path, and creates it if it does not exist. It returns no file and no error
// if another process holds the lock. The lock lasts until the file is closed, including all copies
// in child processes. The file is never removed, because two processes could then lock two files
// with the same name.
func Try(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err == nil {
		return f, nil
	}
	_ = f.Close()
	if errors.Is(err, syscall.EWOULDBLOCK) || errors.Is(err, syscall.EINTR) {
		return nil, nil
	}
	return nil, fmt.Errorf("%s: %w", path, err)
}

// Package filelock provides locks that only one process on a machine can hold at a time.
package filelock

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

const errSharingViolation = syscall.Errno(32)

// Try locks the file at path, and creates it if it does not exist. It returns no file and no error
// if another process holds the lock. Only one process can open the file, so a child process shares
// the lock only if it inherits the handle.
func Try(path string) (*os.File, error) {
	name, err := syscall.UTF16PtrFromString(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	h, err := syscall.CreateFile(name, syscall.GENERIC_READ|syscall.GENERIC_WRITE, 0, nil,
		syscall.OPEN_ALWAYS, syscall.FILE_ATTRIBUTE_NORMAL, 0)
	if errors.Is(err, errSharingViolation) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return os.NewFile(uintptr(h), path), nil
}

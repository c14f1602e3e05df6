//go:build unix

package engine

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

func terminate(p *os.Process) error { return p.Signal(syscall.SIGTERM) }

// alive tells whether a process has the id, whoever it belongs to.
func alive(pid int) bool {
	err := syscall.Kill(pid, 0)
	return err == nil || errors.Is(err, syscall.EPERM)
}

// fileLock is a lock that the system releases when its holder dies.
type fileLock struct{ file *os.File }

// tryLock returns nil without error when somebody else holds the lock. The file
// stays: removing a file that others may be locking would let two have it.
func tryLock(path string) (*fileLock, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err == nil {
		return &fileLock{f}, nil
	}
	_ = f.Close()
	if errors.Is(err, syscall.EWOULDBLOCK) || errors.Is(err, syscall.EINTR) {
		return nil, nil
	}
	return nil, fmt.Errorf("%s: %w", path, err)
}

func (l *fileLock) release() { _ = l.file.Close() }

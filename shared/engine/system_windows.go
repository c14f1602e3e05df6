package engine

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
)

// bind keeps a console's Ctrl-C from the child: we end it ourselves, in order.
// Windows can't end a child with its parent; the next [Open] of the folder finds
// an engine that was left, and uses it.
func bind(cmd *exec.Cmd, _ bool) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}

// terminate has no polite form on Windows.
func terminate(p *os.Process) error { return p.Kill() }

func alive(pid int) bool {
	p, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	_ = p.Release()
	return true
}

// fileLock is a file opened for one process alone, which the system closes when
// its holder dies.
type fileLock struct{ handle syscall.Handle }

const errSharingViolation = syscall.Errno(32)

// tryLock returns nil without error when somebody else holds the lock.
func tryLock(path string) (*fileLock, error) {
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
	return &fileLock{h}, nil
}

func (l *fileLock) release() { _ = syscall.CloseHandle(l.handle) }

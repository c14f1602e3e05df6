package engine

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
)

// terminate kills the process: Windows has no graceful way to end it.
func terminate(p *os.Process) error { return p.Kill() }

// detach gives the child its own process group, because Ctrl-C in a console must not end it before
// this process does. It also gives the child a copy of the lock.
func detach(cmd *exec.Cmd, lock *os.File) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
	if lock != nil {
		h := syscall.Handle(lock.Fd())
		_ = syscall.SetHandleInformation(h, syscall.HANDLE_FLAG_INHERIT, syscall.HANDLE_FLAG_INHERIT) // if it fails, so does the start
		cmd.SysProcAttr.AdditionalInheritedHandles = []syscall.Handle{h}
	}
}

// guarded is false: an engine can outlive a killed process, so all engines are shared.
const guardSupported = false

// guard does nothing: [Engine.Close] ends the engine, also after Ctrl-C. If this process is killed,
// the engine keeps running, and the next [Open] of its folder joins it.
func killWithParent(int) (release func(), err error) { return func() {}, nil }

const errSharingViolation = syscall.Errno(32)

// tryLock returns nil without an error if another process holds the lock. Only one process can open
// the file, and only its child inherits the handle.
func tryLock(path string) (*os.File, error) {
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

package engine

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
)

// terminate kills: Windows has no polite form.
func terminate(p *os.Process) error { return p.Kill() }

// detach gives the child its own process group, because a console's Ctrl-C must
// not end it before we do, and a copy of the lock.
func detach(cmd *exec.Cmd, lock *os.File) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
	if lock != nil {
		h := syscall.Handle(lock.Fd())
		_ = syscall.SetHandleInformation(h, syscall.HANDLE_FLAG_INHERIT, syscall.HANDLE_FLAG_INHERIT) // if it fails, so does the start
		cmd.SysProcAttr.AdditionalInheritedHandles = []syscall.Handle{h}
	}
}

// guarded is false: an engine may outlive a process that was killed, so all engines are shared.
const guarded = false

// guard does nothing: [Engine.Close] ends the engine, after Ctrl-C too. If this
// process is killed, the engine stays, and the next [Open] of its folder joins it.
func guard(int) (release func(), err error) { return func() {}, nil }

const errSharingViolation = syscall.Errno(32)

// tryLock returns nil without error when another process holds the lock: the file
// is open for one process alone, and for the child that inherits its handle.
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

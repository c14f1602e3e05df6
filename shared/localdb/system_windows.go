package localdb

import (
	"os"
	"os/exec"
	"syscall"
)

// terminate kills the process, because Windows has no graceful way to end it.
func terminate(p *os.Process) error { return p.Kill() }

// detach gives the child its own process group, so that Ctrl-C in a console does not end the child
// before this process stops it. It also gives the child a copy of the lock.
func detach(cmd *exec.Cmd, lock *os.File) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
	if lock != nil {
		h := syscall.Handle(lock.Fd())
		_ = syscall.SetHandleInformation(h, syscall.HANDLE_FLAG_INHERIT, syscall.HANDLE_FLAG_INHERIT) // if this fails, starting the child fails, too
		cmd.SysProcAttr.AdditionalInheritedHandles = []syscall.Handle{h}
	}
}

// guardSupported is false, because an engine can outlive the process that started it if that
// process is killed. All engines are therefore shared.
const guardSupported = false

func runGuard() {}

// killWithParent does nothing, because [Engine.Close] stops the engine, even after Ctrl-C. If this
// process is killed, the engine keeps running, and the next [Open] of its folder joins it.
func killWithParent(int, string) (release func(), err error) { return func() {}, nil }

//go:build unix

package engine

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"syscall"
)

func terminate(p *os.Process) error { return p.Signal(syscall.SIGTERM) }

// detach gives the child its own process group, so that Ctrl-C in a terminal does not end the child
// before this process ends it. It also gives the child a copy of the lock.
func detach(cmd *exec.Cmd, lock *os.File) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if lock != nil {
		cmd.ExtraFiles = []*os.File{lock}
	}
}

// guardSupported reports whether killWithParent ends the engine of a process that was killed.
const guardSupported = true

// killWithParent makes sure that the process is killed when this process ends, even by SIGKILL. It
// starts a shell that waits until the pipe from this process closes. SQLite recovers from a killed
// engine.
func killWithParent(pid int) (release func(), err error) {
	sh := exec.Command("/bin/sh", "-c", `read -r line; kill -9 "$0"`, strconv.Itoa(pid))
	sh.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if _, err = sh.StdinPipe(); err == nil {
		err = sh.Start()
	}
	if err != nil {
		return func() {}, err
	}
	return func() {
		_ = sh.Process.Kill()
		_ = sh.Wait()
	}, nil
}

// tryLock returns nil without an error if another process holds the lock. The lock lasts until the
// file and all copies in child processes are closed. The file is never removed, because two
// processes could then lock two files with the same name.
func tryLock(path string) (*os.File, error) {
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

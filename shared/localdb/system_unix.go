//go:build unix

package localdb

import (
	"io"
	"os"
	"os/exec"
	"strconv"
	"syscall"
)

func terminate(p *os.Process) error { return p.Signal(syscall.SIGTERM) }

// detach gives the child its own process group, so that Ctrl-C in a terminal does not end the child
// before this process stops it. It also gives the child a copy of the lock.
func detach(cmd *exec.Cmd, lock *os.File) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if lock != nil {
		cmd.ExtraFiles = []*os.File{lock}
	}
}

// guardSupported reports whether killWithParent can kill the engine if this process is killed.
const guardSupported = true

// guardName is os.Args[0] of a process that runs this program as a guard.
const guardName = "growthworkspace-engine-guard"

// runGuard runs the guard if this process was started as a guard, and then exits. The guard waits
// until its standard input closes, and then kills the engine.
func runGuard() {
	if len(os.Args) == 2 && os.Args[0] == guardName {
		_, _ = io.Copy(io.Discard, os.Stdin)
		if pid, err := strconv.Atoi(os.Args[1]); err == nil && pid > 1 {
			_ = syscall.Kill(pid, syscall.SIGKILL) // an error means that the engine has already exited
		}
		os.Exit(0)
	}
}

// killWithParent makes sure that a process is killed when this process ends, even by SIGKILL. It
// starts a shell that waits until the pipe from this process is closed. In a container without a
// shell, it runs this program as the guard instead. Killing the engine is safe, because SQLite can
// recover from it.
func killWithParent(pid int, shell string) (release func(), err error) {
	sh := exec.Command(shell, "-c", `read -r line; kill -9 "$0"`, strconv.Itoa(pid))
	if !exists(shell) && mainCalled.Load() {
		self, err := os.Executable()
		if err != nil {
			return func() {}, err
		}
		sh = &exec.Cmd{Path: self, Args: []string{guardName, strconv.Itoa(pid)}}
	}
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

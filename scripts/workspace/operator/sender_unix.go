//go:build unix

package operator

import (
	"os/exec"
	"syscall"
)

// killWithChildren runs the program in a process group of its own. So a Ctrl-C at the terminal does not
// end it in the middle of a request, and its timeout also ends the processes that it started.
func killWithChildren(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}

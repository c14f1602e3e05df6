//go:build unix

package program

import (
	"os/exec"
	"syscall"
)

// killWithChildren makes cmd run in a process group of its own. So Ctrl-C at the terminal does not
// end it in the middle of a request, and a timeout also ends the processes that it has started.
func killWithChildren(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}

//go:build unix

package program

import (
	"os/exec"
	"syscall"
)

// useProcessGroup makes cmd run in its own process group. So Ctrl-C at the terminal does not kill
// it in the middle of a request, and a timeout also kills the processes that it started.
func useProcessGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}

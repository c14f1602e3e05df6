package engine

import (
	"os/exec"
	"syscall"
)

// bind makes the child end when we die, however we die, and keeps a terminal's
// Ctrl-C from it: we end it ourselves, in order. Killing is safe for both
// engines (SQLite recovers) and, unlike asking, leaves no moment with two of
// them on one file.
func bind(cmd *exec.Cmd, polite bool) {
	sig := syscall.SIGKILL
	if polite {
		sig = syscall.SIGTERM
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: sig, Setpgid: true}
}

//go:build unix && !linux

package engine

import (
	"os/exec"
	"syscall"
)

// bind keeps a terminal's Ctrl-C from the child: we end it ourselves, in order.
// This system can't end a child with its parent; the next [Open] of the folder
// finds an engine that was left, and uses it.
func bind(cmd *exec.Cmd, _ bool) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
}

//go:build unix

package main

import (
	"os/exec"
	"syscall"
)

// ignoreTerminal makes cmd run in its own process group, so that Ctrl-C in the terminal does not
// interrupt it.
func ignoreTerminal(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

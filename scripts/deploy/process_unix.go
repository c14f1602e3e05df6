//go:build unix

package main

import (
	"os/exec"
	"syscall"
)

// ignoreTerminal makes cmd run in a process group of its own, so that Ctrl-C at the terminal does not
// reach it.
func ignoreTerminal(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

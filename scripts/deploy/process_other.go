//go:build !unix

package main

import "os/exec"

// ignoreTerminal does nothing on a system without process groups.
func ignoreTerminal(*exec.Cmd) {}

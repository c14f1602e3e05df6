//go:build !unix

package program

import "os/exec"

// killWithChildren does nothing on these systems: a timeout ends only the program itself.
func killWithChildren(*exec.Cmd) {}

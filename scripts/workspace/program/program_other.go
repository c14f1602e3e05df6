//go:build !unix

package program

import "os/exec"

// killWithChildren does nothing on these systems: a timeout kills only the program itself.
func killWithChildren(*exec.Cmd) {}

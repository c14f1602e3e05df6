//go:build !unix

package program

import "os/exec"

// useProcessGroup does nothing on these systems: a timeout kills only the program itself.
func useProcessGroup(*exec.Cmd) {}

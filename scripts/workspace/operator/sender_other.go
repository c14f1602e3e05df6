//go:build !unix

package operator

import "os/exec"

// killWithChildren does nothing: only the program itself is ended by its timeout.
func killWithChildren(*exec.Cmd) {}

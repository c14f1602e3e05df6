//go:build !linux

package localdb

import (
	"context"
	"errors"
	"net"
	"os/exec"
)

const (
	namespacesSupported = false
	exitRefused         = 126
	enginePort          = 8000
)

func runProxy() {}

func runInNetns(*exec.Cmd) {}

// dialSocket always returns an error. On this system, a folder contains a socket only if it is
// shared with a Linux system.
func dialSocket(context.Context, string) (net.Conn, error) {
	return nil, errors.New("the engine of this folder runs on Linux and is reached from there only")
}

//go:build !linux

package engine

import (
	"context"
	"errors"
	"net"
	"os/exec"
)

const (
	namespaces  = false
	exitRefused = 126
	enginePort  = 8000
)

func runProxy() {}

func runInNetns(*exec.Cmd) {}

// dialSocket always fails, because only a folder shared with a Linux system can contain a socket.
func dialSocket(context.Context, string) (net.Conn, error) {
	return nil, errors.New("the engine of this folder runs on Linux and is reached from there only")
}

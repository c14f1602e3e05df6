// Command workspace runs the service on this machine, and is the operator's tool for companies, their keys and their
// records: `go run ./scripts/workspace --help`.
//
// Reading order: root.go (the command line as a whole), place.go and session.go (where the table is), then a file for
// each command. Package demo makes the company that `serve` begins with.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// The first signal asks for an orderly end; a second one ends the process at once, as without us.
	context.AfterFunc(ctx, stop)
	os.Exit(run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

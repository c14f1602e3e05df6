// Package program runs a user's program on one record, which the program reads from standard input.
package program

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"time"
)

// Program is a command that reads one record from standard input.
type Program struct {
	Args    []string      // the command and its arguments
	Timeout time.Duration // from its start
	Out     io.Writer     // its standard output
	Err     io.Writer     // its standard error
}

// Errors of Program.Run.
var (
	ErrNotStarted = errors.New("the program was not started")
	ErrTimeout    = errors.New("it ran longer than")
)

// pipesTimeout is how long a program's pipes may stay open after it has exited. A process that the
// program started can keep them open.
const pipesTimeout = 5 * time.Second

// Run runs the program and waits until it exits. After the timeout, or when ctx is done, it kills
// the program and the processes that the program started. The error is ErrNotStarted, ErrTimeout or
// the error of exec.Cmd.Wait.
func (p Program) Run(ctx context.Context, input []byte) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	cmd := exec.CommandContext(ctx, p.Args[0], p.Args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = bytes.NewReader(input), p.Out, p.Err, pipesTimeout
	useProcessGroup(cmd)
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("%w: %w", ErrNotStarted, err)
	}
	timer := time.AfterFunc(p.Timeout, func() { stop(ErrTimeout) })
	defer timer.Stop()
	err := cmd.Wait()
	if errors.Is(context.Cause(ctx), ErrTimeout) {
		return fmt.Errorf("%w %s", ErrTimeout, p.Timeout)
	}
	return err
}

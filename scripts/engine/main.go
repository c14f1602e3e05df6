// Command engine runs a command with a database engine that speaks DynamoDB's protocol and has its
// data in memory. It starts the engine, and stops it when the command ends:
//
//	go run ./scripts/engine --prefer dynamodb-local -- go test ./...
//
// The command gets the engine's URL in the environment variable WORKSPACE_TEST_ENDPOINT. This
// program forwards signals to the command, and exits with the command's exit code.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"

	"growthworkspace/shared/localdb"
)

const usage = `usage: engine [--prefer dynoxide|dynamodb-local] -- COMMAND [ARGUMENT...]`

func main() {
	code, err := run(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "engine:", err)
	}
	os.Exit(code)
}

// run returns the exit code of the command. If the command did not run, code is 2 for wrong
// arguments, 127 for a command that cannot be started, and 1 for any other error.
func run(args []string) (code int, err error) {
	o := localdb.Options{Install: true, Log: os.Stderr}
	flags := flag.NewFlagSet("engine", flag.ContinueOnError)
	flags.Usage = func() {
		fmt.Fprintln(os.Stderr, usage)
		flags.PrintDefaults()
	}
	flags.StringVar(&o.Prefer, "prefer", "", "use only this engine: dynoxide or dynamodb-local")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return 0, nil
		}
		return 2, nil // flags has already printed the error
	}
	command := flags.Args()
	if len(command) == 0 {
		return 2, errors.New("name a command after --\n" + usage)
	}

	// Catch signals before the engine starts. Otherwise, a signal could end this process and leave
	// the engine running.
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	e, err := openEngine(o, signals)
	if err != nil {
		return 1, err
	}
	defer func() {
		if closeErr := e.Close(); closeErr != nil && err == nil {
			code, err = 1, closeErr
		}
	}()
	fmt.Fprintf(os.Stderr, "engine: %s at %s\n", e.Name, e.Endpoint)
	return runWithEngine(e, command, signals)
}

// openEngine starts the engine. It returns an error if a signal arrives first.
func openEngine(o localdb.Options, signals <-chan os.Signal) (*localdb.Engine, error) {
	ctx, cancel := context.WithCancelCause(context.Background())
	opened := make(chan struct{})
	defer cancel(nil)
	defer close(opened)
	go func() {
		select {
		case s := <-signals:
			cancel(fmt.Errorf("%s", s))
		case <-opened:
		}
	}()
	e, err := localdb.Open(ctx, o)
	if err == nil && ctx.Err() != nil {
		_ = e.Close()
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return e, err
}

// runWithEngine runs the command to its end, even if the engine stops first.
func runWithEngine(e *localdb.Engine, command []string, signals <-chan os.Signal) (int, error) {
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), "WORKSPACE_TEST_ENDPOINT="+e.Endpoint)
	if err := cmd.Start(); err != nil {
		return 127, fmt.Errorf("start %s: %w", strings.Join(command, " "), err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	engineEnded := e.Done()
	for {
		select {
		case s := <-signals:
			_ = cmd.Process.Signal(s)
		case <-engineEnded:
			// Do not stop the command. It fails on its own, and its error says more.
			fmt.Fprintln(os.Stderr, "engine:", e.Err())
			engineEnded = nil
		case err := <-ended:
			return exitCode(cmd, err)
		}
	}
}

// exitCode returns the exit code of a command as a shell does. For a command that a signal has
// killed, this is 128 plus the signal's number.
func exitCode(cmd *exec.Cmd, err error) (int, error) {
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return 1, fmt.Errorf("wait for the command: %w", err)
	}
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal()), nil
	}
	return cmd.ProcessState.ExitCode(), nil
}

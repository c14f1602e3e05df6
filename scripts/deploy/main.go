// Command deploy deploys and upgrades the stack in an AWS account, from a clone of the repository:
//
//	go run ./scripts/deploy [--region R] [--stack NAME]
//	go run ./scripts/deploy smoke
//
// It first checks the tools, the region, the credentials and the state of the stack. Then it prints
// what it is about to do and asks for confirmation. If it stops early, it prints the state in which
// it leaves the account. `--help` lists the flags; infra/RUNBOOK.md covers upgrade, rollback,
// teardown and restore.
//
// The SDK reads the account (account.go, table_state.go), and the CDK's command line program changes
// it (cdk.go). What neither does is here: limits.go looks at the account's limits first, evolve.go
// orders the changes of the table's indexes, changeset.go refuses an update that would replace or
// remove the table, and rollout.go reverts a version that does not work. The smoke command is in
// smoke_command.go.
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// The first signal shuts down gracefully. A second signal ends the process at once.
	context.AfterFunc(ctx, stop)
	os.Exit(run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr, time.After))
}

// deployer is one run of the program.
type deployer struct {
	options
	in          *bufio.Reader
	out, errOut io.Writer
	root        string   // the root folder of the repository
	tmp         string   // a temporary folder, removed when the program exits
	lock        *os.File // the lock on the folder with the builds; nil before synthesise
	account     *account
	after       func(time.Duration) <-chan time.Time // time.After, or a replacement in tests
}

// run runs the program and returns the exit code: 0, 1 for a failure or 2 for wrong usage.
func run(ctx context.Context, args []string, in io.Reader, out, errOut io.Writer, after func(time.Duration) <-chan time.Time) int {
	options, err := parseFlags(args, errOut)
	if errors.Is(err, errHelp) {
		return 0
	}
	if err != nil {
		fmt.Fprintf(errOut, "deploy: %s (see --help)\n", err)
		return 2
	}
	d := &deployer{options: options, in: bufio.NewReader(in), out: out, errOut: errOut, after: after}
	if err := d.start(ctx); err != nil {
		fmt.Fprintf(errOut, "deploy: %s\n", err)
		return 1
	}
	return 0
}

// pause waits, or returns the context's error if the context is done first.
func (d *deployer) pause(ctx context.Context, t time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-d.after(t):
		return nil
	}
}

// start runs all checks, and then does what the options request.
func (d *deployer) start(ctx context.Context) error {
	if err := d.prepareFolders(); err != nil {
		return err
	}
	defer os.RemoveAll(d.tmp)
	defer func() {
		if d.lock != nil {
			_ = d.lock.Close()
		}
	}()
	if d.smoke != nil {
		return d.runSmoke(ctx)
	}
	if err := checkTools(ctx); err != nil {
		return err
	}
	if d.synthDir != "" {
		return d.synthesiseOnly(ctx)
	}
	s, err := d.openStack(ctx)
	if err != nil {
		return err
	}
	if err := d.completeParameters(ctx, s); err != nil {
		return err
	}
	if err := d.checkLimits(ctx, s); err != nil {
		return err
	}
	return d.deploy(ctx, s)
}

// prepareFolders finds the folder of the repository, and creates a temporary folder.
func (d *deployer) prepareFolders() error {
	out, err := exec.Command("go", "env", "GOMOD").Output()
	d.root = filepath.Dir(strings.TrimSpace(string(out)))
	if err == nil {
		_, err = os.Stat(filepath.Join(d.root, "scripts", "build"))
	}
	// Ignore a missing go command, which checkTools reports.
	if err != nil && !errors.Is(err, exec.ErrNotFound) {
		return fmt.Errorf("this is not a clone of the repository: run it as `go run ./scripts/deploy` in the folder of go.mod: %w", err)
	}
	if d.tmp, err = os.MkdirTemp("", "deploy-"); err != nil {
		return fmt.Errorf("create a temporary folder for the build: %w", err)
	}
	return nil
}

// openStack opens the account and reads the stack. It returns an error if the stack cannot be
// changed now.
func (d *deployer) openStack(ctx context.Context) (s deployedStack, err error) {
	if d.account, err = openAccount(ctx, d.region, d.profile); err != nil {
		return s, err
	}
	if s, err = d.account.stack(ctx, d.stack); err != nil {
		return s, err
	}
	return s, s.checkDeployable(d.awsFlags())
}

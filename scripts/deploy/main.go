// Command deploy deploys, upgrades and deletes the stack in an AWS account, from a clone of the
// repository:
//
//	go run ./scripts/deploy [--region R] [--stack NAME]
//	go run ./scripts/deploy smoke
//
// It first checks the tools, the region, the credentials and the state of the stack. Then it prints
// what it is about to do and asks for confirmation. If it stops early, it prints the state in which
// it leaves the account. `--help` lists the flags; infra/RUNBOOK.md covers upgrade, rollback,
// teardown and restore.
//
// options.go contains the flags. required_tools.go, account.go, usable.go and limits.go contain the
// checks, and state.go the states of a stack. deploy.go and plan.go make the changes with the CDK.
// evolve.go plans the order of index changes, changeset.go checks each update before it is
// executed, switch.go switches to a different table, and adopt.go imports a table. sam.go writes
// the steps for stacks that SAM deployed. rollout.go reverts a version that does not work.
//
// The smoke command is in smoke_command.go, and its checks are in smoke.go, smoke_account.go and
// smoke_role.go.
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
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
	cache       string   // the folder in which the CDK's command line program is installed
	tmp         string   // a temporary folder, removed when the program exits
	lock        *os.File // the lock on the folder with the builds; nil before prepare
	account     *account
	throughput  settings                             // the throughput parameters, which are deployed after everything else
	after       func(time.Duration) <-chan time.Time // time.After, or a replacement in tests
	keepsTable  bool                                 // whether --table names the table that the stack created
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
	if d.sam != nil {
		return d.startPlan(ctx)
	}
	if d.smoke != nil {
		return d.runSmoke(ctx)
	}
	if err := d.prepareFolders(); err != nil {
		return err
	}
	defer os.RemoveAll(d.tmp)
	defer func() {
		if d.lock != nil {
			_ = d.lock.Close()
		}
	}()
	if err := checkTools(ctx); err != nil {
		return err
	}
	if d.synthDir != "" {
		return d.synthesise(ctx)
	}
	var err error
	if d.account, err = openAccount(ctx, d.region, d.profile); err != nil {
		return err
	}
	stack, err := d.account.stack(ctx, d.stack)
	if err != nil {
		return err
	}
	if d.destroy {
		return d.destroyStack(ctx, stack)
	}
	if err := checkDeployable(stack, d.awsFlags()); err != nil {
		return err
	}
	if err := d.completeParameters(ctx, stack); err != nil {
		return err
	}
	if err := d.checkLimits(ctx, stack); err != nil {
		return err
	}
	if d.diff {
		return d.printDiff(ctx)
	}
	if d.planOnly {
		return d.printPlanned(ctx, stack)
	}
	return d.deploy(ctx, stack)
}

// startPlan runs the plan command. It needs no tools, and with --from no account.
func (d *deployer) startPlan(ctx context.Context) (err error) {
	if d.sam.from == "" {
		if d.account, err = openAccount(ctx, d.region, d.profile); err != nil {
			return err
		}
	}
	return d.writePlan(ctx)
}

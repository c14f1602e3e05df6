// Command check checks a running service:
//
//	go run ./scripts/check api BASE_URL   requires what every implementation of the API must do
//	go run ./scripts/check faults         kills servers, loses responses and overloads the service
//
// The exit code is 0 if every rule holds, 1 if one does not, and 2 for wrong usage or an error. The
// folder external has the checks by other projects' tools.
package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"growthworkspace/scripts/check/faults"
	"growthworkspace/scripts/contract"
	"growthworkspace/shared/testkit/engine"
)

// errChecksFailed means that a rule does not hold. The output already says which and why.
var errChecksFailed = errors.New("a rule does not hold")

func main() {
	engine.Main()
	faults.RunServerIfRequested() // the checks of package faults start this program as a server
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := rootCommand().ExecuteContext(ctx)
	stop()
	switch {
	case errors.Is(err, errChecksFailed):
		os.Exit(1)
	case err != nil:
		fmt.Fprintln(os.Stderr, "check:", err)
		os.Exit(2)
	}
}

func rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use: "check", Short: "Check a running service", SilenceUsage: true, SilenceErrors: true,
		Long: `Check a running service. The exit code is 0 when every rule holds, 1 when one does not, and
2 for wrong usage or an error.`,
	}
	root.CompletionOptions.DisableDefaultCmd = true
	root.AddCommand(apiCommand(), faultsCommand())
	return root
}

// resultError returns err if the checks could not run, or errChecksFailed if passed is false.
func resultError(passed bool, err error) error {
	if err == nil && !passed {
		return errChecksFailed
	}
	return err
}

// keyVariable is the environment variable from which `check api` reads the key.
const keyVariable = "WORKSPACE_KEY"

func apiCommand() *cobra.Command {
	o := contract.Options{Strict: true}
	var connect string
	var ruleNames, skip []string
	cmd := &cobra.Command{
		Use: "api BASE_URL", Short: "Check a service against the rules of the API", Args: cobra.ExactArgs(1),
		Long: `Check a service against the rules of the API. It needs a company with a record of
every kind, such as functions/testdata/company.jsonl, imported with "workspace import", and
a key of that company with every scope in WORKSPACE_KEY. A rule that cannot be checked
fails.

With --write it also creates, changes and deletes records, publishes a board and changes
existing records: use a separate company. "workspace check" checks any service against the
rules of the specification, skips rules that cannot be checked, and publishes nothing.`,
		Example: "  WORKSPACE_KEY=sk_live_… go run ./scripts/check api https://api.example.com --write",
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if o.Key = os.Getenv(keyVariable); o.Key == "" {
				return errors.New("set " + keyVariable + " to the key")
			}
			if len(ruleNames) == 0 {
				ruleNames = contract.RuleNames(true)
			}
			ruleNames = slices.DeleteFunc(ruleNames, func(name string) bool { return slices.Contains(skip, name) })
			if len(ruleNames) == 0 {
				return errors.New("--skip leaves no rule")
			}
			if o.Rules, err = contract.SelectRules(contract.RuleNames(true), ruleNames); err != nil {
				return err
			}
			o.BaseURL, o.Publish, o.Wait = strings.TrimRight(args[0], "/"), o.Write, wait
			if connect != "" {
				transport := http.DefaultTransport.(*http.Transport).Clone()
				transport.DialContext = func(ctx context.Context, network, _ string) (net.Conn, error) {
					return (&net.Dialer{}).DialContext(ctx, network, connect)
				}
				o.HTTP = &http.Client{Transport: transport}
			}
			report, err := contract.Run(cmd.Context(), o)
			if err == nil {
				_, err = fmt.Fprint(cmd.OutOrStdout(), report)
			}
			return resultError(report.Failed == 0, err)
		},
	}
	cmd.Flags().BoolVar(&o.Write, "write", false, "also change records, and publish")
	cmd.Flags().StringArrayVar(&ruleNames, "rule", nil, "only this `rule`; may be repeated")
	cmd.Flags().StringArrayVar(&skip, "skip", nil, "not this `rule`, which an emulator breaks; may be repeated")
	cmd.Flags().StringVar(&connect, "connect", "", "connect to this `host:port` instead of the URL's host, for an emulator's host names")
	return cmd
}

// wait waits for d, so that a quota can refill.
func wait(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

func faultsCommand() *cobra.Command {
	var o faults.Options
	cmd := &cobra.Command{
		Use: "faults [CHECK...]", Short: "Kill processes, lose responses and send too much",
		Long: `Kill processes, lose responses and send too much, and require that the service keeps its
promises. Each check tests one guarantee on its own engine with a data file, and prints one
line of figures.

  kill                          servers are killed during publishes
  loss-key, loss                the table does a write, and the response is lost
  quota                         64 clients of 3 processes send without pauses, at quotas of 60 to
                                6,000 requests a minute
  changes                       servers that record changes are killed while clients write and
                                followers read the feed
  linear                        16 clients change one record while responses are lost and
                                calls throttled
  load                          clients send more, and read more slowly, than a server can take

Without a name, all checks run, with numbers that fit into CI.`,
		Example: "  go run ./scripts/check faults\n  go run ./scripts/check faults --seed 7 linear\n  go run ./scripts/check faults --long",
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Checks = args
			return resultError(faults.Run(cmd.Context(), o, cmd.OutOrStdout(), cmd.ErrOrStderr()))
		},
	}
	cmd.Flags().BoolVar(&o.Long, "long", false, "the full numbers instead of those of CI")
	cmd.Flags().Uint64Var(&o.Seed, "seed", 1, "the seed of the random decisions")
	return cmd
}

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
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"growthworkspace/scripts/check/conformance"
	"growthworkspace/scripts/check/faults"
	"growthworkspace/shared/localdb"
)

// errChecksFailed means that a rule does not hold. The output already says which and why.
var errChecksFailed = errors.New("a rule does not hold")

func main() {
	localdb.Main()
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
	var o conformance.Options
	var connect string
	cmd := &cobra.Command{
		Use: "api BASE_URL", Short: "Check a service against the rules of the API", Args: cobra.ExactArgs(1),
		Long: `Check a service against the rules of the API, with a key of a company in WORKSPACE_KEY.
It learns the operations from the OpenAPI document that the service serves.

With --write it also creates records of every kind and a key, publishes a board of its own,
and deletes them at the end. Give a key of a company made for it that has every scope: a
rule that cannot be checked then fails. "workspace check" checks the same rules.`,
		Example: "  WORKSPACE_KEY=sk_live_… go run ./scripts/check api https://api.example.com --write",
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.Key = os.Getenv(keyVariable); o.Key == "" {
				return errors.New("set " + keyVariable + " to the key")
			}
			o.BaseURL = strings.TrimRight(args[0], "/")
			if connect != "" {
				transport := http.DefaultTransport.(*http.Transport).Clone()
				transport.DialContext = func(ctx context.Context, network, _ string) (net.Conn, error) {
					return (&net.Dialer{}).DialContext(ctx, network, connect)
				}
				o.Transport = transport
			}
			report, err := conformance.Run(cmd.Context(), o)
			if report.Rules != nil {
				_, writeErr := fmt.Fprint(cmd.OutOrStdout(), report)
				err = errors.Join(err, writeErr)
			}
			return resultError(report.Failed == 0 && (!o.Write || report.Skipped == 0), err)
		},
	}
	cmd.Flags().BoolVar(&o.Write, "write", false, "also create, change, publish and delete records of its own")
	cmd.Flags().StringArrayVar(&o.Rules, "rule", nil, "only this `rule`; may be repeated")
	cmd.Flags().StringArrayVar(&o.Skip, "skip", nil, "not this `rule`, which an emulator breaks; may be repeated")
	cmd.Flags().StringVar(&connect, "connect", "", "connect to this `host:port` instead of the URL's host, for an emulator's host names")
	return cmd
}

func faultsCommand() *cobra.Command {
	var o faults.Options
	cmd := &cobra.Command{
		Use: "faults [CHECK...]", Short: "Kill processes, lose responses and send too much",
		Long: `Kill processes, lose responses and send too much, and require that the service keeps its
promises. Each check tests one guarantee on its own engine, and prints one line of figures.

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

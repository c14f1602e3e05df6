// Command prove checks that the service keeps its promises:
//
//	go run ./scripts/prove roundtrip           compares lists and exports of a large company with its import
//
// The exit code is 0 if every promise is kept, 1 if one is broken, and 2 for wrong usage or an
// error.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"growthworkspace/scripts/prove/roundtrip"
	"growthworkspace/shared/testkit/engine"
)

// errChecksFailed means that a claim does not hold. The output already says why.
var errChecksFailed = errors.New("a claim does not hold")

func main() {
	engine.Main()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := rootCommand().ExecuteContext(ctx)
	stop()
	switch {
	case errors.Is(err, errChecksFailed):
		os.Exit(1)
	case err != nil:
		fmt.Fprintln(os.Stderr, "prove:", err)
		os.Exit(2)
	}
}

func rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use: "prove", Short: "Prove what the service promises", SilenceUsage: true, SilenceErrors: true,
		Long: `Prove what the service promises. The exit code is 0 when everything holds, 1 when a
claim does not hold, and 2 for wrong usage or an error.`,
	}
	root.CompletionOptions.DisableDefaultCmd = true
	root.AddCommand(roundtripCommand())
	return root
}

// resultError returns err if the proof could not run, or errChecksFailed if passed is false.
func resultError(passed bool, err error) error {
	if err == nil && !passed {
		return errChecksFailed
	}
	return err
}

func roundtripCommand() *cobra.Command {
	var scale float64
	cmd := &cobra.Command{
		Use: "roundtrip", Short: "Compare lists and exports of a large company with its import", Args: cobra.NoArgs,
		Long: `Import a large company, export it, and read every list with every combination of its
filters, page by page. Each record must appear exactly once in each list that it belongs
to, in order and unchanged, and the export must equal the import.`,
		Example: "  go run ./scripts/prove roundtrip\n  go run ./scripts/prove roundtrip --scale 0.05",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return resultError(roundtrip.Run(cmd.Context(), scale, cmd.OutOrStdout()))
		},
	}
	cmd.Flags().Float64Var(&scale, "scale", 1, "the size of the company: 1 means 10,000 reviews, 5,000 posts, 2,000 items and 3 years of metrics")
	return cmd
}

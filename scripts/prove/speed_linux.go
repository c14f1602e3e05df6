package main

import (
	"github.com/spf13/cobra"

	"growthworkspace/scripts/prove/speed"
)

func speedCommand() *cobra.Command {
	var o speed.Options
	cmd := &cobra.Command{
		Use: "speed [MODE...]", Short: "Measure sizes, CPU, starts, reads, imports and prices",
		Long: `Measure the service and other programs, and print one table of ratios, each with its goal.
Only count can fail, because times depend on the load of the machine.

` + speed.Modes() + `
Without a mode, all of them run. cold and warm need root. The two programs to compare with
are cloned from GitHub and built with go and cargo; --peers names a folder that already has
serverless-go-demo and serverless-rust-demo.`,
		Example: "  go run ./scripts/prove speed count\n  go run ./scripts/prove speed --rounds 3 cold warm",
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Modes = args
			return refuted(speed.Run(cmd.Context(), o, cmd.OutOrStdout(), cmd.ErrOrStderr()))
		},
	}
	cmd.Flags().IntVar(&o.Rounds, "rounds", 9, "how often each program runs")
	cmd.Flags().Float64Var(&o.Scale, "scale", 1, "the size of the imports: 1 means 100,000 reviews and 1,000,000 points")
	cmd.Flags().StringVar(&o.Results, "results", "", "also write the results into this `file`, such as scripts/prove/speed/RESULTS.md")
	cmd.Flags().StringVar(&o.Peers, "peers", "", "a `folder` with the sources of the programs to compare with (default: clone them)")
	return cmd
}

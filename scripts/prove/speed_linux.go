package main

import (
	"github.com/spf13/cobra"

	"growthworkspace/scripts/prove/speed"
)

func speedCommand() *cobra.Command {
	var o speed.Options
	cmd := &cobra.Command{
		Use: "speed [MODE...]", Short: "Sizes, CPU, starts, reads, imports and prices, beside other programs",
		Long: `Measure the service beside others and print one table of ratios, each with its goal.
Only count can fail, because a busy machine changes times.

` + speed.Modes() + `
Without a mode, all of them. cold and warm need root. The two programs to compare with are
cloned from GitHub and built here, with go and cargo; --peers names a folder that has
serverless-go-demo and serverless-rust-demo already.`,
		Example: "  go run ./scripts/prove speed count\n  go run ./scripts/prove speed --rounds 3 cold warm",
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Modes = args
			return refuted(speed.Run(cmd.Context(), o, cmd.OutOrStdout(), cmd.ErrOrStderr()))
		},
	}
	cmd.Flags().IntVar(&o.Rounds, "rounds", 9, "how often each program takes its turn")
	cmd.Flags().Float64Var(&o.Scale, "scale", 1, "the size of the imports, as a share of 100,000 reviews and 1,000,000 points")
	cmd.Flags().StringVar(&o.Results, "results", "", "write the results into this `file`, too, such as scripts/prove/speed/RESULTS.md")
	cmd.Flags().StringVar(&o.Peers, "peers", "", "a `folder` with the sources of the programs to compare with (default: clone them)")
	return cmd
}

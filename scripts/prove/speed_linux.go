package main

import (
	"github.com/spf13/cobra"

	"growthworkspace/scripts/prove/speed"
)

func speedCommand() *cobra.Command {
	var o speed.Options
	cmd := &cobra.Command{
		Use: "speed [MODE...]", Short: "Measure sizes, starts, imports and prices",
		Long: `Measure the service, and print one table of ratios, each with its goal. Only count can
fail, because times depend on the load of the machine.

` + speed.DescribeModes() + `
Without a mode, all of them run. The CPU time of reads is a benchmark:

  go test ./functions -run XXX -bench Reads -cpu 1`,
		Example: "  go run ./scripts/prove speed count\n  go run ./scripts/prove speed --rounds 3 start",
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Modes = args
			return resultError(speed.Run(cmd.Context(), o, cmd.OutOrStdout(), cmd.ErrOrStderr()))
		},
	}
	cmd.Flags().IntVar(&o.Rounds, "rounds", 9, "how often each program starts")
	cmd.Flags().Float64Var(&o.Scale, "scale", 1, "the size of the imports: 1 means 100,000 reviews and 1,000,000 points")
	return cmd
}

//go:build linux

package speed

import (
	"context"
	"fmt"
	"slices"
)

// trial is a target at a memory size, and the measures of its processes.
type trial struct {
	target
	memory   int
	measures []measure
}

// interleave runs every trial once in each round, so that other load affects all of them equally.
func (b *bench) interleave(ctx context.Context, r *relay, warm int, trials []*trial) error {
	for round := range b.Rounds {
		for _, t := range trials {
			m, err := t.run(ctx, r, t.memory, warm)
			if err != nil {
				return err
			}
			t.measures = append(t.measures, m)
		}
		fmt.Fprintf(b.log, "round %d of %d\n", round+1, b.Rounds)
	}
	return nil
}

// ratio returns the median over the rounds of a measure of a divided by that of b in the same round.
func ratio(a, b *trial, what string) float64 {
	var ratios []float64
	for n := range a.measures {
		ratios = append(ratios, a.measures[n][what]/b.measures[n][what])
	}
	return median(ratios)
}

func (t *trial) median(what string) float64 {
	var values []float64
	for _, m := range t.measures {
		values = append(values, m[what])
	}
	return median(values)
}

func median(values []float64) float64 {
	values = slices.Sorted(slices.Values(values))
	n := len(values)
	return (values[(n-1)/2] + values[n/2]) / 2
}

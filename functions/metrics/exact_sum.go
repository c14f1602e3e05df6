package metrics

import (
	"math"
	"math/big"
	"slices"
)

// exactSum adds numbers without rounding, so that a total does not depend on the order in which
// they are added. partials are numbers of decreasing magnitude that add up to the exact sum
// (Shewchuk, 1997). Most sums have only one partial. The zero value is the sum of no numbers. The
// numbers are at most 1e125 (see package schema), so no partial overflows.
type exactSum struct{ partials []float64 }

func (s *exactSum) add(x float64) {
	kept := 0
	for _, y := range s.partials {
		if math.Abs(x) < math.Abs(y) {
			x, y = y, x
		}
		high := x + y
		if low := y - (high - x); low != 0 { // exactly the part that rounding removed from high
			s.partials[kept] = low
			kept++
		}
		x = high
	}
	s.partials = append(s.partials[:kept], x)
}

// merge adds all numbers of another sum.
func (s *exactSum) merge(other exactSum) {
	for _, partial := range other.partials {
		s.add(partial)
	}
}

func (s *exactSum) clone() exactSum { return exactSum{slices.Clone(s.partials)} }

// dividedBy returns the exact sum divided by n, rounded once to the nearest float64.
func (s *exactSum) dividedBy(n int) float64 {
	switch len(s.partials) {
	case 0:
		return 0
	case 1:
		return s.partials[0] / float64(n) // a single division rounds only once
	}
	total := new(big.Rat)
	for _, partial := range s.partials {
		total.Add(total, new(big.Rat).SetFloat64(partial))
	}
	rounded, _ := total.Quo(total, big.NewRat(int64(n), 1)).Float64()
	return rounded
}

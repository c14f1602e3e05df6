package metrics

import (
	"math"
	"math/big"
	"slices"
)

// exactSum adds numbers without rounding, so that a total does not depend on the order of its
// parts. partials are numbers of falling precision whose sum is the exact sum (Shewchuk, 1997).
// Most sums have one. The zero value is the sum of no numbers. Numbers are at most 1e125 (see
// package schema), so no partial overflows.
type exactSum struct{ partials []float64 }

func (s *exactSum) add(x float64) {
	kept := 0
	for _, y := range s.partials {
		if math.Abs(x) < math.Abs(y) {
			x, y = y, x
		}
		high := x + y
		if low := y - (high - x); low != 0 { // exactly what high has lost
			s.partials[kept] = low
			kept++
		}
		x = high
	}
	s.partials = append(s.partials[:kept], x)
}

// merge adds the numbers of another sum.
func (s *exactSum) merge(other exactSum) {
	for _, partial := range other.partials {
		s.add(partial)
	}
}

// clone returns a sum that changes alone.
func (s *exactSum) clone() exactSum { return exactSum{slices.Clone(s.partials)} }

// dividedBy returns the exact sum divided by n, rounded once to the nearest number.
func (s *exactSum) dividedBy(n int) float64 {
	switch len(s.partials) {
	case 0:
		return 0
	case 1:
		return s.partials[0] / float64(n) // a single division rounds once
	}
	total := new(big.Rat)
	for _, partial := range s.partials {
		total.Add(total, new(big.Rat).SetFloat64(partial))
	}
	rounded, _ := total.Quo(total, big.NewRat(int64(n), 1)).Float64()
	return rounded
}

package metrics

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// Ensure a sum and a mean are the numbers that are nearest to the exact ones, in any order of the
// parts: for numbers of all sizes that the API accepts, and for parts that cancel out.
func TestExactSum(t *testing.T) {
	t.Parallel()
	const seed = 15
	random := rand.New(rand.NewPCG(seed, seed))
	for round := range 500 {
		parts := make([]float64, 1+random.IntN(31))
		for i := range parts {
			switch random.IntN(4) {
			case 0:
				parts[i] = float64(random.IntN(2000) - 1000)
			case 1:
				parts[i] = (random.Float64() - .5) * math.Pow10(random.IntN(254)-128)
			case 2:
				parts[i] = -parts[random.IntN(i+1)]
			default:
				parts[i] = math.Ldexp(float64(1+random.IntN(3)), random.IntN(110)-55)
			}
		}
		exact := new(big.Rat)
		for _, part := range parts {
			exact.Add(exact, new(big.Rat).SetFloat64(part))
		}
		for _, n := range []int{1, len(parts)} {
			want, _ := new(big.Rat).Quo(exact, big.NewRat(int64(n), 1)).Float64()
			random.Shuffle(len(parts), func(i, j int) { parts[i], parts[j] = parts[j], parts[i] })
			var sum exactSum
			for _, part := range parts {
				sum.add(part)
			}
			if got := sum.dividedBy(n); got != want {
				t.Fatalf("seed %d, round %d: the sum of %v over %d is %v, want %v", seed, round, parts, n, got, want)
			}
		}
	}
	for _, c := range []struct {
		parts []float64
		want  float64
	}{
		{[]float64{.1, .2, .3}, .6}, // 0.1 + 0.2 + 0.3 is 0.6000000000000001 when each addition rounds
		{[]float64{1e125, 1, -1e125}, 1}, {[]float64{1, 1e-129, -1}, 1e-129}, {nil, 0},
	} {
		var sum exactSum
		for _, part := range c.parts {
			sum.add(part)
		}
		if got := sum.dividedBy(1); got != c.want {
			t.Errorf("the sum of %v is %v, want %v", c.parts, got, c.want)
		}
	}
}

package table_test

import (
	"cmp"
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"growthworkspace/shared/table"
	"growthworkspace/shared/timestamp"
)

// Ensure numbers sort in numeric order, with null last.
func TestNumberKey(t *testing.T) {
	t.Parallel()
	g := pointerGen(floatGen())
	rapid.Check(t, func(r *rapid.T) {
		a, b := g.Draw(r, "a"), g.Draw(r, "b")
		if want, got := compareNullLast(a, b, cmp.Compare[float64]), cmp.Compare(table.NumberKey(a), table.NumberKey(b)); got != want {
			r.Errorf("%s and %s compare as %d, want %d", table.NumberKey(a), table.NumberKey(b), got, want)
		}
	})
	for _, n := range []int64{0, 1, -1, 1<<53 - 1, -(1<<53 - 1)} { // these strings must not change, because the sort keys of stored records contain them
		if table.NumberKey(&n) != table.NumberKey(ptr(float64(n))) {
			t.Errorf("%d sorts as another number", n)
		}
	}
	if table.NumberKey(ptr(math.Copysign(0, -1))) != table.NumberKey(ptr(0.0)) {
		t.Error("-0 is not 0")
	}
	for n, want := range map[float64]string{0: "8000000000000000", 1: "bff0000000000000", -1: "400fffffffffffff", 1e-300: "81a56e1fc2f8f359"} { // these strings must not change, because the sort keys of stored records contain them
		if got := table.NumberKey(&n); got != want {
			t.Errorf("%v is %s, want %s", n, got, want)
		}
	}
}

// compareNullLast compares two values in the order of a list, with null last.
func compareNullLast[T any](a, b *T, compare func(a, b T) int) int {
	switch {
	case a == nil && b == nil:
		return 0
	case a == nil:
		return 1
	case b == nil:
		return -1
	}
	return compare(*a, *b)
}

// timestampGen draws timestamps of the years that timestamp.Parse accepts, including years before
// 1970 and equal times.
func timestampGen() *rapid.Generator[*string] {
	first, last := time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli(), time.Date(9999, 12, 31, 23, 59, 59, 999e6, time.UTC).UnixMilli()
	ms := rapid.OneOf(rapid.Int64Range(first, last), rapid.Int64Range(-3, 3), rapid.SampledFrom([]int64{first, last}))
	return pointerGen(rapid.Map(ms, func(ms int64) string { return timestamp.Format(time.UnixMilli(ms)) }))
}

// Ensure times sort chronologically, oldest first or newest first, with null last in both orders.
func TestTimeKeys(t *testing.T) {
	t.Parallel()
	g := timestampGen()
	compareTimes := func(a, b string) int {
		x, _ := timestamp.Parse(a)
		y, _ := timestamp.Parse(b)
		return x.Compare(y)
	}
	rapid.Check(t, func(r *rapid.T) {
		a, b := g.Draw(r, "a"), g.Draw(r, "b")
		if want, got := compareNullLast(a, b, compareTimes), cmp.Compare(table.TimeKey(a), table.TimeKey(b)); got != want {
			r.Errorf("TimeKey: %d, want %d", got, want)
		}
		if want, got := compareNullLast(a, b, func(a, b string) int { return compareTimes(b, a) }), cmp.Compare(table.DescendingTimeKey(a), table.DescendingTimeKey(b)); got != want {
			r.Errorf("DescendingTimeKey: %d, want %d", got, want)
		}
	})
	if got := table.DescendingTimeKey(ptr("soon")); got != table.DescendingTimeKey(nil) {
		t.Errorf("an invalid timestamp sorts as %s", got)
	}
}

// Ensure each sort function returns strings of the same width for all values but null, so that the
// next part of a sort key does not change the order.
func TestSortKeysHaveOneWidth(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		f, at := floatGen().Draw(r, "f"), timestampGen().Draw(r, "at")
		if n := len(table.NumberKey(&f)); n != 16 {
			r.Errorf("NumberKey has %d characters", n)
		}
		if at != nil && (len(table.TimeKey(at)) != 24 || len(table.DescendingTimeKey(at)) != 16) {
			r.Errorf("%q and %q", table.TimeKey(at), table.DescendingTimeKey(at))
		}
	})
}

func TestFirstSetTime(t *testing.T) {
	t.Parallel()
	a, b := ptr("a"), ptr("b")
	if table.FirstSetTime() != nil || table.FirstSetTime(nil, nil) != nil || table.FirstSetTime(nil, b, a) != b {
		t.Error("want the first that is not null")
	}
}

package table

import (
	"fmt"
	"math"
	"time"
)

// last sorts after every string that SortNumber, SortTime and Newest return for valid values other
// than null, because null comes last in every list.
const last = "~"

// SortNumber returns a string that sorts like the number; null sorts last. An int64 gets the same
// string as the equal float64.
func SortNumber[N int64 | float64](n *N) string {
	if n == nil {
		return last
	}
	bits := math.Float64bits(float64(*n) + 0) // + 0 turns -0 into 0, which is the same number in JSON
	if bits>>63 == 1 {
		bits = ^bits
	} else {
		bits |= 1 << 63
	}
	return fmt.Sprintf("%016x", bits)
}

// SortTime returns a string that sorts like the timestamp; null sorts last.
func SortTime(timestamp *string) string {
	if timestamp == nil {
		return last
	}
	return *timestamp
}

// Newest returns a string that sorts later timestamps first; null and invalid timestamps sort last.
func Newest(timestamp *string) string {
	if timestamp == nil {
		return last
	}
	t, err := time.Parse(time.RFC3339Nano, *timestamp)
	if err != nil {
		return last
	}
	return fmt.Sprintf("%016x", uint64(-t.UnixMilli())^1<<63) // the sign bit flipped, so that negative values sort first
}

// FirstTime returns the first timestamp that is not null.
func FirstTime(timestamps ...*string) *string {
	for _, t := range timestamps {
		if t != nil {
			return t
		}
	}
	return nil
}

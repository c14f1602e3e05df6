package table

import (
	"fmt"
	"math"
	"time"
)

// lastSortKey is the sort key for null, which comes last in every list. It sorts after every string
// that NumberKey, TimeKey and DescendingTimeKey return for other valid values.
const lastSortKey = "~"

// NumberKey returns a string that sorts like the number; null sorts last. An int64 gets the same
// string as the equal float64.
func NumberKey[N int64 | float64](n *N) string {
	if n == nil {
		return lastSortKey
	}
	bits := math.Float64bits(float64(*n) + 0) // + 0 turns -0 into 0, which is the same number in JSON
	if bits>>63 == 1 {
		bits = ^bits
	} else {
		bits |= 1 << 63
	}
	return fmt.Sprintf("%016x", bits)
}

// TimeKey returns a string that sorts like the timestamp; null sorts last.
func TimeKey(timestamp *string) string {
	if timestamp == nil {
		return lastSortKey
	}
	return *timestamp
}

// DescendingTimeKey returns a string that sorts later timestamps first; null and invalid timestamps
// sort last.
func DescendingTimeKey(timestamp *string) string {
	if timestamp == nil {
		return lastSortKey
	}
	t, err := time.Parse(time.RFC3339Nano, *timestamp)
	if err != nil {
		return lastSortKey
	}
	return fmt.Sprintf("%016x", uint64(-t.UnixMilli())^1<<63) // the sign bit flipped, so that negative values sort first
}

// FirstSetTime returns the first timestamp that is not null.
func FirstSetTime(timestamps ...*string) *string {
	for _, t := range timestamps {
		if t != nil {
			return t
		}
	}
	return nil
}

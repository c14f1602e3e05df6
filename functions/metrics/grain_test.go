package metrics

import (
	"slices"
	"testing"
	"time"
)

// Ensure the method attributes returns every bucket that a period can have and no others, oldest
// first, in any year. Ensure monthCache.millis returns the start of every day.
func TestAttributes(t *testing.T) {
	t.Parallel()
	for _, grain := range []Grain{GrainDay, GrainWeek, GrainMonth} {
		want := map[string][]string{}
		var m monthCache
		for _, year := range []int{1, 1900, 2000, 2023, 2024, 2026, 2027, 2028, 9999} {
			for at := time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC); at.Year() == year; at = at.AddDate(0, 0, 1) {
				day := at.Format(time.DateOnly)
				if grain.bucketStart(at) == day {
					period, name := grain.recordLocation(day)
					want[period] = append(want[period], name)
				}
				if got, err := m.millis(day); err != nil || got != at.UnixMilli() {
					t.Fatalf("millis of %s: %d, %v", day, got, err)
				}
			}
		}
		for period, names := range want {
			if got := grain.attributes(period); !slices.Equal(got, names) {
				t.Errorf("%s of %s: %q, want %q", grain, period, got, names)
			}
		}
		if got := grain.attributes("x"); got != nil {
			t.Errorf("%s of no period: %q", grain, got)
		}
	}
}

// Ensure monthsSpanning returns the smallest number of consecutive months that always have at least
// that many days.
func TestMonthsSpanning(t *testing.T) {
	t.Parallel()
	for days, want := range map[int]int{1: 1, 28: 1, 29: 2, 59: 2, 60: 3, 89: 3, 365: 12, 366: 13} {
		if got := monthsSpanning(days); got != want {
			t.Errorf("%d days: %d months, want %d", days, got, want)
		}
	}
}

package civiltime_test

import (
	"testing"
	"time"
	_ "time/tzdata"

	"growthworkspace/scripts/studio/civiltime"
)

// Ensure Times returns exactly the times at which clocks show a clock time: none if the clocks skip
// it, and two if the clocks repeat it.
func TestTimes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		zone, clock string
		want        []string
		skipped     string
	}{
		{"UTC", "2026-03-29T02:30", []string{"02:30"}, ""},
		{"Europe/Berlin", "2026-01-15T09:00", []string{"08:00"}, ""},
		{"Europe/Berlin", "2026-07-15T09:00", []string{"07:00"}, ""},
		{"Europe/Berlin", "2026-03-29T01:59", []string{"00:59"}, ""},
		{"Europe/Berlin", "2026-03-29T02:00", nil, "02:00 03:00"},
		{"Europe/Berlin", "2026-03-29T02:59", nil, "02:00 03:00"},
		{"Europe/Berlin", "2026-03-29T03:00", []string{"01:00"}, ""},
		{"Europe/Berlin", "2026-10-25T01:59", []string{"23:59"}, ""},
		{"Europe/Berlin", "2026-10-25T02:00", []string{"00:00", "01:00"}, ""},
		{"Europe/Berlin", "2026-10-25T02:59", []string{"00:59", "01:59"}, ""},
		{"Europe/Berlin", "2026-10-25T03:00", []string{"02:00"}, ""},
		{"America/New_York", "2026-03-08T02:30", nil, "02:00 03:00"},
		{"America/New_York", "2026-11-01T01:30", []string{"05:30", "06:30"}, ""},
		{"Australia/Lord_Howe", "2026-10-04T02:15", nil, "02:00 02:30"},
		{"Australia/Lord_Howe", "2026-04-05T01:45", []string{"14:45", "15:15"}, ""},
		{"Pacific/Apia", "2011-12-30T12:00", nil, "00:00 00:00"},
		{"Asia/Kolkata", "2026-08-12T00:10", []string{"18:40"}, ""},
	} {
		zone, ok := civiltime.Zone(c.zone)
		if !ok {
			t.Fatal("no zone ", c.zone)
		}
		clock, err := time.Parse(civiltime.Layout, c.clock)
		if err != nil {
			t.Fatal(err)
		}
		got := civiltime.Times(clock, zone)
		if len(got) != len(c.want) {
			t.Errorf("%s %s: times %v, want %v", c.zone, c.clock, got, c.want)
			continue
		}
		for i, at := range got {
			if at.UTC().Format("15:04") != c.want[i] || at.Format(civiltime.Layout) != c.clock {
				t.Errorf("%s %s: times %v, want %v UTC", c.zone, c.clock, got, c.want)
			}
		}
		before, after, skipped := civiltime.Skipped(clock, zone)
		if skipped != (c.skipped != "") || skipped && before.Format("15:04 ")+after.Format("15:04") != c.skipped {
			t.Errorf("%s %s: skipped %t from %s to %s, want %q", c.zone, c.clock, skipped, before.Format("15:04"), after.Format("15:04"), c.skipped)
		}
	}
}

// Ensure Times reverses the conversion of a time to the clock time in a zone. It returns the
// original time exactly once, for every half hour of a year.
func TestTimesComeBack(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Africa/Casablanca", "Pacific/Chatham"} {
		zone, ok := civiltime.Zone(name)
		if !ok {
			t.Fatal("no zone ", name)
		}
		at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		for range 365 * 48 {
			at = at.Add(30 * time.Minute)
			found := 0
			for _, other := range civiltime.Times(at.In(zone), zone) {
				if other.Equal(at) {
					found++
				}
			}
			if found != 1 {
				t.Fatalf("%s: %s is there %d times, want once: %v", name, at, found, civiltime.Times(at.In(zone), zone))
			}
		}
	}
}

// Ensure Zone returns UTC and false for an empty or unknown name. It must never return the zone of
// this machine.
func TestZoneUnknown(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"", "Local", "Europe/Nowhere", "../x"} {
		if zone, ok := civiltime.Zone(name); ok || zone != time.UTC {
			t.Errorf("zone %q is %v (%t), want UTC (false)", name, zone, ok)
		}
	}
}

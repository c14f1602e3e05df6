package operator

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"growthworkspace/shared/timestamp"
)

// parseExpiry parses the time at which a key expires; the zero time means never. A date means its
// start in UTC.
func parseExpiry(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	end, ok := timestamp.Parse(text)
	if !ok {
		end, ok = timestamp.ParseDay(text)
	}
	if span, err := parseDuration(text); err == nil {
		end, ok = now.Add(span), true
	}
	switch {
	case !ok:
		return end, errors.New("must be a time from now such as 90d or 12h, or a date such as 2027-01-31")
	case !end.After(now) || end.Year() > 9999:
		return end, fmt.Errorf("%s is not in the future", text)
	}
	return end, nil
}

const durationDaysMax = 36500

// parseDuration parses a duration such as 90d, 12h, 90m or 3600s.
func parseDuration(text string) (time.Duration, error) {
	if days, ok := strings.CutSuffix(text, "d"); ok {
		n, err := strconv.Atoi(days)
		if err != nil || n < 0 || n > durationDaysMax {
			return 0, fmt.Errorf("must be 0 to %d days", durationDaysMax)
		}
		return time.Duration(n) * 24 * time.Hour, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return 0, errors.New("must be a length of time such as 24h or 7d")
	}
	return d, nil
}

package operator

import (
	"errors"
	"fmt"
	"time"

	"growthworkspace/scripts/workspace/terminal"
	"growthworkspace/shared/timestamp"
)

// parseExpiry parses the time at which a key expires. The zero time means never. A date means the
// start of that day in UTC.
func parseExpiry(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	end, ok := timestamp.Parse(text)
	if !ok {
		end, ok = timestamp.ParseDay(text)
	}
	if span, err := terminal.ParseDuration(text); err == nil {
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

package terminal

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

const durationDaysMax = 36500

// ParseDuration parses a duration such as 90d, 12h, 90m or 3600s.
func ParseDuration(text string) (time.Duration, error) {
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

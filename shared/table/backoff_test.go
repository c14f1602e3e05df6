package table

import (
	"errors"
	"testing"
	"time"
)

// Ensure the pauses between the attempts of a call double up to 200 ms, each is between half of it
// and all of it, and a call that is not throttled ends with its third attempt.
func TestBackoff(t *testing.T) {
	t.Parallel()
	cut := errors.New("cut off")
	for attempt, longest := range map[int]time.Duration{1: 100 * time.Millisecond, 2: 200 * time.Millisecond} {
		for range 100 {
			if pause, err := backoff(attempt, cut); err != nil || pause < longest/2 || pause >= longest {
				t.Fatalf("%v after attempt %d, %v", pause, attempt, err)
			}
		}
	}
	if pause, err := backoff(3, cut); err == nil {
		t.Errorf("%v after the last attempt", pause)
	}
}

// Ensure the length of a text as JSON is an upper bound that is exact for plain text.
func TestJSONBytes(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{"": 0, "a b~": 4, "\x1f\x00": 12, `"\`: 4, "é": 2} {
		if got := jsonBytes(text); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
}

package table

import (
	"errors"
	"testing"
	"time"
)

// Ensure that each pause between attempts is a random time between half of a maximum and that
// maximum. The maximum doubles with each attempt, up to 200 ms. A call that is not throttled must
// end after its third attempt.
func TestBackoff(t *testing.T) {
	t.Parallel()
	errCutOff := errors.New("cut off")
	for attempt, longest := range map[int]time.Duration{1: 100 * time.Millisecond, 2: 200 * time.Millisecond} {
		for range 100 {
			if pause, err := backoff(attempt, errCutOff); err != nil || pause < longest/2 || pause >= longest {
				t.Fatalf("%v after attempt %d, %v", pause, attempt, err)
			}
		}
	}
	if pause, err := backoff(3, errCutOff); err == nil {
		t.Errorf("%v after the last attempt", pause)
	}
}

// Ensure jsonBytes returns an upper bound on the length of a string in JSON. The bound must be
// exact for plain text.
func TestJSONBytes(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{"": 0, "a b~": 4, "\x1f\x00": 12, `"\`: 4, "é": 2} {
		if got := jsonBytes(text); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
}

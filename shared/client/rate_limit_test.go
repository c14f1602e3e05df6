package client_test

import (
	"net/http"
	"testing"
	"time"

	"growthworkspace/shared/client"
)

// Ensure RefillInterval parses both forms of RateLimit-Policy, and nothing else.
func TestRefillInterval(t *testing.T) {
	t.Parallel()
	for policy, want := range map[string]time.Duration{
		"120;w=60": 500 * time.Millisecond, `"write";q=120;w=60`: 500 * time.Millisecond, "600; w=60": 100 * time.Millisecond,
		"": 0, "120": 0, "0;w=60": 0, `"write";w=60`: 0, "-1;w=60": 0, "1e9;w=60": 0, "120;w=9999999999": 0,
	} {
		if got := client.RefillInterval(http.Header{"Ratelimit-Policy": {policy}}); got != want {
			t.Errorf("%q: %v, want %v", policy, got, want)
		}
	}
}

package broadcast

import (
	"strings"
	"testing"
)

// Ensure the body of a post is split into a thread only if the platform is X. The specification
// sets no limit for other platforms.
func TestThreadParts(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", 1000)
	if got := threadParts(new(PlatformX), &long); len(got) != 4 {
		t.Errorf("%d parts on X, want 4", len(got))
	}
	if got := threadParts(new(Platform("facebook")), &long); got != nil {
		t.Errorf("parts on another platform: %q", got)
	}
	if threadParts(nil, &long) != nil || threadParts(new(PlatformX), nil) != nil {
		t.Error("a nil platform or body has parts")
	}
}

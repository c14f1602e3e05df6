package api

import (
	"strings"
	"testing"

	"growthworkspace/shared/fault"
)

// Ensure the error for a key whose version is no longer served lists the versions that are still
// served.
func TestCheckKeyVersion(t *testing.T) {
	for _, good := range []string{"", fault.Version} {
		if err := checkKeyVersion(good); err != nil {
			t.Errorf("the version %q is rejected: %v", good, err)
		}
	}
	if err := checkKeyVersion("2024-01-01"); err == nil || !strings.Contains(err.Error(), "2024-01-01 is no longer served; must be one of "+fault.Version) {
		t.Errorf("the error is %v, want one that lists the versions", err)
	}
}

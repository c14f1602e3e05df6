package version_test

import (
	"strings"
	"testing"

	"growthworkspace/shared/version"
)

// Ensure a header with a served version is accepted, and any other is rejected with the list of served versions.
func TestRequested(t *testing.T) {
	for _, good := range [][]string{{version.Current}, {" " + version.Current + " "}} {
		if pinned, err := version.Requested(good); !pinned || err != nil {
			t.Errorf("%q: pinned %t, want true: %v", good, pinned, err)
		}
	}
	if pinned, err := version.Requested(nil); pinned || err != nil {
		t.Errorf("no header: %v, %v", pinned, err)
	}
	for _, bad := range [][]string{{""}, {"2024-01-01"}, {"latest"}, {version.Current, version.Current}, {version.Current + ",2027-01-01"}} {
		if _, err := version.Requested(bad); err == nil || !strings.Contains(err.Error(), "must be a supported version: "+version.Current) {
			t.Errorf("%q: error %v, want one with the served versions", bad, err)
		}
	}
}

// Ensure the error for a key whose version is no longer served lists the versions that are.
func TestOfKey(t *testing.T) {
	for _, good := range []string{"", version.Current} {
		if err := version.OfKey(good); err != nil {
			t.Errorf("%q: error %v, want none", good, err)
		}
	}
	if err := version.OfKey("2024-01-01"); err == nil || !strings.Contains(err.Error(), "2024-01-01 is no longer served; must be one of "+version.Current) {
		t.Errorf("error %v, want one with the served versions", err)
	}
}

package fault_test

import (
	"strings"
	"testing"

	"growthworkspace/shared/fault"
)

// Ensure a supported version in the header is accepted, and any other value is rejected with a list
// of the supported versions.
func TestCheckVersion(t *testing.T) {
	for _, good := range [][]string{nil, {fault.Version}, {" " + fault.Version + " "}} {
		if err := fault.CheckVersion(good); err != nil {
			t.Errorf("%q: %v", good, err)
		}
	}
	for _, bad := range [][]string{{""}, {"2024-01-01"}, {"latest"}, {fault.Version, fault.Version}, {fault.Version + ",2027-01-01"}} {
		if err := fault.CheckVersion(bad); err == nil || !strings.Contains(err.Error(), "must be a supported version: "+fault.Version) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

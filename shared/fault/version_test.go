package fault_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"growthworkspace/shared/fault"
)

// fakeVersions contains the current version and an older one that never existed.
var fakeVersions = fault.SupportedVersions{
	{Date: fault.Version},
	{Date: "2025-01-01", DeprecatedAt: time.Date(2026, 8, 11, 0, 0, 0, 0, time.UTC), SunsetAt: time.Date(2028, 8, 11, 0, 0, 0, 0, time.UTC)},
}

// Ensure that a supported version in the header is accepted, and that any other value is rejected
// with a list of the supported versions.
func TestVersionOfHeader(t *testing.T) {
	for _, versions := range []fault.SupportedVersions{fault.Versions(), fakeVersions} {
		for _, good := range [][]string{nil, {fault.Version}, {" " + fault.Version + " "}} {
			if v, err := versions.OfHeader(good); err != nil || v.Date != fault.Version {
				t.Errorf("%q: version %q, %v", good, v.Date, err)
			}
		}
		for _, bad := range [][]string{{""}, {"2024-01-01"}, {"latest"}, {fault.Version, fault.Version}, {fault.Version + ",2027-01-01"}} {
			if _, err := versions.OfHeader(bad); err == nil || !strings.Contains(err.Error(), "must be a supported version: "+fault.Version) {
				t.Errorf("%q: %v", bad, err)
			}
		}
	}
	if v, err := fakeVersions.OfHeader([]string{"2025-01-01"}); err != nil || v != fakeVersions[1] {
		t.Errorf("the older version: %+v, %v", v, err)
	}
}

// Ensure a key gets the version for which it was issued. The error for a version that is no longer
// supported must list those that are.
func TestVersionOfKey(t *testing.T) {
	for date, want := range map[string]string{"": fault.Version, fault.Version: fault.Version, "2025-01-01": "2025-01-01"} {
		if v, err := fakeVersions.OfKey(date); err != nil || v.Date != want {
			t.Errorf("a key of %q: version %q, want %q: %v", date, v.Date, want, err)
		}
	}
	if _, err := fakeVersions.OfKey("2024-01-01"); err == nil || !strings.Contains(err.Error(), "2024-01-01 is no longer served; must be one of "+fault.Version+", 2025-01-01") {
		t.Errorf("the error is %v, want one that lists the versions", err)
	}
}

// Ensure only a deprecated version adds headers, in the formats of RFC 9745 and RFC 8594.
func TestHeadersOfVersions(t *testing.T) {
	undecided := fakeVersions[1]
	undecided.SunsetAt = time.Time{}
	for _, c := range []struct {
		version fault.SupportedVersion
		want    http.Header
	}{
		{fakeVersions[0], http.Header{}},
		{fault.SupportedVersion{}, http.Header{}},
		{undecided, http.Header{"Service-Version-Served": {"2025-01-01"}, "Deprecation": {"@1786406400"}}},
		{fakeVersions[1], http.Header{"Service-Version-Served": {"2025-01-01"}, "Deprecation": {"@1786406400"}, "Sunset": {"Fri, 11 Aug 2028 00:00:00 GMT"}}},
	} {
		got := http.Header{}
		c.version.SetHeader(got)
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", c.version, diff)
		}
	}
}

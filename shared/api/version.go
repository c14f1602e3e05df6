package api

import (
	"slices"
	"strings"

	"growthworkspace/shared/fault"
)

var servedVersions = fault.Versions()

// checkKeyVersion checks the version for which a key was issued. It applies to requests without the
// header Service-Version. An empty date means the current version. The error is bad_request if the
// version is no longer served.
func checkKeyVersion(date string) error {
	if date == "" || slices.Contains(servedVersions, date) {
		return nil
	}
	return fault.Invalid("header.Service-Version", "is required, because the key's version %s is no longer served; must be one of %s", date, strings.Join(servedVersions, ", "))
}

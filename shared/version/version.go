// Package version is the dated version of the interface. There is one so far. A second one will need a translation of what
// callers send and read; nothing else in the service depends on dates.
package version

import (
	"slices"
	"strings"

	"growthworkspace/shared/fault"
)

// Current is the version that is served.
const Current = "2026-08-11"

// served lists the versions that a caller may pin, the newest first.
var served = []string{Current}

// Served returns the versions that a caller may pin, the newest first.
func Served() []string { return slices.Clone(served) }

// Requested reads the values of the Service-Version header. pinned reports whether the caller names a version. The error is
// bad_request, with the supported dates, for any text but one of them.
func Requested(values []string) (pinned bool, err error) {
	if len(values) == 0 {
		return false, nil
	}
	if len(values) == 1 && slices.Contains(served, strings.TrimSpace(values[0])) {
		return true, nil
	}
	return true, fault.Invalid("header.Service-Version", "must be a supported version: %s", strings.Join(served, ", "))
}

// OfKey checks the version with which a key was issued, for a caller that pins none. Empty means the current one. The error
// is bad_request when that version is no longer served.
func OfKey(date string) error {
	if date == "" || slices.Contains(served, date) {
		return nil
	}
	return fault.Invalid("header.Service-Version", "is required, because the key's version %s is not served any more; must be one of %s", date, strings.Join(served, ", "))
}

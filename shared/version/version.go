// Package version has the dated versions of the API. There is one so far, so no operation behaves differently by version. A second
// one will need a translation of requests and responses.
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

// Requested parses the values of the Service-Version header. pinned reports whether the caller sent one. The error is bad_request
// for anything but a supported version, and lists the supported ones.
func Requested(values []string) (pinned bool, err error) {
	if len(values) == 0 {
		return false, nil
	}
	if len(values) == 1 && slices.Contains(served, strings.TrimSpace(values[0])) {
		return true, nil
	}
	return true, fault.Invalid("header.Service-Version", "must be a supported version: %s", strings.Join(served, ", "))
}

// OfKey checks the version for which a key was issued, for a request without the header. Empty means the current version. The
// error is bad_request when that version is no longer served.
func OfKey(date string) error {
	if date == "" || slices.Contains(served, date) {
		return nil
	}
	return fault.Invalid("header.Service-Version", "is required, because the key's version %s is no longer served; must be one of %s", date, strings.Join(served, ", "))
}

package fault

import (
	"slices"
	"strings"
)

// Version is the date of the API version that is served. There is one so far, so no operation
// behaves differently by version. A second one will need a translation of requests and responses.
const Version = "2026-08-11"

var versions = []string{Version}

// Versions returns the versions that a caller may pin, the newest first.
func Versions() []string { return slices.Clone(versions) }

// CheckVersion checks the values of the Service-Version header of a request, which may have none.
// The error is bad_request for anything but one supported version, and lists the supported ones.
func CheckVersion(values []string) error {
	if len(values) == 0 || len(values) == 1 && slices.Contains(versions, strings.TrimSpace(values[0])) {
		return nil
	}
	return Invalid("header.Service-Version", "must be a supported version: %s", strings.Join(versions, ", "))
}

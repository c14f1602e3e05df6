package fault

import (
	"slices"
	"strings"
)

// Version is the date of the API version that is served. There is only one so far, so no operation
// depends on the version. A second version will require translating requests and responses.
const Version = "2026-08-11"

var versions = []string{Version}

// Versions returns the versions that a caller may pin, newest first.
func Versions() []string { return slices.Clone(versions) }

// CheckVersion checks the values of a request's Service-Version header, which is optional. Unless
// there is exactly one value and that version is supported, it returns a bad_request error that
// lists the supported versions.
func CheckVersion(values []string) error {
	if len(values) == 0 || len(values) == 1 && slices.Contains(versions, strings.TrimSpace(values[0])) {
		return nil
	}
	return Invalid("header.Service-Version", "must be a supported version: %s", strings.Join(versions, ", "))
}

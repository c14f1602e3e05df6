package fault

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Version is the date of the API version that is served. There is only one so far, so no operation
// depends on the version. With a second version, requests and responses will have to be translated.
const Version = "2026-08-11"

// SupportedVersion is a version of the API that a caller may pin.
type SupportedVersion struct {
	Date         string
	DeprecatedAt time.Time // when the next version was released; zero for the current version
	SunsetAt     time.Time // when it stops being served; zero if that is not decided
}

// SupportedVersions are the versions that a caller may pin, newest first.
type SupportedVersions []SupportedVersion

// Versions returns the supported versions.
func Versions() SupportedVersions { return SupportedVersions{{Date: Version}} }

// OfHeader returns the version for the values of a request's Service-Version header. If there is no
// value, it returns the current version. If there are several, or the value is not a supported
// version, it returns a bad_request error that lists the supported versions.
func (s SupportedVersions) OfHeader(values []string) (SupportedVersion, error) {
	if len(values) == 0 {
		return s[0], nil
	}
	if n := s.index(strings.TrimSpace(values[0])); n >= 0 && len(values) == 1 {
		return s[n], nil
	}
	return SupportedVersion{}, Invalid("header.Service-Version", "must be a supported version: %s", s.dates())
}

// OfKey returns the version for which a key was issued. It applies to requests without a
// Service-Version header. An empty date means the current version. OfKey returns a bad_request
// error if the version is no longer served.
func (s SupportedVersions) OfKey(date string) (SupportedVersion, error) {
	if date == "" {
		return s[0], nil
	}
	if n := s.index(date); n >= 0 {
		return s[n], nil
	}
	return SupportedVersion{}, Invalid("header.Service-Version", "is required, because the key's version %s is no longer served; must be one of %s", date, s.dates())
}

func (s SupportedVersions) index(date string) int {
	return slices.IndexFunc(s, func(v SupportedVersion) bool { return v.Date == date })
}

func (s SupportedVersions) dates() string {
	var out []string
	for _, v := range s {
		out = append(out, v.Date)
	}
	return strings.Join(out, ", ")
}

// SetHeader sets the headers of a response in a deprecated version: the version of the response,
// Deprecation (RFC 9745) and, if a date has been decided, Sunset (RFC 8594).
func (v SupportedVersion) SetHeader(h http.Header) {
	if v.DeprecatedAt.IsZero() {
		return
	}
	h.Set("Service-Version-Served", v.Date)
	h.Set("Deprecation", "@"+strconv.FormatInt(v.DeprecatedAt.Unix(), 10))
	if !v.SunsetAt.IsZero() {
		h.Set("Sunset", v.SunsetAt.UTC().Format(http.TimeFormat))
	}
}
